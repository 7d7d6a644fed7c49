#!/usr/bin/env python3
"""Whether a training on one GPU comes again, and whether workers change it: bits.py WORK OUT [--rehearse]

The 3DGAN for some steps by one worker twice, by two workers that share the GPU, and by the processor. On a GPU no equal bits are promised
(docs/internals/kernels.md), so a difference between the first three is told and is no failure; losses that are far from the processor's are one.
--rehearse: small networks, all on the processor, where bits are promised."""

import json
import math
import pathlib
import shutil
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))
from lib import runs  # noqa: E402

NEAR = 0.02  # of the first step's losses: fp32 in another order, and TF32 where LibTorch convolves
JOB = {"train.replicas": 2, "train.batch": 8, "train.epochs": 1, "train.steps_per_epoch": 4, "data.test": "[]", "checkpoint.best_by": "loss"}


def distance(one: dict, other: dict) -> float:
    """Of the losses of one step: the largest difference of an update's whole loss, of its size. One that is no number is far from all."""
    pairs = [(losses["total"], other["loss"][update]["total"]) for update, losses in one["loss"].items()]
    return max(abs(a - b) / max(abs(a), abs(b), 1e-30) if math.isfinite(a) and math.isfinite(b) else math.inf for a, b in pairs)


def compared(one: list[dict], other: list[dict], same_weights: bool) -> tuple[str, bool]:
    """Two trainings in words, and whether their first steps are near each other."""
    near = len(one) == len(other) and distance(one[0], other[0]) < NEAR
    differing = next(((a, b) for a, b in zip(one, other) if a["loss"] != b["loss"]), None)
    if differing:
        return f"other losses from step {differing[0]['global_step']} on, by {distance(*differing):.1e} there and {distance(one[-1], other[-1]):.1e} at the end", near
    return "the same bits" if same_weights else "the same losses, other weights", near


def main() -> None:
    work, out, rehearse = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), len(sys.argv) > 3
    device = "cpu" if rehearse else "cuda"
    job = JOB | (runs.SMALL_NETWORKS | {"data.min_sum": 92, "train.batch": 1} if rehearse else {})
    # Two workers share the one GPU: each takes GPU number rank, counted round.
    cases = {"one worker": (1, device), "one worker again": (1, device), "two workers": (2, device), "the processor": (1, "cpu")}
    steps, tensors = {}, {}
    shutil.rmtree(work / "bits", ignore_errors=True)
    for name, (workers, where) in cases.items():
        folder = work / "bits" / name.replace(" ", "-")
        runs.run(folder, job | {"train.device": where}, "--workers", str(workers))
        steps[name] = [line for line in runs.lines(folder) if line["kind"] == "step"]
        tensors[name] = runs.tensors(folder)
        print(f"{name}: losses of the first step {steps[name][0]['loss']}", flush=True)
    found, failed = {}, False
    for name in list(cases)[1:]:
        found[name], near = compared(steps["one worker"], steps[name], tensors[name] == tensors["one worker"])
        if not near or (rehearse and found[name] != "the same bits"):
            failed = True
            print(f"{name}: DIFFERS from one worker: {found[name]}")
    (out / "bits.json").write_text(json.dumps({"found": found, "losses": {name: lines[0]["loss"] for name, lines in steps.items()}}, indent=1) + "\n")
    print("TOLD " + "; ".join(f"{name}: {words}" for name, words in found.items()))
    sys.exit(failed)


if __name__ == "__main__":
    main()
