#!/usr/bin/env python3
"""The catalog of models, end to end: a model is registered, found by alias and version, used by other verbs under its address, replaced,
retired; what was altered at the service is noticed.

  LINAC=build/linac models_test.py"""

import json
import os
import pathlib
import subprocess
import tempfile

from lib import runs
from lib.checks import check
from lib.runs import LINAC, ROOT
from lib.server_process import Service

GENERATOR = ROOT / "models" / "3dgan-clic.keras"


class Verbs:
    def __init__(self, service: Service, folder: pathlib.Path):
        self.environment = {**os.environ, "LINAC_SERVER": service.url, "LINAC_TOKEN": service.token, "LINAC_CACHE": str(folder / "cache"),
                            "XDG_CONFIG_HOME": str(folder / "config")}

    def __call__(self, *words, status: int = 0) -> str:
        done = subprocess.run([LINAC, *map(str, words)], cwd=ROOT, env=self.environment, capture_output=True, text=True, timeout=300)
        output = done.stdout + done.stderr
        check(done.returncode == status, f"linac {' '.join(map(str, words[:3]))}: exit status {status}" + ("" if done.returncode == status else f", not {done.returncode}\n{output}"))
        return done.stdout if status == 0 else output

    def json(self, *words):
        return json.loads(self(*words, "--json"))


def classifier(linac: Verbs, folder: pathlib.Path) -> None:
    short = ["--set", "train.epochs=1", "--set", "train.steps_per_epoch=3", "--workers", "1"]
    linac("train", "examples/topology.yaml", *short, "--out", folder / "first")
    registered = linac.json("models", "register", folder / "first", "--name", "topology", "--alias", "champion", "--tag", "units=GeV")
    check(registered["version"] == 1 and registered["aliases"] == ["champion"], "the first version is the champion")
    check(json.loads(registered["tags"]["linac.inputs"])[0] == {"name": "GRU_input", "shape": [801, 19]}, "its inputs are known")
    check("linac.test.auc" in registered["tags"] and registered["tags"]["units"] == "GeV", "its figures and tags are known")

    linac("train", "examples/topology.yaml", *short, "--set", "model.kind=keras", "--set", "model.from=catalog://topology@champion", "--out", folder / "tuned")
    linac("train", "examples/topology.yaml", *short, "--set", "model.kind=keras", "--set", f"model.file={folder}/first/models/model.keras", "--out", folder / "same")
    losses = [[line["loss"] for line in runs.lines(folder / name) if line["kind"] == "step"] for name in ("tuned", "same")]
    check(len(losses[0]) == 3 and losses[0] == losses[1], "a training from the catalog is the one from the file")
    check("from: catalog://topology/1" in (folder / "tuned" / "job.yaml").read_text(), "its job names the version, not the alias")

    second = linac.json("models", "register", folder / "tuned", "--name", "topology")
    check(second["version"] == 2 and second["aliases"] == [], "the second version has no alias yet")
    table = linac("models", "compare", "catalog://topology/1", "catalog://topology")
    check("catalog://topology/2" in table and "linac.test.loss" in table, "two versions are compared")
    first = linac.json("models", "show", "catalog://topology/1")
    check(first["dependants"] == {"versions": ["catalog://topology/2"], "runs": {}}, "what was made from a version is known")
    linac("ingest", folder / "tuned")
    check(list(linac.json("models", "show", "catalog://topology/1")["dependants"]["runs"].values()) == ["topology"], "runs too")
    check("catalog://topology/2" in linac("models", "show", "catalog://topology/1"), "and told")
    now = linac.json("models", "promote", "catalog://topology/2", "--alias", "champion", "--stage", "Production")
    check(now["aliases"] == ["champion"] and now["stage"] == "Production", "the second is the champion now")
    check(linac.json("models", "show", "catalog://topology/1")["aliases"] == [], "and the first is not")


