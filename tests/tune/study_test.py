#!/usr/bin/env python3
"""Studies survive: Ctrl-C, kill -9, a full disk, half a line, two at once; the same study comes out. Other programs ask and tell. What is wrong with a
study's file is said before anything runs."""

import concurrent.futures
import json
import os
import pathlib
import signal
import subprocess
import tempfile

from lib import runs
from lib.checks import check, wait_for
from lib.runs import linac
from lib.skips import skipped

# A trial takes some tenths of a second: a parabola, or a process that is slow on purpose.
PARABOLA = """search:
  x: {kind: uniform, low: -2, high: 2}
  n: {kind: integer, low: 1, high: 8}
objective: {command: "python3 $PARABOLA"}
budget: {trials: 12}
parallel: 3
"""
PROGRAM = """import json, os, time
time.sleep(float(os.environ.get("SLOW", "0")))
point = json.load(open("input.json"))
with open(os.environ["BEGUN"], "a") as begun: begun.write(os.path.basename(os.getcwd()) + "\\n")
json.dump({"status": 0, "loss": point["x"] ** 2 + 0.01 * point["n"]}, open("output.json", "w"))
"""
FREE = """search: {x: {low: 0, high: 1}, kind: {kind: categorical, choices: [a, b]}}
sampler: {name: random}
budget: {trials: 1000}
"""


def trials(folder: pathlib.Path) -> list[dict]:
    return json.loads(linac("study", "show", folder, "--json"))


def told(folder: pathlib.Path) -> list[tuple]:
    return [(trial["trial"], trial["state"], json.dumps(trial["point"]), trial["values"]) for trial in trials(folder)]


def start(*words: object, **environment: str) -> subprocess.Popen:
    return runs.started(*words, stderr=subprocess.STDOUT, **environment)


def killed(root: pathlib.Path) -> None:
    (study := root / "parabola.yaml").write_text(PARABOLA.replace("parallel: 3", "parallel: 1"))
    (program := root / "parabola.py").write_text(PROGRAM)
    environment = {"PARABOLA": str(program), "BEGUN": str(root / "begun")}
    linac("tune", study, "--out", root / "calm", **environment)
    calm = told(root / "calm")
    check(len(calm) == 12 and all(state == "complete" for _, state, _, _ in calm), "twelve trials of a command")
    best = json.loads(linac("study", "best", root / "calm", "--json"))
    check(best["values"][0] == min(values[0] for _, _, _, values in calm), "and the best of them")
    out = root / "killed"
    for count in (2, 5, 9):
        process = start("tune", study, "--out", out, SLOW="0.3", **environment)
        wait_for(lambda: (out / "trials").exists() and len(list((out / "trials").iterdir())) >= count, f"{count} trials", 60, 0.02)
        os.kill(process.pid, signal.SIGKILL if count != 5 else signal.SIGINT)
        process.wait(timeout=60)
        if count == 5:
            check(process.returncode == 75, "Ctrl-C ends with status 75")
    # Half a line, as a full disk or a kill leaves it.
    with open(out / "journal.jsonl", "a") as journal:
        journal.write('{"op":"tell","trial":')
    linac("tune", study, "--out", out, **environment)
    check(told(out) == calm, "killed three times, with half a line in its journal: the same study")
    check("follow from what was told" in linac("study", "replay", out), "which is replayed bit for bit")


def taken_over(root: pathlib.Path) -> None:
    """Two that carry out one study: the second is refused, unless it is to take over."""
    (study := root / "parabola.yaml").write_text(PARABOLA)
    (program := root / "parabola.py").write_text(PROGRAM)
    environment = {"PARABOLA": str(program), "BEGUN": str(root / "begun-both")}
    out = root / "both"
    first = start("tune", study, "--out", out, SLOW="1.5", **environment)  # all longer than a second one waits for the claim
    wait_for(lambda: (out / "trials").exists() and list((out / "trials").iterdir()), "a trial", 60, 0.02)
    text = linac("tune", study, "--out", out, status=2, **environment)
    check(f"process {first.pid} on" in text and "--take-over" in text, "a second linac tune is refused, and told who is there")
    linac("tune", study, "--out", out, "--take-over", **environment)
    said, _ = first.communicate(timeout=60)
    check(first.returncode == 2 and "was taken over by process" in said, "the one that was there ends with status 2 and says why")
    check([state for _, state, _, _ in told(out)] == ["complete"] * 12, "and the other one carries all out")


