#!/usr/bin/env python3
"""Workers are lost and join, and the answer stays the same: the final weights are bit-identical to the undisturbed run's while workers
are killed at random moments (the most senior one, which coordinates and writes the record, among them), halted, and added. No finished
step is lost: the record holds every step once. How long a recovery takes is measured.

  elastic_test.py [--kills 6] [--joins 3] [--seed N]      the acceptance: --kills 20 --joins 10
"""

import argparse
import json
import pathlib
import random
import signal
import socket
import subprocess
import tempfile
import time

from lib import runs
from lib.checks import check, wait_for
from lib.elastic import CLASSIFIER, GAN, Run, same_end, steady


def disturbed(run: Run, kills: int, joins: int, dice: random.Random, most: int) -> tuple[list[float], int]:
    """Kills and adds workers at random moments, never leaving the run without any; returns the seconds from each kill to the next
    finished step, and how many faults were left when the run was over."""
    recoveries = []
    faults = ["kill"] * kills + ["join"] * joins
    dice.shuffle(faults)
    while faults and not run.over():
        time.sleep(dice.uniform(0, 0.6))
        # With too few or too many workers the other fault comes first.
        fault = faults[0]
        if fault == "kill" and len(run.members()) < 2:
            fault = "join" if "join" in faults else None  # None: the launcher starts another one
        elif fault == "join" and len(run.members()) >= most and "kill" in faults:
            fault = "kill"
        if fault is None:
            continue
        faults.remove(fault)
        if fault == "join":
            before = set(run.members())
            run.join()
            wait_for(lambda: run.newcomers[-1].pid in run.members() or run.over(), "a newcomer is let in")
            continue
        # Once more often than by chance the coordinator.
        members, done = run.members(), run.steps()
        victim = members[0] if dice.random() < 0.3 else dice.choice(members)
        begin = time.monotonic()
        run.kill(victim)
        wait_for(lambda: run.steps() > done or run.over(), "a step after a kill")
        recoveries.append(time.monotonic() - begin)
    return recoveries, len(faults)


def endures(root: pathlib.Path, settings: dict, kills: int, joins: int, dice: random.Random) -> None:
    name = settings.get("job", "demo").split("/")[-1]
    calm = root / f"calm-{name}"
    begin = time.monotonic()
    runs.run(calm, settings, "--workers", "2")
    steps = sum(line["kind"] == "step" for line in runs.lines(calm))
    print(f"{name}, undisturbed: {steps} steps in {time.monotonic() - begin:.1f} s")
    for attempt in range(3):  # on a busy machine a run of few steps may be over before the last fault
        out = root / f"kills-{name}-{attempt}"
        run = Run(out, {**settings, "distribution.restarts": kills}, 4, **steady(root))
        wait_for(lambda: run.steps() >= 1 or run.over(), "the first steps")
        times, faults_left = disturbed(run, kills, joins, dice, most=6)
        status = run.end()
        if not faults_left:
            break
        print(f"{run.steps()} steps done, {faults_left} faults left", pathlib.Path(f"{out}.log").read_text()[-2000:])
    check(not faults_left, "all faults were injected while the run went on")
    times.sort()
    left = set(run.members()) - {one.pid for one in run.newcomers}
    wanted = 0 if left else 128 + signal.SIGKILL  # of the launcher's own workers none may be left
    if status != wanted:
        print(pathlib.Path(f"{out}.log").read_text()[-8000:])
    check(status == wanted, f"the launcher of the disturbed run ends with exit status {status}")
    same_end(calm, out, f"{name}, {kills} kills, {joins} joins")
    print(f"kill -> next finished step: median {times[len(times) // 2]:.2f} s, longest {times[-1]:.2f} s")


