#!/usr/bin/env python3
"""One epoch of a set as large as the published one, read from an object store (versitygw on the loopback interface): 124,987 showers, made by
`linac simulate`, as sharded TFRecord with GZIP, or 3.4 million collisions, those of data/topology-train.parquet repeated. The memory that it takes,
and how long a training waits for its input.

  bench/published_size.py [--showers 124987] [--events 3400000] [--data FOLDER] [--window 2] [--input-seconds 0] [--train-seconds 300] [--python PYTHON]

FOLDER keeps what is made (0.6 GB of showers and 11 GB of events, which are one file under many names) for the next time. PYTHON has pyarrow
(build/peers). Resident memory is that of the process and its children, looked at ten times a second. Waiting is what the run's record says of a training of
so many seconds. Writes bench/results/DATE-published-size.md."""

import argparse
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

import network
from large_set import MAKE, resident
from lib.runs import ROOT
from lib.servers.versitygw import Versitygw
from storage import LINAC, call
from store import store

SHOWERS_A_FILE, EVENTS_FILE_MB = 2000, 64
CACHE = "8GiB"


def make_showers(folder: pathlib.Path, count: int) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for number, first in enumerate(range(0, count, SHOWERS_A_FILE)):
        made = folder / f"showers-{number:03}.tfrecord.gz"
        if made.exists():
            continue
        simulated, plain, part = (folder / f"part{ending}" for ending in (".h5", ".tfrecord", ".gz"))
        call([LINAC, "simulate", "-n", min(SHOWERS_A_FILE, count - first), "--energy", "10:100", "--theta", "1.05:2.09", "--seed", number + 1, "--out", simulated])
        call([LINAC, "data", "convert", simulated, plain])
        with plain.open("rb") as source, gzip.open(part, "wb", compresslevel=3) as out:
            shutil.copyfileobj(source, out, 1 << 20)
        simulated.unlink()
        plain.unlink()
        part.rename(made)


def watched(words: list, environment: dict, folder: pathlib.Path, seconds: float | None = None) -> tuple[str, float, float]:
    """What it prints, its resident memory at most and what of that is its own at most, in MiB. After `seconds` it gets SIGTERM."""
    with open(folder / "out", "wb") as out, open(folder / "log", "wb") as log:
        process = subprocess.Popen([str(word) for word in words], cwd=ROOT, stdout=out, stderr=log, env={**os.environ, **environment})
        most, own, begin = 0.0, 0.0, time.monotonic()
        while process.poll() is None:
            most = max(most, resident(process.pid) / 2**20)
            own = max(own, resident(process.pid, "RssAnon") / 2**20)
            if seconds and time.monotonic() - begin > seconds:
                process.send_signal(signal.SIGTERM)
                seconds = None
            time.sleep(0.1)
    if process.returncode not in (0, 75):
        sys.exit(f"{words[:3]}: exit status {process.returncode}: {(folder / 'log').read_text()[-3000:]}")
    return (folder / "out").read_text(), most, own


def settings(chosen: dict) -> list[str]:
    return [word for key, value in chosen.items() for word in ("--set", f"{key}={value}")]


def one(job: str, chosen: dict, environment: dict, folder: pathlib.Path, input_seconds: float, train_seconds: float) -> dict:
    cache = folder / "cache"
    environment = {**environment, "LINAC_CACHE": str(cache), "LINAC_CACHE_SIZE": CACHE}
    said, most, own = watched([LINAC, "bench", "input", job, "--epochs", 1, "--seconds", input_seconds, "--json", *settings(chosen)], environment, folder)
    found = {"input": json.loads(said), "input_resident_mib": most, "input_own_mib": own}
    shutil.rmtree(cache)
    out = folder / "run"
    begin = time.monotonic()
    _, most, own = watched([LINAC, "train", job, "--out", out, *settings(chosen)], environment, folder, train_seconds)
    record = json.loads((out / "run.json").read_text())
    phases = {name: sum(worker["phases"][name]["wall_s"] for worker in record["time_by_worker"]) for name in record["time_by_worker"][0]["phases"]}
    found |= {"train_resident_mib": most, "train_own_mib": own, "train_wall_s": time.monotonic() - begin, "steps": record["global_step"], "phases": phases}
    shutil.rmtree(cache)
    shutil.rmtree(out)
    return found


def put_links(gate: Versitygw, key: str, source: pathlib.Path, count: int) -> None:
    """One file under many names: `key` with their numbers."""
    gate.put(key.format(0), source.read_bytes())
    kept = gate.folder / "data" / gate.BUCKET
    for number in range(1, count):
        os.link(kept / key.format(0), kept / key.format(number))


