#!/usr/bin/env python3
"""One replica whose volume is divided (train.split): memory of a worker, seconds of a step and CPU time beside the undivided replica, on the
same cores in turns; what the parts say to each other over a link; and ten steps of a ResNet-50 and of a 3-D U-Net beside the undivided ones.

  bench/split.py [--rounds 5] [--networks cnn,discriminator] [--rate 10gbit] [--no-link] [--no-equal] [--python PYTHON]

The networks are on showers of 102 x 102 x 50 cells (those of data/ with each cell in eight): the discriminator of the 3DGAN, a small
convolutional network with batch normalisation, and a U-Net. Undivided on two threads; in two parts by two workers, and in four by four.
PYTHON has Keras and h5py (build/peers). Root, for the two hosts with a link between them. Writes bench/results/DATE-split.md."""

import argparse
import json
import pathlib
import re
import resource
import secrets
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import network
from lib import hosts, runs
from store import store

MAKE = pathlib.Path(__file__).resolve().parent / "peers/split_networks.py"
WORDS = {"discriminator": "discriminator of the 3DGAN", "cnn": "four convolutions, batch normalisation", "unet": "3-D U-Net",
         "resnet": "ResNet-50, 64 x 64"}
WAYS = {"whole": (1, {"train.threads": 2}), "two": (2, {"train.split.x": 2}), "four": (4, {"train.split.x": 2, "train.split.y": 2})}
PORT, STEPS = 29540, 3
LINK_WAYS = ("loopback", "link")


def peak_mib(pid: int) -> float:
    try:
        found = re.search(r"VmHWM:\s+(\d+)", pathlib.Path(f"/proc/{pid}/status").read_text())
    except OSError:
        return 0
    return int(found[1]) / 1024 if found else 0


