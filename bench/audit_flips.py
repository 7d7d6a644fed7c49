#!/usr/bin/env python3
"""Many liars a run: bench/audit_flips.py [--flips 1000] [--workers 23] [--liars 20] [--late 60] [--late-liars 6] [--rate 0.2]

Workers of one run train the topology classifier, with short lists. `--liars` of them lie, each from a step of its own on, and which they are, when
and with which bit follows from the run's number. Flips: each step is audited, and from its step on a liar turns over a bit in each gradient that
it computes, or (every second liar) once in its memory of the weights, behind whatever else it holds. Told is who was named, in which step, and
whether the run has ended with the bits of one worker that is honest. Late: the same in the memory of the weights alone, with a share `--rate` of
the steps audited: how many steps pass until the liar is named. Writes bench/results/DATE-audit-flips.md."""

import argparse
import pathlib
import random
import socket
import statistics
import subprocess
import tempfile
import time

import network
import turns
from audit import JOB, audits, first_pids
from lib import runs
from lib.elastic import same_losses
from store import store

# A replica a worker, and few events: what is counted are flips.
MANY = {"train.replicas": 24, "train.batch": 2, "train.threads": 1}
APART = 35  # steps between two flips of which the first may be found late
LIMIT_S = 300


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def trained(out: pathlib.Path, settings: dict, faults: dict[int, dict]) -> list[int]:
    """Exit statuses of the workers, each with a fault of its own; `faults` has those of all."""
    port, started = free_port(), []
    for rank, fault in sorted(faults.items()):
        words = runs.arguments(out, JOB | settings | fault, "--workers", str(len(faults)))
        log = open(f"{out}.{rank}.log", "wb")
        started.append(subprocess.Popen(words, cwd=runs.ROOT, env=runs.environment(**runs.placed(rank, len(faults), port)), stdout=log, stderr=log))
        log.close()
    end = time.monotonic() + LIMIT_S
    statuses = []
    for one in started:
        try:
            statuses.append(one.wait(timeout=max(1, end - time.monotonic())))
        except subprocess.TimeoutExpired:
            one.kill()
            statuses.append(-1)
    return statuses


def drawn(number: int, places: tuple, steps: list[int], of: int) -> list[dict]:
    """A liar for each of `steps`."""
    draw = random.Random(number)
    workers = draw.sample(range(of), len(steps))
    return [{"worker": worker, "in": places[i % len(places)], "step": step} for i, (worker, step) in enumerate(zip(workers, steps))]


def run(folder: pathlib.Path, number: int, liars: list[dict], workers: int, rate: float, steps: int) -> dict:
    settings = MANY | {"train.seed": 1000 + number, "train.max_steps": steps}
    faults: dict[int, dict] = {rank: {} for rank in range(workers)}
    for one in liars:
        faults[one["worker"]] = {f"train.audit.fault.{key}": value for key, value in one.items()}
    out, calm = folder / f"run-{number}", folder / f"calm-{number}"
    statuses = trained(out, settings | {"train.audit.rate": rate}, faults)
    honest_statuses = [status for rank, status in enumerate(statuses) if not faults[rank]]
    trained(calm, settings, {0: {}})
    lines, pids = audits(out), first_pids(out)
    result = {"workers": workers, "liars": len(liars), "suspects": sum(len(line["suspects"]) for line in lines), "flips": [],
              "named_falsely": sum(pid not in [pids[one["worker"]] for one in liars] for line in lines for pid in (m["pid"] for m in line["wrong"])),
              "ended": all(status == 0 for status in honest_statuses)}
    for one in liars:
        named = [line["global_step"] for line in lines if pids[one["worker"]] in [member["pid"] for member in line["wrong"]]]
        result["flips"].append({"in": one["in"], "found": bool(named), "steps_until": named[0] - one["step"] if named else None,
                                "named_early": bool(named) and named[0] < one["step"]})
    result["honest_bits"] = result["ended"] and same_losses(calm, out) and runs.tensors(calm) == runs.tensors(out)
    return result


def some_runs(folder: pathlib.Path, name: str, count: int, liars: int, workers: int, places: tuple, rate: float, apart: int) -> list[dict]:
    all_runs: list[dict] = []
    begin = time.monotonic()
    (folder / name).mkdir()
    while sum(one["liars"] for one in all_runs) < count:
        number = len(all_runs)
        here = min(liars, count - sum(one["liars"] for one in all_runs))
        steps = [1 + apart * i for i in range(here)]
        all_runs.append(run(folder / name, number, drawn(number, places, steps, workers), workers, rate, steps[-1] + apart + 2))
        flips = [flip for one in all_runs for flip in one["flips"]]
        network.say(f"{name}: {len(flips)} flips, {sum(flip['found'] for flip in flips)} found, {time.monotonic() - begin:.0f} s; bits {all_runs[-1]['honest_bits']}")
    return all_runs


