#!/usr/bin/env python3
"""Measures training steps and predictions of small, usual models by linac, Keras and PyTorch in turns.

Keras makes the models as .keras files, which linac and Keras then read; PyTorch's are written by hand
(bench/peers/torch_models.py). Each round runs linac (a new process), then the modes of the peers (processes that stay).
Two threads are measured with the peers' modes that came near the best with one. Last comes the start: how long
`linac train` takes to the end of its first step. Writes <date>-<cpu>-models.md and its summary into --out, all numbers into build/bench.
"""

import argparse
import contextlib
import datetime
import json
import os
import resource
import select
import shlex
import statistics
import subprocess
import sys
import tempfile
import textwrap
import time
from pathlib import Path

from peers.modes import MODEL_BATCHES, MODEL_MODES, model_modes

from compare import describe_host, require, say
from contenders import ROOT, Failure, TooSlow, sha256_of
from lib import runs
from report import cpu_name, spread
from store import commit, store

WORKS = {"step": "A training step", "predict": "A prediction"}
RECURRENT = ("lstm", "gru", "lstm_dropout", "gru_relu")  # PyTorch has a second bias
WANTED, AIM, WANTED_START_S = 1.0, 0.7, 0.5  # linac's time over the best peer's, and of the start
NEAR = 1.5  # how many times the best mode's time one may take to be measured with more threads
START_JOB = """\
name: start
model: {{kind: keras, file: {file}}}
data:
  train: [{events}]
  inputs: [{{name: {input}, column: HLF_input, scaling: min_max}}]
  targets: [{{column: encoded_label}}]
  scaling: {scaling}
train: {{epochs: 1, batch: 32, max_steps: 1, fit: {{loss: categorical_crossentropy}}}}
"""
COLUMNS = 100  # of the text in README.md
README, BEGIN, END = ROOT / "bench/README.md", "<!-- bench/models.py begins -->\n", "<!-- bench/models.py ends -->\n"


def without_paths(arguments):
    """Where the programs and files lie is the machine's own affair."""
    kept, skip = [], False
    for argument in arguments:
        if not skip and argument.partition("=")[0] not in ("--python", "--linac", "--files", "--out"):
            kept.append(argument)
        skip = not skip and argument in ("--python", "--linac", "--files", "--out")
    return kept


def words(known):
    def split(text):
        for word in text.split(","):
            if word not in known:
                raise argparse.ArgumentTypeError(f"{word!r} is none of {', '.join(known)}")
        return text.split(",")

    return split


