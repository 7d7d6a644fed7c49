#!/usr/bin/env python3
"""Groups that train apart (train.sync.mode other than exact) beside an independent implementation in NumPy: a hundred steps of a network of two
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

EVENTS, BATCH, REPLICAS, GROUPS, EPOCHS, SEED = 400, 5, 8, 4, 10, 42  # ten steps an epoch
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
    "downpour": ({"mode": "downpour", "every": 2, "push": 0.5}, "sgd"),
    "downpour, drawn": ({"mode": "downpour", "every": 3, "schedule": {"delays": 4, "seed": 7}}, "momentum"),
    "elastic averaging in turns": ({"mode": "eamsgd", "every": 4, "beta": 0.8}, "momentum"),
    "gradient energy matching": ({"mode": "gem", "every": 4, "gem": {"kappa": 2}, "schedule": {"delays": 0}}, "adam"),
    "gradient energy matching, drawn": ({"mode": "gem", "every": 3, "gem": {"kappa": 2, "momentum": 0.5}, "max_staleness": 5, "schedule": {"delays": 9}}, "adam"),
    "a server a layer": ({"mode": "hybrid", "every": 2, "push": 0.3, "schedule": {"delays": 4}}, "momentum"),
    "a server a layer, bytes": ({"mode": "hybrid", "every": 4, "push": 0.15, "exchange": "int8"}, "sgd"),
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


def philox(counter: list[int], key: list[int]) -> list[int]:
    """Philox 4x32-10 (Salmon et al., SC11)."""
    for _ in range(10):
        a, b = 0xD2511F53 * counter[0], 0xCD9E8D57 * counter[2]
        counter = [(b >> 32) ^ counter[1] ^ key[0], b & 0xFFFFFFFF, (a >> 32) ^ counter[3] ^ key[1], a & 0xFFFFFFFF]
        key = [(key[0] + 0x9E3779B9) & 0xFFFFFFFF, (key[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return counter


def order(sync: dict, round: int, layer: int) -> list[int]:
    """Group i is due at i and a number that is drawn from 0 to `delays`."""
    schedule = {"seed": 0, "delays": 2} | sync.get("schedule", {})
    delays = schedule["delays"]
    if "max_staleness" in sync:  # d places up and down are 2 d turns more than those of the others
        delays = min(delays, (sync["max_staleness"] - (GROUPS - 1)) // 2 + 1)
    first = philox([12, schedule["seed"], 0, round], [SEED, 0])
    second = philox([layer, *first[1:]], [first[0] ^ SEED, first[1]])
    drawn = philox([0, 0, *second[2:]], second[:2])
    return sorted(range(GROUPS), key=lambda group: group + delays * (drawn[group] >> 8) / 2**24)


class Turns:
    """Groups that meet the weights of all in turns; of each what it goes on from, and gem's mean."""

    def __init__(self, sync: dict, start: list[np.ndarray]):
        self.sync, self.rounds = sync, 0
        self.own = [[w.copy() for w in start] for _ in range(GROUPS)]
        self.mean = [[np.zeros_like(w) for w in start] for _ in range(GROUPS)]

    def take(self, all: list[np.ndarray], ways: list[list[np.ndarray]]) -> None:
        by_layer = self.sync["mode"] == "hybrid"
        for layer, slots in enumerate([(0, 1), (2, 3)] if by_layer else [range(len(all))]):
            for group in order(self.sync, self.rounds, layer):
                for i in slots:
                    all[i], self.own[group][i], self.mean[group][i] = self.turn(all[i], self.own[group][i], self.mean[group][i], ways[group][i])
        self.rounds += 1

    def turn(self, all: np.ndarray, own: np.ndarray, mean: np.ndarray, way: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        if self.sync["mode"] == "eamsgd":
            there = own - way
            pull = self.sync["beta"] / GROUPS * (there - all)
            return all + pull, there - pull, mean
        if self.sync["mode"] == "gem":
            settings = {"kappa": 1, "momentum": 0.9} | self.sync.get("gem", {})
            mean = settings["momentum"] * mean - way
            part = np.clip((settings["kappa"] * np.abs(mean) - np.abs(all - own)) / np.abs(-way + 1e-8), 0, 5)
            return all - part * way, all, mean
        return all - self.sync.get("push", 1) * way, all - self.sync.get("push", 1) * way, mean


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
    turns = Turns(sync, shared) if sync.get("mode") in ("downpour", "eamsgd", "gem", "hybrid") else None
    in_epoch, each = len(steps) // EPOCHS, REPLICAS // GROUPS
    while at < len(steps):
        count = min(sync["every"], in_epoch - at % in_epoch)
        ways = []
        for group in range(GROUPS):
            begin = turns.own[group] if turns else shared
            weights = [w.copy() for w in (own[group] if elastic else begin)]
            for step in range(at, at + count):
                kept[group].step(weights, mean([gradient(weights, *part) for part in steps[step][group * each:(group + 1) * each]]))
            way = [a - b for a, b in zip(begin, weights)]
            own[group] = [w + beta / GROUPS * away for w, away in zip(weights, way)]
            if sync.get("exchange") == "int8":
                way, left_out[group] = in_bytes(way, left_out[group])
            ways.append(way)
        if turns:
            turns.take(shared, ways)
        for i, way in enumerate([] if turns else mean(ways)):
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
        batches = linac.loader([str(folder / "events.h5")], {"x": 4, "y": 1}, BATCH, seed=SEED, rank=replica, world_size=REPLICAS)
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
            "train": {"epochs": EPOCHS, "replicas": REPLICAS, "batch": BATCH, "seed": SEED, "fit": {"loss": "mean_squared_error"},
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
