"""A part of fit_test.py: targets that are scaled in the training and told in the units of their files by all that it leaves, and events of
which a layer makes no number."""

import json
import pathlib
import subprocess
import types

import h5py
import keras
import numpy as np
import onnxruntime
import pyarrow.parquet as pq

from lib.checks import expect

LIMIT = 1e-5  # of a prediction, relative to the largest


def linac(fit: types.ModuleType, *words, status: int = 0) -> subprocess.CompletedProcess:
    done = subprocess.run([fit.LINAC, *map(str, words)], capture_output=True, text=True)
    expect(done.returncode == status, f"{' '.join(map(str, words[:3]))}: exit status {done.returncode} {done.stderr.strip()[-300:]}")
    return done


def predicted(fit: types.ModuleType, model, data: pathlib.Path, folder: pathlib.Path) -> dict:
    out = folder / "units-scores.h5"
    linac(fit, "predict", "--model", model, "--data", data, "--out", out)
    with h5py.File(out) as file:
        return {name: file[name][:] for name in file if name != "event_numbers"}


def by_onnx(file: pathlib.Path, inputs: dict) -> dict:
    session = onnxruntime.InferenceSession(file, providers=["CPUExecutionProvider"])
    names = [one.name for one in session.get_outputs()]
    return dict(zip(names, session.run(names, {one.name: inputs[one.name] for one in session.get_inputs()})))


def same(a: dict, b: dict, what: str) -> None:
    expect(set(a) == set(b), f"{what}: outputs {sorted(a)} and {sorted(b)}")
    worst = max(float(np.abs(a[name] - b[name]).max() / np.abs(b[name]).max()) for name in b)
    expect(worst < LIMIT, f"{what}: within {worst:.1e}")


def rescalings(file: pathlib.Path) -> int:
    return sum(isinstance(layer, keras.layers.Rescaling) for layer in keras.models.load_model(file).layers)


