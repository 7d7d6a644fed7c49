#!/usr/bin/env python3
"""data.prefetch, data.prefetch_files and data.prefetch_reads: what they find by themselves beside a grid of fixed values, in turns. An epoch of
collisions is read in windows, without a training, from an empty cache: from an object store as it is (fast), from the same one behind a relay that
delays each request and lets connections share a rate (slow), and from the disk.

  bench/prefetch.py [--rounds 5] [--files 1,2,8] [--steps 1,3,16] [--reads 1,4,16] [--count 64] [--delay-ms 50] [--places slow,fast,disk]

Needs versitygw (tests/servers/get.sh). Each round has the whole grid and, at its begin, in its midst and at its end, the automatic values, whose
figure is the median of the three. Their share is that figure over the best of the grid, of which the luckiest of many is noise too: wanted are 95 %.
`as before` is what was fixed when nothing could be chosen: 3 steps, 1 file, 4 reads. Writes bench/results/DATE-prefetch.md."""

import argparse
import itertools
import json
import os
import pathlib
import shutil
import statistics
import tempfile

import network
from lib.relay import SlowRelay
from lib.runs import ROOT
from lib.servers.versitygw import Versitygw
from storage import LINAC, call
from store import store

WINDOW, BATCH, AS_BEFORE = 4, 60, (1, 3, 4)
AUTO = "auto"
WANTED = 0.95


def read_once(url: str, steps: int, values: tuple | str, environment: dict, folder: pathlib.Path) -> dict:
    """Seconds and CPU seconds of an epoch from an empty cache; `values`: files, steps and reads, or AUTO."""
    chosen = {"data.train": f"[{url}]", "data.test": "[]", "checkpoint.best_by": "loss", "data.shuffle_window": WINDOW, "train.replicas": 1, "workers": 1,
              "train.batch": BATCH, "train.steps_per_epoch": steps}
    chosen |= dict(zip(("data.prefetch_files", "data.prefetch", "data.prefetch_reads"), (AUTO,) * 3 if values == AUTO else values))
    words = [word for key, value in chosen.items() for word in ("--set", f"{key}={value}")]
    cache = folder / "cache"
    found = json.loads(call([LINAC, "bench", "input", "examples/topology.yaml", "--epochs", 1, "--json", *words], LINAC_CACHE=str(cache), **environment))
    shutil.rmtree(cache)
    parts = (found["open"], found["epochs"][0])
    return {"wall_s": sum(part["wall_s"] for part in parts), "cpu_s": sum(part["cpu_s"] for part in parts), "peak_rss_mib": found["peak_rss_mib"],
            "ahead": found["ahead"]}


def one_round(place: str, url: str, steps: int, grid: list[tuple], environment: dict, folder: pathlib.Path, number: int) -> dict:
    order = grid if number % 2 == 0 else grid[::-1]
    half = len(order) // 2
    names = [AUTO, *order[:half], AUTO, *order[half:], AUTO]
    found: dict[str, list] = {}
    for values in names:
        found.setdefault(str(values), []).append(read_once(url, steps, values, environment, folder))
    seconds = {name: statistics.median(one["wall_s"] for one in runs) for name, runs in found.items()}
    best = min((name for name in seconds if name != AUTO), key=seconds.get)
    network.say(f"round {number + 1}, {place}: auto {seconds[AUTO]:.2f} s at {found[AUTO][1]['ahead']}, best {best} {seconds[best]:.2f} s, "
                f"as before {seconds[str(AS_BEFORE)]:.2f} s")
    return found


def seconds_of(result: dict, place: str) -> dict[str, float]:
    """The median over all rounds of what a choice took."""
    names = result["rounds"][0][place]
    return {name: statistics.median(statistics.median(run["wall_s"] for run in one[place][name]) for one in result["rounds"]) for name in names}


