#!/usr/bin/env python3
"""What the way through Python costs: build/peers/bin/python bench/python.py [--rounds 5] [--gb 1] [--wheel BUILD]

The import; events handed over from NumPy and from a jagged awkward array beside the plain copy of as many bytes into a file, with the memory that takes
beside the events; linac.fit on arrays beside `linac train` on the file that it wrote; with --wheel the making of the wheel, its size, and how long pip
installs it into an empty environment. Writes bench/results/DATE-python.md. The Python that runs this wants NumPy, pandas, PyArrow, awkward and Keras."""

import argparse
import json
import os
import pathlib
import resource
import statistics
import subprocess
import sys
import tempfile

import network
import turns
from lib.runs import ROOT, environment
from store import store

# Each in a process of its own, whose peak of memory is then that of this alone. argv: folder, bytes.
BEGIN = """
import json, os, resource, sys, time
import numpy as np
folder, size = sys.argv[1], int(float(sys.argv[2]))
def used():
    return {"wall_s": time.perf_counter(), "cpu_s": time.process_time()}
def memory(key):
    return int(next(line for line in open("/proc/self/status") if line.startswith(key)).split()[1]) * 1024
def measured(function):
    open("/proc/self/clear_refs", "w").write("5")  # the peak begins anew
    held, before = memory("VmRSS"), used()
    function()
    after = used()
    return {key: after[key] - before[key] for key in after} | {"beside_bytes": memory("VmHWM") - held}
"""
HAND_OVER = BEGIN + """
from linac import _columns
import pyarrow.ipc
if sys.argv[3] == "numpy":
    events = np.random.default_rng(1).random((size // 256, 64), dtype=np.float32)
    plain = events
else:
    import awkward as ak
    counts = np.random.default_rng(1).integers(0, 40, size // 240)
    plain = np.random.default_rng(1).random((counts.sum(), 3), dtype=np.float32)
    events = ak.unflatten(ak.from_numpy(plain, regulararray=True), counts)
plain.tofile(f"{folder}/plain")  # both that follow find memory for the cache of files at hand
os.remove(f"{folder}/plain")
def hand_over():
    _columns.write(f"{folder}/events.arrow", [_columns.column("x", events)])
turns = []
for _ in range(3):  # a virtual machine may have to ask its host for that memory again: where it does, the later turns are the faster ones
    found = measured(hand_over)
    os.remove(f"{folder}/events.arrow")
    copy = measured(lambda: plain.tofile(f"{folder}/plain"))
    os.remove(f"{folder}/plain")
    turns.append({**found, **{f"copy_{key}": copy[key] for key in ("wall_s", "cpu_s")}})
least = {f"least_{key}": min(one[key] for one in turns) for key in ("wall_s", "cpu_s", "copy_wall_s", "copy_cpu_s")}
print(json.dumps({"kind": sys.argv[3], "bytes": plain.nbytes, **turns[0], **least}))
"""
FIT = BEGIN + """
import linac
x = np.random.default_rng(1).random((size // 64, 16), dtype=np.float32)
y = (x.sum(axis=1) > 8).astype(np.int64)
before = time.perf_counter()
run = linac.fit(f"{folder}/model.keras", x, y, batch_size=1024, folder=f"{folder}/run")
begun = time.perf_counter()
run.wait()
print(json.dumps({"fit_wall_s": time.perf_counter() - before, "fit_begun_wall_s": begun - before}))
"""
MODEL = """
import sys, keras
model = keras.Sequential([keras.Input((16,), name="x"), keras.layers.Dense(32, activation="relu"), keras.layers.Dense(2, activation="softmax")])
model.compile("adam", "sparse_categorical_crossentropy")
model.save(sys.argv[1])
"""


def timed(*words: object, **variables: str) -> tuple[str, dict]:
    """What it prints; seconds by the clock and of CPU, of its children too."""
    import time

    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run([*map(str, words)], check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment(**variables))
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return done.stdout, {"wall_s": time.perf_counter() - began, "cpu_s": cpu}


