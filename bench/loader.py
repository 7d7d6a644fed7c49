#!/usr/bin/env python3
"""Batches for a training loop in Python: events for each second of CPU, by linac.loader, ROOT's RDataLoader, tf.data and torch's DataLoader.

  build/peers/bin/python bench/loader.py [--rounds 5] [--events 500000] [--features 20] [--batch 1024] [--epochs 5]

All read the same events, a list of features and a label, mixed anew in each epoch, from files of the format that suits them best, and linac from each
of these files. CPU time is that of all processes, from the opening of the files to the end of the last epoch; imports are left out, the start of linac's
program is not. linac's cache is empty at the start of each. What mixes all events and what mixes a part of them at a time (`mixes`) is said, and what
holds all events in memory. Writes bench/results/DATE-loader.md. The Python that runs this wants NumPy, PyArrow and h5py; peers that it has not (ROOT,
TensorFlow, PyTorch, uproot) are left out, and said."""

import argparse
import importlib.util
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

import network
import turns
from lib.runs import ROOT, environment
from store import store

# Each in a process of its own; argv: folder, batch, epochs. `epoch()` goes through one and returns its events.
MEASURE = """
import json, os, resource, sys, time
import numpy as np
folder, batch, epochs = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
def cpu():
    return sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
"""
RUN = """
before, began, events, total = cpu(), time.perf_counter(), 0, 0.0
make = opened()
for number in range(epochs):
    for x, y in make():
        events += len(y)
        total += float(x[0, 0]) + float(y[0])
end()
print(json.dumps({"events": events, "cpu_s": cpu() - before, "wall_s": time.perf_counter() - began}))
sys.stdout.flush()
os._exit(0)
"""
LINAC = """
import linac
loader = None
def opened():
    global loader
    loader = linac.loader(f"{folder}/events.ENDING", COLUMNS, batch)
    return lambda: ((b["x"], b["y"]) for b in loader)
def end():
    loader.close()
"""
TENSORFLOW = """
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import tensorflow as tf
features = int(open(f"{folder}/features").read())
def parsed(records):
    found = tf.io.parse_example(records, {"x": tf.io.FixedLenFeature([features], tf.float32), "y": tf.io.FixedLenFeature([], tf.float32)})
    return found["x"], found["y"]
def opened():
    events = int(open(f"{folder}/count").read())
    set = tf.data.TFRecordDataset(f"{folder}/events.tfrecord", buffer_size=1 << 23)
    set = set.shuffle(BUFFER, reshuffle_each_iteration=True).batch(batch, drop_remainder=True).map(parsed).prefetch(2)
    return lambda: set.as_numpy_iterator()
def end():
    pass
"""
TORCH = """
import h5py, torch
from torch.utils.data import BatchSampler, DataLoader, Dataset, IterableDataset, RandomSampler
torch.set_num_threads(1)
class OneByOne(Dataset):
    def __init__(self):
        self.file = h5py.File(f"{folder}/events.h5")
    def __len__(self):
        return len(self.file["y"])
    def __getitem__(self, i):
        return self.file["x"][i], self.file["y"][i]
class Batches(OneByOne):
    def __getitem__(self, chosen):
        chosen = np.sort(chosen)
        return torch.from_numpy(self.file["x"][chosen]), torch.from_numpy(self.file["y"][chosen])
class InMemory(OneByOne):
    def __init__(self):
        super().__init__()
        self.x, self.y = (torch.from_numpy(self.file[name][()]) for name in ("x", "y"))
    def __getitem__(self, chosen):
        return self.x[chosen], self.y[chosen]
class Blocks(IterableDataset):
    def __iter__(self):
        size = 32 * batch
        for first in torch.randperm(self.count() // size).tolist():
            x, y = self.block(first * size, size)
            order = np.random.permutation(size)
            x, y = x[order], y[order]
            for begin in range(0, size, batch):
                yield torch.from_numpy(x[begin:begin + batch]), torch.from_numpy(y[begin:begin + batch])
class H5Blocks(Blocks):
    def __init__(self):
        self.file = h5py.File(f"{folder}/events.h5")
    def count(self):
        return len(self.file["y"])
    def block(self, first, size):
        return self.file["x"][first:first + size], self.file["y"][first:first + size]
class RootBlocks(Blocks):
    def __init__(self):
        import uproot
        self.tree = uproot.open(f"{folder}/events.root")["events"]
        self.names = [name for name in self.tree.keys() if name != "y"]
    def count(self):
        return self.tree.num_entries
    def block(self, first, size):
        found = self.tree.arrays(entry_start=first, entry_stop=first + size, library="np")
        return np.stack([found[name] for name in self.names], axis=1), found["y"]
def opened():
    set = KIND()
    if isinstance(set, IterableDataset):
        loader = DataLoader(set, batch_size=None)
    elif type(set) is OneByOne:
        loader = DataLoader(set, batch_size=batch, shuffle=True, drop_last=True)
    else:
        loader = DataLoader(set, batch_size=None, sampler=BatchSampler(RandomSampler(set), batch, drop_last=True))
    return lambda: loader
def end():
    pass
"""
UPROOT = """
import uproot
def opened():
    tree = uproot.open(f"{folder}/events.root")["events"]
    names, size = [name for name in tree.keys() if name != "y"], 32 * batch
    def make():
        for first in np.random.permutation(tree.num_entries // size):
            found = tree.arrays(entry_start=first * size, entry_stop=(first + 1) * size, library="np")
            order = np.random.permutation(size)
            x, y = np.stack([found[name] for name in names], axis=1)[order], found["y"][order]
            for begin in range(0, size, batch):
                yield x[begin:begin + batch], y[begin:begin + batch]
    return make
def end():
    pass
"""
RDATALOADER = """
import ROOT
ROOT.gErrorIgnoreLevel = ROOT.kError
def opened():
    frame = ROOT.RDataFrame("events", f"{folder}/events.root")
    loader = ROOT.Experimental.ML.RDataLoader(frame, batch_size=batch, target="y", load_eager=EAGER)
    return lambda: ((x, y.reshape(-1)) for x, y in loader.as_numpy())
def end():
    pass
"""


