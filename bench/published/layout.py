#!/usr/bin/env python3
"""The same job of four replicas as one worker, two and four on this host, ten times each: times, their scatter, and the bits.

  bench/published/layout.py     goes on where it stopped"""

import records

REPLICAS = 4


def run(case: dict, number: int) -> dict:
    return records.train(records.WORK / "layout", records.gan(1, epochs=2, steps_per_epoch=8, replicas=REPLICAS, batch=8), case["workers"])


STUDY = records.Study("layout", [{"workers": workers, "replicas_a_worker": REPLICAS // workers} for workers in (1, 2, 4)], 10, run)

if __name__ == "__main__":
    records.main(STUDY)
