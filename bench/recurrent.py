#!/usr/bin/env python3
"""Measures the training of a GRU or LSTM layer on events of many lengths by linac, PyTorch and Keras in turns, one thread.

The Inclusive Classifier's layer: 128 events of 19 features, 17 to 631 of 801 steps, 50 units, forward and backward. Every
mode of the peers takes part in every round. Writes <date>-<cpu>-<cell>.md and its summary into --out, all numbers into
build/bench.
"""

import argparse
import datetime
import json
import os
import shlex
import statistics
import subprocess
import sys
from pathlib import Path

from peers.modes import RECURRENT_MODES

from compare import describe_host, require, say
from contenders import ROOT, Failure
from report import cpu_name, spread
from store import commit, store


def command_line():
    parser = argparse.ArgumentParser(
        description=__doc__, epilog="example:\n  bench/recurrent.py --cell lstm", formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cell", choices=("gru", "lstm"), default="gru")
    parser.add_argument("--repeat", type=int, default=7, help="rounds (default 7)")
    parser.add_argument("--out", type=Path, default=ROOT / "bench/results", help="folder (default bench/results)")
    parser.add_argument("--linac", default=str(ROOT / "build/linac"), help="default build/linac")
    parser.add_argument("--python", default=str(ROOT / "build/bench-peers/bin/python"), help="the peers' interpreter")
    return parser.parse_args()


class Peer:
    """A process that stays between the rounds."""

    def __init__(self, options, mode, lengths):
        self.mode = mode
        command = [options.python, ROOT / "bench/peers/recurrent_layer.py", "--mode", mode, "--cell", options.cell]
        command += ["--lengths", ",".join(map(str, lengths))]
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={"OMP_WAIT_POLICY": "passive"} | os.environ,
        )
        if self.process.stdout.readline().strip() != "ready":
            raise Failure(f"{mode} did not start")

    def ask(self, request):
        self.process.stdin.write(request + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())


def run_linac(options, repeat):
    done = subprocess.run(
        [options.linac, "bench", "recurrent", "--cell", options.cell, "--repeat", str(repeat), "--json"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return json.loads(done.stdout)


def measure(options):
    first = run_linac(options, 1)
    peers = [Peer(options, mode, first["lengths"]) for mode in RECURRENT_MODES]
    rounds = []
    for number in range(options.repeat):
        found = {"linac": run_linac(options, 1)["training"]["cpu_s"]["median"]}
        for peer in peers:
            found[peer.mode] = peer.ask("go step")["cpu_s"]
        rounds.append(found)
        say(f"round {number + 1} of {options.repeat}: " + ", ".join(f"{name} {s:.4f} CPU s" for name, s in found.items()))
    versions = {peer.mode: peer.ask("quit")["version"] for peer in peers}
    for peer in peers:
        peer.process.wait()
    events = first["events"]
    ratios = [min(s for name, s in found.items() if name != "linac") / found["linac"] for found in rounds]
    return {
        "date": datetime.datetime.now().astimezone().isoformat(timespec="minutes"),
        "command": shlex.join(["bench/recurrent.py", *sys.argv[1:]]),
        "commit": commit(),
        "host": describe_host(),
        "cell": options.cell,
        "events": events,
        "mean_length": first["mean_length"],
        "linac": {"isa": first["isa"], "peak_gflop_per_s": first["peak_gflop_per_s"]},
        "versions": versions,
        "cpu_s": {name: spread([found[name] for found in rounds]) for name in rounds[0]},
        "events_per_cpu_s": {name: events / statistics.median(found[name] for found in rounds) for name in rounds[0]},
        "ratio_to_best_peer": spread(ratios),
        "rounds": rounds,
    }


def as_text(result):
    ratio = result["ratio_to_best_peer"]
    lines = [
        f"# Training a {result['cell'].upper()} layer, one thread, {result['date'][:10]}",
        "",
        f"`{result['command']}` on {result['host']['cpu']} ({result['linac']['isa']}, "
        f"{result['linac']['peak_gflop_per_s']:.0f} GFLOP/s at most), load {result['host']['load_average']}. "
        f"Batches of {result['events']} events of {result['mean_length']:.0f} steps on average, 801 with padding.",
        "",
        "| | CPU s a batch, median (min to max) | events per CPU second |",
        "|---|---|---|",
    ]
    for name, cpu in sorted(result["cpu_s"].items(), key=lambda item: item[1]["median"]):
        shown = f"{name} ({result['versions'][name]})" if name in result["versions"] else name
        lines.append(
            f"| {shown} | {cpu['median']:.4f} ({cpu['min']:.4f} to {cpu['max']:.4f}) | {result['events_per_cpu_s'][name]:,.0f} |"
        )
    lines += ["", f"linac over the fastest peer, by rounds: **{ratio['median']:.1f}** ({ratio['min']:.1f} to {ratio['max']:.1f}).", ""]
    return "\n".join(lines)


def main():
    options = command_line()
    try:
        require(options.linac, "linac", "make build")
        require(options.python, "environment of the peers", "bench/peers/setup.sh")
        result = measure(options)
    except Failure as failure:
        say(str(failure))
        return 1
    store(result, f"{cpu_name(result)}-{options.cell}", as_text(result), options.out, raw_only=("rounds",))
    return 0


if __name__ == "__main__":
    sys.exit(main())