def of_two_objectives(root: pathlib.Path) -> None:
    two = PARABOLA.replace("}\nbudget", "}, {metric: size, direction: maximize}]\nbudget").replace("objective: {", "objective: [{").replace("trials: 12", "trials: 6")
    (study := root / "two.yaml").write_text(two)
    (program := root / "two.py").write_text(PROGRAM.replace("}, open", ', "size": point["n"]}, open'))
    said = linac("tune", study, "--out", root / "two", PARABOLA=str(program), BEGUN=str(root / "begun"))
    values = {number: values for number, _, _, values in told(root / "two")}
    front = {one["trial"] for one in json.loads(linac("study", "best", root / "two", "--json"))}
    beaten = {a for a, (loss, size) in values.items() for other, more in values.values() if other <= loss and more >= size and (other, more) != (loss, size)}
    check(len(values) == 6 and front == set(values) - beaten, "two objectives of a command: the front")
    check("follow from what was told" in linac("study", "replay", root / "two"), "replayed")
    page = (root / "two" / "report.html").read_text()
    check("report.html" in said and page.count("data:image/png") >= 5 and "on the front of loss and size" in page, "the page at the end")
    linac("study", "report", root / "two", "--out", root / "page.html")
    check((root / "page.html").read_text() == page, "and the same on demand")


def of_costs(root: pathlib.Path) -> None:
    dear = PARABOLA.replace("budget: {trials: 12}\nparallel: 3", "sampler: {name: eipu, cost: kwh, startup: 3}\nbudget: {trials: 99, cost: 20}")
    (study := root / "dear.yaml").write_text(dear)
    (program := root / "dear.py").write_text(PROGRAM.replace("}, open", ', "kwh": point["n"] if point["n"] > 1 else "?"}, open'))
    environment = {"PARABOLA": str(program), "BEGUN": str(root / "begun")}
    linac("tune", study, "--out", root / "dear", **environment)
    found = trials(root / "dear")
    costs = [trial["cost"] for trial in found]
    check(costs == [trial["point"]["n"] if trial["point"]["n"] > 1 else None for trial in found], "a command says what a trial took, or no number")
    spent = [sum(cost or 0 for cost in costs[:count]) for count in (len(costs) - 1, len(costs))]
    check(spent[0] < 20 <= spent[1], "no trial begins once the cost is spent")
    check("20 (kwh)" in (root / "dear" / "report.html").read_text(), "the page says of what")
    study.write_text(dear.replace("cost: 20", "cost: 30"))
    linac("tune", study, "--out", root / "dear", **environment)
    check(len(trials(root / "dear")) > len(found), "a larger one goes on")
    check("follow from what was told" in linac("study", "replay", root / "dear"), "replayed, each by the budget of its time")
    (free := root / "costs.yaml").write_text(FREE.replace("random", "eipu").replace("1000", "1000, cost: 5"))
    linac("study", "new", free, "--out", root / "costs")
    linac("study", "ask", root / "costs")
    for cost in (-1, "nan", "inf"):
        linac("study", "tell", root / "costs", 1, 0.5, "--cost", cost, status=2)
    check(json.loads(linac("study", "tell", root / "costs", 1, "--state", "failed", "--cost", 5.5))["cost"] == 5.5, "of a trial that failed too")
    check("budget.cost" in linac("study", "ask", root / "costs", status=2), "a cost that is spent is told")


def in_parallel(root: pathlib.Path) -> None:
    (study := root / "parallel.yaml").write_text(PARABOLA)
    begun = root / "begun-parallel"
    environment = {"PARABOLA": str(root / "parabola.py"), "BEGUN": str(begun)}
    out = root / "parallel"
    first = start("tune", study, "--out", out, SLOW="1.5", **environment)
    wait_for(lambda: (out / "trials").exists(), "the trials", 60, 0.02)
    check("works on it" in linac("tune", study, "--out", out, status=2, **environment), "a second one beside it is refused")
    os.kill(first.pid, signal.SIGKILL)
    first.wait()
    linac("tune", study, "--out", out, "--trials", 14, **environment)  # at once: waits for the trials that the first one has left
    found = told(out)
    check(len(found) == 14 and len({number for number, *_ in found}) == 14, "three at a time, the budget raised: each trial is told once")
    check(len({point for _, _, point, _ in found}) == 14, "and no point comes twice")
    check("follow from what was told" in linac("study", "replay", out), "replayed")