def scaled_targets(fit: types.ModuleType, folder: pathlib.Path, data: dict) -> None:
    keras.utils.set_random_seed(6)
    features = keras.Input((4,), name="features")
    x = keras.layers.Dense(8, activation="tanh")(features)
    path, events, by_hand = folder / "units.keras", folder / "units.h5", folder / "units-by-hand.h5"
    keras.Model(features, [keras.layers.Dense(1, name="mass")(x), keras.layers.Dense(2, name="pair")(x)]).save(path)
    truth = {"mass": (90 + 25 * data["values"][:, 0]).astype("f4"), "pair": (data["values2"] * [3, 300] - [7, 0]).astype("f4")}
    with h5py.File(events, "w") as file:
        file["features"] = data["features"]
        for name, values in truth.items():
            file[name] = values
    constants = folder / "units.json"
    linac(fit, "data", "scaling", events, "--column", "mass", "--column", "pair:2", "--out", constants)
    known = json.loads(constants.read_text())
    offset = {"mass": np.float32(known["mass"]["mean"]), "pair": np.float32(known["pair"]["min"])}
    factor = {"mass": (1 / np.array(known["mass"]["std"])).astype("f4"), "pair": (1 / np.subtract(known["pair"]["max"], known["pair"]["min"])).astype("f4")}
    with h5py.File(by_hand, "w") as file:
        file["features"] = data["features"]
        for name, values in truth.items():
            file[name] = (values - offset[name]) * factor[name]
    targets = [{"name": "pair", "column": "pair", "scaling": "min_max"}, {"name": "mass", "column": "mass", "scaling": "standard"}]
    settings = {"data.train": [str(events)], "data.test": [str(events)], "data.targets": targets, "data.scaling": str(constants),
                "train.fit.loss": "mean_squared_error", "train.optimizer.name": "adam", "train.optimizer.lr": 0.02, "train.replicas": 3, "train.batch": 8}
    fit.train(fit.job_of(folder, path, "", settings), folder / "units")
    plain = {**settings, "data.train": [str(by_hand)], "data.test": [str(by_hand)], "data.scaling": "",
             "data.targets": [{"name": "pair", "column": "pair"}, {"name": "mass", "column": "mass"}]}
    fit.train(fit.job_of(folder, path, "", plain), folder / "units-by-hand")
    losses = [[line["train"] for line in fit.epochs(folder / run)] for run in ("units", "units-by-hand")]
    expect(losses[0] == losses[1], "a scaled target trains as one that is scaled by hand, to the bit")

    scores = predicted(fit, folder / "units", events, folder)
    scaled = predicted(fit, folder / "units-by-hand", events, folder)
    same(scores, {name: scaled[name] / factor[name] + offset[name] for name in scaled}, "and predicts in the units of the files")
    written = folder / "units" / "models" / "model.keras"
    in_keras = lambda file: dict(zip(("mass", "pair"), keras.models.load_model(file).predict(data["features"], verbose=0)))
    same(in_keras(written), scores, "as Keras does with the model that it leaves")
    expect(keras.models.load_model(written).output_names == ["mass", "pair"] and rescalings(written) == 2, "whose outputs are called as before")
    linac(fit, "export", folder / "units", "--out", folder / "units.onnx")
    same(by_onnx(folder / "units.onnx", {"features": data["features"]}), scores, "and onnxruntime with what is exported")
    same(predicted(fit, f"{folder / 'units'}@last", events, folder), scores, "and the run's last checkpoint")
    evaluated = fit.judged(folder / "units", "mass")
    mae = float(np.abs(scores["mass"][:, 0] - truth["mass"]).mean())
    expect(abs(fit.value_of(evaluated, "mae") / mae - 1) < 1e-4, f"evaluate tells errors in these units: {fit.value_of(evaluated, 'mae'):.4f}, {mae:.4f}")

    last = fit.epochs(folder / "units")[-1]["test"]["loss"]
    resting = {**settings, "train.optimizer.name": "sgd", "train.optimizer.lr": 1e-12, "train.epochs": 1}
    keras.models.load_model(written).save(folder / "units-saved-again.keras")  # which has no notes of linac's
    for what, start in (("run", folder / "units"), ("checkpoint", f"{folder / 'units'}@last"), ("file", written), ("saved", folder / "units-saved-again.keras")):
        on = folder / f"units-{what}"
        fit.train(fit.job_of(folder, start, "", resting), on)
        first = fit.epochs(on)[-1]["test"]["loss"]
        expect(abs(first / last - 1) < 1e-4, f"{what}: a training goes on in its own units: loss {last:.6f}, then {first:.6f}")
        same(predicted(fit, on, events, folder), scores, f"{what}: what that leaves")
        expect(rescalings(on / "models" / "model.keras") == 2, f"{what}: nothing is undone twice")
    whole = {**settings, "train.replicas": 1, "train.batch": fit.EVENTS}
    compiled = {"train.optimizer.name": "", "train.optimizer.lr": 0, "train.fit.loss": [], "train.epochs": 1}
    fit.train(fit.job_of(folder, path, "", whole), folder / "units-whole")
    fit.train(fit.job_of(folder, folder / "units-whole", "", {**whole, **compiled}), folder / "units-compiled")
    fit.train(fit.job_of(folder, path, "", {**whole, "train.epochs": fit.EPOCHS + 1}), folder / "units-longer")
    ends = [fit.epochs(folder / name)[-1]["test"]["loss"] for name in ("units-compiled", "units-longer")]
    expect(abs(ends[0] / ends[1] - 1) < fit.TOLERANCE, f"loss and optimizer with its state are taken from the file: {ends}")
    job, stopped = fit.job_of(folder, path, "", settings), folder / "units-stopped"
    fit.train(job, stopped, "--set", "train.max_steps=5")
    fit.train(job, stopped, "--resume", "--workers", "2", keep=True)
    expect((stopped / "models" / "model.keras").read_bytes() == written.read_bytes(), "stopped, resumed and on two workers: the same file")
    free = {**settings, "data.scaling": "", "data.targets": plain["data.targets"], "train.optimizer.name": "sgd", "train.optimizer.lr": 1e-20, "train.epochs": 1}
    fit.train(fit.job_of(folder, written, "", free), folder / "units-free")
    same(predicted(fit, folder / "units-free", events, folder), scores, "without scaling it is trained as it is")
    for what, changed in (("hinge", {"train.fit.loss": ["hinge", "mean_squared_error"]}),
                          ("logits", {"train.fit.loss": ["mean_squared_error", "binary_crossentropy"], "train.fit.from_logits": True})):
        said = fit.train(fit.job_of(folder, path, "", {**settings, **changed}), folder / "units-refused", status=2)
        expect("is scaled, and" in said and "leave its scaling out" in said, f"{what}: {said.strip().splitlines()[-1][:200]}")


