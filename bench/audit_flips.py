#!/usr/bin/env python3
"""Many liars a run: bench/audit_flips.py [--flips 1000] [--workers 23] [--liars 20] [--late 60] [--late-liars 6] [--rate 0.2] [--limit-s 0]

Workers of one run train the topology classifier, with short lists. `--liars` of them lie, each from a step of its own on, and which they are, when
and with which bit follows from the run's number. Flips: each step is audited, and from its step on a liar turns over a bit in each gradient that
it computes, or (every second liar) once in its memory of the weights. Such a bit may change no result for some steps, or at all: then the
comparison of all states at the end of an epoch or of the run finds it, which ends the run, if it is a difference still by then. Told is who was named, and when, and whether a run that
comes to its end has the bits of one worker that is honest. Late: flips in the memory of the weights alone, with a share `--rate` of the steps
audited: how many steps pass until the liar is named. A liar whose step a run did not come to has not lied, and is counted nowhere. Two runs at a
time; after `--limit-s` of each part no further one begins. Writes bench/results/DATE-audit-flips.md."""

import argparse
import concurrent.futures
import pathlib
import random
import re
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
MANY = {"train.replicas": 24, "train.batch": 1, "train.threads": 1}
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


def compared(out: pathlib.Path, workers: int) -> tuple[int, list[int]]:
    """The step behind which a comparison of all states has ended the run, and the processes that it named; -1 if none has."""
    views = [[one["pid"] for one in line["members"]] for line in runs.lines(out) if line["kind"] == "view"]
    for rank in range(workers):
        found = re.search(r"after step (\d+) the networks of (.*) have other bits than", pathlib.Path(f"{out}.{rank}.log").read_text())
        if found:
            return int(found[1]), [views[-1][int(word)] for word in re.findall(r"rank (\d+) on", found[2])]
    return -1, []


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
    end, others = compared(out, workers)
    lied = [one for one in liars if end < 0 or one["step"] < end]
    named = [(line["global_step"], member["pid"]) for line in lines for member in line["wrong"]] + [(end, pid) for pid in others]
    step_of = {pids[one["worker"]]: one["step"] for one in lied}
    result = {"workers": workers, "liars": len(liars), "suspects": sum(len(line["suspects"]) for line in lines), "flips": [],
              "named_falsely": sum(pid not in step_of or step < step_of[pid] for step, pid in named),
              "ended": all(status == 0 for status in honest_statuses), "by_comparison": bool(others)}
    for one in lied:
        at = [step for step, pid in named if pid == pids[one["worker"]]]
        result["flips"].append({"in": one["in"], "found": bool(at), "steps_until": at[0] - one["step"] if at else None,
                                "by_comparison": pids[one["worker"]] in others})
    result["honest_bits"] = result["ended"] and same_losses(calm, out) and runs.tensors(calm) == runs.tensors(out)
    if not result["ended"] and not others:
        network.say(f"run {number} has ended otherwise: {statuses}")
    return result


def some_runs(folder: pathlib.Path, name: str, count: int, liars: int, workers: int, places: tuple, rate: float, apart: int, limit_s: float) -> list[dict]:
    all_runs: list[dict] = []
    begin = time.monotonic()
    (folder / name).mkdir()
    steps = [1 + apart * i for i in range(liars)]

    def one(number: int) -> dict:
        return run(folder / name, number, drawn(number, places, steps, workers), workers, rate, steps[-1] + apart + 2)

    number = 0
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        while len([flip for each in all_runs for flip in each["flips"]]) < count and (limit_s == 0 or time.monotonic() - begin < limit_s):
            all_runs += pool.map(one, range(number, number + 2))
            number += 2
            flips = [flip for each in all_runs for flip in each["flips"]]
            network.say(f"{name}: {len(flips)} flips, {sum(flip['found'] for flip in flips)} found, {time.monotonic() - begin:.0f} s")
    return all_runs


def figures(all_runs: list[dict], where: str | None = None) -> dict:
    flips = [flip for one in all_runs for flip in one["flips"] if where in (None, flip["in"])]
    until = sorted(flip["steps_until"] for flip in flips if flip["found"] and not flip["by_comparison"])
    return {"flips": len(flips), "found": sum(flip["found"] for flip in flips), "in_the_same_step": sum(steps == 0 for steps in until), "later": sum(steps > 0 for steps in until),
            "by_comparison": sum(flip["by_comparison"] for flip in flips), "unnamed": sum(not flip["found"] for flip in flips), "steps_median": statistics.median(until), "steps_most": max(until)}


