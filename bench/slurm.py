#!/usr/bin/env python3
"""What a cluster with Slurm adds to a training, on a real one of this host:
how long it takes from `linac launch` to the first step, beyond what `linac train` itself takes, in turns; and what nodes that are lost at random
moments, with all that runs on them, take from a run of 2 to 4 workers.

  bench/slurm.py [--parts starts,losses] [--rounds 5] [--kills 10] [--epochs 100] [--seed 1]

Needs root, tests/servers/get.sh slurm and build/release. Writes bench/results/DATE-slurm-PART.md."""

import argparse
import pathlib
import random
import statistics
import tempfile
import time

import network
from lib import launches, runs
from lib import slurm_nodes as nodes
from lib.runs import ROOT
from lib.servers.slurm import Slurm
from store import store

TWO = {"job": "examples/topology.yaml", "train.replicas": 2, "train.max_steps": 20, "data.test": "[]", "checkpoint.best_by": "loss"}


def first_step(out: pathlib.Path, begin: float) -> float:
    launches.wait_for_steps(out, 1, limit_s=120, pause_s=0.005)
    return time.monotonic() - begin


def starts(root: pathlib.Path, options: argparse.Namespace) -> list[dict]:
    """Who begins changes from round to round."""
    found = []
    with Slurm() as cluster:
        client = launches.Client(root, {"farm": nodes.site(root) | {"workers_per_node": 2}}, **cluster.environment)

        def launched(number: int) -> float:
            begin = time.monotonic()
            name = launches.name_in(client.launch("farm", TWO, "--workers", "2", "--name", f"start-{number}"))
            took = first_step(root / "site" / f"start-{number}", begin)
            client.wait_for(name, "SUCCEEDED")
            return took

        def direct(number: int) -> float:
            begin = time.monotonic()
            process = runs.start(root / f"direct-{number}", TWO, "--workers", "2")
            took = first_step(root / f"direct-{number}", begin)
            process.wait()
            return took

        for number in range(options.rounds):
            order = [("launch", launched), ("train", direct)]
            values = {name: measure(number) for name, measure in (order if number % 2 == 0 else reversed(order))}
            found.append(values | {"beyond": values["launch"] - values["train"]})
            network.say(f"round {number + 1}: {found[-1]}")
    return found


def losses(root: pathlib.Path, options: argparse.Namespace) -> dict:
    settings = nodes.SETTINGS | {"train.epochs": options.epochs}
    with Slurm(nodes.NODES) as cluster:
        client = launches.Client(root, {"farm": nodes.site(root)}, **cluster.environment)
        name = launches.name_in(client.launch("farm", settings, "--workers", f"2:{nodes.NODES}", "--name", "lossy"))
        out = root / "site" / "lossy"
        launches.wait_for_steps(out, 3)
        begin = time.monotonic()
        lost = nodes.lose_nodes(cluster, client, name, out, options.kills, random.Random(options.seed))
        took = time.monotonic() - begin
        state = client.wait_for(name, "SUCCEEDED", "FAILED", "LOST", "CANCELLED", limit_s=400)["state"]
        log = client.linac("logs", name)
    calm = root / "calm"
    runs.run(calm, settings, "--workers", "2")
    return {"lost": lost, "seconds": took, "state": state, "same_bits": runs.tensors(calm) == runs.tensors(out) and runs.losses(calm) == runs.losses(out),
            "steps": runs.steps_so_far(calm), "steps_in_record": runs.steps_so_far(out), "resumes": log.count("resuming from")}


TITLES = {"starts": "from the launch to the first step", "losses": "nodes that are lost"}


def markdown(result: dict) -> str:
    lines = ["# Launches under Slurm: " + TITLES[next(part for part in TITLES if part in result)],
             f"{result['date']}, {result['cpu']}, {result['cores']} cores, commit {result['commit']}; other programs took "
             f"{result['others_cores']:.2f} cores at the start. `{result['command']}`. Slurm 22.05 and linac on the same cores.", ""]
    if starts := result.get("starts"):
        lines += [f"From the command to the first step that is written down, seconds; {len(starts)} rounds in turns, a Slurm without other jobs, two workers.",
                  "", "| | median | minimum | maximum |", "|---|---|---|---|"]
        for name, words in (("launch", "`linac launch`"), ("train", "`linac train` on the same host"), ("beyond", "the difference within a round (bar: 3)")):
            values = [one[name] for one in starts]
            lines.append(f"| {words} | {statistics.median(values):.2f} | {min(values):.2f} | {max(values):.2f} |")
        if result["others_cores"] > 0.2:
            lines += ["", "The machine was not idle: a difference of a second is noise."]
    if lost := result.get("losses"):
        lines += [f"Of four nodes, {len(lost['lost'])} were lost at random moments within {lost['seconds']:.0f} s, `slurmd` and all that it had started by "
                  "SIGKILL, and brought back after one to four seconds, while a run of 2:4 workers trained.", "",
                  f"- The run ended {lost['state']}, {'with the bits' if lost['same_bits'] else 'NOT with the bits'} of an undisturbed one.",
                  f"- Its record has {lost['steps_in_record']} steps, that of the undisturbed one {lost['steps']}: {lost['steps'] - lost['steps_in_record']} lost.",
                  f"- {lost['resumes']} times it began again from a checkpoint, and steps behind that were done once more: the node of the job's script was "
                  "lost, or more than two workers were. Else the others went on."]
    return "\n".join(lines) + "\n"


PARTS = {"starts": starts, "losses": losses}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parts", default=",".join(PARTS))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--epochs", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    runs.LINAC = str(ROOT / "build/release/bin/linac")
    for part in options.parts.split(","):
        with tempfile.TemporaryDirectory(prefix="linac-slurm-bench-", ignore_cleanup_errors=True) as folder:
            result = {**network.provenance("bench/slurm.py"), "others_cores": network.busy_cores()}
            result[part] = PARTS[part](pathlib.Path(folder), options)
        store(result, f"slurm-{part}", markdown(result))


if __name__ == "__main__":
    main()
