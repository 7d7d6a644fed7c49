#!/usr/bin/env python3
"""Random faults for as long as you like, run after run, several a second and several at a time, on four hosts that are network namespaces:
what faults.py has. Every other run has hosts that share no folder. Each run must end with the record and the bytes of an undisturbed one.

  soak.py --minutes 60 [--seed N] [--keep FOLDER] [--local] [--simulate BUILD]       root, for namespaces; writes build/bench/DATE-soak.json

A run is 1125 steps of the classifier. Where too few workers are left, as may happen, all end, and the run is resumed on all hosts; that is
counted, and so are the steps that were done again for it. --simulate: after the runs a minute of the schedules of comm_test; their faults and
their simulated time are counted apart."""

import argparse
import collections
import datetime
import itertools
import json
import os
import pathlib
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

from faults import FAULTS_PER_S, Faults, Visitor
from fleet import Fleet
from lib import elastic, hosts, runs
from lib.checks import check

# Steps that cost little, so that there are many between the faults.
SETTINGS = {**elastic.AT_FULL_SIZE, "train.batch": 2, "train.epochs": 25}
HASTY = {**SETTINGS, "distribution.stall_timeout_s": 5, "distribution.on_sigterm": "leave"}
APART = {"train.sync.mode": "local", "train.sync.groups": 4, "train.sync.every": 6, "train.sync.moments": "average"}
STILL_S = 40  # without a step; then no more faults come until there is one
HUNG_S = 240
SIMULATE_S = 60
PORTS = itertools.count(29700)


def steps_of(out: pathlib.Path) -> collections.Counter:
    """How often the record has each step."""
    return collections.Counter(line["global_step"] for line in runs.lines(out) if line["kind"] == "step")


class Soaked:
    """A run under faults, to its end."""

    def __init__(self, net: hosts.Network, root: pathlib.Path, calm: pathlib.Path, number: int, dice: random.Random, visitors: list[Visitor], rate: float):
        self.name, self.calm, self.wrong = f"run {number}", calm, ""
        self.wanted = elastic.Record(calm).steps()
        self.fleet = Fleet(net, root, f"run-{number}", HASTY, number % 2 == 0, dice)
        self.faults = Faults(self.fleet, visitors, dice, rate)
        self.lost = self.twice = self.equal = 0
        begin = time.monotonic()
        try:
            self._train()
        finally:
            self.faults.calm()
            self.fleet.end()
        self.seconds = time.monotonic() - begin
        self._judge()

    def _train(self) -> None:
        fleet, faults = self.fleet, self.faults
        fleet.start(next(PORTS))
        while not self.wrong:
            fleet.tick()
            faults.watch()
            now = time.monotonic()
            if fleet.wrong:
                self.wrong = "; ".join(fleet.wrong)
            elif fleet.over():
                faults.calm()
                if fleet.well:
                    return
                fleet.resume(next(PORTS))
                faults.restarted()
            elif faults.steps >= 0.97 * self.wanted:
                fleet.reviving = False
                faults.calm()
            elif now - faults.step_at < STILL_S and faults.steps > 0:
                faults.tick()
            else:
                faults.calm()
            if now - faults.step_at > HUNG_S:
                self.wrong = f"no step in {HUNG_S} s, of them {HUNG_S - STILL_S} without a fault"
            time.sleep(0.015)

    def _judge(self) -> None:
        records = self.fleet.records()
        expected = steps_of(self.calm)
        for record in records:
            found = steps_of(record)
            self.lost, self.twice = self.lost + (expected - found).total(), self.twice + (found - expected).total()
        same = [elastic.same_losses(self.calm, record) and elastic.same_checkpoint(self.calm, record) for record in records]
        self.equal = bool(same) and all(same) and not self.wrong
        self.good = self.equal and not self.lost and not self.twice
        kind = "a disk a host" if self.fleet.apart else "one folder"
        print(f"{'ok    ' if self.good else 'FAILED'} {self.name} ({kind}, {self.seconds:.0f} s): {dict(self.faults.count)}, {self.faults.double} double; "
              f"{self.fleet.joins} joins, {self.fleet.resumes} resumes, ends {dict(self.fleet.ends)}; {self.lost} steps lost, {self.twice} there twice, "
              f"{'the same' if self.equal else 'OTHER'} bits in {len(records)} records {self.wrong}", flush=True)

    def keep(self, folder: pathlib.Path) -> None:
        """What explains a failure."""
        folder.mkdir(parents=True, exist_ok=True)
        for path in (self.fleet.log, pathlib.Path(f"{self.fleet.log}.faults")):
            shutil.copy(path, folder)
        for number, tail in enumerate(self.fleet.tails):
            if tail.path.parent.exists():
                shutil.copytree(tail.path.parent, folder / f"{self.name.replace(' ', '-')}-{number}", dirs_exist_ok=True)
        print(f"its logs and folders are in {folder}", flush=True)

    def remove(self) -> None:
        for folder in {self.fleet.mount, *self.fleet.disks.values()}:
            shutil.rmtree(folder)


