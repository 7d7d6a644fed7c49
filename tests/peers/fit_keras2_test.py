#!/usr/bin/env python3
"""Models that Keras 2 trained go on in linac as they would have in Keras 2: tf_keras trains three epochs and saves, linac trains six
more, tf_keras too; losses and weights agree. For every optimizer, of Keras 2.11 and later and of before, from both kinds of files.

usage: fit_keras2_test.py FOLDER"""

import json
import os
import pathlib
import shutil
import sys

sys.modules["sklearn"] = None  # Keras imports it for wrappers that nothing here uses: 1.6 s of the processor

import h5py
import keras
import numpy as np
import tf_keras as keras2

from fit_test import EPOCHS, EVENTS, TOLERANCE, epochs, far, job_of, make_data, train
from lib.checks import expect, failures

L, O, OLD = keras2.layers, keras2.optimizers, keras2.optimizers.legacy

# What makes it, and how far losses may be apart: before 2.11, RMSprop added epsilon to the root.
OPTIMIZERS = {
    "sgd": (lambda: O.SGD(0.1), 1),
    "momentum": (lambda: O.SGD(0.05, momentum=0.9, nesterov=True), 1),
    "rmsprop": (lambda: O.RMSprop(0.01, momentum=0.5, centered=True, epsilon=1e-4), 1),
    "adam": (lambda: O.Adam(0.02), 1),
    "amsgrad": (lambda: O.Adam(0.02, amsgrad=True), 1),
    "adamw": (lambda: O.AdamW(0.02, weight_decay=0.01), 1),
    "adamax": (lambda: O.Adamax(0.02), 1),
    "nadam": (lambda: O.Nadam(0.02), 1),
    "adagrad": (lambda: O.Adagrad(0.1), 1),
    "adadelta": (lambda: O.Adadelta(1.0), 1),
    "lion": (lambda: O.Lion(0.003), 1),
    "text_sgd": (lambda: "sgd", 1),  # .keras files hold the text alone: Keras's defaults of it
    "old_sgd": (lambda: OLD.SGD(0.1), 1),
    "old_momentum": (lambda: OLD.SGD(0.05, momentum=0.9), 1),
    "old_rmsprop": (lambda: OLD.RMSprop(0.01), 10),
    "old_adam": (lambda: OLD.Adam(0.02), 1),
    "old_amsgrad": (lambda: OLD.Adam(0.02, amsgrad=True), 1),
    "old_adamax": (lambda: OLD.Adamax(0.02), 1),
    "old_adagrad": (lambda: OLD.Adagrad(0.1), 1),
    "old_adadelta": (lambda: OLD.Adadelta(1.0), 1),
}


def winding() -> keras2.Model:
    """A model in it, wrapped layers, masked and shared ones: the order of trained weights is none of the drawing's."""
    features, particles = keras2.Input((4,), name="features"), keras2.Input((7, 3), name="list")
    inner_input = keras2.Input((6,))
    late = L.Dense(5, activation="tanh", name="late")
    inner = keras2.Model(inner_input, L.Dense(6, activation="tanh")(L.BatchNormalization()(inner_input)), name="inner")
    read = L.Bidirectional(L.GRU(3), name="both")(L.BatchNormalization(name="of_particles")(particles))
    short, long = L.Dense(5, name="short")(read), late(inner(inner(L.Dense(6, name="long", activity_regularizer="l2")(features))))
    frozen = L.Dense(5, name="frozen", trainable=False)(long)
    return keras2.Model([features, particles], L.Dense(3, activation="softmax", name="out")(L.Add()([frozen, long, short])))


def go_on(folder: pathlib.Path, data: dict, name: str, form: str) -> None:
    keras2.utils.set_random_seed(4)
    make, factor = OPTIMIZERS[name]
    model, x, y = winding(), [data["features"], data["list"]], data["one_hot"]
    # In a graph, Keras 2's Nadam multiplies the product of its momenta at each variable, and not at each step.
    model.compile(optimizer=make(), loss="categorical_crossentropy", metrics=["accuracy"], run_eagerly=name == "nadam")

    def fit(count: int) -> dict:
        return model.fit(x, y, batch_size=EVENTS, epochs=count, shuffle=False, verbose=0).history

    fit(3)
    path, out = folder / f"{name}.{form}", folder / f"{name}-{form}"
    model.save(path)
    train(job_of(folder, path, "one_hot", {"train.replicas": 1, "train.batch": EVENTS}), out)
    expected = fit(EPOCHS)
    losses, accuracies = ([line["train"].get(name) for line in epochs(out)] for name in ("loss", "accuracy"))
    home = keras.models.load_model(out / "models" / "model.keras")
    apart = far(losses, expected["loss"])
    expect(apart < factor * TOLERANCE and "restore: true" in (out / "job.yaml").read_text(),
           f"{name} in {form}: losses within {apart:.1e}")
    # An event at the edge of two classes may fall to either side.
    expect(None not in accuracies and np.abs(np.array(accuracies, "f8") - expected["accuracy"]).max() < 1.5 / EVENTS,
           f"{name} in {form}: the accuracy is taken over: {accuracies}")
    scores = far(home.predict(x, verbose=0), model.predict(x, verbose=0))
    expect(scores < 10 * factor * TOLERANCE, f"{name} in {form}: scores in Keras 3 within {scores:.1e}")