def command_line():
    parser = argparse.ArgumentParser(
        description=__doc__,
        epilog="example:\n  bench/models.py --models cnn2d,transformer --threads 1 --repeat 3",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--models", type=words(MODEL_BATCHES), default=list(MODEL_BATCHES), help="some of " + ", ".join(MODEL_BATCHES))
    parser.add_argument("--modes", type=words(MODEL_MODES), default=list(MODEL_MODES), help="some of " + ", ".join(MODEL_MODES))
    parser.add_argument("--threads", type=words("12"), default=["1", "2"], help="default 1,2")
    parser.add_argument("--repeat", type=int, default=5, help="rounds (default 5)")
    parser.add_argument("--seconds", type=float, default=0.2, help="of each measurement in a round (default 0.2)")
    parser.add_argument("--quick", action="store_true", help="two rounds, and no mode that compiles")
    parser.add_argument("--limit", type=float, default=60, help="seconds a mode may take to warm up or answer (default 60)")
    parser.add_argument("--out", type=Path, default=ROOT / "bench/results", help="folder (default bench/results)")
    parser.add_argument("--files", type=Path, default=ROOT / "build/bench-models", help="where the models are written")
    parser.add_argument("--linac", default=str(ROOT / "build/linac"), help="default build/linac")
    parser.add_argument("--python", default=str(ROOT / "build/bench-peers/bin/python"), help="the peers' interpreter")
    parser.add_argument("--readme", action="store_true", help="put the tables into bench/README.md too")
    options = parser.parse_args()
    if options.quick:
        options.repeat = 2
        options.modes = [mode for mode in options.modes if "jit" not in mode and "compile" not in mode]
    return options


class Peer:
    """A process that stays between the rounds."""

    def __init__(self, options, mode, model, threads):
        self.mode, self.limit, self.errors = mode, options.limit, tempfile.TemporaryFile("w+")
        command = [options.python, ROOT / "bench/peers/model_step.py", "--mode", mode, "--model", model]
        command += ["--file", options.files / f"{model}.keras", "--threads", threads]
        self.process = subprocess.Popen(
            list(map(str, command)), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors, bufsize=0,
            env={"OMP_WAIT_POLICY": "passive"} | os.environ,
        )  # fmt: skip

    def wait_until_ready(self, until):
        if self.read_line(max(0, until - time.monotonic())) != "ready":
            raise Failure(f"{self.mode} did not start")

    def ask(self, request):
        self.process.stdin.write(f"{request}\n".encode())
        return json.loads(self.read_line())

    def read_line(self, limit=None):
        if not select.select([self.process.stdout], [], [], self.limit if limit is None else limit)[0]:
            raise TooSlow
        line = self.process.stdout.readline().decode().strip()
        if not line:
            self.process.wait()
            self.errors.seek(0)
            raise Failure(f"{self.mode} ended: " + self.errors.read()[-2000:].strip())
        return line

    def kill(self):
        self.process.kill()
        self.process.wait()


def run_linac(options, model, threads, seconds):
    command = [options.linac, "bench", "models", options.files / f"{model}.keras", "--batch", MODEL_BATCHES[model]]
    command += ["--threads", threads, "--seconds", seconds, "--json"]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
    if done.returncode != 0:
        raise Failure(f"{options.linac} failed: {done.stderr.strip()}")
    return json.loads(done.stdout)[0]


def started(options, modes, model, threads, at_end):
    """{mode: a warm peer}, which all start together; and {mode: why it is not there}."""
    peers, missing = {}, {}
    for mode in modes:
        peers[mode] = Peer(options, mode, model, threads)
        at_end.callback(peers[mode].kill)
    until = time.monotonic() + options.limit
    for mode, peer in list(peers.items()):
        try:
            peer.wait_until_ready(until)
        except TooSlow:
            missing[mode] = f"not warm after {options.limit:.0f} s"
        except Failure as failure:
            missing[mode] = str(failure).splitlines()[-1][:200]
        if mode in missing:
            say(f"{model}: {mode} left out: {missing[mode]}")
            peers.pop(mode).kill()
    return peers, missing


def need_same_size(model, weights, peers, versions):
    for mode, last in versions.items():
        if model not in RECURRENT and last["weights"] != weights:
            raise Failure(f"{model}: {mode} has {last['weights']} weights, linac {weights}: not the same model")


def measure(options, modes, model, threads):
    """All rounds of a model, and what there is to tell of them."""
    with contextlib.ExitStack() as at_end:
        peers, missing = started(options, modes, model, threads, at_end)
        rounds = []
        for _ in range(options.repeat):
            own = run_linac(options, model, threads, options.seconds)
            found = {"linac": {work: own[work] for work in WORKS}}
            for mode, peer in peers.items():
                found[mode] = {work: peer.ask(f"go {work} {options.seconds}") for work in WORKS}
            rounds.append(found)
        last = {mode: peer.ask("quit") for mode, peer in peers.items()}
    need_same_size(model, own["weights"], peers, last)
    result = {"model": model, "batch": MODEL_BATCHES[model], "threads": int(threads), "weights": own["weights"]}
    result |= {"forward_gflop": own["forward_gflop"], "isa": own["isa"], "missing": missing}
    result["versions"] = {mode: values["version"] for mode, values in last.items()}
    for work in WORKS:
        result[work] = summarize(rounds, work)
        say(f"{model}, threads {threads}, {work}: " + line_of(result[work]))
    return result | {"rounds": rounds}


def measure_all(options):
    found = []
    for model in options.models:
        modes = [mode for mode in model_modes(model) if mode in options.modes]
        for threads in options.threads:
            found.append(measure(options, modes, model, threads))
            modes = near_the_best(found[-1], modes)
    return found


def near_the_best(entry, modes):
    """The peers' modes of a measurement that are worth another one."""
    near = set()
    for work in WORKS:
        times = {name: found["cpu_s"]["median"] for name, found in entry[work]["contenders"].items() if name != "linac"}
        near |= {mode for mode in times if times[mode] <= NEAR * min(times.values())}
    return [mode for mode in modes if mode in near]


def start_times(options):
    """Of `linac train` of a small Keras model, in seconds from the process's start: to the end of the run behind its first
    step, which the run's record tells, and to the end of the process, when the model is written."""
    name = "start"
    events, scaling = ROOT / "data/topology-train.parquet", ROOT / "data/topology-scaling.json"
    first, whole, cpu = [], [], []
    for _ in range(options.repeat):
        with tempfile.TemporaryDirectory() as folder:
            job, out = Path(folder) / "job.yaml", Path(folder) / "run"
            job.write_text(START_JOB.format(file=options.files / f"{name}.keras", input="HLF_input", events=events, scaling=scaling))
            before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.time()
            done = subprocess.run([options.linac, "train", job, "--out", out], capture_output=True, text=True)
            whole.append(time.time() - begin)
            if done.returncode != 0:
                raise Failure(f"linac train failed: {done.stderr.strip()[-1000:]}")
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            cpu.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
            first.append(next(line["time"] for line in runs.lines(out) if line["kind"] == "end") - begin)
    say(f"start: the first step is done after {statistics.median(first):.3f} s")
    return {"first_step_s": spread(first), "process_s": spread(whole), "process_cpu_s": spread(cpu)}


def summarize(rounds, work):
    """Of each contender the least and the median time of a run over all rounds; linac's over the best peer's by rounds."""
    summary = {"contenders": {}, "ratio": {}}
    for name in rounds[0]:
        summary["contenders"][name] = {
            clock: {
                "min": min(found[name][work][clock]["min"] for found in rounds),
                "median": statistics.median(found[name][work][clock]["median"] for found in rounds),
            }
            for clock in ("wall_s", "cpu_s")
        }
    if len(rounds[0]) > 1:
        for clock in ("wall_s", "cpu_s"):
            times = [{name: values[work][clock]["median"] for name, values in found.items()} for found in rounds]
            summary["ratio"][clock] = spread([found.pop("linac") / min(found.values()) for found in times])
    return summary


def best_peer(summary, clock):
    peers = {name: times[clock]["median"] for name, times in summary["contenders"].items() if name != "linac"}
    return min(peers, key=peers.get) if peers else None


def line_of(summary):
    parts = [f"{name} {1e3 * times['cpu_s']['median']:.3f}" for name, times in summary["contenders"].items()]
    ratio = f"; linac's over the best {summary['ratio']['cpu_s']['median']:.2f}" if summary["ratio"] else ""
    return "CPU ms " + ", ".join(parts) + ratio


def idle_share(seconds=1.0):
    """What of this machine's CPUs nobody uses."""

    def counters():
        values = list(map(int, Path("/proc/stat").read_text().split("\n")[0].split()[1:9]))
        return values[3] + values[4], sum(values)

    idle, total = counters()
    time.sleep(seconds)
    idle_now, total_now = counters()
    return (idle_now - idle) / max(1, total_now - total)


def milliseconds(times):
    return f"{1e3 * times['median']:.2f} ({1e3 * times['min']:.2f})"


def verdict(value, wanted, aim):
    return "not reached" if value > wanted else "" if value <= aim else f"above {aim:g}, the aim"


def table(result, work, threads):
    clock = "cpu_s" if threads == 1 else "wall_s"
    shown = "CPU" if threads == 1 else "wall"
    lines = [
        f"{WORKS[work]}, {threads} thread{'s' * (threads > 1)}, {shown} ms, median (least):",
        "",
        "| model, batch | linac | best peer | | linac's time over it | |",
        "|---|---|---|---|---|---|",
    ]
    for entry in result["models"]:
        if entry["threads"] != threads:
            continue
        summary, peer = entry[work], best_peer(entry[work], clock)
        cells = [f"{entry['model']}, {entry['batch']}", milliseconds(summary["contenders"]["linac"][clock])]
        if peer:
            ratio = summary["ratio"][clock]
            cells += [milliseconds(summary["contenders"][peer][clock]), peer]
            cells += [f"**{ratio['median']:.2f}** ({ratio['min']:.2f} to {ratio['max']:.2f})"]
            cells.append(verdict(ratio["median"], WANTED, AIM))
        lines.append("| " + " | ".join(cells) + " |")
    return lines + [""]


def tables(result):
    lines = []
    for threads in sorted({entry["threads"] for entry in result["models"]}):
        for work in WORKS:
            lines += table(result, work, threads)
    missing = [f"{entry['model']}, {entry['threads']} thread{'s' * (entry['threads'] > 1)}: {mode}, {why}"
               for entry in result["models"] for mode, why in entry["missing"].items()]  # fmt: skip
    if missing:
        lines += ["Modes that are not in it:", ""]
        for line in missing:
            lines += textwrap.wrap(f"- {line}", COLUMNS, subsequent_indent="  ")
        lines.append("")
    return lines + start_lines(result["start"])


def start_lines(start):
    first = start["first_step_s"]
    return [
        f"| the start of a training, wall s, median (least); at most {WANTED_START_S} wanted | |  |",
        "|---|---|---|",
        f"| to the end of the first step | {first['median']:.3f} ({first['min']:.3f}) | "
        + f"{verdict(first['median'], WANTED_START_S, WANTED_START_S)} |",
        f"| to the end of the process, with checkpoint and model | {start['process_s']['median']:.3f} "
        + f"({start['process_s']['min']:.3f}) | |",
        f"| CPU time of all of it | {start['process_cpu_s']['median']:.3f} ({start['process_cpu_s']['min']:.3f}) | |",
        "",
    ]


def about(result):
    host = result["host"]
    versions = sorted({version for entry in result["models"] for version in entry["versions"].values()})
    state = "idle" if host["idle_share"] > 0.95 else f"{100 * (1 - host['idle_share']):.0f} % in use by others"
    load = " ".join(f"{value:.2f}" for value in host["load_average"])
    text = (
        f"{result['date'][:10]}, {host['cpu']}, {host['cpus']} CPUs, {state} at the start (load average {load}); "
        f"linac {result['commit']}; {'; '.join(versions)}; {result['repeat']} rounds, {result['minutes']:.0f} minutes in all. "
        f"`{result['command']}`"
    )
    return [*textwrap.wrap(text, COLUMNS, break_on_hyphens=False, break_long_words=False), ""]


def put_into_readme(lines):
    text = README.read_text()
    if BEGIN not in text or END not in text:
        raise Failure(f"{README} has no place for the tables: {BEGIN.strip()} and {END.strip()}")
    before, rest = text.split(BEGIN)
    README.write_text(before + BEGIN + "\n".join(lines) + END + rest.split(END)[1])


def main():
    options = command_line()
    try:
        require(options.linac, "linac", "make build")
        require(options.python, "environment of the peers", "bench/peers/setup.sh")
        subprocess.run([options.python, ROOT / "bench/peers/keras_models.py", options.files], check=True)
        program = sha256_of(Path(options.linac).resolve().with_name("linac-compute"))
        result = {
            "date": datetime.datetime.now().astimezone().isoformat(timespec="minutes"),
            "command": shlex.join(["bench/models.py", *without_paths(sys.argv[1:])]),
            "commit": commit(),
            "host": describe_host() | {"idle_share": round(idle_share(), 3)},
            "repeat": options.repeat,
        }
        begin = time.monotonic()
        result["models"] = measure_all(options)
        result["start"] = start_times(options)
        result["minutes"] = round((time.monotonic() - begin) / 60, 1)
        if sha256_of(Path(options.linac).resolve().with_name("linac-compute")) != program:
            raise Failure("linac was rebuilt while it was measured: run the comparison again")
        lines = about(result) + tables(result)
        store(result, f"{cpu_name(result)}-models", "\n".join(["# Usual models", "", *lines]), options.out, raw_only=("rounds",))
        if options.readme:
            put_into_readme(lines)
    except TooSlow:
        say(f"a peer took longer than --limit {options.limit:.0f} s")
        return 1
    except (Failure, subprocess.CalledProcessError) as failure:
        say(str(failure))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
