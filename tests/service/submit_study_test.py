#!/usr/bin/env python3
"""A study that the queue of a service carries out: `linac submit STUDY.yaml`. Twelve short trainings with a pruner, two at a time, while the service is
killed (kill -9) several times; stopping and going on; what is refused, and to whom. LINAC names the program.

submit_study_test.py [--trials 12] [--kills 4] [--seed 1] [WORD]: the tests whose name has the word."""

import argparse
import contextlib
import json
import os
import pathlib
import pwd
import random
import sys
import tempfile
import time

from attack_world import People, call, good
from lib.checks import wait_for
from lib.ports import free_port
from lib.runs import ROOT
from lib.server_process import Service
from lib.service_client import Client

STUDIES = "/api/v1/studies"
EPOCHS = 8
JOB = f"""name: trial
model: {{kind: inclusive_classifier, variant: gru}}
data:
  train: [{ROOT}/data/topology-train.parquet]
  inputs:
    - {{name: GRU_input, column: GRU_input, scaling: standard}}
    - {{name: HLF_input, column: HLF_input, scaling: min_max}}
  targets: [{{column: encoded_label}}]
  scaling: {ROOT}/data/topology-scaling.json
  classes: [QCD, ttbar, W+jets]
train: {{epochs: {EPOCHS}, steps_per_epoch: 2, replicas: 1, batch: 30, threads: 1, fit: {{loss: categorical_crossentropy}}, optimizer: {{name: adam, lr: 2.0e-3}}}}
checkpoint: {{best_by: loss}}
workers: 1
"""
SEARCH = """search:
  train.optimizer.lr: {kind: log, low: 1.0e-5, high: 3.0e-2}
  train.batch: {kind: integer, low: 15, high: 45, step: 15}
objective: {metric: loss}
sampler: {name: tpe}
pruner: {name: asha, steps_min: 1, factor: 2}
budget: {trials: TRIALS, attempts: 1000}
parallel: 2
seed: 5
"""


def study_text(trials: int, **more: str) -> str:
    text = JOB + SEARCH.replace("TRIALS", str(trials))
    for old, new in more.items():
        assert old in text
        text = text.replace(old, new)
    return text


class World:
    """A service with ann and bob, and ann's verbs. `again()` starts it anew, where it was killed."""

    def __init__(self, folder: str, *options: str):
        self.root = pathlib.Path(folder)
        self.service = Service(*options, data=str(self.root / "data"), listen=f"127.0.0.1:{free_port()}")
        self.service.__enter__()
        self.people = People(self.service)
        account = pwd.getpwuid(os.getuid()).pw_name
        good(call(self.service, "PATCH", "/api/v1/users/ann", {"account": account, "as_root": True}, self.people.admin))
        self.client = Client(self.service, folder)
        self.client.environment["LINAC_TOKEN"] = self.people.ann

    def again(self) -> None:
        self.service.kill()
        self.service.url = None
        self.service.__enter__()

    def file(self, name: str, text: str) -> str:
        (path := self.root / f"{name}.yaml").write_text(text)
        return str(path)

    def submit(self, name: str, text: str, *words: str, **more):
        return self.client.run("submit", self.file(name, text), *words, **more)

    def study(self, *words: str, **more) -> str:
        return self.client.run("study", *words, "--server", self.service.url, **more)

    def get(self, path: str) -> dict:
        return good(call(self.service, "GET", path, token=self.people.ann)).json()

    def trials(self, name: str) -> list[dict]:
        return self.get(f"{STUDIES}/{name}/trials")["trials"]

    def lines(self, name: str) -> list[dict]:
        return [json.loads(line) for line in self.get(f"{STUDIES}/{name}/journal")["lines"]]

    def queue_of(self, name: str) -> dict:
        return self.get(f"{STUDIES}/{name}")["queue"]

    def wait(self, name: str, state: str, seconds: float = 240) -> dict:
        end = time.monotonic() + seconds
        while (found := self.queue_of(name))["state"] != state:
            assert found["state"] == "running" and time.monotonic() < end, (found, state, self.service.lines[-20:])
            time.sleep(0.2)
        return found


