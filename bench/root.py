#!/usr/bin/env python3
"""ROOT files read by linac and by uproot in turns, events per CPU second, a process each: a tree and an RNTuple of the same events, as uproot
writes them, on this host's disk.

  bench/root.py [--rounds 5] [--events 400000] [--python PYTHON]

linac opens the file as a training does: it reads and checks the columns of the job, packs them into its cache and makes the batches of one
epoch of them. uproot iterates over the same columns in its own steps and turns the list into an array of the same shape; nothing is kept, so
it does less. PYTHON has uproot and Keras (build/peers, tests/peers/setup.sh), which makes the model that names the columns. Zstandard, level
5, as uproot suggests. Writes bench/results/DATE-root.json and .md."""

import argparse
import json
import os
import pathlib
import shutil
import statistics
import sys
import tempfile

import network
from network_contenders import ROOT
from storage import LINAC, call
from store import store

LIST, FIXED, BATCH = 20, 16, 256  # values of the list at most, of the fixed array, events of a batch
FILES = {"tree": "events-tree.root", "RNTuple": "events-rntuple.root"}
MAKE = f"""import sys, awkward, keras, numpy, uproot
folder, count = sys.argv[1], int(sys.argv[2])
dice = numpy.random.default_rng(7)
lengths = dice.integers(0, {LIST + 1}, count)
columns = {{"x": dice.normal(size=(count, {FIXED})).astype(numpy.float32),
           "pt": awkward.unflatten(dice.exponential(30, lengths.sum()).astype(numpy.float32), lengths),
           "label": numpy.eye(3, dtype=numpy.float32)[dice.integers(0, 3, count)]}}
for name, make in (("{FILES['tree']}", "mktree"), ("{FILES['RNTuple']}", "mkrntuple")):
    with uproot.recreate(f"{{folder}}/{{name}}", compression=uproot.ZSTD(5)) as file:
        block = count // 10
        for begin in range(0, count, block):
            part = {{key: values[begin:begin + block] for key, values in columns.items()}}
            if begin: events.extend(part)
            else:
                events = getattr(file, make)("Events", part) if make == "mkrntuple" else file.mktree("Events", {{key: values.type if hasattr(values, "type") else (values.dtype, values.shape[1:]) for key, values in part.items()}})
                if make != "mkrntuple": events.extend(part)
x, pt = keras.Input(({FIXED},), name="x"), keras.Input(({LIST}, 1), name="pt")
y = keras.layers.Concatenate()([x, keras.layers.Flatten()(pt)])
keras.Model([x, pt], keras.layers.Dense(3, activation="softmax", name="label")(y)).save(f"{{folder}}/model.keras")"""
READ = f"""import awkward, json, numpy, os, resource, sys, time, uproot
usage = lambda: sum(resource.getrusage(resource.RUSAGE_SELF)[:2])
def read():
    count = 0
    for part in uproot.iterate(f"{{sys.argv[1]}}:Events", ["x", "pt", "label"]):
        pt = awkward.to_numpy(awkward.fill_none(awkward.pad_none(part["pt"], {LIST}, clip=True), 0))
        count += len(awkward.to_numpy(part["x"])) + 0 * len(pt) + 0 * len(awkward.to_numpy(part["label"]))
    return count
cpu, wall = usage(), time.monotonic()
count = read()
print(json.dumps({{"events": count, "cpu_s": usage() - cpu, "wall_s": time.monotonic() - wall}}))"""
JOB = """name: root
model: {{kind: keras, file: {folder}/model.keras}}
data:
  train: [{folder}/{file}]
  inputs: [{{name: x, column: x}}, {{name: pt, column: pt, shape: [{list}, 1]}}]
  targets: [{{column: label}}]
train: {{epochs: 1, replicas: 1, batch: {batch}, fit: {{loss: categorical_crossentropy}}}}
"""


def linac(folder: pathlib.Path, file: str, epochs: int = 1) -> dict:
    cache, job = folder / "cache", folder / "job.yaml"
    shutil.rmtree(cache, ignore_errors=True)
    job.write_text(JOB.format(folder=folder, file=file, list=LIST, batch=BATCH))
    found = json.loads(call([LINAC, "bench", "input", job, "--epochs", epochs, "--json"], LINAC_CACHE=str(cache)))
    return {"events": found["events"], **{key: found["open"][key] + found["epochs"][0][key] for key in ("cpu_s", "wall_s")}}


def markdown(result: dict) -> str:
    lines = ["# ROOT files: linac and uproot",
             f"{result['date']}, {result['cpu']}, {result['cores']} cores, commit {result['commit']}; other programs took {result['others_cores']:.2f} cores at the start. "
             f"`{result['command']}`", "",
             f"{result['events']} events: an array of {FIXED} floats, a list of up to {LIST}, three floats. Median (minimum to maximum) of {len(result['rounds'])} rounds in turns; "
             "ratio of linac to uproot by round, wanted: 2, aim: 5.", "", "| | linac, events per CPU s | uproot | ratio | linac, s | uproot, s |", "|---|---|---|---|---|---|"]
    for kind in FILES:
        cells, speeds = [], {}
        for name in ("linac", "uproot"):
            speeds[name] = [one[kind][name]["events"] / one[kind][name]["cpu_s"] for one in result["rounds"]]
            cells.append(f"{statistics.median(speeds[name]):.0f} ({min(speeds[name]):.0f} to {max(speeds[name]):.0f})")
        ratios = [mine / peer for mine, peer in zip(speeds["linac"], speeds["uproot"])]
        cells.append(f"**{statistics.median(ratios):.2f}** ({min(ratios):.2f} to {max(ratios):.2f})")
        cells += [f"{statistics.median(one[kind][name]['wall_s'] for one in result['rounds']):.2f}" for name in ("linac", "uproot")]
        lines.append(f"| {kind} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--events", type=int, default=400_000)
    parser.add_argument("--python", default=str(ROOT / "build/peers/bin/python"))
    options = parser.parse_args()
    result = {**network.provenance("bench/root.py"), "others_cores": network.busy_cores(), "events": options.events, "rounds": []}
    result["command"] = result["command"].replace(options.python, "PYTHON")
    with tempfile.TemporaryDirectory(prefix="linac-root-") as name:
        folder = pathlib.Path(name)
        call([options.python, "-c", MAKE, folder, options.events], KERAS_BACKEND="tensorflow", CUDA_VISIBLE_DEVICES="-1")
        for number in range(options.rounds):
            found = {}
            for kind, file in FILES.items():
                turns = {"linac": lambda file=file: linac(folder, file), "uproot": lambda file=file: json.loads(call([options.python, "-c", READ, folder / file]))}
                order = list(turns) if number % 2 == 0 else list(reversed(turns))
                found[kind] = {who: turns[who]() for who in order}
                if len({one["events"] for one in found[kind].values()}) != 1:
                    sys.exit(f"{kind}: not the same events: {found[kind]}")
            result["rounds"].append(found)
            network.say(f"round {number + 1}: " + "; ".join(f"{kind} {who} {one['events'] / one['cpu_s']:.0f}" for kind, both in found.items() for who, one in both.items()))
    store(result, "root", markdown(result))


if __name__ == "__main__":
    main()
