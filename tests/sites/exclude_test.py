#!/usr/bin/env python3
"""Hosts that launches keep away from: those of the site's `exclude`, of `--exclude`, and those that the service has marked. A real Slurm with
nodes of its own, and hosts that ssh leads to; what is not installed is left out."""

import contextlib
import os
import pathlib
import shutil
import socket
import tempfile
import unittest.mock

from lib import launches, runs
from lib.checks import check, wait_for
from lib.launches import Client, name_in
from lib.servers.slurm import Slurm
from lib.servers.sshd import Sshd
from lib.service_client import STEPS
from lib.sites_world import World
from lib.skips import skipped

SETTINGS = launches.SETTINGS | {"train.epochs": 1}
OF_SERVICE = {"data.train": f"[{runs.ROOT}/data/topology-train.parquet]", "data.test": "[]", "data.scaling": f"{runs.ROOT}/data/topology-scaling.json",
              "checkpoint.best_by": "loss", "workers": "1", "train.threads": "1", "train.epochs": "1", "train.steps_per_epoch": str(STEPS)}


def on_slurm() -> None:
    if not Slurm.available():
        return skipped("Slurm", "none is installed, or this user is not root", "tests/servers/get.sh slurm")
    with tempfile.TemporaryDirectory(prefix="linac-exclude-", ignore_cleanup_errors=True) as folder, Slurm(nodes=3) as cluster, contextlib.ExitStack() as stack:
        root = pathlib.Path(folder)
        farm = {"kind": "slurm", "folder": f"{root}/site", "program": runs.LINAC, "partition": "main", "notice": "5s", "environment": {"MASTER_ADDR": "127.0.0.1"}}
        client = Client(root, {"farm": farm | {"exclude": ["n1"]}, "plain": farm}, **cluster.environment)

        def excluded(label: str) -> str:
            number = cluster.ask("squeue", "-h", "-t", "all", f"--name={label}", "-o", "%A").split()[0]
            return cluster.ask("scontrol", "show", "job", "--oneliner", number).partition("ExcNodeList=")[2].split()[0]

        # A name that Slurm does not know would be refused by it.
        name = name_in(client.launch("farm", SETTINGS, "--workers", "1", "--exclude", "n2.example.org,elsewhere"))
        check(excluded(name.split(":")[1]) == "n[1-2]", f"Slurm is told the two nodes: {excluded(name.split(':')[1])}")
        end = client.wait_for(name, "SUCCEEDED", "FAILED", "LOST")
        check(end["state"] == "SUCCEEDED" and end["details"]["hosts"] == "n3", f"it runs on the third: {end}")
        said = client.launch("farm", SETTINGS, "--exclude", "n2,n3", status=4)
        check("no node is left: n1,n2,n3 are excluded" in said and "linac hosts list" in said, "where none is left, that is told with the way out")
        said = client.launch("plain", SETTINGS, "--exclude", socket.gethostname(), status=4)
        check("no node is left" in said, "nodes are known by the name of their host, too")
        check("'n 1' is no name of a host" in client.launch("farm", SETTINGS, "--exclude", "n 1", status=2), "and what is no name is refused")
        check("--exclude=n1,n2 " in client.launch("farm", SETTINGS, "--exclude", "n2", "--dry-run"), "a dry run says so")
        name = name_in(client.linac(*launches.launch_words("plain", SETTINGS), "--seeds", "1:2", "--workers", "1", "--name", "two", "--exclude", "n1,n3"))
        check(excluded("two") == "n[1,3]", "and an array")
        ends = [client.wait_for(f"plain:two-{number}", "SUCCEEDED", "FAILED", "LOST") for number in (1, 2)]
        check([(end["state"], end["details"]["hosts"]) for end in ends] == [("SUCCEEDED", "n2")] * 2, f"both members run on the second node: {ends}")

        # The service tells the site what it has marked.
        stack.enter_context(unittest.mock.patch.dict(os.environ, cluster.environment))
        world = World(stack, farm=farm | {"folder": f"{root}/service"})
        world.client.run("hosts", "mark", "n1", "--what", "by hand")
        world.client.run("hosts", "mark", "n3.example.org")
        run = world.submit(OF_SERVICE, "farm")
        found = world.client.wait(run, "SUCCEEDED")
        check(any("farm (n2)" in change["reason"] for change in found["transitions"]), f"a run of the service keeps away from marked hosts: {found['transitions']}")
        world.client.run("hosts", "mark", "n2")
        run = world.submit(OF_SERVICE, "farm")
        wait_for(lambda: "no node is left" in world.client.state(run)["reason"], lambda: world.client.state(run), 60, 0.2)
        world.client.run("cancel", run)
        world.client.wait(run, "CANCELLED")


