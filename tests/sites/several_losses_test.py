#!/usr/bin/env python3
"""Places of one training that are lost as a whole, in steps of all and in rounds of groups that train apart: what a group keeps lies at another
place too, so the end has the bits of a calm run; the place is brought back by `linac resume`, and its workers join the others. Parts that mpirun
starts, and one whose folder is an object store."""

import argparse
import contextlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile

from lib import elastic, launches, runs
from lib.checks import check, wait_for
from lib.launches import Client, name_in
from lib.processes import processes
from lib.servers.slurm import Slurm
from lib.servers.sshd import Sshd
from lib.servers.versitygw import Versitygw
from lib.skips import skipped

STEADY = elastic.CLASSIFIER | {"train.replicas": 4, "train.epochs": 6, "distribution.stall_timeout_s": 6}
# Moments that groups keep, and what int8 leaves out: a place that took the only copies along would be seen in the bits.
APART = STEADY | {"train.sync.mode": "local", "train.sync.groups": 4, "train.sync.every": 3, "train.sync.moments": "keep", "train.sync.exchange": "int8"}

SIX = APART | {"train.replicas": 12, "train.sync.groups": 6}
MORE, LARGE = APART | {"train.epochs": 16}, SIX | {"train.epochs": 40}


def ended(client: Client, name: str, state: str) -> dict:
    standing = client.wait_for(name, "SUCCEEDED", "CANCELLED", "FAILED", "LOST", limit_s=150)
    if standing["state"] != state:
        print(json.dumps(standing, indent=1), client.linac("logs", name), sep="\n")
    check(standing["state"] == state, f"{name} is {state}")
    return standing


def lose(place: pathlib.Path) -> None:
    """All processes of a launch there at once, as a host that has no power any more."""
    os.killpg(int((place / "launch" / "pid-0").read_text()), signal.SIGKILL)


def sizes(out: pathlib.Path) -> list[int]:
    return [len(line["members"]) for line in runs.lines_so_far(out) if line["kind"] == "view"]


def comes_back(client: Client, root: pathlib.Path, label: str, settings: dict, calm: str) -> None:
    """The place of half of the groups is lost, and resumed while the others go on; then what is left of it at the end is compared."""
    name = name_in(client.launch("one:2,two:2", settings, "--name", label))
    out = root / "one" / label
    launches.wait_for_steps(out, 7)
    check("is a part; resume one+two" in client.linac("resume", f"two:{label}", status=2), "a place that is there does not come back")
    lose(root / "two" / label)
    wait_for(lambda: sizes(out)[-1:] == [2], lambda: f"{sizes(out)}\n{client.linac('logs', name)}\nthe others go on without the place", 90, 0.1)
    standing = client.standing(name)
    check(standing["state"] == "RUNNING" and "without two, which is LOST" in standing["reason"], f"it is told: {standing['reason']}")
    check(f"linac resume two:{label}" in client.linac("status", name), "and what brings it back")
    client.linac("resume", f"two:{label}")
    wait_for(lambda: sizes(out)[-1] == 4, lambda: f"{sizes(out)}\n{client.linac('logs', name)}\nits workers come back", 90, 0.1)
    check("is RUNNING" in client.linac("resume", name, status=2), "then all run")
    standing = ended(client, name, "SUCCEEDED")
    check([part["state"] for part in standing["parts"]] == ["SUCCEEDED"] * 2 and not standing["reason"], "both places come to the end")
    launches.same_bits(root / calm, out, f"{label}: a place was lost and came back")
    launches.same_bits(root / calm, root / "two" / label, f"{label}: the record of that place")
    anew = [line["anew"] for line in runs.lines(out) if line["kind"] == "round" and line.get("anew")]
    check(not anew, "and no group has begun anew")


def first_lost(client: Client, root: pathlib.Path) -> None:
    """That of rank 0, which is not brought back: the launch names it, and has the bits of a calm run all the same."""
    name = name_in(client.launch("one:2,two:2,three:2", SIX, "--name", "first"))
    launches.wait_for_steps(root / "two" / "first", 7)
    lose(root / "one" / "first")
    standing = ended(client, name, "SUCCEEDED")
    check("without one, which is LOST" in standing["reason"], f"it is told: {standing['reason']}")
    launches.same_bits(root / "calm-first", root / "two" / "first", "the place of rank 0 was lost, two groups at once")


