#!/usr/bin/env python3
"""Samplers of hyper-parameters: linac's and Optuna's in turns on the same functions (bench/tune_functions.py), one after the other for each seed.

  bench/tune.py [--samplers tpe,cma-es,gp] [--functions ...] [--seeds 20] [--gp-seeds 10] [--gp-trials 100] [--speed]

Simple regret: the least value so far less the function's least one; the median over seeds, and the quarter and three quarters. `gp` has seeds and
trials of its own: Optuna's takes minutes a study. PYTHON has Optuna (bench/peers/setup.sh build/bench-tune 'optuna|cmaes|scipy|torch'). Each study is one process of linac's
`tune_ask`, on one thread as Optuna's is. --speed: the time of an ask and a tell behind 5,000 random trials too. Writes
bench/results/DATE-tune.md."""

import argparse
import itertools
import json
import os
import pathlib
import random
import statistics
import subprocess
import sys
import time

import network
from store import store
from tune_functions import FUNCTIONS

ROOT = pathlib.Path(__file__).resolve().parents[1]
CHECKED = (50, 100, 200)  # trials
PEERS = {"random": ["random"], "sobol": ["sobol"], "tpe": ["tpe"], "cma-es": ["cma-es"], "gp": ["gp"]}
HISTORY, ASKS = 5000, 30


