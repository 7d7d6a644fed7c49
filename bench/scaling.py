#!/usr/bin/env python3
"""Weak scaling of a job on this machine, and what the model of src/linac/base/plan/scaling.h predicts for many hosts, by `linac bench scaling`.

  bench/scaling.py [--job examples/3dgan-from-nothing.yaml] [--workers 1,2,4] [--rounds 3] [--steps 6]       writes bench/results/DATE-scaling.md

With four workers on two cores a step of the demo takes 5 s in each of the two cases, so three rounds take some six minutes."""

import argparse
import datetime
import json
import os
import pathlib
import platform
import shlex
import subprocess
import sys
import tempfile

from store import store

ROOT = pathlib.Path(__file__).resolve().parents[1]
LINAC = os.environ.get("LINAC", str(ROOT / "build" / "linac"))
LINKS, REPLICAS = ("1gbit:50us", "10gbit:50us", "100gbit:5us"), (1, 8)
BUSY = 0.5

# Seconds an epoch by V100 GPUs: Cardoso et al., "Accelerating GAN training using highly parallel hardware on public cloud", EPJ Web of
# Conferences 251, 02073 (2021).
CARDOSO_EPOCH_S = {2: 1779, 4: 900, 8: 457, 16: 230, 32: 115, 64: 59.4, 128: 34.9}


def bench(options, *more: str) -> dict:
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        command = [LINAC, "bench", "scaling", options.job, "--json", file.name, *more]
        subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
        return json.load(file)


def markdown(result: dict) -> str:
    load = " ".join(f"{value:.2f}" for value in result["load_average"])
    busy = ": the machine was **busy with other work**, so these numbers are an indication" if result["load_average"][0] > BUSY else ""
    lines = ["# How a training scales", f"{result['date']}, {result['cpu']}, {result['cores']} cores, commit {result['commit']}; load average at the "
             f"start {load}{busy}.", "", f"`{result['command']}`; {result['job']}, a replica a worker, {result['rounds']} round(s) of {result['steps']} steps.", "",
             "## Measured here", "*apart*: as many trainings of one worker each, side by side on the same cores. Efficiency: the one over the other, in each round. "
             "*Waiting for peers* holds what communication was not hidden, and the wait for whom the machine gave less time.", "",
             "| workers | replica steps/s | apart | efficiency, median (min–max) | waiting for peers, mean; of the one that waits least | MB sent a step |",
             "|---|---|---|---|---|---|"]
    for entry in result["measured"]:
        of = {name: value["median"] for name, value in entry.items() if isinstance(value, dict)}
        lines.append(f"| {entry['workers']} | {of['replica_steps_per_s']:.3f} | {of['replica_steps_per_s_apart']:.3f} | {100 * of['efficiency']:.1f} % "
                     f"({100 * entry['efficiency']['min']:.1f}–{100 * entry['efficiency']['max']:.1f}) | {100 * of['not_hidden']:.2f} %; "
                     f"{100 * of['not_hidden_least']:.2f} % | {of['sent_bytes_a_step'] / 1e6:.1f} |")
    lines += ["", "## Predicted", f"For hosts of {result['cores']} cores like these, one worker each; a step without communication by its CPU time. Efficiency of weak scaling, and in brackets what is not hidden of a step, ms. Hosts of unequal speed are not in it."]
    columns = [(one["replicas"], one["link"]) for one in result["predicted"]]
    lines += ["", "| hosts | " + " | ".join(f"{replicas} replica{'s' if replicas > 1 else ''}, {link}" for replicas, link in columns) + " |", "|---" * (len(columns) + 1) + "|",
              "| without communication | " + " | ".join(f"{one['compute_s']:.2f} s" for one in result["predicted"]) + " |"]
    for row in zip(*(one["hosts"] for one in result["predicted"])):
        lines.append(f"| {row[0]['hosts']} | " + " | ".join(f"{100 * cell['efficiency']:.1f} % ({1e3 * cell['exposed_s']:.0f})" for cell in row) + " |")
    lines += ["", "## Published, with other programs and machines", "| | | efficiency |", "|---|---|---|"]
    for gpus, seconds in list(CARDOSO_EPOCH_S.items())[1:]:
        lines.append(f"| 3DGAN, V100 GPUs (Cardoso et al. 2021) | 2 → {gpus}: {CARDOSO_EPOCH_S[2]} → {seconds} s an epoch | {100 * CARDOSO_EPOCH_S[2] / seconds / (gpus / 2):.0f} % |")
    lines += ["| 3DGAN, Xeon nodes, Horovod (Vallecorsa et al. 2018) | 1 → 128 | 94 % |", "| Inception V3, ResNet-101, Horovod (Sergeev and Del Balso 2018) | 1 → 512 GPUs | 90 % |"]
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--job", default="examples/3dgan-from-nothing.yaml")
    parser.add_argument("--workers", default="1,2,4")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=6)
    options = parser.parse_args()
    cpu = next((line.split(":", 1)[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), platform.machine())
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True).stdout.strip()
    result = {"command": shlex.join(["bench/scaling.py", *sys.argv[1:]]), "date": datetime.date.today().isoformat(), "cpu": cpu,
              "cores": os.cpu_count(), "commit": commit, "load_average": os.getloadavg(), "job": options.job, "rounds": options.rounds, "steps": options.steps}
    measured = bench(options, "--workers", options.workers, "--rounds", str(options.rounds), "--steps", str(options.steps))
    result["measured"] = measured["measured"]
    replica_s = measured["predicted"]["compute_s"]  # from CPU time
    result["predicted"] = []
    for replicas in REPLICAS:
        step_s = replica_s * replicas / min(replicas, os.cpu_count())
        for link in LINKS:
            found = bench(options, "--compute", str(step_s), "--replicas-per-worker", str(replicas), "--link", link)["predicted"]
            result["predicted"].append({"replicas": replicas, **found, "link": link})
    store(result, "scaling", markdown(result), raw_only=("rounds",))


if __name__ == "__main__":
    main()
