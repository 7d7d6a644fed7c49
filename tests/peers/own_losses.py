"""A part of fit_test.py: losses and metrics of one's own, written by linac.keras, and outputs without a loss. Keras trains the
same models with the same functions."""

import pathlib
import subprocess
import types

import h5py
import keras
import numpy as np
from keras import ops

from lib import paths
from lib.checks import expect

paths.add("python")
import linac.keras  # noqa: E402

L = keras.layers


def likelihood(y_true, y_pred):
    """Of a normal distribution whose width is predicted, too."""
    mean, log_variance = y_pred[:, :2], y_pred[:, 2:]
    return ops.mean(0.5 * (log_variance + ops.square(y_true - mean) * ops.exp(-log_variance)))


def bias(y_true, y_pred):
    return ops.mean(ops.abs(y_true - y_pred[:, :2]), axis=-1)


@keras.saving.register_keras_serializable(package="test")
class NarrowCode(L.Layer):
    """The code of an autoencoder, held near a normal distribution."""

    def call(self, code):
        mean, log_variance = ops.split(code, 2, axis=-1)
        self.add_loss(0.1 * ops.mean(-0.5 * (1 + log_variance - ops.square(mean) - ops.exp(log_variance))))
        return mean


def regression() -> keras.Model:
    features = keras.Input((4,), name="features")
    return keras.Model(features, L.Dense(4, name="parameters")(L.Dense(8, activation="tanh")(features)))


def trained_beside_keras(fit: types.ModuleType, folder: pathlib.Path, data: dict, what: str, model: keras.Model, y, settings: dict, *,
                         measures: dict, path: pathlib.Path, target: str | None, compiled: dict) -> None:
    """`measures`: Keras's name by linac's."""
    job = fit.job_of(folder, path, target or "", {"train.optimizer.name": "sgd", "train.optimizer.lr": 0.1, **settings})
    if target is None:
        job.write_text(job.read_text().replace('"targets": [{"column": ""}]', '"targets": []'))
    out = folder / what
    fit.train(job, out)
    model.compile(optimizer=keras.optimizers.SGD(0.1), **compiled)
    history = model.fit(data["features"], y, batch_size=fit.EVENTS, epochs=fit.EPOCHS, shuffle=False, verbose=0).history
    got = {name: [line["train"][name] for line in fit.epochs(out)] for name in measures}
    worst = max(fit.far(got[name], history[keras_name]) for name, keras_name in measures.items())
    left = keras.models.load_model(out / "models" / "model.keras", compile=False)
    weights = max(fit.far(a, b) for a, b in zip(left.get_weights(), model.get_weights(), strict=True))
    expect(worst < fit.TOLERANCE and weights < 10 * fit.TOLERANCE,
           f"{what}: {', '.join(measures)} as in Keras within {worst:.1e}, weights within {weights:.1e}")
    reads, wanted = ([tensor.name for tensor in one.inputs] for one in (left, model))
    expect((reads, left.output_names) == (wanted, model.output_names), f"{what}: the model that is left reads {reads} and gives {left.output_names}")


def a_likelihood(fit: types.ModuleType, folder: pathlib.Path, data: dict) -> None:
    keras.utils.set_random_seed(11)
    model, path = regression(), folder / "likelihood.keras"
    linac.keras.save(model, path, loss=likelihood, metrics={"bias": bias}, targets={"values2": (2,)})
    trained_beside_keras(fit, folder, data, "likelihood", model, data["values2"], {"train.fit.loss": "output"},
                         measures={"loss": "loss", "bias": "bias"}, path=path, target=None, compiled=dict(loss=likelihood, metrics=[bias]))
    job = fit.job_of(folder, path, "", {"train.fit.loss": "output", "train.optimizer.name": "sgd", "train.optimizer.lr": 0.1,
                                        "train.replicas": 3, "train.batch": 8, "checkpoint.best_by": "bias", "checkpoint.best_mode": "min", "data.test": [str(folder / "events.h5")]})
    job.write_text(job.read_text().replace('"targets": [{"column": ""}]', '"targets": []'))
    states = []
    for workers in ("1", "3"):
        fit.train(job, folder / f"own-{workers}", "--workers", workers)
        states.append(sorted((folder / f"own-{workers}" / "checkpoints").glob("step-*.safetensors"))[-1].read_bytes())
    expect(states[0] == states[1], "a loss of one's own, 1 and 3 workers: the same checkpoint, byte for byte")
    without = folder / "without-truth.h5"
    with h5py.File(without, "w") as file:
        file["features"] = data["features"]
    for which in ("own-1", "own-1@best", "own-1@last"):
        done = subprocess.run([fit.LINAC, "predict", "--model", folder / which, "--data", without, "--out", folder / "own.h5"], capture_output=True, text=True)
        expect(done.returncode == 0, f"{which} predicts without a truth: {done.stderr.strip()[-200:]}")
    with h5py.File(folder / "own.h5") as file:
        expect(set(file) - {"event_numbers"} == {"parameters"}, f"and gives no loss: {list(file)}")


