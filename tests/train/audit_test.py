#!/usr/bin/env python3
"""Workers that compute wrongly (train.audit): a liar among three is named and shut out, and the run ends with the bits of an honest one;
of two nobody can tell which it is, and the run ends. Audits of honest workers name nobody and change no bit.

  audit_test.py [--long]     --long: the GAN, whose steps have four updates"""

import pathlib
import re
import sys
import tempfile

from lib import runs
from lib.checks import check
from lib.elastic import CLASSIFIER, GAN, same_losses
from lib.ports import free_port

JOB = {**CLASSIFIER, "train.epochs": 1, "train.steps_per_epoch": 8, "data.test": "[]", "data.validation_split": 0, "checkpoint.best_by": "loss"}
CHAIN = {"job": "examples/cell-chain.yaml", "model.hidden": 8, "model.layer_hidden": 8, "model.classes": 12, "train.replicas": 4, "train.batch": 1,
         "train.epochs": 1, "train.steps_per_epoch": 5, "data.min_sum": 92, "data.test": "[]"}
WRONG = 13
REPLICA = r"replica \d+ \(computed by ranks [012], [012], [012]\) differs from "
BEGINS = {
    "batch": REPLICA + r"the events that were read on, in \d+ of \d+ gradients",
    "gradient": REPLICA + r".* on, in \d+ of \d+ gradients",
    "message": "the sum over the replicas differs, as it came to the workers",
}


def audits(out: pathlib.Path) -> list[dict]:
    return [line for line in runs.lines(out) if line["kind"] == "audit"]


def same(honest: pathlib.Path, out: pathlib.Path, what: str) -> None:
    """The job, which a checkpoint holds, is another one."""
    check(same_losses(honest, out) and runs.tensors(honest) == runs.tensors(out), f"{what}: the losses and the bits of an honest run")


def members(out: pathlib.Path) -> list[list[int]]:
    return [[member["pid"] for member in line["members"]] for line in runs.lines(out) if line["kind"] == "view"]


def honest(root: pathlib.Path, name: str, job: dict, workers: int, rate: float) -> pathlib.Path:
    runs.run(root / name, job | {"train.audit.rate": rate}, "--workers", str(workers))
    check(audits(root / name) == [], f"{name}: nobody is named")
    return root / name


def liar(root: pathlib.Path, calm: pathlib.Path, job: dict, where: str, worker: int) -> None:
    """Behind three steps a bit turns over, in the memory or in whatever is computed; each step is audited."""
    name = f"{calm.name}-{where}-{worker}"
    settings = job | {"train.audit.rate": 1, "train.audit.fault.in": where, "train.audit.fault.worker": worker, "train.audit.fault.step": 3}
    text = runs.run(root / name, settings, "--workers", "3")
    found = audits(root / name)
    check(len(found) == 1 and found[0]["global_step"] == 3 and found[0]["clean_step"] == 2 and not found[0]["suspects"], f"{name}: an audit is in the record: {found}")
    first, *later = members(root / name)
    check([one["pid"] for one in found[0]["wrong"]] == [first[worker]] and found[0]["wrong"][0]["rank"] == worker, f"and names worker {worker} by rank and process")
    check(re.fullmatch(BEGINS.get(where, BEGINS["gradient"]), found[0]["what"]) is not None, f"and where it begins: {found[0]['what']}")
    check(len(later) == 1 and later[0] == [pid for pid in first if pid != first[worker]], "the others go on without it, and nobody takes its place")
    check(f"worker {worker} ended with exit code {WRONG} (computes wrongly); the others go on" in text, "it ends with a status of its own")
    report = runs.linac("report", root / name)
    check(f"Audit after step 3: rank {worker} (" in report, "linac report tells of it")
    same(calm, root / name, name)


