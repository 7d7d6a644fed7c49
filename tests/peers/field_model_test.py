#!/usr/bin/env python3
"""A trained model of the field (the Inclusive Classifier published with CERN's pipeline, cerndb/SparkDLTrigger, Keras 3.3, whose mask is
computed by nodes of keras.ops) on real events: linac computes what Keras computes, trains it on, and Keras loads what comes back.

usage: field_model_test.py MODEL.keras TOPOLOGY FOLDER (exit status 77 if MODEL.keras, or test_200.tfrecord and scaling.json of the
folder TOPOLOGY, are absent)"""

import json
import os
import pathlib
import shutil
import subprocess
import sys

from lib import runs
from lib.runs import LINAC

os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
LIMIT = 1e-5


def main() -> int:
    model_file, topology, folder = map(pathlib.Path, sys.argv[1:4])
    records_file = topology / "test_200.tfrecord"
    if not (model_file.exists() and records_file.exists()):
        print(f"skipped: {model_file} and {records_file} are not both here")
        return 77
    import h5py
    import keras
    import numpy as np
    import tensorflow as tf

    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    model = keras.models.load_model(model_file)
    names = [tensor.name for tensor in model.inputs]
    shapes = [tuple(tensor.shape[1:]) for tensor in model.inputs]
    columns = ["GRU_input" if len(shape) == 2 else "HLF_input" for shape in shapes]
    records = [tf.train.Example.FromString(record.numpy()) for record in tf.data.TFRecordDataset(str(records_file))]
    read = {column: np.array([record.features.feature[column].float_list.value for record in records], "f4")
            for column in ("GRU_input", "HLF_input", "encoded_label")}
    scaling = {column: {key: np.array(values, "f4") for key, values in constants.items() if key in ("mean", "std", "min", "max")}
               for column, constants in json.loads((topology / "scaling.json").read_text()).items() if column in read}
    particles = read["GRU_input"].reshape(len(records), -1, 19)
    scaled = (particles - scaling["GRU_input"]["mean"]) / scaling["GRU_input"]["std"]
    read["GRU_input"] = np.where(particles.any(-1, keepdims=True), scaled, 0).astype("f4")
    read["HLF_input"] = (read["HLF_input"] - scaling["HLF_input"]["min"]) / (scaling["HLF_input"]["max"] - scaling["HLF_input"]["min"])
    values = [read[column] for column in columns]
    events_file = folder / "events.h5"
    with h5py.File(events_file, "w") as file:
        for column, array in read.items():
            file[column] = array
    random = np.random.default_rng(3)
    fields = [argument for name, column in zip(names, columns) for argument in ("--input", f"{name}={column}")]

    def predict(file: pathlib.Path, data: pathlib.Path, arguments: list) -> "np.ndarray":
        out = folder / "scores.h5"
        subprocess.run([LINAC, "predict", "--model", str(file), "--data", str(data), "--out", str(out), *arguments],
                       check=True, stderr=subprocess.DEVNULL)
        with h5py.File(out) as scores:
            return next(iter(scores.values()))[()]

    failed = False

    def compare(what: str, found, wanted) -> None:
        nonlocal failed
        worst = float(np.abs(found - wanted).max())
        good = found.shape == wanted.shape and worst <= LIMIT and float(np.ptp(wanted)) > 1e-3
        failed = failed or not good
        print(f"{'ok  ' if good else 'FAIL'} {what}: {len(wanted)} events, largest difference {worst:.1e} (limit {LIMIT:g})")

    compare("Pythia events", predict(model_file, events_file, fields), model.predict(values, verbose=0))
    noise = [random.normal(size=(64, *shape)).astype("f4") for shape in shapes]
    with h5py.File(folder / "noise.h5", "w") as file:
        for name, array in zip(names, noise):
            file[name] = array
    compare("random events", predict(model_file, folder / "noise.h5", []), model.predict(noise, verbose=0))

    job = {"name": "field", "model": {"kind": "keras", "file": str(model_file)},
           "data": {"train": [str(events_file)], "targets": [{"column": "encoded_label"}],
                    "inputs": [{"name": name, "column": column} for name, column in zip(names, columns)]},
           "train": {"epochs": 4, "replicas": 2, "batch": 50, "fit": {"loss": "categorical_crossentropy", "metrics": ["accuracy"]},
                     "optimizer": {"name": "adam", "lr": 1e-3}}}
    (folder / "job.yaml").write_text(json.dumps(job))
    subprocess.run([LINAC, "train", str(folder / "job.yaml"), "--out", str(folder / "run")], check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    losses = [line["train"]["loss"] for line in runs.lines(folder / "run") if line["kind"] == "epoch"]
    good = len(losses) == 4 and losses[-1] < losses[0]
    failed = failed or not good
    print(f"{'ok  ' if good else 'FAIL'} trained on: losses {[round(loss, 3) for loss in losses]}")
    trained = folder / "run" / "models" / "model.keras"
    back = keras.models.load_model(trained)
    compare("back in Keras after training", predict(trained, events_file, []), back.predict(values, verbose=0))
    return 1 if failed else 0


sys.exit(main())