def markdown(result: dict) -> str:
    lines = ["# Sets of the published size",
             f"{result['date']}, {result['cpu']}, {result['cores']} cores, commit {result['commit']}; other programs took {result['others_cores']:.2f} cores at the start. "
             f"`{result['command']}`", "",
             f"From an object store on this host, in the windowed order (`data.shuffle_window: {result['window']}`), with a cache of {CACHE}. One run each. Waiting: of "
             "the time in which the training's worker computes or waits; the start before its first step is not in it.", "",
             "| | showers | collisions | wanted |", "|---|---|---|---|"]
    rows = [("read in an epoch", lambda one: f"{one['input']['events_read']:,} of {one['input']['events_an_epoch']:,}, {one['stored_bytes'] / 1e9:.1f} GB", ""),
            ("seconds of that, nothing computed", lambda one: f"{one['input']['epochs'][0]['wall_s']:.0f}", ""),
            ("seconds before its first batch", lambda one: f"{one['input']['open']['wall_s']:.1f}", "5"),
            ("memory while reading, MiB", lambda one: f"{one['input_resident_mib']:.0f}", "below 600"),
            ("of that its own, not pages of files, MiB", lambda one: f"{one['input_own_mib']:.0f}", ""),
            ("memory of a training, MiB", lambda one: f"{one['train_resident_mib']:.0f}", ""),
            ("of that its own, MiB", lambda one: f"{one['train_own_mib']:.0f}", ""),
            ("steps of the training", lambda one: f"{one['steps']} in {one['train_wall_s']:.0f} s", ""),
            ("waiting for input, %", lambda one: f"{100 * one['phases']['input'] / sum(one['phases'].values()):.2f}", "at most 1")]
    for title, cell, wanted in rows:
        lines.append(f"| {title} | {cell(result['showers'])} | {cell(result['events'])} | {wanted} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--showers", type=int, default=124_987)
    parser.add_argument("--events", type=int, default=3_400_000)
    parser.add_argument("--data", type=pathlib.Path)
    parser.add_argument("--only-make", action="store_true", help="make the showers of --data, and no more")
    parser.add_argument("--window", type=int, default=2)
    parser.add_argument("--input-seconds", type=float, default=0, help="of an epoch without computing; 0: all of it")
    parser.add_argument("--train-seconds", type=float, default=300)
    parser.add_argument("--python", default=str(ROOT / "build/peers/bin/python"))
    options = parser.parse_args()
    if options.only_make:
        make_showers(options.data, options.showers)
        return
    result = {**network.provenance("bench/published_size.py"), "others_cores": network.busy_cores(), "window": options.window}
    result["command"] = result["command"].replace(options.python, "PYTHON").replace(str(options.data), "FOLDER")
    with tempfile.TemporaryDirectory(prefix="linac-published-") as name, Versitygw() as gate:
        folder = pathlib.Path(name)
        showers = options.data or folder / "showers"
        make_showers(showers, options.showers)
        files = sorted(showers.glob("*.tfrecord.gz"))
        for file in files:
            gate.put(f"showers/{file.name}", file.read_bytes())
        call([options.python, "-c", MAKE, ROOT / "data/topology-train.parquet", folder / "one", 1e6 * EVENTS_FILE_MB])
        events_a_file = int(call([options.python, "-c", f"import pyarrow.parquet as pq; print(pq.ParquetFile('{folder}/one').metadata.num_rows)"]))
        count = -(-options.events // events_a_file)
        put_links(gate, "events/{:05}.parquet", folder / "one", count)
        stored = {"showers": sum(file.stat().st_size for file in files), "events": count * (folder / "one").stat().st_size}
        window = {"data.test": "[]", "train.epochs": 1, "data.shuffle_window": options.window}
        jobs = {"showers": ("examples/3dgan-from-nothing.yaml", window | {"data.train": f"[s3://{gate.BUCKET}/showers/*]", "train.batch": 8, "train.replicas": 1, "workers": 1,
                                                                          "train.steps_per_epoch": options.showers // 8}),
                "events": ("examples/topology.yaml", window | {"data.train": f"[s3://{gate.BUCKET}/events/*]", "checkpoint.best_by": "loss", "workers": 1,
                                                               "train.steps_per_epoch": options.events // 60})}
        for what, (job, chosen) in jobs.items():
            result[what] = one(job, chosen, gate.environment, folder, options.input_seconds, options.train_seconds) | {"stored_bytes": stored[what]}
            network.say(f"{what}: {result[what]['input_resident_mib']:.0f} MiB, {result[what]['phases']}")
    store(result, "published-size", markdown(result))


if __name__ == "__main__":
    main()
