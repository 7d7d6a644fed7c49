#!/usr/bin/env python3
"""Groups that train apart (train.sync.mode = local) beside the exact sum: sites behind slow links, and workers of which one is slow.

  bench/local.py sites [--sites 2] [--rate 100mbit] [--delay 25]
  bench/local.py uneven

sites: a network namespace each, with two workers; between them the rate, and the delay in milliseconds each way. A Keras network of 25 MB
learns a function of 64 numbers. For each way to train: seconds and bytes between sites until the test loss is that of the exact run's
last epoch, and the test loss after the same events. uneven: four workers with 0.4 cores each, one of them with 0.1; the classifier of
examples/topology.yaml. Rounds take turns. Needs root, iproute2 and, for the network's file, Keras (build/peers).
"""

import argparse
import json
import math
import os
import pathlib
import secrets
import statistics
import subprocess
import sys
import tempfile
import time

import network
from lib import hosts, runs
from network import say
from store import store

PORT = 29600
MODEL = """
import h5py, keras, numpy, sys
keras.utils.set_random_seed(3)
L = keras.layers
x = keras.Input((64,), name="x")
hidden = L.Dense(2480, activation="relu")(L.Dense(2480, activation="relu")(x))
keras.Model(x, L.Dense(1, name="y")(hidden)).save(sys.argv[1] + "/model.keras")
random = numpy.random.default_rng(5)
w, v = random.normal(size=(64, 30)) / 8, random.normal(size=(30, 1)) / 30 ** 0.5
for name, events in (("train", 6400), ("test", 800)):
    data = random.normal(size=(events, 64)).astype("f4")
    with h5py.File(f"{sys.argv[1]}/{name}.h5", "w") as file:
        file["x"], file["y"] = data, (numpy.tanh(3 * data @ w) @ v).astype("f4")
"""


def sites_job(folder: pathlib.Path, sites: int) -> dict:
    return {
        "name": "sites", "workers": 2 * sites,
        "model": {"kind": "keras", "file": str(folder / "model.keras")},
        "data": {"train": [str(folder / "train.h5")], "test": [str(folder / "test.h5")], "targets": [{"column": "y"}]},
        "train": {"epochs": 2, "replicas": 2 * sites, "batch": 160 // sites, "fit": {"loss": "mean_squared_error"},
                  "optimizer": {"name": "adam", "lr": 3e-4}, "early_stopping": {"patience": -1}},
        "checkpoint": {"every_epochs": 0, "every_minutes": 1000},
        "distribution": {"stall_timeout_s": 120},
    }


def sites_ways(sites: int) -> dict[str, dict]:
    local = {"train.sync.mode": "local", "train.sync.groups": sites, "train.epochs": 4}
    return {
        "exact": {},
        "local, every 20, moments anew": local | {"train.sync.every": 20, "train.sync.moments": "reset"},
        "local, every 20, moments anew, bytes": local | {"train.sync.every": 20, "train.sync.moments": "reset", "train.sync.exchange": "int8", "train.sync.copies": "false"},
        "local, every 20 (DiLoCo)": local | {"train.sync.every": 20, "train.sync.copies": "false"},
        "easgd, every 20": local | {"train.sync.mode": "easgd", "train.sync.every": 20, "train.sync.moments": "reset", "train.sync.copies": "false"},
        "local, every 20, averaged": local | {"train.sync.every": 20, "train.sync.moments": "average", "train.sync.outer.lr": 1, "train.sync.outer.momentum": 0},
    }


def uneven_ways() -> dict[str, dict]:
    local = {"train.sync.mode": "local", "train.sync.groups": 13, "train.replicas": 13}  # the slow one carries a group, the others four
    return {
        "exact, replicas stay": {"train.replicas": 13, "distribution.balance": "false"},
        "exact, replicas move": {"train.replicas": 13},
        "local, every 2": local | {"train.sync.every": 2},
        "local, every 10": local | {"train.sync.every": 10},
        "easgd, every 2": local | {"train.sync.mode": "easgd", "train.sync.every": 2},
    }


def train(out: pathlib.Path, job: str, settings: dict, places: list, shaped: bool, net: hosts.Network) -> dict:
    """`places`: the host of each rank. The run's epochs: seconds since its first step, test loss, steps; and bytes over the slow links."""
    key = secrets.token_hex(32)
    before = net.relay_counts()["bytes"] if shaped else 0
    workers = []
    for rank, host in enumerate(places):
        local = sum(one is host for one in places[:rank])
        variables = runs.placed(rank, len(places), PORT, places[0].address, local) | {"LINAC_RUN_KEY": key, "LINAC_CACHE": f"{out}-cache-{rank}"}
        with open(f"{out}-{rank}.log", "w") as log:
            workers.append(host.popen(runs.arguments(out, {"job": job} | settings), cwd=runs.ROOT, stdout=log, stderr=log, env=runs.environment(**variables)))
    while any(one.poll() is None for one in workers) and not any(one.poll() for one in workers):
        time.sleep(0.2)
    if statuses := [one.poll() for one in workers if one.poll() != 0]:
        sys.exit(f"{out.name}: exit status {statuses}\n{pathlib.Path(f'{out}-0.log').read_text()[-2000:]}")
    seconds, epochs = 0.0, []
    for line in runs.lines(out):
        if line["kind"] == "epoch":
            seconds += line["seconds"]
            epochs.append({"s": seconds, "loss": line["test"].get("loss", math.nan), "steps": line["global_step"]})
    rounds = [line for line in runs.lines(out) if line["kind"] == "round"]
    return {"epochs": epochs, "rounds": len(rounds), "drift": statistics.median(one["drift"] for one in rounds) if rounds else None,
            "bytes": net.relay_counts()["bytes"] - before if shaped else None}


