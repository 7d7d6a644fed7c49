#!/usr/bin/env python3
"""Measures one training step of the 3DGAN, and the generator alone, by linac, PyTorch and TensorFlow in turns.

Each round runs linac, then each peer, once. Every peer first shows each of its modes; its fastest takes part in the
rounds. With more than one thread the rounds hold the runs with one thread as well, so that the speed-up is measured side
by side. Writes <date>-<cpu>-<precision>-b<batch>-t<threads>.md and its summary into --out, all numbers into build/bench.
"""

import argparse
import contextlib
import datetime
import os
import shlex
import sys
import time
from pathlib import Path

from peers.modes import MODES

import report
from contenders import ROOT, WORKS, Failure, Linac, Peer, TooSlow
from store import commit

EXAMPLES = """examples:
  bench/compare.py --precision fp32 --batch 16 --threads 1
  bench/compare.py --precision bf16 --repeat 3
  bench/compare.py --threads 2                  speed-up over one thread too
  bench/compare.py --modes torch:eager-channels-last,tensorflow:graph --repeat 1   no search for the fastest
"""
FLAGS = ("avx2", "fma", "avx512f", "avx512_vnni", "avx512_bf16", "avx512_fp16", "amx_tile", "amx_bf16")


def say(text):
    print(f"[bench] {text}", file=sys.stderr, flush=True)