def kill_all(text: str) -> None:
    for pid, words in processes():
        if pid != os.getpid() and any(text in word for word in words):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def mpi(client: Client, root: pathlib.Path) -> None:
    name = name_in(client.launch("two:2,mpi:2", MORE, "--name", "mixed"))
    out = root / "two" / "mixed"
    launches.wait_for_steps(out, 7)
    pid = [int(line["members"][-1]["pid"]) for line in runs.lines_so_far(out) if line["kind"] == "view"][-1]
    os.kill(pid, signal.SIGKILL)
    wait_for(lambda: len(sizes(out)) > 1 and sizes(out)[-1] == 4, lambda: f"{sizes(out)}\n{client.linac('logs', name)}\na worker of mpirun takes its place again", 90, 0.1)
    kill_all(f"{root}/mpi")
    lose(root / "mpi" / "mixed")
    wait_for(lambda: sizes(out)[-1] == 2, lambda: f"{sizes(out)}\n{client.linac('logs', name)}\nthe others go on without mpirun's place", 90, 0.1)
    client.wait_for("mpi:mixed", "LOST", "FAILED")
    client.linac("resume", name)
    wait_for(lambda: sizes(out)[-1] == 4, lambda: f"{sizes(out)}\n{client.linac('logs', name)}\nits workers come back", 90, 0.1)
    standing = ended(client, name, "SUCCEEDED")
    check(all(part["state"] == "SUCCEEDED" for part in standing["parts"]), "workers of mpirun and others elsewhere come to the end")
    launches.same_bits(root / "calm-more", out, "mpirun and another place")
    launches.same_bits(root / "calm-more", root / "mpi" / "mixed", "the record of mpirun's place")


def at_a_store(client: Client, root: pathlib.Path, store: Versitygw) -> None:
    """The first place writes there, the others in folders of their own: where it is lost, what they bring to its end is not."""
    there = store.folder / "data" / "test"
    name = name_in(client.launch("one:1,two:1,three:1", STEADY | {"train.epochs": 1}, "--name", "stored", "--out", "s3://test/stored"))
    check(ended(client, name, "SUCCEEDED")["out"] == "s3://test/stored" and (there / "stored" / "run.json").exists(), "of several places the first writes at a store")
    name = name_in(client.launch("one:1,two:1,three:1", STEADY, "--name", "store-lost", "--out", "s3://test/store-lost"))
    out = root / "two" / "store-lost"
    launches.wait_for_steps(out, 7)
    lose(root / "one" / "store-lost")
    wait_for(lambda: sizes(out)[-1] == 2, lambda: f"{sizes(out)}\n{client.linac('logs', name)}\nthe others go on without it", 90, 0.1)
    client.wait_for("one:store-lost", "LOST", "FAILED")
    check("no folder there says where the others are" in client.linac("resume", "one:store-lost", status=2), "it does not come back, and the launch says why")
    standing = ended(client, name, "SUCCEEDED")
    check(standing["out"] == str(out) and "without one" in standing["reason"], f"where the record is, is told: {standing['out']}")
    launches.same_bits(root / "calm", out, "the place that writes at a store was lost")
    client.linac("artifacts", name, "--out", root / "fetched")
    left = [(root / site / "store-lost" / "metrics.jsonl").read_bytes() for site in ("two", "three")]
    check((root / "fetched" / "metrics.jsonl").read_bytes() in left, "and brought here")


