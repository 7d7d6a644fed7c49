#!/usr/bin/env python3
"""What `linac plan` predicts beside what a training then takes, on this machine: five jobs, each on 1 to 4 workers, with other batches, under a quota,
on several hosts (network namespaces) with links, and preempted at random moments.

    build/peers/bin/python bench/plan.py --out bench/results/DATE-plan.md [--rounds 1] [--seed 1] [--jobs gan,classifier]

A replica's batch is planned by the line through two: the job's and four times that (`--batch`).

Each case is planned before it runs: from a measurement of the same job under the same limit, made by `linac plan --probe-only`, and never
from what an earlier case took. A figure is inside if it is between the ends of the 80 % interval. Needs root for namespaces and quotas.
"""

import argparse
import contextlib
import json
import os
import pathlib
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from lib import hosts, ports, runs  # noqa: E402

ROOT = runs.ROOT
SECONDS = 6.0  # that a training should take, about
PROBE_S = 8
BATCH = {"gan": 1, "classifier": 30, "dense": 64, "convolution": 64, "lstm": 64}  # of a replica
MEASURED_TIMES = 4  # of these, the second one that is measured
FIGURES = {"seconds": "whole time", "start_s": "start to first step", "step_s": "a step", "jitter": "jitter"}
SHARE = {2: 0.8, 3: 0.6, 4: 0.45}  # cores of a host, of so many


def keras_models(folder: pathlib.Path) -> dict[str, pathlib.Path]:
    """Three networks of the usual kinds on lists of 20 particles with 6 features, and data for them."""
    import keras
    import numpy
    import h5py

    generator = numpy.random.default_rng(7)
    with h5py.File(folder / "events.h5", "w") as file:
        features = generator.normal(size=(6000, 20, 6)).astype("float32")
        file["particles"] = features
        file["label"] = (features[:, :, 0].sum(1, keepdims=True) > 0).astype("float32")
    layers = keras.layers

    def model(*middle):
        network = keras.Sequential([layers.Input((20, 6), name="particles"), *middle, layers.Dense(1, activation="sigmoid", name="label")])
        network.compile(optimizer="adam", loss="binary_crossentropy")
        return network

    found = {
        "dense": model(layers.Flatten(), layers.Dense(512, activation="relu"), layers.Dense(512, activation="relu")),
        "convolution": model(layers.Conv1D(64, 3, activation="relu"), layers.Conv1D(64, 3, activation="relu"), layers.GlobalAveragePooling1D()),
        "lstm": model(layers.LSTM(48)),
    }
    files = {}
    for name, network in found.items():
        files[name] = folder / f"{name}.keras"
        network.save(files[name])
    return files


def job_files(folder: pathlib.Path, wanted: list[str]) -> dict[str, pathlib.Path]:
    texts = {
        "gan": f"""
name: gan
model: {{kind: 3dgan, generator_channels: 1, generator_filters: [2, 1, 2, 1, 1, 1], discriminator_filters: [2, 1, 1, 1]}}
data: {{train: [{ROOT}/data/showers-train.h5], test: [{ROOT}/data/showers-test.h5]}}
train: {{replicas: 4, batch: {BATCH["gan"]}, epochs: 2, steps_per_epoch: 3, threads: 1, optimizer: {{name: rmsprop, lr: 1.0e-3}}}}
validate: {{every_epochs: 0}}
""",
        "classifier": f"""
name: classifier
model: {{kind: inclusive_classifier, variant: gru}}
data:
  train: [{ROOT}/data/topology-train.parquet]
  test: [{ROOT}/data/topology-test.parquet]
  inputs: [{{name: GRU_input, column: GRU_input, scaling: standard}}, {{name: HLF_input, column: HLF_input, scaling: min_max}}]
  targets: [{{column: encoded_label}}]
  scaling: {ROOT}/data/topology-scaling.json
train: {{replicas: 4, batch: {BATCH["classifier"]}, epochs: 2, threads: 1, fit: {{loss: categorical_crossentropy, metrics: [accuracy]}}}}
""",
    }
    if set(wanted) & {"dense", "convolution", "lstm"}:
        for name, model in keras_models(folder).items():
            texts[name] = f"""
name: {name}
model: {{kind: keras, file: {model}}}
data: {{train: [{folder}/events.h5], validation_split: 0.1, inputs: [{{name: particles}}], targets: [{{column: label}}]}}
train: {{replicas: 4, batch: {BATCH[name]}, epochs: 2, threads: 1}}
"""
    files = {}
    for name in wanted:
        files[name] = folder / f"{name}.yaml"
        files[name].write_text(texts[name])
    return files


