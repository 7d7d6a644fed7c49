#!/usr/bin/env python3
"""linac steers and evaluates hyper-parameter tasks of PanDA: panda-client makes the task without sending it, and what iDDS and the job's runHPO would do
with it is done here, until the steering ends the search. Exit 77 without panda-client."""

import contextlib
import io
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.parse

os.environ["PANDA_BEHIND_REAL_LB"] = "1"  # it would look a host up when it is imported
try:
    from pandaclient import PhpoScript
except ImportError as error:
    print(f"{error}: skipped")
    sys.exit(77)

from lib import runs
from lib.runs import linac
from lib.checks import check

SPACE = {
    "lr": {"method": "loguniform", "dimension": {"low": 1e-5, "high": 1e-2}},
    "n": {"method": "uniformint", "dimension": {"low": 10, "high": 30}},
    "act": {"method": "categorical", "dimension": {"categories": ["relu", "elu"], "grid_search": 0}},
}
TASK = {
    "steeringExec": f"{runs.LINAC} study steer --in %IN --out %OUT --max-points %MAX_POINTS --num-points %NUM_POINTS",
    "steeringContainer": "docker://linac",
    "searchSpaceFile": "space.json",
    "evaluationExec": "python3 evaluate.py",
    "evaluationContainer": "docker://linac",
    "evaluationInput": "input.json",
    "evaluationOutput": "output.json",
    "trainingDS": "user.somebody.data",
    "maxPoints": 11,
    "nPointsPerIteration": 4,
}


STUDY = """
search:
  lr: {kind: log, low: 1.0e-5, high: 1.0e-2}
  n: {kind: integer, low: 10, high: 30}
  act: {kind: categorical, choices: [relu, elu]}
objective: {command: "COMMAND"}
sampler: {name: random}
budget: {trials: 5}
parallel: 3
seed: 4
"""
# Somebody else's program: it takes what PanDA has brought, and leaves what PanDA reads.
COMMAND = "cp input.json seen.json; cp input_ds.json files.json; echo '{\\\"status\\\": 0, \\\"loss\\\": 0.0}' > output.json"


def docker_for(root: pathlib.Path) -> dict[str, str]:
    """In place of docker, which is not here: what it is to run in an image runs on this host, in the folder that it was to mount."""
    program = root / "bin" / "docker"
    program.parent.mkdir(exist_ok=True)
    program.write_text(f"""#!/bin/sh
[ "$1 $2 $3 $5 $6 $7 $8" = "run --rm -v -w /steering --entrypoint linac" ] && [ "${{4#/*:}}" = /steering ] && [ "$9" = registry.example.org/linac:1.0 ] || exit 9
cd "${{4%:/steering}}" && shift 9 && exec {runs.LINAC} "$@"
""")
    program.chmod(0o755)
    return runs.environment() | {"PATH": f"{program.parent}:{os.environ['PATH']}"}


def phpo(folder: pathlib.Path) -> dict:
    here = os.getcwd()
    os.chdir(folder)
    with contextlib.redirect_stdout(io.StringIO()):
        task = PhpoScript.main(True, ["--loadJson", "conf.json", "--outDS", "user.somebody.hpo"], dry_mode=True)
    os.chdir(here)
    return task


def exec_of(task: dict) -> str:
    values = [item["value"] for item in task["jobParameters"]]
    return urllib.parse.unquote(values[values.index('-p "') + 1])


def whole_search(root: pathlib.Path) -> None:
    """A study's file becomes a task, whose steering and evaluation are linac's own."""
    (root / "tune.yaml").write_text(STUDY.replace("COMMAND", COMMAND))
    linac("study", "panda", "tune.yaml", "--out", "hpo", "--container", "docker://registry.example.org/linac:1.0", "--data", "user.somebody.data", cwd=root)
    task = phpo(root / "hpo")
    asked = task["hpoRequestData"]
    check(asked["opt_space"] == SPACE and asked["max_points"] == 5 and task["totNumJobs"] == 5 and task["nEvents"] == 3, "the task has the study's space and budget")
    check(exec_of(task) == "linac study evaluate study.yaml" and asked["sandbox"] is None and asked["executable"] == "docker", "and linac on both sides")
    check("--writeInputToTxt IN_DATA:input_ds.json" in json.dumps(task) and '"user.somebody.data"' in json.dumps(task), "and the data")
    points = []
    while True:
        (root / "hpo" / "in.json").write_text(json.dumps({"points": points, "opt_space": asked["opt_space"]}))
        command = asked["arguments"].replace("%MAX_POINTS", str(asked["max_points"])).replace("%NUM_POINTS", str(asked["num_points_per_generation"]))
        command = command.replace("%IN", "in.json").replace("%OUT", "out.json")
        subprocess.run(f"docker {command}", shell=True, check=True, cwd=root / "hpo", env=docker_for(root), stdout=subprocess.DEVNULL, timeout=60)
        found = json.loads((root / "hpo" / "out.json").read_text())
        if not found:
            break
        for point in found:
            (root / "hpo" / "input.json").write_text(json.dumps(point))
            (root / "hpo" / "input_ds.json").write_text('["a.parquet"]')
            linac(*exec_of(task).split()[1:], cwd=root / "hpo")
            outcome = json.loads((root / "hpo" / "output.json").read_text())
            seen, = (root / "hpo" / "evaluation").glob("*/trials/0001/seen.json")
            check(json.loads(seen.read_text()) == point and seen.with_name("files.json").read_text() == '["a.parquet"]', "the command has the point and the files")
            points.append([point, outcome["loss"]])
    check(len(points) == 5 and all(loss == 0.0 for _, loss in points), "as many as the budget has, each with its loss, which may be 0")

    (root / "fails.yaml").write_text(STUDY.replace("COMMAND", "echo '[x] E broken' >&2; exit 9"))
    linac("study", "evaluate", root / "fails.yaml", cwd=root / "hpo")
    check(json.loads((root / "hpo" / "output.json").read_text())["status"] == 1, "a failure is told")
    (root / "hpo" / "input.json").write_text('{"rate": 1, "n": 11, "act": "relu"}')
    check("rate" in linac("study", "evaluate", "study.yaml", status=2, cwd=root / "hpo"), "a point of another space is refused")
    (root / "hpo" / "output.json").unlink()
    (root / "hpo" / "input.json").write_text('{"lr": 0.001, "n": 31, "act": "relu"}')
    check("n: 31 is not within 10 to 30" in linac("study", "evaluate", "study.yaml", status=2, cwd=root / "hpo"), "a point beyond the ranges is refused")
    check(not (root / "hpo" / "output.json").exists(), "without a loss")
    check("not empty" in linac("study", "panda", "tune.yaml", "--out", "hpo", "--container", "x", status=2, cwd=root), "a folder with other files is not taken")
    check("image of a registry" in linac("study", "panda", "tune.yaml", "--out", "no", "--container", "/cvmfs/images/linac", status=2, cwd=root), "docker has no folders of images")
    wide = "search: {" + ", ".join(f"a{i}: {{kind: categorical, choices: [b, {'c' * 90}]}}" for i in range(40)) + "}\nobjective: {command: x}\n"
    (root / "no.yaml").write_text(wide)
    check("iDDS keeps 4000" in linac("study", "panda", "no.yaml", "--out", "no", "--container", "x", status=2, cwd=root), "a point that iDDS cannot keep is refused")
    for line, word in [("pruner: {name: median}", "pruner: PanDA's tasks have no pruners"), ("constraints: ['`n` < 20']", "constraints: PanDA's tasks have no")]:
        (root / "no.yaml").write_text(STUDY.replace("COMMAND", "true") + line + "\n")
        check(word in linac("study", "panda", "no.yaml", "--out", "no", "--container", "x", status=2, cwd=root), f"refused: {word}")


