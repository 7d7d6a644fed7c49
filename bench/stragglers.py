#!/usr/bin/env python3
"""One of four workers throttled to half speed by a CPU quota: how long a step takes with replicas that stay, and with replicas that move.

  bench/stragglers.py [--seconds 15] [--rounds 5] [--replicas 8,16]     root, for namespaces and cgroups; writes bench/results/DATE-stragglers.md

The ideal is the step of four equal workers of the same round, stretched by the lost capacity: 4/3.5. A replica is not divided, so the best
that whole ones allow is further from it the fewer there are; the table has both. Steps are counted in metrics.jsonl after the first moves."""

import argparse
import os
import pathlib
import signal
import statistics
import sys
import tempfile
import time

import network
from lib import elastic, hosts, runs
from lib.checks import wait_for
from store import store

ROOT = pathlib.Path(__file__).resolve().parents[1]
CORES, SETTLE_S = 0.4, 10
SPEEDS = (1.0, 1.0, 0.5, 1.0)
SETTINGS = {"job": "examples/topology.yaml", "train.batch": 20, "train.epochs": 100000, "data.test": "[]", "checkpoint.every_epochs": 0,
            "checkpoint.best_by": "loss"}
EQUAL, STAY, MOVE = "four equal workers", "one at half speed, replicas stay", "one at half speed, replicas move"
CASES = {EQUAL: (False, True), STAY: (True, False), MOVE: (True, True)}


def of_whole_replicas(replicas: int) -> float:
    """The slowest worker's time by the best deal of whole replicas, in steps of four equal workers."""
    shares = [0] * len(SPEEDS)
    for _ in range(replicas):
        soonest = min(range(len(SPEEDS)), key=lambda worker: (shares[worker] + 1) / SPEEDS[worker])
        shares[soonest] += 1
    return max(share / speed for share, speed in zip(shares, SPEEDS)) / (replicas / len(SPEEDS))


def seconds_per_step(net: hosts.Network, out: pathlib.Path, replicas: int, slow: bool, balance: bool, seconds: float) -> float:
    members = list(net)
    for rank, host in enumerate(members):
        host.limit_cores(CORES * (SPEEDS[rank] if slow else 1))
    workers = []
    for rank, host in enumerate(members):
        variables = runs.placed(rank, len(members), 29600, members[0].address)
        settings = {**SETTINGS, "train.replicas": replicas, "distribution.balance": str(balance).lower()}
        with open(f"{out}.{rank}.log", "wb") as log:
            workers.append(host.popen(runs.arguments(out, settings), cwd=ROOT, env=runs.environment(**variables), stdout=log, stderr=log))
    record = elastic.Record(out)
    try:
        wait_for(lambda: record.steps() >= 5, "the first steps")
        time.sleep(SETTLE_S)
        first, begin = record.steps(), time.monotonic()
        time.sleep(seconds)
        last, end = record.steps(), time.monotonic()
        return (end - begin) / (last - first)
    finally:
        for worker in workers:
            os.kill(worker.pid, signal.SIGKILL)
            worker.wait()


def to_ideal(one: dict, case: str) -> float:
    return one[case] / (one[EQUAL] * len(SPEEDS) / sum(SPEEDS))


def markdown(result: dict) -> str:
    lines = ["# A slow worker", f"{result['date']}, {result['cpu']}, {result['cores']} cores, commit {result['commit']}; other programs took "
             f"{result['others_cores']:.2f} cores at the start. `{result['command']}`", "",
             f"Four workers of {CORES} cores, one of them throttled to half of that. Medians of {result['number_of_rounds']} rounds in turns (the least and "
             "the most). The ideal of a round: its four equal workers' step, times 4/3.5. Whole replicas: the best deal of undivided ones, by the same.", ""]
    for replicas in dict.fromkeys(one["replicas"] for one in result["rounds"]):
        rounds = [one for one in result["rounds"] if one["replicas"] == replicas]
        best = of_whole_replicas(replicas)
        lines += [f"## {replicas} replicas", f"Whole replicas allow {best * sum(SPEEDS) / len(SPEEDS):.2f} of the ideal.", "",
                  "| | a step, ms | against the ideal | against whole replicas |", "|---|---|---|---|"]
        for case in CASES:
            times, ratios = [1e3 * one[case] for one in rounds], [to_ideal(one, case) for one in rounds]
            whole = [one[case] / (one[EQUAL] * best) for one in rounds]
            against = "" if case == EQUAL else f"{spread(ratios)} | {spread(whole)}"
            lines.append(f"| {case} | {statistics.median(times):.0f} ({min(times):.0f} to {max(times):.0f}) | {against or ' | '} |")
        lines.append("")
    return "\n".join(lines)


def spread(values: list[float]) -> str:
    return f"{statistics.median(values):.2f} ({min(values):.2f} to {max(values):.2f})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=15)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--replicas", type=network.numbers, default=[8, 16])
    options = parser.parse_args()
    able, why = hosts.available()
    if not able:
        sys.exit(why)
    result = {**network.provenance("bench/stragglers.py"), "others_cores": network.busy_cores(), "number_of_rounds": options.rounds, "rounds": []}
    with tempfile.TemporaryDirectory(prefix="linac-stragglers-") as folder, hosts.Network("abcd") as net:
        for number in range(options.rounds):
            for replicas in options.replicas:
                found = {"round": number, "replicas": replicas}
                for index, (case, (slow, balance)) in enumerate(CASES.items()):
                    out = pathlib.Path(folder) / f"{number}-{replicas}-{index}"
                    found[case] = seconds_per_step(net, out, replicas, slow, balance, options.seconds)
                result["rounds"].append(found)
                network.say(f"round {number + 1}, {replicas} replicas: " +
                            "; ".join(f"{case} {1e3 * found[case]:.0f} ms ({to_ideal(found, case):.2f})" for case in CASES))
    store(result, "stragglers", markdown(result))


if __name__ == "__main__":
    main()
