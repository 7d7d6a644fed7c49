#!/usr/bin/env python3
"""linac train beside Keras's fit: the same model file, the same events, the same settings. With all events in one batch the order of
events does not matter, so the losses of every epoch and the final weights must agree. Also what Keras has no word for: the same bits on
any number of workers, slices of a batch, early stopping, going on after an end.

usage: fit_test.py FOLDER MAKE_SCRIPT [--long]
MAKE_SCRIPT is the program that writes TorchScript modules. --long: more epochs, a recurrent layer in every model, each
optimizer and each loss by itself, and files of all optimizers are gone on with."""

import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import zipfile

os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import h5py
import keras
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import tensorflow as tf
from keras import ops

import changed_layers
import fit_labels
import fit_units
import own_losses
import traced_models
from lib import runs
from lib.checks import expect, failures
from lib.runs import LINAC

tf.config.run_functions_eagerly(True)  # a few steps of a small model: tracing it takes longer than all of them

L = keras.layers
LONG = "--long" in sys.argv
EVENTS, EPOCHS = 96, 6 if LONG else 4
TOLERANCE = 2e-4  # of a loss and of a weight, relative to the largest value

OPTIMIZERS = {
    "sgd": (dict(lr=0.1), lambda: keras.optimizers.SGD(0.1)),
    "momentum": (dict(name="sgd", lr=0.05, momentum=0.9), lambda: keras.optimizers.SGD(0.05, momentum=0.9)),
    "nesterov": (dict(name="sgd", lr=0.05, momentum=0.9, nesterov=True), lambda: keras.optimizers.SGD(0.05, momentum=0.9, nesterov=True)),
    "rmsprop": (dict(lr=0.01), lambda: keras.optimizers.RMSprop(0.01)),
    "rmsprop_centered": (
        dict(name="rmsprop", lr=0.01, momentum=0.5, centered=True, epsilon=1e-4),
        lambda: keras.optimizers.RMSprop(0.01, momentum=0.5, centered=True, epsilon=1e-4),
    ),
    "adam": (dict(lr=0.02), lambda: keras.optimizers.Adam(0.02)),
    "amsgrad": (dict(name="adam", lr=0.02, amsgrad=True), lambda: keras.optimizers.Adam(0.02, amsgrad=True)),
    "adamw": (dict(lr=0.02, weight_decay=0.01), lambda: keras.optimizers.AdamW(0.02, weight_decay=0.01)),
    "adamax": (dict(lr=0.02), lambda: keras.optimizers.Adamax(0.02)),
    "nadam": (dict(lr=0.02), lambda: keras.optimizers.Nadam(0.02)),
    "adagrad": (dict(lr=0.1), lambda: keras.optimizers.Adagrad(0.1)),
    "adadelta": (dict(lr=1.0, rho=0.95), lambda: keras.optimizers.Adadelta(1.0, rho=0.95)),
    "lion": (dict(lr=0.003, beta_2=0.99), lambda: keras.optimizers.Lion(0.003)),
    "clipped": (dict(name="sgd", lr=0.5, global_clipnorm=0.1), lambda: keras.optimizers.SGD(0.5, global_clipnorm=0.1)),
}
# loss: last activation, values out, kind of target
LOSSES = {
    "categorical_crossentropy": ("softmax", 3, "one_hot"),
    "sparse_categorical_crossentropy": ("softmax", 3, "index"),
    "categorical_focal_crossentropy": ("softmax", 3, "one_hot"),
    "binary_crossentropy": ("sigmoid", 1, "binary"),
    "binary_focal_crossentropy": ("sigmoid", 1, "binary"),
    "mean_squared_error": ("linear", 2, "values"),
    "mean_absolute_error": ("linear", 2, "values"),
    "mean_absolute_percentage_error": ("linear", 2, "values"),
    "mean_squared_logarithmic_error": ("softplus", 2, "positive"),
    "huber": ("linear", 2, "values"),
    "log_cosh": ("linear", 2, "values"),
    "kl_divergence": ("softmax", 3, "one_hot"),
    "poisson": ("softplus", 2, "positive"),
    "hinge": ("tanh", 1, "binary"),
    "squared_hinge": ("tanh", 1, "binary"),
    "cosine_similarity": ("linear", 3, "values"),
}



def make_data(folder: pathlib.Path) -> dict:
    random = np.random.default_rng(5)
    data = {"features": random.normal(size=(EVENTS, 4)).astype("f4"), "list": random.normal(size=(EVENTS, 7, 3)).astype("f4")}
    for event in range(EVENTS):
        data["list"][event, random.integers(1, 8) :] = 0
    score = data["features"] @ random.normal(size=(4, 3)) + data["list"].sum(1) @ random.normal(size=(3, 3))
    data["index"] = score.argmax(1).astype("i4")
    data["one_hot"] = np.eye(3, dtype="f4")[data["index"]]
    data["binary"] = (score[:, :1] > 0).astype("f4")
    data["values"] = (score[:, :3] + random.normal(size=(EVENTS, 3))).astype("f4")
    data["positive"] = np.abs(data["values"])
    data["weight"] = random.uniform(-0.2, 2, EVENTS).astype("f4")  # as simulations give them, some below zero
    data["values2"], data["positive2"] = data["values"][:, :2].copy(), data["positive"][:, :2].copy()
    with h5py.File(folder / "events.h5", "w") as file:
        for name, values in data.items():
            file[name] = values
    return data


def mean_of_steps(particles, units: int):
    """In place of a recurrent layer, of which Keras computes every step apart: that takes most of this test's time."""
    return L.GlobalAveragePooling1D()(L.Dense(units)(L.Masking()(particles)))


def classifier(activation: str, units: int, dropout: float = 0.0, compiled: dict | None = None, recurrent: bool = True):
    features, particles = keras.Input((4,), name="features"), keras.Input((7, 3), name="list")
    read = L.GRU(5, name="gru")(L.Masking()(particles)) if recurrent else mean_of_steps(particles, 5)
    x = L.Dense(8, activation="tanh")(L.Concatenate()([features, L.Dropout(dropout)(read)]))
    model = keras.Model([features, particles], L.Dense(units, activation=activation, name="out")(x))
    if compiled:
        model.compile(**compiled)
    return model


