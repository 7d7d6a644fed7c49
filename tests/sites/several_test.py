#!/usr/bin/env python3
"""One training over several sites, whose workers meet by a relay: hosts behind ssh, and a farm. It has the bits of a run here, in steps of all
and in rounds of groups that train apart, also where a site is lost in its midst; it is told, counted, cancelled, resumed and refused as one
launch. Exit 77 where there is no sshd."""

import contextlib
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile

from lib import elastic, launches, runs
from lib.checks import check, wait_for
from lib.launches import Client, name_in
from lib.ports import free_port
from lib.servers.slurm import Slurm
from lib.servers.sshd import Sshd
from lib.skips import skipped

BOTH = "one:2,two:1"
# Of steps that have a length of their own at each site: one is lost in their midst, and they compute little while others are waited for.
SETTINGS, LONG = launches.SETTINGS, launches.LONG
STEADY = elastic.CLASSIFIER | {"train.replicas": 4, "train.epochs": 6, "distribution.stall_timeout_s": 6}
APART = SETTINGS | {"train.sync.mode": "local", "train.sync.groups": 2, "train.sync.every": 3}


def ended(client: Client, name: str, state: str) -> dict:
    standing = client.wait_for(name, "SUCCEEDED", "CANCELLED", "FAILED", "LOST")
    if standing["state"] != state:
        print(json.dumps(standing, indent=1), client.linac("logs", name), sep="\n")
    check(standing["state"] == state, f"{name} is {state}")
    return standing


def refused(client: Client, root: pathlib.Path) -> None:
    for on, why in (("one:2,two", "with their workers"), ("one:1,one:1", "comes twice"), ("one:0,two:1", "from 1 to"), ("one:2,two:1:2", "workers_min"),
                    ("one:2,two:3", "for train.replicas"), ("one:1,three:1", "no site")):
        check(why in client.launch(on, SETTINGS, status=2), f"--on {on} is refused: {why}")
    check("--relay" in client.launch(BOTH, SETTINGS, status=2, LINAC_RELAY=""), "several sites without a relay are refused")
    check("HOST:PORT" in client.launch(BOTH, SETTINGS, "--relay", "nowhere", status=2), "and an address that is none")
    check("several sites" in client.launch("one:1", SETTINGS, "--relay", "here:1", status=2), "one site needs none")
    said = client.launch(BOTH, SETTINGS, "--relay", f"127.0.0.1:{free_port()}", status=4)
    check("not reached from n01" in said and "nothing was started" in said, "a relay that a site does not reach is told")
    said = client.launch(BOTH, SETTINGS, "--dry-run").replace("'", "")
    check("LINAC_GROUP=two\n" in said and "LINAC_GROUPS=one:2,two:1\n" in said, "a dry run shows the parts")
    check(not list(root.glob("*/*/launch")) and "nothing was launched" in client.linac("status", "one:"), "and all that does nothing")


def together(client: Client, root: pathlib.Path) -> None:
    metered = SETTINGS | {"budget.watts": 77}
    name = name_in(client.launch(BOTH, metered, "--name", "together"))
    check(name == "one+two:together", f"it has a name of its own: {name}")
    said = client.linac("logs", "-f", name)
    check("[one] " in said and "[two] " in said, "its log is that of all")
    standing = ended(client, name, "SUCCEEDED")
    check(standing["workers"] == 3 and [part["state"] for part in standing["parts"]] == ["SUCCEEDED"] * 2, "it comes to its end at both")
    for site in ("one", "two"):
        launches.same_bits(root / "calm", root / site / "together", f"the part at {site}")
    said = client.launch(BOTH, metered, "--name", "together")
    check(said.count("as it was launched before") == 2, "the same launch again starts nothing")
    report = json.loads(client.linac("report", name, "--price", "1000", "--out", root / "report", "--json"))
    hours = sum(worker["s"] for worker in report["workers"]) / 3600
    check(len(report["workers"]) == 3 and abs(report["cost"]["eur"] - 1000 * hours) < 1e-3, "its hours and its money are those of all workers")
    kwh = 77 * report["wall_s"] / 3.6e6  # of this host, which both sites are
    check(0 < report["energy"]["model_kwh"] < 3 * kwh, "and a machine's energy counts once")
    client.linac("artifacts", name, "--out", root / "fetched")
    records = [(root / site / "together" / "metrics.jsonl").read_bytes() for site in ("one", "two")]
    check((root / "fetched" / "metrics.jsonl").read_bytes() == max(records, key=len), "the longest record comes here")