def of_pytorch(fit: types.ModuleType, folder: pathlib.Path, data: dict) -> None:
    """Its code stays as it is: linac undoes the scaling behind it, in ONNX as well."""
    constants = folder / "script-units.json"
    linac(fit, "data", "scaling", folder / "events.h5", "--column", "values:3", "--out", constants)
    known = json.loads(constants.read_text())["values"]
    inputs = [{"name": "features", "shape": [4]}, {"name": "list", "shape": [7, 3]}]
    settings = {"model.kind": "torchscript", "data.inputs": inputs, "data.targets": [{"column": "values", "scaling": "standard"}],
                "data.scaling": str(constants), "train.fit.loss": "mean_squared_error", "train.optimizer.name": "adam", "train.optimizer.lr": 0.02}
    run = folder / "script-units"
    fit.train(fit.job_of(folder, folder / "linear.pt", "", settings), run)
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3, kernel_initializer="zeros")])
    model.compile(optimizer=keras.optimizers.Adam(0.02), loss="mean_squared_error")
    normal = (data["values"] - np.array(known["mean"])) / np.array(known["std"])
    model.fit(data["features"], normal, batch_size=fit.EVENTS, epochs=fit.EPOCHS, shuffle=False, verbose=0)
    expected = model.predict(data["features"], verbose=0) * np.array(known["std"]) + np.array(known["mean"])
    scores = predicted(fit, run, folder / "events.h5", folder)["output"]
    expect(fit.far(scores, expected) < 5 * fit.TOLERANCE, f"torchscript in the units of the files, within {fit.far(scores, expected):.1e}")
    linac(fit, "export", run, "--out", folder / "script-units.onnx")
    same(by_onnx(folder / "script-units.onnx", data), {"output": scores}, "torchscript: ONNX tells them too")


