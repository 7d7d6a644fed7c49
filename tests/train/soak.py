#!/usr/bin/env python3
"""Random faults for as long as you like, run after run: workers killed, halted, cut off from the network and added, on four hosts that are
network namespaces. Each run must end with the record and the bytes of an undisturbed one.

  soak.py --minutes 60 [--seed N] [--keep FOLDER]       root, for namespaces; writes bench/results/DATE-soak.json

A run is 1800 steps of the classifier. A fault comes every few seconds; a host is cut off for up to 8 s (the others exclude it after 5),
a worker is halted for up to 9 s. Nothing is cut off or halted while something else is, so that a majority can always go on."""

import argparse
import collections
import datetime
import json
import os
import pathlib
import random
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

import elastic
import runs
from runs import check

sys.path.insert(0, str(runs.ROOT / "tests" / "network"))
import hosts  # noqa: E402

SETTINGS = {**elastic.CLASSIFIER, "train.epochs": 200}
HASTY = {**SETTINGS, "distribution.stall_timeout_s": 5}
WORKERS_MIN, WORKERS_MAX = 2, 6
PAUSE_S_MAX, CUT_S_MAX, HALT_S_MAX = 4.0, 8.0, 9.0
# Exit statuses of a worker that gives itself up. 8: on a busy machine five seconds may pass in which it did not get to run. 6: the run went
# on without it, and the network refused its connections for five seconds more.
GAVE_UP = (8, 6)


class Run(elastic.Record):
    """Workers on the hosts, started as a launcher of several machines would."""

    def __init__(self, net: hosts.Network, out: pathlib.Path, port: int):
        super().__init__(out)
        self.net, self.members_of_net = net, list(net)
        self.workers: dict[int, subprocess.Popen] = {}
        self.host_of: dict[int, str] = {}
        for rank, host in enumerate(self.members_of_net):
            placed = runs.placed(rank, len(self.members_of_net), port, self.members_of_net[0].address)
            self._start(host, runs.arguments(out, HASTY), placed)

    def _start(self, host: hosts.Host, arguments: list[str], variables: dict) -> None:
        with open(f"{self.out}.log", "ab") as log:
            worker = host.popen(arguments, cwd=runs.ROOT, env=runs.environment(**variables), stdout=log, stderr=log)
        self.workers[worker.pid], self.host_of[worker.pid] = worker, host.name

    def join(self, dice: random.Random) -> int:
        before = set(self.workers)
        self._start(dice.choice(self.members_of_net), [runs.LINAC, "train", "--join", str(self.out)], {})
        return (set(self.workers) - before).pop()

    def living(self) -> list[int]:
        """Members of the latest view whose process is there, the most senior first."""
        return [pid for pid in self.members() if pid in self.workers and self.workers[pid].poll() is None]

    def over(self) -> bool:
        return all(worker.poll() is not None for worker in self.workers.values())


class Injector:
    """Makes faults, counts them, and times what follows."""

    def __init__(self, run: Run, dice: random.Random):
        self.run, self.dice = run, dice
        self.count: collections.Counter = collections.Counter()
        self.recoveries: list[float] = []
        self.lost, self.twice, self.equal = 0, 0, False  # of the run, when it has ended

    def __call__(self) -> None:
        living = self.run.living()
        kinds = ["halt", "cut"]
        kinds += ["kill"] * 3 if len(living) > WORKERS_MIN else []
        kinds += ["join"] * 3 if len(living) < WORKERS_MAX else []
        kind = self.dice.choice(kinds)
        if len(living) < 2 and kind != "join":
            kind = "join"
        # Once more often than by chance the coordinator.
        victim = living[0] if living and self.dice.random() < 0.3 else self.dice.choice(living) if living else None
        getattr(self, kind)(victim)

    def kill(self, pid: int) -> None:
        done, begin = self.run.steps(), time.monotonic()
        os.kill(pid, signal.SIGKILL)
        self.run.dead.add(pid)
        elastic.wait_until(lambda: self.run.steps() > done or self.run.over(), "a step after a kill")
        self.recoveries.append(time.monotonic() - begin)
        self.count["kill"] += 1

    def halt(self, pid: int) -> None:
        os.kill(pid, signal.SIGSTOP)
        time.sleep(self.dice.uniform(0.05, HALT_S_MAX))
        os.kill(pid, signal.SIGCONT)
        self.settle("halt")

    def cut(self, pid: int) -> None:
        name = self.run.host_of[pid]
        others = "".join(host.name for host in self.run.net if host.name != name)
        self.run.net.partition([others, name], self.dice.choice(list(hosts.CUTS)))
        time.sleep(self.dice.uniform(0.05, CUT_S_MAX))
        self.run.net.heal()
        self.settle("cut")

    def join(self, _: int | None) -> None:
        newcomer = self.run.join(self.dice)
        elastic.wait_until(lambda: newcomer in self.run.members() or self.run.workers[newcomer].poll() is not None or self.run.over(),
                           "a newcomer is let in")
        self.count["join"] += 1

    def settle(self, kind: str) -> None:
        """Waits until the run goes on."""
        done = self.run.steps()
        elastic.wait_until(lambda: self.run.steps() > done + 2 or self.run.over(), f"steps after a {kind}")
        self.count[kind] += 1