def simulated(build: pathlib.Path, seconds: float, first: int) -> dict:
    """Schedules of the simulation for so long: what it says of them."""
    total: collections.Counter = collections.Counter()
    begin = time.monotonic()
    while time.monotonic() - begin < seconds and not total["failed"]:
        done = subprocess.run([build / "bin" / "comm_test", "--gtest_filter=MembershipSimulation.N*"], stdout=subprocess.PIPE, text=True,
                              env={**os.environ, "LINAC_SIM_SCHEDULES": "1000", "LINAC_SIM_FIRST": str(first + total["schedules"])})
        for line in done.stdout.splitlines():
            total.update(json.loads(line) if line.startswith("{") else {})
        total["failed"] += done.returncode != 0
        if done.returncode:
            print(done.stdout[-2000:])
    hours = total.pop("simulated_ms", 0) / 3.6e6
    return {**total, "simulated_hours": round(hours, 1), "faults_a_simulated_hour": round(total["faults"] / hours) if hours else 0}


def machine() -> str:
    words = re.search(r"model name\s*: (.*)", pathlib.Path("/proc/cpuinfo").read_text())
    return words[1] if words else "unknown"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--seed", type=int, default=time.time_ns() % 1_000_000)
    parser.add_argument("--rate", type=float, default=FAULTS_PER_S, help="faults a second while a run goes on")
    parser.add_argument("--keep", type=pathlib.Path, default=pathlib.Path(tempfile.gettempdir()) / "linac-soak-failed", help="folder for what failed")
    parser.add_argument("--local", action="store_true", help="the replicas train apart, in groups")
    parser.add_argument("--simulate", type=pathlib.Path, help="a build with comm_test")
    options = parser.parse_args()
    if options.local:
        for settings in (SETTINGS, HASTY):
            settings.update(APART)
    able, why = hosts.available()
    if not able:
        sys.exit(why)
    print(f"seed {options.seed}", flush=True)
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=runs.ROOT, capture_output=True, text=True).stdout.strip()
    dice = random.Random(options.seed)
    done: list[Soaked] = []
    with tempfile.TemporaryDirectory(prefix="linac-soak-") as folder, hosts.Network("abcd", seed=options.seed) as net:
        root = pathlib.Path(folder)
        runs.run(root / "calm", SETTINGS, "--workers", "2")
        visitors = [Visitor(host, root) for host in net]
        begin = time.monotonic()
        while time.monotonic() - begin < 60 * options.minutes:
            done.append(Soaked(net, root, root / "calm", len(done) + 1, dice, visitors, options.rate))
            done[-1].remove() if done[-1].good else done[-1].keep(options.keep / f"{options.seed}-{len(done)}")
        seconds = time.monotonic() - begin
        steps = sum(run.faults.steps for run in done)
    write_result(options, commit, done, seconds, steps, sum(visitor.stranger.let_in for visitor in visitors))


def write_result(options, commit: str, done: list[Soaked], seconds: float, steps: int, let_in: int) -> None:
    faults = sum((run.faults.count for run in done), collections.Counter())
    recoveries = sorted(recovery for run in done for recovery in run.faults.recoveries)
    lost, twice, equal = (sum(getattr(run, what) for run in done) for what in ("lost", "twice", "equal"))
    result = {"command": "tests/train/soak.py " + " ".join(sys.argv[1:]), "date": datetime.date.today().isoformat(), "commit": commit, "seed": options.seed,
              "machine": machine(), "cores": os.cpu_count(), "seconds": round(seconds), "runs": len(done),
              "runs_without_a_shared_folder": sum(run.fleet.apart for run in done), "steps": steps,
              "faults": dict(faults.most_common()), "faults_together": faults.total(), "faults_an_hour": round(3600 * faults.total() / seconds),
              "faults_on_who_writes": sum(run.faults.on_writer for run in done), "double_faults": sum(run.faults.double for run in done), "joins": sum(run.fleet.joins for run in done),
              "resumes": sum(run.fleet.resumes for run in done), "steps_done_again_after_resumes": sum(run.faults.done_again for run in done),
              "exit_statuses": dict(sum((run.fleet.ends for run in done), collections.Counter())),
              "strangers_let_in": let_in, "steps_lost": lost, "steps_twice": twice, "runs_with_equal_bits": equal,
              "kill_to_next_step_s": {"median": round(statistics.median(recoveries), 3), "p95": round(recoveries[int(0.95 * len(recoveries))], 3),
                                      "max": round(recoveries[-1], 3)} if recoveries else {}}
    if options.simulate:
        result["simulated"] = simulated(options.simulate, SIMULATE_S, options.seed)
    print(json.dumps(result, indent=1))
    path = runs.ROOT / "build" / "bench" / f"{result['date']}-soak.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(result, indent=1) + "\n")
    print(path)
    check(lost == twice == let_in == 0 and equal == len(done), f"{len(done)} runs of {steps} steps: {lost} lost, {twice} there twice, {equal} with equal bits")


if __name__ == "__main__":
    main()