@contextlib.contextmanager
def world(*options: str):
    with tempfile.TemporaryDirectory(prefix="linac-studies-") as folder:
        made = World(folder, *options)
        try:
            yield made
        finally:
            made.service.__exit__()


def test_killed(options) -> None:
    """Killed at random moments: each trial is told once, none is lost and none begun twice, and all suggestions follow from the lines. Short trials: whether
    the pruner's word comes before one's end depends on the host, see test_pruned."""
    choices = random.Random(options.seed)
    with world("--slots", "cores=2") as here:
        said = here.submit("rates", study_text(options.trials), "--experiment", "by-the-queue")
        assert f"rates: 0 of {options.trials} trials are told" in said, said
        for _ in range(options.kills):
            time.sleep(choices.uniform(0.2, 2.5))
            here.again()
        here.wait("rates", "done")
        trials, lines = here.trials("rates"), here.lines("rates")
        told = [line["trial"] for line in lines if line["op"] == "tell"]
        asked = [line["trial"] for line in lines if line["op"] == "ask"]
        assert sorted(told) == asked == list(range(1, len(trials) + 1)) and len(trials) >= options.trials, (told, asked)
        counted = [one for one in trials if one["state"] != "failed"]
        assert len(counted) == options.trials, [(one["trial"], one["state"], one["reason"]) for one in trials]
        states = {one["trial"]: one["state"] for one in trials}
        assert set(states.values()) <= {"complete", "pruned", "infeasible"} and "complete" in states.values(), states
        # A run for each trial and no other, which says the same.
        runs = {run["tags"]["linac.trial"]: run for run in here.client.json("list", "--experiment", "by-the-queue", "--limit", "5000")["runs"]}
        found = here.client.json("list", "--experiment", "by-the-queue", "--limit", "5000")["runs"]
        assert len(found) == len(runs) == len(trials) and {run["name"].split()[0] for run in found} == {f"rates-{n:04}" for n in states}, found
        assert all(" lr=" in run["name"] for run in found), found
        for one in trials:
            run = here.client.state(one["run"])
            assert run["tags"]["linac.study"] == "rates" and run["state"] == {"complete": "SUCCEEDED", "pruned": "CANCELLED"}.get(one["state"], run["state"]), run
            steps = [step for step, _ in one["curve"]]
            assert steps == list(range(1, len(steps) + 1)) and (len(steps) == EPOCHS) == (one["state"] == "complete" or len(steps) == EPOCHS), one
            assert float(run["parameters"]["train.optimizer.lr"]) == one["point"]["train.optimizer.lr"], (run, one)
            record = [json.loads(line) for line in open(next((here.root / "data" / "artifacts").glob(f"*/{one['run']}/artifacts/metrics.jsonl")))]
            losses = {line["epoch"] + 1: line["train"]["loss"] for line in record if line.get("kind") == "epoch"}
            assert all(losses[step] == value for step, value in one["curve"]), (losses, one)
            if one["state"] == "complete":
                assert one["values"] == [min(losses.values())], one
            if one["state"] == "pruned":
                assert one["reason"] and one["reason"] in run["reason"], (one, run)
        assert f"all {len(trials)} suggestions follow" in here.study("replay", "rates")
        assert "the queue: done" in here.study("show", "rates")
        best = json.loads(here.study("best", "rates", "--json"))
        assert best["values"][0] == min(one["values"][0] for one in trials if one["state"] == "complete")
        # Told in the same order, a folder of this host suggests and judges the same.
        local = here.root / "local"
        space = here.file("space", SEARCH.replace("TRIALS", str(options.trials)))
        here.client.run("study", "new", space, "--out", str(local))
        for line in lines:
            if line["op"] == "ask":
                [again] = [json.loads(text) for text in here.client.run("study", "ask", str(local)).splitlines()]
                assert (again["trial"], again["point"]) == (line["trial"], line["point"])
            if line["op"] == "report":
                here.client.run("study", "report", str(local), str(line["trial"]), str(line["step"]), json.dumps(line["value"]))
            if line["op"] == "tell":
                values = [json.dumps(value) for value in line.get("values", [])]
                here.client.run("study", "tell", str(local), str(line["trial"]), *values, "--state", line["state"])
        assert json.loads(here.client.run("study", "best", str(local), "--json"))["trial"] == best["trial"]
        # Submitted again with a larger budget it goes on.
        assert f"{options.trials} of {options.trials + 1} trials are told" in here.submit("rates", study_text(options.trials + 1))
        here.wait("rates", "done")
        assert here.trials("rates")[-1]["trial"] == len(trials) + 1
        print(f"  {len(trials)} trials ({sorted(states.values())}), the service killed {options.kills} times")


