#!/usr/bin/env python3
"""The memory that a set larger than the disk needs: collisions of so many gigabytes in an object store (versitygw), which keeps one file under
many names, read by `data.shuffle_window` for ten minutes with a cache that holds a hundredth.

  bench/large_set.py [--gigabytes 250] [--seconds 600] [--file-megabytes 64] [--python PYTHON]

Each name is a file of its own to whoever reads: fetched, packed, and gone from the cache when its window is over. Resident memory and the size of
the cache are looked at ten times a second, and linac tells its own peak. PYTHON has pyarrow (build/peers). Writes
bench/results/DATE-large-set.md."""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import network
from lib.runs import ROOT
from lib.servers.versitygw import Versitygw
from storage import LINAC, call
from store import store

WINDOW, CACHE, BATCH, STEPS = 2, "2500MiB", 64, 1_000_000
COUNT = "import sys, pyarrow.parquet as pq; print(pq.read_metadata(sys.argv[1]).num_rows)"
MAKE = """import sys, pyarrow as pa, pyarrow.parquet as pq
table, wanted = pq.read_table(sys.argv[1]), float(sys.argv[3])
with pq.ParquetWriter(sys.argv[2], table.schema) as out:
    import os
    while not os.path.exists(sys.argv[2]) or os.path.getsize(sys.argv[2]) < wanted: out.write_table(table, row_group_size=500)"""


def size_of(folder: pathlib.Path) -> int:
    total = 0
    for path in folder.rglob("*.pack"):
        try:
            total += path.stat().st_size
        except FileNotFoundError:
            pass
    return total


def resident(pid: int, what: str = "VmRSS") -> int:
    """Of the process and all below it: bytes. `what`: VmRSS, of which RssFile are pages of files, which the system takes back when it needs them, and
    RssAnon what is the processes' own."""
    total, waiting = 0, [pid]
    while waiting:
        one = waiting.pop()
        try:
            status = pathlib.Path(f"/proc/{one}/status").read_text()
            total += next((int(line.split()[1]) << 10 for line in status.splitlines() if line.startswith(what + ":")), 0)
            waiting += [int(child) for child in pathlib.Path(f"/proc/{one}/task/{one}/children").read_text().split()]
        except (FileNotFoundError, ProcessLookupError):
            pass
    return total


def first_step(out: pathlib.Path, settings: list[str], environment: dict) -> float:
    """Seconds from the start of a training to the line of its first step."""
    begin = time.monotonic()
    process = subprocess.Popen([LINAC, "train", "examples/topology.yaml", "--out", str(out), "--workers", "1", *settings], cwd=ROOT, env=environment,
                               stdout=subprocess.DEVNULL, stderr=subprocess.STDOUT)
    record = out / "metrics.jsonl"
    while not (record.exists() and '"kind":"step"' in record.read_text().replace(" ", "")):
        if process.poll() is not None:
            sys.exit(f"the training ended with exit status {process.returncode} before its first step")
        time.sleep(0.02)
    took = time.monotonic() - begin
    process.terminate()
    process.wait()
    return took


def markdown(result: dict) -> str:
    found = result["found"]
    half = [mib for second, mib in result["resident_mib"] if second > result["resident_mib"][-1][0] / 2]
    return "\n".join([
        "# A set larger than the disk",
        f"{result['date']}, {result['cpu']}, {result['cores']} cores, commit {result['commit']}; other programs took {result['others_cores']:.2f} cores at the start. "
        f"`{result['command']}`", "",
        f"{result['files']} files of {result['file_bytes'] / 1e6:.0f} MB, {result['files'] * result['file_bytes'] / 1e9:.0f} GB and {result['files'] * result['events_of_file']} events in all, in an object store; "
        f"`data.shuffle_window: {WINDOW}`, `train.steps_per_epoch: {STEPS}`, a cache of {CACHE}. One run.", "", "| | |", "|---|---|",
        f"| resident memory at most, wanted: below 500 MiB | {max(mib for _, mib in result['resident_mib']):.0f} MiB |",
        f"| the same, in the second half of the time | {max(half):.0f} MiB |",
        f"| peak that the process tells | {found['peak_rss_mib']:.0f} MiB |",
        f"| the cache at most | {result['cache_bytes_max'] / 2**20:.0f} MiB |",
        f"| a training's first step is in its record after, wanted: at most 5 s | {result['first_step_s']:.1f} s |",
        f"| the set is open, and the first batch is there after | {found['open']['wall_s']:.1f} s, and {found['first_step']['wall_s']:.1f} s more |",
        f"| events read in {found['epochs'][0]['wall_s']:.0f} s | {found['events_read']}, of files of {found['events_read'] / result['events_of_file'] * result['file_bytes'] / 1e9:.1f} GB |"]) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gigabytes", type=float, default=250)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--file-megabytes", type=float, default=64)
    parser.add_argument("--python", default=str(ROOT / "build/peers/bin/python"))
    options = parser.parse_args()
    result = {**network.provenance("bench/large_set.py"), "others_cores": network.busy_cores()}
    result["command"] = result["command"].replace(options.python, "PYTHON")
    with tempfile.TemporaryDirectory(prefix="linac-large-") as name, Versitygw() as gate:
        folder = pathlib.Path(name)
        call([options.python, "-c", MAKE, ROOT / "data/topology-train.parquet", folder / "one", 1e6 * options.file_megabytes])
        gate.put("events/000000.parquet", (folder / "one").read_bytes())
        kept = gate.folder / "data" / gate.BUCKET / "events"
        result |= {"file_bytes": (folder / "one").stat().st_size, "resident_mib": [], "cache_bytes_max": 0}
        result["events_of_file"] = int(subprocess.run([options.python, "-c", COUNT, folder / "one"], check=True, capture_output=True, text=True).stdout)
        result["files"] = max(WINDOW + 1, round(1e9 * options.gigabytes / result["file_bytes"]))
        for number in range(1, result["files"]):
            os.link(kept / "000000.parquet", kept / f"{number:06}.parquet")
        settings = []
        for setting in (f"data.train=[s3://{gate.BUCKET}/events/*]", "data.test=[]", "checkpoint.best_by=loss", "train.replicas=1", "workers=1",
                        f"train.batch={BATCH}", f"data.shuffle_window={WINDOW}", f"train.steps_per_epoch={STEPS}"):
            settings += ["--set", setting]
        result["first_step_s"] = first_step(folder / "run", settings, {**os.environ, **gate.environment, "LINAC_CACHE": str(folder / "first")})
        words = [LINAC, "bench", "input", "examples/topology.yaml", "--epochs", "1", "--seconds", str(options.seconds), "--json", *settings]
        cache = folder / "cache"
        with open(folder / "out", "wb") as out, open(folder / "log", "wb") as log:
            process = subprocess.Popen(words, cwd=ROOT, stdout=out, stderr=log, env={**os.environ, **gate.environment, "LINAC_CACHE": str(cache), "LINAC_CACHE_SIZE": CACHE})
            begin = time.monotonic()
            while process.poll() is None:
                result["resident_mib"].append((round(time.monotonic() - begin, 1), resident(process.pid) / 2**20))
                result["cache_bytes_max"] = max(result["cache_bytes_max"], size_of(cache))
                time.sleep(0.1)
        if process.returncode != 0:
            sys.exit(f"exit status {process.returncode}: {(folder / 'log').read_text()[-3000:]}")
        result["found"] = json.loads((folder / "out").read_text())
        result["resident_mib"] = result["resident_mib"][::10]
    store(result, "large-set", markdown(result))


if __name__ == "__main__":
    main()
