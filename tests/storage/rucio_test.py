#!/usr/bin/env python3
"""Data named in Rucio, a real server: the classifier trains from a data set with 1 and 2 workers to the bits of a run from the disk, a
replica that is gone, cut or altered gives way to the next, and what is refused says why. Exit 77 where Rucio is not installed."""

import contextlib
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import zlib

from lib import runs
from lib.checks import check
from lib.runs import tensors
from lib.servers.rucio_server import Rucio
from range_server import RangeServer

TRAIN, TEST, SHOWERS = "topology-train.parquet", "topology-test.parquet", "showers-test.h5"
JOB = {"job": "examples/topology.yaml", **runs.SMALL_CLASSIFIER, "train.replicas": 2, "train.batch": 10, "train.epochs": 1, "train.steps_per_epoch": 3}
SCOPE = "user.root"


def did(name: str) -> str:
    return f"rucio://{SCOPE}:{name}"


class Linac:
    """Runs it with a cache of its own for each word that a call begins with."""

    def __init__(self, root: pathlib.Path, rucio: Rucio):
        self.root, self.rucio, self.calls = root, rucio, 0

    def __call__(self, *words: object, status: int = 0, cache: str = "", **environment: str) -> str:
        self.calls += 1
        environment = {**self.rucio.environment, "LINAC_CACHE": str(self.root / (cache or f"cache{self.calls}")), **environment}
        said = runs.linac(*words, status=status, **environment)
        check(self.rucio.password not in said, f"{' '.join(map(str, words[:2]))}: no password is printed")
        return said


def entry(folder: pathlib.Path, name: str, elements: list[str]) -> dict:
    content = (folder / name).read_bytes()
    return {"scope": SCOPE, "name": name, "bytes": len(content), "adler32": f"{zlib.adler32(content):08x}", "elements": elements}


def trainings(root: pathlib.Path, rucio: Rucio, near: RangeServer) -> None:
    runs.run(disk := root / "disk", JOB, "--workers", "1")
    urls = {"data.train": f"[{did('train')}]", "data.test": f"['{did(TEST)}']"}
    size = sum((runs.ROOT / "data" / name).stat().st_size for name in (TRAIN, TEST))
    for workers in (1, 2):
        sent = near.sent
        runs.run(out := root / f"rucio{workers}", JOB | urls, "--workers", str(workers), **rucio.environment, LINAC_CACHE=str(root / f"train{workers}"))
        check(tensors(disk) == tensors(out) and len(tensors(out)) > 10, f"{workers} worker(s): all numbers of the checkpoint are the same")
        check(0 < near.sent - sent <= 1.01 * size, f"bytes fetched over the size of the data: {(near.sent - sent) / size:.3f}")
        text = "".join(path.read_text(errors="replace") for path in out.rglob("*") if path.suffix in (".yaml", ".json", ".jsonl", ".log"))
        check(rucio.password not in text, "no password is in the run's folder")


def replicas(root: pathlib.Path, linac: Linac, near: RangeServer, far: RangeServer, served: pathlib.Path) -> None:
    original = (runs.ROOT / "data" / SHOWERS).read_bytes()
    sent = near.sent, far.sent
    linac("data", "copy", f"{did(SHOWERS)}?rse=FAR", root / "far.h5")
    check((root / "far.h5").read_bytes() == original and near.sent == sent[0] and far.sent > sent[1], "?rse= chooses from where it is read")

    (served / SHOWERS).write_bytes(original[:5000] + b"altered!" + original[5008:])
    said = linac("data", "info", did(SHOWERS), cache="info")
    check("adler32" in said and "the next one is of FAR" in said, "an altered replica gives way to the next, and it is said")
    check("events" in said, "which is read")
    far_sent = far.sent
    linac("data", "info", did(SHOWERS), cache="info")
    check(far.sent == far_sent, "a later use asks Rucio only")
    (served / SHOWERS).write_bytes(original[:-5000])
    said = linac("data", "info", did(SHOWERS))
    check(f"has {len(original) - 5000} bytes" in said and "the next one" in said, "a cut replica gives way to the next")
    (served / SHOWERS).unlink()
    check("the next one" in linac("data", "info", did(SHOWERS)), "a replica that is gone gives way to the next")
    linac("data", "copy", did(SHOWERS), f"{root}/copied/")
    check((root / "copied" / SHOWERS).read_bytes() == original, "a copy is whole, under the file's own name")
    said = linac("data", "info", f"{did(SHOWERS)}?rse=NEAR", status=4)
    check("none of its replicas" in said and "NEAR" in said, "where none is left, each is named with its reason")
    shutil.copy(runs.ROOT / "data" / SHOWERS, served)


