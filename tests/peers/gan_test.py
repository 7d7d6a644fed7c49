#!/usr/bin/env python3
"""The adversarial loop with networks of others: linac's own pair read back from Keras files makes the same step, bit by bit; a pair that
Keras built for other images trains the same on any number of workers and goes back to Keras; so does a pair in TorchScript.

usage: gan_test.py FOLDER MAKE_SCRIPT (the program that writes TorchScript modules)"""

import json
import os
import pathlib
import shutil
import subprocess
import sys

from lib import runs
from lib.checks import expect, failures
from lib.runs import linac

os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
sys.modules["sklearn"] = None  # Keras imports it for wrappers that nothing here uses: 1.6 s of the processor

import h5py
import keras
import numpy as np

L = keras.layers
CELLS = 24  # of examples/geometry/small.yaml, each way


def settings(**values: object) -> list:
    return [word for key, value in values.items() for word in ("--set", f"{key.replace('__', '.')}={value}")]


def steps(run: pathlib.Path) -> list:
    return [line["loss"] for line in runs.lines(run) if line["kind"] == "step"]


def last_checkpoint(run: pathlib.Path) -> bytes:
    return sorted((run / "checkpoints").glob("step-*.safetensors"))[-1].read_bytes()


def own_networks_from_files(folder: pathlib.Path) -> None:
    # So low a rate leaves the weights as they were drawn.
    short = settings(train__epochs=1, train__max_steps=1, train__replicas=1, train__batch=2, data__test="[]", train__lr=1e-30, data__min_sum=80)
    linac("train", "examples/3dgan-from-nothing.yaml", "--workers", 1, "--out", folder / "own", *short)
    files = {part: folder / f"{part}.keras" for part in ("generator", "discriminator")}
    for part, file in files.items():
        linac("export", folder / "own", "--part", part, "--out", file)
    linac("train", "examples/3dgan-from-nothing.yaml", "--workers", 1, "--out", folder / "files", *short, *settings(model__generator=files["generator"], model__discriminator=files["discriminator"]))
    # Not "d_fake": its images come from the running statistics, which the first step has moved.
    own, files = ([[step[phase] for phase in ("d_real", "g")] for step in steps(folder / name)] for name in ("own", "files"))
    expect(own == files != [], f"linac's own networks from Keras files: the same losses, bit by bit ({files[0][1]['total']:.6g})")


def small_networks() -> tuple:
    keras.utils.set_random_seed(3)
    generator = keras.Sequential([
        keras.Input((10,)), L.Dense(6 * 6 * 6 * 4), L.Reshape((6, 6, 6, 4)), L.UpSampling3D((2, 2, 2)), L.Conv3D(6, 3, padding="same", activation="relu"),
        L.BatchNormalization(), L.UpSampling3D((2, 2, 2)), L.Conv3D(4, 3, padding="same", activation="relu"), L.Conv3D(1, 2, padding="same", activation="relu")])
    image = keras.Input((CELLS, CELLS, CELLS, 1))
    x = L.AveragePooling3D(2)(L.Dropout(0.2)(L.LeakyReLU(negative_slope=0.2)(L.Conv3D(6, 4, padding="same")(image))))
    x = L.Flatten()(L.BatchNormalization()(L.Conv3D(6, 4, activation="relu")(x)))
    return generator, keras.Model(image, [L.Dense(1, activation="sigmoid", name="real")(x), L.Dense(1, name="energy")(x)])


