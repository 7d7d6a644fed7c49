#!/usr/bin/env python3
"""Groups that train apart (train.sync.mode = local, easgd) beside an independent implementation in NumPy: a hundred steps of a network of two
layers, by the papers' rules, on the events that each replica has in each step (linac.loader reads them in the training's order).

usage: local_reference_test.py FOLDER"""

import json
import pathlib
import shutil
import sys

sys.modules["sklearn"] = None  # Keras imports it for wrappers that nothing here uses: 1.6 s of the processor

import h5py
import keras
import numpy as np

from fit_test import train
from lib import runs
from lib.checks import expect, failures

sys.path.insert(0, str(runs.ROOT / "python"))
import linac  # noqa: E402

EVENTS, BATCH, REPLICAS, GROUPS, EPOCHS = 400, 5, 8, 4, 10  # ten steps an epoch
RATES = {"sgd": 0.05, "momentum": 0.005, "adam": 0.01}  # calm ones: others magnify the last bit to the first within a hundred steps
RULES = {  # what a job says of train.sync, and of its optimizer
    "averages": ({"every": 1, "outer": {"lr": 1, "momentum": 0, "nesterov": False}}, "sgd"),
    "local SGD": ({"every": 5, "outer": {"lr": 1, "momentum": 0, "nesterov": False}}, "sgd"),
    "DiLoCo": ({"every": 4}, "adam"),
    "DiLoCo, heavy ball": ({"every": 4, "outer": {"nesterov": False}}, "momentum"),
    "averaged moments": ({"every": 3, "moments": "average"}, "adam"),
    "moments begin anew": ({"every": 3, "moments": "reset"}, "momentum"),
    "post-local SGD": ({"every": 5, "begin": 35, "outer": {"lr": 1, "momentum": 0}}, "momentum"),
    "elastic averaging": ({"mode": "easgd", "every": 4, "beta": 0.8}, "momentum"),
    "elastic averaging, averaged moments": ({"mode": "easgd", "every": 3, "moments": "average"}, "adam"),
    "bytes": ({"every": 5, "exchange": "int8"}, "sgd"),
}
OPTIMIZERS = {"sgd": {"name": "sgd", "momentum": 0.0}, "momentum": {"name": "sgd", "momentum": 0.9}, "adam": {"name": "adam"}}


def gradient(weights: list[np.ndarray], x: np.ndarray, y: np.ndarray) -> list[np.ndarray]:
    """Of the mean squared error of tanh(x a + b) c + d."""
    a, b, c, d = weights
    hidden = np.tanh(x @ a + b)
    error = 2 * (hidden @ c + d - y) / y.size
    inner = (error @ c.T) * (1 - hidden * hidden)
    return [x.T @ inner, inner.sum(0), hidden.T @ error, error.sum(0)]


class Inner:
    """An optimizer as Keras defines it."""

    def __init__(self, kind: str, weights: list[np.ndarray]):
        self.kind, self.rate, self.updates = kind, RATES[kind], 0
        self.slots = [[np.zeros_like(w) for w in weights] for _ in range({"sgd": 0, "momentum": 1, "adam": 2}[kind])]

    def step(self, weights: list[np.ndarray], gradients: list[np.ndarray]) -> None:
        self.updates += 1
        for i, g in enumerate(gradients):
            if self.kind == "sgd":
                weights[i] = weights[i] - self.rate * g
            elif self.kind == "momentum":
                self.slots[0][i] = 0.9 * self.slots[0][i] - self.rate * g
                weights[i] = weights[i] + self.slots[0][i]
            else:
                m, v = self.slots[0], self.slots[1]
                m[i], v[i] = 0.9 * m[i] + 0.1 * g, 0.999 * v[i] + 0.001 * g * g
                rate = self.rate * np.sqrt(1 - 0.999**self.updates) / (1 - 0.9**self.updates)
                weights[i] = weights[i] - rate * m[i] / (np.sqrt(v[i]) + 1e-7)


def in_bytes(way: list[np.ndarray], left_out: np.ndarray) -> tuple[list[np.ndarray], np.ndarray]:
    """What 255 levels for each 256 weights tell of a way and of what was left out of the last one; and what they leave out."""
    flat = np.concatenate([one.ravel() for one in way]) + left_out
    told = np.zeros_like(flat)
    for begin in range(0, flat.size, 256):
        part = flat[begin:begin + 256]
        scale = np.abs(part).max() / 127
        told[begin:begin + 256] = np.rint(part / scale) * scale if scale > 0 else 0
    ends = np.cumsum([one.size for one in way])[:-1]
    return [part.reshape(one.shape) for part, one in zip(np.split(told, ends), way)], flat - told


def mean(lists: list[list[np.ndarray]]) -> list[np.ndarray]:
    return [sum(parts) / len(lists) for parts in zip(*lists)]