def job_of(folder: pathlib.Path, model: pathlib.Path, target: str, settings: dict) -> pathlib.Path:
    job = {
        "name": "fit",
        "model": {"kind": "keras", "file": str(model)},
        "data": {"train": [str(folder / "events.h5")], "targets": [{"column": target}]},
        "train": {"epochs": EPOCHS, "replicas": 2, "batch": EVENTS // 2},
    }
    for key, value in settings.items():
        node = job
        *path, last = key.split(".")
        for part in path:
            node = node.setdefault(part, {})
        node[last] = value
    path = folder / "job.yaml"
    path.write_text(json.dumps(job))
    return path


def train(job: pathlib.Path, out: pathlib.Path, *arguments: str, status: int = 0, keep: bool = False) -> str:
    if not keep:
        shutil.rmtree(out, ignore_errors=True)
    done = subprocess.run([LINAC, "train", str(job), "--out", str(out), *arguments], capture_output=True, text=True)
    if done.returncode != status:
        print(done.stdout, done.stderr, sep="\n")
    expect(done.returncode == status, f"{out.name}: exit status {done.returncode}")
    return done.stdout + done.stderr


def judged(out: pathlib.Path, output: str = "") -> dict:
    """What the end of the training has judged of its test."""
    report = out / "evaluation" / output / "report.json"
    expect(report.exists(), f"{out.name}: judged at its end {output}")
    return json.loads(report.read_text())


def value_of(report: dict, name: str) -> float:
    return next(score["value"] for score in report["models"][0]["scores"] if score["name"] == name)


def epochs(out: pathlib.Path) -> list[dict]:
    return [line for line in runs.lines(out) if line["kind"] == "epoch"]


def floats_in(checkpoint: pathlib.Path, part: str) -> np.ndarray:
    """The first tensor of a safetensors file whose name holds `part`."""
    data = checkpoint.read_bytes()
    size = int.from_bytes(data[:8], "little")
    begin, end = next(entry["data_offsets"] for name, entry in json.loads(data[8 : 8 + size]).items() if part in name)
    return np.frombuffer(data[8 + size + begin : 8 + size + end], "f4")


def roc_auc(*arguments, **settings) -> float:
    from sklearn.metrics import roc_auc_score  # here alone: a start of a second and a half, which other tests that use this file save

    return roc_auc_score(*arguments, **settings)


def far(a, b) -> float:
    a, b = np.asarray(a, "f8"), np.asarray(b, "f8")
    return float(np.max(np.abs(a - b)) / max(1e-3, np.max(np.abs(b))))


def beside_keras(folder: pathlib.Path, data: dict, what: str, loss, activation: str, units: int, target: str, optimizer: tuple,
                 metrics: list, settings: dict | None = None, class_weight: dict | None = None, sample_weight=None) -> None:
    keras.utils.set_random_seed(1)
    model = classifier(activation, units, recurrent=LONG or what == "adam")
    path = folder / "start.keras"
    model.save(path)
    name = loss if isinstance(loss, str) else loss.name
    out = folder / what
    tuning = {f"train.optimizer.{key}": value for key, value in optimizer[0].items()}
    train(job_of(folder, path, target, {"train.fit.loss": name, "train.fit.metrics": metrics, **tuning, **(settings or {})}), out)
    model.compile(optimizer=optimizer[1](), loss=loss, metrics=metrics)
    history = model.fit([data["features"], data["list"]], data[target], batch_size=EVENTS, epochs=EPOCHS, shuffle=False, verbose=0,
                        class_weight=class_weight, sample_weight=sample_weight).history
    measures = ["loss", *metrics]
    losses = [[line["train"][measure] for measure in measures] for line in epochs(out)]
    expected = [[history[measure][epoch] for measure in measures] for epoch in range(EPOCHS)]
    trained = keras.models.load_model(out / "models" / "model.keras")
    weights = max(far(a, b) for a, b in zip(trained.get_weights(), model.get_weights()))
    worst = max(far([row[i] for row in losses], [row[i] for row in expected]) for i in range(len(measures)))
    expect(len(losses) == EPOCHS and worst < TOLERANCE and weights < 10 * TOLERANCE,
           f"{what}: {', '.join(measures)} of {EPOCHS} epochs within {worst:.1e}, weights within {weights:.1e}")


def winding(recurrent: bool = True) -> keras.Model:
    """A model in the model, batch normalisation, also behind a mask, and layers that the file lists in another order than they are computed in."""
    features, particles = keras.Input((4,), name="features"), keras.Input((7, 3), name="list")
    late = L.Dense(6, activation="tanh", name="late")
    inner_input = keras.Input((6,))
    inner = keras.Model(inner_input, L.Dense(6, activation="tanh")(L.BatchNormalization()(inner_input)), name="inner")
    normed = L.BatchNormalization(name="of_particles")(L.Masking()(particles))
    read = L.Bidirectional(L.GRU(3), name="both")(normed) if recurrent else L.GlobalAveragePooling1D()(normed)
    # No bias ahead of a batch normalisation: its gradient is zero but for rounding, of which Lion takes the sign.
    short, long = L.Dense(6, name="short")(read), inner(inner(L.Dense(6, use_bias=False, name="long")(features)))
    return keras.Model([features, particles], L.Dense(3, activation="softmax", name="out")(L.Add()([late(long), short])))


def compiled(folder: pathlib.Path, data: dict, name: str) -> None:
    """Keras trains, linac goes on, Keras goes on: as if Keras had done it all. The job names no loss and no optimizer."""
    keras.utils.set_random_seed(4)
    model, x, y = winding(LONG or name == "amsgrad"), [data["features"], data["list"]], data["one_hot"]
    model.compile(optimizer=OPTIMIZERS[name][1](), loss="categorical_crossentropy", metrics=["accuracy"])

    def fit(some: keras.Model, count: int) -> list:
        return some.fit(x, y, batch_size=EVENTS, epochs=count, shuffle=False, verbose=0).history["loss"]

    fit(model, 3)
    path, out = folder / f"compiled-{name}.keras", folder / f"compiled-{name}"
    model.save(path)
    train(job_of(folder, path, "one_hot", {"train.replicas": 1, "train.batch": EVENTS}), out)
    expected = fit(model, EPOCHS)
    losses = [line["train"]["loss"] for line in epochs(out)]
    home = keras.models.load_model(out / "models" / "model.keras")
    state = max(far(a.numpy(), b.numpy()) for a, b in zip(home.optimizer.variables, model.optimizer.variables))
    scores = far(home.predict(x, verbose=0), model.predict(x, verbose=0))  # by running statistics, of a layer that is called twice as well
    same_count = len(home.optimizer.variables) == len(model.optimizer.variables)
    after, expected_after = fit(home, 3), fit(model, 3)
    expect(far(losses, expected) < TOLERANCE and same_count and max(state, scores) < 20 * TOLERANCE and far(after, expected_after) < 2 * TOLERANCE,
           f"compiled with {name}: losses within {far(losses, expected):.1e}, the optimizer's state within {state:.1e}, scores within {scores:.1e}, "
           f"trained on in Keras within {far(after, expected_after):.1e}")
    expect("accuracy" in epochs(out)[0]["train"] and "restore: true" in (out / "job.yaml").read_text(),
           f"compiled with {name}: metrics are taken over, and the job says so")


def compiled_logits(folder: pathlib.Path, data: dict) -> None:
    """Settings of a compiled loss count, and go back to Keras; behind a softmax from_logits counts nothing, as in Keras."""
    x, y = [data["features"], data["list"]], data["one_hot"]
    for activation in ("linear", "softmax"):
        keras.utils.set_random_seed(8)
        model = classifier(activation, 3, recurrent=False)
        model.compile(keras.optimizers.SGD(0.05), keras.losses.CategoricalCrossentropy(from_logits=True, label_smoothing=0.1))
        path, out = folder / f"logits-{activation}.keras", folder / f"logits-{activation}"
        model.save(path)
        text = train(job_of(folder, path, "one_hot", {"train.replicas": 1, "train.batch": EVENTS}), out)
        expected = model.fit(x, y, batch_size=EVENTS, epochs=EPOCHS, shuffle=False, verbose=0).history["loss"]
        losses = [line["train"]["loss"] for line in epochs(out)]
        home = keras.models.load_model(out / "models" / "model.keras")
        after = abs(home.evaluate(x, y, verbose=0) - model.evaluate(x, y, verbose=0))
        expect(far(losses, expected) < TOLERANCE and after < 20 * TOLERANCE,
               f"compiled from logits, {activation}: losses within {far(losses, expected):.1e}, Keras's of the trained file within {after:.1e}")
        expect(("taken for a probability" in text) == (activation == "softmax") and home.loss.from_logits == (activation == "linear"),
               f"compiled from logits, {activation}: {home.loss.get_config()}")


def two_outputs() -> keras.Model:
    features, particles = keras.Input((4,), name="features"), keras.Input((7, 3), name="list")
    x = L.Dense(8, activation="tanh")(L.Concatenate()([features, L.GRU(5)(particles)]))
    return keras.Model([features, particles], [L.Dense(3, activation="softmax", name="kind")(x), L.Dense(2, name="size")(x)])


def every_output(folder: pathlib.Path, data: dict) -> None:
    """Losses and metrics of two outputs, with and without weights of the events, as Keras names and counts them; from a compiled file and
    back into one; in any part of the record; in steps of several replicas and on any number of workers."""
    keras.utils.set_random_seed(8)
    model, x, y = two_outputs(), [data["features"], data["list"]], [data["one_hot"], data["values2"]]
    metrics = {"kind": ["accuracy", "recall", keras.metrics.F1Score("micro", 0.5)], "size": ["mean_squared_error", "mean_absolute_error"]}
    weighted = {"kind": ["accuracy", "recall", "precision"], "size": ["mean_absolute_error"]}
    model.compile(optimizer=keras.optimizers.Adam(0.02), loss={"kind": "categorical_crossentropy", "size": "huber"}, loss_weights={"kind": 1.0, "size": 0.5},
                  metrics=metrics, weighted_metrics=weighted)
    path, out = folder / "outputs.keras", folder / "outputs"
    model.save(path)
    targets = [{"name": "size", "column": "values2"}, {"name": "kind", "column": "one_hot"}]
    data_settings = {"data.targets": targets, "data.event_weight": "weight", "data.test": [str(folder / "events.h5")]}
    names = {"data.classes": ["QCD", "top", "W"]}  # of the output kind; no word on size
    train(job_of(folder, path, "", {**data_settings, **names, "train.early_stopping.monitor": "size_weighted_mean_absolute_error"}), out)
    kind, size = judged(out, "kind"), judged(out, "size")
    last = epochs(out)[-1]["test"]
    expect(abs(value_of(kind, "accuracy") - last["kind_weighted_accuracy"]) < 1e-5 and kind["parts"] == names["data.classes"],
           f"judged at the end, kind: accuracy {value_of(kind, 'accuracy'):.6f} of {kind['parts']}")
    mae = np.mean([score["value"] for score in size["models"][0]["scores"] if score["name"] == "mae"])
    expect(abs(mae - last["size_weighted_mean_absolute_error"]) < 1e-5, f"judged at the end, size: mean absolute error {mae:.6f}")
    weights = [data["weight"], data["weight"]]
    history = model.fit(x, y, batch_size=EVENTS, epochs=EPOCHS, shuffle=False, verbose=0, sample_weight=weights,
                        validation_data=(x, y, weights)).history
    ours = {**{name: [line["train"][name] for line in epochs(out)] for name in epochs(out)[0]["train"]},
            **{"val_" + name: [line["test"][name] for line in epochs(out)] for name in epochs(out)[0]["test"]}}
    expect(set(ours) == set(history), f"two outputs: the names of Keras's history: {sorted(history)}; not {sorted(set(ours) ^ set(history))}")
    worst = max((far(ours[name], history[name]), name) for name in set(history) & set(ours))
    home = keras.models.load_model(out / "models" / "model.keras")
    state = max(far(a, b) for a, b in zip(home.get_weights(), model.get_weights()))
    expect(worst[0] < TOLERANCE and state < 10 * TOLERANCE, f"two outputs: {len(ours)} measures within {worst[0]:.1e} ({worst[1]}), weights within {state:.1e}")
    again = home.fit(x, y, batch_size=EVENTS, epochs=1, shuffle=False, verbose=0, sample_weight=weights).history
    expect(set(again) == {name for name in history if not name.startswith("val_")}, f"they are kept in the model: {sorted(again)}")
    step = next(line["loss"] for line in runs.lines(out) if line["kind"] == "step")
    expect(set(step) == set(epochs(out)[0]["train"]), "a step has the measures of an epoch")

    named = {"train.fit.loss": ["categorical_crossentropy", "huber"], "train.fit.metrics": ["auc", "size_mse", "kind_accuracy"],
             "train.fit.weighted_metrics": ["kind_auc", "kind_accuracy"], "train.replicas": 3, "train.batch": 8, "train.epochs": 3,
             "train.optimizer.name": "adam", "checkpoint.best_by": "kind_weighted_auc"}
    files = []
    for workers in (1, 3):
        home = folder / f"outputs-{workers}"
        text = train(job_of(folder, path, "", {**data_settings, **named}), home, "--workers", str(workers))
        files.append(sorted((home / "checkpoints").glob("step-*.safetensors"))[-1].read_bytes())
    expect(files[0] == files[1], "two outputs with weights: 1 and 3 workers write the same checkpoint")
    expect("kind_weighted_auc" in text, "the table of epochs has them")
    last, first = epochs(folder / "outputs-1")[-1], epochs(folder / "outputs-1")[0]["train"]
    expect(set(last["test"]) == {"loss", "kind_loss", "size_loss", "kind_auc", "size_auc", "size_mean_squared_error", "kind_accuracy",
                                "kind_weighted_auc", "kind_weighted_accuracy"}, f"test measures: {sorted(last['test'])}")
    expect(last["test"]["kind_auc"] != last["test"]["kind_weighted_auc"] and 0 < first["kind_weighted_accuracy"] < 1, "weighted and not are two numbers")
    trained = keras.models.load_model(folder / "outputs-1" / "models" / "model.keras")
    scores = trained.predict(x, verbose=0)[0]
    absolute = np.abs(data["weight"])  # scikit-learn's curve wants weights not below zero
    with h5py.File(folder / "events.h5", "a") as file:
        file["absolute"] = absolute
    resting = {**data_settings, **named, "data.event_weight": "absolute", "train.optimizer.name": "sgd", "train.optimizer.lr": 1e-12, "train.epochs": 1}
    home = folder / "outputs-auc"
    train(job_of(folder, folder / "outputs-1" / "models" / "model.keras", "", resting), home)
    last = epochs(home)[-1]
    for name, sample_weight, arguments in (("kind_auc", None, ["--weights", "none"]), ("kind_weighted_auc", absolute, [])):
        expected = np.mean([roc_auc(data["index"] == c, scores[:, c], sample_weight=sample_weight) for c in range(3)])
        expect(abs(last["test"][name] - expected) < 1e-5, f"{name}: {last['test'][name]:.6f}, scikit-learn {expected:.6f}")
        done = subprocess.run([LINAC, "evaluate", "--model", home, "--data", folder / "events.h5", "--json", "--bootstraps", "0", *arguments],
                              capture_output=True, text=True)
        found = [score["value"] for score in json.loads(done.stdout)["models"][0]["scores"] if score["name"] == "auc_macro"]
        expect(abs(found[0] - expected) < 1e-5, f"linac evaluate {' '.join(arguments)}: {found[0]:.6f}")
    for arguments, status, words in ((["--field", "size", "--task", "regression", "--json"], 0, "outputs:size"),
                                     (["--field", "kind", "--json"], 0, "outputs:kind"),
                                     ([], 0, "--field names another"), (["--field", "kinds"], 2, "did you mean kind? (it has: kind, size)"),
                                     (["--input", "lists=list"], 2, "--input lists: the model has no such input; did you mean list?")):
        done = subprocess.run([LINAC, "evaluate", "--model", folder / "outputs", "--data", folder / "events.h5", "--bootstraps", "0", *arguments],
                              capture_output=True, text=True)
        expect(done.returncode == status and words in done.stdout + done.stderr, f"evaluate {' '.join(arguments)}: {done.stderr.strip()[-200:]}")
    for what, settings, words in (
        ("unknown-metric", {"train.fit.metrics": ["kind_acuracy"]}, "did you mean kind_accuracy"),
        ("not-of-numbers", {"train.fit.loss": ["sparse_categorical_crossentropy", "huber"], "train.fit.metrics": ["mse"],
                            "data.targets": [{"column": "index"}, {"column": "values2"}]}, "its targets are class numbers"),
        ("unknown-measure", {"checkpoint.best_by": "accuracy"}, "kind_accuracy"),
    ):
        text = train(job_of(folder, path, "", {**data_settings, **named, **settings}), folder / what, status=2)
        expect(words in text, f"{what}: {text.strip().splitlines()[-1][:200]}")


def every_metric(folder: pathlib.Path) -> None:
    """A model trained with all metrics there are: Keras loads it, with those that it has by the same name."""
    keras.utils.set_random_seed(8)
    path, out = folder / "metrics.keras", folder / "metrics"
    classifier("softmax", 3).save(path)
    settings = {"train.fit.loss": "categorical_crossentropy", "train.epochs": 1, "data.test": [str(folder / "events.h5")]}
    text = train(job_of(folder, path, "one_hot", {**settings, "train.fit.metrics": ["none"]}), out, status=2)
    names = text.split("(known: ")[1].split(")")[0].split(", ")
    text = train(job_of(folder, path, "one_hot", {**settings, "train.fit.metrics": names}), out)
    expect(set(epochs(out)[0]["test"]) == {"loss", *names}, f"all metrics: {names}")
    said = next(line for line in text.splitlines() if "compile() in it is without" in line)
    home = keras.models.load_model(out / "models" / "model.keras")
    data = h5py.File(folder / "events.h5")
    found = home.evaluate([data["features"][:], data["list"][:]], data["one_hot"][:], batch_size=EVENTS, verbose=0, return_dict=True)
    ours = epochs(out)[0]["test"]
    # Of an output behind a softmax, Keras takes what is before it for logits of a sigmoid in this one.
    worst = max((abs(found[name] - ours[name]) / max(1, abs(ours[name])), name) for name in found if name != "binary_crossentropy")
    expect(set(found) | {name for name in names if name in said} == set(ours) and worst[0] < TOLERANCE,
           f"Keras loads it, and finds the same {sorted(found)} within {worst[0]:.1e} ({worst[1]}): {said}")
    expect(text.count("compile() in it is without") == 1 and "huber" in said and "auc" in said, "what Keras does not have is said once")


def weighted_steps(folder: pathlib.Path, data: dict) -> None:
    """Several steps an epoch: a weighted metric is divided by the weights of the whole epoch, not the mean of the steps' values."""
    keras.utils.set_random_seed(9)
    model, path, out = classifier("softmax", 3), folder / "weighted.keras", folder / "weighted"
    model.save(path)
    train(job_of(folder, path, "one_hot", {"train.fit.loss": "categorical_crossentropy", "train.fit.weighted_metrics": ["accuracy", "recall"], "train.epochs": 1,
                                           "train.batch": 4, "data.event_weight": "weight", "train.optimizer.name": "sgd", "train.optimizer.lr": 1e-12}), out)
    scores = model.predict([data["features"], data["list"]], verbose=0)
    found_of = scores[np.arange(EVENTS), data["index"]] > 0.5  # the true class is among those above the threshold
    for name, right in (("accuracy", scores.argmax(1) == data["index"]), ("recall", found_of)):
        expected = (right * data["weight"]).sum() / data["weight"].sum()
        found = epochs(out)[0]["train"][name]
        expect(0 < found and abs(found - expected) < 1e-5, f"weighted {name} of an epoch of 12 steps: {found:.6f}, of all events at once {expected:.6f}")


def behind_a_mask(folder: pathlib.Path, data: dict) -> None:
    """Steps that a mask hides are left out of losses and metrics, in training and in the test."""
    keras.utils.set_random_seed(11)
    steps = (data["list"].sum(2, keepdims=True) > 0.3).astype("f4")
    with h5py.File(folder / "events.h5", "a") as file:
        file["steps"] = steps
    inputs = keras.Input((7, 3), name="list")
    x = L.BatchNormalization()(L.Dense(4, activation="tanh")(L.Masking()(inputs)))
    model = keras.Model(inputs, L.Dense(1, activation="sigmoid", name="out")(x))
    metrics = ["accuracy", "mean_absolute_error", "recall"]
    model.compile(optimizer=keras.optimizers.SGD(0.1), loss="binary_crossentropy", metrics=metrics)
    path, out = folder / "masked.keras", folder / "masked"
    model.save(path)
    train(job_of(folder, path, "steps", {"train.replicas": 1, "train.batch": EVENTS, "data.test": [str(folder / "events.h5")]}), out)
    history = model.fit(data["list"], steps, batch_size=EVENTS, epochs=EPOCHS, shuffle=False, verbose=0,
                        validation_data=(data["list"], steps), validation_batch_size=EVENTS).history
    for part, prefix in (("train", ""), ("test", "val_")):
        for name in ["loss", *metrics]:
            apart = far([line[part][name] for line in epochs(out)], history[prefix + name])
            # A step at one half may fall to either side.
            expect(apart < (0.01 if name in ("accuracy", "recall") else TOLERANCE), f"behind a mask: {part} {name} within {apart:.1e}")


def steps_weighted(folder: pathlib.Path, data: dict) -> None:
    """A weight for each step, as Keras takes sample_weight of shape (batch, steps): of a loss and metrics, behind a mask and without one."""
    rng = np.random.default_rng(4)
    weights = rng.uniform(0, 2, (EVENTS, 7)).astype("f4")
    labels, kinds = (data["list"][..., :1] > 0).astype("f4"), data["list"].argmax(2).astype("i4")
    with h5py.File(folder / "by_step.h5", "w") as file:
        file["list"], file["labels"], file["kinds"], file["weights"] = data["list"], labels, kinds, weights
    lengths = np.where(np.abs(data["list"]).sum(2) > 0, np.arange(1, 8), 0).max(1)
    ragged = {name: pa.array([row[:length].tolist() for row, length in zip(values, lengths)])
              for name, values in (("list", data["list"]), ("labels", labels), ("weights", weights))}
    pq.write_table(pa.table(ragged), folder / "by_step.parquet")
    for name, target, units, activation, loss, masked in (("labels", "labels", 1, "sigmoid", "binary_crossentropy", True),
                                                          ("kinds", "kinds", 3, "softmax", "sparse_categorical_crossentropy", True),
                                                          ("plain", "labels", 1, "sigmoid", "mean_squared_error", False)):
        keras.utils.set_random_seed(13)
        inputs = keras.Input((7, 3), name="list")
        x = L.Dense(4, activation="tanh")(L.Masking()(inputs) if masked else inputs)
        model = keras.Model(inputs, L.Dense(units, activation=activation, name="out")(x))
        metrics = ["accuracy"] if units > 1 else ["accuracy", "mean_absolute_error", "precision"]
        model.compile(optimizer=keras.optimizers.SGD(0.1), loss=loss, weighted_metrics=metrics)
        path, truth = folder / "by_step.keras", labels if units == 1 else kinds
        model.save(path)
        history = model.fit(data["list"], truth, batch_size=EVENTS, epochs=EPOCHS, shuffle=False, verbose=0, sample_weight=weights,
                            validation_data=(data["list"], truth, weights), validation_batch_size=EVENTS).history
        files = {"h5": "weights", "parquet": "where(weights > 0, weights, 0)"}
        for ending, weight in files.items() if name == "labels" else (("h5", "weights"),):
            events, out = str(folder / f"by_step.{ending}"), folder / "by_step"
            train(job_of(folder, path, target, {"train.replicas": 1, "train.batch": EVENTS, "data.train": [events], "data.test": [events],
                                                "data.event_weight": weight}), out)
            for part, prefix in (("train", ""), ("test", "val_")):
                for measure in ["loss", *metrics]:
                    apart = far([line[part][measure] for line in epochs(out)], history[prefix + measure])
                    limit = 0.01 if measure in ("accuracy", "precision") else TOLERANCE  # a step at one half may fall to either side
                    expect(apart < limit, f"weights of steps, {name}, {ending}: {part} {measure} within {apart:.1e}")
            p = keras.models.load_model(out / "models" / "model.keras").predict(data["list"], verbose=0)
            if units == 1 and not masked:
                continue
            there = np.arange(7) < lengths[:, None]
            done = subprocess.run([LINAC, "evaluate", "--model", out, "--data", events, "--json", "--bootstraps", "0"], capture_output=True, text=True)
            found = [score["value"] for score in json.loads(done.stdout)["models"][0]["scores"] if score["name"] == "accuracy"] if done.returncode == 0 else [9]
            right = p[..., 0].round() == labels[..., 0] if units == 1 else p.argmax(2) == kinds
            expected = np.average(right[there], weights=weights[there])
            expect(abs(found[0] - expected) < 1e-5, f"evaluate by weights of steps: {found[0]:.6f} and {expected:.6f} {done.stderr[-200:]}")
    settings = {"data.train": [str(folder / "by_step.h5")], "data.event_weight": "weights"}
    text = train(job_of(folder, folder / "by_step.keras", "labels", {**settings, "train.fit.class_weight": [1.0, 2.0]}), folder / "by_step", status=2)
    expect("'weights' weighs steps" in text, "weights of classes are for events")
    both = keras.Model(model.inputs, [model.outputs[0], L.Dense(1, name="alone")(L.Flatten()(model.outputs[0]))])
    both.save(folder / "by_step_alone.keras")
    text = train(job_of(folder, folder / "by_step_alone.keras", "labels", {**settings, "train.fit.loss": ["binary_crossentropy", "output"]}),
                 folder / "by_step", status=2)
    expect("output 'alone' has not the 7 steps" in text, f"an output of its own loss has no steps to weigh: {text[-200:]}")
    auc = {**settings, "data.test": settings["data.train"], "train.fit.metrics": ["auc"], "train.fit.weighted_metrics": ["auc"], "train.optimizer.lr": 1e-12,
           "train.epochs": 1}
    train(job_of(folder, folder / "by_step.keras", "labels", auc), folder / "by_step")
    p = keras.models.load_model(folder / "by_step.keras").predict(data["list"], verbose=0)
    for measure, sample_weight in (("auc", None), ("weighted_auc", weights.ravel())):
        expected, found = roc_auc(labels.ravel(), p.ravel(), sample_weight=sample_weight), epochs(folder / "by_step")[0]["test"].get(measure, 9)
        expect(abs(found - expected) < 1e-5, f"{measure} of all steps: {found:.6f}, scikit-learn {expected:.6f}")


def another_mask_value(folder: pathlib.Path, data: dict) -> None:
    """Masking(-999): lists of any length are padded with it, rows of it are neither counted nor scaled, from training to predictions."""
    keras.utils.set_random_seed(14)
    hidden = np.float32(-999)
    lengths = np.where(np.abs(data["list"]).sum(2) > 0, np.arange(1, 8), 0).max(1)
    there = np.arange(7) < lengths[:, None]
    values = np.where(there[..., None], data["list"] * 3 + 5, hidden).astype("f4")
    label = (values[:, :, 0].clip(-50).sum(1, keepdims=True) > 10).astype("f4")
    pq.write_table(pa.table({"list": pa.array([row[:length].tolist() for row, length in zip(values, lengths)]), "label": pa.array(label[:, 0])}),
                   folder / "hidden.parquet")
    with h5py.File(folder / "hidden.h5", "w") as file:
        file["list"], file["label"] = values, label
    inputs = keras.Input((None, 3), name="list")
    x = L.GlobalAveragePooling1D()(L.Dense(4, activation="tanh")(L.Masking(-999.0)(inputs)))
    model = keras.Model(inputs, L.Dense(1, activation="sigmoid", name="out")(x))
    model.compile(optimizer=keras.optimizers.SGD(0.1), loss="binary_crossentropy")
    path, constants = folder / "hidden.keras", folder / "hidden.json"
    model.save(path)
    weights, mean, std = model.get_weights(), values[there].mean(0), values[there].std(0)
    for scaling, ending in (("none", "parquet"), ("standard", "h5")):
        seen = values if scaling == "none" else np.where(there[..., None], (values - mean) / std, hidden).astype("f4")
        model.set_weights(weights)
        expected = model.fit(seen, label, batch_size=EVENTS, epochs=EPOCHS, shuffle=False, verbose=0).history["loss"]
        events, out = str(folder / f"hidden.{ending}"), folder / "hidden"
        job = job_of(folder, path, "label", {"train.replicas": 1, "train.batch": EVENTS, "data.train": [events],
                                             "data.scaling": str(constants) if scaling != "none" else "", "data.inputs": [{"column": "list", "scaling": scaling}]})
        for words in (["--padding", "-999"], ["--job", job]) if scaling != "none" else ():
            constants.unlink(missing_ok=True)
            done = subprocess.run([LINAC, "data", "scaling", events, "--column", "list:7x3", *words, "--out", constants], capture_output=True, text=True)
            apart = far(json.loads(constants.read_text())["list"]["mean"], mean) if done.returncode == 0 else 9
            expect(apart < 1e-5, f"scaling of {ending} by {words[0]}: mean within {apart:.1e} {done.stderr[-200:]}")
        text = train(job, out)
        apart = far([line["train"]["loss"] for line in epochs(out)], expected)
        expect(apart < TOLERANCE and "Masking" not in text, f"Masking(-999) of {ending}, scaling {scaling}: losses within {apart:.1e}")
        with zipfile.ZipFile(out / "models" / "model.keras") as file:
            padding = json.loads(file.read("linac.json"))["inputs"][0].get("padding")
        expect(padding == -999, f"the note in the model says it: {padding}")
        done = subprocess.run([LINAC, "predict", "--model", out, "--data", events, "--out", folder / "hidden-scores.h5"], capture_output=True, text=True)
        with h5py.File(folder / "hidden-scores.h5") as file:
            apart = far(file["out"][:], model.predict(seen, verbose=0))
        expect(done.returncode == 0 and apart < TOLERANCE, f"Masking(-999) of {ending}, scaling {scaling}: predictions within {apart:.1e}")


def indices(folder: pathlib.Path) -> None:
    """Indices that an Embedding has no row for are refused before the first step, by check and predict too."""
    inputs = keras.Input((2,), name="kind")
    model = keras.Model(inputs, L.Dense(1, activation="sigmoid")(L.Flatten()(L.Embedding(5, 2, name="table")(inputs))))
    model.compile(loss="binary_crossentropy")
    path = folder / "indices.keras"
    model.save(path)
    for bad in (5, -1, 2.5):
        kinds = np.ones((EVENTS, 2), "f4")
        kinds[7, 1] = bad
        with h5py.File(folder / "indices.h5", "w") as file:
            file["kind"], file["label"] = kinds, np.arange(EVENTS, dtype="f4") % 2
        job = job_of(folder, path, "label", {"data.train": [str(folder / "indices.h5")]})
        where = ("indices.h5", "event 7", "'kind'", f"holds {bad}")
        for verb in (["check", job], ["train", job, "--out", folder / "indices"],
                     ["predict", "--model", path, "--data", folder / "indices.h5", "--out", folder / "scores.h5"]):
            done = subprocess.run([LINAC, *verb], capture_output=True, text=True)
            said = done.stdout + done.stderr
            expect(done.returncode == 3 and all(word in said for word in (*where, "'table'", "0 to 4")) and "Exception" not in said,
                   f"{verb[0]} of an index of {bad}: status {done.returncode}, {said.strip()[-200:]}")


def categories(folder: pathlib.Path) -> None:
    """Operations that take an input as an index. Keras cuts fractions off; of an index beyond its classes one_hot makes zeros, as of the -1
    that stands for none, and take_along_axis stops with TensorFlow's error."""
    kind = keras.Input((2,), name="kind")
    hot = keras.Model(kind, L.Dense(1, activation="sigmoid", name="out")(L.Flatten()(ops.one_hot(kind, 3))))
    cut = keras.Model(kind, L.Dense(1, activation="sigmoid", name="out")(L.Flatten()(ops.one_hot(ops.cast(kind, "int32"), 3))))
    taken = keras.Model(kind, L.Dense(1, activation="sigmoid", name="out")(ops.take_along_axis(ops.sin(kind), kind, axis=1)))
    for model, name, bad, good, words in ((hot, "one_hot", (3, 0.5), (-1, 2), "one_hot of 3 classes) takes whole numbers from -1 to 2"),
                                          (cut, "one_hot", (3.5, -2), (2.5, -0.5), "one_hot of 3 classes, fractions cut off) takes numbers from -1.9990234375 to 2.9990234375"),
                                          (taken, "take_along_axis", (2, 0.5, -3), (-2, 1), "take_along_axis of 2) takes whole numbers from -2 to 1")):
        path, events = folder / "categories.keras", folder / "categories.h5"
        model.save(path)
        for value in (*bad, *good):
            kinds = np.zeros((EVENTS, 2), "f4")
            kinds[7, 1] = value
            with h5py.File(events, "w") as file:
                file["kind"], file["label"] = kinds, np.arange(EVENTS, dtype="f4") % 2
            done = subprocess.run([LINAC, "predict", "--model", path, "--data", events, "--out", folder / "scores.h5"], capture_output=True, text=True)
            try:
                theirs = model.predict(kinds, verbose=0)
            except tf.errors.InvalidArgumentError:
                theirs = None
            expect((theirs is None) == (name == "take_along_axis" and value in (2, -3)), f"Keras's {name} of {value}")
            if value in good:
                expect(done.returncode == 0, f"{name} of {value}: {done.stderr[-200:]}")
                with h5py.File(folder / "scores.h5") as file:
                    expect(far(file["out"][:], theirs) < 1e-5, f"{name} of {value}: as Keras")
                continue
            where = ("categories.h5", "event 7", "'kind'", f"holds {value}", words)
            expect(done.returncode == 3 and all(word in done.stderr for word in where), f"{name} of {value}: status {done.returncode}, {done.stderr[-250:]}")


def restrained(folder: pathlib.Path, data: dict) -> None:
    """Weights that add to the loss, and layers that stay as they are: among them batch normalisation, which then is no statistics."""
    keras.utils.set_random_seed(6)
    regularizers = keras.regularizers
    features, particles = keras.Input((4,), name="features"), keras.Input((7, 3), name="list")
    x = L.Dense(6, activation="tanh", kernel_regularizer=regularizers.L2(0.02), bias_regularizer=regularizers.L1(0.03))(features)
    normal = L.BatchNormalization(trainable=False)
    read = L.Bidirectional(L.GRU(4, kernel_regularizer=regularizers.L1L2(0.01, 0.01), recurrent_regularizer="l2"))(particles)
    y = L.Dense(4, activation="relu", trainable=False, kernel_regularizer="l2")(read)
    out = L.Dense(3, activation="softmax", kernel_regularizer=regularizers.L1L2(0.01, 0.02))(L.Concatenate()([normal(x), y]))
    model = keras.Model([features, particles], out)
    normal.set_weights([w + 0.3 for w in normal.get_weights()])
    model.compile(optimizer=keras.optimizers.Adam(0.02), loss="categorical_crossentropy")
    path, home = folder / "restrained.keras", folder / "restrained"
    model.save(path)
    train(job_of(folder, path, "one_hot", {"data.test": [str(folder / "events.h5")]}), home)
    inputs = [data["features"], data["list"]]
    history = model.fit(inputs, data["one_hot"], batch_size=EVENTS, epochs=EPOCHS, shuffle=False, verbose=0,
                        validation_data=(inputs, data["one_hot"])).history
    worst = max(far([line[part]["loss"] for line in epochs(home)], history[name]) for part, name in (("train", "loss"), ("test", "val_loss")))
    trained = keras.models.load_model(home / "models" / "model.keras")
    weights = max(far(a, b) for a, b in zip(trained.get_weights(), model.get_weights()))
    expect(worst < TOLERANCE and weights < 10 * TOLERANCE, f"regularizers and frozen layers: losses within {worst:.1e}, weights within {weights:.1e}")
    expect(len(trained.trainable_weights) == len(model.trainable_weights) and len(trained.losses) == len(model.losses) == 7,
           f"they are kept: {len(trained.trainable_weights)} trained weights, {len(trained.losses)} penalties")


def confined() -> keras.Model:
    """Weights that are brought back after each update, and outputs that add to the loss: of layers, of a call more, of masked steps."""
    bounds, penalties = keras.constraints, keras.regularizers
    features, particles = keras.Input((4,), name="features"), keras.Input((7, 3), name="list")
    dense = L.Dense(4, activation="tanh", kernel_constraint=bounds.MaxNorm(0.7), bias_constraint=bounds.NonNeg(),
                    activity_regularizer=penalties.L2(1e-3))
    x = dense(dense(features))
    cells = L.Reshape((5, 4, 4, 1))(L.Dense(80)(x))
    cells = L.Conv3D(3, (2, 3, 3), kernel_constraint=bounds.UnitNorm(axis=[0, 1, 2, 3]), activity_regularizer="l1", activation="relu")(cells)
    cells = L.Flatten()(L.Conv3D(2, 2, kernel_constraint=bounds.MinMaxNorm(0.2, 0.9, 0.5, axis=4))(cells))
    y = L.GRU(4, return_sequences=True, kernel_constraint="max_norm", recurrent_constraint=bounds.UnitNorm(axis=1),
              activity_regularizer=penalties.L1L2(1e-3, 2e-3))(L.Masking()(particles))
    y = L.Bidirectional(L.LSTM(3, kernel_constraint=bounds.MaxNorm(0.5, axis=-1)))(L.LayerNormalization(gamma_constraint="non_neg")(y))
    y = L.ActivityRegularization(1e-3, 1e-3)(L.BatchNormalization(gamma_constraint="non_neg")(y))
    out = L.Dense(3, activation="softmax", activity_regularizer=penalties.L2(0.01))(L.Concatenate()([x, y, cells]))
    model = keras.Model([features, particles], out)
    model.compile(optimizer=keras.optimizers.Adam(0.02), loss="categorical_crossentropy")
    return model


def restrained_otherwise(folder: pathlib.Path, data: dict) -> None:
    keras.utils.set_random_seed(12)
    model, path, home = confined(), folder / "confined.keras", folder / "confined"
    model.save(path)
    one = {"train.replicas": 1, "train.batch": EVENTS, "data.test": [str(folder / "events.h5")]}
    train(job_of(folder, path, "one_hot", one), home)
    inputs = [data["features"], data["list"]]
    history = model.fit(inputs, data["one_hot"], batch_size=EVENTS, epochs=EPOCHS, shuffle=False, verbose=0,
                        validation_data=(inputs, data["one_hot"]), validation_batch_size=EVENTS).history
    worst = max(far([line[part]["loss"] for line in epochs(home)], history[name]) for part, name in (("train", "loss"), ("test", "val_loss")))
    trained = keras.models.load_model(home / "models" / "model.keras")
    weights = max(far(a, b) for a, b in zip(trained.get_weights(), model.get_weights()))
    expect(worst < TOLERANCE and weights < 10 * TOLERANCE, f"constraints and activities: losses within {worst:.1e}, weights within {weights:.1e}")
    again = [far(some.fit(inputs, data["one_hot"], batch_size=EVENTS, epochs=1, shuffle=False, verbose=0).history["loss"], [0]) for some in (trained, model)]
    expect(far(again[:1], again[1:]) < 2 * TOLERANCE, f"they are kept: a further epoch in Keras has the loss {again[0]:.6f} and {again[1]:.6f}")
    files, losses = [], []
    for name, settings, workers in (("1", {}, 1), ("3", {}, 3), ("sliced", {"train.accumulate": 2}, 1)):
        out = folder / f"confined-{name}"
        train(job_of(folder, path, "one_hot", {"train.replicas": 3, "train.batch": 8, "train.epochs": 1, **settings}), out, "--workers", str(workers))
        files.append(sorted((out / "checkpoints").glob("step-*.safetensors"))[-1].read_bytes())
        losses.append(epochs(out)[0]["train"]["loss"])
    expect(files[0] == files[1], "constraints and activities: 1 and 3 workers write the same checkpoint")
    expect(far(losses[:1], losses[2:]) < 0.02, f"in slices about the same, batch normalisation apart: {losses[0]:.4f} and {losses[2]:.4f}")


def compiled_otherwise(folder: pathlib.Path) -> None:
    path = folder / "compiled.keras"

    def refused(what: str, optimizer: keras.optimizers.Optimizer, words: str) -> None:
        model = winding()
        model.compile(optimizer=optimizer, loss="categorical_crossentropy", metrics=["accuracy", keras.metrics.Recall(thresholds=0.3)])
        model.save(path)
        expect(words in train(job_of(folder, path, "one_hot", {}), folder / "refused", status=2), f"{what}: {words}")

    refused("a schedule", keras.optimizers.Adam(keras.optimizers.schedules.ExponentialDecay(0.1, 10, 0.9)), "give train.optimizer.lr")
    refused("an average of weights", keras.optimizers.Adam(use_ema=True), "use_ema = true")
    refused("an optimizer that is not there", keras.optimizers.Ftrl(), "the optimizer ftrl")
    model = winding()
    model.compile(loss=keras.losses.CategoricalFocalCrossentropy(gamma=3.0))
    model.save(path)
    text = train(job_of(folder, path, "one_hot", {"train.optimizer.lr": 0.1}), folder / "refused", status=2)
    expect("(gamma = 3.0)" in text, "a loss with settings that linac does not compute is not taken for its name")
    for value in (0, -0.1):
        text = train(job_of(folder, path, "one_hot", {"train.optimizer.lr": value}), folder / "refused", status=2)
        expect("train.optimizer.lr must be positive" in text, f"a rate of {value} is not left out for the file's")
    model = winding()
    model.compile(optimizer="adam", loss="categorical_crossentropy", metrics=[keras.metrics.AUC(curve="PR"), "Recall"])
    model.save(path)
    text = train(job_of(folder, path, "one_hot", {"train.epochs": 1}), folder / "curves")
    expect('auc (curve = "PR")' in text and "recall" in epochs(folder / "curves")[0]["train"], "another curve is no auc; a text may name a class")
    model = winding()
    model.compile(optimizer=keras.optimizers.Adam(0.5), loss="categorical_crossentropy", metrics=["accuracy", keras.metrics.Recall(thresholds=0.3)])
    model.save(path)  # never trained: no state
    text = train(job_of(folder, path, "one_hot", {"train.optimizer.lr": 0.25, "train.epochs": 1}), folder / "rate")
    job = (folder / "rate" / "job.yaml").read_text()
    expect("recall (thresholds = 0.3)" in text and "lr: 0.25" in job and "name: adam" in job, "the job's rate counts; a metric that is not there is named")


def own_layers(folder: pathlib.Path, data: dict) -> None:
    """A model with a Lambda and a layer of one's own, through linac.keras.save: trained by linac as Keras trains what was saved, with the
    weights' regularizer and constraint; Keras loads it."""
    keras.utils.set_random_seed(11)
    features, particles = keras.Input((4,), name="features"), keras.Input((7, 3), name="list")
    sums = L.Lambda(lambda x: ops.sum(ops.tanh(x[..., :2]), axis=1) * 0.5, name="sums")(particles)
    x = traced_models.Scaled(6, name="scaled")(L.Concatenate()([features, sums]))
    model = keras.Model([features, particles], L.Dense(3, activation="softmax", name="out")(x))
    model.compile(loss="categorical_crossentropy", optimizer=keras.optimizers.Adam(0.02), metrics=["accuracy"])
    path, home = folder / "own.keras", folder / "own"
    traced_models.linac.keras.save(model, path)
    expected, inputs = keras.models.load_model(path), [data["features"], data["list"]]
    before = far(model.predict(inputs, verbose=0), expected.predict(inputs, verbose=0))
    train(job_of(folder, path, "one_hot", {}), home, "--workers", "2")
    losses = expected.fit(inputs, data["one_hot"], batch_size=EVENTS, epochs=EPOCHS, shuffle=False, verbose=0).history["loss"]
    trained = keras.models.load_model(home / "models" / "model.keras")
    scores = far(trained.predict(inputs, verbose=0), expected.predict(inputs, verbose=0))
    worst = far([line["train"]["loss"] for line in epochs(home)], losses)
    expect(before < 1e-5 and worst < TOLERANCE and scores < 10 * TOLERANCE and len(expected.losses) == len(trained.losses) == 1,
           f"layers of one's own: saved within {before:.1e}, losses within {worst:.1e}, scores of what Keras loads within {scores:.1e}")


def dropping() -> keras.Model:
    """Dropout inside of layers, batch normalisation behind a mask, and varied images."""
    features, particles = keras.Input((4,), name="features"), keras.Input((7, 3), name="list")
    x = L.BatchNormalization()(L.Masking()(particles))
    x = L.MultiHeadAttention(2, 3, dropout=0.2)(x, x)
    x = L.Bidirectional(L.LSTM(4, dropout=0.2, return_sequences=True))(x)
    x = L.Bidirectional(L.GRU(4, dropout=0.3, recurrent_dropout=0.2))(x)
    image = L.Reshape((7, 3, 1))(particles)
    for vary in (L.RandomFlip(), L.RandomTranslation(0.3, 0.3), L.RandomRotation(0.2), L.RandomZoom(0.3), L.RandomContrast(0.5, (-9, 9)),
                 L.RandomBrightness(0.1, (-9, 9)), L.Resizing(4, 4)):
        image = vary(image)
    model = keras.Model([features, particles], L.Dense(3, activation="softmax")(L.Concatenate()([features, x, L.Flatten()(image)])))
    model.compile(loss="categorical_crossentropy", optimizer="adam")
    return model


def exact_inside(folder: pathlib.Path) -> None:
    keras.utils.set_random_seed(3)
    path, files = folder / "dropping.keras", []
    dropping().save(path)
    for precision in ("fp32", "bf16"):
        job = job_of(folder, path, "one_hot", {"train.replicas": 3, "train.batch": 8, "train.epochs": 1, "train.precision": precision})
        for workers in (1, 3):
            out = folder / f"dropping-{precision}-{workers}"
            train(job, out, "--workers", str(workers))
            files.append(sorted((out / "checkpoints").glob("step-*.safetensors"))[-1].read_bytes())
    expect(files[0] == files[1] and files[2] == files[3], "dropout inside of layers and varied images, 1 and 3 workers: the same checkpoint, byte for byte")


def exact(folder: pathlib.Path) -> None:
    """Dropout, masks, a test set, the AUC: whole checkpoints on 1, 2 and 3 workers, and after a stop and a resume."""
    keras.utils.set_random_seed(2)
    path = folder / "dropout.keras"
    classifier("softmax", 3, dropout=0.3, compiled=dict(loss="categorical_crossentropy", optimizer="adam")).save(path)
    settings = {"train.replicas": 3, "train.batch": 8, "train.epochs": 3, "data.test": [str(folder / "events.h5")],
                "train.fit.metrics": ["accuracy", "auc"], "train.optimizer.name": "adam", "checkpoint.best_by": "auc"}
    job = job_of(folder, path, "one_hot", settings)
    files = []
    for workers in (1, 2, 3):
        out = folder / f"workers-{workers}"
        train(job, out, "--workers", str(workers))
        files.append(sorted((out / "checkpoints").glob("step-*.safetensors"))[-1].read_bytes())
    expect(files[0] == files[1] == files[2], "1, 2 and 3 workers: the same checkpoint, byte for byte")
    models = [(folder / f"workers-{workers}" / "models" / "model.keras").read_bytes() for workers in (1, 2, 3)]
    expect(models[0] == models[1] == models[2], "and the same model.keras, its notes included")
    out = folder / "resumed"
    train(job, out, "--set", "train.max_steps=7")
    train(job, out, "--resume", "--workers", "2", keep=True)
    expect(sorted((out / "checkpoints").glob("step-*.safetensors"))[-1].read_bytes() == files[0], "stopped after 7 steps and resumed: the same")
    last = epochs(folder / "workers-1")[-1]["test"]
    expect(set(last) == {"loss", "accuracy", "auc"} and 0.5 < last["auc"] <= 1, f"test measures: {last}")
    expect(abs(value_of(judged(folder / "workers-3"), "auc_macro") - last["auc"]) < 1e-5, "the end of the training finds the same AUC")
    model = keras.models.load_model(folder / "workers-1" / "models" / "model.keras")
    expect(model.loss == "categorical_crossentropy", "the loss is kept in the model")

    sliced = job_of(folder, path, "one_hot", {**settings, "train.accumulate": 4, "train.epochs": 1, "data.test": [], "train.fit.metrics": [],
                                               "checkpoint.best_by": "loss"})
    train(sliced, folder / "sliced")
    expect(epochs(folder / "sliced")[0]["train"]["loss"] > 0, "a batch in four slices")


def scripted(folder: pathlib.Path, data: dict, make_script: str) -> None:
    """TorchScript: a linear layer beside Keras's; batch normalisation and dropout the same on any number of workers."""
    subprocess.run([make_script, str(folder)], check=True)
    inputs = [{"name": "features", "shape": [4]}, {"name": "list", "shape": [7, 3]}]
    settings = {"model.kind": "torchscript", "data.inputs": inputs, "train.fit.loss": "categorical_crossentropy", "train.fit.from_logits": True,
                "train.fit.metrics": ["accuracy"], "train.optimizer.name": "adam", "train.optimizer.lr": 0.02}
    train(job_of(folder, folder / "linear.pt", "one_hot", settings), folder / "script")
    model = keras.Sequential([keras.Input((4,)), L.Dense(3, kernel_initializer="zeros")])
    model.compile(optimizer=keras.optimizers.Adam(0.02), loss=keras.losses.CategoricalCrossentropy(from_logits=True))
    expected = model.fit(data["features"], data["one_hot"], batch_size=EVENTS, epochs=EPOCHS, shuffle=False, verbose=0).history["loss"]
    losses = [line["train"]["loss"] for line in epochs(folder / "script")]
    expect(far(losses, expected) < TOLERANCE, f"torchscript beside Keras: losses within {far(losses, expected):.1e}")
    subprocess.run([LINAC, "predict", "--model", folder / "script", "--data", folder / "events.h5", "--out", folder / "script.h5"], check=True)
    with h5py.File(folder / "script.h5") as file:
        predicted = far(file["output"][:], model.predict(data["features"], verbose=0))
    expect(predicted < TOLERANCE, f"torchscript: the run predicts as Keras's model, within {predicted:.1e}")
    done = subprocess.run([LINAC, "generate", "--model", folder / "script", "--events", "1", "--seed", "1", "--energy", "10", "--out", folder / "none.h5"],
                          capture_output=True, text=True)
    advised = re.search("`(linac [^`]*)`", done.stderr)
    expect(done.returncode == 2 and "models/model.pt" in done.stderr and ".keras" not in done.stderr and advised is not None,
           f"torchscript: generate says what there is: {done.stderr.strip()[-250:]}")
    command = f"{advised[1]} --data {shlex.quote(str(folder / 'events.h5'))} --out {shlex.quote(str(folder / 'advised.h5'))}"
    done = subprocess.run(command.replace("linac", shlex.quote(LINAC), 1), shell=True, capture_output=True, text=True)
    expect(done.returncode == 0, f"torchscript: the advice works: {command}")
    files = []
    job = job_of(folder, folder / "random.pt", "one_hot", {**settings, "train.replicas": 3, "train.batch": 8})
    for workers in (1, 3):
        train(job, folder / f"script-{workers}", "--workers", str(workers))
        files.append(sorted((folder / f"script-{workers}" / "checkpoints").glob("step-*.safetensors"))[-1].read_bytes())
    expect(files[0] == files[1], "torchscript with batch normalisation and dropout: 1 and 3 workers write the same checkpoint")
    means = floats_in(sorted((folder / "script-1" / "checkpoints").glob("step-*.safetensors"))[-1], "running_mean")
    expect(len(means) > 0 and np.abs(means).min() > 0, f"torchscript: running statistics follow the batches: {means[:3]}")
    again = job_of(folder, folder / "script-1" / "models" / "model.pt", "one_hot", {**settings, "train.epochs": 1})
    train(again, folder / "script-again")
    first, last = epochs(folder / "script-again")[0]["train"]["loss"], epochs(folder / "script-1")[-1]["train"]["loss"]
    expect(abs(first - last) < 0.3, f"what was trained is trained on: loss {last:.3f}, then {first:.3f}")
    wrong = job_of(folder, folder / "linear.pt", "one_hot", {**settings, "data.inputs": inputs[:1]})
    expect("forward() takes (features, list)" in train(wrong, folder / "script-wrong", status=2), "forward()'s arguments are named where the job has others")


def joined(folder: pathlib.Path, data: dict) -> None:
    """A flat ntuple in Parquet: columns joined to an input and to a target train, predict and judge as the arrays do."""
    keras.utils.set_random_seed(5)
    path, ntuple = folder / "flat.keras", folder / "flat.parquet"
    keras.Sequential([keras.Input((4,), name="features"), L.Dense(6, activation="tanh"), L.Dense(2, name="values2")]).save(path)
    scaled = {"features": 3 * data["features"] + 5, "values2": data["values2"]}
    with h5py.File(folder / "arrays.h5", "w") as file:
        for name, values in scaled.items():
            file[name] = values
    names = {name: [f"{name}_{i}" for i in range(values.shape[1])] for name, values in scaled.items()}
    pq.write_table(pa.table({column: scaled[name][:, i] for name in names for i, column in enumerate(names[name])}), ntuple)
    results = []
    for what, file, columns, input_of, target in (
        ("arrays", folder / "arrays.h5", ["features:4"], {"column": "features"}, {"column": "values2"}),
        ("ntuple", ntuple, names["features"], {"columns": names["features"]}, {"columns": names["values2"]}),
    ):
        constants = folder / f"{what}.json"
        subprocess.run([LINAC, "data", "scaling", file, *[word for column in columns for word in ("--column", column)], "--out", constants],
                       check=True, capture_output=True)
        settings = {"data.train": [str(file)], "data.inputs": [{"name": "features", **input_of, "scaling": "standard"}], "data.targets": [target],
                    "data.scaling": str(constants), "train.fit.loss": "mean_squared_error", "train.replicas": 3, "train.batch": 8}
        train(job_of(folder, path, "", settings), folder / what, "--workers", "1" if what == "arrays" else "2")
        subprocess.run([LINAC, "predict", "--model", folder / what, "--data", file, "--out", folder / f"{what}-scores.h5"], check=True, capture_output=True)
        done = subprocess.run([LINAC, "evaluate", "--model", folder / what, "--data", file, "--task", "regression", "--bootstraps", "0", "--json"],
                              capture_output=True, text=True)
        expect(done.returncode == 0, f"{what}: evaluate ends with {done.returncode} {done.stderr.strip()[-200:]}")
        with h5py.File(folder / f"{what}-scores.h5") as predicted:
            results.append((keras.models.load_model(folder / what / "models" / "model.keras").get_weights(), predicted["values2"][:],
                            [score["value"] for score in json.loads(done.stdout)["models"][0]["scores"]]))
    expect(far(results[0][1], results[1][1]) < 1e-6 and all(far(a, b) < 1e-6 for a, b in zip(results[0][0], results[1][0])),
           "joined columns train and predict as the array does")
    expect(far(results[0][2], results[1][2]) < 1e-6 and len(results[0][2]) > 2, f"and are judged alike: {len(results[0][2])} scores")
    normal = (scaled["features"] - scaled["features"].mean(0)) / scaled["features"].std(0)
    expected = keras.models.load_model(folder / "ntuple" / "models" / "model.keras").predict(normal, verbose=0)
    expect(far(results[1][1], expected) < 1e-4, f"each column is scaled by its own constants: Keras finds the same within {far(results[1][1], expected):.1e}")


def slices(folder: pathlib.Path) -> None:
    keras.utils.set_random_seed(3)
    path = folder / "plain.keras"
    classifier("softmax", 3).save(path)
    rows = []
    for accumulate in (1, 4):
        out = folder / f"accumulate-{accumulate}"
        train(job_of(folder, path, "one_hot", {"train.fit.loss": "categorical_crossentropy", "train.accumulate": accumulate,
                                               "train.optimizer.name": "adam"}), out)
        rows.append([line["train"]["loss"] for line in epochs(out)])
    expect(far(rows[0], rows[1]) < TOLERANCE, f"train.accumulate=4 is the same mathematics, within {far(rows[0], rows[1]):.1e}")


def endings(folder: pathlib.Path) -> None:
    path = folder / "plain.keras"
    base = {"train.fit.loss": "categorical_crossentropy", "data.test": [str(folder / "events.h5")], "train.optimizer.name": "sgd"}
    out = folder / "early"
    train(job_of(folder, path, "one_hot", {**base, "train.epochs": 50, "train.optimizer.lr": 1e-9, "train.early_stopping.min_delta": 1e-3,
                                           "train.early_stopping.patience": 3, "train.early_stopping.restore_best": True}), out)
    expect(len(epochs(out)) == 4, f"early stopping after {len(epochs(out))} epochs: three without a better loss")
    out = folder / "plateau"
    train(job_of(folder, path, "one_hot", {**base, "train.epochs": 5, "train.optimizer.lr": 1e-9, "train.schedule.plateau.patience": 2,
                                           "train.schedule.plateau.factor": 0.5}), out)
    rates = [line["lr"] for line in runs.lines(out) if line["kind"] == "step"]
    expect([round(rate / 1e-9, 3) for rate in rates] == [1, 1, 1, 0.5, 0.5], f"the rate falls on a plateau: {rates}")
    for what, settings, words in (
        ("unknown-loss", {"train.fit.loss": "categorical_crossentrop"}, "did you mean"),
        ("unknown-monitor", {"checkpoint.best_by": "acuracy"}, "not a measure of this run"),
        ("monitor-of-keras", {"train.early_stopping.monitor": "val_loss"}, "without val_; did you mean loss?"),
        ("part-of-a-name", {"train.fit.loss": "crossentropy"}, "did you mean binary_crossentropy?"),
        ("class-of-keras", {"train.fit.loss": "CategoricalCrossentropy"}, "did you mean categorical_crossentropy?"),
        ("no-column", {"data.targets": [{"column": "labels"}]}, "index"),
        ("wrong-shape", {"data.targets": [{"column": "values2"}]}, "values2"),
        ("no-loss", {"train.fit.loss": []}, "without a loss"),
    ):
        text = train(job_of(folder, path, "one_hot", {**base, **settings}), folder / what, status=3 if what in ("no-column", "wrong-shape") else 2)
        expect(words in text, f"{what}: {text.strip().splitlines()[-1][:160]}")


def restored(folder: pathlib.Path) -> None:
    """EarlyStopping(monitor="val_auc", restore_best_weights=True) hands over the weights that Keras restores, of an epoch that is not the best
    in loss."""
    random = np.random.default_rng(6)
    data = []
    for name, events in (("few", 96), ("held-out", 200)):
        x = random.normal(size=(events, 4)).astype("f4")
        data.append((x, (x[:, :1] + random.normal(size=(events, 1)) > 0).astype("f4")))
        with h5py.File(folder / f"{name}.h5", "w") as file:
            file["x"], file["y"] = data[-1]
    keras.utils.set_random_seed(1)
    model = keras.Sequential([keras.Input((4,), name="x"), L.Dense(16, activation="tanh"), L.Dense(1, activation="sigmoid", name="out")])
    model.save(folder / "restored.keras")
    out, stopping = folder / "restored", {"monitor": "auc", "patience": 2, "restore_best": True}
    train(job_of(folder, folder / "restored.keras", "y", {
        "data.train": [str(folder / "few.h5")], "data.test": [str(folder / "held-out.h5")], "train.epochs": 8, "train.replicas": 1, "train.batch": 96,
        "train.optimizer.name": "adam", "train.optimizer.lr": 0.1, "train.fit.loss": "binary_crossentropy", "train.fit.metrics": ["auc"],
        "train.early_stopping": stopping}), out)
    model.compile(keras.optimizers.Adam(0.1), "binary_crossentropy", metrics=[keras.metrics.AUC(num_thresholds=2000, name="auc")])
    kept, last = keras.callbacks.EarlyStopping("val_auc", mode="max", patience=2, restore_best_weights=True), []
    keep_last = keras.callbacks.LambdaCallback(on_epoch_end=lambda *_: last.append(model.get_weights()))
    history = model.fit(*data[0], batch_size=96, epochs=8, shuffle=False, verbose=0, validation_data=data[1], callbacks=[keep_last, kept]).history
    best = int(np.argmax(history["val_auc"]))
    expect(best != int(np.argmin(history["val_loss"])) and best != len(last) - 1, f"Keras's best AUC is of epoch {best + 1} of {len(last)}, and not the best loss")
    expect(len(epochs(out)) == len(last), f"as many epochs: {len(epochs(out))}")
    weights = keras.models.load_model(out / "models" / "model.keras").get_weights()
    apart = [max(far(a, b) for a, b in zip(weights, of_keras)) for of_keras in (model.get_weights(), last[-1])]
    expect(apart[0] < 10 * TOLERANCE < 0.1 * apart[1], f"the weights restored are Keras's within {apart[0]:.1e}, and {apart[1]:.1e} from its last ones")


def unfit(folder: pathlib.Path, data: dict) -> None:
    """What a loss has no meaning for is refused before a step, by check and by train, with the file, the event and the value."""
    path, binary, events = folder / "plain.keras", folder / "binary.keras", folder / "unfit.h5"
    classifier("sigmoid", 1).save(binary)
    index, levels = data["index"].copy(), data["binary"].copy()
    index[17], levels[5] = 3, 5
    with h5py.File(events, "w") as file:
        for name, values in {**data, "index": index, "levels": levels, "nothing": np.zeros(EVENTS, "f4")}.items():
            file[name] = values
    sparse = {"train.fit.loss": "sparse_categorical_crossentropy"}
    for what, model, target, settings, words in (
        ("class-3", path, "index", sparse, "unfit.h5: event 17: column 'index' holds 3, and sparse_categorical_crossentropy of 3 classes takes"),
        ("five", binary, "levels", {"train.fit.loss": "binary_crossentropy"}, "event 5: column 'levels' holds 5, and binary_crossentropy takes"),
        ("values", path, "one_hot", {"train.fit.loss": "categorical_crossentropy", "data.test": [str(events)], "data.targets": [{"column": "values"}],
                                "data.train": [str(folder / "events.h5")]}, "column 'values' holds"),
        ("no-weight", path, "one_hot", {"train.fit.loss": "categorical_crossentropy", "data.event_weight": "nothing"}, "add up to 0, so no event counts"),
    ):
        job = job_of(folder, model, target, {"data.train": [str(events)], **settings})
        for verb in ("check", "train") if what == "class-3" else ("check",):
            arguments = [LINAC, verb, str(job)] + (["--out", str(folder / what)] if verb == "train" else [])
            done = subprocess.run(arguments, capture_output=True, text=True)
            expect(done.returncode == 3 and words in done.stderr, f"{what}, {verb}: {done.returncode}, {done.stderr.strip()[-200:]}")
    ordered = folder / "ordered.h5"
    with h5py.File(ordered, "w") as file:
        for name, values in {**data, "index": np.repeat([0, 1, 2], [40, 36, 20]), "one": np.ones(EVENTS, "f4")}.items():
            file[name] = values
    for model, target, settings, words in (
        (path, "index", {**sparse, "data.validation_split": 0.2}, "are the files sorted by class?"),
        (binary, "one", {"train.fit.loss": "binary_crossentropy"}, "column 'one' is 1 in all training events"),
    ):
        done = subprocess.run([LINAC, "check", str(job_of(folder, model, target, {"data.train": [str(ordered)], "train.batch": 8, **settings}))],
                              capture_output=True, text=True)
        expect(done.returncode == 0 and words in done.stderr, f"a warning: {words}: {done.stderr.strip()[-200:]}")
    job = job_of(folder, path, "one_hot", {"train.fit.loss": "categorical_crossentropy", "train.batch": EVENTS // 2 - 9})
    said = subprocess.run([LINAC, "check", str(job)], capture_output=True, text=True).stdout
    expect(f"(18 of the {EVENTS} events are left over, others in each epoch)" in said, "check says what a batch leaves over")


def main() -> None:
    folder = pathlib.Path(sys.argv[1])
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    os.environ["LINAC_CACHE"] = str(folder / "cache")
    data = make_data(folder)
    for name, optimizer in OPTIMIZERS.items():
        optimizer[0].setdefault("name", name)
    adam = OPTIMIZERS["adam"]
    for name, optimizer in OPTIMIZERS.items() if LONG else [("adam", adam)]:
        beside_keras(folder, data, name, "categorical_crossentropy", "softmax", 3, "one_hot", optimizer, ["accuracy"])
    others = [optimizer for name, optimizer in OPTIMIZERS.items() if name != "adam"]
    for number, (name, (activation, units, target)) in enumerate(LOSSES.items()):
        target = target + "2" if (target in ("values", "positive") and units == 2) else target
        beside_keras(folder, data, name, name, activation, units, target, adam if LONG else others[number % len(others)], [])
    smooth = keras.losses.CategoricalCrossentropy(label_smoothing=0.1, name="categorical_crossentropy")
    beside_keras(folder, data, "smoothing", smooth, "softmax", 3, "one_hot", adam, [], {"train.fit.label_smoothing": 0.1})
    logits = keras.losses.CategoricalCrossentropy(from_logits=True, name="categorical_crossentropy")
    beside_keras(folder, data, "logits", logits, "linear", 3, "one_hot", adam, [], {"train.fit.from_logits": True})
    beside_keras(folder, data, "class_weight", "categorical_crossentropy", "softmax", 3, "one_hot", adam, [],
                 {"train.fit.class_weight": [1.0, 2.5, 0.5]}, {0: 1.0, 1: 2.5, 2: 0.5})
    names = ("momentum", "amsgrad", "lion")
    if LONG:
        names += ("rmsprop_centered", "adamw", "adamax", "nadam", "adagrad", "adadelta")
    beside_keras(folder, data, "ratios", "binary_crossentropy", "sigmoid", 1, "binary", adam, ["precision", "recall"])
    for name in names:
        compiled(folder, data, name)
    compiled_otherwise(folder)
    restrained(folder, data)
    restrained_otherwise(folder, data)
    weights = data["weight"]
    beside_keras(folder, data, "event_weight", "categorical_crossentropy", "softmax", 3, "one_hot", adam, ["accuracy"],
                 {"data.event_weight": "weight"}, sample_weight=weights)
    compiled_logits(folder, data)
    every_output(folder, data)
    every_metric(folder)
    weighted_steps(folder, data)
    behind_a_mask(folder, data)
    steps_weighted(folder, data)
    another_mask_value(folder, data)
    indices(folder)
    categories(folder)
    exact(folder)
    exact_inside(folder)
    own_layers(folder, data)
    own_losses.check(sys.modules[__name__], folder, data)
    scripted(folder, data, sys.argv[2])
    joined(folder, data)
    fit_labels.run(sys.modules[__name__], folder, data)
    fit_units.run(sys.modules[__name__], folder, data)
    changed_layers.run(sys.modules[__name__], folder, data)
    slices(folder)
    endings(folder)
    restored(folder)
    unfit(folder, data)
    if failures:
        sys.exit(f"{len(failures)} checks failed: {failures}")


if __name__ == "__main__":
    main()
