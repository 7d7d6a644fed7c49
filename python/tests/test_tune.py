"""linac.tune(): functions by ask and tell, jobs by the program; killed and gone on with."""

import os
import signal
import subprocess
import sys
import threading
import time

import pytest

import linac

SPACE = {"x": (-2.0, 2.0), "n": (1, 8)}


def parabola(trial):
    return trial.suggest_float("x", -2, 2) ** 2 + 0.01 * trial.suggest_int("n", 1, 8)


def points(study):
    return [(one.number, one.state, one.params, one.values) for one in study.trials]


def test_a_function(tmp_path):
    study = linac.tune(parabola, SPACE, n_trials=12, folder="a")
    values = [one.value for one in study.trials]
    assert len(values) == 12 and study.best_value == min(values) and study.best_params == study.trials[values.index(min(values))].params
    frame = study.trials_dataframe()
    assert list(frame.columns) == ["number", "value", "params_x", "params_n", "state"] and list(frame["value"]) == values
    assert isinstance(study.best_params["n"], int) and points(linac.Study("a")) == points(study)
    # The same call goes on, and the same study comes out.
    twelve = points(study)
    longer = linac.tune(parabola, SPACE, n_trials=14, folder="a")
    assert points(longer)[:12] == twelve and points(longer) == points(linac.tune(parabola, SPACE, n_trials=14, folder="b"))
    assert "<title>Study a</title>" in study.report().read_text()


def test_the_words_of_a_space(tmp_path):
    def space(trial):
        trial.suggest_float("lr", 1e-4, 1e-1, log=True)
        trial.suggest_int("units", 8, 64, step=8)
        trial.suggest_categorical("shape", [None, 3, (64, 64), "wide", True])

    def objective(trial):
        shape = trial.suggest_categorical("shape", [None, 3, (64, 64), "wide", True])
        seen.append(shape)
        assert trial.params["units"] % 8 == 0 and 1e-4 <= trial.suggest_float("lr", 1e-4, 1e-1, log=True) <= 1e-1
        return len(seen), -len(seen)

    seen: list = []
    study = linac.tune(objective, space, directions=["minimize", "maximize"], sampler="random", n_trials=10, constraints=["`units` < 64"])
    assert {type(one) for one in seen} <= {type(None), int, tuple, str, bool} and len({repr(one) for one in seen}) > 2
    assert seen == [one.params["shape"] for one in study.trials] and [one.number for one in study.best_trials] == [1]
    assert study.folder.parent.name == "studies" and "values_1" in study.trials_dataframe()
    with pytest.raises(linac.LinacError, match="best_trials"):
        study.best_value


def test_optuna_distributions():
    optuna = pytest.importorskip("optuna")
    of = optuna.distributions
    space = {"x": of.FloatDistribution(-2, 2), "n": of.IntDistribution(1, 8), "k": of.CategoricalDistribution(("a", "b"))}

    def objective(trial):
        trial.report(1.0, 1)
        raise optuna.TrialPruned("enough") if trial.params["k"] == "a" else ValueError("b")

    study = linac.tune(objective, space, n_trials=2, catch=(ValueError,), sampler="random")
    assert {one.state for one in study.trials} <= {"pruned", "failed"}
    assert [one.reason for one in study.trials if one.state == "pruned"] == ["enough"] * 2


def test_pruning_failures_and_infinities(tmp_path):
    def objective(trial):
        x = trial.params["x"]
        for step in range(1, 5):
            trial.report(x * step, step)
            if trial.should_prune():
                raise linac.TrialPruned
        return float("nan") if x < -1 else x

    study = linac.tune(objective, SPACE, n_trials=16, pruner={"name": "median", "startup": 3}, sampler="random", folder="a")
    states = [one.state for one in study.trials]
    assert {"complete", "pruned", "infeasible"} == set(states) and all(len(one.intermediate_values) < 5 for one in study.trials)
    assert study.best_value >= -1

    def broken(trial):
        raise KeyError(trial.number)

    with pytest.raises(KeyError):
        linac.tune(broken, SPACE, folder="broken")
    assert [(one.state, one.reason) for one in linac.Study("broken").trials] == [("failed", "KeyError: 1")]
    with pytest.raises(linac.LinacError, match="last 20 trials failed.*KeyError"):
        linac.tune(broken, SPACE, folder="broken", catch=(KeyError,))


