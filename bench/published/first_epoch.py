#!/usr/bin/env python3
"""The first epoch against those that read from the cache: the classifier, of high-level features and of particles, with its collisions on this disk
and in an object store over a long link (bench/published/reading.py).

  bench/published/first_epoch.py     goes on where it stopped; wants versitygw"""

import shutil

import reading
import records
from records import ROOT, WORK

EPOCHS, FILES = 4, 3


def run(case: dict, number: int) -> dict:
    cache = WORK / "cache"
    shutil.rmtree(cache, ignore_errors=True)
    job = records.classifier(case["model"], number + 1, epochs=EPOCHS, replicas=2, batch=30)
    where = [str(ROOT / "data/topology-train.parquet")] * FILES if case["place"] == "disk" else [f"s3://test/files/{number:02}.parquet" for number in range(FILES)]
    job["data"] |= {"train": where, "test": [], "shuffle_window": 1}
    return records.train(WORK / "first-epoch", job, environment=reading.far_store() | {"LINAC_CACHE": str(cache)})


STUDY = records.Study("first-epoch", [{"model": model, "place": place} for model in ("hlf", "gru") for place in ("disk", "store")], 3, run)

if __name__ == "__main__":
    with reading.servers:
        records.main(STUDY)
