#!/usr/bin/env python3
"""`linac cache list|clear|verify`: what downloads, packed tables, packed showers and scans leave, altered, in use by a process that lives,
in a folder that is absent or cannot be written, two commands at once, stopped by a signal."""

import contextlib
import gzip
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from lib import runs
from lib.checks import check, wait_for
from lib.skips import skipped
from range_server import RangeServer

DAY_S = 24 * 3600


def start(root: pathlib.Path, *words: object, **environment: str) -> subprocess.Popen:
    return runs.started(*words, **{"LINAC_CACHE": str(root / "cache"), **environment})


def linac(root: pathlib.Path, *words: object, status: int = 0, **environment: str) -> str:
    process = start(root, *words, **environment)
    said, problems = process.communicate(timeout=120)
    if process.returncode != status:
        sys.exit(f"{words}: exit status {process.returncode}, expected {status}\n{said}{problems}")
    return said + problems if status else said


def files(root: pathlib.Path, *words: str) -> dict[str, dict]:
    return {row["kind"]: row for row in json.loads(linac(root, "cache", "list", *words, "--json"))["files"]}


def fill(root: pathlib.Path, server: RangeServer) -> None:
    linac(root, "data", "info", f"{server.url}/showers.h5")
    linac(root, "data", "scaling", f"{server.url}/table.parquet", "--column", "HLF_input:14", "--out", root / "scaling.json")
    linac(root, "data", "info", root / "showers.tfrecord.gz")


def alter(path: str, place: int) -> None:
    with open(path, "r+b") as file:
        file.seek(place)
        byte = file.read(1)
        file.seek(place)
        file.write(bytes([byte[0] ^ 1]))


def listed(root: pathlib.Path, server: RangeServer) -> None:
    fill(root, server)
    whole = json.loads(linac(root, "cache", "list", "--json", LINAC_CACHE_SIZE="5MiB", LINAC_CACHE_GIB="7"))
    found = {row["kind"]: row for row in whole["files"]}
    check(set(found) == {"download", "table", "showers", "scan"}, f"every kind is listed: {sorted(found)}")
    check(found["download"]["source"] == f"{server.url}/showers.h5" and found["table"]["source"] == f"{server.url}/table.parquet", "with its URL")
    check(found["showers"]["source"] == str(root / "showers.tfrecord.gz"), "or its path")
    check(not any(row["in_use"] for row in whole["files"]), "none is in use when the processes have ended")
    check(whole["limit_bytes"] == 5 << 20 and whole["bytes"] == sum(row["bytes"] for row in whole["files"] if row["kind"] != "scan"), "the limit and what counts to it")
    said = linac(root, "cache", "list", f"{server.url}/*.h5", LINAC_CACHE_SIZE="5MiB")
    check("of 5.0 MiB" in said and "showers.h5" in said and "table.parquet" not in said, "a text, too, of what a pattern names")
    check("LINAC_CACHE_SIZE=5GB" in linac(root, "cache", "list", status=2, LINAC_CACHE_SIZE="5GB"), "a size that is none is an error")


