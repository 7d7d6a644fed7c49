#!/usr/bin/env python3
"""A 3DGAN goes on from weights that are there (model.from): from a run's best checkpoint, from one checkpoint, from a generator's file.
It starts with exactly these weights; in the steps of train.discriminator_first the generator stays as it is; and the run is bit-identical
for one and two workers, and after kills and resumes, the first of them within these steps."""

import json
import pathlib
import struct
import tempfile

from lib import runs
from lib.checks import check
from lib.elastic import Held, same_end

JOB = runs.SMALL | {"train.replicas": 2, "train.epochs": 1, "train.steps_per_epoch": 3, "train.optimizer.lr": 1e-5, "data.test": "[]"}
ALONE = JOB | {"train.discriminator_first": 2}
ONE_STEP = JOB | {"train.steps_per_epoch": 1, "checkpoint.every_steps": 0}


def tensors(checkpoint: pathlib.Path, prefix: str) -> dict[str, bytes]:
    """The bytes of a safetensors file's tensors whose names begin so."""
    content = checkpoint.read_bytes()
    size = struct.unpack("<Q", content[:8])[0]
    return {name: content[8 + size + entry["data_offsets"][0]:8 + size + entry["data_offsets"][1]]
            for name, entry in json.loads(content[8:8 + size]).items() if name.startswith(prefix)}


def at_step(out: pathlib.Path, step: int) -> pathlib.Path:
    return out / "checkpoints" / f"step-{step:010}.safetensors"


def from_generator(root: pathlib.Path, generator: pathlib.Path) -> None:
    job = ALONE | {"model.from": generator, "checkpoint.keep": 9}
    one = root / "one"
    runs.run(one, job, "--workers", "1")
    told = [("d_real" in line["loss"], "g" in line["loss"]) for line in runs.lines(one) if line["kind"] == "step"]
    check(told == [(True, False)] * 2 + [(True, True)], "two steps without a loss of the generator, one with it")
    means = next(line["train"]["g"]["total"] for line in runs.lines(one) if line["kind"] == "epoch")
    losses = [line["loss"]["g"]["total"] for line in runs.lines(one) if line["kind"] == "step" and "g" in line["loss"]]
    check(abs(means - losses[0]) < 1e-4 * abs(means), "the epoch's loss of the generator is the mean of the steps that have one")
    first, second, third = (tensors(at_step(one, step), "generator/weights") for step in (1, 2, 3))
    check(len(first) > 10 and first == second != third, "the generator changes from the third step on")
    discriminator = [tensors(at_step(one, step), "discriminator/weights") for step in (1, 2)]
    check(discriminator[0] != discriminator[1], "and the discriminator from the first on")

    killed = root / "killed"
    for steps in (1, 2):
        held = Held(root, "killed", steps + 1)
        process = runs.start(killed, job, "--workers", "2", *(["--resume"] if steps > 1 else []), **held.variables)
        runs.wait_for_steps(killed, process, steps)
        check(process.poll() is None and runs.steps_so_far(killed) == steps, f"it is killed after step {steps}")
        runs.kill_tree(process)
    runs.run(killed, job, "--workers", "2", "--resume")
    same_end(one, killed, "two workers, killed twice and resumed")


def from_run(root: pathlib.Path, first: pathlib.Path) -> None:
    job = ONE_STEP | {"train.discriminator_first": 1}
    begun, again = root / "begun", root / "again"
    runs.run(begun, job | {"model.from": first}, "--workers", "1")
    best = first / "checkpoints" / "best.safetensors"
    check(f"from: {best}" in (begun / "job.yaml").read_text(), "the job of a run that goes on from a run names its best checkpoint")
    check(tensors(at_step(begun, 1), "generator/weights") == tensors(best, "generator/weights"), "it starts with that generator")
    runs.run(again, job | {"model.from": best}, "--workers", "2")
    same_end(begun, again, "from the run's folder and from its checkpoint")
    fresh = root / "fresh"
    runs.run(fresh, job | {"model.from": first / "models" / "generator.keras"}, "--workers", "1")
    check(tensors(at_step(fresh, 1), "generator/weights") == tensors(runs.newest_checkpoint(first), "generator/weights"),
          "the generator's file has the last generator")
    check(tensors(at_step(fresh, 1), "discriminator/weights") != tensors(at_step(begun, 1), "discriminator/weights"),
          "and leaves the discriminator to the seed")


def frozen_norms(root: pathlib.Path, first: pathlib.Path) -> None:
    """A run's generator goes on with its normalisations as they are, and another run goes on from that one without."""
    frozen, thawed = root / "frozen", root / "thawed"
    runs.run(frozen, ONE_STEP | {"model.from": first, "model.freeze_norms": "true"}, "--workers", "2")
    runs.run(thawed, ONE_STEP | {"model.from": frozen}, "--workers", "2")
    before, still, after = (tensors(file, "generator/weights") for file in
                            (first / "checkpoints" / "best.safetensors", runs.newest_checkpoint(frozen), runs.newest_checkpoint(thawed)))
    check(before.keys() == still.keys() == after.keys() and len(before) > 10, "the same weights by name")
    norms = {name for name in before if "/bn_" in name}
    check(len(norms) > 10 and all(before[name] == still[name] for name in norms), "frozen normalisations keep every bit")
    check(all(before[name] != still[name] for name in before.keys() - norms), "and everything else has learned")
    check(all(still[name] != after[name] for name in norms), "without freeze_norms they learn again")


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="linac-start-") as folder:
        root = pathlib.Path(folder)
        first = root / "first"
        runs.run(first, ONE_STEP, "--workers", "1")
        from_generator(root, first / "models" / "generator.keras")
        from_run(root, first)
        frozen_norms(root, first)


if __name__ == "__main__":
    main()