def figures(all_runs: list[dict], where: str | None = None) -> dict:
    flips = [flip for one in all_runs for flip in one["flips"] if where in (None, flip["in"])]
    until = sorted(flip["steps_until"] for flip in flips if flip["found"])
    return {"flips": len(flips), "found": len(until), "in_the_same_step": sum(steps == 0 for steps in until), "before": sum(flip["named_early"] for flip in flips),
            "steps_median": statistics.median(until), "steps_most": max(until)}


def page(result: dict) -> str:
    flips, late = result["flips"], result["late"]
    lines = turns.heading("Audits: many flips", result)
    lines += ["## Each step is audited",
              f"{flips['workers']} workers a run, up to {flips['liars_a_run']} of which lie, each from a step of its own on; {flips['runs']} runs, {flips['wall_s']:.0f} s.", "",
              "| a bit turns over | flips | found, and the right worker named | in the same step |", "|---|---|---|---|"]
    for where, text in (("gradient", "in each gradient that the liar computes"), ("weights", "once, in the liar's memory of the weights")):
        of = flips[where]
        lines.append(f"| {text} | {of['flips']} | {of['found']} | {of['in_the_same_step']} |")
    lines += ["", f"Named falsely: {flips['named_falsely']}; suspects: {flips['suspects']}. Runs that ended with the bits of one honest worker: {flips['honest_bits']} of "
              f"{flips['runs']}, of those with {flips['liars_a_run']} liars {flips['honest_bits_full']} of {flips['runs_full']}.",
              "", f"## A share of {late['rate']} of the steps is audited",
              f"{late['workers']} workers a run, {late['liars_a_run']} of which lie, {APART} steps apart; {late['runs']} runs. A bit turns over once, in the liar's memory of the "
              "weights.", "", "| flips | found, and the right worker named | steps until then: median | most | within 10 | within 20 | within 30 |", "|---|---|---|---|---|---|---|"]
    within = " | ".join(str(late["within"][str(steps)]) for steps in (10, 20, 30))
    lines += [f"| {late['all']['flips']} | {late['all']['found']} | {late['all']['steps_median']:g} | {late['all']['steps_most']} | {within} |", "",
              f"Named falsely: {late['named_falsely']}; suspects: {late['suspects']}. Runs that ended with the bits of one honest worker: {late['honest_bits']} of {late['runs']}."]
    return "\n".join(lines) + "\n"


def summed(all_runs: list[dict], liars: int) -> dict:
    full = [one for one in all_runs if one["liars"] == liars]
    return {"workers": all_runs[0]["workers"], "liars_a_run": liars, "runs": len(all_runs), "runs_full": len(full), "all": figures(all_runs),
            "named_falsely": sum(one["named_falsely"] for one in all_runs), "suspects": sum(one["suspects"] for one in all_runs),
            "honest_bits": sum(one["honest_bits"] for one in all_runs), "honest_bits_full": sum(one["honest_bits"] for one in full)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--flips", type=int, default=1000)
    parser.add_argument("--workers", type=int, default=23)
    parser.add_argument("--liars", type=int, default=20, help="of a run's workers")
    parser.add_argument("--late", type=int, default=60, help="flips where some steps are audited")
    parser.add_argument("--late-liars", type=int, default=6, help="of a run, with three honest workers")
    parser.add_argument("--rate", type=float, default=0.2, help="share of the steps that are audited there")
    options = parser.parse_args()
    if options.workers < options.liars + 3:
        parser.error("--workers: three of them have to be honest")
    result = {**network.provenance("bench/audit_flips.py"), "before": None, "others_cores": network.busy_cores()}
    with tempfile.TemporaryDirectory(prefix="linac-bench-flips-") as text:
        folder = pathlib.Path(text)
        begin = time.monotonic()
        flips = some_runs(folder, "flips", options.flips, options.liars, options.workers, ("gradient", "weights"), 1, 1)
        result["flips"] = {**summed(flips, options.liars), "wall_s": time.monotonic() - begin, **{where: figures(flips, where) for where in ("gradient", "weights")}}
        late = some_runs(folder, "late", options.late, options.late_liars, options.late_liars + 3, ("weights",), options.rate, APART)
        until = [flip["steps_until"] for one in late for flip in one["flips"] if flip["found"]]
        result["late"] = {**summed(late, options.late_liars), "rate": options.rate, "steps_until": until,
                          "within": {str(steps): sum(value <= steps for value in until) for steps in (10, 20, 30)}}
    store(result, "audit-flips", page(result))


if __name__ == "__main__":
    main()