def contenders(features: int, events: int) -> dict[str, tuple[str, str, list[str]]]:
    """By name: the script, what is mixed, and the modules that it wants."""
    plain, flat = (LINAC.replace("COLUMNS", json.dumps(columns)) for columns in ({"x": features, "y": []}, {"x": [f"x{i}" for i in range(features)], "y": []}))
    made = {f"linac, {ending}": (plain.replace("ENDING", ending), "all", ["linac"]) for ending in ("h5", "tfrecord", "parquet")}
    made["linac, root"] = flat.replace("ENDING", "root"), "all", ["linac", "uproot"]
    made["tf.data, TFRecord, all in its buffer"] = TENSORFLOW.replace("BUFFER", str(events)), "all, held in memory", ["tensorflow"]
    made["tf.data, TFRecord, buffer of 32 batches"] = TENSORFLOW.replace("BUFFER", "32 * batch"), "32 batches", ["tensorflow"]
    for name, kind, mixes, module in (
        ("torch, h5py, event by event", "OneByOne", "all", "h5py"), ("torch, h5py, batch by batch", "Batches", "all", "h5py"),
        ("torch, h5py, blocks", "H5Blocks", "32 batches", "h5py"), ("torch, uproot, blocks", "RootBlocks", "32 batches", "uproot"),
        ("torch, all read by h5py first", "InMemory", "all, held in memory", "h5py"),
    ):  # fmt: skip
        made[name] = TORCH.replace("KIND", kind), mixes, ["torch", module]
    made["uproot, blocks, in a loop of one's own"] = UPROOT, "32 batches", ["uproot"]
    made["ROOT's RDataLoader"] = RDATALOADER.replace("EAGER", "False"), "10 batches", ["ROOT", "uproot"]
    made["ROOT's RDataLoader, eager"] = RDATALOADER.replace("EAGER", "True"), "all, held in memory", ["ROOT", "uproot"]
    return made