class Place:
    """Where trainings run: this machine, a part of its time, or several hosts."""

    def __init__(self, cores: float | None = None, network: hosts.Network | None = None):
        self.cores, self.network, self.group = cores, network, None
        if cores is not None and network is None:
            self.group = hosts.CPU_GROUPS / f"linac-bench-plan-{os.getpid()}"
            self.group.mkdir(exist_ok=True)
            (self.group / "cpu.cfs_period_us").write_text("100000")
            (self.group / "cpu.cfs_quota_us").write_text(str(int(cores * 100000)))

    def popen(self, command: list[str], host: int = 0, **options) -> subprocess.Popen:
        if self.network is not None:
            return self.network["abcd"[host]].popen(command, **options)
        if self.group is not None:
            command = ["sh", "-c", f"echo $$ > {self.group}/cgroup.procs; exec \"$@\"", "sh", *command]
        return subprocess.Popen(command, **options)

    def run(self, command: list[str], **options) -> str:
        process = self.popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)
        out, errors = process.communicate()
        if process.returncode != 0:
            raise RuntimeError(f"{command}: {process.returncode}\n{errors[-2000:]}")
        return out

    def close(self) -> None:
        if self.group is not None:
            for _ in range(100):
                with contextlib.suppress(OSError):
                    self.group.rmdir()
                    return
                time.sleep(0.05)


class Watch(threading.Thread):
    """When the first line of a step is there."""

    def __init__(self, folder: pathlib.Path):
        super().__init__(daemon=True)
        self.file, self.first, self.ends = folder / "metrics.jsonl", None, threading.Event()
        self.start()

    def run(self) -> None:
        while not self.ends.wait(0.003):
            with contextlib.suppress(OSError):
                if b'"kind":"step"' in self.file.read_bytes().replace(b" ", b""):
                    self.first = time.monotonic()
                    return


def train(place: Place, job: pathlib.Path, out: pathlib.Path, settings: list[str], hosts_count: int, workers: int, lives: list[float]) -> dict:
    """Whole seconds, those to the first step, and a step's by the record. `lives`: seconds until it is told to stop, of each start."""
    command = [runs.LINAC, "train", str(job), "--out", str(out), *settings]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE}
    begin = time.monotonic()
    watch = Watch(out)
    if hosts_count > 1:
        port = ports.free_port()
        address = place.network["a"].address
        processes = [place.popen(command, host=rank, env=runs.environment(**{**runs.placed(rank, hosts_count, port, address), "LOCAL_WORLD_SIZE": "1"}), **quiet) for rank in range(hosts_count)]
        for process in processes:
            _, errors = process.communicate()
            if process.returncode != 0:
                raise RuntimeError(errors.decode()[-2000:])
    else:
        left, resume = list(lives), []
        while True:
            process = place.popen([*command, "--workers", str(workers), *resume], env=runs.environment(), **quiet)
            try:
                _, errors = process.communicate(timeout=left.pop(0) if left else None)
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGTERM)
                _, errors = process.communicate()
            resume = ["--resume-or-start"]
            if process.returncode == 0:
                break
            if process.returncode not in (75, -signal.SIGTERM):  # the latter before it heeds signals
                raise RuntimeError(errors.decode()[-2000:])
    whole = time.monotonic() - begin
    watch.ends.set()
    report = json.loads(subprocess.run([runs.LINAC, "report", str(out), "--json"], check=True, capture_output=True).stdout)
    step_s = report["actual"]["step_s"]
    return {"seconds": whole, "start_s": max(0.0, watch.first - begin - step_s) if watch.first and step_s else None, "step_s": step_s, "jitter": report["actual"]["jitter"]}