def no_number(fit: types.ModuleType, folder: pathlib.Path, data: dict) -> None:
    """A mean over the steps of an empty list: NaN, in Keras too."""
    keras.utils.set_random_seed(9)
    particles = keras.Input((7, 3), name="list")
    path, events, scores = folder / "pool.keras", folder / "empty.h5", folder / "empty-scores.h5"
    pooled = keras.layers.GlobalAveragePooling1D(name="pool")(keras.layers.Masking()(particles))
    keras.Model(particles, keras.layers.Dense(1, activation="sigmoid", name="label")(pooled)).save(path)
    lists, empty = data["list"].copy(), [17, 40, 41]
    lists[empty] = 0
    with h5py.File(events, "w") as file:
        file["list"], file["label"] = lists, data["binary"]
    job = fit.job_of(folder, path, "label", {"data.train": [str(events)], "train.fit.loss": "binary_crossentropy"})
    words = ("layer 'pool' (GlobalAveragePooling1D) gives NaN or Inf for", "the event's input 'list' holds zeros alone", "data.filter")
    for verb, of in ((("check", job), fit.EVENTS // 2), (("train", job, "--out", folder / "empty"), fit.EVENTS),
                     (("train", job, "--out", folder / "empty-2", "--workers", "2"), fit.EVENTS)):
        said = linac(fit, *verb, status=5).stderr
        expect(all(word in said for word in words) and f"of the step's {of} events" in said and "lower train.optimizer.lr" not in said,
               f"{verb[0]}: {said.strip().splitlines()[-1][-500:]}")
        named = [number for number in empty if f"{events}: event {number}:" in said]
        expect(len(named) == 1 and (of < fit.EVENTS or " for 3 of " in said), f"{verb[0]} names one of the events: {named}")
    selected = {"data.train": [str(events)], "train.fit.loss": "binary_crossentropy", "data.filter": "len(list[:, 0]) > 0", "train.batch": 8}
    fit.train(fit.job_of(folder, path, "label", selected), folder / "filled")
    said = linac(fit, "predict", "--model", path, "--data", events, "--out", scores, status=11).stderr
    expect(f"the scores of 3 of {fit.EVENTS} events are NaN or Inf, first those of {events}: event 17, in layer 'pool'" in said
           and "is written whole" in said, f"predict: {said.strip()[-400:]}")
    with h5py.File(scores) as file:
        found = file["label"][:, 0]
    expect(np.flatnonzero(np.isnan(found)).tolist() == empty, "the file has all scores, and NaN for these events")
    for of_model in (("--model", path, "--data", events, "--targets", "label"), ("--predictions", scores, "--targets", f"{events}:label")):
        said = linac(fit, "evaluate", *of_model, status=11).stderr
        expect("3 of 96 events are NaN or Inf" in said and "event 17" in said, f"evaluate {of_model[0]}: {said.strip()[-300:]}")
    grown = {"data.train": [str(folder / "events.h5")], "train.fit.loss": "mean_squared_error", "train.optimizer.name": "sgd", "train.optimizer.lr": 1e25}
    said = fit.train(fit.job_of(folder, folder / "units.keras", "", {**grown, "data.targets": [{"column": "binary"}, {"column": "values2"}]}),
                     folder / "grown", status=5)
    expect("lower train.optimizer.lr" in said, f"what runs away is the rate's: {said.strip().splitlines()[-1][-400:]}")


def as_parquet(fit: types.ModuleType, folder: pathlib.Path) -> None:
    events, out = folder / "units.h5", folder / "units.parquet"
    linac(fit, "predict", "--model", folder / "units", "--data", events, events, "--out", out)
    scores, table = predicted(fit, folder / "units", events, folder), pq.read_table(out)
    expect(table.column_names == ["file", "row", "mass", "pair"], f"columns of Parquet: {table.column_names}")
    rows = np.arange(fit.EVENTS)
    expect(table["file"].to_pylist() == np.repeat([0, 1], fit.EVENTS).tolist() and table["row"].to_pylist() == np.tile(rows, 2).tolist(), "where events come from")
    expect(np.array_equal(np.array(table["mass"])[: fit.EVENTS], scores["mass"][:, 0])
           and np.array_equal(np.array(table["pair"].to_pylist(), "f4")[fit.EVENTS :], scores["pair"]), "Parquet holds what HDF5 does")
    about = {key.decode(): value.decode() for key, value in table.schema.metadata.items()}
    files = json.loads(about["events"])
    expect([one["first_row"] for one in files] == [0, fit.EVENTS] and "predict" in about["source"], f"and what it is of: {sorted(about)}")
    said = linac(fit, "predict", "--model", folder / "units", "--data", events, "--out", folder / "units.csv", status=2).stderr
    expect("ends in .h5 or .hdf5 or .parquet or .root" in said and not (folder / "units.csv").exists(), f"{said.strip()[-200:]}")


def run(fit: types.ModuleType, folder: pathlib.Path, data: dict) -> None:
    scaled_targets(fit, folder, data)
    of_pytorch(fit, folder, data)
    as_parquet(fit, folder)
    no_number(fit, folder, data)
