#!/usr/bin/env python3
"""Samplers of several objectives: linac's and Optuna's in turns on the same problems (bench/tune_problems.py), one after the other
for each seed.

  bench/tune_objectives.py [--samplers tpe,nsga-ii,random] [--problems ...] [--seeds 20] [--trials 200]

The hypervolume of all trials so far by the problem's reference, more is better; the median over seeds, and the quarter and three
quarters. Optuna's `tpe` is its MOTPE. PYTHON has Optuna (bench/peers/setup.sh build/bench-tune 'optuna|cmaes|scipy|torch').
Writes bench/results/DATE-tune-objectives.md."""

import argparse
import json
import pathlib
import time

import network
from store import store
from tune import ROOT, Kept, Lines, figure, head, quarters, words
from tune_problems import PROBLEMS

CHECKED = (50, 100, 200)  # trials


def study(program: str, problem: str, sampler: str, seed: int, trials: int) -> dict:
    space, values_of, reference = PROBLEMS[problem]
    begin = time.perf_counter()
    work = Lines([program])
    work.call(json.dumps({"study": {"parameters": space, "sampler": {"name": sampler}, "seed": seed, "objectives": len(reference)}}))
    values = []
    for number in range(trials):
        values.append(values_of(work.call(json.dumps({"ask": number}))["point"]))
        work.call(json.dumps({"tell": number, "values": values[-1]}))
    work.end()
    return {"values": values, "wall_s": time.perf_counter() - begin}


def covered(measure: Lines, problem: str, values: list[list[float]]) -> list[float]:
    """The hypervolume after each of CHECKED."""
    return [measure.call(json.dumps({"hypervolume": PROBLEMS[problem][2], "rows": values[:count]}))["hypervolume"] for count in CHECKED if count <= len(values)]


def markdown(result: dict) -> str:
    lines = head("Suggestions for several objectives", result, f"Hypervolume, median of {result['seeds']} seeds (a quarter to three quarters); more is better.")
    for sampler, of in result["studies"].items():
        lines += ["", f"## {sampler}", "", "| problem, trials | linac | Optuna | |", "|---|---|---|---|"]
        for problem, by in of.items():
            for place, count in enumerate(CHECKED):
                if count > result["trials"]:
                    continue
                own, peer = (quarters([one["covered"][place] for one in by[name]]) for name in ("linac", "optuna"))
                said = "" if own[1] >= peer[1] else "within the spread" if own[2] >= peer[0] and peer[2] >= own[0] else "**worse**"
                lines.append(f"| {problem}, {count} | " + " | ".join(f"{one[1]:.4g} ({one[0]:.4g} to {one[2]:.4g})" for one in (own, peer)) + f" | {said} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default=str(ROOT / "build/release/bin/tune_ask"))
    parser.add_argument("--python", default=str(ROOT / "build/bench-tune/bin/python"), help="has Optuna")
    parser.add_argument("--samplers", type=words, default=["tpe", "nsga-ii", "random"])
    parser.add_argument("--problems", type=words, default=list(PROBLEMS))
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--trials", type=int, default=200)
    parser.add_argument("--keep", type=pathlib.Path, help="a file of Optuna's studies: those in it are not run again, others are added")
    parser.add_argument("--name", default="tune-objectives", help="of the result (default tune-objectives)")
    options = parser.parse_args()
    peer, measure = Lines([options.python, str(ROOT / "bench/peers/optuna_study.py")]), Lines([options.program])
    measure.call(json.dumps({"study": {"parameters": PROBLEMS["zdt1"][0], "sampler": {"name": "random"}, "seed": 1}}))
    kept = Kept(peer, options.keep)
    result = {**network.provenance("bench/tune_objectives.py"), "others_cores": network.busy_cores(), "versions": peer.call("versions"), "seeds": options.seeds,
              "trials": options.trials, "studies": {}}
    result["command"] = result["command"].replace(options.python, "PYTHON").replace(options.program, "PROGRAM").replace(str(options.keep), "FILE")
    for sampler in options.samplers:
        for problem in options.problems:
            by = result["studies"].setdefault(sampler, {}).setdefault(problem, {"linac": [], "optuna": []})
            for seed in range(options.seeds):
                own = study(options.program, problem, sampler, seed, options.trials)
                other = kept.call(f"objectives {problem} {sampler} {seed} {options.trials}")
                for name, one in (("linac", own), ("optuna", other)):
                    by[name].append({"covered": covered(measure, problem, one["values"]), "wall_s": one["wall_s"]})
            said = {name: quarters([one["covered"][-1] for one in studies])[1] for name, studies in by.items()}
            network.say(f"{sampler}, {problem}: " + "; ".join(f"{name} {figure(value)}" for name, value in said.items()))
    peer.end()
    measure.end()
    store(result, options.name, markdown(result))


if __name__ == "__main__":
    main()
