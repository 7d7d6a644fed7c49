#!/usr/bin/env python3
"""The service of two builds in turns, by bench/service.py: points in batches and one by one, live events, lists and curves of a catalog.

  bench/service_builds.py --before PATH/bin/linac --before-commit COMMIT --after PATH/bin/linac [--rounds 5]

BENCH_PREFIX, words before the command of each measurement: a lock, say, that keeps other work away. Writes
bench/results/DATE-service-builds.md."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

import turns
from lib.runs import ROOT
from store import store

SIZES = ["--seconds", "1", "--clients", "100", "--runs", "500", "--points", "1e6"]
FIGURES = {"start, s": ("start_s",), "memory at the start, MB": ("rss_mb_at_start",), "points/s in batches": ("batches", "points_per_s"),
           "points/s one by one": ("single", "requests_per_s"), "one by one, median ms": ("single", "median_ms"), "live event, median ms": ("live", "median_ms"),
           "memory after writing, MB": ("large", "rss_mb_after_writing"), "100 newest runs, median ms": ("large", "first_100_runs", "median_ms"),
           "100 runs by a metric, median ms": ("large", "first_100_runs_by_a_metric", "median_ms"),
           "100 runs of a filter, median ms": ("large", "first_100_runs_of_a_filter", "median_ms"),
           "curve of a million points, median ms": ("large", "curve_of_a_million_points", "median_ms")}


def measure(linac: str, folder: pathlib.Path) -> dict:
    out = folder / "service.json"
    command = [*os.environ.get("BENCH_PREFIX", "").split(), sys.executable, str(ROOT / "bench" / "service.py"), *SIZES, "--out", str(out)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env={**os.environ, "LINAC": linac})
    found, figures = json.loads(out.read_text()), {}
    for database in ("sqlite", "postgresql"):
        if database not in found:
            continue
        for name, path in FIGURES.items():
            value = found[database]
            for word in path:
                value = value[word]
            figures[f"{database}: {name}"] = value
    return figures


def markdown(result: dict) -> str:
    said = f"`bench/service.py {' '.join(SIZES)}` of each build."
    return "\n".join([*turns.heading("The service: two builds in turns", result), said, "", *turns.table(result, 2)]) + "\n"


def main() -> None:
    options = turns.two_builds(turns.arguments(__doc__))
    with tempfile.TemporaryDirectory(prefix="linac-service-builds-") as name:
        result = turns.in_turns("bench/service_builds.py", options, lambda linac, _: measure(linac, pathlib.Path(name)))
    store(result, "service-builds", markdown(result))


if __name__ == "__main__":
    main()
