#!/usr/bin/env python3
"""A job with a deadline that moves between a site whose machines are taken away and one where they stay (`linac launch --then`): it goes on from its
checkpoint at the other one, in time, with the bits of a run that nobody disturbed; whatever becomes of who follows, nothing runs twice."""

import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

from lib import elastic, launches, runs
from lib.checks import check, wait_for
from lib.launches import Client
from lib.processes import processes
from lib.servers.slurm import Slurm
from lib.skips import skipped

SETTINGS = launches.SETTINGS | {"train.epochs": 4, "train.steps_per_epoch": 100, "checkpoint.every_steps": 4}
LONG = launches.LONG


def words_of(settings: dict, name: str, out: pathlib.Path, deadline: str, work: str, *extra: object) -> list:
    times = ("--deadline", deadline, "--work", work, "--recovery", "1s", "--checkpoint", "10s")
    return [*launches.launch_words("spot", settings), "--then", "demand", "--workers", 1, "--name", name, "--out", out, *times, *extra]


def members(out: pathlib.Path) -> list[int]:
    """Processes that train in the folder."""
    return [pid for pid, words in processes() if "train" in words and str(out) in words]


def held(out: pathlib.Path) -> None:
    """In the midst of its steps, for as long as a test needs."""
    launches.wait_for_steps(out, 6, pause_s=0.01)
    for pid in members(out):
        os.kill(pid, signal.SIGSTOP)


def end_of(process: subprocess.Popen, status: int) -> str:
    said, _ = process.communicate(timeout=120)
    check(process.returncode == status, f"status {status}" if process.returncode == status else said)
    return said


def taken_away(client: Client, root: pathlib.Path, calm: pathlib.Path) -> None:
    """With a warning, and with time left: it goes on on spot. Who follows is killed meanwhile."""
    out = root / "warned"
    words = words_of(SETTINGS, "warned", out, "1000h", "1h")
    first = client.start(*words)
    held(out)
    check("follows it already" in client.linac(*words, status=2), "one process follows")
    first.send_signal(signal.SIGKILL)
    first.wait()
    second = client.start(*words)
    check(len(members(out)) == 1, "whoever follows again finds what runs")
    for number in (signal.SIGTERM, signal.SIGCONT):
        os.kill(members(out)[0], number)
    wait_for(lambda: (root / "spot" / "warned-2").exists(), "the next stay", 30)
    said = end_of(second, 0)
    check("spot:warned-1: taken away" in said and "spot:warned-2" in said and "SUCCEEDED" in said, "it goes on where it was taken away")
    check(not list((root / "demand").iterdir()), "on spot, as there is time")
    launches.same_bits(calm, out, "taken away with a warning")
    check("SUCCEEDED" in client.linac(*words) and not members(out), "the same command again says how it ended")
    check("another job has it" in client.linac(*words_of(SETTINGS | {"train.epochs": 5}, "warned", out, "1000h", "1h"), status=2), "the name is that job's")


def in_time(client: Client, root: pathlib.Path, calm: pathlib.Path) -> None:
    """Killed when one more start could cost the deadline: 2 recoveries, 10 s of work and the 60 s that are left do not fit into 75 s any more."""
    out = root / "killed"
    process = client.start(*words_of(SETTINGS, "killed", out, "75s", "60s"))
    held(out)
    begun_s = json.loads((client.root / "state" / "linac" / "moves" / "killed.json").read_text())["begun_ms"] / 1000
    wait_for(lambda: time.time() > begun_s + 4, "four seconds", 20)
    for pid in members(out):
        os.kill(pid, signal.SIGKILL)
    said = end_of(process, 0)
    check("spot:killed-1: taken away" in said and "demand:killed-2: on demand" in said, "it moves on demand")
    launches.same_bits(calm, out, "killed, and moved")


def at_once(client: Client, root: pathlib.Path) -> None:
    out = root / "late"
    process = client.start(*words_of(LONG, "late", out, "10s", "1h"))
    launches.wait_for_steps(out, 6)
    process.send_signal(signal.SIGTERM)
    said = end_of(process, 75)
    check("demand:late-1: on demand" in said and "goes on" in said and len(members(out)) == 1, "no time for spot: on demand from the begin; a signal ends who follows, and not the job")
    client.linac("cancel", "demand:late-1")
    client.wait_for("demand:late-1", "CANCELLED")
    check("CANCELLED" in client.linac(*words_of(LONG, "late", out, "10s", "1h"), status=75), "what its user cancels is not begun again")