def three_kinds(root: pathlib.Path, sites: dict, address: str) -> None:
    """Slurm, ssh and mpirun: a worker and a whole place are killed on the way, the place comes back; one local worker repeats the record."""
    with Slurm() as cluster, Sshd(["n01"]) as hosts:
        (root / "mixed").mkdir()
        steady = {"environment": elastic.steady(root)}
        farm = {"kind": "slurm", "folder": f"{root}/farm", "program": runs.LINAC, "partition": "main", "workers_per_node": 2, "notice": "5s"} | steady
        ssh = {"kind": "ssh", "folder": f"{root}/ssh", "program": runs.LINAC, "ssh": hosts.command, "hosts": ["n01"], "address": "127.0.0.1", "workers_per_host": 2} | steady
        client = Client(root / "mixed", sites | {"farm": farm, "ssh": ssh}, LINAC_RELAY=address, **cluster.environment)
        name = name_in(client.launch("ssh:2,farm:2,mpi:2", LARGE, "--name", "three", "--wait", "5m"))
        out = root / "ssh" / "three"
        launches.wait_for_steps(out, 7, 120)
        os.kill([int(line["members"][-1]["pid"]) for line in runs.lines_so_far(out) if line["kind"] == "view"][-1], signal.SIGKILL)
        wait_for(lambda: len(sizes(out)) > 1 and sizes(out)[-1] == 6, lambda: f"{sizes(out)}\n{client.linac('logs', name)}\na worker was lost and replaced", 90, 0.1)
        kill_all(f"{root}/farm")
        wait_for(lambda: sizes(out)[-1] == 4, lambda: f"{sizes(out)}\n{client.linac('logs', name)}\nthe farm is lost", 90, 0.1)
        client.wait_for("farm:three", "LOST", "FAILED", limit_s=120)
        client.linac("resume", "farm:three")
        wait_for(lambda: sizes(out)[-1] == 6, lambda: f"{sizes(out)}\n{client.linac('logs', name)}\nand back", 120, 0.1)
        ended(client, name, "SUCCEEDED")
        runs.run(root / "calm-large", LARGE, "--workers", "1")
        for place in ("ssh", "farm", "mpi"):
            launches.same_bits(root / "calm-large", root / place / "three", f"Slurm, ssh and mpirun: the record at {place}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--more", action="store_true", help="steps of all, mpirun, and three kinds of sites together")
    more = parser.parse_args().more
    with contextlib.ExitStack() as stack:
        root = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="linac-losses-", ignore_cleanup_errors=True)))
        relay = subprocess.Popen([runs.LINAC, "relay", "--listen", "127.0.0.1:0"], stdout=subprocess.PIPE, text=True, env=runs.environment())
        stack.callback(relay.wait, timeout=30)
        stack.callback(relay.terminate)
        address = relay.stdout.readline().strip().removeprefix("LINAC_RELAY=")
        steady = {"environment": elastic.steady(root)}
        sites = {name: {"kind": "local", "folder": f"{root}/{name}", "program": runs.LINAC} | steady for name in ("one", "two", "three")}
        user = ["--allow-run-as-root"] if os.geteuid() == 0 else []
        sites["mpi"] = {"kind": "mpi", "folder": f"{root}/mpi", "program": runs.LINAC, "arguments": ["--oversubscribe", *user]} | steady
        client = Client(root, sites, LINAC_RELAY=address)
        runs.run(root / "calm", STEADY, "--workers", "1")
        if more:
            rest(client, root, sites, address)
            return
        runs.run(root / "calm-apart", APART, "--workers", "1")
        comes_back(client, root, "apart", APART, "calm-apart")
        runs.run(root / "calm-first", SIX, "--workers", "1")
        first_lost(client, root)
        if Versitygw.available():
            with Versitygw() as store:
                own = {"environment": elastic.steady(root) | store.environment}
                at_a_store(Client(root, {name: site | own for name, site in sites.items()}, LINAC_RELAY=address, **store.environment), root, store)
        else:
            skipped("an object store", "no versitygw is installed", "tests/servers/get.sh versitygw")


def rest(client: Client, root: pathlib.Path, sites: dict, address: str) -> None:
    comes_back(client, root, "exact", STEADY, "calm")
    if shutil.which("mpirun"):
        runs.run(root / "calm-more", MORE, "--workers", "1")
        mpi(client, root)
    else:
        skipped("mpirun", "no Open MPI is installed", "tests/servers/get.sh openmpi")
    if shutil.which("mpirun") and Slurm.available() and Sshd.available():
        three_kinds(root, sites, address)
    else:
        skipped("Slurm, ssh and mpirun together", "one of them is not installed, or this user is not root", "tests/servers/get.sh slurm sshd openmpi")


if __name__ == "__main__":
    main()