def test_pruned(_) -> None:
    """A trial that learns nothing is stopped after its first epoch, on any host long before its end, and also by a service that was killed after the report."""
    text = study_text(2, **{
        "steps_per_epoch: 2": "steps_per_epoch: 100",
        "parallel: 2": "parallel: 1",
        "{name: tpe}": "{name: grid}",
        "{kind: log, low: 1.0e-5, high: 3.0e-2}": "{kind: categorical, choices: [2.0e-3, 1.0e-9]}",
        "  train.batch: {kind: integer, low: 15, high: 45, step: 15}\n": "",
    })
    with world("--slots", "cores=1") as here:
        here.submit("idle", text)
        wait_for(lambda: len(here.trials("idle")) == 2 and here.trials("idle")[1]["run"], "two trials", 120, 0.1)
        here.again()
        here.wait("idle", "done")
        good_one, idle = here.trials("idle")
        assert (good_one["state"], idle["state"]) == ("complete", "pruned") and 1 <= len(idle["curve"]) < EPOCHS == len(good_one["curve"]), (good_one, idle)
        run = here.client.state(idle["run"])
        assert run["state"] == "CANCELLED" and idle["reason"] and idle["reason"] in run["reason"], (run, idle)


def test_stopped(_) -> None:
    """Stopped by its owner, and by nobody else; submitted again it goes on with the same trials."""
    with world("--slots", "cores=2") as here:
        here.submit("stopped", study_text(3, **{"steps_per_epoch: 2": "steps_per_epoch: 40", "pruner: {name: asha, steps_min: 1, factor: 2}\n": ""}))
        wait_for(lambda: any(one["curve"] for one in here.trials("stopped")), "a curve", 120, 0.1)
        stop = lambda token: call(here.service, "POST", f"{STUDIES}/stopped/stop", {}, token).status  # noqa: E731
        assert stop(here.people.bob) == 404, "a colleague does not even see it"
        for path, body in (("ask", {}), ("trials/1/tell", {"value": 0}), ("trials/1/report", {"step": 1, "value": 0}), ("trials/1/renew", {})):
            answer = call(here.service, "POST", f"{STUDIES}/stopped/{path}", body, here.people.ann)
            assert answer.status == 409 and b"the queue carries out" in answer.body, answer.body
        delete = lambda: call(here.service, "DELETE", f"{STUDIES}/stopped?force=true", None, here.people.ann)  # noqa: E731
        assert delete().status == 409, "its jobs would go on"
        assert "stopped: the queue: stopped: by hand" in here.study("stop", "stopped", "--reason", "by hand")
        assert stop(here.people.ann) == 409, "it is stopped already"
        runs = {one["trial"]: one["run"] for one in here.trials("stopped")}
        wait_for(lambda: all(here.client.state(run)["state"] == "CANCELLED" for run in runs.values()), "all are cancelled", 120, 0.1)
        time.sleep(0.5)
        assert not here.client.json("status")["jobs"] and all(one["state"] == "running" for one in here.trials("stopped")) and len(runs) == 2
        assert here.queue_of("stopped")["state"] == "stopped"
        here.submit("stopped", study_text(3, **{"steps_per_epoch: 2": "steps_per_epoch: 40", "pruner: {name: asha, steps_min: 1, factor: 2}\n": ""}))
        here.wait("stopped", "done")
        ended = here.trials("stopped")
        assert [one["state"] for one in ended] == ["complete"] * 3 and all(one["run"] == runs.get(one["trial"], one["run"]) for one in ended), ended
        # One whose search has changed is another study.
        changed = study_text(3).replace("high: 3.0e-2", "high: 3.0e-1")
        assert "there is another study 'stopped'" in here.submit("stopped", changed, status=2)
        assert delete().status == 200 and call(here.service, "GET", f"{STUDIES}/stopped", None, here.people.ann).status == 404
        assert here.client.state(runs[1])["state"] == "SUCCEEDED", "the runs of its trials stay"