def tree(pid: int) -> list[int]:
    children = subprocess.run(["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True).stdout.split()
    return [pid, *(one for child in children for one in tree(int(child)))]


def watch(out: pathlib.Path, processes: list) -> tuple[list[float], dict[int, float]]:
    """When the lines of the steps came, and the largest resident memory of each process."""
    at, peaks = [], {}
    looked = 0.0
    while any(process.poll() is None for process in processes):
        while len(at) < runs.steps_so_far(out):
            at.append(time.monotonic())
        if time.monotonic() - looked > 0.25:
            looked = time.monotonic()
            for process in processes:
                for pid in tree(process.pid):
                    peaks[pid] = max(peaks.get(pid, 0), peak_mib(pid))
        time.sleep(0.01)
    if any(process.returncode for process in processes):
        sys.exit(pathlib.Path(f"{out}.log").read_text()[-3000:])
    return at, peaks


def cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def result(out: pathlib.Path, at: list[float], peaks: dict[int, float], used: float) -> dict:
    between = [b - a for a, b in zip(at, at[1:])]
    losses = [line["loss"]["loss"] for line in runs.lines(out) if line["kind"] == "step"]
    # What is far below the largest is who started the workers.
    workers = [peak for peak in peaks.values() if peak > max(peaks.values()) / 3]
    shutil.rmtree(out)
    return {"step_s": statistics.median(between), "worker_mib": max(workers), "cpu_s": used, "losses": losses}


def train(out: pathlib.Path, settings: dict, workers: int) -> dict:
    used = cpu_s()
    process = runs.start(out, settings, "--workers", str(workers))
    at, peaks = watch(out, [process])
    return result(out, at, peaks, cpu_s() - used)


def over_link(net: hosts.Network, out: pathlib.Path, settings: dict, way: str) -> dict:
    """Two workers: on two hosts, or both on one."""
    used, key, processes = cpu_s(), secrets.token_hex(32), []
    for rank, name in enumerate("ab" if way == "link" else "aa"):
        environment = {**runs.placed(rank, 2, PORT, net["a"].address), "LINAC_RUN_KEY": key}
        if way == "link":
            environment.update(LOCAL_RANK="0", LOCAL_WORLD_SIZE="1")
        with open(f"{out}.log", "ab") as log:
            processes.append(net[name].popen(runs.arguments(out, settings), cwd=runs.ROOT, stdout=log, stderr=log, env=runs.environment(**environment)))
    at, peaks = watch(out, processes)
    return result(out, at, peaks, cpu_s() - used)


def spread(values: list[float], digits: int = 2) -> str:
    return f"{statistics.median(values):.{digits}f} ({min(values):.{digits}f} to {max(values):.{digits}f})"


def markdown(found: dict) -> str:
    lines = ["# A replica in parts", f"{found['date']}, {found['cpu']}, {found['cores']} cores, commit {found['commit']}; other programs took "
             f"{found['others_cores']:.2f} cores at the start. `{found['command']}`", "",
             f"A replica of {found['batch']} showers of 102 x 102 x 50 cells. Median (minimum to maximum) of {len(found['rounds'])} rounds in turns; "
             "memory is the largest resident set of any worker, LibTorch's with it; seconds are those of a step.", "",
             "| network | | undivided, two threads | two workers, two parts | four workers, four parts | two ÷ undivided | four ÷ undivided |",
             "|---|---|---|---|---|---|---|"]
    for name in found["rounds"][0]:
        for field, what, digits in (("worker_mib", "memory of a worker, MiB", 0), ("step_s", "a step, s", 2), ("cpu_s", "CPU s of the run", 1)):
            of = {way: [one[name][way][field] for one in found["rounds"]] for way in WAYS}
            ratios = {way: spread([a / b for a, b in zip(of[way], of["whole"])], 3) for way in ("two", "four")}
            lines.append(f"| {WORDS[name]} | {what} | {spread(of['whole'], digits)} | {spread(of['two'], digits)} | {spread(of['four'], digits)} | "
                         f"{ratios['two']} | {ratios['four']} |")
    if found["link"]:
        link = found["link"]
        lines += ["", f"Two workers on two hosts (network namespaces) with a link of {link['rate']} between them ({link['stream_mb_per_s']:.0f} MB/s and "
                  f"{1e6 * link['latency_s']:.0f} µs one way measured) and on one, by the loopback interface; {len(link['rounds'])} rounds in turns.", "",
                  "| network | a step on one host, s | on two, s | two ÷ one |", "|---|---|---|---|"]
        for name in link["rounds"][0]:
            one, two = ([each[name][way]["step_s"] for each in link["rounds"]] for way in LINK_WAYS)
            lines.append(f"| {WORDS[name]} | {spread(one)} | {spread(two)} | {spread([b / a for a, b in zip(one, two)], 3)} |")
    if found["equal"]:
        lines += ["", "Ten steps by plain SGD: the largest relative difference of a step's loss from the undivided training's. The last column is the "
                  "yardstick: undivided too, by LibTorch's kernels.", "",
                  "| network | in 2 parts | in 4 parts | by other kernels |", "|---|---|---|---|"]
        for name, apart in found["equal"].items():
            lines.append(f"| {WORDS[name]} | {apart['two']:.1e} | {apart['four']:.1e} | {apart['kernels']:.1e} |")
    return "\n".join(lines) + "\n"


def job(folder: pathlib.Path, name: str, **train_settings) -> dict:
    described = json.loads((folder / f"{name}.json").read_text())
    path = folder / f"{name}.yaml"
    path.write_text(json.dumps({
        "name": name, "model": {"kind": "keras", "file": str(folder / f"{name}.keras")},
        "data": {"train": [str(folder / described["data"])], "inputs": described["inputs"], "targets": described["targets"]},
        "train": {"epochs": 1, "replicas": 1, "fit": {"loss": [described["loss"]]}, **train_settings}}))
    return {"job": str(path)}


def losses_apart(folder: pathlib.Path, name: str, batch: int) -> dict:
    settings = job(folder, name, batch=batch, max_steps=10, optimizer={"name": "sgd", "lr": 1e-6})
    whole = train(folder / "run", settings, 1)["losses"]
    apart = {}
    for way, of_way in (("two", WAYS["two"][1]), ("four", WAYS["four"][1]), ("kernels", {"train.kernels": "aten"})):
        parts = train(folder / "run", settings | of_way, 1)["losses"]
        assert len(parts) == len(whole) == 10
        apart[way] = max(abs(a / b - 1) for a, b in zip(parts, whole))
    return apart


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--networks", default="cnn,discriminator")
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--rate", default="10gbit")
    parser.add_argument("--no-link", action="store_true")
    parser.add_argument("--no-equal", action="store_true")
    parser.add_argument("--python", default=str(runs.ROOT / "build/peers/bin/python"))
    options = parser.parse_args()
    found = {**network.provenance("bench/split.py"), "others_cores": network.busy_cores(), "batch": options.batch, "rounds": [], "link": {}, "equal": {}}
    found["command"] = found["command"].replace(options.python, "PYTHON")
    names = options.networks.split(",")
    with tempfile.TemporaryDirectory(prefix="linac-split-") as temporary:
        folder = pathlib.Path(temporary)
        subprocess.run([options.python, MAKE, runs.ROOT / "data/showers-train.h5", folder], check=True, stderr=subprocess.DEVNULL)
        jobs = {name: job(folder, name, batch=options.batch, max_steps=STEPS) for name in names}
        for number in range(options.rounds):
            one = {}
            for name in names:
                ways = list(WAYS) if number % 2 == 0 else list(reversed(WAYS))
                one[name] = {way: train(folder / "run", jobs[name] | WAYS[way][1], WAYS[way][0]) for way in ways}
                network.say(f"round {number + 1}, {name}: " + "; ".join(
                    f"{way} {one[name][way]['step_s']:.2f} s, {one[name][way]['worker_mib']:.0f} MiB, {one[name][way]['cpu_s']:.1f} CPU s" for way in WAYS))
            found["rounds"].append(one)
        if not options.no_link:
            with hosts.Network("ab") as net:
                for host in "ab":
                    net[host].limit_rate(options.rate)
                found["link"] = {"rate": options.rate, **network.try_link(net["a"], net["b"]), "rounds": []}
                for number in range(options.rounds):
                    ways = LINK_WAYS if number % 2 == 0 else LINK_WAYS[::-1]
                    found["link"]["rounds"].append({name: {way: over_link(net, folder / "run", jobs[name] | WAYS["two"][1], way) for way in ways}
                                                    for name in names})
                    network.say(f"link, round {number + 1}: " + "; ".join(
                        f"{name} {of['link']['step_s'] / of['loopback']['step_s']:.3f}" for name, of in found["link"]["rounds"][-1].items()))
        if not options.no_equal:
            found["equal"] = {name: losses_apart(folder, name, batch) for name, batch in (("resnet", 4), ("unet", 2))}
    for one in found["rounds"]:
        for ways in one.values():
            for way in ways.values():
                del way["losses"]
    for one in found["link"].get("rounds", []):
        for ways in one.values():
            for way in ways.values():
                del way["losses"]
    store(found, "split", markdown(found))


if __name__ == "__main__":
    main()