def train_both(what: str, folder: pathlib.Path, files: dict, showers: pathlib.Path, latent: int) -> pathlib.Path:
    job = folder / f"{what}.json"
    job.write_text(json.dumps({
        "name": what, "model": {"kind": "3dgan", "latent": latent, **{part: str(file) for part, file in files.items()}},
        "data": {"train": [str(showers)], "test": [str(showers)], "min_sum": 0},
        "train": {"epochs": 1, "max_steps": 3, "replicas": 3, "batch": 4, "optimizer": {"name": "adam", "lr": 1e-3}}}))
    text = linac("check", job)
    expect("the job can run" in text, f"{what}: check")
    for workers in (1, 3):
        linac("train", job, "--workers", workers, "--out", folder / f"{what}-{workers}")
    expect(last_checkpoint(folder / f"{what}-1") == last_checkpoint(folder / f"{what}-3"), f"{what}: 1 and 3 workers write the same checkpoint")
    run = folder / f"{what}-1"
    linac("generate", "--model", run, "--like", showers, "--seed", 5, "--out", folder / f"{what}.h5")
    with h5py.File(folder / f"{what}.h5") as file:
        made = file["ECAL"][:]
    expect(made.shape[1:] == (CELLS,) * 3 and made.min() >= 0 and made.max() > 0, f"{what}: the run generates {made.shape}")
    return run


def main() -> None:
    folder = pathlib.Path(sys.argv[1])
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    own_networks_from_files(folder)

    showers = folder / "showers.h5"
    linac("simulate", "-n", 40, "--energy", "10:100", "--theta", "1.2:1.9", "--geometry", "examples/geometry/small.yaml", "--seed", 1, "--out", showers)
    generator, discriminator = small_networks()
    files = {"generator": folder / "small-generator.keras", "discriminator": folder / "small-discriminator.keras"}
    generator.save(files["generator"]), discriminator.save(files["discriminator"])
    run = train_both("keras", folder, files, showers, 10)
    home = keras.models.load_model(run / "models" / "generator.keras")
    changed = max(float(np.abs(a - b).max()) for a, b in zip(home.get_weights(), generator.get_weights()))
    expect(home.output_shape == (None, CELLS, CELLS, CELLS, 1) and changed > 1e-4, f"keras: the trained generator opens in Keras, weights moved by {changed:.1e}")
    linac("export", run, "--part", "discriminator", "--out", folder / "trained-discriminator.keras")
    expect(len(keras.models.load_model(folder / "trained-discriminator.keras").outputs) == 2, "keras: Keras reads the discriminator, too")

    subprocess.run([sys.argv[2], str(folder)], check=True)
    scripts = {"generator": folder / "generator.pt", "discriminator": folder / "discriminator.pt"}
    run = train_both("torchscript", folder, scripts, showers, 8)
    expect((run / "models" / "generator.pt").stat().st_size > 1000, "torchscript: the trained generator is there")
    expect("models/generator.pt" in linac("export", run, "--out", folder / "no.keras", status=2), "torchscript: export says where it is")
    linac("export", run / "models" / "generator.pt", "--out", folder / "generator.onnx")
    expect((folder / "generator.onnx").stat().st_size > 1000, "torchscript: and writes it as ONNX")

    job = folder / "keras.json"
    keras.Model(discriminator.inputs, discriminator.outputs[0]).save(folder / "one-output.keras")
    keras.Sequential([keras.Input((10,)), L.Dense(CELLS**3, kernel_regularizer="l2"), L.Reshape((CELLS, CELLS, CELLS, 1))]).save(folder / "penalized.keras")
    for what, words, changes in (
        ("one network", "give both networks, or none", settings(model__discriminator='""')),
        ("exchanged networks", "a generator takes one vector", settings(model__generator=files["discriminator"], model__discriminator=files["generator"])),
        ("a regularizer", "the adversarial losses have no place for them", settings(model__generator=folder / "penalized.keras")),
        ("one output", "a discriminator says two numbers", settings(model__discriminator=folder / "one-output.keras")),
        ("other images", "the generator makes 24x24x24; networks of your own make other images (model.generator and", settings(data__train="[data/showers-train.h5]")),
        ("another latent vector", "forward() fails", settings(model__generator=scripts["generator"], model__latent=9)),
    ):
        expect(words in linac("check", job, *changes, status=2), f"{what}: {words}")
    if failures:
        sys.exit(f"{len(failures)} checks failed: {failures}")


main()