def reference(start: list[np.ndarray], steps: list[list[tuple]], sync: dict, kind: str) -> list[np.ndarray]:
    outer = {"lr": 0.7, "momentum": 0.9, "nesterov": True} | sync.get("outer", {})
    shared, momentum = [w.astype("f8") for w in start], [np.zeros(w.shape) for w in start]
    at, inner = 0, Inner(kind, shared)
    for at in range(sync.get("begin", 0)):
        inner.step(shared, mean([gradient(shared, *part) for part in steps[at]]))
    at = sync.get("begin", 0)
    kept = [Inner(kind, shared) for _ in range(GROUPS)]
    for one in kept:  # begins with what was there
        one.slots, one.updates = [[v.copy() for v in slot] for slot in inner.slots], inner.updates
    left_out = [np.zeros(sum(w.size for w in start)) for _ in range(GROUPS)]
    own, elastic, beta = [[w.copy() for w in shared] for _ in range(GROUPS)], sync.get("mode") == "easgd", sync.get("beta", 0.9)
    in_epoch, each = len(steps) // EPOCHS, REPLICAS // GROUPS
    while at < len(steps):
        count = min(sync["every"], in_epoch - at % in_epoch)
        ways = []
        for group in range(GROUPS):
            weights = [w.copy() for w in (own[group] if elastic else shared)]
            for step in range(at, at + count):
                kept[group].step(weights, mean([gradient(weights, *part) for part in steps[step][group * each:(group + 1) * each]]))
            way = [a - b for a, b in zip(shared, weights)]
            own[group] = [w + beta / GROUPS * away for w, away in zip(weights, way)]
            if sync.get("exchange") == "int8":
                way, left_out[group] = in_bytes(way, left_out[group])
            ways.append(way)
        for i, way in enumerate(mean(ways)):
            if elastic:
                shared[i] = shared[i] - beta * way
                continue
            momentum[i] = outer["momentum"] * momentum[i] + way
            shared[i] = shared[i] - outer["lr"] * (way + outer["momentum"] * momentum[i] if outer["nesterov"] else momentum[i])
        if sync.get("moments") == "average":
            slots = [mean([one.slots[s] for one in kept]) for s in range(len(kept[0].slots))]
            for one in kept:
                one.slots = [[v.copy() for v in slot] for slot in slots]
        elif sync.get("moments") == "reset":
            kept = [Inner(kind, shared) for _ in range(GROUPS)]
        at += count
    return shared


def trained_weights(out: pathlib.Path) -> list[np.ndarray]:
    return [np.asarray(w) for w in keras.saving.load_model(next(out.glob("models/*.keras")), compile=False).get_weights()]


def main(folder: pathlib.Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    random = np.random.default_rng(3)
    x = random.normal(size=(EVENTS, 4)).astype("f4")
    y = (np.sin(x @ random.normal(size=(4, 1))) + 0.1 * random.normal(size=(EVENTS, 1))).astype("f4")
    with h5py.File(folder / "events.h5", "w") as file:
        file["x"], file["y"] = x, y
    keras.utils.set_random_seed(1)
    model = keras.Sequential([keras.Input((4,), name="x"), keras.layers.Dense(70, activation="tanh"), keras.layers.Dense(1, name="y")])
    model.save(folder / "model.keras")

    per_replica = []
    for replica in range(REPLICAS):
        batches = linac.loader([str(folder / "events.h5")], {"x": 4, "y": 1}, BATCH, seed=42, rank=replica, world_size=REPLICAS)
        per_replica.append([(batch["x"].astype("f8"), batch["y"].reshape(-1, 1).astype("f8")) for _ in range(EPOCHS) for batch in batches])
    steps = list(zip(*per_replica))
    expect(len(steps) == 100, f"{len(steps)} steps, {GROUPS} groups of {REPLICAS // GROUPS} replicas")
    seen = np.concatenate([x for step in steps[:len(steps) // EPOCHS] for x, _ in step])
    expect(np.array_equal(np.sort(seen[:, 0]), np.sort(x[:, 0].astype("f8"))), f"over all groups an epoch has each of {EVENTS} events once")

    exact = None
    for name, (sync, kind) in RULES.items():
        out = folder / name.replace(" ", "-").replace(",", "")
        job = folder / "job.yaml"
        job.write_text(json.dumps({
            "name": "local", "model": {"kind": "keras", "file": str(folder / "model.keras")},
            "data": {"train": [str(folder / "events.h5")], "targets": [{"column": "y"}]},
            "train": {"epochs": EPOCHS, "replicas": REPLICAS, "batch": BATCH, "seed": 42, "fit": {"loss": "mean_squared_error"},
                      "sync": {"mode": "local", "groups": GROUPS} | sync, "optimizer": {"lr": RATES[kind]} | OPTIMIZERS[kind]},
        }))
        train(job, out, "--workers", "2")
        wanted, found = (np.concatenate([w.ravel() for w in weights]) for weights in (reference(model.get_weights(), steps, sync, kind), trained_weights(out)))
        start = np.concatenate([w.ravel() for w in model.get_weights()])
        far = np.linalg.norm(found - wanted) / np.linalg.norm(wanted - start)
        expect(far < (2e-3 if sync.get("exchange") == "int8" else 1e-4), f"{name}: {far:.1e} of the way apart after 100 steps")
        if exact is not None:
            expect(np.linalg.norm(found - exact) > 1e-3 * np.linalg.norm(wanted - start), f"{name}: which is not what averages after each step give")
        exact = found if exact is None else exact


main(pathlib.Path(sys.argv[1]))
if failures:
    sys.exit(f"{len(failures)} checks failed")
