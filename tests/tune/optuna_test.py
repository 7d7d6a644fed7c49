#!/usr/bin/env python3
"""linac beside Optuna: each reads the other's studies, trial by trial; hypervolumes are equal, and parameters come in the same order of importance.
optuna_test.py TUNE_ASK. Exit 77 without Optuna."""

import json
import pathlib
import random
import subprocess
import sys
import tempfile

try:
    import numpy
    import optuna
    from optuna._hypervolume import compute_hypervolume
    from optuna.storages import JournalStorage
    from optuna.storages.journal import JournalFileBackend
except ImportError as error:
    print(f"{error}: skipped")
    sys.exit(77)

from lib.runs import linac
from lib.checks import check
from lib.skips import skipped

optuna.logging.set_verbosity(optuna.logging.ERROR)
STATES = {optuna.trial.TrialState.COMPLETE: "complete", optuna.trial.TrialState.PRUNED: "pruned", optuna.trial.TrialState.FAIL: "failed"}
OURS = """search:
  rate: {kind: log, low: 1.0e-4, high: 0.1}
  layers: {kind: integer, low: 1, high: 8}
  width: {kind: integer, low: 4, high: 256, log: true}
  keep: {low: 0, high: 1, step: 0.25}
  how: {kind: categorical, choices: [adam, 3, "true"]}
  momentum: {low: 0, high: 1, when: {how: [adam]}}
objective: [{metric: loss}, {metric: auc}]
budget: {trials: 40}
"""


def objective(trial: optuna.Trial) -> float:
    x = trial.suggest_float("x", -1, 1)
    rate = trial.suggest_float("rate", 1e-4, 1e-1, log=True)
    layers = trial.suggest_int("layers", 2, 16, step=2)
    how = trial.suggest_categorical("how", ["adam", 3, None, True, 0.5])
    trial.suggest_int("width", 1, 64, log=True)
    trial.suggest_float("keep", 0, 1, step=0.25)
    momentum = trial.suggest_float("momentum", 0, 2) if how == "adam" else 0
    for step in (1, 2):
        trial.report(x + step, step)
    if trial.number == 3:
        raise optuna.TrialPruned
    return float("nan") if trial.number == 4 else x * x + rate + layers + momentum


def read_theirs(root: pathlib.Path) -> None:
    study = optuna.create_study(study_name="theirs", storage=JournalStorage(JournalFileBackend(str(root / "theirs.log"))), direction="maximize")
    study.optimize(objective, 30)
    study.ask()
    said = linac("study", "import", root / "theirs.log", "--out", root / "theirs")
    check("30 trials" in said and "left out" in said, "a study of Optuna, without the trial that runs")
    found = json.loads(linac("study", "show", root / "theirs", "--json"))
    same = 0
    for one in sorted(found, key=lambda one: one["trial"]):
        trial = study.trials[one["trial"] - 1]
        point = {name: value if name != "how" else value if isinstance(value, str) else json.dumps(value) for name, value in trial.params.items()}
        curve = [[step, value] for step, value in trial.intermediate_values.items()]
        values = trial.values if trial.state == optuna.trial.TrialState.COMPLETE else []
        same += one["state"] == STATES[trial.state] and one["point"] == point and one["values"] == values and one["curve"] == curve
    check(same == 30, "its trials to the bit: points, states, values, what was reported")
    check(json.loads(linac("study", "best", root / "theirs", "--json"))["values"] == study.best_trial.values, "its best one")
    check("follow from" in linac("study", "replay", root / "theirs"), "nobody asks for them to be suggested anew")
    asked = json.loads(linac("study", "ask", root / "theirs"))
    check(asked["trial"] == 31, "the study goes on here")


