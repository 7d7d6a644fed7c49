#!/usr/bin/env python3
"""Batch size against time and physics: a small 3DGAN, five epochs with each batch, from three draws of networks and numbers.

  bench/published/batch_size.py     goes on where it stopped"""

import records

BATCHES, EPOCHS = (4, 8, 16, 32), 5


def run(case: dict, number: int) -> dict:
    out = records.WORK / "batch-size"
    record = records.train(out, records.gan(number + 1, epochs=EPOCHS, replicas=2, batch=case["batch"]))
    return {**record, "figures": records.validated(out, records.showers("test"))}


STUDY = records.Study("batch-size", [{"batch": batch} for batch in BATCHES], 3, run)

if __name__ == "__main__":
    records.main(STUDY)
