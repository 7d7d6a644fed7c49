#!/usr/bin/env python3
"""Random faults of an object store, for an hour: the classifier trains from s3:// and keeps its run there, again and again with 1, 2 or 3 workers
and an empty cache, while requests are reset, refused, cut, delayed, and the server is away. Every run must come to its end with all steps and the
bits of a run on the disk. With --altered a share of the events' bytes is altered on the way as well: a run may then end with a data error, and goes on
from there, and no number may be another one.

  soak.py --minutes 60 [--seed N] [--share 0.2] [--altered 0.05] [--lanes 3] [--keep FOLDER]       writes build/bench/DATE-storage-soak.json

Needs versitygw (tests/servers/get.sh). Ends with status 1 at the first run that is not as it must be; its log is in FOLDER."""

import argparse
import collections
import datetime
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import time

import kept_runs
from kept_runs import Bucket, files_of
from lib import runs
from lib.checks import check
from lib.faulty_proxy import FaultyProxy
from lib.servers.versitygw import Versitygw

JOB = {"job": "examples/topology.yaml", "train.replicas": 3, "train.batch": 5, "train.epochs": 2, "train.steps_per_epoch": 8,
       "checkpoint.every_steps": 2, "checkpoint.keep": 100}
EVENTS_PER_FILE = 15
DATA_ERROR, REFUSED_MAX = 3, 100


class Soak:
    """Runs by the lanes' threads, until the time is over or one is not as it must be."""

    def __init__(self, root: pathlib.Path, store: Versitygw, proxy: FaultyProxy, seed: int, until: float):
        self.root, self.store, self.proxy, self.until = root, store, proxy, until
        self.dice, self.lock = random.Random(seed), threading.Lock()
        self.data = {"data.train": f"[s3://{store.BUCKET}/train/*]", "data.test": f"[s3://{store.BUCKET}/test/*]"}
        self.disk: dict[str, bytes] = {}
        self.steps: list[tuple] = []
        self.number = 0
        self.ended: collections.Counter = collections.Counter()
        self.seconds: list[float] = []
        self.wrong: list[str] = []

    def calm(self) -> None:
        """The run that all are compared with: from the disk, without faults."""
        files = {"data.train": f"[{self.root}/train/*]", "data.test": f"[{self.root}/test/*]"}
        runs.run(out := self.root / "calm", JOB | files, "--workers", "1", LINAC_CACHE=str(self.root / "cache-calm"))
        self.disk, self.steps = tensors_of(files_of(out)), steps_of((out / "metrics.jsonl").read_text())

    def lane(self) -> None:
        while time.monotonic() < self.until and not self.wrong:
            with self.lock:
                self.number += 1
                name, workers = f"run-{self.number}", self.dice.choice((1, 2, 3))
            begin = time.monotonic()
            problem = self.one(Bucket(self.store, name, self.root), name, workers)
            with self.lock:
                self.seconds.append(time.monotonic() - begin)
                self.ended[f"{workers} workers"] += 1
                if problem:
                    self.wrong.append(f"{name}: {problem}")

    def one(self, bucket: Bucket, name: str, workers: int) -> str:
        """What is wrong with it, or ""; what is well leaves nothing."""
        for _ in range(REFUSED_MAX):
            resume = ("--resume",) if bucket.manifest() else ()
            process = bucket.start(name, "--workers", str(workers), *resume, job=JOB | self.data, AWS_ENDPOINT_URL=self.proxy.url)
            try:
                status = process.wait(timeout=600)
            except subprocess.TimeoutExpired:
                runs.kill_tree(process)
                return "hangs"
            kept_runs.STARTED.remove(process)
            if not (status == DATA_ERROR and self.proxy.altered):
                break
            with self.lock:
                self.ended["refused altered bytes"] += 1
        if status != 0:
            return f"exit status {status}"
        there = {file: path.read_bytes() for file, path in bucket.named().items()}
        if steps_of(there["metrics.jsonl"].decode()) != self.steps:
            return "other steps than on the disk"
        if tensors_of({file: content for file, content in there.items() if file.startswith("checkpoints/step-")}) != self.disk:
            return "other bits than on the disk"
        for folder in (bucket.folder, self.root / name):
            shutil.rmtree(folder)
        (self.root / f"{name}.log").unlink()
        return ""