def command_line():
    parser = argparse.ArgumentParser(
        description=__doc__, epilog=EXAMPLES, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--precision", choices=("fp32", "bf16"), default="fp32")
    parser.add_argument("--batch", type=int, default=16, help="showers a step (default 16)")
    parser.add_argument("--threads", type=int, default=1, help="threads of each program (default 1)")
    parser.add_argument("--repeat", type=int, default=5, help="rounds (default 5)")
    parser.add_argument(
        "--modes",
        default="best",
        help="best: each peer's fastest (default); all: every one in every round; or PEER:MODE,PEER:MODE,...",
    )
    parser.add_argument("--limit", type=float, default=300, help="seconds a mode may take to warm up or answer (default 300)")
    parser.add_argument("--out", type=Path, default=ROOT / "bench/results", help="folder (default bench/results)")
    parser.add_argument("--linac", default=str(ROOT / "build/linac"), help="default build/linac")
    parser.add_argument("--python", default=str(ROOT / "build/bench-peers/bin/python"), help="the peers' interpreter")
    return parser.parse_args()


def require(path, what, command):
    if not Path(path).exists():
        raise Failure(f"no {what} at {path}: run {command}")


def named_modes(text):
    """[(peer, mode)] of --modes PEER:MODE,..."""
    pairs = [tuple(word.split(":", 1)) for word in text.split(",")]
    for pair in pairs:
        if len(pair) != 2 or pair[1] not in MODES.get(pair[0], ()):
            known = ", ".join(f"{peer}:{mode}" for peer, modes in MODES.items() for mode in modes)
            raise Failure(f"--modes: unknown {':'.join(pair)!r}; known are all, best, {known}")
    return pairs


def thread_counts(options):
    return sorted({1, options.threads})


def started(options, name, mode, works, threads):
    """A peer that is warm, or TooSlow."""
    peer = Peer(name, mode, works, options.python, options.precision, options.batch, threads)
    try:
        peer.wait_until_ready(options.limit)
    except BaseException:
        peer.kill()
        raise
    return peer


def describe(measured):
    return ", ".join(f"{work} {value['cpu_s']:.2f} CPU s" for work, value in measured.items())


def try_mode(options, name, mode):
    """{work: {"wall_s", "cpu_s", ...}} of one measurement, after the warm-up; None if it takes longer than the limit."""
    begin = time.monotonic()
    try:
        peer = started(options, name, mode, WORKS, options.threads)
        try:
            found = peer.measure(options.limit)
        finally:
            peer.kill()
    except TooSlow:
        say(f"{name} {mode}: over {options.limit:.0f} s, left out")
        return None
    say(f"{name} {mode}: {describe(found)}; {time.monotonic() - begin:.0f} s with its warm-up")
    return found


def search(options):
    """{peer: {mode: what try_mode has found}}"""
    return {name: {mode: try_mode(options, name, mode) for mode in modes} for name, modes in MODES.items()}


def fastest(tried, clock):
    """[(peer, mode, works)]: for each work a peer's fastest mode by `clock`; a mode that is it for both comes once."""
    chosen = []
    for name, modes in tried.items():
        possible = {mode: found for mode, found in modes.items() if found is not None}
        if not possible:
            raise Failure(f"no mode of {name} answered in time: give a larger --limit")
        best = {work: min(possible, key=lambda mode: possible[mode][work][clock]) for work in WORKS}
        chosen += [(name, mode, [work for work in WORKS if best[work] == mode]) for mode in dict.fromkeys(best.values())]
    return chosen


def choose(options):
    """What takes part, [(peer, mode, works)], and what the search for it has found."""
    if options.modes == "best":
        tried = search(options)
        return fastest(tried, "cpu_s" if options.threads == 1 else "wall_s"), tried
    pairs = [(name, mode) for name in MODES for mode in MODES[name]] if options.modes == "all" else named_modes(options.modes)
    return [(name, mode, list(WORKS)) for name, mode in pairs], {}


def start_all(options, chosen, at_end):
    """The peers of the rounds, warm; `at_end` ends them."""
    peers = []
    for name, mode, works in chosen:
        for threads in thread_counts(options):
            say(f"starting {name} {mode}, threads {threads}")
            peers.append(started(options, name, mode, works, threads))
            at_end.callback(peers[-1].kill)
    return peers


def run_rounds(options, contenders):
    """[{label: {work: {"wall_s", "cpu_s", ...}}}], an entry a round."""
    rounds = []
    for number in range(options.repeat):
        found = {}
        for contender in contenders:
            measured = contender.measure()
            found[report.label(contender)] = measured
            say(f"round {number + 1} of {options.repeat}: {report.label(contender)}: {describe(measured)}")
        rounds.append(found)
    return rounds


def describe_host():
    """CPU model, the flags that matter, load average."""
    lines = [line.split(":", 1) for line in Path("/proc/cpuinfo").read_text().splitlines() if ":" in line]
    facts = {name.strip(): value.strip() for name, value in lines}
    present = facts.get("flags", "").split()
    return {
        "cpu": facts.get("model name", "unknown CPU"),
        "flags": [flag for flag in FLAGS if flag in present],
        "cpus": os.cpu_count(),
        "load_average": [round(load, 2) for load in os.getloadavg()],
    }


def compare(options):
    require(options.linac, "linac", "make build")
    require(options.python, "environment of the peers", "bench/peers/setup.sh")
    result = {
        "date": datetime.datetime.now().astimezone().isoformat(timespec="minutes"),
        "command": shlex.join(["bench/compare.py", *sys.argv[1:]]),
        "commit": commit(),
        "host": describe_host(),
        "settings": {name: getattr(options, name) for name in ("precision", "batch", "threads", "repeat")},
    }
    linac = [Linac(options.linac, options.precision, options.batch, threads) for threads in thread_counts(options)]
    available = linac[0].is_available()
    if not available:
        say(f"linac has no precision {options.precision}: not available")
    chosen, tried = choose(options)
    with contextlib.ExitStack() as at_end:
        peers = start_all(options, chosen, at_end)
        contenders = (linac if available else []) + peers
        rounds = run_rounds(options, contenders)
        for peer in peers:
            peer.close()
    for program in linac:
        program.require_unchanged()
    result["versions"] = {contender.name: contender.version for contender in [*linac, *peers]}
    result["settings"]["omp_wait_policy"] = os.environ.get("OMP_WAIT_POLICY", "passive")
    result["linac_sha256"] = linac[0].sha256
    result["modes_tried"] = tried
    result["linac_available"] = available
    result["contenders"] = report.summarize(contenders, rounds, options.batch)
    result["ratios"] = report.ratios(contenders, rounds)
    result["rounds"] = rounds
    return result


def main():
    options = command_line()
    try:
        result = compare(options)
        path = report.write(result, options.out)
    except Failure as failure:
        sys.exit(f"[bench] error: {failure}")
    except TooSlow:
        sys.exit(f"[bench] error: a peer took longer than --limit {options.limit:.0f} s")
    say(f"written: {path}")


if __name__ == "__main__":
    main()
