#!/usr/bin/env python3
"""Runs of launches behind ssh as folders here: fetched whole, with a report, while they go on and when the connection breaks, whatever names and
links lie there or here; and launches that were stopped go on from their checkpoint. Exit 77 where there is no sshd."""

import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

from lib import elastic, launches, runs
from lib.checks import check
from lib.launches import Client, name_in
from lib.servers.sshd import Sshd
from lib.servers.versitygw import Versitygw
from lib.skips import skipped

SETTINGS = launches.SETTINGS

# Greets, and breaks off behind so many bytes while there is a file `cut` that says how many.
SSH = """#!/bin/sh
echo 'linac: listed'
printf 'Welcome, no end of line'
if [ -s {root}/cut ]; then {ssh} "$@" | {{ head -c $(cat {root}/cut); [ $(head -c 1 | wc -c) = 0 ] || exit 255; }}; exit; fi
exec {ssh} "$@"
"""


def content(folder: pathlib.Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*")
            if path.is_file() and not path.is_symlink() and "launch" not in path.relative_to(folder).parts[:1]}


def goes_on(client: Client, root: pathlib.Path, name: str, there: pathlib.Path) -> None:
    launches.wait_for_steps(there, 6)
    said = client.linac("resume", name, status=2)
    check("it is RUNNING" in said, "one that runs is not started a second time")
    client.linac("cancel", name)
    client.wait_for(name, "CANCELLED")
    twice = [client.start("resume", name) for _ in range(2)]
    said = [process.communicate(timeout=60)[0] for process in twice]
    check(sorted(process.returncode for process in twice) == [0, 2] and sum("linac logs -f" in text for text in said) == 1,
          "of two that resume it at once, one does")
    here = root / "early"
    client.linac("artifacts", name, "--out", here)
    check((here / "metrics.jsonl").read_bytes() == (there / "metrics.jsonl").read_bytes()[: (here / "metrics.jsonl").stat().st_size],
          "of a run that goes on, the record is there as it was")
    check(client.wait_for(name, "SUCCEEDED", "FAILED", "LOST")["state"] == "SUCCEEDED", "cancelled and resumed, it comes to its end")
    check("resuming from" in client.linac("logs", name), "from its checkpoint")
    check("it is SUCCEEDED" in client.linac("resume", name, status=2), "what has succeeded does not go on")


def hostile(folder: pathlib.Path) -> None:
    """What a run never writes."""
    (folder / "models" / "deep").mkdir(parents=True, exist_ok=True)
    (folder / "two\nlines").write_text("bad")
    (folder / "back\\slash").write_text("bad")
    (folder / b"\xff\xfe".decode(errors="surrogateescape")).write_text("bad")
    (folder / "-rf").write_text("good")
    (folder / "a b $(touch hacked) '\"").write_text("good")
    (folder / "secret").symlink_to("/etc/passwd")
    (folder / "up").symlink_to("/etc")
    (folder / ".linac-fetch").mkdir()
    (folder / ".linac-fetch" / "x").write_text("bad")
    os.mkfifo(folder / "pipe")
    (folder / "empty").touch()
    (folder / "models" / "deep" / "twin").write_text("good")


