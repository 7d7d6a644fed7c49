#!/usr/bin/env python3
"""What audits (train.audit) find and cost: bench/audit.py [--liars 40] [--steps 1500] [--rounds 5] [--cost-steps 700] [--before LINAC]

Real workers train the topology classifier, with short lists, and each step is audited. Liars: three workers, of which one turns a bit over in
the gradients that it computes, or one in its memory of the weights, behind a step that is another one each time, and with it the bit. Told is
who was named and in which step, and whether the run has ended with the bits of an honest one. Honest: three workers, and what is named of all
that was audited. Cost: a step of two workers, without the setting, at a rate of 0 and of 0.01, in turns; who begins changes from round to round.
The first two are the same thing, so they say what this machine can tell apart; with --before the first is another build, from before there
were audits. Writes bench/results/DATE-audit.md."""

import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import network
import turns
from lib import runs
from lib.elastic import CLASSIFIER, same_losses
from store import store

JOB = {**CLASSIFIER, "train.epochs": 1000, "data.test": "[]", "data.validation_split": 0, "checkpoint.best_by": "loss", "checkpoint.every_epochs": 0,
       "checkpoint.every_minutes": 1000}
LIARS = 3  # workers of a run, one of which lies
LIE_STEPS = 30
AUDITED = {"train.audit.rate": 1}
# Many replicas of few events: more of them in the same time.
MANY = {"train.replicas": 32, "train.batch": 2}


def audits(out: pathlib.Path) -> list[dict]:
    return [line for line in runs.lines(out) if line["kind"] == "audit"]


def first_pids(out: pathlib.Path) -> list[int]:
    return next([one["pid"] for one in line["members"]] for line in runs.lines(out) if line["kind"] == "view")


def trained(out: pathlib.Path, settings: dict, workers: int) -> int:
    """Its exit status."""
    words = runs.arguments(out, JOB | settings, "--workers", str(workers))
    return subprocess.run(words, cwd=runs.ROOT, env=runs.environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode


def lie(folder: pathlib.Path, calm: pathlib.Path, number: int) -> dict:
    """A run with a liar. `late`: steps between the fault and its finding; none where nobody was named."""
    where, worker, step = ("gradient", "weights")[number % 2], number // 2 % LIARS, 1 + number // 2 % (LIE_STEPS - 2)
    out = folder / f"lie-{number}"
    fault = {"train.audit.fault.in": where, "train.audit.fault.worker": worker, "train.audit.fault.step": step}
    status = trained(out, AUDITED | fault | {"train.max_steps": LIE_STEPS}, LIARS)
    found, pids = audits(out), first_pids(out)
    named = [one["pid"] for line in found for one in line["wrong"] + line["suspects"]]
    return {"where": where, "worker": worker, "step": step, "status": status, "late": found[0]["global_step"] - step if found else None,
            "named_right": named == [pids[worker]], "named_falsely": sum(pid != pids[worker] for pid in named),
            "honest_bits": status == 0 and same_losses(calm, out) and runs.tensors(calm) == runs.tensors(out)}


def honest(folder: pathlib.Path, steps: int) -> dict:
    begin = time.monotonic()
    if trained(folder / "honest", MANY | AUDITED | {"train.max_steps": steps}, LIARS) != 0:
        sys.exit("a run of honest workers has failed")
    return {"steps": steps, "replicas": steps * MANY["train.replicas"], "named": len(audits(folder / "honest")), "wall_s": time.monotonic() - begin}


def cost(out: pathlib.Path, variant: dict, steps: int, program: str) -> dict:
    """Milliseconds of a step by the clock, and of the processors over both workers."""
    runs.LINAC = program
    if trained(out, variant | {"train.max_steps": steps}, 2) != 0:
        sys.exit(f"{program} has failed with {variant}")
    workers = json.loads((out / "run.json").read_text())["time_by_worker"]
    cpu = sum(one["phases"][phase]["cpu_s"] for one in workers for phase in ("compute", "communication", "update"))
    return {"step_ms": 1e3 * max(one["steps"]["wall_s"] for one in workers) / steps, "step_cpu_ms": 1e3 * cpu / steps}


def costs(folder: pathlib.Path, options: argparse.Namespace) -> list[dict]:
    here = runs.LINAC
    variants = {"no audit": ({}, options.before or here), "rate 0": ({"train.audit.rate": 0}, here), "rate 0.01": ({"train.audit.rate": 0.01}, here)}
    rounds = []
    for number in range(options.rounds):
        order = list(variants) if number % 2 == 0 else list(reversed(variants))
        found = {name: cost(folder / f"cost-{number}-{order.index(name)}", variants[name][0], options.cost_steps, variants[name][1]) for name in order}
        rounds.append({name: found[name] for name in variants})
        network.say(f"round {number + 1}: {rounds[-1]}")
    runs.LINAC = here
    return rounds


def page(result: dict) -> str:
    lies, calm, rounds = result["liars"], result["honest"], result["cost"]
    lines = turns.heading("Audits", result)
    lines += ["## What is found", "Three workers, each step audited, one of them lies from a step on.", "",
              "| a bit turns over | runs | named, and no other | in the same step | named falsely | the bits of an honest run |", "|---|---|---|---|---|---|"]
    for where, text in (("gradient", "in each gradient that the liar computes"), ("weights", "once, in the liar's memory of the weights")):
        of = [one for one in lies if one["where"] == where]
        lines.append(f"| {text} | {len(of)} | {sum(one['named_right'] for one in of)} | {sum(one['late'] == 0 for one in of)} | "
                     f"{sum(one['named_falsely'] for one in of)} | {sum(one['honest_bits'] for one in of)} |")
    for one in lies:
        if one["late"] != 0:
            lines += ["", f"Not in the same step: {one}"]
    lines += ["", f"Of honest workers {calm['replicas']:,} replicas were audited in {calm['steps']:,} steps ({calm['wall_s']:.0f} s): {calm['named']} times "
              "somebody was named.", "", "## What it costs",
              f"Two workers, steps of the smallest kind. Median (minimum) of {len(rounds)} rounds, milliseconds of a step; ratios round by round, least to most.", "",
              "| | by the clock | to no audit | of CPU, both workers | to no audit |", "|---|---|---|---|---|"]
    for name in rounds[0]:
        cells = []
        for figure in ("step_ms", "step_cpu_ms"):
            values = [one[name][figure] for one in rounds]
            ratios = [one[name][figure] / one["no audit"][figure] for one in rounds]
            cells += [f"{statistics.median(values):.2f} ({min(values):.2f})", f"{statistics.median(ratios):.3f} ({min(ratios):.3f} to {max(ratios):.3f})"]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--liars", type=int, default=40, help="runs with one, by turns in the gradients and in the weights")
    parser.add_argument("--steps", type=int, default=1500, help="of honest workers")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--cost-steps", type=int, default=700, help="of a run of which a step's cost is told")
    parser.add_argument("--before", help="a build from before audits")
    options = parser.parse_args()
    result = {**network.provenance("bench/audit.py"), "before": None, "others_cores": network.busy_cores()}
    with tempfile.TemporaryDirectory(prefix="linac-bench-audit-") as text:
        folder = pathlib.Path(text)
        result["cost"] = costs(folder, options)
        result["honest"] = honest(folder, options.steps)
        network.say(f"honest: {result['honest']}")
        trained(folder / "calm", {"train.max_steps": LIE_STEPS}, 1)
        result["liars"] = [lie(folder, folder / "calm", number) for number in range(options.liars)]
    store(result, "audit", page(result))


if __name__ == "__main__":
    main()