def markdown(result: dict) -> str:
    lines = ["# Reading ahead: found, beside fixed",
             f"{result['date']}, {result['cpu']}, {result['cores']} cores, commit {result['commit']}; other programs took {result['others_cores']:.2f} cores at the start. "
             f"`{result['command']}`", "",
             f"{result['count']} files of {result['file_bytes'] / 1e6:.2f} MB, in windows of {WINDOW}; median of {len(result['rounds'])} rounds. slow: each request waits "
             f"{result['delay_ms']:.0f} ms, one connection carries {result['connection_mb_per_s']:.0f} MB/s and all {result['mb_per_s']:.0f}. Fixed: files side by side, "
             "steps ahead, ranges of a file.", "",
             "| | auto, s | best fixed, s | worst fixed, s | as before (1, 3, 4), s | best / auto, % | as before / auto, % | found at the end |", "|---|---|---|---|---|---|---|---|"]
    for place in result["rounds"][0]:
        seconds = seconds_of(result, place)
        auto = seconds.pop(AUTO)
        best, worst = min(seconds, key=seconds.get), max(seconds, key=seconds.get)
        ahead = result["rounds"][-1][place][AUTO][-1]["ahead"]
        lines.append(f"| {place} | {auto:.2f} | {seconds[best]:.2f} {best} | {seconds[worst]:.2f} {worst} | {seconds[str(AS_BEFORE)]:.2f} | "
                     f"{100 * seconds[best] / auto:.0f} | {100 * seconds[str(AS_BEFORE)] / auto:.0f} | {ahead['files']}, {ahead['steps']}, {ahead['reads']} |")
    lines += ["", f"Wanted: best / auto at least {100 * WANTED:.0f} %."]
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    for name, usual in (("files", "1,2,8"), ("steps", "1,3,16"), ("reads", "1,4,16")):
        parser.add_argument(f"--{name}", default=usual)
    parser.add_argument("--count", type=int, default=64, help="files of the set")
    parser.add_argument("--repeat", type=int, default=2, help="so many times the 720 events of data/topology-train.parquet in a file")
    parser.add_argument("--delay-ms", type=float, default=50)
    parser.add_argument("--mb-per-s", type=float, default=60)
    parser.add_argument("--connection-mb-per-s", type=float, default=12)
    parser.add_argument("--places", default="slow,fast,disk")
    options = parser.parse_args()
    grid = [tuple(int(value) for value in values) for values in itertools.product(options.files.split(","), options.steps.split(","), options.reads.split(","))]
    if AS_BEFORE not in grid:
        grid.append(AS_BEFORE)
    result = {**network.provenance("bench/prefetch.py"), "others_cores": network.busy_cores(), "count": options.count, "delay_ms": options.delay_ms,
              "mb_per_s": options.mb_per_s, "connection_mb_per_s": options.connection_mb_per_s, "rounds": []}
    with tempfile.TemporaryDirectory(prefix="linac-prefetch-") as name, Versitygw() as gate, \
            SlowRelay(gate.port, options.delay_ms / 1000, 1e6 * options.mb_per_s, 1e6 * options.connection_mb_per_s) as relay:
        folder = pathlib.Path(name)
        (files := folder / "files").mkdir()
        source = ROOT / "data" / "topology-train.parquet"
        call([LINAC, "data", "convert", *[source] * options.repeat, files / "0.parquet"])
        events = options.repeat * json.loads(call([LINAC, "data", "info", source, "--json"]))["files"][0]["events"]
        content = (files / "0.parquet").read_bytes()
        for number in range(options.count):
            gate.put(f"files/{number}.parquet", content)
            if number > 0:
                os.link(files / "0.parquet", files / f"{number}.parquet")
        result["file_bytes"] = len(content)
        places = {"slow": ("s3://test/files/*", gate.environment | {"AWS_ENDPOINT_URL": relay.url}), "fast": ("s3://test/files/*", gate.environment),
                  "disk": (f"{files}/*.parquet", {})}
        for number in range(options.rounds):
            result["rounds"].append({place: one_round(place, *(places[place][0], events * options.count // BATCH, grid, places[place][1], folder, number))
                                     for place in options.places.split(",")})
    store(result, "prefetch", markdown(result))


if __name__ == "__main__":
    main()
