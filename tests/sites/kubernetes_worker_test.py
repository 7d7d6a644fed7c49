#!/usr/bin/env python3
"""The script of a worker under Kubernetes, without Kubernetes: what stands for a pod is a group of processes with its variables. With a volume
that all see, a pod that is started again joins the run, also where its launch is one of several sites, and all of its pods were gone; without, all begin again with a first worker
that is another one. The bits are those of a run here."""

import os
import pathlib
import secrets
import signal
import subprocess
import sys
import tempfile
import time

from lib import elastic, launches, runs
from lib.checks import check, wait_for
from lib.launches import Client
from lib.ports import free_port
from lib.servers.versitygw import Versitygw
from lib.skips import skipped

SETTINGS = launches.SETTINGS | {"train.epochs": 6, "checkpoint.every_steps": 4}
# Answers with what stands in a file, as the name service of a cluster does with the address of a pod.
GETENT = """#!/bin/sh
cat "$NAMES"
"""


def block(said: str, key: str) -> str:
    """A text of several lines in YAML, `KEY: |`."""
    lines = said.splitlines()
    begin = next(number for number, line in enumerate(lines) if line.strip() == f"{key}: |")
    indent = len(lines[begin]) - len(lines[begin].lstrip()) + 2
    end = next(number for number in range(begin + 1, len(lines)) if lines[number].strip() and not lines[number].startswith(" " * indent))
    return "".join(line[indent:] + "\n" for line in lines[begin + 1:end])


