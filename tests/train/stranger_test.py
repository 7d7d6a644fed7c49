#!/usr/bin/env python3
"""A stranger on the host of a run reads all that it can and sends the workers whatever it likes: the run neither ends nor changes, and
the stranger learns nothing of its key.

  stranger_test.py [--seconds 4]     as root the stranger is another user; else it is the same, and reads what is private too"""

import argparse
import json
import os
import pathlib
import socket
import subprocess
import sys
import tempfile

from lib import elastic, runs
from lib.checks import check, wait_for

STRANGER = 65534  # nobody
STEPS_A_SECOND = 1000 // elastic.STEP_MS  # at most


def rate(out: pathlib.Path) -> float:
    steps = [line for line in runs.lines(out) if line["kind"] == "step"]
    return (len(steps) - 1) / (steps[-1]["time"] - steps[0]["time"])


def meeting_port(worker: int) -> int:
    variables = pathlib.Path(f"/proc/{worker}/environ").read_bytes().split(b"\0")
    return int(next(entry for entry in variables if entry.startswith(b"MASTER_PORT=")).partition(b"=")[2])


def is_open(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def others_may(path: pathlib.Path) -> int:
    return path.stat().st_mode & 0o077


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=4)
    options = parser.parse_args()
    root_user = os.geteuid() == 0
    # Replicas that move from a slow worker to a fast one would be a new view.
    settings = {**elastic.CLASSIFIER, "distribution.balance": "false", "train.epochs": 10_000, "train.max_steps": int(STEPS_A_SECOND * (options.seconds + 4))}
    with tempfile.TemporaryDirectory(prefix="linac-stranger-") as folder:
        root = pathlib.Path(folder)
        root.chmod(0o755)
        runs.run(root / "calm", settings, "--workers", "2")
        out = root / "visited"
        run = elastic.Run(out, settings, 2, **elastic.steady(root))
        wait_for(lambda: run.steps() >= 10, "the first steps")
        workers, port = run.members(), None
        # The founding view is in no file; a newcomer makes the second one, which names all.
        run.join()
        wait_for(lambda: len(run.members()) == 3, "a newcomer")
        workers = run.members()
        port = meeting_port(workers[0])
        wait_for(lambda: not is_open(port), "the meeting place is closed", 10)
        views = len(list((out / "views").glob("*.json")))
        key = (out / "private" / "key").read_text().strip()
        check(len(key) == 64 and not others_may(out / "private") and not others_may(out / "private" / "key"), "the key is its owner's alone")

        collected = root / "collected"
        collected.touch()
        collected.chmod(0o666)
        begin = run.steps()
        command = [sys.executable, runs.ROOT / "tests" / "train" / "stranger.py", out, str(options.seconds), collected]
        done = subprocess.run([*command, *(["--as", str(STRANGER)] if root_user else [])], stdout=subprocess.PIPE, text=True, timeout=options.seconds + 60)
        check(done.returncode == 0, "the stranger has done what it could")
        told = json.loads(done.stdout)
        print(f"      {told['attempts']}, {len(told['readable'])} files")
        check(run.launcher.poll() is None and run.steps() > begin, f"the run goes on meanwhile: {run.steps() - begin} steps")
        check(told["addresses"] >= 3 and min(told["attempts"].values()) > 0 and len(told["attempts"]) >= 5, "every worker was called, in every way")
        check(told["let_in"] == 0, "and let nobody in")
        learnt = collected.read_bytes()
        if root_user:
            check(str(out / "metrics.jsonl") in told["readable"] and not any("/private/" in path for path in told["readable"]),
                  "the stranger read the run's folder, without what is private")
            check(key.encode() not in learnt and bytes.fromhex(key) not in learnt, "and has not seen the key")
        check(not any(key in pathlib.Path(f"/proc/{pid}/cmdline").read_text() for pid in workers), "no command line has the key")
        check(run.end() == 0, "the run ends well")
        log = pathlib.Path(f"{out}.log").read_text() + (out / "log.txt").read_text()
        check(key not in log, "no log has the key")
        if len(list((out / "views").glob("*.json"))) != views:
            print(*[line for line in log.splitlines() if "[comm]" in line], sep="\n")
        check(len(list((out / "views").glob("*.json"))) == views, "no worker has lost its place")
        elastic.same_end(root / "calm", out, "with a stranger")


main()