def write_events(folder: pathlib.Path, events: int, features: int, program: str) -> None:
    import h5py
    import numpy as np

    random = np.random.default_rng(1)
    x, y = random.random((events, features), dtype=np.float32), random.integers(0, 2, events).astype(np.float32)
    with h5py.File(folder / "events.h5", "w") as file:
        file["x"], file["y"] = x, y
    (folder / "features").write_text(str(features))
    (folder / "count").write_text(str(events))
    if importlib.util.find_spec("uproot") is not None:
        import uproot

        with uproot.recreate(folder / "events.root") as file:
            file["events"] = {f"x{i}": x[:, i] for i in range(features)} | {"y": y}
    for ending in ("tfrecord", "parquet"):
        subprocess.run([program, "data", "convert", folder / "events.h5", folder / f"events.{ending}"], check=True, stdout=subprocess.DEVNULL)


def measured(name: str, script: str, folder: pathlib.Path, options, number: int, program: str) -> dict:
    epochs = 1 if "event by event" in name else options.epochs
    cache = folder / f"cache-{number}"
    path = os.pathsep.join(filter(None, [str(ROOT / "python"), os.environ.get("PYTHONPATH")]))
    there = {"PYTHONPATH": path, "LINAC": program, "LINAC_CACHE": str(cache), "CUDA_VISIBLE_DEVICES": "-1"}
    words = [sys.executable, "-c", MEASURE + script + RUN, folder, options.batch, epochs]
    done = subprocess.run([*map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment(**there))
    subprocess.run(["rm", "-rf", cache], check=True)
    if done.returncode != 0:
        raise SystemExit(f"{name}: {done.stderr[-3000:]}")
    found = json.loads(done.stdout.splitlines()[-1])
    return {"contender": name, **found, "events_per_cpu_s": found["events"] / found["cpu_s"]}


def page(result: dict) -> str:
    lines = turns.heading("Batches for a loop in Python", result)
    speeds = {name: [one["events_per_cpu_s"] for found in result["rounds"] for one in found if one["contender"] == name] for name in result["mixes"]}
    medians = {name: statistics.median(values) for name, values in speeds.items()}
    own = min(medians[name] for name in medians if name.startswith("linac"))
    lines += [f"{result['events']:,} events of {result['features']} features and a label, batches of {result['batch']}, {result['epochs']} epochs (event by event: one); "
              f"median (most) of {len(result['rounds'])} rounds. *ratio*: the slowest of linac's over it.", "",
              "| | mixes | events a second of CPU | ratio |", "|---|---|---|---|"]
    for name in sorted(medians, key=medians.get, reverse=True):
        ratio = "" if name.startswith("linac") else f"{own / medians[name]:.1f}"
        lines.append(f"| {name} | {result['mixes'][name]} | {medians[name]:,.0f} ({max(speeds[name]):,.0f}) | {ratio} |")
    if result["missing"]:
        lines += ["", f"Left out, as they are not installed: {', '.join(result['missing'])}."]
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, usual in (("rounds", 5), ("events", 500_000), ("features", 20), ("batch", 1024), ("epochs", 5)):
        parser.add_argument(f"--{name}", type=int, default=usual)
    parser.add_argument("--only", help="names that begin so, with commas between")
    options = parser.parse_args()
    program = os.environ.get("LINAC", str(ROOT / "build/release/bin/linac"))
    every = contenders(options.features, options.events)
    if options.only:
        every = {name: one for name, one in every.items() if name.startswith(tuple(options.only.split(",")))}
    missing = [name for name, (_, _, modules) in every.items() if any(importlib.util.find_spec(module) is None for module in modules if module != "linac")]
    every = {name: one for name, one in every.items() if name not in missing}
    result = {**network.provenance("bench/loader.py"), "before": None, "others_cores": network.busy_cores(), "missing": missing,
              "mixes": {name: mixes for name, (_, mixes, _) in every.items()}, **{name: getattr(options, name) for name in ("events", "features", "batch", "epochs")}}
    with tempfile.TemporaryDirectory(prefix="linac-bench-loader-") as name:
        folder = pathlib.Path(name)
        write_events(folder, options.events, options.features, program)
        result["rounds"] = []
        for number in range(options.rounds):
            order = list(every) if number % 2 == 0 else list(every)[::-1]
            result["rounds"].append([measured(one, every[one][0], folder, options, number, program) for one in order])
            network.say(f"round {number + 1}: " + ", ".join(f"{one['contender']} {one['events_per_cpu_s']:,.0f}" for one in result["rounds"][-1]))
    store(result, "loader", page(result))


if __name__ == "__main__":
    main()