def apart(client: Client, root: pathlib.Path) -> None:
    runs.run(root / "calm-apart", APART, "--workers", "1")
    name = name_in(client.launch("here:2,two:1", APART, "--name", "apart", "--follow"))
    ended(client, name, "SUCCEEDED")
    launches.same_bits(root / "calm-apart", root / "two" / "apart", "groups that train apart, at two sites")


def cancelled(client: Client, root: pathlib.Path) -> None:
    name = name_in(client.launch(BOTH, LONG, "--name", "stopped"))
    launches.wait_for_steps(root / "two" / "stopped", 6)
    launches.no_secret_is_told(client, root / "one")
    check("two is RUNNING" in client.linac("resume", name, status=2) or "one is RUNNING" in client.linac("resume", name, status=2), "what runs is not resumed")
    client.linac("cancel", name)
    ended(client, name, "CANCELLED")
    steps = runs.steps_so_far(root / "two" / "stopped")
    check("resume one+two:stopped" in client.linac("resume", "two:stopped", status=2), "a part alone is not resumed")
    client.linac("resume", name)
    launches.wait_for_steps(root / "two" / "stopped", steps + 4)
    check(client.standing(name)["state"] == "RUNNING", "resumed, both go on")
    client.linac("cancel", "two:stopped")
    standing = ended(client, name, "CANCELLED")
    check(all(part["state"] == "CANCELLED" for part in standing["parts"]), "a part that is cancelled stops all, after a checkpoint")
    check(not launches.processes_with(f"{root}/one") and not launches.processes_with(f"{root}/two"), "and no process is left")


def elastic_within(client: Client, root: pathlib.Path) -> None:
    """Workers of a site come and go as those of a launch of its own."""
    name = name_in(client.launch("two:1,here:2", STEADY, "--name", "elastic"))
    out = root / "here" / "elastic"
    launches.wait_for_steps(out, 6)
    views = lambda: [{member["pid"] for member in line["members"]} for line in runs.lines_so_far(out) if line["kind"] == "view"]
    killed = [line for line in runs.lines_so_far(out) if line["kind"] == "view"][-1]["members"][-1]["pid"]
    os.kill(killed, signal.SIGKILL)
    wait_for(lambda: len(views()[-1] - {killed}) == 3, lambda: f"{client.linac('logs', name)}\n{views()}: a worker that is lost is replaced at its site", 60, 0.05)
    ended(client, name, "SUCCEEDED")
    launches.same_bits(root / "steady", root / "two" / "elastic", "a worker was lost and replaced")


def lost(client: Client, root: pathlib.Path) -> None:
    """The site of rank 0 is gone at once."""
    name = name_in(client.launch("slow:1,two:2", STEADY, "--name", "lost"))
    launches.wait_for_steps(root / "slow" / "lost", 8)
    os.killpg(int((root / "slow" / "lost" / "launch" / "pid-0").read_text()), signal.SIGKILL)
    standing = ended(client, name, "SUCCEEDED")
    check("without slow, which is LOST" in standing["reason"], f"it is told: {standing['reason']}")
    launches.same_bits(root / "steady", root / "two" / "lost", "a site was lost")
    report = json.loads(client.linac("report", name, "--price", "1000", "--out", root / "report", "--json"))
    check(len(report["workers"]) == 3 and report["steps"]["missing"] == 0, "the books are whole, of those who are left")