def tensors_of(files: dict[str, bytes]) -> dict[str, dict[str, bytes]]:
    """Of each checkpoint, without its notes, which say where the data lie."""
    return {name: runs.tensors_in(content) for name, content in files.items() if "step-" in name}


def steps_of(metrics: str) -> list[tuple]:
    lines = [json.loads(line) for line in metrics.splitlines()]
    return [(line["global_step"], line["loss"]) for line in lines if line["kind"] == "step"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--seed", type=int, default=time.time_ns() % 1_000_000)
    parser.add_argument("--share", type=float, default=0.2, help="of requests that meet a fault")
    parser.add_argument("--altered", type=float, default=0, help="of ranges of events that are altered on the way")
    parser.add_argument("--lanes", type=int, default=3, help="runs at a time")
    parser.add_argument("--keep", type=pathlib.Path, default=pathlib.Path(tempfile.gettempdir()) / "linac-storage-soak-failed")
    options = parser.parse_args()
    kept_runs.need_server()
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=runs.ROOT, capture_output=True, text=True).stdout.strip()
    with tempfile.TemporaryDirectory(prefix="linac-storage-soak-") as folder, Versitygw() as store:
        root = pathlib.Path(folder)
        for part in ("train", "test"):
            (root / part).mkdir()
            subprocess.run([runs.LINAC, "data", "convert", f"data/topology-{part}.parquet", f"{root / part}/", "--events-per-file", str(EVENTS_PER_FILE)],
                           cwd=runs.ROOT, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            for file in sorted((root / part).glob("*.parquet")):
                store.put(f"{part}/{file.name}", file.read_bytes())
            (root / part / "_linac-convert.json").unlink()
        begin = time.monotonic()
        with FaultyProxy(store.port, options.share, options.seed, options.altered, "t") as proxy:
            soak = Soak(root, store, proxy, options.seed, begin + 60 * options.minutes)
            soak.calm()
            lanes = [threading.Thread(target=soak.lane) for _ in range(options.lanes)]
            for lane in lanes:
                lane.start()
            while any(lane.is_alive() for lane in lanes):
                lanes[0].join(60)
                print(f"{time.monotonic() - begin:.0f} s: {len(soak.seconds)} runs, {proxy.requests} requests, {dict(proxy.count)}", flush=True)
                if not lanes[0].is_alive():
                    [lane.join() for lane in lanes]
        seconds = time.monotonic() - begin
        if soak.wrong:
            shutil.rmtree(options.keep, ignore_errors=True)
            options.keep.mkdir(parents=True)
            for log in root.glob("*.log"):
                shutil.copy(log, options.keep)
            print(f"logs: {options.keep}")
        count = proxy.count
        refused = soak.ended.pop("refused altered bytes", 0)
        result = {"command": "tests/storage/soak.py " + " ".join(sys.argv[1:]), "date": datetime.date.today().isoformat(), "commit": commit, "seed": options.seed,
                  "cores": os.cpu_count(), "seconds": round(seconds), "runs": dict(soak.ended), "refused_altered_bytes": refused, "steps_a_run": len(soak.steps), "requests": proxy.requests,
                  "faults": dict(count.most_common()), "faults_together": count.total(), "faults_an_hour": round(3600 * count.total() / seconds),
                  "median_s_a_run": round(sorted(soak.seconds)[len(soak.seconds) // 2], 1), "wrong": soak.wrong}
    print(json.dumps(result, indent=1))
    check(not soak.wrong, f"{sum(soak.ended.values())} runs, {count.total()} faults: all steps, the same bits")
    path = runs.ROOT / "build" / "bench" / f"{result['date']}-storage-soak.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(result, indent=1) + "\n")
    print(path)


if __name__ == "__main__":
    main()