def test_threads_and_timeouts():
    together, barrier = [], threading.Barrier(3)

    def objective(trial):
        barrier.wait(timeout=60)  # three at a time
        together.append(trial.number)
        return trial.params["x"]

    study = linac.tune(objective, SPACE, n_trials=6, n_jobs=3)
    assert sorted(together) == [1, 2, 3, 4, 5, 6] and {one.state for one in study.trials} == {"complete"}
    assert linac.tune(parabola, SPACE, timeout=0.0).trials == []


def test_two_in_a_second(monkeypatch):
    """Calls that begin in the same second, without a folder, have a study each."""
    monkeypatch.setattr(time, "strftime", lambda _: "20300101-000000")
    assert len({linac.tune(parabola, SPACE, n_trials=1).folder for _ in range(3)}) == 3


KILLED = """
import os, sys, linac
def parabola(trial):
    if trial.number == 3 and sys.argv[1] == "die": os.kill(os.getpid(), 9)
    return trial.suggest_float("x", -2, 2) ** 2 + 0.01 * trial.suggest_int("n", 1, 8)
linac.tune(parabola, {"x": (-2.0, 2.0), "n": (1, 8)}, n_trials=5, folder="killed")
"""


def test_killed():
    """The trial that it was at is carried out by the next call, with the same point."""
    assert subprocess.run([sys.executable, "-c", KILLED, "die"]).returncode == -signal.SIGKILL
    assert [one.state for one in linac.Study("killed").trials] == ["complete", "complete", "running"]
    subprocess.run([sys.executable, "-c", KILLED, "live"], check=True)
    assert points(linac.Study("killed")) == points(linac.tune(parabola, SPACE, n_trials=5, folder="calm"))


def test_a_job(trained, model_file, capsys):
    """Trainings by `linac tune`, of a file and of a mapping; the same study."""
    here = trained.folder / "python"
    text = (here / "job.yaml").read_text().replace('"model.keras"', f'"{here}/model.keras"').replace('"train.arrow"', f'"{here}/train.arrow"')
    with open("job.yaml", "w") as file:
        file.write(text)
    words = {"metric": "accuracy", "n_trials": 3, "seed": 2}
    space = {"train.optimizer.lr": {"kind": "log", "low": 1e-3, "high": 1e-1}, "train.epochs": (1, 2)}
    study = linac.tune("job.yaml", space, **words)
    assert len(study.trials) == 3 and study.best_value == max(one.value for one in study.trials) > 0.3 and "trial" in capsys.readouterr().out
    assert linac.Run(study.folder / "trials" / f"{study.best_trial.number:04}").status == "succeeded"
    assert not [name for name in os.listdir() if name.startswith(".linac-tune")]


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ({"space": {}}, "no parameter"), ({"space": 3}, "is a int"), ({"space": {"x": 3}}, "nothing to search"), ({"space": {3: (0, 1)}}, "no name"),
        ({"space": {"x": (2.0, 1.0)}}, "x"), ({"space": {"x": ["a", "a"]}}, "two of its choices"), ({"space": {"x": {"kind": "odd"}}}, "odd"),
        ({"direction": "up"}, "up"), ({"direction": "minimize", "directions": ["minimize"]}, "both"), ({"sampler": "tpa"}, "tpa"), ({"pruner": object()}, "pruner"),
        ({"metric": "loss"}, "metric"), ({"objective": {"name": "a"}}, "metric"), ({"objective": 3, "metric": "loss"}, "neither"), ({"n_trials": 0}, "trials"),
        ({"objective": "none.yaml", "metric": "loss"}, "none.yaml"), ({"objective": lambda trial: "much"}, "much"), ({"objective": lambda trial: (1, 2)}, "values|one"),
        ({"objective": lambda trial: trial.suggest_float("y", 0, 1)}, "not searched"), ({"objective": lambda trial: trial.suggest_float("x", 0, 1)}, "not alike"),
        ({"folder": "/proc/none"}, "/proc"), ({"folder": "file"}, "file"), ({"n_jobs": 0}, "parallel"),
    ],
)  # fmt: skip
def test_refused(words, text):
    open("file", "w").close()
    with pytest.raises(linac.LinacError, match=r"(?s)\[\w+\] .*" + text):
        linac.tune(**({"objective": parabola, "space": SPACE, "n_trials": 2} | words))


def test_another_study_in_the_folder():
    linac.tune(parabola, SPACE, n_trials=1, folder="a")
    with pytest.raises(linac.LinacError, match="has another study"):
        linac.tune(parabola, SPACE | {"m": (0, 1)}, n_trials=1, folder="a")
    with pytest.raises(linac.LinacError, match="there is no study"):
        linac.Study("nothing")
