#!/usr/bin/env python3
"""Two builds of linac in turns: what a change costs or saves. The sums of the 3DGAN's updates between two processes of this host over its
loopback interface, where nothing but the exchange takes time; and the step of the 3DGAN on two workers.

  bench/builds.py --before PATH/bin/linac --before-commit COMMIT --after PATH/bin/linac --name NAME [--rounds 5] [--steps 6]

What encryption costs is said by the build of a checkout to which bench/unencrypted_links.patch is applied (`git apply`) beside one without.
Writes bench/results/DATE-builds-NAME.md."""

import json
import os
import pathlib
import secrets
import subprocess
import sys
import tempfile

import turns
from lib import runs
from lib.ports import free_port
from lib.runs import ROOT
from store import store

BYTES = {"discriminator": 349_824, "generator": 5_460_672, "100 MB": 100_000_000}
STEP = {"train.replicas": 2, "train.epochs": 1, "data.test": "[]", "checkpoint.every_epochs": 0}


def usage(workers: list[subprocess.Popen]) -> float:
    """Seconds of CPU that all of them have taken, once they have ended well."""
    cpu = 0.0
    for worker in workers:
        _, status, used = os.wait4(worker.pid, 0)
        worker.returncode = os.waitstatus_to_exitcode(status)
        if worker.returncode:
            sys.exit(f"{worker.args[:3]} failed (exit status {worker.returncode})")
        cpu += used.ru_utime + used.ru_stime
    return cpu


def sums(linac: str, folder: pathlib.Path) -> dict:
    port, key, workers = free_port(), secrets.token_hex(32), []
    for rank in range(2):
        command = [linac, "bench", "exchange", "--json", "--repeat", "15", "--bytes", ",".join(map(str, BYTES.values()))]
        with open(folder / f"sums.{rank}", "wb") as out:
            workers.append(subprocess.Popen(command, env=runs.environment(**runs.placed(rank, 2, port), LINAC_RUN_KEY=key), stdout=out))
    cpu = usage(workers)
    found = json.loads((folder / "sums.0").read_text())
    return {f"sum of {name}, ms": 1e3 * one["median_s"] for name, one in zip(BYTES, found)} | {"sums, CPU s": cpu}


def step(linac: str, folder: pathlib.Path, number: int, steps: int) -> dict:
    out = folder / f"run{number}"
    command = [linac, *runs.arguments(out, {**STEP, "train.steps_per_epoch": steps}, "--workers", "2")[1:]]
    with open(folder / "step.log", "wb") as log:
        cpu = usage([subprocess.Popen(command, cwd=ROOT, env=runs.environment(), stdout=log, stderr=log)])
    lines = runs.lines(out)
    epoch = next(line for line in lines if line["kind"] == "epoch")
    steps = sum(line["kind"] == "step" for line in lines)
    waited = [worker["phases"]["communication"]["wall_s"] for worker in lines[-1]["workers"]]
    return {"step, s": epoch["seconds"] / steps, "not hidden of a step, ms": 1e3 * max(waited) / steps, "run, CPU s": cpu}


def markdown(result: dict) -> str:
    return "\n".join([*turns.heading("Two builds in turns", result), *turns.table(result, 3)]) + "\n"


def main() -> None:
    parser = turns.arguments(__doc__)
    parser.add_argument("--name", required=True)
    parser.add_argument("--steps", type=int, default=6)
    options = turns.two_builds(parser)
    with tempfile.TemporaryDirectory(prefix="linac-builds-") as name:
        folder = pathlib.Path(name)
        result = turns.in_turns("bench/builds.py", options, lambda linac, number: sums(linac, folder) | step(linac, folder, number, options.steps))
    store(result, f"builds-{options.name}", markdown(result))


if __name__ == "__main__":
    main()
