#!/usr/bin/env python3
"""Tests that want Keras, one after another, each in a copy of one process that has loaded it: a start of TensorFlow takes seconds of the
processor, and whoever needs no more of it than models and predictions need not pay it again.

  in_turn.py SCRIPT [ARGUMENT ...] [-- SCRIPT [ARGUMENT ...]] ...

Exit status 1 if one of them failed. A copy is made before anything is computed, when TensorFlow has no threads of its own yet; OpenBLAS and
the allocator, which have, know of copies."""

import itertools
import os
import runpy
import sys

os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
sys.modules["sklearn"] = None  # Keras imports it for wrappers that nothing here uses

import keras  # noqa: E402, F401

del sys.modules["sklearn"]  # some of the tests do use it


def carry_out(words: list[str]) -> int:
    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        sys.argv, sys.path[0] = words, os.path.dirname(words[0])
        runpy.run_path(words[0], run_name="__main__")
        sys.exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def main() -> int:
    tests = [list(words) for is_between, words in itertools.groupby(sys.argv[1:], lambda word: word == "--") if not is_between]
    failed = []
    for words in tests:
        print(f"== {os.path.basename(words[0])}", flush=True)
        if (status := carry_out(words)) != 0:
            failed.append(f"{words[0]}: exit status {status}")
    print("\n".join(failed) or f"{len(tests)} tests as they should be")
    return 1 if failed or not tests else 0


if __name__ == "__main__":
    sys.exit(main())