def newcomer_ends_it(root: pathlib.Path) -> None:
    """The writer of the last checkpoint is one that joined, from another folder: what the checkpoint says is the same."""
    settings, calm, out = {**CLASSIFIER, "train.epochs": 12, "distribution.restarts": 0}, root / "calm-newcomer", root / "newcomer"
    runs.run(calm, settings, "--workers", "1")
    run = Run(out, settings, 2, **steady(root))
    wait_for(lambda: run.steps() >= 2 or run.over(), "the first steps")
    founders = run.members()
    run.join()
    wait_for(lambda: run.newcomers[-1].pid in run.members() or run.over(), "a newcomer is let in")
    done = run.steps()  # of the view that has it: until there is one it may not have the state that it goes on from
    wait_for(lambda: run.steps() > done + 1 or run.over(), "a step with the newcomer")
    for victim in founders:
        run.kill(victim)
    check(run.newcomers[-1].wait(timeout=120) == 0, "a newcomer from another folder ends the run alone")
    run.end()
    same_end(calm, out, "and its end")


def over(root: pathlib.Path) -> None:
    """Who joins a run that is over learns it: from the record, from nobody who listens, or from one who is no worker of it."""
    settings = {**CLASSIFIER, "train.epochs": 1, "train.steps_per_epoch": 8, "distribution.stall_timeout_s": 2, "distribution.restarts": 0}

    def join(out: pathlib.Path, status: int, words: str, what: str) -> None:
        done = subprocess.run([runs.LINAC, "train", "--join", out], env=runs.environment(), text=True, capture_output=True, timeout=60)
        said = done.stdout + done.stderr
        check(done.returncode == status and words in said, f"{what}, who joins ends with {status}: {said[-300:]}")

    complete, long = root / "complete", {**settings, "train.epochs": 500}
    runs.run(complete, settings, "--workers", "2")
    join(complete, 0, "the run is complete", "a run that is complete")
    stopped = root / "stopped"
    run = Run(stopped, long, 2, **steady(root))
    wait_for(lambda: run.steps() >= 2 or run.over(), "the first steps")
    run.launcher.send_signal(signal.SIGTERM)
    check(run.launcher.wait(timeout=60) == 75, "a run is stopped after a checkpoint")
    join(stopped, 6, "the run has ended (interrupted after step", "a run that was stopped")
    lost = root / "lost"
    run = Run(lost, long, 2, **steady(root))
    wait_for(lambda: run.steps() >= 2 or run.over(), "the first steps")
    runs.kill_tree(run.launcher)
    wait_for(lambda: not any(pathlib.Path(f"/proc/{pid}").exists() for pid in run.members()), "its workers are gone")
    join(lost, 6, "nobody listens there any more", "a run whose workers were killed")
    # Somebody else has one of their ports now, and says nothing.
    with socket.create_server(("127.0.0.1", 0)) as stranger:
        view = sorted((lost / "views").glob("*.json"))[-1]
        content = json.loads(view.read_text())
        content["members"][0]["address"] = f"127.0.0.1:{stranger.getsockname()[1]}"
        view.write_text(json.dumps(content))
        join(lost, 6, "has the run ended, or is the key another one?", "a run at whose address another program listens")
        (complete / "views" / view.name.replace("s1r", "s2r", 1)).write_text(view.read_text())  # of a later run in that folder
        join(complete, 6, "has the run ended", "a record that says its end, while somebody listens: he is asked, and")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--kills", type=int, default=6)
    parser.add_argument("--joins", type=int, default=3)
    parser.add_argument("--seed", type=int, default=time.time_ns() % 1_000_000)
    options = parser.parse_args()
    print(f"seed {options.seed}")
    dice = random.Random(options.seed)
    with tempfile.TemporaryDirectory(prefix="linac-elastic-") as folder:
        root = pathlib.Path(folder)
        endures(root, {**CLASSIFIER, "train.epochs": 10 + 3 * (options.kills + options.joins)}, options.kills, options.joins, dice)
        newcomer_ends_it(root)
        over(root)
        kills, joins = max(2, options.kills // 4), max(1, options.joins // 4)
        endures(root, {**GAN, "train.epochs": (kills + joins) // 2}, kills, joins, dice)


main()