def planned(place: Place, job: pathlib.Path, measured: pathlib.Path, settings: list[str], hosts_count: int, workers: int, life_h: float, link: str) -> dict:
    """The row of that candidate."""
    site = job.parent / "sites.yaml"
    plan = {"hosts": hosts_count, **({"link": link} if link else {}), **({"spot_price": 1, "price": 3, "spot_life_h": life_h} if life_h else {})}
    site.write_text(json.dumps({"bench": {"kind": "local", "folder": str(job.parent / "launches"), "plan": plan}}))
    text = place.run([runs.LINAC, "plan", str(job), "--measured", str(measured), "--on", "bench", "--not-here", "--json", "--workers", str(workers), *(["--spot"] if life_h else []),
                      *settings], env=runs.environment(LINAC_SITES=str(site)))
    market = "spot" if life_h else "on_demand"
    rows = [row for row in json.loads(text)["rows"] if (row["hosts"], row["workers_a_host"], row["market"]) == (hosts_count, workers, market)]
    return rows[0]


def cases(name: str, rng: random.Random) -> list[dict]:
    few, many = rng.choice([(2, 3), (2, 4)])
    return [
        {"what": "1 worker", "workers": 1},
        {"what": "twice the batch", "batch": 2},
        {"what": "six times the batch", "batch": 6},
        {"what": f"{few} workers", "workers": few},
        {"what": f"{many} workers", "workers": many},
        {"what": "a core's quota, 1 worker", "cores": 1.0, "workers": 1},
        {"what": "a core's quota, 2 workers", "cores": 1.0, "workers": 2},
        {"what": "2 hosts, 1 Gbit/s", "hosts": 2, "rate": "1gbit", "link": "1gbit:50us"},
        {"what": f"{many} hosts, 100 Mbit/s, 1 ms", "hosts": many, "rate": "100mbit", "delay_ms": 1, "link": "100mbit:1ms"},
        {"what": "1 worker, preempted", "workers": 1, "preempted": True},
    ]


