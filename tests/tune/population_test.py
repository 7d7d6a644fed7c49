#!/usr/bin/env python3
"""Populations: the same study with one trial at a time or several, after kills too; replayed. A member that goes on with the settings it has is the
training that never stopped. What may not change on the way is refused before anything runs."""

import json
import os
import pathlib
import signal
import tempfile

from lib import runs
from lib.checks import check, wait_for
from study_test import linac, start, trials

# An interval gains by how near x is to a place that moves; its state is the sum so far.
STUDY = """search:
  x: {low: 0, high: 1}
  rate: {kind: log, low: 1.0e-4, high: 1.0e-1}
objective: {command: "python3 $PROGRAM"}
population: {method: METHOD, members: 4}
budget: {trials: 20}
parallel: PARALLEL
"""
PROGRAM = """import json, os, time
time.sleep(float(os.environ.get("SLOW", "0")))
point, member = json.load(open("input.json")), json.load(open("member.json"))
state = json.load(open(member["from"] + "/state.json")) if member["from"] else 10
state -= 1 / (1 + abs(point["x"] - 0.15 * member["interval"]) + 10 * point["rate"])
json.dump(state, open("state.json", "w"))
json.dump({"status": 0, "loss": state}, open("output.json", "w"))
open(os.environ["ENDED"], "a").write(os.path.basename(os.getcwd()) + "\\n")
"""


def told(folder: pathlib.Path) -> dict[int, tuple]:
    return {trial["trial"]: (trial["state"], json.dumps(trial["point"]), trial["values"], trial["from"]) for trial in trials(folder)}


def of_a_command(root: pathlib.Path) -> None:
    (program := root / "program.py").write_text(PROGRAM)
    for method in ("pbt", "pb2"):
        environment = {"PROGRAM": str(program), "ENDED": str(root / f"ended-{method}")}
        (study := root / f"{method}.yaml").write_text(STUDY.replace("METHOD", method).replace("PARALLEL", "1"))
        said = linac("tune", study, "--out", root / method, **environment)
        calm = told(root / method)
        check(len(calm) == 20 and all(state == "complete" for state, *_ in calm.values()), f"{method}: five intervals of four members")
        check(all((one[3] is None) == (number <= 4) for number, one in calm.items()), "each behind the first goes on from another trial's state")
        copied = {number for number, one in calm.items() if one[3] not in (None, number - 4)}
        check(len(copied) == 4 and all(calm[number][1] != calm[calm[number][3]][1] for number in copied), "one of four copies the best, and tries other settings")
        check("from the state of trial" in said and "best of 20" in said, "which is said")
        out, ended = root / f"{method}-killed", root / f"ended-{method}-killed"
        environment["ENDED"] = str(ended)
        for count in (3, 9, 14):
            process = start("tune", study, "--out", out, "--parallel", 4, SLOW="0.2", **environment)
            wait_for(lambda: (out / "trials").exists() and len(list((out / "trials").iterdir())) >= count, f"{count} trials", 60, 0.02)
            os.kill(process.pid, signal.SIGKILL)
            process.wait(timeout=60)
        linac("tune", study, "--out", out, "--parallel", 3, **environment)
        check(told(out) == calm, "killed three times, with other numbers of trials at a time: the same bits")
        check(len(ended.read_text().split()) <= 20 + 3 * 4, "and what had ended was not done again")
        for folder in (root / method, out):
            check("follow from what was told" in linac("study", "replay", folder), "replayed")
    journal = out / "journal.jsonl"
    journal.write_text(journal.read_text().replace('"from":5,', '"from":6,').replace('"from":7,', '"from":6,'))
    check("come out otherwise" in linac("study", "replay", out, status=3), "an altered parent is found")


def asked(root: pathlib.Path) -> None:
    (study := root / "asked.yaml").write_text(STUDY.split("objective")[0] + "population: {method: pbt, members: 3}\n")
    out = root / "asked"
    linac("study", "new", study, "--out", out)
    linac("study", "ask", out, "-n", 3)
    for number in (1, 3):
        linac("study", "tell", out, number, number)
    check("trials 2 have ended" in linac("study", "ask", out, status=2), "the next interval waits for the member that runs")
    linac("study", "tell", out, 2, "--state", "failed")
    said = [json.loads(line) for line in linac("study", "ask", out, "-n", 3).splitlines()]
    check([one["from"] for one in said] == [1, 1, 3], "a member that failed goes on from the state of the best one")


