"""The verbs that need no fit(): showers, their comparison, checks, jobs as files."""

import os

import numpy as np
import pytest
from conftest import small_events

import linac


def test_showers(tmp_path):
    showers = linac.simulate(40, seed=1, energy=(50.0, 100.0), theta=(1.2, 1.9))
    assert showers["ECAL"].shape[0] == 40 and showers["ECAL"].min() >= 0
    assert 50 <= showers["energy"].min() and showers["energy"].max() <= 100
    again = linac.simulate(40, seed=1, energy=(50.0, 100.0), theta=(1.2, 1.9), threads=1)
    assert np.array_equal(again["ECAL"], showers["ECAL"])
    with pytest.raises(linac.LinacError) as caught:
        linac.simulate(-3, seed=1, energy=(50.0, 100.0), theta=(1.2, 1.9))
    assert caught.value.exit_status == 2
    with pytest.raises(linac.LinacError):
        linac.generate("nothing.keras", 3, seed=1, energy=(50.0, 100.0), theta=(1.2, 1.9))


def test_check_plan_and_train(trained, tmp_path):
    facts = linac.check(trained)
    assert facts["train_events"] == 900 and facts["steps_per_epoch"] == 28
    assert linac.plan(trained, measured=trained.folder)["rows"]
    x, _ = small_events()
    os.makedirs("jobs")
    job = (trained.folder / "python" / "job.yaml").read_text()
    (tmp_path / "jobs" / "job.yaml").write_text(job.replace("model.keras", str(trained.folder / "python" / "model.keras")).replace("train.arrow", str(trained.folder / "python" / "train.arrow")))
    run = linac.train("jobs/job.yaml", settings={"train.epochs": 1}, workers=2).wait()
    assert len(run.history) == 1 and linac.predict(run, x).shape == (len(x), 2)
    assert list(linac.Run(run.folder).resume(epochs=3).wait().history["loss"]) == list(trained.history["loss"])
    with pytest.raises(linac.LinacError, match="no job"):
        linac.train("nothing.yaml")