class Pods:
    """The workers of one launch, by their numbers."""

    def __init__(self, root: pathlib.Path, client: Client, name: str, settings: dict, *words: str, on: tuple[str, ...] = ("k8s", "--workers", "2"),
                 **variables: str):
        self.folder = root / name
        self.folder.mkdir()
        self.variables = variables
        self.names = self.folder / "names"
        self.first_is_at("10.0.0.1")
        said = client.launch(on[0], settings, *on[1:], "--name", name, "--dry-run", *words)
        for file in ("job.yaml", "worker.sh"):
            (self.folder / file).write_text(block(said, file).replace("/linac/job.yaml", f"{self.folder}/job.yaml"))
        programs = self.folder / "programs"
        programs.mkdir()
        (programs / "getent").write_text(GETENT)
        (programs / "getent").chmod(0o755)
        self.port, self.key, self.path = free_port(), secrets.token_hex(32), f"{programs}:{os.environ['PATH']}"
        self.pods: dict[int, subprocess.Popen] = {}

    def first_is_at(self, address: str) -> None:
        self.names.write_text(f"{address} first\n")

    def start(self, rank: int) -> None:
        home = self.folder / f"home-{rank}-{time.monotonic_ns()}"
        home.mkdir()
        variables = {"RANK": rank, "WORLD_SIZE": 2, "LOCAL_RANK": 0, "LOCAL_WORLD_SIZE": 2, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": self.port,
                     "HOME": home, "TMPDIR": home, "XDG_CACHE_HOME": home, "LINAC_RUN_KEY": self.key, "NAMES": self.names, "PATH": self.path,
                     **elastic.steady(self.folder.parent, step_ms=30), **self.variables}
        with open(self.log(rank), "ab") as log:
            self.pods[rank] = subprocess.Popen(["bash", self.folder / "worker.sh"], env=runs.environment(**{name: str(value) for name, value in variables.items()}),
                                               stdout=log, stderr=log, start_new_session=True, cwd=home)

    def log(self, rank: int) -> pathlib.Path:
        return self.folder / f"log-{rank}"

    def kill(self, rank: int) -> None:
        os.killpg(self.pods[rank].pid, signal.SIGKILL)
        self.pods[rank].wait()

    def end(self, rank: int, limit_s: float = 60) -> int:
        try:
            return self.pods[rank].wait(timeout=limit_s)
        except subprocess.TimeoutExpired:
            sys.exit(f"worker {rank} does not end:\n" + self.log(rank).read_text()[-3000:])

    def wait_for(self, rank: int, text: str, limit_s: float = 60) -> None:
        wait_for(lambda: text in self.log(rank).read_text(), lambda: f"{self.log(rank).read_text()[-3000:]}\nworker {rank} says '{text}'", limit_s, 0.05)

    def __exit__(self, *_) -> None:
        for pod in self.pods.values():
            try:
                os.killpg(pod.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            pod.wait()

    def __enter__(self) -> "Pods":
        return self


def shared(root: pathlib.Path, client: Client, calm: pathlib.Path) -> None:
    with Pods(root, client, "shared", SETTINGS) as pods:
        out = root / "runs" / "shared"
        pods.start(1)
        pods.wait_for(1, "worker 1 waits for the first one")
        pods.start(0)
        launches.wait_for_steps(out, 6)
        pods.kill(1)
        pods.start(1)
        members = lambda: max((len(line["members"]) for line in runs.lines_so_far(out) if line["kind"] == "view" and line["view"] > 1), default=0)
        wait_for(lambda: members() >= 2, lambda: f"{pods.log(1).read_text()[-3000:]}\na worker that was started again joins the run", 60, 0.05)
        pods.pods[0].send_signal(signal.SIGTERM)  # as a node that is drained gives it; all stop after a checkpoint
        check(pods.end(0) == 75, "told to go, a worker ends with 75 after a checkpoint")
        pods.wait_for(1, "worker 1 begins again with the others")
        check(pods.pods[1].poll() is None, "and the other one stays")
        pods.start(0)
        check([pods.end(0), pods.end(1)] == [0, 0], "started again they go on, to the end")
        pods.start(0)
        check(pods.end(0, 10) == 0 and pods.log(0).read_text().count("resuming from") == 1, "one that is started after the end has nothing to do")
        launches.same_bits(calm, out, "a worker killed, then all told to go")


def apart(root: pathlib.Path, client: Client, calm: pathlib.Path) -> None:
    with Versitygw() as store, Pods(root, client, "apart", SETTINGS, "--out", "s3://test/apart", **store.environment) as pods:
        pods.start(0)
        pods.start(1)
        pods.wait_for(0, "epoch 2")
        pods.kill(0)
        pods.first_is_at("10.0.0.2")
        pods.wait_for(1, "the first worker is another one now")
        pods.wait_for(1, "worker 1 begins again with the others")
        check(pods.pods[1].poll() is None, "where the first worker is another one, the others stay, to begin again with it")
        pods.start(0)
        check(pods.end(0) == 0, "they go on from the last checkpoint, to the end")
        time.sleep(1)
        check(pods.pods[1].poll() is None, "the others stay until the launch is over")
        pods.pods[1].send_signal(signal.SIGTERM)
        check(pods.end(1, 10) == 75, "and end when they are told to")
        there = root / "apart-there"
        for entry in (store.folder / "data" / "test" / "apart").rglob("*"):
            if entry.is_file():
                copy = there / entry.relative_to(store.folder / "data" / "test" / "apart")
                copy.parent.mkdir(parents=True, exist_ok=True)
                copy.write_bytes(entry.read_bytes())
        launches.same_bits(calm, there, "the first of two workers lost, at an object store")


def several(root: pathlib.Path, client: Client, calm: pathlib.Path) -> None:
    """The pods are one site, this host another: none waits at the port of the first pod."""
    relay = subprocess.Popen([runs.LINAC, "relay", "--listen", "127.0.0.1:0"], stdout=subprocess.PIPE, text=True, env=runs.environment())
    try:
        address = relay.stdout.readline().strip().removeprefix("LINAC_RELAY=")
        with Pods(root, client, "several", SETTINGS, "--relay", address, on=("k8s:2,here:1",)) as pods:
            out = root / "runs" / "several"
            pods.start(1)
            pods.start(0)
            here = runs.start(root / "here", {"job": f"{pods.folder}/job.yaml"}, "--resume-or-start", LINAC_GROUPS="k8s:2,here:1", LINAC_GROUP="here", LINAC_RELAY=address,
                              LINAC_RUN_KEY=pods.key, **elastic.steady(root, step_ms=30))
            launches.wait_for_steps(out, 6)
            pods.kill(1)
            pods.start(1)
            sizes = lambda: [len(line["members"]) for line in runs.lines_so_far(out) if line["kind"] == "view"]
            wait_for(lambda: len(sizes()) > 1 and sizes()[-1] == 3, lambda: f"{pods.log(1).read_text()[-3000:]}\n{sizes()}: a pod that was started again joins the run of several sites",
                     60, 0.05)
            check([pods.end(0), pods.end(1), here.wait(timeout=60)] == [0, 0, 0], "pods and a host elsewhere come to the end")
            launches.same_bits(calm, out, "pods")
            launches.same_bits(calm, root / "here", "a host elsewhere")
    finally:
        relay.terminate()
        relay.wait(timeout=30)


def all_gone(root: pathlib.Path, client: Client) -> None:
    """All pods of a site are gone at once, and the other site goes on: those that the cluster starts in their place join it."""
    relay = subprocess.Popen([runs.LINAC, "relay", "--listen", "127.0.0.1:0"], stdout=subprocess.PIPE, text=True, env=runs.environment())
    try:
        address = relay.stdout.readline().strip().removeprefix("LINAC_RELAY=")
        settings = SETTINGS | {"train.epochs": 12, "distribution.stall_timeout_s": 6}
        with Pods(root, client, "gone", settings, "--relay", address, on=("here:2,k8s:2",)) as pods:
            out = root / "here-stays"
            pods.start(0)
            pods.start(1)
            here = runs.start(out, {"job": f"{pods.folder}/job.yaml"}, "--resume-or-start", "--workers", "2", LINAC_LAUNCH="local", LINAC_GROUPS="here:2,k8s:2",
                              LINAC_GROUP="here", LINAC_RELAY=address, LINAC_RUN_KEY=pods.key, **elastic.steady(root, step_ms=60))
            launches.wait_for_steps(out, 6)
            pods.kill(0)
            pods.kill(1)
            sizes = lambda: [len(line["members"]) for line in runs.lines_so_far(out) if line["kind"] == "view"]
            wait_for(lambda: sizes()[-1] == 2, lambda: f"{sizes()}\n{pathlib.Path(f'{out}.log').read_text()[-3000:]}\nthe other site goes on", 60, 0.05)
            pods.start(0)
            pods.start(1)
            wait_for(lambda: sizes()[-1] == 4, lambda: f"{pods.log(0).read_text()[-3000:]}\n{sizes()}: all pods of a site that are started again join the others", 60, 0.05)
            check([pods.end(0), pods.end(1), here.wait(timeout=60)] == [0, 0, 0], "and all come to the end")
            runs.run(root / "calm-gone", settings, "--workers", "1")
            launches.same_bits(root / "calm-gone", out, "all pods lost")
            launches.same_bits(root / "calm-gone", root / "runs" / "gone", "the record of the pods")
    finally:
        relay.terminate()
        relay.wait(timeout=30)


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="linac-pods-", ignore_cleanup_errors=True) as folder:
        root = pathlib.Path(folder)
        site = {"kind": "kubernetes", "image": "linac:1", "program": runs.LINAC, "folder": f"{root}/runs", "volume": f"hostPath:{root}/runs"}
        client = Client(root, {"k8s": site, "here": {"kind": "local", "folder": f"{root}/here"}})
        calm = root / "calm"
        runs.run(calm, SETTINGS, "--workers", "1")
        shared(root, client, calm)
        several(root, client, calm)
        all_gone(root, client)
        if Versitygw.available():
            apart(root, client, calm)
        else:
            skipped("an object store", "no versitygw is installed", "tests/servers/get.sh versitygw")


if __name__ == "__main__":
    main()
