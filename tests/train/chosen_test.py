#!/usr/bin/env python3
"""Which state of a run is taken, RUN, RUN@best, RUN@last, RUN@epoch=N or a checkpoint, by all that take a model; what restore_best hands
over; that a run goes on with the data it was trained on, or says that it does not; and that it stops where its budget is used up."""

import json
import pathlib
import shutil
import tempfile

from lib import runs
from lib.checks import check
from lib.elastic import same_end
from lib.runs import linac

TEST_DATA = runs.ROOT / "data" / "topology-test.parquet"
JOB = {"job": "examples/topology.yaml", **runs.SMALL_CLASSIFIER, "train.epochs": 4, "train.steps_per_epoch": 4, "train.lr": 0.05, "checkpoint.keep": 9, "workers": 1}


def figures(model: object) -> tuple[list, list]:
    """The scores that `linac evaluate` finds, and what it remarks."""
    said = linac("evaluate", "--model", model, "--data", TEST_DATA, "--bootstraps", 0, "--json")
    report, _ = json.JSONDecoder().raw_decode(said[0 if said.startswith("{") else said.index("\n{") + 1:])
    return [(score["name"], score["part"], score["value"]) for score in report["models"][0]["scores"]], report["remarks"]


def figure_by_epoch(run: pathlib.Path, name: str) -> list[float]:
    return [line["test"][name] for line in runs.lines(run) if line["kind"] == "epoch"]


def states(root: pathlib.Path) -> pathlib.Path:
    run = root / "run"
    runs.run(run, JOB | {"train.early_stopping": "{monitor: loss, patience: 9}"})
    aucs = figure_by_epoch(run, "auc")
    best = aucs.index(max(aucs)) + 1
    by_epoch = {epoch: figures(f"{run}@epoch={epoch}")[0] for epoch in range(1, 5)}
    check(len({json.dumps(one) for one in by_epoch.values()}) == 4, "each epoch has figures of its own")
    check(figures(f"{run}@best")[0] == by_epoch[best], f"RUN@best is epoch {best}, the largest of {aucs}")
    check(figures(run / "checkpoints/best.safetensors")[0] == by_epoch[best], "and so is its checkpoint")
    check(figures(f"{run}@last")[0] == by_epoch[4], "RUN@last is the last epoch")
    found, remarks = figures(run)
    check(found == by_epoch[4], "RUN is what the run left")
    if best != 4:
        check(any(f"the best in auc is epoch {best}: {run}@best" in one for one in remarks), f"and says which the best is: {remarks}")
    linac("export", run / "checkpoints/best.safetensors", "--out", root / "best.keras")
    check(figures(root / "best.keras")[0] == by_epoch[best], "an exported checkpoint is that epoch")
    linac("export", f"{run}@epoch=1", "--out", root / "first.onnx")
    said = linac("predict", "--model", f"{run}@epoch=7", "--data", TEST_DATA, "--out", root / "no.h5", status=2)
    check("no checkpoint behind epoch 7 is kept (there are: 1, 2, 3, 4)" in said, "a state that is not there is refused, with those that are")

    # A training goes on from the best epoch: with a rate of 0 it stays there.
    (root / "on.yaml").write_text(pathlib.Path(runs.ROOT, "examples/topology.yaml").read_text().replace(
        "{kind: inclusive_classifier, variant: gru}", "{kind: keras, file: %s@best}" % run))
    still = {"job": root / "on.yaml", "train.epochs": 1, "train.steps_per_epoch": 1, "train.optimizer.name": "sgd", "train.lr": 1e-30, "workers": 1}
    runs.run(root / "on", still)
    check(abs(figure_by_epoch(root / "on", "auc")[0] - max(aucs)) < 1e-6, "model.file: RUN@best goes on from there")
    return run


def restored(root: pathlib.Path) -> None:
    run = root / "restored"
    said = runs.run(run, JOB | {"checkpoint.best_by": "loss", "train.epochs": 6, "train.early_stopping": "{monitor: auc, patience: 2, restore_best: true}"})
    aucs = figure_by_epoch(run, "auc")
    best = aucs.index(max(aucs)) + 1
    check(f"the weights handed over are those of epoch {best}, the best in auc" in said, f"restore_best follows its monitor: {aucs}")
    check(json.loads((run / "run.json").read_text())["handed_over_epoch"] == best, "and run.json says which epoch it was")
    check(figures(run)[0] == figures(f"{run}@epoch={best}")[0], "these are the weights")


