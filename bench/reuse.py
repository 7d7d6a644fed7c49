#!/usr/bin/env python3
"""How many showers of another calorimeter a cell_chain needs: gone on from a trained one (model.from) against from nothing.

  bench/reuse.py [--sources clic=models/cell_chain-clic.chain ...] [--sizes 100,250,500,1000] [--sizes-nothing ...] [--seeds 100:3,250:2]

The new calorimeter is examples/geometry/coarse-ecal.yaml, its showers those of `linac simulate`. Of the showers that a training is given four fifths
train, and the others say which epoch is the best. What comes out is judged by showers that no training has seen: nats a shower on 1,000, and
`linac validate` with the gate for fast simulation on 2,000 others. The trainings of one size differ in their showers and in their seed.

`--sources NAME=simulated:N` is a chain that is trained here, on N simulated showers of the CLIC calorimeter. Writes bench/results/DATE-reuse.json, .md and,
with --picture, docs/images/reuse.png."""

import argparse
import json
import os
import pathlib
import resource
import statistics
import subprocess
import sys

import network
import turns
from store import store

ROOT = pathlib.Path(__file__).resolve().parents[1]
GEOMETRY = "examples/geometry/coarse-ecal.yaml"
NATS_SHOWERS, REFERENCE_SHOWERS = 1000, 2000
NOTHING = "nothing"
# Epochs by the number of showers: what the best epoch on the held-out showers asked for in trials. Those that go on need fewer.
EPOCHS = {"goes on": {100: 20, 250: 16, 500: 12, 1000: 8}, NOTHING: {100: 60, 250: 40, 500: 24, 1000: 16, 2000: 10, 4000: 7, 8000: 5}}
RATES = {"goes on": 1e-3, NOTHING: 2e-3}


def linac(options, *words, status: tuple = (0,)) -> str:
    done = subprocess.run([*options.before, options.program, *map(str, words)], cwd=ROOT, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode not in status:
        sys.exit(f"{done.stdout}\n{' '.join(map(str, words))}: exit status {done.returncode}")
    return done.stdout


def cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def simulated(options, showers: int, seed: int, geometry: str | None = GEOMETRY) -> pathlib.Path:
    path = options.folder / f"{'coarse' if geometry else 'clic'}-{showers}-{seed}.h5"
    if not path.exists():
        linac(options, "simulate", "-n", showers, "--energy", "10:100", "--theta", "1.05:2.09", "--seed", seed, "--threads", 1, "--out", path,
              *(["--geometry", geometry] if geometry else []))
    return path


def train(options, out: pathlib.Path, data: pathlib.Path, test: pathlib.Path, *, epochs: int, rate: float, seed: int = 1, start=None,
          geometry: str | None = GEOMETRY, steps: int = 0) -> list[dict]:
    """The epochs' lines of the run's record."""
    settings = {"model.geometry": geometry or "examples/geometry/clic-ecal.yaml", "data.train": f"[{data}]", "data.test": f"[{test}]", "train.epochs": epochs,
                "train.replicas": 1, "train.batch": 4, "train.threads": 1, "train.seed": seed, "train.optimizer.lr": rate, "train.steps_per_epoch": steps,
                "validate.every_epochs": 0, "checkpoint.keep": 1, "workers": 1}
    if start:
        settings["model.from"] = start
    linac(options, "train", "examples/cell-chain.yaml", "--out", out, "--workers", 1, *[word for key, value in settings.items() for word in ("--set", f"{key}={value}")])
    return [line for line in map(json.loads, (out / "metrics.jsonl").read_text().splitlines()) if line["kind"] == "epoch"]


def nats(options, model, tables_of: pathlib.Path, name: str) -> dict:
    """Of the model on showers that nobody has trained on. One step at a rate of nothing leaves it as it is; its tables are those of its own training."""
    epochs = train(options, options.folder / f"{name}-nats", tables_of, simulated(options, NATS_SHOWERS, 2), epochs=1, rate=1e-30, start=model, steps=1)
    return {part: epochs[-1]["test"][part] for part in ("loss", "hits", "energies", "layers")}


def judged(options, model: pathlib.Path, name: str) -> dict:
    """The gate's verdict, the classifiers' AUC and the worst distance of an observable in units of its floor."""
    out = options.folder / f"{name}-report"
    linac(options, "validate", "--reference", simulated(options, REFERENCE_SHOWERS, 1), "--sample", model, "--gate", "examples/gates/fast-simulation.yaml",
          "--seed", 1, "--out", out, status=(0, 7, 10))
    return figures(json.loads((out / "report.json").read_text()))


def figures(report: dict) -> dict:
    gated = [one for one in report["figures"] if one.get("limit") is not None]
    whole = {one["name"]: one for one in report["figures"] if not one.get("bin")}
    far = {name: one["value"] / one["floor"] for name, one in whole.items() if name.startswith(("ks.", "wasserstein.")) and one.get("floor")}
    worst = max(far, key=far.get)
    return {"verdict": report["verdict"], "gated": len(gated), "failed": sum(one["verdict"] == "failed" for one in gated),
            "uncertain": sum(one["verdict"] not in ("failed", "passed") for one in gated), "worst": far[worst], "worst_of": worst,
            "auc_observables": [whole["auc.observables"]["value"], whole["auc.observables"]["error"]],
            "auc_cells": [whole["auc.cells"]["value"], whole["auc.cells"]["error"]]}


def main() -> None:
    pass


if __name__ == "__main__":
    main()
