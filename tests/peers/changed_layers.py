"""A part of fit_test.py: models whose layers have other settings than their file says (model.layers), and studies over them."""

import json
import pathlib
import shutil
import types

import keras
import numpy as np
from fit_units import linac, predicted
from keras import layers as L

from lib.checks import expect

LAYERS = {"hidden": {"units": 12, "activation": "relu"}, "both": {"units": "5"}}
FULL = {"train.replicas": 1, "train.fit.loss": "categorical_crossentropy", "train.optimizer.name": "adam"}


def network(units: int, steps: int, activation: str) -> keras.Model:
    features, particles = keras.Input((4,), name="features"), keras.Input((7, 3), name="list")
    read = L.Bidirectional(L.GRU(steps), name="both")(particles)
    seen = L.Dense(6, activation="tanh", name="seen")(features)
    x = L.Dense(units, activation=activation, name="hidden")(L.Concatenate()([read, seen]))
    return keras.Model([features, particles], L.Dense(3, activation="softmax", name="out")(x))


def run(fit: types.ModuleType, folder: pathlib.Path, data: dict) -> None:
    keras.utils.set_random_seed(9)
    x, y = [data["features"], data["list"]], data["one_hot"]
    model = network(8, 3, "tanh")
    model.compile("adam", "categorical_crossentropy")
    model.fit(x, y, epochs=1, verbose=0)
    path = folder / "layers.keras"
    model.save(path)
    settings = {**FULL, "model.layers": LAYERS, "train.batch": fit.EVENTS}
    text = fit.train(fit.job_of(folder, path, "one_hot", {**settings, "train.optimizer.lr": 1e-20, "train.epochs": 1}), folder / "layers-start")
    start = keras.models.load_model(folder / "layers-start" / "models" / "model.keras", compile=False)
    expect("both, hidden, out: other weights than the file's" in text, "the layers whose weights are drawn anew are named")
    kept = all(np.array_equal(a, b) for a, b in zip(start.get_layer("seen").get_weights(), model.get_layer("seen").get_weights()))
    shapes = [start.get_layer("hidden").get_weights()[0].shape, start.get_layer("out").get_weights()[0].shape]
    expect(kept and shapes == [(16, 12), (12, 3)], f"the others are the file's; shapes are {shapes}")
    twin = network(12, 5, "relu")
    twin.set_weights(start.get_weights())
    twin.compile(keras.optimizers.Adam(0.01), "categorical_crossentropy")
    expected = twin.fit(x, y, batch_size=fit.EVENTS, epochs=fit.EPOCHS, shuffle=False, verbose=0).history["loss"]
    job = fit.job_of(folder, path, "one_hot", {**settings, "train.optimizer.lr": 0.01})
    fit.train(job, folder / "layers")
    losses = [line["train"]["loss"] for line in fit.epochs(folder / "layers")]
    expect(fit.far(losses, expected) < fit.TOLERANCE, f"changed layers: losses within {fit.far(losses, expected):.1e} of Keras's")
    scores = predicted(fit, folder / "layers", folder / "events.h5", folder)["out"]
    shutil.rmtree(folder / "layers" / "models")
    by_checkpoint = predicted(fit, f"{folder}/layers@last", folder / "events.h5", folder)["out"]
    far = fit.far(scores, twin.predict(x, verbose=0))
    expect(far < 20 * fit.TOLERANCE and np.array_equal(scores, by_checkpoint), f"changed layers: scores within {far:.1e}, of a checkpoint the same")
    compiled = fit.job_of(folder, path, "one_hot", {"model.layers": {"hidden": {"units": 9}}, "train.epochs": 1})
    fit.train(compiled, folder / "layers-compiled")
    expect("restore: false" in (folder / "layers-compiled" / "job.yaml").read_text(), "the optimizer's state in the file is not that of other weights")
    wrong = linac(fit, "check", compiled, "--set", "model.layers.hiden.units=9", status=2)
    expect("hidden" in wrong.stderr and "model.layers" in wrong.stderr, f"a layer that is not there: {wrong.stderr.strip()[-200:]}")
    study(fit, folder, job)


def study(fit: types.ModuleType, folder: pathlib.Path, job: pathlib.Path) -> None:
    searched = json.loads(job.read_text()) | {
        "search": {"model.layers.hidden.units": {"kind": "categorical", "choices": ["4", "20"]}},
        "objective": {"metric": "loss"}, "sampler": {"name": "grid"}, "budget": {"trials": 2}}
    searched["data"]["test"] = searched["data"]["train"]
    (folder / "layers-study.yaml").write_text(json.dumps(searched))
    linac(fit, "tune", folder / "layers-study.yaml", "--out", folder / "layers-study")
    units = {keras.models.load_model(trial / "models" / "model.keras", compile=False).get_layer("hidden").units
             for trial in (folder / "layers-study" / "trials").iterdir()}
    expect(units == {4, 20}, f"a study over the units of a layer tries {sorted(units)}")