def lost(root: pathlib.Path) -> None:
    """The epoch that is to be handed over is the first one, and nobody has it any more."""
    run = root / "lost"
    settings = JOB | {"checkpoint.keep": 1, "train.early_stopping": "{monitor: loss, mode: max, patience: 9, restore_best: true}"}
    runs.run(run, settings)
    handed_over = lambda: json.loads((run / "run.json").read_text())["handed_over_epoch"]
    check(handed_over() == 1, "the epoch of the largest loss is handed over")
    for file in [*(run / "checkpoints").glob("[br]est*.safetensors")]:
        file.unlink()
    said = runs.run(run, settings, "--resume")
    check("the last epoch is handed over in its place" in said and handed_over() == 4, "where it is lost the last one is, which is said")


def same_data(root: pathlib.Path) -> None:
    mine = root / "mine.parquet"
    shutil.copy(runs.ROOT / "data" / "topology-train.parquet", mine)
    run = root / "resumed"
    job = JOB | {"data.train": f"[{mine}]"}
    runs.run(run, job | {"train.max_steps": 6})
    shutil.copy(TEST_DATA, mine)
    before = (run / "run.json").read_bytes()
    said = runs.run(run, job, "--resume", status=3)
    check(f"data.train, {mine}, has changed since the run's last start" in said and "--accept-data" in said, "a run does not go on with other events")
    check((run / "run.json").read_bytes() == before, "and its record stays as it was")
    runs.run(run, job, "--resume", "--accept-data")
    record = json.loads((run / "run.json").read_text())
    former = record["former_data"]
    check([one["until_step"] for one in former] == [6] and former[0]["data"]["train"][0]["fingerprint"]
          == json.loads(before)["data"]["train"][0]["fingerprint"] != record["data"]["train"][0]["fingerprint"], "unless it is told to; run.json has both files")
    runs.run(run, job | {"train.max_steps": 17}, "--resume", status=0)
    check(json.loads((run / "run.json").read_text())["former_data"] == former, "and keeps them")


def budget(root: pathlib.Path) -> None:
    """Of steps, time, money, energy and carbon dioxide: a checkpoint, a status of its own, and on with more of it to the bits of a run without."""
    job = JOB | {"train.epochs": 2, "train.replicas": 2}
    run, calm, enough = root / "budget", root / "unbounded", {"budget.hours": 100}
    said = runs.run(run, job | {"budget.steps": 5}, "--workers", "2", status=12)
    check("budget.steps = 5 is used up after step 5" in said and f"--out {run} --resume --set budget.steps=N" in said, "a run stops where its steps are used up, with the way on")
    check("4 of 5 steps are used" in said, "and warned before")
    record = json.loads((run / "run.json").read_text())
    check(record["status"] == "interrupted" and record["error"]["exit_code"] == 12 and runs.newest_checkpoint(run).name == "step-0000000005.safetensors",
          "its record says so, and there is a checkpoint of that step")
    for setting in ({"budget.steps": 5}, {"budget.hours": 1e-7}, {"budget.money": 1e-7, "budget.price": 2}, {"budget.kwh": 1e-7, "budget.watts": 200},
                    {"budget.co2_kg": 1e-7, "budget.watts": 200, "budget.co2_g_per_kwh": 400}):
        said = runs.run(run, job | setting, "--resume", status=12)
        check(f"{next(iter(setting))} = " in said and runs.steps_so_far(run) == 5, f"no step more with {setting}")
    said = runs.run(run, job | {"budget.money": 1}, "--resume", status=2)
    check("budget.price" in said, "money without a price is refused")
    runs.run(run, job | enough, "--resume", "--workers", "2")
    runs.run(calm, job | enough)
    same_end(calm, run, "a run that stopped for its budget")
    spent = json.loads((run / "spent.json").read_text())
    check(0 < spent["seconds"] <= spent["worker_seconds"] <= 2 * spent["seconds"], f"what was used is in spent.json: {spent}")
    timed = root / "timed"
    said = runs.run(timed, job | {"budget.hours": 1e-7}, "--workers", "2", status=12)
    check("budget.hours = 1e-07 is used up after step 1" in said, "a run without a second left makes one step, which it keeps")


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        states(root)
        restored(root)
        lost(root)
        same_data(root)
        budget(root)


if __name__ == "__main__":
    main()
