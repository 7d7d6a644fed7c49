#!/usr/bin/env python3
"""The classifier's learning rate multiplied by the number of replicas and then slowly reduced, or multiplied alone, or neither: accuracy after 6 and 12
epochs. The factors are those of the published script: 0.4 from the fourth epoch on, 0.2 from the sixth.

  bench/published/learning_rate.py     goes on where it stopped"""

import records

EPOCHS, BATCH = 12, 15
REDUCED = [{"epoch": 3, "factor": 0.4}, {"epoch": 5, "factor": 0.5}]


def run(case: dict, number: int) -> dict:
    schedule = {"scale_with_replicas": "none" if case["rate"] == "fixed" else "linear", "drops": REDUCED if case["rate"] == "scaled, reduced" else []}
    return records.train(records.WORK / "learning-rate", records.classifier("gru", number + 1, epochs=EPOCHS, replicas=case["replicas"], batch=BATCH, schedule=schedule))


STUDY = records.Study("learning-rate", [{"replicas": replicas, "rate": rate} for replicas in (1, 8) for rate in ("fixed", "scaled", "scaled, reduced")
                                        if (replicas, rate) != (1, "scaled")], 3, run)

if __name__ == "__main__":
    records.main(STUDY)
