#!/usr/bin/env python3
"""What checkpoints, newcomers and resumes cost a training, of one build of linac or of two in turns, with a Keras model of 98 MB and Adam (294 MB of state):
how long a training pauses for a checkpoint on one worker and on two, what its writing takes of a processor, the step on two, the time without
training when a worker joins two, and a resume behind a record of half a million steps.

  bench/recovery.py [--before PATH/bin/linac --before-commit COMMIT] --after PATH/bin/linac [--rounds 5]

The model is written by Keras (build/bench-peers, bench/peers/setup.sh). Writes bench/results/DATE-recovery.md."""

import contextlib
import itertools
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import turns
from lib import elastic, runs
from lib.checks import wait_for
from lib.runs import ROOT
from store import store

MODEL = """import keras, sys
x = keras.Input((14,), name="HLF_input"); y = x
for units in (5000, 4900): y = keras.layers.Dense(units, activation="relu")(y)
keras.Model(x, keras.layers.Dense(3, activation="softmax", name="label")(y)).save(sys.argv[1])"""
JOB = """name: large
model: {{kind: keras, file: {model}}}
data:
  train: [{root}/data/topology-train.parquet]
  inputs: [{{name: HLF_input, column: HLF_input, scaling: min_max}}]
  targets: [{{column: encoded_label}}]
  scaling: {root}/data/topology-scaling.json
train: {{epochs: 100, replicas: 2, batch: 2, fit: {{loss: categorical_crossentropy}}, optimizer: {{name: adam, lr: 1.0e-4}}}}
checkpoint: {{every_epochs: 0, keep: 2}}
"""
EVERY, STEPS = 24, 40  # steps, all within one epoch: a checkpoint in the midst, and one at the end
CHECKPOINTS = 2
RECORD_STEPS = 500_000


def writer_s(process: int) -> float | None:
    """Seconds of a processor that the writer of checkpoints of a process, or of one that it has started, has had; None where there is none."""
    for task in pathlib.Path(f"/proc/{process}/task").glob("*"):
        with contextlib.suppress(OSError, ValueError, IndexError):
            if (task / "comm").read_text() == "checkpoints\n":
                return 1e-9 * int((task / "schedstat").read_text().split()[0])
            found = [writer_s(int(child)) for child in (task / "children").read_text().split()]
            if any(found):
                return max(filter(None, found))
    return None


class Watch:
    """When the steps of a run came, as its record grows; and how long its writer of checkpoints had a processor."""

    def __init__(self, out: pathlib.Path):
        self.path, self.times, self.read, self.writer_s = out / "metrics.jsonl", [], 0, 0.0

    def look(self) -> None:
        try:
            if self.path.stat().st_size == self.read:
                return
            with open(self.path, "rb") as file:
                file.seek(self.read)
                text = file.read()
        except FileNotFoundError:
            return
        now, whole = time.monotonic(), text.rfind(b"\n") + 1
        self.read += whole
        self.times += [now] * text[:whole].count(b'"kind":"step"')

    def follow(self, process: subprocess.Popen) -> None:
        for number in itertools.count():
            if process.poll() is not None:
                break
            self.look()
            if number % 20 == 0:
                self.writer_s = max(self.writer_s, writer_s(process.pid) or 0)
            time.sleep(0.0005)
        self.look()
        if process.returncode != 0:
            sys.exit(f"{self.path.parent}: exit status {process.returncode}\n" + pathlib.Path(f"{self.path.parent}.log").read_text()[-3000:])


def start(linac: str, out: pathlib.Path, settings: dict, *extra: str) -> subprocess.Popen:
    runs.LINAC = linac
    return runs.start(out, settings, *extra)


