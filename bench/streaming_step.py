#!/usr/bin/env python3
"""What streaming costs a training's steps: the same job from packed files of this host, from an object store (versitygw on the loopback interface) whose
files come while the training goes on, and with the run kept there as well, in turns; the 3DGAN and the classifier.

  bench/streaming_step.py [--rounds 5] [--steps 400,24] [--jobs classifier,3dgan] [--python PYTHON]

All read in windows of two files, so all have the same steps and end with the same bits. `local`: everything is packed before. `s3`: a cache that holds
four windows, so that files are fetched and packed all the time. `s3, run too`: `--out s3://`, with a checkpoint sent every tenth part of the steps. The
median step is of the times that the run's TensorBoard events have; CPU seconds are those of the process from begin to end, the packing included.
PYTHON has pyarrow (build/peers). Wanted: a median step 2 % longer at most. Writes bench/results/DATE-streaming-step.md."""

import argparse
import json
import os
import pathlib
import shutil
import statistics
import struct
import subprocess
import sys
import tempfile

import network
from large_set import MAKE
from lib.runs import ROOT
from lib.servers.versitygw import Versitygw
from storage import LINAC, call, make_showers
from store import store

WINDOW, EVENTS_FILES, SHOWERS_FILES, SHOWERS_A_FILE = 2, 24, 12, 16
WAYS = ("local", "s3", "s3, run too")
WANTED = 1.02
COMMON = {"data.test": "[]", "checkpoint.best_by": "loss", "checkpoint.every_epochs": 0, "data.shuffle_window": WINDOW, "train.epochs": 1, "workers": 1}


def step_times(events: list[pathlib.Path]) -> list[float]:
    """Seconds from each step to the next, by TensorBoard's event files: a record is its length, a checksum, a message and a checksum; the message begins
    with the time (field 1, a double) and the step (field 2)."""
    at: dict[int, float] = {}
    for path in events:
        content, place = path.read_bytes(), 0
        while place + 16 <= len(content):
            size = struct.unpack_from("<Q", content, place)[0]
            message = content[place + 12:place + 12 + size]
            place += 16 + size
            if message[:1] != b"\x09" or message[9:10] != b"\x10":
                continue
            step, shift, byte = 0, 0, 10
            while True:
                step |= (message[byte] & 127) << shift
                if message[byte] < 128:
                    break
                byte, shift = byte + 1, shift + 7
            at.setdefault(step, struct.unpack_from("<d", message, 1)[0])
    times = [at[step] for step in sorted(at)]
    return [b - a for a, b in zip(times, times[1:])]


def train(job: str, chosen: dict, out: str, environment: dict, log: pathlib.Path) -> float:
    """CPU seconds."""
    words = [word for key, value in chosen.items() for word in ("--set", f"{key}={value}")]
    with open(log, "wb") as said:
        process = subprocess.Popen([LINAC, "train", job, "--out", out, *words], cwd=ROOT, env={**os.environ, **environment}, stdout=said, stderr=said)
        _, status, usage = os.wait4(process.pid, 0)
    if status != 0:
        sys.exit(f"{out}: wait status {status}\n{log.read_text()[-3000:]}")
    return usage.ru_utime + usage.ru_stime


def one(way: str, job: str, chosen: dict, files: dict, gate: Versitygw, folder: pathlib.Path, cache_bytes: int) -> dict:
    out = folder / "run"
    if way == "local":
        environment, where, kept = {"LINAC_CACHE": str(folder / "packed")}, str(out), out
    else:
        environment = gate.environment | {"LINAC_CACHE": str(folder / "cache"), "LINAC_CACHE_SIZE": str(cache_bytes)}
        kept = gate.folder / "data" / gate.BUCKET / "run" if way == "s3, run too" else out
        where = f"s3://{gate.BUCKET}/run" if way == "s3, run too" else str(out)
    cpu = train(job, chosen | {"data.train": f"['{files[way == 'local']}']"}, where, environment, folder / "log")
    # TensorBoard's curves of whole epochs lie in folders below.
    times = step_times(sorted(path for path in kept.rglob("*tfevents*")))
    record = json.loads((kept / "run.json").read_text())
    input_s = record["time_by_worker"][0]["phases"]["input"]["wall_s"]
    for name in (out, folder / "cache", gate.folder / "data" / gate.BUCKET / "run"):
        shutil.rmtree(name, ignore_errors=True)
    return {"step_s": statistics.median(times), "steps": len(times) + 1, "cpu_s": cpu, "input_s": input_s}


