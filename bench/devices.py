#!/usr/bin/env python3
"""One worker that drives 1, 2, 4, ... GPUs of this host: how long a step takes, and whether the bits are the same.

  bench/devices.py [--devices 1,2,4] [--rounds 3] [--steps 6]     a build with -DLINAC_CUDA=ON; writes bench/results/DATE-devices.md
  bench/devices.py --emulated                                      the processor in place of GPUs: tries the script, and measures nothing

The 3DGAN with as many replicas in each case. A step's time is that of an epoch of --steps, divided by them; the median of the epochs
behind the first. Losses of every step and the last checkpoint are compared with the first case; GPUs promise no equal bits
(docs/internals/kernels.md), so a difference is written down and is no failure. Beside it the same GPUs with a worker each, as torchrun has them."""

import argparse
import pathlib
import statistics
import subprocess
import sys
import tempfile

import network
from lib import runs
from store import store


def gpus() -> list[str]:
    """Names of those that nvidia-smi lists."""
    try:
        listed = subprocess.run(["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"], capture_output=True, text=True)
    except FileNotFoundError:
        return []
    return [line.strip() for line in listed.stdout.splitlines()] if listed.returncode == 0 else []


def seconds_per_step(out: pathlib.Path) -> float:
    epochs = [line for line in runs.lines(out) if line["kind"] == "epoch"]
    steps = epochs[0]["global_step"]
    return statistics.median(epoch["seconds"] / steps for epoch in epochs[1:])


def markdown(result: dict) -> str:
    lines = ["# One worker that drives several GPUs",
             f"{result['date']}, {', '.join(result['gpus'])}, {result['cpu']}, {result['cores']} cores, commit {result['commit']}. `{result['command']}`", "",
             "| workers x devices | a step, ms, median (minimum) | times as fast as 1 x 1 | same bits |", "|---|---|---|---|"]
    for name, values in result["seconds_per_step"].items():
        faster = f"{result['speed_up'][name]:.2f}" if name in result["speed_up"] else ""
        lines.append(f"| {name} | {1e3 * statistics.median(values):.1f} ({1e3 * min(values):.1f}) | {faster} | {'yes' if result['same_bits'][name] else 'no'} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--devices", default="", help="of a worker, by case (default: 1, 2, 4, ... and all)")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=6, help="of an epoch, of which there are four")
    parser.add_argument("--replicas", type=int, default=8)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--emulated", action="store_true")
    options = parser.parse_args()
    names = gpus()
    if not names and not options.emulated:
        sys.exit("no GPU: nvidia-smi lists none; --emulated tries the script without")
    there = 4 if options.emulated else len(names)
    counts = [int(word) for word in options.devices.split(",")] if options.devices else sorted({n for n in (1, 2, 4, 8) if n <= there} | {there})
    job = {"train.replicas": options.replicas, "train.batch": options.batch, "train.epochs": 4, "train.steps_per_epoch": options.steps, "data.test": "[]",
           "checkpoint.best_by": "loss", "checkpoint.every_epochs": 4, "train.device": "cpu" if options.emulated else "cuda"}
    if options.emulated:
        job |= runs.SMALL_NETWORKS | {"data.min_sum": 92, "train.batch": 1}
    # (devices of a worker, workers)
    cases = [(n, 1) for n in counts] + [(1, n) for n in counts if n > 1]
    times: dict[str, list[float]] = {}
    same: dict[str, bool] = {}
    with tempfile.TemporaryDirectory(prefix="linac-devices-") as folder:
        reference = None
        for index in range(options.rounds):
            for devices, workers in cases:
                name = f"{workers} x {devices}"
                out = pathlib.Path(folder) / f"{index}-{workers}-{devices}"
                variables = {"LINAC_EMULATED_DEVICES": str(devices)} if options.emulated else {}
                runs.run(out, job | {"distribution.devices_per_worker": devices}, "--workers", str(workers), **variables)
                found = ([line["loss"] for line in runs.lines(out) if line["kind"] == "step"], runs.newest_checkpoint(out).read_bytes())
                reference = reference or found
                same[name] = same.get(name, True) and found == reference
                times.setdefault(name, []).append(seconds_per_step(out))
                print(f"round {index + 1}: {name} (workers x devices): {times[name][-1] * 1000:.1f} ms a step, the same bits: {same[name]}", flush=True)
    if options.emulated:
        return
    result = {**network.provenance("bench/devices.py"), "gpus": names, "seconds_per_step": times, "same_bits": same,
              "speed_up": {name: statistics.median(times["1 x 1"]) / statistics.median(values) for name, values in times.items() if "1 x 1" in times}}
    store(result, "devices", markdown(result))


main()
