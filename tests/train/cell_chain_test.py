#!/usr/bin/env python3
"""A cell_chain trained: the same bits for 1, 2 and 3 workers, and after a kill and a resume; a model that `linac generate` takes as
the run's folder, a checkpoint or the file; a file without entry points, and an export, are refused with a reason."""

import pathlib
import subprocess
import sys
import tempfile

import runs
from runs import check

JOB = {"job": "examples/cell-chain.yaml", "model.hidden": 8, "model.layer_hidden": 8, "model.classes": 12, "train.replicas": 3, "train.batch": 1,
       "train.epochs": 2, "train.steps_per_epoch": 4, "data.min_sum": 92, "validate.every_epochs": 1, "checkpoint.every_steps": 1}


def linac(*arguments: str, status: int = 0) -> str:
    done = subprocess.run([runs.LINAC, *arguments], cwd=runs.ROOT, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300)
    if done.returncode != status:
        sys.exit(f"{done.stdout}\n{' '.join(done.args)}: exit status {done.returncode}, expected {status}")
    return done.stdout


def same(one: pathlib.Path, other: pathlib.Path, what: str) -> None:
    check(len(runs.losses(one)) == 10 and runs.losses(one) == runs.losses(other), f"{what}: every loss and figure is the same")
    check(runs.newest_checkpoint(one).read_bytes() == runs.newest_checkpoint(other).read_bytes(), f"{what}: so is the checkpoint, byte for byte")
    check((one / "models/generator.chain").read_bytes() == (other / "models/generator.chain").read_bytes(), f"{what}: and the model")


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="linac-cell-chain-") as folder:
        root = pathlib.Path(folder)
        one = root / "1"
        runs.run(one, JOB, "--workers", "1")
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
            linac("generate", "--model", str(model), "--energy", "84:98", "--theta", "1.2:1.9", "-n", "3", "--seed", "1", "--out", str(out))
            made.append(out)
        check(all(out.stat().st_size > 1000 for out in made), "the run, its file and a checkpoint make showers")
        for model in (one, one / "models/generator.chain"):
            said = linac("export", str(model), "--out", str(root / "model.onnx"), status=2)
            check("cell by cell, which is no graph" in said, "an export says why there is none")
        bare = JOB | {"model.entry": "[x0, y0, shift_x, not_there]"}
        check("no data set 'not_there'" in runs.run(root / "bare", bare, status=3), "showers without their entry are refused")
        runs.run(root / "large", JOB | {"model.geometry": "examples/geometry/small.yaml"}, status=3)


if __name__ == "__main__":
    main()