def packed_bytes(folder: pathlib.Path) -> int:
    return sum(path.stat().st_size for path in (folder / "packed").rglob("*") if path.is_file())


def markdown(result: dict) -> str:
    lines = ["# Steps while data and checkpoints cross a link",
             f"{result['date']}, {result['cpu']}, {result['cores']} cores, commit {result['commit']}; other programs took {result['others_cores']:.2f} cores at the start. "
             f"`{result['command']}`", "",
             f"One worker, files in windows of {WINDOW}. Median (minimum to maximum) of {len(result['rounds'])} rounds; ratios are of a round. Wanted: a step at most "
             f"{WANTED:.2f} times as long.", "", "| | step, ms | to local | CPU s | to local | waited for input, s |", "|---|---|---|---|---|---|"]
    for job in result["rounds"][0]:
        for way in WAYS:
            found = [one[job][way] for one in result["rounds"]]
            base = [one[job]["local"] for one in result["rounds"]]
            cells = [spread([1e3 * values["step_s"] for values in found], "{:.1f}"), spread([a["step_s"] / b["step_s"] for a, b in zip(found, base)], "{:.3f}"),
                     spread([values["cpu_s"] for values in found], "{:.1f}"), spread([a["cpu_s"] / b["cpu_s"] for a, b in zip(found, base)], "{:.3f}"),
                     f"{statistics.median(values['input_s'] for values in found):.2f}"]
            lines.append(f"| {job}, {way} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def spread(values: list[float], form: str) -> str:
    return f"{form.format(statistics.median(values))} ({form.format(min(values))} to {form.format(max(values))})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", default="400,24", help="of the classifier and of the 3DGAN in a run")
    parser.add_argument("--jobs", default="classifier,3dgan")
    parser.add_argument("--python", default=str(ROOT / "build/peers/bin/python"))
    options = parser.parse_args()
    steps = dict(zip(("classifier", "3dgan"), (int(count) for count in options.steps.split(","))))
    result = {**network.provenance("bench/streaming_step.py"), "others_cores": network.busy_cores(), "rounds": []}
    result["command"] = result["command"].replace(options.python, "PYTHON")
    with tempfile.TemporaryDirectory(prefix="linac-streaming-") as name, Versitygw() as gate:
        folder = pathlib.Path(name)
        (events := folder / "events").mkdir()
        call([options.python, "-c", MAKE, ROOT / "data/topology-train.parquet", folder / "one", 1e6])
        for number in range(EVENTS_FILES):
            os.link(folder / "one", events / f"{number:02}.parquet")
        make_showers(folder / "showers", SHOWERS_FILES * SHOWERS_A_FILE, SHOWERS_FILES)
        for kind in (events, folder / "showers"):
            for file in kind.iterdir():
                gate.put(f"{kind.name}/{file.name}", file.read_bytes())
        jobs = {"classifier": ("examples/topology.yaml", {"train.replicas": 1, "train.batch": 60}, "events/*.parquet"),
                "3dgan": ("examples/3dgan-from-nothing.yaml", {"train.replicas": 1, "train.batch": 8}, "showers/*.tfrecord")}
        for number in range(options.rounds + 1):  # the first one packs, and warms up
            found: dict = {}
            for what in options.jobs.split(","):
                job, chosen, pattern = jobs[what]
                chosen = COMMON | chosen | {"train.steps_per_epoch": steps[what], "checkpoint.every_steps": max(1, steps[what] // 10)}
                files = {True: f"{folder}/{pattern}", False: f"s3://{gate.BUCKET}/{pattern}"}
                if number == 0:
                    one("local", job, chosen, files, gate, folder, 0)
                    continue
                count = EVENTS_FILES if what == "classifier" else SHOWERS_FILES
                size = packed_bytes(folder) if what == "classifier" else sum(path.stat().st_size for path in (folder / "showers").iterdir())
                cache = size * 4 * WINDOW // count
                order = WAYS if number % 2 == 0 else WAYS[::-1]
                found[what] = {way: one(way, job, chosen, files, gate, folder, cache) for way in order}
                network.say(f"round {number}, {what}: " + "; ".join(f"{way} {1e3 * values['step_s']:.1f} ms, CPU {values['cpu_s']:.1f} s"
                                                                    for way, values in found[what].items()))
            if found:
                result["rounds"].append(found)
    store(result, "streaming-step", markdown(result))


if __name__ == "__main__":
    main()
