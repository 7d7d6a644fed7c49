#!/usr/bin/env python3
"""A cell_chain trained: the same bits for 1, 2 and 3 workers, and after a kill and a resume; a model that `linac generate` takes as
the run's folder, a checkpoint or the file; a file without entry points, and an export, are refused with a reason. A training for another
calorimeter goes on from it (model.from): from the run, its checkpoint or its file with the same bits, with any number of workers."""

import os
import pathlib
import tempfile

from lib import runs
from lib.checks import check
from lib.runs import linac

JOB = {"job": "examples/cell-chain.yaml", "model.hidden": 8, "model.layer_hidden": 8, "model.classes": 12, "train.replicas": 3, "train.batch": 1,
       "train.epochs": 2, "train.steps_per_epoch": 4, "data.min_sum": 92, "validate.every_epochs": 1, "checkpoint.every_steps": 1}


def same(one: pathlib.Path, other: pathlib.Path, what: str, told: int = 10) -> None:
    check(len(runs.losses(one)) == told and runs.losses(one) == runs.losses(other), f"{what}: every loss and figure is the same")
    check(runs.newest_checkpoint(one).read_bytes() == runs.newest_checkpoint(other).read_bytes(), f"{what}: so is the checkpoint, byte for byte")
    check((one / "models/generator.chain").read_bytes() == (other / "models/generator.chain").read_bytes(), f"{what}: and the model")


def reuse(root: pathlib.Path, source: pathlib.Path) -> None:
    """Showers of another calorimeter, as linac simulate makes them, and a training that goes on from `source`."""
    geometry = "examples/geometry/coarse-ecal.yaml"
    for name, seed in (("train", 1), ("test", 2)):
        linac("simulate", "-n", "8", "--energy", "10:20", "--theta", "1.2:1.9", "--geometry", geometry, "--seed", str(seed), "--out", str(root / f"{name}.h5"))
    new = JOB | {"model.geometry": geometry, "data.train": f"[{root}/train.h5]", "data.test": f"[{root}/test.h5]", "data.min_sum": 0, "train.steps_per_epoch": 2,
                 "train.replicas": 2, "validate.every_epochs": 0, "train.optimizer.lr": 1e-6}
    one = root / "on"
    runs.run(one, new | {"model.from": source}, "--workers", "1")
    best = source / "checkpoints/best.safetensors"
    check(f"from: {best}" in (one / "job.yaml").read_text(), "the job names the best checkpoint")
    for name, start in (("file", source / "models/generator.chain"), ("checkpoint", best)):
        runs.run(root / name, new | {"model.from": start}, "--workers", "2")
        check(runs.losses(one) == runs.losses(root / name), f"from the {name}, two workers: every loss is the same")
        check((one / "models/generator.chain").read_bytes() == (root / name / "models/generator.chain").read_bytes(), "and the model")
    killed = root / "on-killed"
    process = runs.start(killed, new | {"model.from": source}, "--workers", "2")
    runs.wait_for_steps(killed, process, 1)
    runs.kill_tree(process)
    runs.run(killed, new | {"model.from": source}, "--workers", "1", "--resume")
    same(one, killed, "killed and resumed", told=6)

    def said(*settings: str, status: int) -> str:
        return linac("check", "examples/cell-chain.yaml", *[word for setting in [*(f"{key}={value}" for key, value in new.items() if key != "job"), *settings]
                                                            for word in ("--set", setting)], status=status)

    check(f"goes on from {best}, trained on " in said(f"model.from={source}", status=0), "linac check says what it goes on from")
    trained = ["model.hidden=32", "model.layer_hidden=64", "model.classes=88"]
    first = [float(said(*trained, *start, status=0).split("  loss ")[1].split()[0]) for start in (["model.from=models/cell_chain-clic.chain"], [])]
    check(first[0] < 0.5 * first[1], f"a model that has learned begins with it: {first[0]:.0f} nats and not {first[1]:.0f}")
    for setting, words in (("model.hidden=9", ("model.hidden = 8", "says 9", "set model.hidden=8")),
                           ("model.classes=13", ("model.classes = 12", "says 13", "set model.classes=12")),
                           ("model.components=7", ("model.components = 8", "says 7", "set model.components=8")),
                           ("model.layer_hidden=9", ("model.layer_hidden = 8", "says 9", "set model.layer_hidden=8")),
                           ("model.memory=0.5", ("model.memory = 0.7", "says 0.5", "set model.memory=0.7"))):
        text = said(f"model.from={source}", setting, status=2)
        check(all(word in text for word in words), f"{setting} is refused, with both numbers and the way out")
    shallow = root / "shallow.yaml"
    shallow.write_text((runs.ROOT / geometry).read_text().replace("count: 25", "count: 24"))
    text = said(f"model.from={source}", f"model.geometry={shallow}", status=2)
    check("has 25 layers, and the calorimeter of model.geometry 24" in text, "so is another number of layers")
    other = runs.ROOT / "models/3dgan-clic.keras"
    said(f"model.from={other}", status=3)
    pipe = root / "pipe.chain"
    os.mkfifo(pipe)
    check("is no file" in said(f"model.from={pipe}", status=3), "a FIFO is no model, and nobody waits for it")


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="linac-cell-chain-") as folder:
        root = pathlib.Path(folder)
        one = root / "1"
        said = runs.run(one, JOB, "--workers", "1")
        check("[evaluation]" not in said, "its test has no labels to be judged on, and nobody complains")
        steps = [line["loss"] for line in runs.lines(one) if line["kind"] == "step"]
        epochs = [line for line in runs.lines(one) if line["kind"] == "epoch"]
        check(all(abs(step["loss"] - step["hits"] - step["energies"] - step["layers"]) < 1 for step in steps), "a loss is the sum of its parts")
        check(epochs[1]["test"]["loss"] < epochs[0]["test"]["loss"] and "fpd" in epochs[1]["physics"], "it learns, and figures are told")
        for workers in ("2", "3"):
            runs.run(root / workers, JOB, "--workers", workers)
            same(one, root / workers, f"{workers} workers")

        killed = root / "killed"
        process = runs.start(killed, JOB, "--workers", "2")
        runs.wait_for_steps(killed, process, 3)
        runs.kill_tree(process)
        runs.run(killed, JOB, "--workers", "3", "--resume")
        same(one, killed, "killed and resumed")

        made = []
        for i, model in enumerate((one, one / "models/generator.chain", runs.newest_checkpoint(one))):
            out = root / f"{i}.h5"
            said = linac("generate", "--model", str(model), "--energy", "84:98", "--theta", "1.2:1.9", "-n", "3", "--seed", "1", "--out", str(out))
            check("is hardly trained" in said and "looks at every cell" in said, "generate says why such a chain is slow")
            made.append(out)
        check(all(out.stat().st_size > 1000 for out in made), "the run, its file and a checkpoint make showers")
        for model in (one, one / "models/generator.chain"):
            said = linac("export", str(model), "--out", str(root / "model.onnx"), status=2)
            check("cell by cell, which is no graph" in said, "an export says why there is none")
        bare = JOB | {"model.entry": "[x0, y0, shift_x, not_there]"}
        check("no data set 'not_there'" in runs.run(root / "bare", bare, status=3), "showers without their entry are refused")
        runs.run(root / "large", JOB | {"model.geometry": "examples/geometry/small.yaml"}, status=3)
        reuse(root, one)


if __name__ == "__main__":
    main()
