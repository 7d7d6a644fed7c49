#!/usr/bin/env python3
"""Settings of reading ahead by hand against `auto`: a grid of data.prefetch_files, data.prefetch and data.prefetch_reads. Collisions of an object store
behind a relay that delays each request and lets connections share a rate (as bench/prefetch.py, which has larger sets and other places), from an empty
cache, without a training.

  bench/published/reading.py     goes on where it stopped; wants versitygw"""

import contextlib
import functools
import itertools
import json
import shutil
import sys

import records
from lib.relay import SlowRelay
from lib.servers.versitygw import Versitygw
from records import LINAC, ROOT, WORK

FILES, WINDOW, BATCH = 8, 4, 60
DELAY_S, BYTES_PER_S, CONNECTION_BYTES_PER_S = 0.05, 60e6, 12e6
SETTINGS = ("data.prefetch_files", "data.prefetch", "data.prefetch_reads")
servers = contextlib.ExitStack()


@functools.cache
def far_store() -> dict[str, str]:
    """The collisions of data/ under many names; returns the environment in which they are s3://test/files/*, over the link."""
    if not Versitygw.available():
        sys.exit("wants versitygw: tests/servers/get.sh versitygw")
    gate = servers.enter_context(Versitygw())
    relay = servers.enter_context(SlowRelay(gate.port, DELAY_S, BYTES_PER_S, CONNECTION_BYTES_PER_S))
    content = (ROOT / "data/topology-train.parquet").read_bytes()
    for number in range(FILES):
        gate.put(f"files/{number:02}.parquet", content)
    return {**gate.environment, "AWS_ENDPOINT_URL": relay.url}


def run(case: dict, number: int) -> dict:
    cache = WORK / "cache"
    chosen = {"data.train": "[s3://test/files/*]", "data.test": "[]", "checkpoint.best_by": "loss", "data.shuffle_window": WINDOW, "train.replicas": 1, "workers": 1,
              "train.batch": BATCH, "train.steps_per_epoch": FILES * 720 // BATCH, **dict(zip(SETTINGS, (case["files"], case["steps"], case["reads"])))}
    words = [word for key, value in chosen.items() for word in ("--set", f"{key}={value}")]
    shutil.rmtree(cache, ignore_errors=True)
    said, spent = records.measured([LINAC, "bench", "input", "examples/topology.yaml", "--epochs", 1, "--json", *words], far_store() | {"LINAC_CACHE": str(cache)})
    found = json.loads(said)
    parts = (found["open"], found["epochs"][0])
    return {**spent, "reading_s": sum(part["wall_s"] for part in parts), "events": found["events_an_epoch"], "ahead": found["ahead"]}


GRID = [{"files": files, "steps": steps, "reads": reads} for files, steps, reads in itertools.product((1, 2, 8), (1, 3, 16), (1, 4))]
STUDY = records.Study("reading", [{"files": "auto", "steps": "auto", "reads": "auto"}, *GRID], 3, run)

if __name__ == "__main__":
    with servers:
        records.main(STUDY)