def training(root: pathlib.Path) -> None:
    """A point that is a training, of files that PanDA has brought; one that is interrupted goes on."""
    job = (runs.ROOT / "examples/topology.yaml").read_text().replace("data/", f"{runs.ROOT}/data/")
    (root / "study.yaml").write_text(job + "search: {train.optimizer.lr: {kind: log, low: 1.0e-4, high: 1.0e-2}}\nobjective: {metric: auc}\nbudget: {trials: 2}\n")
    folder = root / "job"
    folder.mkdir()
    shutil.copy(runs.ROOT / "data/topology-train.parquet", folder / "brought.parquet")
    (folder / "input.json").write_text('{"train.optimizer.lr": 0.001}')
    (folder / "input_ds.json").write_text('["brought.parquet"]')
    words = [runs.LINAC, "study", "evaluate", str(root / "study.yaml")]
    process = subprocess.Popen(words, cwd=folder, env=runs.environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while process.poll() is None and not list(folder.glob("evaluation/*/trials/0001/metrics.jsonl")):
        time.sleep(0.02)
    process.send_signal(signal.SIGTERM)
    check(process.wait(timeout=60) == 75 and not (folder / "output.json").exists(), "SIGTERM: a checkpoint, and no loss")
    kept, = folder.glob("evaluation/*/trials/0001")
    linac(*words[1:], cwd=folder)
    outcome = json.loads((folder / "output.json").read_text())
    log = (kept / "log").read_text()
    check(outcome["status"] == 0 and -1 <= outcome["loss"] < -0.3, f"more of the AUC is better, and the loss is its negative: {outcome}")
    check("brought.parquet" in (kept / "job.yaml").read_text() and "resuming from" in log, "it went on, with the files that PanDA has brought")


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="linac-panda-") as folder:
        os.chdir(folder)
        pathlib.Path("conf.json").write_text(json.dumps(TASK))
        pathlib.Path("space.json").write_text(json.dumps(SPACE))
        pathlib.Path("evaluate.py").write_text("")
        with contextlib.redirect_stdout(io.StringIO()):
            task = PhpoScript.main(True, ["--loadJson", "conf.json", "--outDS", "user.somebody.hpo"], dry_mode=True)
        asked = task["hpoRequestData"]
        numbers, points = random.Random(1), []
        for _ in range(10):
            pathlib.Path("in.json").write_text(json.dumps({"points": points, "opt_space": asked["opt_space"]}))
            command = asked["arguments"].replace("%MAX_POINTS", str(asked["max_points"])).replace("%NUM_POINTS", str(asked["num_points_per_generation"]))
            subprocess.run(command.replace("%IN", "in.json").replace("%OUT", "out.json"), shell=True, check=True, env=runs.environment(), stdout=subprocess.DEVNULL)
            found = json.loads(pathlib.Path("out.json").read_text())
            if not found:
                break
            check(len(found) <= 4 and all(1e-5 <= one["lr"] <= 1e-2 and 10 <= one["n"] <= 30 and one["act"] in ("relu", "elu") for one in found), "points of the space")
            points += [[one, numbers.choice([0.0, 0.5, None])] for one in found]
        check(len(points) == 11 and len({json.dumps(point) for point, _ in points}) == 11, "as many as the task wants, none twice, and then the end")
        root = pathlib.Path(folder)
        whole_search(root)
        training(root)


if __name__ == "__main__":
    main()