def give_ours(root: pathlib.Path) -> None:
    (root / "ours.yaml").write_text(OURS)
    linac("study", "new", root / "ours.yaml", "--out", root / "ours")
    for number, line in enumerate(linac("study", "ask", root / "ours", "-n", 12).splitlines(), 1):
        point = json.loads(line)["point"]
        if number < 10:
            linac("study", "tell", root / "ours", number, point["rate"] + point["layers"], point["keep"])
    linac("study", "tell", root / "ours", 10, "--state", "failed")
    linac("study", "tell", root / "ours", 11, "nan", 1)
    linac("study", "export", root / "ours", "--to", root / "ours.log")
    study = optuna.load_study(study_name="ours", storage=JournalStorage(JournalFileBackend(str(root / "ours.log"))))
    check([direction.name for direction in study.directions] == ["MINIMIZE", "MAXIMIZE"] and study.metric_names == ["loss", "auc"], "objectives in Optuna")
    states = {"complete": "COMPLETE", "failed": "FAIL", "infeasible": "FAIL", "running": "RUNNING"}
    same = 0
    for one in sorted(json.loads(linac("study", "show", root / "ours", "--json")), key=lambda one: one["trial"]):
        trial = study.trials[one["trial"] - 1]
        point = {name: value if name != "how" or value == "adam" else json.loads(value) for name, value in one["point"].items()}
        same += trial.params == point and trial.state.name == states[one["state"]] and (trial.values or []) == (one["values"] if one["state"] == "complete" else [])
    check(same == len(study.trials) == 12, "our trials to the bit")
    ours = {one["trial"] for one in json.loads(linac("study", "best", root / "ours", "--json"))}
    check(ours == {trial.number + 1 for trial in study.best_trials}, "the same front")
    study.optimize(lambda trial: (trial.suggest_float("rate", 1e-4, 0.1, log=True), 1.0), 1)
    check(len(study.trials) == 13, "and Optuna goes on with it")


class Ask:
    def __init__(self, program: str):
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def call(self, **request: object) -> dict:
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
        if "error" in answer:
            sys.exit(answer["error"])
        return answer


def figures(program: str) -> None:
    numbers = random.Random(1)
    ask = Ask(program)
    ask.call(study={"parameters": [{"name": name} for name in "abcd"], "sampler": {"name": "sobol"}, "seed": 1})
    for losses in (2, 3):
        rows = [[numbers.random() for _ in range(losses)] for _ in range(60)]
        ours = ask.call(hypervolume=[0.9] * losses, rows=rows)["hypervolume"]
        inside = [row for row in rows if max(row) <= 0.9]  # Optuna takes no others
        theirs = compute_hypervolume(numpy.array(inside), numpy.array([0.9] * losses))
        check(abs(ours - theirs) < 1e-12, f"the same hypervolume of {losses} objectives")
    try:
        import sklearn  # noqa: F401
    except ImportError:
        skipped("importance", "no scikit-learn", "tests/peers/setup.sh")
        return
    study = optuna.create_study()
    space = {name: optuna.distributions.FloatDistribution(0, 1) for name in "abcd"}
    for number in range(150):
        point = ask.call(ask=number)["point"]
        value = 5 * (point["b"] - 0.4) ** 2 + 0.8 * point["d"] + 0.35 * point["a"]
        ask.call(tell=number, values=[value])
        study.add_trial(optuna.trial.create_trial(params=point, distributions=space, value=value))
    ours = dict(zip("abcd", ask.call(importance=0)["shares"]))
    theirs = optuna.importance.get_param_importances(study, evaluator=optuna.importance.FanovaImportanceEvaluator(seed=1))
    print({name: (round(ours[name], 3), round(theirs[name], 3)) for name in "abcd"})
    check(sorted(ours, key=ours.get) == sorted(theirs, key=theirs.get), "the same order of importance")
    check(all(abs(ours[name] - theirs[name]) < 0.05 for name in "abcd"), "and shares within 0.05")


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="linac-optuna-") as folder:
        read_theirs(pathlib.Path(folder))
        give_ours(pathlib.Path(folder))
    figures(sys.argv[1])


if __name__ == "__main__":
    main()