def not_all_come(client: Client, root: pathlib.Path) -> None:
    name = name_in(client.launch("one:2,idle:1", SETTINGS, "--name", "alone", "--wait", "3s", "--no-check"))
    client.wait_for("one:alone", "LOST", "FAILED")
    said = client.linac("logs", name)
    check("2 did not join within 3.0 s" in said and "reach the relay" in said, "who waits in vain for another site says so")
    client.linac("cancel", name)
    client.wait_for(name, "CANCELLED", "LOST", "FAILED")


def farm(root: pathlib.Path, sites: dict, address: str) -> None:
    with Slurm() as cluster:
        (root / "mixed").mkdir()
        place = {"kind": "slurm", "folder": f"{root}/farm", "program": runs.LINAC, "partition": "main", "workers_per_node": 2, "notice": "5s"}
        client = Client(root / "mixed", sites | {"farm": place}, LINAC_RELAY=address, **cluster.environment)
        name = name_in(client.launch("two:1,farm:2", SETTINGS, "--name", "mixed", "--wait", "5m"))
        client.linac("logs", "-f", name)
        ended(client, name, "SUCCEEDED")
        launches.same_bits(root / "calm", root / "farm" / "mixed", "ssh and Slurm")
        check("together" not in client.linac("status", "farm:") and "mixed" in client.linac("status", "farm:"), "the farm lists its part")


def main() -> None:
    if not Sshd.available():
        print("skipped: no sshd (tests/servers/get.sh sshd)")
        sys.exit(77)
    with contextlib.ExitStack() as stack:
        root = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="linac-several-", ignore_cleanup_errors=True)))
        hosts = stack.enter_context(Sshd(["n01", "n02"]))
        relay = subprocess.Popen([runs.LINAC, "relay", "--listen", "127.0.0.1:0"], stdout=subprocess.PIPE, text=True, env=runs.environment())
        stack.callback(relay.wait, timeout=30)
        stack.callback(relay.terminate)
        address = relay.stdout.readline().strip().removeprefix("LINAC_RELAY=")
        sites = {name: {"kind": "ssh", "folder": f"{root}/{name}", "program": runs.LINAC, "ssh": hosts.command, "hosts": [host], "address": "127.0.0.1",
                        "workers_per_host": 3, "environment": elastic.steady(root)} for name, host in (("one", "n01"), ("two", "n02"), ("slow", "n01"), ("idle", "n02"))}
        (root / "idle.sh").write_text("#!/bin/sh\nexec sleep 600\n")
        (root / "idle.sh").chmod(0o755)
        sites["idle"]["program"] = f"{root}/idle.sh"
        sites["here"] = {"kind": "local", "folder": f"{root}/here", "program": runs.LINAC, "environment": elastic.steady(root)}
        client = Client(root, sites, LINAC_RELAY=address)
        refused(client, root)
        runs.run(root / "calm", SETTINGS, "--workers", "1")
        together(client, root)
        apart(client, root)
        cancelled(client, root)
        runs.run(root / "steady", STEADY, "--workers", "1")
        elastic_within(client, root)
        lost(client, root)
        not_all_come(client, root)
        if Slurm.available():
            farm(root, sites, address)
        else:
            skipped("Slurm", "none is installed, or this user is not root", "tests/servers/get.sh slurm")
        hosts.stop("n02")
        said = client.launch(BOTH, LONG, "--name", "half", status=4)
        check("n02" in said and not launches.processes_with(f"{root}/one"), "where one site is not reached, nothing is started")
        said = client.launch(BOTH, LONG, "--name", "half", "--no-check", status=4)
        check("n02" in said and client.wait_for("one:half", "CANCELLED", "LOST")["state"] != "RUNNING", "or what was started is cancelled")


if __name__ == "__main__":
    main()