def trains(root: pathlib.Path) -> None:
    job = (runs.ROOT / "examples/tune.yaml").read_text().split("search:")[0].replace("epochs: 9", "epochs: 9\n  steps_per_epoch: 4")
    job = job.replace("[data/", f"[{runs.ROOT}/data/").replace("data/topology-scaling", f"{runs.ROOT}/data/topology-scaling")
    searched = "search: {train.optimizer.lr: {kind: log, low: 1.0e-4, high: 3.0e-2}, model.dropout: {low: 0, high: 0.5}}\n"
    rest = "objective: {metric: auc}\npopulation: {method: pbt, members: 2, quantile: 0.5}\nbudget: {trials: 6}\nparallel: 2\n"
    (study := root / "train.yaml").write_text(job + searched + rest)
    out = root / "train"
    linac("tune", study, "--out", out)
    found = {trial["trial"]: trial for trial in trials(out)}
    check([[step for step, _ in found[i]["curve"]] for i in range(1, 7)] == [[1], [1], [2], [2], [3], [3]], "a trial has the epochs of its interval")
    check("follow from what was told" in linac("study", "replay", out), "replayed")

    def settings(number: int) -> list[str]:
        return [word for name, value in found[number]["point"].items() for word in ("--set", f"{name}={value!r}")]

    copier = next(number for number in (3, 4) if found[number]["from"] != number - 2)
    keeper = 7 - copier
    linac("train", out / "job.yaml", "--out", root / "whole", *settings(keeper), "--set", "train.epochs=2")
    whole = [line["test"]["auc"] for line in runs.lines(root / "whole") if line["kind"] == "epoch"]
    check(whole == [found[number]["curve"][0][1] for number in (keeper - 2, keeper)], "a member that kept its settings is the training that never stopped")
    other = root / "branch"
    linac("train", out / "job.yaml", "--out", other, "--branch", out / f"trials/{keeper - 2:04}", *settings(copier), "--set", "train.epochs=2")
    again = [line["test"]["auc"] for line in runs.lines(other) if line["kind"] == "epoch"]
    check(again == [found[copier]["curve"][0][1]], "and one that copied is `linac train --branch` of the other")
    said = linac("train", out / "job.yaml", "--out", root / "no", "--branch", other, *settings(copier), "--set", "train.batch=15", status=2)
    check("train.batch is" in said and not (root / "no").exists(), "another batch is another training")
    said = linac("train", out / "job.yaml", "--out", root / "no", "--branch", root, status=2)
    check("not the folder of a run" in said, "a folder without a run is no branch's beginning")
    (newest := max((other / "checkpoints").glob("step-*"))).write_bytes(newest.read_bytes()[:-9])
    said = linac("train", out / "job.yaml", "--out", root / "no", "--branch", other, *settings(copier), status=3)
    check(newest.name in said and not (root / "no").exists(), "a damaged checkpoint is refused")
    newest.unlink()
    os.mkfifo(newest)
    said = linac("train", out / "job.yaml", "--out", root / "no", "--branch", other, *settings(copier), status=2)
    check("is no file" in said and not (root / "no").exists(), "a FIFO in place of one is not waited for")
    for change, wanted in (((searched, searched.replace("model.dropout: {low: 0, high: 0.5}", "train.batch: {kind: integer, low: 15, high: 90}")), "train.batch"),
                           (("{name: adam}", "{name: sgd}"), "what the optimizer keeps"), (("parallel: 2", "pruner: {name: asha}"), "pruner.name"),
                           (("parallel: 2", "sampler: {name: gp}"), "sampler.name"), (("method: pbt", "method: pbtt"), "did you mean 'pbt'"),
                           (("epochs: 9", "max_steps: 5\n  epochs: 9"), "train.max_steps"),
                           (("epochs: 9", "early_stopping: {patience: 2}\n  epochs: 9"), "train.early_stopping.patience"),
                           (("epochs: 9", "schedule: {decay: cosine}\n  epochs: 9"), "train.schedule.decay_epochs"),
                           (("{metric: auc}", "[{metric: auc}, {metric: loss}]"), "population.method")):
        text = (job + searched + rest).replace(*change)
        study.write_text(text.replace("model.dropout", "train.optimizer.momentum") if "sgd" in change[1] else text)
        said = linac("tune", study, "--out", root / "never", status=2)
        check(wanted in said and not (root / "never").exists(), f"{wanted}: refused before anything runs")


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="linac-population-") as folder:
        for part in (asked, of_a_command, trains):
            part(pathlib.Path(folder))


if __name__ == "__main__":
    main()
