#!/usr/bin/env python3
"""What it costs to say where the time of a step goes (`linac report`): the clocks that a training reads for it, beside the CPU time of its steps.

  bench/step_clocks.py [--rounds 5] [--slices 3] [--program build/release/bin/linac-compute]

Two ways, as the cost is far below what a busy machine does to a step. Counted: a library that is loaded first counts what the program asks of
clock_gettime in an epoch and in three, and measures what an answer of each clock takes there; that is all clocks of the program, for
whatever purpose. In turns: the same training with the clock of the process's CPU time, which nothing but the profile reads in a step, and with an
answer that asks nobody; the CPU seconds of the longer run less those of the shorter. The network is small and its steps short: the worst case. Writes
bench/results/DATE-step-clocks.md."""

import argparse
import os
import pathlib
import resource
import shutil
import statistics
import struct
import subprocess
import tempfile

import network
from lib.runs import ROOT
from store import store

WANTED = 0.005
STEPS = 72  # of an epoch
SETTINGS = {"train.replicas": 1, "train.batch": 10, "train.threads": 1, "workers": 1, "data.test": "[]", "checkpoint.best_by": "loss"}
CLOCKS, TIMED = 12, 200_000
SHIM = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
static struct { long asked[CLOCKS]; double ns[CLOCKS]; } own, *told = &own;
static int silent;
static int (*real)(clockid_t, struct timespec*);
static void find(void) {
  if (!real) real = (int (*)(clockid_t, struct timespec*))dlsym(RTLD_NEXT, "clock_gettime");
}
int clock_gettime(clockid_t clock, struct timespec* time) {
  find();
  if (clock >= 0 && clock < CLOCKS) __atomic_fetch_add(&told->asked[clock], 1, __ATOMIC_RELAXED);
  if (silent && clock == CLOCK_PROCESS_CPUTIME_ID) return time->tv_sec = time->tv_nsec = 0;
  return real(clock, time);
}
static double now(void) {
  struct timespec time;
  real(CLOCK_THREAD_CPUTIME_ID, &time);
  return time.tv_sec + 1e-9 * time.tv_nsec;
}
__attribute__((constructor)) static void begin(void) {
  const char* path = getenv("PROFILE_TOLD");
  const int file = path ? open(path, O_RDWR | O_CREAT | O_EXCL, 0600) : -1;
  if (file < 0 || ftruncate(file, sizeof own) != 0) return;
  void* shared = mmap(NULL, sizeof own, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (shared == MAP_FAILED) return;
  told = shared;
  find();
  silent = getenv("PROFILE_SILENT") != NULL;
  for (int clock = 0; clock < CLOCKS; ++clock) {
    struct timespec time;
    const double start = now();
    for (int i = 0; i < TIMED && real(clock, &time) == 0; ++i) {}
    told->ns[clock] = 1e9 * (now() - start) / TIMED;
  }
}
"""


def trained(program: pathlib.Path, shim: pathlib.Path, epochs: int, silent: bool, folder: pathlib.Path) -> dict:
    """CPU seconds, and of each clock how often it was asked and the nanoseconds of an answer."""
    words = [word for key, value in {**SETTINGS, "train.epochs": epochs, "train.steps_per_epoch": STEPS}.items() for word in ("--set", f"{key}={value}")]
    told = folder / "told"
    environment = os.environ | {"LD_PRELOAD": str(shim), "PROFILE_TOLD": str(told)} | ({"PROFILE_SILENT": "1"} if silent else {})
    begin = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([program, "train", "examples/topology.yaml", "--out", folder / "run", *words], env=environment, check=True, stdout=subprocess.DEVNULL, cwd=ROOT)
    shutil.rmtree(folder / "run")
    end = resource.getrusage(resource.RUSAGE_CHILDREN)
    values = struct.unpack(f"{CLOCKS}q{CLOCKS}d", told.read_bytes())
    told.unlink()
    clocks = {clock: (values[clock], values[CLOCKS + clock]) for clock in range(CLOCKS) if values[clock]}
    timed_s = TIMED * 1e-9 * sum(values[CLOCKS:])
    return {"cpu_s": end.ru_utime + end.ru_stime - begin.ru_utime - begin.ru_stime - timed_s, "clocks": clocks}


def one_round(options: argparse.Namespace, shim: pathlib.Path, number: int, folder: pathlib.Path) -> dict:
    runs: dict = {}
    for slice_of in range(options.slices):
        for silent in (False, True) if (number + slice_of) % 2 == 0 else (True, False):
            for times in (1, 3):
                runs.setdefault((silent, times), []).append(trained(options.program, shim, times, silent, folder))
    cpu_s = {which: sum(run["cpu_s"] for run in found) for which, found in runs.items()}
    step_s = {silent: (cpu_s[silent, 3] - cpu_s[silent, 1]) / (2 * STEPS * options.slices) for silent in (False, True)}
    few, many = runs[False, 1][0]["clocks"], runs[False, 3][0]["clocks"]
    asked = {clock: (count - few.get(clock, (0, 0))[0]) / (2 * STEPS) for clock, (count, _) in many.items()}
    clocks_s = sum(times * 1e-9 * many[clock][1] for clock, times in asked.items())
    network.say(f"round {number + 1}: {asked} clocks a step, {1e6 * clocks_s:.1f} of {1e6 * step_s[False]:.0f} us; in turns {step_s[True] * 1e6:.0f} us")
    return {"step_cpu_s": step_s[False], "silent_step_cpu_s": step_s[True], "asked": sum(asked.values()), "clocks_cpu_s": clocks_s,
            "clocks_part": clocks_s / step_s[False], "turns_part": step_s[False] / step_s[True] - 1}


def markdown(result: dict) -> str:
    lines = ["# What it costs to say where the time of a step goes",
             f"{result['date']}, {result['cpu']}, {result['cores']} cores, commit {result['commit']}; beside other work: it took {result['others_cores']:.2f} cores at the "
             f"start. `{result['command']}`", "",
             f"CPU time; median (least to most) of {len(result['rounds'])} rounds. Wanted: less than {100 * WANTED} % of a step.", "",
             "| CPU time of a step, ms | clocks asked in a step, all of the program | their answers, us | of a step, % | with the profile's CPU clock beside without, % |",
             "|---|---|---|---|---|"]

    def told(name: str, factor: float, digits: int) -> str:
        values = [factor * one[name] for one in result["rounds"]]
        return f"{statistics.median(values):.{digits}f} ({min(values):.{digits}f} to {max(values):.{digits}f})"

    lines.append(f"| {told('step_cpu_s', 1e3, 2)} | {told('asked', 1, 1)} | {told('clocks_cpu_s', 1e6, 1)} | {told('clocks_part', 100, 3)} | {told('turns_part', 100, 2)} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--slices", type=int, default=3, help="of a round, each with both runs with and without")
    parser.add_argument("--program", type=pathlib.Path, default=ROOT / "build/release/bin/linac-compute")
    options = parser.parse_args()
    options.program = options.program.resolve()
    result = {**network.provenance("bench/step_clocks.py"), "others_cores": network.busy_cores(), "wanted": WANTED, "rounds": []}
    with tempfile.TemporaryDirectory(prefix="linac-step-clocks-") as text:
        folder = pathlib.Path(text)
        shim = folder / "clocks.so"
        subprocess.run(["cc", "-O2", "-shared", "-fPIC", f"-DCLOCKS={CLOCKS}", f"-DTIMED={TIMED}", "-x", "c", "-", "-o", shim, "-ldl"], input=SHIM, text=True, check=True)
        for number in range(options.rounds):
            result["rounds"].append(one_round(options, shim, number, folder))
    store(result, "step-clocks", markdown(result))


if __name__ == "__main__":
    main()