def trains(root: pathlib.Path) -> None:
    text = (runs.ROOT / "examples/tune.yaml").read_text().replace("epochs: 9", "epochs: 3\n  steps_per_epoch: 4").replace("trials: 12", "trials: 4")
    (study := root / "train.yaml").write_text(text.replace("[data/", f"[{runs.ROOT}/data/").replace("data/topology-scaling", f"{runs.ROOT}/data/topology-scaling"))
    said = linac("tune", study, "--out", root / "train")
    found = trials(root / "train")
    check(len(found) == 4 and any(trial["state"] == "complete" and len(trial["curve"]) == 3 for trial in found), "a job is trained with its settings")
    check("--set train.optimizer.lr=" in said and "best of 4" in said, "and the best settings are said")
    first = found[0]
    name = json.loads((root / "train/trials/0001/run.json").read_text())["name"]
    check(name.startswith("topology-tune-0001 lr=") and " batch=" in name, f"a trial is called by its settings: {name}")
    words = [word for name, value in first["point"].items() for word in ("--set", f"{name}={value}")]
    linac("train", root / "train/job.yaml", "--out", root / "again", *words)
    epochs = [line for line in runs.lines(root / "again") if line["kind"] == "epoch"]
    check([line["test"]["auc"] for line in epochs] == [value for _, value in first["curve"]], "a trial is the run that `linac train` makes of its settings")
    study.write_text(study.read_text().replace("metric: auc", "metric: precision"))
    said = linac("tune", study, "--out", root / "other", status=2)
    check("reports no 'precision'" in said and "auc" in said, "a metric that the training does not report ends the study, and those it has are named")


def limited(root: pathlib.Path) -> None:
    """What all trials together may use."""
    text = (root / "train.yaml").read_text().replace("metric: precision", "metric: auc").replace("parallel: 2", "parallel: 1")
    (study := root / "limited.yaml").write_text(text)
    out, calm = root / "limited", root / "unlimited"
    linac("tune", study, "--out", calm, "--parallel", 1)
    said = linac("tune", study, "--out", out, "--parallel", 1, "--limit", "steps=7", status=12)
    steps = sum(line["kind"] == "step" for trial in (out / "trials").iterdir() for line in runs.lines(trial))
    check("limits.steps = 7 is used up" in said and f"linac tune {study} --out {out} --limit KEY=VALUE" in said and 7 <= steps < 48, "a study stops where its steps are used up, with the way on")
    check(len(trials(out)) < 4 and list((out / "trials").glob("*/checkpoints/*.safetensors")), "after a checkpoint")
    check("is used up" in linac("tune", study, "--out", out, "--limit", "steps=7", status=12), "the same again does nothing")
    check(sum(line["kind"] == "step" for trial in (out / "trials").iterdir() for line in runs.lines(trial)) == steps, "not one step")
    for limits in (("hours=1e-9",), ("money=1e-9", "price=1"), ("kwh=1e-9", "watts=100")):
        words = [word for limit in limits for word in ("--limit", limit)]
        check(f"limits.{limits[0].split('=')[0]} = 1e-09 is used up" in linac("tune", study, "--out", root / limits[0], *words, status=12), f"{limits[0]}: used up at once")
    said = linac("tune", study, "--out", out, "--parallel", 1, "--limit", "steps=1000", "--limit", "hours=100")
    check(told(out) == told(calm) and "best of 4" in said, "with more of it the study goes on, and is the one without limits")
    linac("tune", study, "--out", out, "--parallel", 1, "--limit", "steps=1")
    check(told(out) == told(calm), "one that is complete needs nothing more")
    (out / "spent.json").unlink()
    os.mkfifo(out / "spent.json")
    check("spent.json" in linac("tune", study, "--out", out, "--limit", "hours=1", status=3), "a FIFO in place of what was used is not waited for")
    for words, wanted in ((("money=3",), "limits.price"), (("steps=-1",), "0 or more"), (("hours=nan",), "limits.hours"), (("step=3",), "limits.step"), (("hours",), "KEY=VALUE"), (("hours=",), "limits.hours")):
        said = linac("tune", study, "--out", root / "never", *[word for limit in words for word in ("--limit", limit)], status=2)
        check(wanted in said and not (root / "never").exists(), f"--limit {words}: refused")
    (root / "asked.yaml").write_text(FREE + "limits: {hours: 1}\n")
    check("leave them out" in linac("study", "new", root / "asked.yaml", "--out", root / "never", status=2), "limits that nobody would count are refused")
    (root / "steps.yaml").write_text(PARABOLA + "limits: {steps: 9}\n")
    check("limits.steps" in linac("tune", root / "steps.yaml", "--out", root / "never", status=2), "and the steps of a command")


