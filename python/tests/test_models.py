"""linac's own models as objects, and showers as dicts of arrays."""

import inspect
import pathlib
import re

import numpy as np
import pytest

import linac
from linac import _showers, models

ROOT = pathlib.Path(__file__).resolve().parents[2]
INSIDE = {"seed": 2, "energy": (30.0, 50.0), "theta": (1.4, 1.7)}  # of what is trained on
SMALL = {"hidden": 8, "layer_hidden": 8, "classes": 12}


@pytest.fixture(scope="module")
def showers():
    return linac.simulate(24, seed=1, energy=(20.0, 60.0), theta=(1.2, 1.9))


@pytest.mark.parametrize("kind", models.KINDS)
def test_settings_are_those_of_the_job(kind):
    section = (ROOT / "docs/reference/settings.md").read_text().split(f"## model of kind {kind}\n")[1].split("\n## ")[0]
    names = dict.fromkeys(name.split(".")[0] for name in re.findall(r"^\| `model\.([\w.]+)`", section, re.M))
    assert sorted(models.settings_of(kind)) == sorted(names)
    assert all(one.default is not one.empty for one in inspect.signature(models.KINDS[kind]).parameters.values())


def test_cell_chain(showers, tmp_path):
    words = {"epochs": 2, "batch_size": 3, "replicas": 3, "optimizer": "adam", "seed": 3, "settings": {"data.min_sum": 0}}
    one, three = (linac.fit(models.cell_chain(**SMALL), showers, workers=workers, validation_split=0.25, **words) for workers in (1, 3))
    assert list(one.wait().history["loss"]) == list(three.wait().history["loss"]) and "val_loss" in one.history
    new = linac.generate(one, 6, **INSIDE)
    assert new["ECAL"].shape == (6, *showers["ECAL"].shape[1:])
    assert np.array_equal(new["ECAL"], linac.generate(three, 6, **INSIDE)["ECAL"])
    # Goes on from it, and is one that generates.
    goes_on = models.cell_chain(start_from=one, **SMALL)
    assert np.array_equal(new["ECAL"], linac.generate(goes_on, 6, **INSIDE)["ECAL"])
    assert linac.fit(goes_on, showers, **words).wait().status == "succeeded"
    report = linac.validate(showers, new, out=tmp_path / "report", classifiers=False)
    assert report.page.exists()


def test_threedgan(showers):
    small = models.threedgan(generator_filters=[2] * 6, discriminator_filters=(2, 2, 2, 2), generator_channels=2, latent=8)
    events = {name: values[:4] for name, values in showers.items()}
    run = linac.fit(small, events, validation_data=events, batch_size=2, settings={"data.min_sum": 0, "train.steps_per_epoch": 1}).wait()
    assert run.status == "succeeded" and run.folder.name.startswith("3dgan-")
    assert linac.generate(run, 2, seed=1, energy=(20.0, 60.0), theta=(1.2, 1.9))["ECAL"].shape[0] == 2


def test_classifier():
    random = np.random.default_rng(1)
    features = random.normal(size=(120, 14))
    y = features[:, :3].argmax(axis=1)
    run = linac.fit(models.classifier("hlf"), features, y, epochs=2, metrics="accuracy").wait()
    assert linac.predict(run, features).shape == (120, 3) and "accuracy" in run.history
    assert len(linac.fit(models.classifier("hlf", hlf_units=(4,)), features, np.eye(3)[y]).wait().history) == 1
    particles = {"GRU_input": random.normal(size=(120, 5, 19)), "HLF_input": features}
    assert len(linac.fit(models.classifier("gru", particles=5, units=4), particles, y).wait().history) == 1


def test_refused(showers, tmp_path):
    chain = models.cell_chain(**SMALL)
    for wrong, said in (
        ([1, 2], "list are no showers"), ({}, "is empty"), ({"ECAL": showers["ECAL"], "energy": showers["energy"][:3]}, "'energy' 3"),
        ({"ECAL": np.zeros((2, 3, 3, 3), dtype=complex)}, "complex"), ({"a/b": np.zeros(2)}, "'a/b' is no name"), ({"ECAL": np.zeros((0, 3, 3, 3))}, "no events"),
        ({"energy": 3.0}, "shape"), ({"energy": showers["energy"]}, "ECAL"),
    ):  # fmt: skip
        with pytest.raises(linac.LinacError, match=said):
            linac.fit(chain, wrong).wait()
    with pytest.raises(linac.LinacError, match="neither y"):
        linac.fit(chain, showers, np.zeros(24))
    with pytest.raises(linac.LinacError, match="leaves 0 to train"):
        linac.fit(chain, showers, validation_split=0.99)
    with pytest.raises(linac.LinacError, match="nobody trained"):
        linac.generate(chain, 3, seed=1)
    with pytest.raises(linac.LinacError, match="hidden"):
        linac.fit(models.cell_chain(hidden=-3), showers)
    with pytest.raises(linac.LinacError, match="cannot be written") as caught:
        _showers.write(pathlib.Path("/dev/full"), {"ECAL": np.zeros((100, 1000))})
    assert caught.value.exit_status == 4
    assert not list(tmp_path.rglob(".python-*"))
