#!/usr/bin/env python3
"""What a job with a deadline costs on spot machines by linac's policy (src/linac/base/plan/spot.h), beside the least that who knows the market could pay.

  bench/spot.py [--traces 1000] [--recorded FOLDER]

A job of 24 h, a deadline of 1.15, 1.5 and 2 times that, 10 minutes to begin and between checkpoints, spot at 0.3 of the price; --traces made-up markets of each
kind, and of kinds that were not looked at while the policy was designed. --recorded: a clone of https://github.com/skypilot-org/spot-traces, AWS's markets of 2022 and 2023 (Wu et al., NSDI 2024); a job begins on each of its
availability traces every 12 h. Played by the test SpotMarkets of plan_test. Writes bench/results/DATE-spot.md."""

import argparse
import json
import os
import pathlib
import subprocess
import tempfile

import network
import turns
from store import store

ROOT = pathlib.Path(__file__).resolve().parents[1]
TICK_S, BEGIN_S, LONGEST_S = 300, 12 * 3600, 48 * 3600


def recorded(clone: pathlib.Path, into: pathlib.Path) -> None:
    """The traces as linac reads them, as seen every TICK_S seconds."""
    for path in sorted((clone / "availability").rglob("*.json")):
        found = json.loads(path.read_text())
        gap_s, data = found["metadata"]["gap_seconds"], [count >= int(path.parents[1].name.split("-")[0]) for count in found["data"]]
        folder = into / f"{path.parents[1].name} {path.parent.name}"
        folder.mkdir(exist_ok=True)
        for begin_s in range(0, int(len(data) * gap_s - LONGEST_S), BEGIN_S):
            seen = [data[int((begin_s + tick_s) / gap_s)] for tick_s in range(0, LONGEST_S, TICK_S)]
            (folder / f"{path.stem}-{begin_s}").write_text("".join(f"{tick * TICK_S} {'available' if there else 'gone'}\n" for tick, there in enumerate(seen)))


def known(row: dict) -> str:
    return f"{row['knows_law'] / row['least']:.3f}" if row["knows_law"] else ""


def table(rows: list[dict]) -> list[str]:
    head = ["| market (mean life and gap) | deadline, of 24 h | traces | deadline kept | ratio: median | mean | 90 of 100 below | least | together | knows the law | "
            "taken away | work lost, h | mean, seen from spot alone | deadline kept |", "|---" * 14 + "|"]
    return head + [f"| {row['market']} | {row['deadline']} | {row['traces']} | {row['held']} | {row['median']:.3f} | {row['mean']:.3f} | {row['p90']:.3f} | "
                   f"{row['least'] / 24:.2f} | {row['paid'] / row['least']:.3f} | {known(row)} | {row['preemptions']:.1f} | {row['lost_h']:.2f} | "
                   f"{row['unseen_mean']:.3f} | {row['unseen_held']} |" for row in rows]


def page(result: dict) -> str:
    lines = [*turns.heading("Spot machines with a deadline, beside the least in hindsight", result),
             "A job of 24 h on each trace; ratio: its cost by the policy to the least that who knows the trace could pay (dynamic programming). Wanted: the",
             "deadline kept in 99 of 100, a ratio of 1.25. The least is told as a part of what 24 h on demand cost. What all traces cost together, to the",
             "least, stands beside what the best policy would pay on average that knows the market's law: nobody without foresight pays less. The last columns",
             "are of who does not see the market while on demand, as `linac launch --then`.", ""]
    for looked_at, title in ((True, "Markets of the kinds that the policy was designed on, of another seed"), (False, "Other markets, and recorded ones")):
        lines += [f"## {title}", *table([row for row in result["markets"] if row["looked_at"] == looked_at]), ""]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--traces", type=int, default=1000)
    parser.add_argument("--recorded", type=pathlib.Path)
    parser.add_argument("--test", default=ROOT / "build/release/bin/plan_test", type=pathlib.Path)
    options = parser.parse_args()
    result = {**network.provenance("bench/spot.py"), "before": None, "others_cores": network.busy_cores()}
    with tempfile.TemporaryDirectory() as folder:
        environment = os.environ | {"LINAC_SPOT_TRACES": str(options.traces), "LINAC_SPOT_RESULT": f"{folder}/found.json"}
        if options.recorded:
            result["command"] = result["command"].replace(str(options.recorded), "SPOT-TRACES")
            (into := pathlib.Path(folder) / "recorded").mkdir()
            recorded(options.recorded, into)
            environment["LINAC_SPOT_RECORDED"] = str(into)
        subprocess.run([options.test.resolve(), "--gtest_filter=SpotMarkets.*"], env=environment, check=True)
        result["markets"] = json.loads(pathlib.Path(f"{folder}/found.json").read_text())
    store(result, "spot", page(result))


if __name__ == "__main__":
    main()