def without_saying_so(fit: types.ModuleType, folder: pathlib.Path, data: dict) -> None:
    """A model that was compiled with a function: its file says the rest, optimizer and loss."""
    keras.utils.set_random_seed(12)
    model, path = regression(), folder / "compiled-own.keras"
    model.compile(optimizer=keras.optimizers.SGD(0.1), loss=likelihood)
    linac.keras.save(model, path, targets={"values2": (2,)})
    trained_beside_keras(fit, folder, data, "compiled-own", model, data["values2"], {}, measures={"loss": "loss"}, path=path, target=None,
                         compiled=dict(loss=likelihood))


def an_added_loss(fit: types.ModuleType, folder: pathlib.Path, data: dict) -> None:
    keras.utils.set_random_seed(13)
    features, path = keras.Input((4,), name="features"), folder / "autoencoder.keras"
    model = keras.Model(features, L.Dense(4, name="again")(NarrowCode(name="code")(L.Dense(4, name="encoder")(features))))
    linac.keras.save(model, path)
    trained_beside_keras(fit, folder, data, "added", model, data["features"], {"train.fit.loss": ["mean_squared_error", "output"]},
                         measures={"loss": "loss"}, path=path, target="features", compiled=dict(loss="mean_squared_error"))
    for loss in ("mean_squared_error", {"again": keras.losses.MeanSquaredError()}):
        keras.utils.set_random_seed(13)
        compiled = dict(loss=loss, metrics=["mean_absolute_error"])
        model.compile(optimizer=keras.optimizers.SGD(0.1), **compiled)
        linac.keras.save(model, path)
        trained_beside_keras(fit, folder, data, "added-compiled", model, data["features"], {}, path=path, target="features", compiled=compiled,
                             measures={"loss": "loss", "again_mean_absolute_error": "mean_absolute_error"})


def no_loss_of_an_output(fit: types.ModuleType, folder: pathlib.Path, data: dict) -> None:
    keras.utils.set_random_seed(14)
    features, path = keras.Input((4,), name="features"), folder / "none.keras"
    shared = L.Dense(8, activation="tanh")(features)
    model = keras.Model(features, [L.Dense(3, name="seen")(shared), L.Dense(2, name="values")(shared)])
    compiled = dict(loss=[None, "mean_squared_error"])
    model.compile(optimizer=keras.optimizers.SGD(0.1), **compiled)
    model.save(path)
    trained_beside_keras(fit, folder, data, "none", model, [data["one_hot"], data["values2"]], {}, measures={"loss": "loss"}, path=path,
                         target="values2", compiled=compiled)
    again = keras.models.load_model(folder / "none" / "models" / "model.keras")
    expect(again.loss == {"seen": None, "values": "mean_squared_error"}, f"an output without a loss, in the file that is left: {again.loss}")


def refused(fit: types.ModuleType, folder: pathlib.Path) -> None:
    model, path = regression(), folder / "plain.keras"
    model.save(path)
    for settings, wanted in (({"train.fit.loss": ["none"]}, "nothing to learn from"), ({"train.fit.loss": "custom_nll"}, "loss: output"),
                             ({"train.fit.loss": "output", "train.fit.metrics": ["accuracy"]}, "wants a target")):
        job = fit.job_of(folder, path, "values2", settings)
        said = fit.train(job, folder / "refused", status=2)
        expect(wanted in said, f"{settings}: {said.strip().splitlines()[-1]}")
    for loss, wanted in ((lambda y, p: ops.max(ops.square(y - p)), "not their mean, because of ops.Max"), (lambda y, p: 3.0, "does not come from the model")):
        try:
            linac.keras.save(model, path, loss=loss)
            said = "saved"
        except linac.keras.TraceError as error:
            said = str(error)
        expect(wanted in said, f"linac.keras: {said}")


def check(fit: types.ModuleType, folder: pathlib.Path, data: dict) -> None:
    a_likelihood(fit, folder, data)
    without_saying_so(fit, folder, data)
    an_added_loss(fit, folder, data)
    no_loss_of_an_output(fit, folder, data)
    refused(fit, folder)