def run_case(name: str, job: pathlib.Path, case: dict, folder: pathlib.Path, rng: random.Random, measurements: dict) -> dict:
    hosts_count, workers = case.get("hosts", 1), case.get("workers", 1)
    with contextlib.ExitStack() as stack:
        # What is measured has the same part of the time as a host, but no network around it, where a name server that does not answer costs 5 s.
        measuring = Place(cores=SHARE[hosts_count] if hosts_count > 1 else case.get("cores"))
        stack.callback(measuring.close)
        place = measuring
        if hosts_count > 1:
            network = stack.enter_context(hosts.Network("abcd"[:hosts_count], rate=case["rate"], cores=SHARE[hosts_count]))
            if case.get("delay_ms"):
                network.shape(delay_ms=case["delay_ms"])
            place = Place(network=network)
        key = (name, SHARE[hosts_count] if hosts_count > 1 else case.get("cores"))
        if key not in measurements:
            measured = folder / f"{name}-{len(measurements)}.json"
            measuring.run([runs.LINAC, "plan", str(job), "--probe-only", str(measured), "--probe-seconds", str(PROBE_S), "--batch", str(MEASURED_TIMES * BATCH[name])], env=runs.environment())
            measurements[key] = measured
        measured = measurements[key]
        facts = json.loads(measured.read_text())
        other = ["--set", f"train.batch={case['batch'] * BATCH[name]}"] if "batch" in case else []
        row = planned(measuring, job, measured, other, hosts_count, workers, 0, case.get("link", ""))
        per_epoch = max(1, facts["steps"] // facts["epochs"] // case.get("batch", 1))
        epoch_s = per_epoch * row["step_s"]["middle"] + (facts["test_s"] or 0) + (facts["between_s"] or 0)
        epochs = max(2, min(200, round((SECONDS - row["start_s"]["middle"]) / epoch_s)))
        settings = ["--set", f"train.epochs={epochs}", *other]
        life_s = (SECONDS * 0.7) if case.get("preempted") else 0
        row = planned(measuring, job, measured, settings, hosts_count, workers, life_s / 3600, case.get("link", ""))
        lives = [rng.expovariate(1 / life_s) for _ in range(20)] if life_s else []
        out = folder / f"run-{name}-{abs(hash(case['what']))}-{rng.random()}"
        actual = train(place, job, out, settings, hosts_count, workers, lives)
    found = {"job": name, "case": case["what"], "epochs": epochs, "planned": row, "actual": actual}
    for figure in FIGURES:
        if actual[figure] and row[figure]:
            found[figure] = {"off": actual[figure] / row[figure]["middle"] - 1, "inside": row[figure]["low"] <= actual[figure] <= row[figure]["high"]}
    print(f"{name:12} {case['what']:30} " + "  ".join(
        f"{figure} {row[figure]['middle']:.3g} ({row[figure]['low']:.3g} to {row[figure]['high']:.3g}) {actual[figure] or 0:.3g} {'' if found.get(figure, {}).get('inside') else 'OUT'}"
        for figure in FIGURES if row[figure]), flush=True)
    return found


def summary(all_cases: list[dict], figure: str) -> dict:
    found = [case[figure] for case in all_cases if figure in case]
    return {"cases": len(found), "inside": sum(one["inside"] for one in found), "median_off": statistics.median(abs(one["off"]) for one in found),
            "most_off": max(abs(one["off"]) for one in found)}


def page(all_cases: list[dict], args: argparse.Namespace) -> str:
    cpu = next(line.split(": ")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name"))
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True).stdout.strip()
    lines = ["# Planned and actual", "", f"`bench/plan.py --rounds {args.rounds} --seed {args.seed}`, commit {commit}, {os.cpu_count()} cores of {cpu}; {args.machine}.", "",
             "In brackets the interval between whose ends four of five should be.", "", "| figure | cases | inside | off, median | the most |", "|---|---|---|---|---|"]
    for figure, word in FIGURES.items():
        one = summary(all_cases, figure)
        lines.append(f"| {word} | {one['cases']} | {one['inside']} ({100 * one['inside'] / one['cases']:.0f} %) | {100 * one['median_off']:.1f} % | {100 * one['most_off']:.0f} % |")
    lines += ["", "| job | where | planned, s | actual, s | start, planned | actual | a step, planned, ms | actual | jitter, planned, % | actual |", "|---|---|---|---|---|---|---|---|---|---|"]
    for case in all_cases:
        row, actual = case["planned"], case["actual"]

        def words(figure: str, unit: float) -> str:
            value = row[figure]
            if value is None:
                return "–"
            return f"{value['middle'] / unit:.3g} ({value['low'] / unit:.3g} to {value['high'] / unit:.3g})"

        def mark(figure: str, unit: float) -> str:
            return "–" if figure not in case else f"{actual[figure] / unit:.3g}" + ("" if case[figure]["inside"] else " ✗")

        lines.append(f"| {case['job']} | {case['case']} | {words('seconds', 1)} | {mark('seconds', 1)} | {words('start_s', 1)} | {mark('start_s', 1)} | "
                     f"{words('step_s', 1e-3)} | {mark('step_s', 1e-3)} | {words('jitter', 0.01)} | {mark('jitter', 0.01)} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=pathlib.Path, help="page; the same as JSON beside it")
    parser.add_argument("--jobs", default="gan,classifier,dense,convolution,lstm")
    parser.add_argument("--cases", default="", help="those whose words begin so, e.g. '1 worker,2 hosts'; all")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--machine", default="nothing is known of what else it did")
    args = parser.parse_args()
    rng = random.Random(args.seed)
    found = []
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        files = job_files(folder, args.jobs.split(","))
        for _ in range(args.rounds):
            measurements: dict = {}
            for name, job in files.items():
                for case in cases(name, rng):
                    if not case["what"].startswith(tuple(args.cases.split(","))):
                        continue
                    found.append(run_case(name, job, case, folder, rng, measurements))
    for figure in FIGURES:
        print(figure, summary(found, figure))
    if args.out:
        args.out.write_text(page(found, args))
        args.out.with_suffix(".json").write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
