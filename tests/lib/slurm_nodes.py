"""A run on the nodes of a Slurm that are lost at random moments."""

import pathlib
import random
import time

from . import elastic, launches, runs
from .checks import check
from .launches import Client
from .servers.slurm import Slurm

NODES = 4
SETTINGS = launches.SETTINGS | {"train.epochs": 40, "checkpoint.every_steps": 20, "checkpoint.keep": 2, "distribution.stall_timeout_s": 30}


def site(root: pathlib.Path) -> dict:
    return {"kind": "slurm", "folder": f"{root}/site", "program": runs.LINAC, "partition": "main", "workers_per_node": 1, "notice": "5s", "requeue": 100,
            "environment": elastic.steady(root, step_ms=30) | {"MASTER_ADDR": "127.0.0.1"}}  # no name server knows the nodes


def lose_nodes(cluster: Slurm, client: Client, name: str, out: pathlib.Path, kills: int, dice: random.Random) -> list[dict]:
    """Kills so many, each with a step done since the last one, unless the run has come to its end; the one of the job's script among them."""
    done = []
    while len(done) < kills:
        before, limit = runs.steps_so_far(out), time.monotonic() + 240
        while runs.steps_so_far(out) < before + 3 and client.standing(name)["state"] not in ("SUCCEEDED", "FAILED", "LOST", "CANCELLED"):
            check(time.monotonic() < limit, "the run goes on between two losses") if time.monotonic() > limit else time.sleep(0.1)
        standing = client.standing(name)
        if standing["state"] != "RUNNING":
            if standing["state"] == "PENDING":
                continue
            print(f"after {len(done)} losses: {standing}", flush=True)
            return done
        time.sleep(dice.uniform(0, 2))
        node = dice.choice([node for node in cluster.names if node in cluster.daemons])
        cluster.lose(node)
        done.append({"node": node, "step": runs.steps_so_far(out)})
        time.sleep(dice.uniform(1, 4))
        cluster.bring(node)
    return done
