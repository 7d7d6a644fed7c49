#!/usr/bin/env python3
"""Replicas whose volume several workers carry (train.split): the same bits for every number of them, also where one is killed while the
parts of its replica wait for it, and those of the undivided replica but for the order of sums. The network is the discriminator that a
training of the 3DGAN has left."""

import array
import pathlib
import sys
import tempfile

from lib import elastic, runs
from lib.checks import check

WORKERS, PARTS, STEPS = 3, 4, 4
SPLIT = {"train.split.x": 2, "train.split.z": 2}


def weights(run: pathlib.Path, step: int = STEPS) -> array.array:
    values = array.array("f")
    for name, content in sorted(runs.tensors_in((run / "checkpoints" / f"step-{step:010}.safetensors").read_bytes()).items()):
        if name.startswith("model"):
            values.frombytes(content[:len(content) // 4 * 4])
    return values


def wrong(job: dict, said: str, *extra: str) -> None:
    settings = [word for key, value in job.items() if key != "job" for word in ("--set", f"{key}={value}")]
    text = runs.linac("check", job.get("job", "examples/3dgan-from-nothing.yaml"), *settings, *extra, status=2)
    check(said in text, f"{settings[-1]} is refused: {said}")


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="linac-split-") as name:
        root = pathlib.Path(name)
        runs.run(root / "gan", runs.SMALL | {"train.epochs": 1, "train.steps_per_epoch": 1, "validate.every_epochs": 0}, "--workers", "1")
        runs.linac("export", root / "gan", "--part", "discriminator", "--out", root / "discriminator.keras")
        job = root / "fit.yaml"
        job.write_text(f"""name: energy
model: {{kind: keras, file: {root}/discriminator.keras}}
data:
  train: [{runs.ROOT}/data/showers-test.h5]
  validation_split: 0.2
  inputs: [{{name: image, column: ECAL}}]
  targets: [{{name: auxiliary, column: energy}}]
train:
  epochs: 1
  steps_per_epoch: {STEPS}
  replicas: 2
  batch: 2
  optimizer: {{name: sgd, lr: 1.0e-4}}
  fit: {{loss: [none, mean_squared_error]}}
checkpoint: {{every_steps: 1, keep: 9}}
""")
        fit = {"job": str(job)}
        runs.run(root / "whole", fit)
        runs.run(root / "one", fit | SPLIT)
        several = elastic.Held(root, "several", 2)
        run = elastic.Run(root / "several", fit | SPLIT, WORKERS, **several.variables)
        runs.wait_for_steps(run.out, run.launcher, 1)
        # Of three workers for eight parts the second has the last part of one replica and two of the next: both wait for it.
        run.kill(run.members()[1])
        several.let_go()
        check(run.end() == 0, "a run whose worker was killed ends well")
        views = [line for line in runs.lines(run.out) if line["kind"] == "view"]
        check([len(view["members"]) for view in views[:2]] == [WORKERS, WORKERS - 1], "it went on with the others")
        check([member["replicas"] for member in views[0]["members"]] == [3, 3, 2], "which had three, three and two of the eight parts")
        elastic.same_end(root / "one", run.out, f"{WORKERS} workers, of which one was killed, and 1")
        pairs = list(zip(runs.losses(root / "whole"), runs.losses(root / "one")))
        apart = max(abs(a["loss"]["loss"] / b["loss"]["loss"] - 1) for a, b in pairs if "loss" in a)
        check(len(pairs) == STEPS + 1 and apart < 1e-4, f"the losses of whole replicas are within {apart:.1g}")
        whole, parts = weights(root / "whole"), weights(root / "one")
        check(weights(root / "whole", 1) != whole, "the weights have changed since the first step")
        apart = max(abs(a - b) for a, b in zip(whole, parts)) / max(map(abs, whole))
        check(len(whole) == len(parts) and apart < 1e-5, f"the weights of whole replicas are within {apart:.1g}")
        wrong(SPLIT, "train.split divides models from Keras's files")
        wrong(fit | {"train.split.x": 60}, "no layer can be divided into 60 x 1 x 1")
        text = runs.linac("plan", job, "--set", "train.split.x=2", status=2)
        check("train.split divides them" in text, "no plan is made of parts")
        said = runs.linac("check", job, "--set", "train.split.x=2")
        check("computed whole by each part" in said and "is on each worker for 'flatten' (Flatten)" in said and "for each part of a replica" in said,
              "check tells what is not divided")
        wrong(fit | SPLIT | {"train.audit.rate": 0.1}, "train.audit.rate = 0")
        wrong(fit | SPLIT | {"workers": 9}, "workers = 9 is more than the 8 parts")


if __name__ == "__main__":
    main()
