#!/usr/bin/env python3
"""How soon ASHA finds what 64 random trials of the Inclusive Classifier find: the study of examples/tune.yaml over 27 epochs, in turns of seeds.

  bench/asha.py [--seeds 5] [--trials 64] [--most 400]

Of each seed: random points, all trained to the end, give a score, the best one. Then ASHA, with random points and with TPE, until a trial has reached that
score, or `--most` trials are told. Time is counted twice: epochs that were trained, which no other program on the machine changes, and seconds from the first
trial to the one that reached it. Writes bench/results/DATE-asha.md."""

import argparse
import json
import os
import pathlib
import signal
import statistics
import subprocess
import sys
import tempfile
import time

import network
import turns
import yaml
from store import store

ROOT = pathlib.Path(__file__).resolve().parents[1]
EPOCHS = 27
WAYS = {"random": {"sampler": {"name": "random"}, "pruner": {"name": "none"}},
        "asha, random points": {"sampler": {"name": "random"}, "pruner": {"name": "asha", "steps_min": 1, "factor": 3}},
        "asha, tpe": {"sampler": {"name": "tpe"}, "pruner": {"name": "asha", "steps_min": 1, "factor": 3}}}


def lines_of(folder: pathlib.Path) -> list[dict]:
    journal = folder / "journal.jsonl"
    whole = journal.read_text().rpartition("\n")[0] if journal.exists() else ""
    return [json.loads(line) for line in whole.splitlines()]


def reached(lines: list[dict], score: float) -> dict | None:
    """At the first epoch that is as good as `score`: epochs that were trained, trials that were begun."""
    epochs = trials = 0
    for line in lines:
        trials += line.get("op") == "ask"
        if line.get("op") == "report":
            epochs += 1
            if line["value"] >= score:
                return {"epochs": epochs, "trials": trials}
    return None


def study(options, way: str, seed: int, trials: int, score: float | None, root: pathlib.Path) -> dict:
    """Runs until all trials are told, or one has the score."""
    file = yaml.safe_load((ROOT / "examples/tune.yaml").read_text())
    file |= WAYS[way] | {"seed": seed, "budget": {"trials": trials}, "parallel": 2}
    file["train"] |= {"epochs": EPOCHS, "threads": 1}
    (root / "study.yaml").write_text(yaml.safe_dump(file))
    begin = time.monotonic()
    with open(root / "log", "w") as log:
        tune = subprocess.Popen([options.program, "tune", root / "study.yaml", "--out", root / "study"], cwd=ROOT, stdout=log, stderr=log, start_new_session=True)
    found = None
    while tune.poll() is None:
        time.sleep(0.5)
        found = score is not None and reached(lines_of(root / "study"), score) or None
        if found:
            found["seconds"] = time.monotonic() - begin
            tune.send_signal(signal.SIGTERM)
            tune.wait()
    seconds, lines = time.monotonic() - begin, lines_of(root / "study")
    if score is None and tune.returncode != 0:
        sys.exit((root / "log").read_text()[-2000:])
    values = [line["value"] for line in lines if line.get("op") == "report"]
    return {"seconds": seconds, "epochs": len(values), "best": max(values), "reached": found}


def page(result: dict) -> str:
    lines = [*turns.heading("ASHA beside random points", result),
             f"{len(result['rounds'])} seeds. Score: the best AUC of {result['trials']} random trials of {EPOCHS} epochs. Median (least to most) of a seed's ratio to all of random's. Wanted: 0.25.", "",
             "| | epochs until the score | seconds | reached |", "|---|---|---|---|"]
    for way in list(WAYS)[1:]:
        cells = []
        for what in ("epochs", "seconds"):
            ratios = [one[way]["reached"][what] / one["random"][what] for one in result["rounds"] if one[way]["reached"]]
            cells.append(f"{statistics.median(ratios):.3f} ({min(ratios):.3f} to {max(ratios):.3f})" if ratios else "never")
        lines.append(f"| {way} | {cells[0]} | {cells[1]} | {sum(bool(one[way]['reached']) for one in result['rounds'])} of {len(result['rounds'])} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--trials", type=int, default=64)
    parser.add_argument("--most", type=int, default=400, help="trials of ASHA before it is given up")
    parser.add_argument("--program", default=str(ROOT / "build/release/bin/linac"))
    parser.add_argument("--keep", type=pathlib.Path, help="a file with the seeds that are done, to go on from")
    options = parser.parse_args()
    result = {**network.provenance("bench/asha.py"), "before": None, "others_cores": network.busy_cores(), "trials": options.trials, "rounds": []}
    if options.keep and options.keep.exists():
        result["rounds"] = json.loads(options.keep.read_text())
    result["command"] = result["command"].replace(options.program, "PROGRAM").replace(str(options.keep), "FILE")
    os.environ.pop("LINAC_TOKEN", None)
    for seed in range(len(result["rounds"]) + 1, options.seeds + 1):
        found: dict = {}
        for way in WAYS:
            with tempfile.TemporaryDirectory() as folder:
                most, score = (options.trials, None) if way == "random" else (options.most, found["random"]["best"])
                found[way] = study(options, way, seed, most, score, pathlib.Path(folder))
            print(seed, way, found[way], file=sys.stderr, flush=True)
        result["rounds"].append(found)
        if options.keep:
            options.keep.write_text(json.dumps(result["rounds"]))
    store(result, "asha", page(result))


if __name__ == "__main__":
    main()