def reached(found: dict, loss: float) -> dict | None:
    return next((epoch for epoch in found["epochs"] if epoch["loss"] <= loss), None)


def told(case: str, ways: dict[str, list[dict]]) -> list[str]:
    first = next(iter(ways))
    lines = ["", "| | to the same test loss, s | of the exact run's time (least to most) | bytes between sites until then | of the exact run's | "
             "test loss after as many events | rounds | drift |", "|---|---|---|---|---|---|---|---|"]
    for name, rounds in ways.items():
        times, shares, moved, parts, losses = [], [], [], [], []
        for found, exact in zip(rounds, ways[first]):
            end = exact["epochs"][-1]
            there = reached(found, end["loss"])
            losses.append(min(found["epochs"], key=lambda epoch: abs(epoch["steps"] - end["steps"]))["loss"])
            if there:
                times.append(there["s"])
                shares.append(there["s"] / end["s"])
                if found["bytes"]:
                    moved.append(found["bytes"] * there["steps"] / found["epochs"][-1]["steps"])
                    parts.append(moved[-1] / exact["bytes"])
        middle = statistics.median
        lines.append(f"| {name} | {middle(times):.1f} | {middle(shares):.3f} ({min(shares):.3f} to {max(shares):.3f}) | " if len(times) == len(rounds)
                     else f"| {name} | not reached in {len(rounds) - len(times)} of {len(rounds)} | | ")
        lines[-1] += (f"{middle(moved) / 1e6:.0f} MB | {middle(parts):.4f}" if moved else " | ") + \
            f" | {middle(losses):.4g} | {rounds[0]['rounds']} | " + (f"{rounds[0]['drift']:.2f} |" if rounds[0]["drift"] is not None else "|")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("case", choices=("sites", "uneven"))
    parser.add_argument("--sites", type=int, default=2)
    parser.add_argument("--rate", default="100mbit", help="to and from each site (default 100mbit)")
    parser.add_argument("--delay", type=float, default=25, help="ms each way between sites (default 25)")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--ways", help="only those whose names have this word, and the exact one")
    parser.add_argument("--python", type=pathlib.Path, default=runs.ROOT / "build/peers/bin/python", help="Keras's interpreter")
    parser.add_argument("--out", type=pathlib.Path, default=network.RESULTS)
    options = parser.parse_args()
    able, why = hosts.available()
    if not able:
        sys.exit(why)
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    sites = options.case == "sites"
    ways = sites_ways(options.sites) if sites else uneven_ways()
    exact = next(iter(ways))
    ways = {name: settings for name, settings in ways.items() if name == exact or not options.ways or options.ways in name}
    result = {**network.provenance("bench/local.py"), "others_cores": network.busy_cores(), "ways": {name: [] for name in ways}}
    with tempfile.TemporaryDirectory(prefix="linac-local-") as name:
        folder = pathlib.Path(name)
        names = "abcd"[:options.sites if sites else 4]
        with hosts.Network(names, rate=options.rate if sites else None, cores=None if sites else 0.4) as net:
            members = list(net)
            if sites:
                subprocess.run([options.python, "-c", MODEL, str(folder)], check=True)
                (folder / "job.yaml").write_text(json.dumps(sites_job(folder, options.sites)))
                net.shape(delay_ms=options.delay)
                job, places = str(folder / "job.yaml"), [host for host in members for _ in range(2)]
            else:
                members[-1].limit_cores(0.1)
                job, places = "examples/topology.yaml", members
            for number in range(options.rounds):
                for way, settings in ways.items():
                    out = folder / f"{number}-{way.replace(' ', '-').replace(',', '')}"
                    more = {} if sites else {"train.batch": 4, "train.epochs": 10, "train.early_stopping.patience": -1}
                    found = train(out, job, more | settings, places, sites, net)
                    result["ways"][way].append(found)
                    say(f"round {number + 1}, {way}: " + ", ".join(f"{epoch['loss']:.4g} at {epoch['s']:.0f} s" for epoch in found["epochs"]))
    title = f"{options.sites} sites of two workers, {options.rate}, {options.delay:g} ms each way" if sites else "Four workers, one of them with a quarter of the others' processor"
    lines = [f"# {title}", "", f"`{result['command']}`, commit {result['commit']}, {result['cores']} cores of {result['cpu']};",
             f"{result['others_cores']:.1f} of them were busy with other work before.", *told(options.case, result["ways"])]
    say(f"written: {store(result, f'local-{options.case}', chr(10).join(lines) + chr(10), options.out)}")


if __name__ == "__main__":
    main()