class Lines:
    """A process that answers each line by one."""

    def __init__(self, command: list[str]):
        threads = {name: "1" for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")}
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=os.environ | threads)

    def call(self, request: str) -> dict:
        self.process.stdin.write(request + "\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
        if "error" in answer:
            sys.exit(f"{request}: {answer['error']}")
        return answer

    def end(self) -> None:
        self.process.stdin.close()
        self.process.wait()


def begun(program: str, function: str, sampler: str, seed: int) -> Lines:
    work = Lines([program])
    work.call(json.dumps({"study": {"parameters": FUNCTIONS[function][0], "sampler": {"name": sampler}, "seed": seed}}))
    return work


def study(program: str, function: str, sampler: str, seed: int, trials: int) -> dict:
    _, value_of, least = FUNCTIONS[function]
    begin = time.perf_counter()
    work = begun(program, function, sampler, seed)
    values = []
    for number in range(trials):
        values.append(value_of(work.call(json.dumps({"ask": number}))["point"]))
        work.call(json.dumps({"tell": number, "values": [values[-1]]}))
    work.end()
    return {"regret": [value - least for value in itertools.accumulate(values, min)], "wall_s": time.perf_counter() - begin}


def speed(program: str, sampler: str) -> list[float]:
    """Seconds of an ask and a tell, with the way over the pipe."""
    space, value_of, _ = FUNCTIONS["hartmann6"]
    work = begun(program, "hartmann6", sampler, 1)
    numbers, times = random.Random(1), []
    for number in range(HISTORY):
        point = {parameter["name"]: numbers.random() for parameter in space}
        work.call(json.dumps({"start": number, "point": point, "tell": number, "values": [value_of(point)]}))
    for number in range(HISTORY, HISTORY + ASKS):
        begin = time.perf_counter()
        point = work.call(json.dumps({"ask": number}))["point"]
        value = value_of(point)
        work.call(json.dumps({"tell": number, "values": [value]}))
        times.append(time.perf_counter() - begin)
    work.end()
    return times


def quarters(values: list[float]) -> list[float]:
    """A quarter, the median, three quarters."""
    return statistics.quantiles(values, n=4, method="inclusive")


class Kept:
    """Optuna's studies: of the same seed they are the same whenever they run, so a file can keep them."""

    def __init__(self, peer: Lines, file: pathlib.Path | None):
        self.peer, self.file = peer, file
        self.found = {}
        if file and file.exists():
            self.found = {one["study"]: one for one in map(json.loads, file.read_text().splitlines())}

    def call(self, study: str) -> dict:
        if study not in self.found:
            self.found[study] = {"study": study, **self.peer.call(study)}
            if self.file:
                with self.file.open("a") as out:
                    out.write(json.dumps(self.found[study]) + "\n")
        return self.found[study]


def figure(value: float) -> str:
    return f"{value:.3g}"


def tables(result: dict) -> list[str]:
    lines = []
    for sampler, of in result["studies"].items():
        trials = [count for count in CHECKED if count <= result["settings"][sampler]["trials"]]
        peers = PEERS[sampler]
        lines += ["", f"## {sampler}, {result['settings'][sampler]['seeds']} seeds", "",
                  f"| function, trials | linac | {' | '.join('Optuna ' + peer for peer in peers)} | linac / best of Optuna | |", "|---" * (len(peers) + 4) + "|"]
        for function, by in of.items():
            for count in trials:
                found = {name: quarters([one["regret"][count - 1] for one in studies]) for name, studies in by.items()}
                best = min((found[peer] for peer in peers), key=lambda one: one[1])
                cells = [f"{figure(found[name][1])} ({figure(found[name][0])} to {figure(found[name][2])})" for name in ["linac", *peers]]
                own = found["linac"]
                said = "" if own[1] <= best[1] else "within the spread" if own[0] <= best[2] and best[0] <= own[2] else "**worse**"
                lines.append(f"| {function}, {count} | {' | '.join(cells)} | {own[1] / best[1] if best[1] > 0 else float('nan'):.2g} | {said} |")
    if result["speed"]:
        lines += ["", f"## An ask and a tell behind {HISTORY} trials in six dimensions, ms", "", "| | linac, median (largest) | Optuna |", "|---|---|---|"]
        for sampler, by in result["speed"].items():
            cells = [f"{1e3 * statistics.median(times):.2f} ({1e3 * max(times):.1f})" if times else "not measured" for times in (by["linac"], by["optuna"])]
            lines.append(f"| {sampler} | {' | '.join(cells)} |")
    return lines


def head(title: str, result: dict, said: str) -> list[str]:
    """The first lines of a result's page."""
    return [f"# {title}: linac and Optuna",
             f"{result['date']}, {result['cpu']}, {result['cores']} cores, commit {result['commit']}; other programs took {result['others_cores']:.2f} cores at the start. "
             f"`{result['command']}`; " + ", ".join(f"{name} {version}" for name, version in result["versions"].items()), "", said]


def markdown(result: dict) -> str:
    lines = head("Suggestions of hyper-parameters", result, "Simple regret, median (a quarter to three quarters of the seeds); less is better.")
    return "\n".join(lines + tables(result)) + "\n"


def words(text: str) -> list[str]:
    return [word for word in text.split(",") if word]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default=str(ROOT / "build/release/bin/tune_ask"))
    parser.add_argument("--python", default=str(ROOT / "build/bench-tune/bin/python"), help="has Optuna")
    parser.add_argument("--samplers", type=words, default=["tpe", "cma-es", "gp"])
    parser.add_argument("--functions", type=words, default=list(FUNCTIONS))
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--trials", type=int, default=200)
    parser.add_argument("--gp-seeds", type=int, default=10)
    parser.add_argument("--gp-trials", type=int, default=100)
    parser.add_argument("--keep", type=pathlib.Path, help="a file of Optuna's studies: those in it are not run again, others are added")
    parser.add_argument("--name", default="tune", help="of the result (default tune)")
    parser.add_argument("--speed", action="store_true")
    parser.add_argument("--no-peer-speed", type=words, default=["gp"], help="of these Optuna's speed is not measured (default gp: it fits 5,000 points)")
    options = parser.parse_args()
    # Where nothing of Optuna is asked, it need not be there.
    compared = bool(options.functions) or (options.speed and not set(options.samplers) <= set(options.no_peer_speed))
    peer = Lines([options.python, str(ROOT / "bench/peers/optuna_study.py")]) if compared else None
    kept = Kept(peer, options.keep)
    result = {**network.provenance("bench/tune.py"), "others_cores": network.busy_cores(), "versions": peer.call("versions") if peer else {}, "settings": {}, "studies": {}, "speed": {}}
    result["command"] = result["command"].replace(options.python, "PYTHON").replace(options.program, "PROGRAM").replace(str(options.keep), "FILE")
    for sampler in options.samplers:
        seeds, trials = (options.gp_seeds, options.gp_trials) if sampler == "gp" else (options.seeds, options.trials)
        result["settings"][sampler] = {"seeds": seeds, "trials": trials}
        for function in options.functions:
            by = result["studies"].setdefault(sampler, {}).setdefault(function, {name: [] for name in ["linac", *PEERS[sampler]]})
            for seed in range(seeds):
                by["linac"].append(study(options.program, function, sampler, seed, trials))
                for name in PEERS[sampler]:
                    by[name].append(kept.call(f"{function} {name} {seed} {trials}"))
            network.say(f"{sampler}, {function}: " + "; ".join(f"{name} {figure(statistics.median(one['regret'][-1] for one in studies))}" for name, studies in by.items()))
        if options.speed:
            measured = sampler not in options.no_peer_speed
            result["speed"][sampler] = {"linac": speed(options.program, sampler), "optuna": peer.call(f"speed {sampler} {HISTORY} {ASKS}")["seconds"] if measured else []}
    if peer:
        peer.end()
    store(result, options.name, markdown(result), least=("regret",))


if __name__ == "__main__":
    main()