def waits_in_vain(root: pathlib.Path, calm: pathlib.Path) -> None:
    """Spot cannot be had: it is asked for, and left for a machine on demand while there is slack for another start."""
    if not Slurm.available():
        return skipped("Slurm", "no Slurm", "tests/servers/get.sh slurm, as root")
    out = root / "waited"
    (home := root / "waits").mkdir()
    with Slurm() as cluster:
        client = Client(home, {"spot": {"kind": "slurm", "folder": f"{home}/spot", "program": runs.LINAC, "partition": "main"},
                               "demand": {"kind": "local", "folder": f"{home}/demand", "program": runs.LINAC}}, **cluster.environment)
        cluster.ask("scontrol", "update", "PartitionName=main", "State=DOWN")
        said = end_of(client.start(*words_of(SETTINGS, "waited", out, "100s", "60s")), 0)
    check("spot:waited-1: left, for a machine on demand" in said and "demand:waited-2: on demand" in said, "it waits for spot, and goes on demand")
    check("spot:waited-2" not in said, "and does not ask again at once")
    kept = json.loads((home / "state" / "linac" / "moves" / "waited.json").read_text())
    check(kept["gone_s"] >= 10 and kept["begins"] == 0, "what it has seen of the market is written down")
    launches.same_bits(calm, out, "waited in vain")


def budget(client: Client, root: pathlib.Path, calm: pathlib.Path) -> None:
    """A used-up budget ends a launch, and moves nothing."""
    out = root / "bounded"
    said = client.launch("demand", SETTINGS | {"budget.steps": 9}, "--workers", 1, "--out", out, "--follow", "--name", "bounded", status=12)
    check("stopped by its budget" in said and "stopped by its budget" in client.linac("status", "demand:bounded"), "a launch says that its budget has stopped it")
    said = client.linac(*words_of(SETTINGS | {"budget.steps": 9}, "spent", out, "1000h", "1h"), status=12)
    check("stopped by its budget" in said and not (root / "spot" / "spent-2").exists(), "nor is it begun again")
    client.launch("demand", SETTINGS | {"budget.steps": 1000}, "--workers", 1, "--out", out, "--follow")
    launches.same_bits(calm, out, "with more of it a launch with the same --out goes on")
    large = SETTINGS | {"plan.memory_gib": 1e6}
    said = client.launch("demand", large, "--workers", 1, "--out", root / "large", status=4)
    check("1 worker of 1e+06 GiB (plan.memory_gib)" in said and "this host gives" in said and "--no-check" in said and not (root / "large").exists(), "a launch that its host has no memory for is refused")
    client.launch("demand", large | {"budget.steps": 1000}, "--workers", 1, "--out", out, "--follow", "--no-check")


def refused(client: Client, root: pathlib.Path) -> None:
    whole = words_of(SETTINGS, "wrong", root / "wrong", "8h", "5h")
    for option, wanted in (("--name", "give a --name"), ("--out", "give --out"), ("--deadline", "give --deadline"), ("--work", "and --work"), ("--then", "--then")):
        at = whole.index(option)
        check(wanted in client.linac(*whole[:at], *whole[at + 2:], status=2), f"without {option}")
    for option, value in (("--deadline", "nan"), ("--work", "-5h"), ("--recovery", "1e400s"), ("--checkpoint", ""), ("--then", "spot"), ("--then", "nowhere"), ("--name", "../up")):
        words = list(whole)
        words[words.index(option) + 1] = value
        client.linac(*words, status=2)
    client.linac(*whole, "--dry-run", status=2)
    client.linac(*whole, "--seeds", "1:3", status=2)
    check(not (root / "wrong").exists(), "and nothing began")
    (moves := client.root / "state" / "linac" / "moves").mkdir(parents=True, exist_ok=True)
    for text in ("", "[]", "{", json.dumps({"digest": 3})):
        (moves / "wrong.json").write_text(text)
        (moves / "wrong.json").chmod(0o600)
        check("is damaged" in client.linac(*whole, status=3), f"what was written down is damaged: {text!r}")
    (moves / "wrong.json").unlink()
    os.mkfifo(moves / "wrong.json", 0o600)
    client.linac(*whole, status=2)


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="linac-moves-", ignore_cleanup_errors=True) as folder:
        root = pathlib.Path(folder)
        paced = {"kind": "local", "program": runs.LINAC, "environment": elastic.steady(root, step_ms=10)}
        client = Client(root, {name: paced | {"folder": f"{root}/{name}"} for name in ("spot", "demand")})
        try:
            refused(client, root)
            calm = root / "calm"
            runs.run(calm, SETTINGS, "--workers", "1")
            taken_away(client, root, calm)
            in_time(client, root, calm)
            at_once(client, root)
            budget(client, root, calm)
            waits_in_vain(root, calm)
        finally:
            for pid, words in processes():
                if "train" in words and any(str(root) in word for word in words):
                    os.kill(pid, signal.SIGKILL)


if __name__ == "__main__":
    main()