def late(root: pathlib.Path, calm: pathlib.Path) -> None:
    """Some steps are audited: a worker that had a part in sums before it was found."""
    out = root / "late"
    settings = JOB | {"train.audit.rate": 0.6, "train.audit.fault.in": "gradient", "train.audit.fault.worker": 1, "train.audit.fault.step": 3,
                      "checkpoint.every_steps": 1, "checkpoint.keep": 9}
    text = runs.run(out, settings, "--workers", "3")
    found, back = audits(out), [line for line in runs.lines(out) if line["kind"] == "rollback"]
    right = found[0]["clean_step"] + 1
    check(len(found) == 1 and right < found[0]["global_step"] and len(found[0]["wrong"]) == 1, f"late: found some steps later: {found}")
    check([line["global_step"] for line in back] == [right] and f"back to step {right}" in text, f"the state goes back to the step that was found right: {back}")
    steps = [line["global_step"] for line in runs.lines(out) if line["kind"] == "step"]
    check(steps == list(range(1, 9)), f"the steps since then are done again: {steps}")
    aside = sorted(path.name for path in (out / "checkpoints").glob("*.doubtful"))
    check(aside == [f"step-{step:010}.safetensors.doubtful" for step in range(right + 1, found[0]["global_step"] + 1)], f"their checkpoints are set aside: {aside}")
    same(calm, out, "late")


def several(root: pathlib.Path, calm: pathlib.Path) -> None:
    """Two liars of five, each with a fault of its own, as workers on their own hosts have."""
    out, port = root / "several", free_port()
    faults = {1: ("gradient", 2), 3: ("weights", 5)}
    workers = []
    for rank in range(5):
        where, step = faults.get(rank, ("none", 0))
        settings = JOB | {"train.audit.rate": 1, "train.audit.fault.in": where, "train.audit.fault.worker": rank, "train.audit.fault.step": step}
        workers.append(runs.start(out, settings, "--workers", "5", **runs.placed(rank, 5, port)))
    statuses = [worker.wait(timeout=120) for worker in workers]
    check(statuses == [WRONG if rank in faults else 0 for rank in range(5)], f"several: both liars end with a status of their own: {statuses}")
    named = [(line["global_step"], [one["pid"] for one in line["wrong"]], line["suspects"]) for line in audits(out)]
    check(named == [(step, [members(out)[0][rank]], []) for rank, (_, step) in faults.items()], f"several: each is named in its step, and nobody else: {named}")
    same(calm, out, "several")


def two(root: pathlib.Path) -> None:
    settings = JOB | {"train.audit.rate": 1, "train.audit.fault.in": "gradient", "train.audit.fault.worker": 1, "train.audit.fault.step": 3}
    out = root / "two"
    text = runs.run(out, settings, "--workers", "2", status=WRONG)
    found = audits(out)
    check(len(found) == 1 and found[0]["wrong"] == [] and [one["rank"] for one in found[0]["suspects"]] == [0, 1], f"two: both are suspects: {found}")
    check("of rank 0 (" in text and "at least one computes wrongly, and nobody can tell which" in text, "and the run ends with these words")
    steps = [line["global_step"] for line in runs.lines(out) if line["kind"] == "step"]
    check(steps == [1, 2, 3], f"and without the step that was audited: {steps}")
    check([line["status"] for line in runs.lines(out) if line["kind"] == "end"] == ["failed"], "it has failed once")


def unnoticed(root: pathlib.Path, calm: pathlib.Path) -> None:
    """So the faults of these tests are such."""
    out = root / "unnoticed"
    runs.run(out, JOB | {"train.audit.fault.in": "gradient", "train.audit.fault.step": 3}, "--workers", "2")
    check(runs.tensors(calm) != runs.tensors(out) and audits(out) == [], "without audits nobody notices, and the bits are others")


def another(root: pathlib.Path, kind: str, job: dict, *places: str) -> None:
    """The same of another kind of training."""
    calm = honest(root, kind, job, 1, 0)
    same(calm, honest(root, f"{kind}-audited", job, 2, 1), f"{kind}, each step is audited")
    for where in places:
        liar(root, calm, job, where, 1)


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="linac-audit-") as folder:
        root = pathlib.Path(folder)
        if "--long" in sys.argv:
            return another(root, "gan", GAN | {"train.steps_per_epoch": 5, "data.test": "[]"}, "activation", "message")
        calm = honest(root, "calm", JOB, 1, 0)
        same(calm, honest(root, "audited", JOB, 2, 1), "each step is audited")
        same(calm, honest(root, "seldom", JOB, 2, 0.3), "some steps are")
        liar(root, calm, JOB, "batch", 1)
        liar(root, calm, JOB, "weights", 0)
        late(root, calm)
        several(root, calm)
        two(root)
        unnoticed(root, calm)
        another(root, "chain", CHAIN, "activation")


if __name__ == "__main__":
    main()
