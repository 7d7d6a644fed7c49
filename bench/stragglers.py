#!/usr/bin/env python3
"""One of four workers throttled to half speed by a CPU quota: how long a step takes with replicas that stay, and with replicas that move.

  bench/stragglers.py [--seconds 30] [--rounds 3]       root, for namespaces and cgroups; writes bench/results/DATE-stragglers.json

The ideal is the step of four equal workers, stretched by the lost capacity. Steps are counted in metrics.jsonl after the first moves."""

import argparse
import datetime
import json
import os
import pathlib
import platform
import signal
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests" / "train"), str(ROOT / "tests" / "network")]
import elastic  # noqa: E402
import hosts  # noqa: E402
import runs  # noqa: E402

CORES, SETTLE_S = 0.4, 10
SETTINGS = {"job": "examples/topology.yaml", "train.replicas": 16, "train.batch": 20, "train.epochs": 100000, "data.test": "[]",
            "checkpoint.every_epochs": 0, "checkpoint.best_by": "loss"}


def seconds_per_step(net: hosts.Network, out: pathlib.Path, slow: bool, balance: bool, seconds: float) -> float:
    members = list(net)
    for rank, host in enumerate(members):
        host.limit_cores(CORES / 2 if slow and rank == 2 else CORES)
    workers = []
    for rank, host in enumerate(members):
        variables = runs.placed(rank, len(members), 29600, members[0].address)
        settings = {**SETTINGS, "distribution.balance": str(balance).lower()}
        with open(f"{out}.{rank}.log", "wb") as log:
            workers.append(host.popen(runs.arguments(out, settings), cwd=ROOT, env=runs.environment(**variables), stdout=log, stderr=log))
    record = elastic.Record(out)
    try:
        elastic.wait_until(lambda: record.steps() >= 5, "the first steps")
        time.sleep(SETTLE_S)
        first, begin = record.steps(), time.monotonic()
        time.sleep(seconds)
        last, end = record.steps(), time.monotonic()
        return (end - begin) / (last - first)
    finally:
        for worker in workers:
            os.kill(worker.pid, signal.SIGKILL)
            worker.wait()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    able, why = hosts.available()
    if not able:
        sys.exit(why)
    cases = {"four equal workers": (False, True), "one at half speed, replicas stay": (True, False), "one at half speed, replicas move": (True, True)}
    times: dict[str, list[float]] = {name: [] for name in cases}
    with tempfile.TemporaryDirectory(prefix="linac-stragglers-") as folder, hosts.Network("abcd") as net:
        for index in range(options.rounds):
            for name, (slow, balance) in cases.items():
                times[name].append(seconds_per_step(net, pathlib.Path(folder) / f"{index}-{len(times[name])}-{slow}-{balance}", slow, balance, options.seconds))
                print(f"round {index + 1}: {name}: {times[name][-1] * 1000:.0f} ms a step", flush=True)
    median = {name: statistics.median(values) for name, values in times.items()}
    ideal = median["four equal workers"] * 4 / 3.5
    for name, value in median.items():
        print(f"{name:<35} {value * 1000:6.0f} ms   {value / ideal:.2f} x the ideal of three and a half workers")
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True).stdout.strip()
    result = {"command": "bench/stragglers.py " + " ".join(sys.argv[1:]), "date": datetime.date.today().isoformat(), "machine": platform.machine(),
              "cores": os.cpu_count(), "commit": commit, "seconds_per_step": times, "ideal_s": ideal,
              "to_ideal": {name: value / ideal for name, value in median.items()}}
    path = ROOT / "bench" / "results" / f"{result['date']}-stragglers.json"
    path.write_text(json.dumps(result, indent=1) + "\n")
    print(path)


main()
