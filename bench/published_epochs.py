#!/usr/bin/env python3
"""Published epochs beside what `linac plan` predicts from the first of each series. Runs nothing: the figures are those of
src/linac/base/plan/published_test.cpp, which says what is assumed, and the prices those of `linac plan prices`.

  bench/published_epochs.py [BUILD]             build/release, with plan_test

Writes bench/results/DATE-published-epochs.md."""

import datetime
import json
import os
import pathlib
import subprocess
import sys

from store import ROOT, commit, store

ASSUMED = """Published figures of others, and what the model says of them before a run. Of each series the first
figure is given, and the only one that is used; nothing is fitted to the rest. What was assumed
stands in `src/linac/base/plan/published_test.cpp`: whole steps, the slowest of N workers whose
steps scatter as far as one published profile says (idle 2.9 % on GPUs, 0.7 % on TPUs, of eight),
one step's time more an epoch, 32 Gbit/s between hosts of eight GPUs. All figures were known when
the constants were chosen; that of one step more was, because without it 128 GPUs are 10 % too fast.

Off by more than 10 %: the cost of eight GPUs an hour and an epoch, and the classifier on P100. The
book has Google's prices of 2022, not of the study's days, and a host of 32 vCPUs; which host and
region the study had is not known here. Its 2.4 times is close to that of the devices an hour (5.92
and 2.40 USD); an epoch on the TPU is shorter, too. The classifier's first epoch took 3 to 4 times
as long as the others: 3.5 is used, and a first one like the others gives 1580 s.

The rows of 32 V100 with fewer a host were found when the model was done: runs that the study's
authors keep beside their article, which `bench/published/theirs.json` has."""


def main() -> None:
    build = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "build/release")
    environment = {name: value for name, value in os.environ.items() if name != "LINAC_PRICES"}
    said = subprocess.run([build / "bin/plan_test", "--gtest_filter=Published.*"], check=True, capture_output=True, text=True, env=environment).stdout
    rows = [json.loads(line.removeprefix("row ")) for line in said.splitlines() if line.startswith("row ")]
    if not rows:
        sys.exit(f"FAILED: {build}/bin/plan_test told no rows")
    result = {"date": datetime.date.today().isoformat(), "command": "bench/published_epochs.py", "commit": commit(), "rows": rows}
    lines = ["# Published epochs, predicted from one figure each", f"{result['date']}, commit {result['commit']}. `{result['command']}`", "", ASSUMED, "",
             "| | predicted | published | off by | an epoch, USD on demand | spot |", "|---|---|---|---|---|---|"]
    for row in rows:
        off = "" if row["what"].endswith("given") else f"{100 * (row['predicted'] / row['published'] - 1):+.1f} %"
        lines.append(f"| {row['what']} | {row['predicted']:.4g} {row['unit']} | {row['published']:g} {row['unit']} | {off} | {row.get('on_demand_usd', '')} | {row.get('spot_usd', '')} |")
    store(result, "published-epochs", "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
