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
    units = {model.get_layer("hidden").units for model in trained(fit, folder / "layers-study", searched).values()}
    expect(units == {4, 20}, f"a study over the units of a layer tries {sorted(units)}")
    learning(fit, folder, searched)


def trained(fit: types.ModuleType, out: pathlib.Path, searched: dict) -> dict[int, keras.Model]:
    """The networks that a study's trials have left."""
    out.with_suffix(".yaml").write_text(json.dumps(searched))
    linac(fit, "tune", out.with_suffix(".yaml"), "--out", out)
    return {int(path.parents[1].name): keras.models.load_model(path, compile=False) for path in (out / "trials").glob("*/models/model.keras")}


def learning(fit: types.ModuleType, folder: pathlib.Path, searched: dict) -> None:
    """Samplers that learn: what trials cost, and several objectives. One of the two files has no such layer, so its trials cost and have no value."""
    other = keras.models.clone_model(keras.models.load_model(searched["model"]["file"], compile=False), clone_function=renamed)
    other.save(folder / "layers-other.keras")
    files = [str(folder / "layers-other.keras"), searched["model"]["file"]]  # in this order the first trial has the one that can be
    space = {"model.layers.hidden.units": {"kind": "integer", "low": 4, "high": 32}, "model.layers.both.units": {"kind": "integer", "low": 2, "high": 6},
             "model.layers.hidden.activation": {"kind": "categorical", "choices": ["relu", "tanh"]}, "model.file": {"kind": "categorical", "choices": files}}
    searched["train"] |= {"epochs": 1, "fit": {"loss": "categorical_crossentropy", "metrics": ["accuracy"]}, "optimizer": {"name": "adam", "lr": 0.01}}
    for name, objective in (("eipu", {"metric": "loss"}), ("ehvi", [{"metric": "loss"}, {"metric": "accuracy"}])):
        out = folder / f"layers-{name}"
        models = trained(fit, out, searched | {"search": space, "objective": objective, "sampler": {"name": name, "startup": 2}, "budget": {"trials": 5}})
        trials = {trial["trial"]: trial for trial in json.loads(linac(fit, "study", "show", out, "--json").stdout)}
        lacking = {number for number, trial in trials.items() if trial["point"]["model.file"] == files[0]}
        expect(len(trials) == 5 and 0 < len(lacking) < 5 and set(models) == set(trials) - lacking, f"{name}: trials without the layer {sorted(lacking)} leave no model")
        expect(all((trial["state"] == "complete") == (number not in lacking) for number, trial in trials.items()), f"{name}: and have no value")
        built = all((model.get_layer("hidden").units, model.get_layer("both").forward_layer.units, model.get_layer("hidden").activation.__name__) ==
                    tuple(trials[number]["point"][f"model.layers.{key}"] for key in ("hidden.units", "both.units", "hidden.activation"))
                    for number, model in models.items())
        expect(built, f"{name}: each network is the one that was suggested")
        expect("follow from what was told" in linac(fit, "study", "replay", out).stdout, f"{name}: its suggestions are replayed")


def renamed(layer: keras.Layer) -> keras.Layer:
    config = layer.get_config()
    return layer.__class__.from_config(config | {"name": "apart"} if layer.name == "hidden" else config)
