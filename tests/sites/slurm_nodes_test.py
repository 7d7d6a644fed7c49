#!/usr/bin/env python3
"""Nodes of a cluster with Slurm are lost at random moments, with all that runs on them, and come back after some seconds: a run of 2 to 4 workers
ends with the bits of an undisturbed one, each step once in its record. The last one is back before Slurm has
missed it. `--kills N` (3), `--seed N`. Exit 77 where there is no Slurm."""

import argparse
import pathlib
import random
import sys
import tempfile

from lib import launches, runs
from lib.checks import check
from lib.launches import Client, name_in
from lib.servers.slurm import Slurm
from lib.slurm_nodes import NODES, SETTINGS, lose_nodes, site


def lose_workers(cluster: Slurm) -> None:
    """Of a node that has not the job's script, back at once: srun waits for them in vain."""
    script = cluster.ask("scontrol", "show", "job", "--oneliner").partition("BatchHost=")[2].split()[0]
    node = next(name for name in cluster.names if name != script)
    cluster.lose(node)
    cluster.bring(node)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--kills", type=int, default=3)
    parser.add_argument("--epochs", type=int, default=SETTINGS["train.epochs"])
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    options = parser.parse_args()
    if not Slurm.available():
        print("skipped: no Slurm (tests/servers/get.sh slurm, as root)")
        sys.exit(77)
    print(f"--seed {options.seed}")
    settings = SETTINGS | {"train.epochs": options.epochs}
    with tempfile.TemporaryDirectory(prefix="linac-nodes-", ignore_cleanup_errors=True) as folder, Slurm(NODES) as cluster:
        root = pathlib.Path(folder)
        client = Client(root, {"farm": site(root)}, **cluster.environment)
        name = name_in(client.launch("farm", settings, "--workers", f"2:{NODES}"))
        out = root / "site" / name.split(":")[1]
        launches.wait_for_steps(out, 3)
        done = lose_nodes(cluster, client, name, out, options.kills, random.Random(options.seed))
        check(len(done) == options.kills, f"{len(done)} nodes were lost: {done}")
        launches.wait_for_steps(out, runs.steps_so_far(out) + 3, limit_s=240)
        lose_workers(cluster)
        end = client.wait_for(name, "SUCCEEDED", "FAILED", "LOST", "CANCELLED", limit_s=400)
        check(end["state"] == "SUCCEEDED", "the run comes to its end")
        runs.run(root / "calm", settings, "--workers", "2")
        launches.same_bits(root / "calm", out, f"{len(done)} nodes lost")
        log = client.linac("logs", name)
        check("srun waits for one still" in log, "and the job did not wait for workers that are gone")
        print(f"{log.count('back into the queue')} times back into the queue, {log.count('resuming from')} resumes")


if __name__ == "__main__":
    main()