def called_for_prediction(folder: pathlib.Path, data: dict) -> None:
    """Transfer learning: base(x, training=False) keeps its running statistics and drops nothing while its weights are trained."""
    keras2.utils.set_random_seed(6)
    inputs = keras2.Input((4,))
    base = keras2.Model(inputs, L.Dropout(0.5)(L.BatchNormalization()(L.Dense(6, activation="tanh")(inputs))), name="base")
    features = keras2.Input((4,), name="features")
    once = L.BatchNormalization(name="shared")
    x = L.Add()([once(base(features, training=False)), once(base(features, training=False), training=False)])
    model = keras2.Model(features, L.Dense(3, activation="softmax", name="out")(x))
    model.compile(optimizer=O.SGD(0.1), loss="categorical_crossentropy")
    path, out = folder / "predicting.h5", folder / "predicting"
    model.save(path)
    train(job_of(folder, path, "one_hot", {"train.replicas": 1, "train.batch": EVENTS}), out)
    expected = model.fit(data["features"], data["one_hot"], batch_size=EVENTS, epochs=EPOCHS, shuffle=False, verbose=0).history["loss"]
    apart = far([line["train"]["loss"] for line in epochs(out)], expected)
    home = keras.models.load_model(out / "models" / "model.keras")
    scores = far(home.predict(data["features"], verbose=0), model.predict(data["features"], verbose=0))
    expect(max(apart, scores) < 10 * TOLERANCE, f"called with training=False: losses within {apart:.1e}, scores within {scores:.1e}")


def numbers_that_are_flags(folder: pathlib.Path, data: dict) -> None:
    """BatchNormalization(epsilon=False), as in a published model: Keras 2 writes false where Keras 3 writes 0.0."""
    keras2.utils.set_random_seed(7)
    norms = [L.BatchNormalization(epsilon=False), L.LayerNormalization(epsilon=False), L.Dropout(False)]
    model = keras2.Sequential([keras2.Input((4,), name="features"), *norms, L.Dense(3, activation="softmax", name="out")])
    model.compile(optimizer=O.SGD(0.1), loss="categorical_crossentropy")
    path, out = folder / "flags.h5", folder / "flags"
    model.save(path)
    config = json.loads(h5py.File(path).attrs["model_config"])
    written = [layer["config"].get(key) for layer in config["config"]["layers"] for key in ("epsilon", "rate")]
    expect(sum(value is False for value in written) == 3, "the file says false for epsilon and rate")
    train(job_of(folder, path, "one_hot", {"train.replicas": 1, "train.batch": EVENTS}), out)
    expected = model.fit(data["features"], data["one_hot"], batch_size=EVENTS, epochs=EPOCHS, shuffle=False, verbose=0).history["loss"]
    apart = far([line["train"]["loss"] for line in epochs(out)], expected)
    expect(apart < 10 * TOLERANCE, f"epsilon=False: losses within {apart:.1e}")


def refused(folder: pathlib.Path, data: dict) -> None:
    model, path = winding(), folder / "refused.h5"
    model.compile(optimizer=O.Adam(0.02), loss="categorical_crossentropy")
    model.fit([data["features"], data["list"]], data["one_hot"], batch_size=EVENTS, verbose=0)
    model.save(path)
    with h5py.File(path, "r+") as file:
        names = [name for name in file["optimizer_weights"].attrs["weight_names"] if "/v/dense" not in name]
        file["optimizer_weights"].attrs["weight_names"] = names
    text = train(job_of(folder, path, "one_hot", {}), folder / "refused", status=2)
    expect(str(path) in text and "'velocity'" in text and "train.optimizer.name" in text, f"a part of the state is missing: {text.strip().splitlines()[-1]}")
    model = winding()
    model.compile(optimizer=OLD.Nadam(0.02), loss="categorical_crossentropy")
    model.save(path)
    text = train(job_of(folder, path, "one_hot", {}), folder / "refused", status=2)
    expect("decay = 0.004" in text, f"Nadam with a schedule of its own: {text.strip().splitlines()[-1]}")
    model = winding()
    model.compile(optimizer=O.Adam(0.02), loss="categorical_crossentropy")
    model.save(path)  # never trained
    train(job_of(folder, path, "one_hot", {"train.epochs": 1}), folder / "fresh")
    expect("restore: true" not in (folder / "fresh" / "job.yaml").read_text(), "never trained: the optimizer starts afresh")


def main() -> None:
    folder = pathlib.Path(sys.argv[1])
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    os.environ["LINAC_CACHE"] = str(folder / "cache")
    data = make_data(folder)
    for name in sys.argv[2:] or OPTIMIZERS:
        go_on(folder, data, name, "h5")
        if not name.startswith("old_"):  # the archive is younger
            go_on(folder, data, name, "keras")
    called_for_prediction(folder, data)
    numbers_that_are_flags(folder, data)
    refused(folder, data)
    if failures:
        sys.exit(f"{len(failures)} checks failed")


if __name__ == "__main__":
    main()