def steps_of(out: pathlib.Path) -> collections.Counter:
    """How often the record has each step."""
    return collections.Counter(line["global_step"] for line in runs.lines(out) if line["kind"] == "step")


def soak(net: hosts.Network, root: pathlib.Path, calm: pathlib.Path, number: int, dice: random.Random) -> Injector:
    out = root / f"run-{number}"
    run = Run(net, out, 29700 + number % 100)
    inject = Injector(run, dice)
    wanted = elastic.Record(calm).steps()
    elastic.wait_until(lambda: run.steps() >= 1 or run.over(), "the first step")
    while run.steps() < 0.97 * wanted and not run.over():
        time.sleep(dice.uniform(0, PAUSE_S_MAX))
        if run.steps() < 0.97 * wanted:
            inject()
    codes = {pid: worker.wait(timeout=300) for pid, worker in run.workers.items()}
    wrong = {pid: code for pid, code in codes.items() if code not in ((-signal.SIGKILL,) if pid in run.dead else (0, *GAVE_UP))}
    inject.count["gave itself up"] += sum(code in GAVE_UP for code in codes.values())
    log = pathlib.Path(f"{out}.log").read_text()
    if wrong:
        print(f"the log is in {shutil.copy(f'{out}.log', tempfile.gettempdir())}")
    for line in log.splitlines():
        if "has made no progress" in line:
            print(line)
    check(not wrong, f"run {number}: all workers end well but those that were killed {wrong or ''}")
    expected, found = steps_of(calm), steps_of(out)
    inject.lost, inject.twice = (expected - found).total(), (found - expected).total()
    inject.equal = elastic.same_losses(calm, out) and elastic.same_checkpoint(calm, out)
    good = inject.equal and not inject.lost and not inject.twice
    print(f"{'ok    ' if good else 'FAILED'} run {number}: {dict(inject.count)}; {inject.lost} steps lost, {inject.twice} there twice, "
          f"{'the same' if inject.equal else 'OTHER'} bits", flush=True)
    if not good:
        print(f"the log is in {shutil.copy(f'{out}.log', tempfile.gettempdir())}")
    return inject


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--seed", type=int, default=time.time_ns() % 1_000_000)
    parser.add_argument("--keep", type=pathlib.Path, help="folder for the runs, which stay there")
    options = parser.parse_args()
    able, why = hosts.available()
    if not able:
        sys.exit(why)
    print(f"seed {options.seed}", flush=True)
    dice = random.Random(options.seed)
    done: list[Injector] = []
    with tempfile.TemporaryDirectory(prefix="linac-soak-") as folder, hosts.Network("abcd", seed=options.seed) as net:
        root = options.keep or pathlib.Path(folder)
        root.mkdir(parents=True, exist_ok=True)
        runs.run(root / "calm", SETTINGS, "--workers", "2")
        begin = time.monotonic()
        while time.monotonic() - begin < 60 * options.minutes:
            done.append(soak(net, root, root / "calm", len(done) + 1, dice))
        seconds = time.monotonic() - begin
        steps = len(done) * elastic.Record(root / "calm").steps()
    faults = sum((inject.count for inject in done), collections.Counter())
    recoveries = [recovery for inject in done for recovery in inject.recoveries]
    lost, twice, equal = (sum(getattr(inject, what) for inject in done) for what in ("lost", "twice", "equal"))
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=runs.ROOT, capture_output=True, text=True).stdout.strip()
    result = {"command": "tests/train/soak.py " + " ".join(sys.argv[1:]), "date": datetime.date.today().isoformat(), "commit": commit, "seed": options.seed,
              "cores": os.cpu_count(), "seconds": round(seconds), "runs": len(done), "steps": steps, "faults": dict(faults), "steps_lost": lost,
              "steps_twice": twice, "runs_with_equal_bits": equal, "kill_to_next_step_s": {"median": statistics.median(recoveries), "max": max(recoveries)}}
    print(json.dumps(result, indent=1))
    path = runs.ROOT / "bench" / "results" / f"{result['date']}-soak.json"
    path.write_text(json.dumps(result, indent=1) + "\n")
    print(path)
    check(lost == twice == 0 and equal == len(done), f"{len(done)} runs of {steps} steps: {lost} lost, {twice} there twice, {equal} with equal bits")


if __name__ == "__main__":
    main()
