#!/usr/bin/env python3
"""Each way in which groups come together (train.sync.mode), after the same events: the classifier of examples/topology.yaml, 12 replicas of
5 events, 4 groups, rounds of 2 steps, of 10 epochs. Every way with each of some seeds, and the ways take turns.

  bench/local_modes.py [--seeds 3]
"""

import argparse
import pathlib
import statistics
import tempfile

import network
from lib import runs
from network import say
from store import store

JOB = {"job": "examples/topology.yaml", "train.replicas": 12, "train.batch": 5, "train.epochs": 10, "train.early_stopping.patience": -1}
SGD = {"train.optimizer.name": "sgd", "train.optimizer.momentum": 0.9, "train.optimizer.nesterov": "true", "train.optimizer.lr": 0.02}
WAYS = {
    "exact": {"train.sync.mode": "exact"},
    "local (DiLoCo)": {"train.sync.mode": "local"},
    "downpour": {"train.sync.mode": "downpour"},
    "downpour, push 1/4": {"train.sync.mode": "downpour", "train.sync.push": 0.25},
    "downpour, push 1/4, late": {"train.sync.mode": "downpour", "train.sync.push": 0.25, "train.sync.schedule.delays": 4},
    "hybrid, push 1/4": {"train.sync.mode": "hybrid", "train.sync.push": 0.25},
    "gem": {"train.sync.mode": "gem"},
    "exact, Nesterov's momentum": {"train.sync.mode": "exact"} | SGD,
    "easgd, Nesterov's momentum": {"train.sync.mode": "easgd"} | SGD,
    "eamsgd": {"train.sync.mode": "eamsgd"} | SGD,
    "gem, plain descent": {"train.sync.mode": "gem"} | SGD | {"train.optimizer.momentum": 0, "train.optimizer.nesterov": "false", "train.optimizer.lr": 0.1},
}


def trained(out: pathlib.Path, settings: dict) -> dict:
    runs.run(out, JOB | {"train.sync.groups": 4, "train.sync.every": 2} | settings, "--workers", "1")
    losses = [line["test"]["loss"] for line in runs.lines(out) if line["kind"] == "epoch"]
    rounds = [line for line in runs.lines(out) if line["kind"] == "round"]
    middle = statistics.median
    return {"loss": losses[-1], "lowest": min(losses), "staleness": middle(line["staleness"] for line in rounds) if rounds else None,
            "staleness_max": max(line["staleness_max"] for line in rounds) if rounds else None,
            "drift": middle(line["drift"] for line in rounds) if rounds else None}


def table(ways: dict[str, list[dict]]) -> list[str]:
    lines = ["| | test loss after 10 epochs, median (least to most) | lowest | turns of others between two of a group: mean, most | drift |", "|---|---|---|---|---|"]
    for name, found in ways.items():
        losses = sorted(one["loss"] for one in found)
        stale = "" if not found[0]["staleness"] else f"{statistics.median(one['staleness'] for one in found):.2f}, {max(one['staleness_max'] for one in found)}"
        drift = "" if found[0]["drift"] is None else f"{statistics.median(one['drift'] for one in found):.2f}"
        lines.append(f"| {name} | {statistics.median(losses):.3f} ({losses[0]:.3f} to {losses[-1]:.3f}) | "
                     f"{min(one['lowest'] for one in found):.3f} | {stale} | {drift} |")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--out", type=pathlib.Path, default=network.RESULTS)
    options = parser.parse_args()
    result = {**network.provenance("bench/local_modes.py"), "others_cores": network.busy_cores(), "ways": {name: [] for name in WAYS}}
    with tempfile.TemporaryDirectory(prefix="linac-turns-") as folder:
        for seed in range(1, options.seeds + 1):
            for number, (name, settings) in enumerate(WAYS.items()):
                found = trained(pathlib.Path(folder) / f"{seed}-{number}", settings | {"train.seed": seed})
                result["ways"][name].append(found)
                say(f"seed {seed}, {name}: {found['loss']:.4g}")
    lines = ["# Ways in which groups come together, after the same events", "", f"`{result['command']}`, commit {result['commit']}, {options.seeds} seeds.", "",
             *table(result["ways"])]
    say(f"written: {store(result, 'local-modes', chr(10).join(lines) + chr(10), options.out)}")


if __name__ == "__main__":
    main()
