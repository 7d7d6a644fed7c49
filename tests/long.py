#!/usr/bin/env python3
"""long.py BUILD [--budget SECONDS --turn TEXT]: the long tests (ctest's label `long`), all of them, or one part of them in turn.

With a budget the tests begin at a place that TEXT (a commit) chooses, and another one begins only while it can be expected to end
within the budget. What was left out is named at the end. Exit status 1 if a test failed.
"""

import argparse
import json
import subprocess
import sys
import time
import zlib


def long_tests(build: str) -> list[tuple[str, float]]:
    """(name, seconds that it takes on two cores, about) in the order of the build."""
    shown = subprocess.run(["ctest", "--test-dir", build, "-L", "^long$", "--show-only=json-v1"], capture_output=True, text=True, check=True)
    return [(test["name"], next(p["value"] for p in test["properties"] if p["name"] == "COST")) for test in json.loads(shown.stdout)["tests"]]


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("--budget", type=float, default=float("inf"))
    parser.add_argument("--turn", default="")
    options = parser.parse_args()
    tests = long_tests(options.build)
    first = zlib.crc32(options.turn.encode()) % len(tests) if options.turn else 0
    begin, failed, left_out = time.monotonic(), [], []
    for name, seconds in tests[first:] + tests[:first]:
        if time.monotonic() - begin + seconds > options.budget:
            left_out.append(name)
            continue
        ended = subprocess.run(["ctest", "--test-dir", options.build, "-R", f"^{name}$", "--output-on-failure", "--no-tests=error"])
        if ended.returncode != 0:
            failed.append(name)
    print(f"long tests: {len(tests) - len(left_out) - len(failed)} of {len(tests)} well, in {time.monotonic() - begin:.0f} s")
    if left_out:
        print("not in this turn: " + " ".join(left_out))
    if failed:
        print("failed: " + " ".join(failed))
    return 1 if failed else 0


sys.exit(main())