def refusals(root: pathlib.Path, linac: Linac, rucio: Rucio) -> None:
    said = linac("data", "info", did("none"), status=3)
    check("none" in said and "DataIdentifierNotFound" in said and "rucio did list" in said, "a name that Rucio does not know is named")
    check("NAME" in linac("data", "info", "rucio://nocolon", status=2), "what is no name says how one is written")
    check("only read" in linac("data", "convert", f"data/{SHOWERS}", did("out.tfrecord"), status=2), "it is not written")
    listed = json.loads(linac("data", "info", did("top*"), "--json"))
    check(sorted(file["url"] for file in listed["files"]) == [did(TEST), did(TRAIN)], "a pattern names files")

    config = rucio.config.read_text()
    (wrong := root / "wrong.cfg").write_text(config.replace(rucio.password, "wrong-password").replace("/token", "/no-token"))
    said = linac("data", "info", did(TEST), status=2, RUCIO_CONFIG=str(wrong))
    check("refuses user 'root'" in said and "wrong-password" not in said, "a wrong password is refused without being told")
    (token := rucio.folder / "token").write_text("expired\n")
    linac("data", "info", did(TEST))
    check(True, "an expired token of Rucio's client gives way to a new one")
    (other := root / "x509.cfg").write_text(config.replace("userpass", "x509_proxy"))
    said = linac("data", "info", did(TEST), status=2, RUCIO_CONFIG=str(other))
    check("rucio whoami" in said, "without a valid token Rucio's client is named")
    client = [str(rucio.folder_of_programs() / "rucio"), "whoami"]
    token.unlink()
    subprocess.run(client, check=True, capture_output=True, env=runs.environment(**rucio.environment))
    check(token.stat().st_size > 0, "Rucio's client keeps a token")
    linac("data", "info", did(TEST), RUCIO_CONFIG=str(other))
    check("RUCIO_CONFIG" in linac("data", "info", did(TEST), status=2, RUCIO_CONFIG="/dev/null"), "without a server the way out is named")


def without_rucio(linac: Linac, rucio: Rucio) -> None:
    rucio.stop()
    check("connect" in linac("data", "info", did(SHOWERS), status=4), "it is said that Rucio is away")


def main() -> None:
    if not Rucio.available():
        print("no Rucio: tests/servers/get.sh rucio")
        sys.exit(77)
    with contextlib.ExitStack() as stack:
        root = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="linac-rucio-")))
        (near_folder := root / "near").mkdir()
        for name in (TRAIN, TEST, SHOWERS):
            shutil.copy(runs.ROOT / "data" / name, near_folder)
        near = stack.enter_context(RangeServer(near_folder))
        far = stack.enter_context(RangeServer(runs.ROOT / "data"))
        rucio = stack.enter_context(Rucio())
        rucio.register({"elements": {"NEAR": ["DISK", near.url + "/"], "FAR": ["TAPE", far.url + "/"]},
                        "files": [entry(near_folder, TRAIN, ["NEAR"]), entry(near_folder, TEST, ["NEAR"]),
                                  entry(near_folder, SHOWERS, ["NEAR", "FAR"])], "data_sets": {"train": [TRAIN]}})
        linac = Linac(root, rucio)
        trainings(root, rucio, near)
        replicas(root, linac, near, far, near_folder)
        refusals(root, linac, rucio)
        without_rucio(linac, rucio)


if __name__ == "__main__":
    main()
