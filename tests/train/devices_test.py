#!/usr/bin/env python3
"""Several devices a worker, emulated by the processor (LINAC_EMULATED_DEVICES): weights on each of them, sums within, roots to the
host. Losses and checkpoints are the same, byte for byte, as without devices, on any number of them and of workers; a 3dgan of two
networks, and a classifier whose sums are rounded to bf16.

  devices_test.py [--long]      --long: 1 to 4 devices with 1 and 2 workers, and more devices than replicas
"""

import json
import pathlib
import sys
import tempfile

from lib import runs
from lib.checks import check
from lib.elastic import CLASSIFIER

GAN = runs.SMALL | {"train.replicas": 5, "train.steps_per_epoch": 2, "train.epochs": 1}
LONG = "--long" in sys.argv
CASES = [(devices, workers) for devices in (1, 2, 3, 4) for workers in (1, 2)] + [(7, 1)] if LONG else [(3, 2)]
ROUNDED = CLASSIFIER | {"train.exchange": "bf16", "train.epochs": 1, "train.replicas": 3}


def same(reference: pathlib.Path, other: pathlib.Path, what: str) -> None:
    check(runs.losses(reference) == runs.losses(other), f"{what}: every loss is the same")
    a, b = runs.newest_checkpoint(reference), runs.newest_checkpoint(other)
    check(a.name == b.name and a.read_bytes() == b.read_bytes(), f"{what}: {a.name} is the same, byte for byte")


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="linac-devices-") as folder:
        root = pathlib.Path(folder)
        for name, job, cases in (("3dgan", GAN, CASES), ("bf16", ROUNDED, CASES if LONG else [(2, 1)])):
            reference = root / name
            runs.run(reference, job, "--workers", "1")
            for devices, workers in cases:
                out = root / f"{name}-{devices}-{workers}"
                text = runs.run(out, job, "--workers", str(workers), LINAC_EMULATED_DEVICES=str(devices))
                check(f"[devices] {devices} emulated" in text, f"{devices} devices are used")
                same(reference, out, f"{name}, {devices} devices, {workers} workers")
        text = runs.run(root / "none", GAN, "--workers", "1", status=2, LINAC_EMULATED_DEVICES="many")
        check("LINAC_EMULATED_DEVICES" in text, "a wrong number is refused by name")
        print(json.dumps({"passed": True}))


main()