def round_of(options, folder: pathlib.Path, number: int) -> dict:
    program = os.environ.get("LINAC", str(ROOT / "build/release/bin/linac"))
    there = {"PYTHONPATH": str(ROOT / "python"), "LINAC": program, "XDG_STATE_HOME": str(folder / "state")}
    _, nothing = timed(sys.executable, "-c", "pass", **there)
    _, imported = timed(sys.executable, "-c", "import linac", **there)
    found = {"import": {key: imported[key] - nothing[key] for key in nothing}}
    found["handed_over"] = [json.loads(timed(sys.executable, "-c", HAND_OVER, folder, options.gb * 1e9, kind, **there)[0]) for kind in ("numpy", "awkward")]
    # What is packed is new to both.
    text, _ = timed(sys.executable, "-c", FIT, folder, 64e6, **there, LINAC_CACHE=str(folder / "cache-fit"))
    _, verb = timed(program, "train", folder / "run/python/job.yaml", "--out", folder / "verb", **there, LINAC_CACHE=str(folder / "cache-verb"))
    fit = json.loads(text) | {"verb_wall_s": verb["wall_s"]}
    found["fit"] = fit | {"beyond_the_verb_wall_s": fit["fit_wall_s"] - fit["verb_wall_s"]}
    for name in ("run", "verb", "cache-fit", "cache-verb"):
        subprocess.run(["rm", "-rf", folder / name], check=True)
    network.say(f"round {number}: {json.dumps(found)}")
    return found


def wheel(build: pathlib.Path, folder: pathlib.Path) -> dict:
    _, made = timed(ROOT / "packaging/wheel.py", build, "--out", folder)
    path, = folder.glob("*.whl")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder / "environment"], check=True)
    words = ["-m", "pip", "--python", folder / "environment/bin/python", "install", "--no-index", "--no-deps", "--no-compile", path]
    _, installed = timed(sys.executable, *words)
    size = sum(file.stat().st_size for file in (folder / "environment").rglob("*") if file.is_file() and not file.is_symlink())
    return {"made": made, "installed": installed, "bytes": path.stat().st_size, "installed_bytes": size}


def page(result: dict) -> str:
    rounds, lines = result["rounds"], turns.heading("From Python", result)

    def figure(*path: object) -> str:
        values = []
        for one in rounds:
            for key in path:
                one = one[key]
            values.append(one)
        return f"{statistics.median(values):.2f} ({min(values):.2f})"

    lines += [f"Median (minimum) of {len(rounds)} rounds, seconds.", "", "| | by the clock | of CPU |", "|---|---|---|"]
    lines.append(f"| `import linac`, beyond Python's start | {figure('import', 'wall_s')} | {figure('import', 'cpu_s')} |")
    for index, one in enumerate(rounds[0]["handed_over"]):
        gigabytes = f"{one['bytes'] / 1e9:.2f} GB of {'NumPy' if one['kind'] == 'numpy' else 'jagged awkward'}"
        for turn, which in (("", ""), ("least_", ", the least of three turns")):
            for copy, what in (("", f"{gigabytes}, handed over"), ("copy_", "the same bytes, `tofile`")):
                lines.append(f"| {what}{which} | {figure('handed_over', index, f'{turn}{copy}wall_s')} | {figure('handed_over', index, f'{turn}{copy}cpu_s')} |")
    lines.append(f"| `linac.fit` of 1,000,000 events and `wait` | {figure('fit', 'fit_wall_s')} | |")
    lines.append(f"| `linac train` of the file that it wrote | {figure('fit', 'verb_wall_s')} | |")
    lines.append(f"| one beyond the other | {figure('fit', 'beyond_the_verb_wall_s')} | |")
    if "wheel" in result:
        for name, what in (("made", "the wheel made, beyond `make build`"), ("installed", "the wheel installed by pip")):
            lines.append(f"| {what} | {result['wheel'][name]['wall_s']:.1f} | {result['wheel'][name]['cpu_s']:.1f} |")
    beside = max(one["beside_bytes"] for found in rounds for one in found["handed_over"])
    lines += ["", f"While events are handed over at most {beside / 1e6:.0f} MB of memory come beside them."]
    if "wheel" in result:
        lines.append(f"The wheel has {result['wheel']['bytes'] / 1e6:.0f} MB, installed {result['wheel']['installed_bytes'] / 1e6:.0f} MB.")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--gb", type=float, default=1.0)
    parser.add_argument("--wheel", type=pathlib.Path, metavar="BUILD")
    options = parser.parse_args()
    result = {**network.provenance("bench/python.py"), "before": None, "others_cores": network.busy_cores()}
    with tempfile.TemporaryDirectory(prefix="linac-bench-python-") as name:
        folder = pathlib.Path(name)
        timed(sys.executable, "-c", MODEL, folder / "model.keras", CUDA_VISIBLE_DEVICES="-1")
        result["rounds"] = [round_of(options, folder, number) for number in range(options.rounds)]
        if options.wheel:
            result["wheel"] = wheel(options.wheel, folder)
    store(result, "python", page(result))


if __name__ == "__main__":
    main()