def page(result: dict) -> str:
    flips, late = result["flips"], result["late"]
    lines = turns.heading("Audits: many flips", result)
    lines += ["## Each step is audited",
              f"{flips['workers']} workers a run, {flips['liars_a_run']} of which lie, each from a step of its own on; {flips['runs']} runs, two at a time, {flips['wall_s']:.0f} s.", "",
              "| a bit turns over | flips | found, and the right worker named | by an audit of the same step | of a later one | by the comparison of all states | by nothing |",
              "|---|---|---|---|---|---|---|"]
    for where, text in (("gradient", "in each gradient that the liar computes"), ("weights", "once, in the liar's memory of the weights")):
        of = flips[where]
        lines.append(f"| {text} | {of['flips']} | {of['found']} | {of['in_the_same_step']} | {of['later']} | {of['by_comparison']} | {of['unnamed']} |")
    lines += ["", f"Named falsely: {flips['named_falsely']}; suspects: {flips['suspects']}. Runs that a comparison of all states ended: {flips['compared']} of {flips['runs']}; of "
              f"the others {flips['honest_bits']} ended with the bits of one honest worker, {flips['runs'] - flips['compared'] - flips['honest_bits']} with other ones.",
              "", f"## A share of {late['rate']} of the steps is audited",
              f"{late['workers']} workers a run, {late['liars_a_run']} of which lie, {APART} steps apart; {late['runs']} runs. A bit turns over once, in the liar's memory of the "
              "weights.", "", "| flips | found, and the right worker named | by an audit | steps until then: median | most | within 10 | within 20 | within 30 | by the comparison of all states | by nothing |",
              "|---|---|---|---|---|---|---|---|---|---|"]
    of, within = late["all"], " | ".join(str(late["within"][str(steps)]) for steps in (10, 20, 30))
    lines += [f"| {of['flips']} | {of['found']} | {of['in_the_same_step'] + of['later']} | {of['steps_median']:g} | {of['steps_most']} | {within} | {of['by_comparison']} | {of['unnamed']} |",
              "", f"Named falsely: {late['named_falsely']}; suspects: {late['suspects']}. Runs that a comparison of all states ended: {late['compared']} of {late['runs']}; of the others "
              f"{late['honest_bits']} ended with the bits of one honest worker, {late['runs'] - late['compared'] - late['honest_bits']} with other ones."]
    return "\n".join(lines) + "\n"


def summed(all_runs: list[dict], liars: int) -> dict:
    return {"workers": all_runs[0]["workers"], "liars_a_run": liars, "runs": len(all_runs), "all": figures(all_runs), "compared": sum(one["by_comparison"] for one in all_runs),
            "named_falsely": sum(one["named_falsely"] for one in all_runs), "suspects": sum(one["suspects"] for one in all_runs),
            "ended_otherwise": sum(not one["ended"] and not one["by_comparison"] for one in all_runs), "honest_bits": sum(one["honest_bits"] for one in all_runs)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--flips", type=int, default=1000)
    parser.add_argument("--workers", type=int, default=23)
    parser.add_argument("--liars", type=int, default=20, help="of a run's workers")
    parser.add_argument("--late", type=int, default=60, help="flips where some steps are audited")
    parser.add_argument("--late-liars", type=int, default=6, help="of a run, with three honest workers")
    parser.add_argument("--rate", type=float, default=0.2, help="share of the steps that are audited there")
    parser.add_argument("--limit-s", type=float, default=0, help="of each part; 0: none")
    options = parser.parse_args()
    if options.workers < options.liars + 3:
        parser.error("--workers: three of them have to be honest")
    result = {**network.provenance("bench/audit_flips.py"), "before": None, "others_cores": network.busy_cores()}
    with tempfile.TemporaryDirectory(prefix="linac-bench-flips-") as text:
        folder = pathlib.Path(text)
        late = some_runs(folder, "late", options.late, options.late_liars, options.late_liars + 3, ("weights",), options.rate, APART, options.limit_s)
        until = [flip["steps_until"] for one in late for flip in one["flips"] if flip["found"] and not flip["by_comparison"]]
        result["late"] = {**summed(late, options.late_liars), "rate": options.rate, "steps_until": until,
                          "within": {str(steps): sum(value <= steps for value in until) for steps in (10, 20, 30)}}
        begin = time.monotonic()
        flips = some_runs(folder, "flips", options.flips, options.liars, options.workers, ("gradient", "weights"), 1, 1, options.limit_s)
        result["flips"] = {**summed(flips, options.liars), "wall_s": time.monotonic() - begin, **{where: figures(flips, where) for where in ("gradient", "weights")}}
    store(result, "audit-flips", page(result))


if __name__ == "__main__":
    main()