def pauses(linac: str, job: pathlib.Path, out: pathlib.Path, workers: int) -> dict:
    """A step behind which a checkpoint is due ends when the next one ends later than usual."""
    settings = {"job": job, "train.max_steps": STEPS, "checkpoint.every_steps": EVERY}
    watch = Watch(out)
    watch.follow(start(linac, out, settings, "--workers", str(workers)))
    gaps = [after - before for before, after in zip(watch.times, watch.times[1:])]
    calm, due = statistics.median(gaps[5:EVERY - 2]), gaps[EVERY - 1]  # gaps[n]: between the steps n + 1 and n + 2
    phases = [worker["phases"]["checkpoint"]["wall_s"] for worker in runs.lines(out)[-1]["workers"]]
    shutil.rmtree(out)
    return {f"pause for a checkpoint, {workers} worker(s), ms": 1e3 * max(0.0, due - calm),
            f"processor for writing a checkpoint, {workers} worker(s), ms": 1e3 * watch.writer_s / CHECKPOINTS,
            f"longest step beside the writing, {workers} worker(s), ms more": 1e3 * (max(gaps[EVERY:]) - calm),
            f"phase checkpoint, the end of the run included, {workers} worker(s), s": max(phases), f"step, {workers} worker(s), ms": 1e3 * calm}


def newcomer(linac: str, job: pathlib.Path, out: pathlib.Path) -> dict:
    runs.LINAC = linac
    run = elastic.Run(out, {"job": job, "train.replicas": 3, "distribution.restarts": 0}, 2)
    wait_for(lambda: run.steps() >= 5 or run.over(), "the first steps")
    run.join()
    wait_for(lambda: any(line["kind"] == "view" and len(line["members"]) == 3 for line in runs.lines_so_far(out)) or run.over(), "a newcomer")
    done = run.steps()
    wait_for(lambda: run.steps() > done or run.over(), "a step after it")
    view = next(line for line in runs.lines_so_far(out) if line["kind"] == "view" and len(line["members"]) == 3)
    runs.kill_tree(run.launcher)
    for one in run.newcomers:
        one.kill()
        one.wait()
    shutil.rmtree(out)
    return {"without training for a newcomer, s": view["seconds"]}


def resume(linac: str, out: pathlib.Path) -> dict:
    """Of a run that has come to its last step, so that it does nothing but begin and end."""
    runs.LINAC = linac
    settings = {**elastic.CLASSIFIER, "train.max_steps": 2, "data.test": "[]", "checkpoint.best_by": "loss"}
    runs.run(out, settings, "--workers", "1")
    begin = time.monotonic()
    runs.run(out, settings, "--resume", "--workers", "1")
    alone = time.monotonic() - begin
    lines = (out / "metrics.jsonl").read_text().splitlines(keepends=True)
    step = next(line for line in lines if '"kind":"step"' in line)
    (out / "metrics.jsonl").write_text(lines[0] + step * RECORD_STEPS + "".join(lines[1:]))
    os.sync()
    begin = time.monotonic()
    runs.run(out, settings, "--resume", "--workers", "1")
    took = time.monotonic() - begin
    shutil.rmtree(out)
    return {f"resume behind {RECORD_STEPS} steps, longer than behind two, s": took - alone}


def markdown(result: dict) -> str:
    lines = [*turns.heading("Checkpoints, newcomers and resumes", result),
             f"A Keras model of 98 MB with Adam (294 MB of state). Median (minimum) of {len(result['rounds'])} rounds.", "",
             f"| | {' | '.join(turns.builds_of(result))} |", "|---" * (1 + len(turns.builds_of(result))) + "|"]
    lines += [f"| {name} | {' | '.join(cells)} |" for name, _, cells in turns.figures(result)]
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = turns.arguments(__doc__)
    parser.add_argument("--python", default=str(ROOT / "build/bench-peers/bin/python"), help="an interpreter that has Keras")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="linac-recovery-") as name:
        folder = pathlib.Path(name)
        subprocess.run([options.python, "-c", MODEL, folder / "large.keras"], check=True, stderr=subprocess.DEVNULL)
        job = folder / "large.yaml"
        job.write_text(JOB.format(model=folder / "large.keras", root=ROOT))

        def measure(linac: str, _: int) -> dict:
            return {**pauses(linac, job, folder / "one", 1), **pauses(linac, job, folder / "two", 2), **newcomer(linac, job, folder / "three"),
                    **resume(linac, folder / "again")}
        result = turns.in_turns("bench/recovery.py", options, measure)
    result["command"] = result["command"].replace(options.python, "PYTHON")
    store(result, "recovery", markdown(result))


if __name__ == "__main__":
    main()