def fetched(client: Client, root: pathlib.Path, name: str, there: pathlib.Path) -> None:
    hostile(there)
    (there / "large.bin").write_bytes(os.urandom(30_000_000))
    here, outside = root / "here", root / "outside"
    outside.mkdir()
    (outside / "kept").write_text("kept")
    here.mkdir()
    (here / "run.json").symlink_to(outside / "kept")  # replaced, not followed
    os.mkfifo(here / "job.yaml")
    (root / "cut").write_text("12000000")
    client.linac("artifacts", name, "--out", here, status=4)
    (root / "cut").unlink()
    parts = list((here / ".linac-fetch").iterdir())
    check(len(parts) == 1 and parts[0].stat().st_size > 10_000_000, "what came before the connection broke is kept")
    with open(parts[0], "r+b") as part:  # what the disk has altered
        part.write(b"altered")
    whole = content(there)
    good = {path: text for path, text in whole.items() if text != b"bad"}
    said = client.linac("artifacts", name, "--out", here)
    check(content(here) == good, "the next call brings all with the bytes that they have there, none altered here")
    check("4 files left out" in said and not list(root.rglob("hacked")), "names that are none are told and left there")
    check(not (here / "secret").exists() and not (here / "run.json").is_symlink() and (outside / "kept").read_text() == "kept", "no link is followed, there or here")
    check(not (here / ".linac-fetch").exists(), "nothing else is left")
    check("0 files fetched" in client.linac("artifacts", name, "--out", here), "a second call brings nothing again")

    (here / "models" / "deep" / "twin").unlink()
    (here / "models" / "deep").rmdir()
    (here / "models" / "deep").symlink_to(outside)
    client.linac("artifacts", name, "--out", here, status=2)
    check(sorted(path.name for path in outside.iterdir()) == ["kept"], "a link among the folders here leads nothing outside")
    (here / "models" / "deep").unlink()

    (here / "large.bin").unlink()
    first = client.start("artifacts", name, "--out", here)
    end = time.monotonic() + 20
    while not any(part.stat().st_size > 100_000 for part in (here / ".linac-fetch").glob("*")) and time.monotonic() < end and first.poll() is None:
        time.sleep(0.001)
    first.send_signal(signal.SIGSTOP)
    said = client.linac("artifacts", name, "--out", here, status=2)
    check("another process fetches" in said, "two do not fetch into one folder")
    first.kill()
    first.communicate()
    client.linac("artifacts", name, "--out", here)
    check(content(here) == good, "one that was killed is gone on with")

    listed = client.linac("artifacts", "list", name)
    check("large.bin" in listed and "models/" in listed and "deep" not in listed and "launch" not in listed, "what there is can be listed")
    client.linac("artifacts", "get", name, "models/deep/twin", root / "twin")
    client.linac("artifacts", "get", name, "models", root / "models")
    check((root / "twin").read_text() == "good" and (root / "models" / "deep" / "twin").read_text() == "good", "one file, or one folder, can be fetched")
    client.linac("artifacts", "get", name, "../../etc/passwd", status=2)
    client.linac("artifacts", "put", name, root / "twin", status=2)


def full_disk(client: Client, root: pathlib.Path, name: str) -> None:
    small = root / "small"
    small.mkdir()
    if os.geteuid() != 0 or subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", small], capture_output=True).returncode != 0:
        return skipped("a full disk", "this user may not mount")
    try:
        said = client.linac("artifacts", name, "--out", small, status=4)
        check("cannot be written" in said and "goes on when there is space" in said, "a full disk is told")
        subprocess.run(["mount", "-o", "remount,size=80m", small], check=True)
        client.linac("artifacts", name, "--out", small)
        check((small / "large.bin").stat().st_size == 30_000_000, "with space it goes on")
    finally:
        subprocess.run(["umount", small], check=True)


def at_a_store(root: pathlib.Path) -> None:
    if not Versitygw.available():
        return skipped("an object store", "no versitygw is installed", "tests/servers/get.sh versitygw")
    with Versitygw() as store:
        (root / "store").mkdir()
        site = {"kind": "local", "folder": f"{root}/local", "program": runs.LINAC, "out": f"s3://{store.BUCKET}/runs"}
        client = Client(root / "store", {"here": site}, **store.environment, LINAC_CACHE=str(root / "cache"))
        name = name_in(client.launch("here", SETTINGS, "--follow"))
        client.linac("artifacts", name, "--out", root / "stored")
        check("auc" in (root / "stored" / "metrics.jsonl").read_text() and (root / "stored" / "models" / "model.keras").is_file(), "a run at an object store comes too")
        client.linac("report", name, "--out", root / "stored-report")
        check((root / "stored-report" / "report.html").is_file(), "and its report")


def main() -> None:
    if not Sshd.available():
        print("skipped: no sshd (tests/servers/get.sh sshd)")
        sys.exit(77)
    with tempfile.TemporaryDirectory(prefix="linac-files-", ignore_cleanup_errors=True) as folder, Sshd(["n01", "n02"]) as hosts:
        root = pathlib.Path(folder)
        (root / "ssh").write_text(SSH.format(root=root, ssh=" ".join(hosts.command)))
        (root / "ssh").chmod(0o755)
        client = Client(root, {"pair": {"kind": "ssh", "folder": f"{root}/site", "program": runs.LINAC, "ssh": [str(root / "ssh")], "hosts": ["n01", "n02"],
                                        "address": "127.0.0.1", "environment": elastic.steady(root)}})
        name = name_in(client.launch("pair", SETTINGS | {"train.epochs": 8, "checkpoint.every_steps": 2}))
        there = root / "site" / name.split(":")[1]
        goes_on(client, root, name, there)
        said = client.linac("report", name, "--out", root / "report")
        check("report.html" in said and (root / "report" / "report.html").is_file(), "its report is made here")
        fetched(client, root, name, there)
        full_disk(client, root, name)
        at_a_store(root)
        hosts.stop("n01")
        client.linac("artifacts", name, "--out", root / "second")
        check((root / "second" / "metrics.jsonl").read_bytes() == (there / "metrics.jsonl").read_bytes(), "where the first host is gone, another one has the files")


if __name__ == "__main__":
    main()
