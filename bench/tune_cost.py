#!/usr/bin/env python3
"""Samplers where trials do not cost alike: the regret of linac's after the same cost, on functions of bench/tune_functions.py.

  bench/tune_cost.py [--functions ...] [--seeds 5] [--trials 30]

A point's cost rises tenfold from one end of a parameter to the other (COSTS); the search does not know it before it is told. Each study ends
with the trial that would cross the budget: --trials times the cost of a random point, on average. `eipu` has no budget of its own, `eipu,
budget` knows it and cools. Simple regret: the least value so far less the function's least one; the median over seeds, and the quarter and
three quarters. One thread. Writes bench/results/DATE-tune-cost.md."""

import argparse
import json
import math

import network
from store import store
from tune import ROOT, Lines, figure, quarters
from tune_functions import FUNCTIONS

MARKS = (0.5, 1.0)  # of the budget
TRIALS_MAX = 400
MEAN = 9 / math.log(10)  # of 10^u, u even in 0 ... 1


def share(point: dict, name: str, low: float, high: float) -> float:
    return (point[name] - low) / (high - low)


# name: (function, logarithm of a point's cost, base ten). hartmann6's least point has x0 = 0.2.
COSTS = {
    "branin": ("branin", lambda point: share(point, "x0", -5, 10)),
    "hartmann6, cheap": ("hartmann6", lambda point: point["x0"]),
    "hartmann6, dear": ("hartmann6", lambda point: 1 - point["x0"]),
    "network": ("network", lambda point: math.log(point["width"] / 8, 128) if "width" in point else 0.5),
}
SAMPLERS = {
    "random": ({"name": "random"}, False),
    "tpe": ({"name": "tpe"}, False),
    "gp": ({"name": "gp"}, False),
    "eipu": ({"name": "eipu"}, False),
    "eipu, budget": ({"name": "eipu"}, True),
}


def study(program: str, problem: str, sampler: str, seed: int, budget: float) -> dict:
    function, log_cost = COSTS[problem]
    space, value_of, least = FUNCTIONS[function]
    settings, told = SAMPLERS[sampler]
    work = Lines([program])
    work.call(json.dumps({"study": {"parameters": space, "sampler": settings, "seed": seed, "budget": budget if told else 0}}))
    spent, regret, best, trials = 0.0, {}, math.inf, 0
    while trials < TRIALS_MAX:
        point = work.call(json.dumps({"ask": trials}))["point"]
        cost = 10 ** log_cost(point)
        for mark in MARKS:
            if spent + cost > mark * budget:
                regret.setdefault(mark, best - least)
        if spent + cost > budget:
            break
        value = value_of(point)
        work.call(json.dumps({"tell": trials, "values": [value], "cost": cost}))
        spent, best, trials = spent + cost, min(best, value), trials + 1
    work.end()
    return {"regret": [regret.get(mark, best - least) for mark in MARKS], "trials": float(trials)}


def markdown(result: dict) -> str:
    lines = ["# Suggestions where trials do not cost alike",
             f"{result['date']}, {result['cpu']}, {result['cores']} cores, commit {result['commit']}; other programs took {result['others_cores']:.2f} cores at the start. `{result['command']}`", "",
             f"Simple regret after half of a budget and all of it, median of {result['seeds']} seeds (a quarter to three quarters); less is better. The budget is "
             f"{result['trials']} random trials' average cost; a trial costs 1 to 10.", "", f"| problem, share of the budget | {' | '.join(SAMPLERS)} |", "|---" * (len(SAMPLERS) + 1) + "|"]
    for problem, by in result["studies"].items():
        for place, mark in enumerate(MARKS):
            found = [quarters([one["regret"][place] for one in by[name]]) for name in SAMPLERS]
            lines.append(f"| {problem}, {mark} | " + " | ".join(f"{figure(one[1])} ({figure(one[0])} to {figure(one[2])})" for one in found) + " |")
        lines.append(f"| {problem}, trials | " + " | ".join(figure(quarters([one["trials"] for one in by[name]])[1]) for name in SAMPLERS) + " |")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default=str(ROOT / "build/release/bin/tune_ask"))
    parser.add_argument("--functions", type=lambda text: [one.strip() for one in text.split(";")], default=list(COSTS), help="with semicolons between")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--trials", type=int, default=30)
    parser.add_argument("--name", default="tune-cost", help="of the result (default tune-cost)")
    options = parser.parse_args()
    result = {**network.provenance("bench/tune_cost.py"), "others_cores": network.busy_cores(), "seeds": options.seeds, "trials": options.trials, "studies": {}}
    result["command"] = result["command"].replace(options.program, "PROGRAM")
    for problem in options.functions:
        by = result["studies"].setdefault(problem, {})
        for sampler in SAMPLERS:
            by[sampler] = [study(options.program, problem, sampler, seed, MEAN * options.trials) for seed in range(options.seeds)]
            network.say(f"{problem}, {sampler}: " + figure(quarters([one["regret"][-1] for one in by[sampler]])[1]))
    store(result, options.name, markdown(result), least=("regret",))


if __name__ == "__main__":
    main()
