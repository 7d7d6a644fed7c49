#!/usr/bin/env python3
"""ROOT files read by linac and by uproot in turns, events per CPU second, a process each: a tree and an RNTuple of the same events, as uproot
writes them, on this host's disk.

  bench/root.py [--rounds 5] [--events 400000] [--python PYTHON]

linac opens the file as a training does: it reads and checks the columns of the job, packs them into its cache and makes the batches of one
epoch of them, in a drawn order. uproot iterates over the same columns in its own steps and turns the list into an array of the same shape:
that is less, as nothing is kept, checked or mixed. `uproot, batches` then takes the batches of an epoch from these arrays, in a drawn order:
what who trains with it does, of a set that fits into the memory. PYTHON has uproot and Keras (build/peers, tests/peers/setup.sh), which makes the model that names the columns. Zstandard, level
5, as uproot suggests. Writes bench/results/DATE-root.md."""

import argparse
import json
import pathlib
import shutil
import statistics
import sys
import tempfile

import network
from lib.runs import ROOT
from storage import LINAC, call
from store import store

LIST, FIXED, BATCH = 20, 16, 256  # values of the list at most, of the fixed array, events of a batch
PEERS = ("uproot", "uproot, batches")
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
    parts = []
    for part in uproot.iterate(f"{{sys.argv[1]}}:Events", ["x", "pt", "label"]):
        pt = awkward.to_numpy(awkward.fill_none(awkward.pad_none(part["pt"], {LIST}, clip=True), 0))
        parts.append((awkward.to_numpy(part["x"]), pt, awkward.to_numpy(part["label"])))
    return parts
def batches(parts):
    columns = parts[0] if len(parts) == 1 else [numpy.concatenate(column) for column in zip(*parts)]
    order = numpy.random.default_rng(1).permutation(len(columns[0]))
    return sum(len([column[order[at:at + {BATCH}]] for column in columns][0]) for at in range(0, len(order), {BATCH}))
cpu, wall = usage(), time.monotonic()
parts = read()
arrays = {{"events": sum(len(x) for x, *_ in parts), "cpu_s": usage() - cpu, "wall_s": time.monotonic() - wall}}
count = batches(parts)
print(json.dumps([arrays, {{"events": count, "cpu_s": usage() - cpu, "wall_s": time.monotonic() - wall}}]))"""
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
    return {"events": found["events"], "batches_cpu_s": found["epochs"][0]["cpu_s"], **{key: found["open"][key] + found["epochs"][0][key] for key in ("cpu_s", "wall_s")}}


def uproot(python: str, path: pathlib.Path) -> dict:
    """By the names of PEERS."""
    return dict(zip(PEERS, json.loads(call([python, "-c", READ, path]))))


def markdown(result: dict) -> str:
    lines = ["# ROOT files: linac and uproot",
             f"{result['date']}, {result['cpu']}, {result['cores']} cores, commit {result['commit']}; other programs took {result['others_cores']:.2f} cores at the start. "
             f"`{result['command']}`", "",
             f"{result['events']} events: an array of {FIXED} floats, a list of up to {LIST}, three floats. Median (minimum to maximum) of {len(result['rounds'])} rounds in turns; "
             "ratio of linac to uproot by round, wanted: 2, aim: 5. `uproot` makes arrays alone, `uproot, batches` the batches of an epoch as linac does.", "",
             "| | events per CPU s | linac's to it | wall, s |", "|---|---|---|---|"]
    for kind in FILES:
        speeds = {name: [one[kind][name]["events"] / one[kind][name]["cpu_s"] for one in result["rounds"]] for name in ("linac", *PEERS)}
        for name, values in speeds.items():
            ratios = [mine / peer for mine, peer in zip(speeds["linac"], values)]
            ratio = "" if name == "linac" else f"**{statistics.median(ratios):.2f}** ({min(ratios):.2f} to {max(ratios):.2f})"
            wall = statistics.median(one[kind][name]["wall_s"] for one in result["rounds"])
            lines.append(f"| {kind}, {name} | {statistics.median(values):.0f} ({min(values):.0f} to {max(values):.0f}) | {ratio} | {wall:.2f} |")
        share = statistics.median(one[kind]["linac"]["batches_cpu_s"] / one[kind]["linac"]["cpu_s"] for one in result["rounds"])
        lines.append(f"| {kind}, the batches' part of linac's CPU time | {100 * share:.0f} % | | |")
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
                turns = [lambda file=file: {"linac": linac(folder, file)}, lambda file=file: uproot(options.python, folder / file)]
                found[kind] = {}
                for turn in turns if number % 2 == 0 else reversed(turns):
                    found[kind] |= turn()
                if len({one["events"] for one in found[kind].values()}) != 1:
                    sys.exit(f"{kind}: not the same events: {found[kind]}")
            result["rounds"].append(found)
            network.say(f"round {number + 1}: " + "; ".join(f"{kind} {who} {one['events'] / one['cpu_s']:.0f}" for kind, both in found.items() for who, one in both.items()))
    store(result, "root", markdown(result))


if __name__ == "__main__":
    main()