def generator(linac: Verbs, service: Service, folder: pathlib.Path) -> None:
    linac("models", "register", GENERATOR, "--name", "3dgan", "--alias", "champion")
    wanted = ["--energy", "10:100", "--theta", "1.1:2", "-n", 2, "--seed", 3]
    linac("generate", "--model", "catalog://3dgan@champion", *wanted, "--out", folder / "a.h5")
    linac("generate", "--model", GENERATOR, *wanted, "--out", folder / "b.h5")
    for name in "ab":  # without the attributes, which name the model
        linac("data", "convert", folder / f"{name}.h5", folder / f"{name}.tfrecord")
    check((folder / "a.tfrecord").read_bytes() == (folder / "b.tfrecord").read_bytes(), "the generator of the catalog makes the file's showers")
    linac("export", "--model", "catalog://3dgan/1", "--out", folder / "g.onnx")
    linac("models", "fetch", "catalog://3dgan", "--out", folder / "fetched.keras")
    check((folder / "fetched.keras").read_bytes() == GENERATOR.read_bytes(), "what is fetched is what was registered")

    linac("train", "examples/demo.yaml", "--workers", 1, "--out", folder / "on", *[word for setting in (
        "model.from=catalog://3dgan@champion", "model.discriminator_filters=[2, 1, 1, 1]", "train.replicas=1", "train.batch=1", "train.max_steps=1", "data.test=[]") for word in ("--set", setting)])
    check("from: catalog://3dgan/1" in (folder / "on" / "job.yaml").read_text(), "a 3DGAN goes on from the catalog, and its job names the version")

    kept = next((service.folder / "artifacts" / "models" / "3dgan").glob("*/*.keras"))
    content = bytearray(kept.read_bytes())
    content[len(content) // 2] ^= 1
    kept.write_bytes(content)
    check("checksum" in linac("models", "fetch", "catalog://3dgan", "--out", folder / "altered.keras", status=3), "an altered file is noticed")
    check(not (folder / "altered.keras").exists(), "and not left behind")

    linac("models", "retire", "catalog://3dgan@champion")
    check("champion" in linac("models", "show", "catalog://3dgan@champion", status=2), "a retired version has lost its alias")
    check(linac.json("models", "show", "catalog://3dgan/1")["stage"] == "Archived", "and is archived")


def chain(linac: Verbs, folder: pathlib.Path) -> None:
    """Showers cell by cell: registered, drawn from, and gone on from."""
    file = ROOT / "models" / "cell_chain-clic.chain"
    tags = linac.json("models", "register", file, "--name", "showers", "--alias", "champion")["tags"]
    check(json.loads(tags["linac.outputs"]) == [{"name": "ECAL", "shape": [51, 51, 25]}] and tags["linac.trained_on"].startswith("10-100 GeV"),
          "a .chain is registered with its image and the primaries of its training")
    linac("generate", "--model", "catalog://showers@champion", "--energy", 50, "--theta", 1.5, "-n", 2, "--seed", 1, "--out", folder / "chain.h5")
    linac("train", "examples/cell-chain.yaml", "--workers", 1, "--out", folder / "chain-on", *[word for setting in (
        "model.from=catalog://showers@champion", "train.replicas=1", "train.batch=1", "train.max_steps=1", "data.test=[]", "data.min_sum=92") for word in ("--set", setting)])
    check("from: catalog://showers/1" in (folder / "chain-on" / "job.yaml").read_text(), "a cell_chain goes on from the catalog, and its job names the version")
    second = linac.json("models", "register", folder / "chain-on", "--name", "showers")
    check(second["version"] == 2 and second["tags"]["linac.from"] == "catalog://showers/1", "and what comes of it is registered with where it is from")


def mistakes(linac: Verbs, folder: pathlib.Path) -> None:
    (folder / "no.keras").write_text("not a model")
    linac("models", "register", folder / "no.keras", "--name", "no", status=2)
    check("models list" in linac("models", "show", "no", status=2), "what is no model is not registered")
    check("NAME@ALIAS" in linac("models", "fetch", "catalog://3dgan@", status=2), "a wrong address is answered with the forms there are")
    linac("predict", "--model", "catalog://3dgan/99", "--data", "data/topology-test.parquet", "--out", folder / "x.h5", status=2)
    text = linac("check", "examples/demo.yaml", "--set", "model.from=catalog://3dgan@none", status=2)
    check("3dgan" in text and "none" in text, "nobody goes on from a version that is not there")


def main() -> None:
    with tempfile.TemporaryDirectory() as name, Service() as service:
        folder = pathlib.Path(name)
        linac = Verbs(service, folder)
        classifier(linac, folder)
        generator(linac, service, folder)
        chain(linac, folder)
        mistakes(linac, folder)


if __name__ == "__main__":
    main()
