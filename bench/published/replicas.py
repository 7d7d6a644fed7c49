#!/usr/bin/env python3
"""Physics against the number of workers, where it must not change, and against that of replicas, with the learning rate scaled by it and not.

  bench/published/replicas.py     goes on where it stopped"""

import records

EPOCHS, BATCH = 5, 8


def run(case: dict, number: int) -> dict:
    out = records.WORK / "replicas"
    job = records.gan(number + 1, epochs=EPOCHS, replicas=case["replicas"], batch=BATCH, schedule={"scale_with_replicas": case["rate"]})
    record = records.train(out, job, case["workers"])
    return {**record, "figures": records.validated(out, records.showers("test"))}


OF_WORKERS = records.Study("workers", [{"workers": workers, "replicas": 4, "rate": "none"} for workers in (1, 2, 3, 4)], 1, run)
OF_REPLICAS = records.Study("replicas", [{"workers": 1, "replicas": replicas, "rate": rate} for replicas, rate in
                                         ((1, "none"), (4, "none"), (4, "linear"), (16, "none"), (16, "linear"))], 2, run)

if __name__ == "__main__":
    records.main(OF_WORKERS)
    records.main(OF_REPLICAS)
