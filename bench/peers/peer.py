"""What the peers share: their command line, the made-up batch, and the answering of requests.

A peer builds and warms up what it measures and prints "ready". For each line "go WHAT" on its standard input it then
runs WHAT ("step" or "generate"; without it the first of --what) once and prints a line of JSON: wall_s, cpu_s (of all
its threads) and idle_cpu_s, what it took while it waited for the request. At "quit" it prints peak_rss_mib,
libraries_rss_mib (before anything was built) and its version, and ends.
"""

import argparse
import json
import resource
import sys
import time

import numpy as np

LATENT = 256
CELLS = (51, 51, 25)
FLIP = 0.05  # probability that a discriminator's label is flipped
DROPPED = 0.9  # part of the cells that is empty


def command_line(description, modes):
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--batch", type=int, default=16, help="showers a step")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--precision", choices=("fp32", "tf32", "bf16"), default="fp32", help="tf32: on a GPU")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--mode", choices=modes, default=modes[0])
    parser.add_argument("--what", choices=("step", "generate"), nargs="+", default=["step"])
    return parser


def fold_matrix(taps):
    """Of a convolution after a nearest up-sampling by 6, along one axis: which taps of the kernel meet which cell before
    the up-sampling, for an output of each phase. (6 phases, cells, taps) of 0 and 1."""
    phase, tap = np.arange(6)[:, None], np.arange(taps)[None, :]
    cell = (phase + tap) // 6
    return (cell[:, None, :] == np.arange(cell.max() + 1)[None, :, None]).astype(np.float32)


def made_up_batch(count):
    """linac bench's showers: (count, 51, 51, 25) with a tenth of the cells lit, and a column of each target."""
    image = np.random.default_rng(1).random((count, *CELLS), dtype=np.float32)
    columns = {"auxiliary": 0.5, "angle": 1.57, "ecal": 50.0}
    targets = {name: np.full(count, value, np.float32) for name, value in columns.items()}
    return np.maximum(image - np.float32(DROPPED), 0), targets


def rss_mib():
    """The largest resident size of this process so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def answer(value):
    print(value if isinstance(value, str) else json.dumps(value), flush=True)


def serve(works, what, version, libraries_rss_mib):
    """Answers requests until "quit" or the end of the input. `works`: {"step": function, "generate": function}."""
    for name in what:
        works[name]()
    answer("ready")
    cpu_end = time.process_time()
    for line in sys.stdin:
        verb, *arguments = line.split() or [""]
        if verb == "quit":
            break
        if verb != "go":
            sys.exit(f'unknown request {line.strip()!r}: expected "go [step|generate]" or "quit"')
        wall, cpu = time.perf_counter(), time.process_time()
        works[arguments[0] if arguments else what[0]]()
        wall_s, idle_cpu_s, cpu_end = time.perf_counter() - wall, cpu - cpu_end, time.process_time()
        answer({"wall_s": wall_s, "cpu_s": cpu_end - cpu, "idle_cpu_s": idle_cpu_s})
    answer({"peak_rss_mib": rss_mib(), "libraries_rss_mib": libraries_rss_mib, "version": version})
