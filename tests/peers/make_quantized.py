#!/usr/bin/env python3
"""Quantized models for predict_test.py: make_quantized.py qkeras|hgq FOLDER writes NAME.h5 or NAME.keras and NAME-scores.npy, what the
program that made the model predicts of `inputs(...)`. tests/peers/quantized holds what it writes, so that the test runs without. Wants
qkeras 0.9.0 (with tensorflow-model-optimization, keras-tuner, pyparsing, networkx) or hgq2 0.2.0 (with quantizers), each in a folder of its
own on PYTHONPATH, as both have a package called qkeras."""

import os
import pathlib
import sys

import numpy as np

EVENTS, FEATURES = 200, 8


def inputs() -> np.ndarray:
    return np.random.default_rng(5).normal(size=(EVENTS, FEATURES)).astype("f4")


def of_qkeras(folder: pathlib.Path) -> None:
    os.environ["TF_USE_LEGACY_KERAS"] = "1"
    import tensorflow as tf
    from qkeras import QActivation, QDense, quantized_bits, quantized_relu

    tf.keras.utils.set_random_seed(1)
    x = tf.keras.Input((FEATURES,), name="x")
    h = QDense(16, kernel_quantizer=quantized_bits(6, 0, alpha=1), bias_quantizer=quantized_bits(6, 0, alpha=1), name="first")(x)
    h = QActivation(quantized_relu(6), name="cut")(h)
    h = QDense(3, kernel_quantizer="quantized_bits(6,0,alpha=1)", bias_quantizer="quantized_bits(6,0,alpha=1)", name="second")(h)
    model = tf.keras.Model(x, tf.keras.layers.Activation("softmax", name="out")(h))
    model.save(folder / "qkeras.h5", include_optimizer=False)
    np.save(folder / "qkeras-scores.npy", model.predict(inputs(), verbose=0))


def of_hgq(folder: pathlib.Path) -> None:
    import keras
    from hgq.config import LayerConfigScope, QuantizerConfigScope
    from hgq.layers import QDense

    keras.utils.set_random_seed(1)
    x = keras.Input((FEATURES,), name="x")
    weights = QuantizerConfigScope(place="all", default_q_type="kbi", overflow_mode="SAT_SYM")
    values = QuantizerConfigScope(place="datalane", default_q_type="kif", overflow_mode="WRAP")
    with weights, values, LayerConfigScope(enable_ebops=True, beta0=1e-5):
        model = keras.Model(x, QDense(3, name="out")(QDense(12, activation="relu", name="first")(x)))
    model.compile("adam", "mse")
    model.fit(inputs(), inputs()[:, :3] ** 2, epochs=30, verbose=0)
    scores = model.predict(inputs(), verbose=0)
    model.optimizer = None
    model.save(folder / "hgq.keras", include_optimizer=False)
    np.save(folder / "hgq-scores.npy", scores)


if __name__ == "__main__":
    {"qkeras": of_qkeras, "hgq": of_hgq}[sys.argv[1]](pathlib.Path(sys.argv[2]))