def test_limits(_) -> None:
    """What all trials together may use: the study stops after checkpoints, also of a service that was killed, and goes on with more of it."""
    plain = {"pruner: {name: asha, steps_min: 1, factor: 2}\n": "", "{name: tpe}": "{name: random}", "parallel: 2": "parallel: 1"}
    text = study_text(4, **plain)
    with world("--slots", "cores=1") as here:
        here.submit("limited", text + "limits: {steps: 20}\n")
        assert "limits.steps = 20 is used up" in here.wait("limited", "stopped")["reason"]
        steps = lambda: sum(json.loads(line)["kind"] == "step" for path in (here.root / "data" / "artifacts").glob("*/*/artifacts/metrics.jsonl")  # noqa: E731
                            for line in open(path))
        wait_for(lambda: not here.client.json("status")["jobs"], "its jobs have ended", 120, 0.1)
        done, trials = steps(), here.trials("limited")
        assert done >= 20 and len(trials) < 4, (done, trials)
        here.submit("limited", text + "limits: {steps: 20}\n")
        here.wait("limited", "stopped")
        wait_for(lambda: not here.client.json("status")["jobs"], "its jobs have ended", 120, 0.1)
        here.again()
        assert len(here.trials("limited")) == len(trials), "submitted with the same limits it begins no other trial"
        here.submit("limited", text + "limits: {steps: 1000, hours: 100}\n")
        here.wait("limited", "done")
        ended = here.trials("limited")
        assert [one["state"] for one in ended] == ["complete"] * 4, ended
        here.submit("calm", text)
        here.wait("calm", "done")
        assert [(one["point"], one["values"]) for one in here.trials("calm")] == [(one["point"], one["values"]) for one in ended], "the trials are those without limits"
        here.submit("limited", text + "limits: {steps: 1}\n")
        assert here.wait("limited", "done"), "one that is complete needs nothing more"
        long = study_text(2, **plain, **{"steps_per_epoch: 2": "steps_per_epoch: 4000"})
        for name, limits in (("hours", "{hours: 1.0e-9}"), ("money", "{money: 1.0e-9, price: 2}"), ("kwh", "{kwh: 1.0e-9, watts: 200}"),
                             ("co2_kg", "{co2_kg: 1.0e-9, watts: 200, co2_g_per_kwh: 400}")):
            here.submit(name, f"{long}limits: {limits}\n")
            assert f"limits.{name} = 1e-09 is used up" in here.wait(name, "stopped")["reason"]
        used = json.loads((sorted((here.root / "data" / "studies").glob("*.json"))[-1]).read_text())
        assert 0 < used["seconds"] <= used["worker_seconds"], used
        for limits, word in (("{money: 3}", "limits.price"), ("{steps: -1}", "0 or more"), ("{hours: .nan}", "limits"), ("{step: 3}", "step")):
            assert word in here.submit("bad", f"{text}limits: {limits}\n", status=2), limits
        for damaged in (here.root / "data" / "studies").glob("*.json"):
            damaged.unlink()
            os.mkfifo(damaged)
        here.again()
        here.submit("hours", f"{long}limits: {{hours: 1}}\n")
        assert "no number of seconds" in here.wait("hours", "failed")["reason"], "a pipe in place of what was used is not waited for"


