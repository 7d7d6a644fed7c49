#!/usr/bin/env python3
"""Events are read from a web server where they lie: four processes fetch them once, kill -9 in the midst breaks nothing, a disk that is
full or cannot be written is an error that says so, and a file that Python has compressed is read as it is."""

import gzip
import json
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import zlib

from lib import runs
from lib.checks import check
from lib.skips import skipped
from range_server import RangeServer

COLUMNS = ["--column", "GRU_input:801x19", "--column", "HLF_input:14"]
FILE = "topology-train.parquet"


def start(cache: pathlib.Path, *words: object) -> subprocess.Popen:
    return runs.started(*words, LINAC_CACHE=str(cache))


def end(process: subprocess.Popen, status: int = 0) -> str:
    """What it said; of one that failed, why."""
    said, problems = process.communicate(timeout=120)
    if process.returncode != status:
        print(said, problems)
        sys.exit(f"{process.args}: exit status {process.returncode}, expected {status}")
    return problems if status else said


def linac(cache: pathlib.Path, *words: object, status: int = 0) -> str:
    return end(start(cache, *words), status)


def scaling(url: str, out: pathlib.Path) -> tuple:
    return "data", "scaling", url, *COLUMNS, "--out", out


def packed(cache: pathlib.Path) -> list[str]:
    return sorted(path.suffix for path in (cache / "tables").iterdir() if path.suffix != ".lock")


def four_processes(root: pathlib.Path, wanted: bytes) -> None:
    size = (runs.ROOT / "data" / FILE).stat().st_size
    with RangeServer(runs.ROOT / "data", bytes_per_s=4_000_000) as server:
        outs = [root / f"{i}.json" for i in range(4)]
        for process in [start(root / "four", *scaling(f"{server.url}/{FILE}", out)) for out in outs]:
            end(process)
        check(all(out.read_bytes() == wanted for out in outs), "four processes compute what one computes from the disk")
        check(server.sent <= 1.01 * size, f"bytes fetched over the size of the file: {server.sent / size:.4f}")
        check(packed(root / "four") == [".pack"] and not (root / "four" / "http").exists(), "the packed table alone is in the cache")
        sent = server.sent
        linac(root / "four", *scaling(f"{server.url}/{FILE}", outs[0]))
        check(server.sent - sent <= 1, "a later use asks for the version only")


def killed(root: pathlib.Path, wanted: bytes) -> None:
    with RangeServer(runs.ROOT / "data", bytes_per_s=500_000) as server:
        for moment in (0.3, 1):
            process = start(root / "killed", *scaling(f"{server.url}/{FILE}", root / "killed.json"))
            begun = time.monotonic()
            while server.sent < 1000 and time.monotonic() < begun + 20:
                time.sleep(0.01)
            time.sleep(moment)
            process.send_signal(signal.SIGKILL)
            process.communicate()
            check(process.returncode == -signal.SIGKILL, f"killed after {moment} s")
        server.bytes_per_s = 0
        linac(root / "killed", *scaling(f"{server.url}/{FILE}", root / "killed.json"))
    check((root / "killed.json").read_bytes() == wanted, "after two kills the result is the same")


def without_room(root: pathlib.Path) -> None:
    with RangeServer(runs.ROOT / "data") as server:
        (root / "file").write_text("")
        said = linac(root / "file", *scaling(f"{server.url}/{FILE}", root / "a.json"), status=4)
        check(str(root / "file") in said, "a cache that cannot be written is named")
        (disk := root / "disk").mkdir()
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=300k", "none", disk], capture_output=True).returncode != 0:
            skipped("a full disk", "this user may not mount")
            return
        try:
            said = linac(disk, *scaling(f"{server.url}/{FILE}", root / "a.json"), status=4)
            check("No space left" in said and "LINAC_CACHE" in said, "a full disk is named, with a way out")
            check(packed(disk) == [], "nothing of it stays")
        finally:
            subprocess.run(["umount", "-l", disk], check=True)


def compressed(root: pathlib.Path) -> None:
    (folder := root / "served").mkdir()
    linac(root / "cache", "data", "convert", "data/showers-test.h5", plain := root / "a.tfrecord")
    content = plain.read_bytes()
    (folder / "a.gz").write_bytes(gzip.compress(content))
    (folder / "a.zlib").write_bytes(zlib.compress(content))
    (folder / "cut.gz").write_bytes(gzip.compress(content)[:-5000])
    of_disk = json.loads(linac(root / "cache", "data", "info", plain, "--json"))
    with RangeServer(folder) as server:
        for name in ("a.gz", "a.zlib"):
            found = json.loads(linac(root / "cache", "data", "info", f"{server.url}/{name}", "--json"))
            same = [found["files"][0][key] == of_disk["files"][0][key] for key in ("events", "fingerprint")]
            check(all(same), f"{name}: the showers of the file before it was compressed")
        said = linac(root / "cache", "data", "info", f"{server.url}/cut.gz", status=3)
        check("cut.gz" in said and "is cut" in said and "record" in said, "a file that is cut is named, with the record")


def info(root: pathlib.Path) -> None:
    with RangeServer(runs.ROOT / "data") as server:
        said = linac(root / "info", "data", "info", f"{server.url}/{FILE}")
        check("in ranges, the wanted columns only" in said and server.sent < 200_000, "data info reads the footer, and says what is read how")
        server.versions = False
        said = linac(root / "info", "data", "info", f"{server.url}/{FILE}")
        check("names no version" in said, "without a version the file is fetched whole, and it says so")


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="linac-stream-") as folder:
        root = pathlib.Path(folder)
        linac(root / "cache", *scaling(f"data/{FILE}", root / "disk.json"))
        wanted = (root / "disk.json").read_bytes()
        four_processes(root, wanted)
        killed(root, wanted)
        without_room(root)
        compressed(root)
        info(root)


if __name__ == "__main__":
    main()