def by_ssh() -> None:
    if not Sshd.available():
        return skipped("ssh", "no sshd is installed", "tests/servers/get.sh sshd")
    with tempfile.TemporaryDirectory(prefix="linac-exclude-", ignore_cleanup_errors=True) as folder, Sshd(["n01", "n02"]) as hosts:
        root = pathlib.Path(folder)
        pair = {"kind": "ssh", "folder": f"{root}/site", "program": runs.LINAC, "ssh": hosts.command, "hosts": ["n01", "n02"], "address": "127.0.0.1"}
        client = Client(root, {"pair": pair, "one": pair | {"exclude": ["n02"]}, "itself": pair | {"exclude": [socket.gethostname()]}})
        said = client.launch("pair", SETTINGS, "--exclude", "n01")
        check("pair: n01 is excluded, and left out" in said, "a host that is left out is told")
        name = name_in(said)
        end = client.wait_for(name, "SUCCEEDED", "FAILED", "LOST")
        check(end["state"] == "SUCCEEDED", "and the launch goes to the other")
        calm = root / "calm"
        runs.run(calm, SETTINGS, "--workers", "1")
        launches.same_bits(calm, root / "site" / name.split(":")[1], "one of two hosts")
        said = client.launch("one", SETTINGS, "--exclude", "n01", status=2)
        check("none is left, all of them are excluded (n01, n02)" in said and "linac hosts list" in said, "where none is left, that is told with the way out")
        said = client.launch("itself", SETTINGS, status=4)
        check(f"it calls itself {socket.gethostname()}, which is excluded" in said and not launches.processes_with(f"{root}/site"),
              "a host whose name for ssh is another one is known by what it calls itself")


def by_mpirun() -> None:
    if shutil.which("mpirun") is None:
        return skipped("mpirun", "none is installed", "tests/servers/get.sh openmpi")
    with tempfile.TemporaryDirectory(prefix="linac-exclude-", ignore_cleanup_errors=True) as folder:
        root = pathlib.Path(folder)
        user = ["--allow-run-as-root"] if os.geteuid() == 0 else []
        (root / "hosts").write_text("localhost slots=2\n")
        site = {"kind": "mpi", "folder": f"{root}/site", "program": runs.LINAC, "hostfile": f"{root}/hosts", "arguments": ["--oversubscribe", *user]}
        client = Client(root, {"file": site})
        name = name_in(client.launch("file", SETTINGS, "--workers", "2", "--exclude", "elsewhere"))
        check(client.wait_for(name, "SUCCEEDED", "FAILED", "LOST")["state"] == "SUCCEEDED", "mpirun's own hosts are none that is excluded")
        name = name_in(client.launch("file", SETTINGS, "--workers", "2", "--exclude", f"elsewhere,{socket.gethostname()}"))
        end = client.wait_for(name, "SUCCEEDED", "FAILED", "LOST")
        log = client.linac("logs", name)
        check(end["state"] == "FAILED" and f"mpirun would start workers on {socket.gethostname()}, excluded" in log, f"a host file that has one is refused: {end} {log}")
        check(not (root / "site" / name.split(":")[1] / "metrics.jsonl").exists(), "and no worker begins")


if __name__ == "__main__":
    by_ssh()
    by_mpirun()
    on_slurm()
