"""What the tests of runs at an object store share: a run that lasts some seconds, and what lies in the bucket."""

import atexit
import json
import os
import pathlib
import shutil
import subprocess
import sys
import time

from lib import elastic, runs
from lib.checks import check
from lib.servers.versitygw import Versitygw

# Small steps and many checkpoints, all of which stay: each can be compared.
JOB = {"job": "examples/topology.yaml", **runs.SMALL_CLASSIFIER, "train.replicas": 2, "train.batch": 30, "train.epochs": 6, "train.steps_per_epoch": 40,
       "checkpoint.every_steps": 20, "checkpoint.keep": 100, "workers": 1}
MANIFEST = "linac-folder.json"
CLAIM = "linac-claim.json"


def need_server() -> None:
    if not Versitygw.available():
        print("no versitygw: tests/servers/get.sh versitygw")
        sys.exit(77)


STARTED: list[subprocess.Popen] = []


def end_all() -> None:
    """What a failed check has left behind."""
    for process in STARTED:
        if process.poll() is None:
            runs.kill_tree(process)


atexit.register(end_all)


class Bucket:
    """The folder of a run in the bucket of `store`, whose objects are files; and how to train it on one machine or another."""

    def __init__(self, store: Versitygw, name: str, root: pathlib.Path):
        self.store, self.url, self.root = store, f"s3://{store.BUCKET}/runs/{name}", root
        self.folder = store.folder / "data" / store.BUCKET / "runs" / name

    def environment(self, machine: str, **variables: str) -> dict:
        return {**self.store.environment, "LINAC_CACHE": str(self.root / machine), **variables}

    def copies(self, machine: str) -> list[pathlib.Path]:
        """Where the machine works on runs."""
        return [path for path in (self.root / machine / "runs").iterdir() if path.is_dir()]

    def lose(self, machine: str) -> None:
        shutil.rmtree(self.root / machine)

    def train(self, machine: str, *words: str, status: int = 0, job: dict = JOB, **variables: str) -> str:
        return runs.run(self.url, job, *words, status=status, **self.environment(machine, **variables))

    def start(self, machine: str, *words: str, job: dict = JOB, **variables: str) -> subprocess.Popen:
        """One that is disturbed on its way: its steps last."""
        variables = elastic.steady(self.root, step_ms=25) | variables
        with open(self.root / f"{machine}.log", "ab") as log:
            STARTED.append(subprocess.Popen(runs.arguments(self.url, job, *words), cwd=runs.ROOT, env=runs.environment(**self.environment(machine, **variables)),
                                            stdout=log, stderr=log, start_new_session=True))
        return STARTED[-1]

    def said(self, machine: str) -> str:
        return (self.root / f"{machine}.log").read_text()

    def manifest(self) -> dict | None:
        path = self.folder / MANIFEST
        for _ in range(3):  # the server may be putting another one in its place
            try:
                return json.loads(path.read_text())
            except FileNotFoundError:
                if not self.folder.exists():
                    return None
                time.sleep(0.01)
        return None

    def named(self) -> dict[str, pathlib.Path]:
        """The files that the manifest names, each with its size."""
        manifest, found = self.manifest() or {"files": []}, {}
        for file in manifest["files"]:
            found[file["name"]] = self.folder / file["object"]
            size = found[file["name"]].stat().st_size
            if size != file["size"]:
                sys.exit(f"{file}: has {size} bytes")
        return found

    def checkpoints(self) -> dict[str, bytes]:
        return {name: path.read_bytes() for name, path in self.named().items() if "/step-" in name}

    def wait_for_checkpoint(self, process: subprocess.Popen, limit_s: float = 60) -> None:
        end = time.monotonic() + limit_s
        while not any("/step-" in file["name"] for file in (self.manifest() or {"files": []})["files"]):
            if process.poll() is not None or time.monotonic() > end:
                os.system(f"cat {self.root}/*.log")
                sys.exit("no checkpoint came to the bucket while the run went on")
            time.sleep(0.02)


def on_disk(root: pathlib.Path) -> dict[str, bytes]:
    """The same run in a path: its checkpoints and models, by name."""
    runs.run(out := root / "disk", JOB, LINAC_CACHE=str(root / "cache-disk"))
    return files_of(out)


def files_of(out: pathlib.Path) -> dict[str, bytes]:
    return {str(path.relative_to(out)): path.read_bytes() for kind in ("checkpoints", "models") for path in (out / kind).iterdir()}


def same_steps(path_run: dict[str, bytes], bucket: Bucket) -> bool:
    """Whether each checkpoint of the bucket has the bits of the run in a path."""
    there = bucket.checkpoints()
    return bool(there) and all(path_run.get(name) == content for name, content in there.items())


def compare(there: dict[str, bytes], path_run: dict[str, bytes], what: str, may_miss: set[str] = frozenset()) -> None:
    """Fails with the names of the files that differ. `may_miss`: those that a killed process had no time to send."""
    differ = sorted(f"{name} {'differs' if name in there and name in path_run else 'is in one alone'}" for name in there.keys() | path_run.keys()
                    if there.get(name) != path_run.get(name) and not (name in may_miss and name not in there))
    check(bool(there) and not differ, what + (f" (not: {', '.join(differ)})" if differ else ""))