def verified(root: pathlib.Path, server: RangeServer) -> None:
    found = files(root)
    times = {row["file"]: os.stat(row["file"]).st_atime_ns for row in found.values()}
    states = {row["kind"]: row["state"] for row in json.loads(linac(root, "cache", "verify", "--json"))}
    check(set(states.values()) == {"sound"} and len(states) == 4, f"all is sound, and has a checksum: {states}")
    check(all(os.stat(file).st_atime_ns == then for file, then in times.items()), "looking is no use")

    alter(found["download"]["file"], found["download"]["bytes"] // 2)
    alter(found["table"]["file"], 4 * 14 * 17)
    alter(found["scan"]["file"], 100)
    note = pathlib.Path(found["showers"]["file"] + ".json")
    said = json.loads(note.read_text())
    del said["xxh3_of_8_mib"], said["source"]
    note.write_text(json.dumps(said))
    said = linac(root, "cache", "verify", "--keep", status=3)
    check("showers.h5" in said and "between byte 0 and" in said, "an altered byte of a download is found")
    check("event 17 does not match" in said and "3 of 5 files failed" in said, "and one of a table, with its event")
    check("without a checksum: 1 file" in said, "a copy of an older version has no checksum")
    kept = [kind for kind, row in found.items() if os.path.exists(row["file"])]
    check(len(kept) == 4, "--keep removes nothing")
    said = linac(root, "cache", "verify", status=3)
    left = [kind for kind, row in found.items() if os.path.exists(row["file"])]
    check("has been removed" in said and left == ["showers"], f"without it what is damaged goes: {left}")
    fill(root, server)
    check(all(os.path.exists(found[kind]["file"]) for kind in ("download", "table")), "and is made again when it is wanted")


@contextlib.contextmanager
def used_by(root: pathlib.Path, path: pathlib.Path):
    """A process that downloads: what it makes is in use."""
    (served := root / "slow").mkdir()
    shutil.copy(path, served / "slow.h5")
    with RangeServer(served, bytes_per_s=20_000) as server:
        process = start(root, "data", "info", f"{server.url}/slow.h5")
        wait_for(lambda: server.sent >= 5_000, "something is asked for", 60)
        yield process
        server.bytes_per_s = 0
        said, problems = process.communicate(timeout=60)
        check(process.returncode == 0 and "slow.h5" in said, f"and the process ends well {problems}")


def cleared(root: pathlib.Path) -> None:
    table = files(root)["table"]["file"]
    with used_by(root, runs.ROOT / "data" / "showers-test.h5"):
        os.utime(table, (time.time() - 3 * DAY_S,) * 2)
        rows = json.loads(linac(root, "cache", "clear", "--older-than", 2, "--dry-run", "--json"))
        check([row["file"] for row in rows["removed"]] == [table] and os.path.exists(table), "--dry-run says what was not used for days, and removes nothing")
        check(linac(root, "cache", "clear", "--older-than", 2).startswith("freed: 1 file, ") and not os.path.exists(table), "clear removes it")
        said = linac(root, "cache", "clear")
        found = files(root)
        check("in use: 1 file" in said and set(found) == {"part"}, f"clear without words removes all but what is being made: {said}{found}")
        check(found["part"]["in_use"] and found["part"]["file"].endswith("slow.h5.part"), "which is in use")
    check(linac(root, "cache", "clear", "no such *").startswith("freed: 0 files"), "what is not there is no error")
    check(linac(root, "cache", "clear").startswith("freed: 2 files"), "its copy goes when the process has ended")
    left = [path for path in (root / "cache").rglob("*") if path.is_file() and path.suffix != ".lock"]
    check([path.parent.name for path in left if path.parent.name != "uses"] == [], f"no note is left behind: {left}")


def without_a_folder(root: pathlib.Path) -> None:
    none = {"LINAC_CACHE": str(root / "none")}
    check(linac(root, "cache", "list", **none).startswith(f"{root}/none: 0 files, 0 B of 100 GiB"), "a folder that is absent holds nothing")
    check("freed: 0 files" in linac(root, "cache", "clear", **none) and not (root / "none").exists(), "and is not made")


def read_only(root: pathlib.Path, server: RangeServer) -> None:
    linac(root, "data", "info", f"{server.url}/showers.h5")
    cache = root / "cache"
    if subprocess.run(["mount", "--bind", "-o", "ro", cache, cache], capture_output=True).returncode != 0:
        skipped("a folder that cannot be written", "this user may not mount")
        return
    try:
        check("sound: 2 files" in linac(root, "cache", "verify"), "a folder that cannot be written is verified")
        check("Read-only file system" in linac(root, "cache", "clear", status=4), "and clear says why it cannot")
    finally:
        subprocess.run(["umount", "-l", cache], check=True)


def side_by_side(root: pathlib.Path) -> None:
    (folder := root / "cache" / "http").mkdir(parents=True, exist_ok=True)
    for number in range(40):
        (folder / f"{number}-x").write_bytes(b"x" * 5_000_000)
    os.mkfifo(root / "cache" / "uses" / "fifo")
    os.mkfifo(folder / "fifo")
    both = [start(root, "cache", "verify", "--jobs", 1), start(root, "cache", "clear"), start(root, "cache", "clear")]
    ends = [(process.communicate(timeout=60), process.returncode) for process in both]
    check([status for _, status in ends] == [0, 0, 0], f"verify and two clears side by side: {ends}")
    check([path.name for path in folder.iterdir() if path.suffix != ".lock"] == ["fifo"], "nothing is left but the FIFO, which nobody waited for")


def stopped(root: pathlib.Path) -> None:
    (folder := root / "cache" / "http").mkdir(parents=True, exist_ok=True)
    for number in range(3):
        with open(folder / f"{number}-sparse", "wb") as file:
            file.truncate(30 << 30)
    process = start(root, "cache", "verify", "--jobs", 1)
    first = process.stderr.readline()  # it reads
    process.send_signal(signal.SIGINT)
    _, problems = process.communicate(timeout=30)
    check(process.returncode == 75 and "verify" in first and "3 of 3 files not read" in problems, f"Ctrl-C ends it with status 75: {problems}")
    check(len(list(folder.glob("*-sparse"))) == 3, "and nothing is removed")


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="linac-cache-") as name:
        root = pathlib.Path(name).resolve()
        (served := root / "served").mkdir()
        shutil.copy(runs.ROOT / "data" / "showers-test.h5", served / "showers.h5")
        shutil.copy(runs.ROOT / "data" / "topology-test.parquet", served / "table.parquet")
        linac(root, "data", "convert", "data/showers-test.h5", root / "showers.tfrecord")
        (root / "showers.tfrecord.gz").write_bytes(gzip.compress((root / "showers.tfrecord").read_bytes(), 1))
        shutil.rmtree(root / "cache", ignore_errors=True)
        with RangeServer(served) as server:
            listed(root, server)
            verified(root, server)
            cleared(root)
            without_a_folder(root)
            read_only(root, server)
        side_by_side(root)
        stopped(root)


main()