def others(root: pathlib.Path) -> None:
    (study := root / "free.yaml").write_text(FREE)
    out = root / "free"
    linac("study", "new", study, "--out", out)

    def one(_) -> int:
        asked = json.loads(linac("study", "ask", out))
        linac("study", "tell", out, asked["trial"], asked["point"]["x"])
        return asked["trial"]

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        numbers = list(pool.map(one, range(40)))
    check(sorted(numbers) == list(range(1, 41)), "eight programs at once ask and tell: each trial is given once")
    check(all(state == "complete" for _, state, _, _ in told(out)), "and told once")
    check("was told before" in linac("study", "tell", out, 1, 0.5, status=2), "not twice")
    asked = json.loads(linac("study", "ask", out))["trial"]
    check(json.loads(linac("study", "tell", out, asked, "nan"))["state"] == "infeasible", "NaN is a result")
    asked = json.loads(linac("study", "ask", out))["trial"]
    check(json.loads(linac("study", "report", out, asked, 1, 0.7))["stop"] is False, "an intermediate value, and what the pruner says")
    check("not after" in linac("study", "report", out, asked, 1, 0.7, status=2), "steps rise")
    check("there is no trial" in linac("study", "tell", out, 999, 1, status=2), "an unknown trial is named")
    lines = (out / "journal.jsonl").read_text().splitlines()
    lines[5] = lines[5].replace("{", "[", 1)
    (out / "journal.jsonl").write_text("\n".join(lines) + "\n")
    check("journal.jsonl:6" in linac("study", "show", out, status=3), "an altered line is named")


def refused(root: pathlib.Path) -> None:
    (study := root / "wrong.yaml").write_text(PARABOLA)
    out = root / "wrong"
    linac("study", "new", study, "--out", out)
    study.write_text(PARABOLA.replace("high: 2", "high: 3"))
    check("has another study" in linac("study", "new", study, "--out", out, status=2), "another search in the folder is refused")
    job = (runs.ROOT / "examples/tune.yaml").read_text()
    for change, wanted in ((("train.batch:", "train.batches:"), "train.batches"), (("low: 15, high: 90", "low: 90, high: 15"), "train.batch"),
                           (("choices: [adam, rmsprop, sgd]", "choices: [adam]"), "train.optimizer.name"), (("name: tpe", "name: tpa"), "tpe"),
                           (("metric: auc", "metric: mine"), "objective.direction"), (("kind: log, low: 1.0e-4", "kind: log, low: 0"), "train.optimizer.lr"),
                           (("search:", "serch:"), "search")):
        study.write_text(job.replace(*change))
        said = linac("tune", study, "--out", root / "never", status=2)
        check(wanted in said and not (root / "never").exists(), f"{change[1]}: refused before anything runs")
    (steered := root / "steered.json").write_text('{"points": [' + "[" * 400000 + "]" * 400000 + "]}")
    words = ("study", "steer", "--in", steered, "--out", root / "next.json", "--max-points", 9, "--num-points", 2)
    check("deeper than 64" in linac(*words, status=3), "what is deeper than a stack is refused")
    space = '{"x": {"method": "uniform", "dimension": {"low": 0, "high": 1}}}'
    steered.write_text('{"points": [[{"x": 0.5}, NaN], [{"x": 0.2}, Infinity]], "opt_space": %s}' % space)
    check("2 points" in linac(*words), "losses are numbers that Python writes, too")
    (pipe := root / "pipe").mkdir()
    os.mkfifo(pipe / "journal.jsonl")
    study.write_text(PARABOLA)
    check("is no file" in linac("study", "new", study, "--out", pipe, status=2), "a FIFO in place of the journal is not waited for")
    (disk := root / "disk").mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "none", disk], capture_output=True).returncode != 0:
        skipped("a full disk", "this user may not mount")
        return
    try:
        study.write_text(FREE)
        linac("study", "new", study, "--out", disk / "s")
        subprocess.run(["dd", "if=/dev/zero", f"of={disk}/fill", "bs=1k"], capture_output=True)
        for _ in range(200):
            done = subprocess.run([runs.LINAC, "study", "ask", str(disk / "s")], capture_output=True, text=True)
            if done.returncode != 0:
                break
        check(done.returncode == 4 and "No space left" in done.stderr, "a full disk is said")
        os.unlink(disk / "fill")
        before = len(trials(disk / "s"))
        linac("study", "ask", disk / "s")
        check(len(trials(disk / "s")) == before + 1, "and with room again the study goes on")
    finally:
        subprocess.run(["umount", "-l", disk], check=True)


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="linac-study-") as folder:
        for part in (killed, taken_over, of_two_objectives, of_costs, in_parallel, others, refused, trains, limited):
            part(pathlib.Path(folder))


if __name__ == "__main__":
    main()