def test_refused(_) -> None:
    """What is wrong with a study's file is said before anything is queued, by the verb, and by a service that was sent it all the same."""
    with world("--slots", "cores=2") as here:
        good_text = study_text(2)
        bad = {
            "objective.command": good_text.replace("objective: {metric: loss}", 'objective: {command: "true"}'),
            "population.method": good_text.replace("sampler: {name: tpe}\n", "population: {method: pbt, members: 2}\n").replace("pruner: {name: asha, steps_min: 1, factor: 2}\n", "")
            .replace("  train.batch: {kind: integer, low: 15, high: 45, step: 15}\n", ""),
            "it has no job": SEARCH.replace("TRIALS", "2"),
            "train.optimizer.rate": good_text.replace("train.optimizer.lr: {kind", "train.optimizer.rate: {kind"),
            "train.batch": good_text.replace("low: 15, high: 45, step: 15", "low: 0, high: 45, step: 15"),
        }
        for i, (word, text) in enumerate(bad.items()):
            assert word in here.submit(f"bad-{i}", text, status=2), word
            answer = call(here.service, "POST", f"{STUDIES}/bad-{i}/submit", {"study": text}, here.people.ann)
            assert answer.status == 400 and word.encode() in answer.body, (word, answer.status, answer.body)
        only_there = {"no file that this job may read": good_text.replace("topology-train", "none"), "could never start": (good_text, "--cores", "3"),
                      "is no place for jobs of yours": (good_text, "--on", "nowhere")}
        for word, text in only_there.items():
            text, *words = (text,) if isinstance(text, str) else text
            assert word in here.submit("bad", text, *words, status=2), word
        for flag in (("--array", "train.seed=1..2"), ("--depends-on", "x"), ("--key", "x"), ("--attempts", "2"), ("--follow",)):
            assert flag[0] in here.submit("bad", good_text, *flag, status=2), flag
        assert here.get(STUDIES)["studies"] == [] and not here.client.json("status")["jobs"]
        assert "would be submitted" in here.submit("checked", good_text, "--check") and here.get(STUDIES)["studies"] == []
        # A name of somebody else, and a study that programs ask.
        good(call(here.service, "POST", STUDIES, {"name": "bobs", "study": "search: {x: {low: 0, high: 1}}"}, here.people.bob))
        assert call(here.service, "POST", f"{STUDIES}/bobs/submit", {"study": good_text}, here.people.ann).status in (403, 409)
        good(call(here.service, "POST", STUDIES, {"name": "asked", "study": SEARCH.replace("TRIALS", "2")}, here.people.ann))
        assert "programs ask and tell 'asked'" in here.submit("asked", good_text, status=2)
        assert call(here.service, "POST", f"{STUDIES}/asked/stop", {}, here.people.ann).status == 409


def test_ends(_) -> None:
    """NaN is infeasible with its reason; a trial whose job somebody cancels has failed; a quota is waited for; a measure that is none ends the study."""
    with world("--slots", "cores=2") as here:
        good(call(here.service, "PATCH", "/api/v1/users/ann", {"jobs_max": 1}, here.people.admin))
        wild = study_text(3).replace("low: 1.0e-5, high: 3.0e-2", "low: 1.0e+30, high: 1.0e+36").replace("pruner: {name: asha, steps_min: 1, factor: 2}\n", "")
        here.submit("wild", wild)
        wait_for(lambda: "quota" in here.queue_of("wild")["reason"] or here.queue_of("wild")["state"] != "running", "the quota is told", 120, 0.1)
        assert len(here.client.json("status")["jobs"]) <= 1
        here.wait("wild", "done")
        ended = here.trials("wild")
        assert len(ended) == 3 and all(one["state"] == "infeasible" and one["reason"] for one in ended), ended
        here.submit("other", study_text(1, **{"metric: loss": "metric: loss_of_nobody, direction: minimize"}))
        assert "the training reports no 'loss_of_nobody'" in here.wait("other", "failed")["reason"]
        here.submit("cancelled", study_text(1, **{"steps_per_epoch: 2": "steps_per_epoch: 4000"}))
        wait_for(lambda: here.trials("cancelled") and here.trials("cancelled")[0]["run"], "a trial", 120, 0.1)
        here.client.run("cancel", here.trials("cancelled")[0]["run"], "--reason", "wrong data")
        wait_for(lambda: len(here.trials("cancelled")) == 2, "two trials", 120, 0.1)
        first = here.trials("cancelled")[0]
        assert (first["state"], first["reason"]) == ("failed", "cancelled by ann: wrong data"), first
        here.study("stop", "cancelled")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=12)
    parser.add_argument("--kills", type=int, default=4)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("word", nargs="?", default="")
    options = parser.parse_args()
    for name, test in list(globals().items()):
        if name.startswith("test_") and options.word in name:
            begin = time.monotonic()
            test(options)
            print(f"{name}: {time.monotonic() - begin:.1f} s", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
