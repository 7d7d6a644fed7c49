#!/usr/bin/env python3
"""Plans at a service, from what its runs measured: by a run and by a job's text, as deadline and budget move; `linac plan --on` and
`--runs` a service; and what must not come of it: another's private runs, records of strangers, numbers that are none. The runs are
records that are written here, so nothing trains. LINAC names the program.

    plans_test.py [WORD...]      those with one of these words in their name
"""

import contextlib
import http.server
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import traceback

from attack_world import People, call, good
from lib.checks import check
from lib.runs import LINAC, ROOT, linac, output
from lib.server_process import Service

JOB = f"""name: planned
model: {{kind: inclusive_classifier, variant: gru}}
data:
  train: [{ROOT}/data/topology-train.parquet]
  test: [{ROOT}/data/topology-test.parquet]
  inputs:
    - {{name: GRU_input, column: GRU_input, scaling: standard}}
    - {{name: HLF_input, column: HLF_input, scaling: min_max}}
  targets: [{{column: encoded_label}}]
  scaling: {ROOT}/data/topology-scaling.json
train: {{epochs: 3, replicas: 4, batch: 30, fit: {{loss: categorical_crossentropy, metrics: [accuracy]}}}}
"""
HOST = os.uname().nodename
PROCESSOR = next((line.split(": ", 1)[1].strip("\n") for line in open("/proc/cpuinfo") if line.startswith("model name")), "processor not known")
STEPS, STEP_S = 300, 0.5
MESSAGES = {"steps_per_epoch": 100, "flop": 1e9, "updates": [{"beside": 0, "parts": [{"bytes": 4e5, "left": 0.3}]}]}


def account(step_s: float = STEP_S) -> dict:
    wall = STEPS * step_s
    return {"host": HOST, "pid": 7, "cpu_s": wall, "sent_bytes": 0, "sent_messages": 0, "exchange_s": 0,
            "phases": {"compute": {"wall_s": 0.9 * wall, "cpu_s": 0.9 * wall}, "input": {"wall_s": 0.1 * wall, "cpu_s": 0}},
            "steps": {"steps": STEPS, "wall_s": wall, "squares_s2": 1.01 * STEPS * step_s**2, "input_s": 0, "networks": []}}


def record(step_s: float = STEP_S, when: str = "2026-11-29T10:00:00Z", **more: object) -> dict[str, bytes]:
    """The files of a run's folder that a plan rests on."""
    summary = {"record": 1, "name": "planned", "status": "succeeded", "updated": when, "host": {"name": HOST, "cores": 2, "processor": PROCESSOR},
               "workers": 1, "replicas_side_by_side": 2, "outline": MESSAGES, "global_step": STEPS, "epochs_done": 3, "time_by_worker": [account(step_s)]}
    lines = [{"kind": "view", "record": 1, "time": 1000, "global_step": 0, "view": 1, "why": "", "seconds": 4,
              "members": [{"rank": 0, "host": HOST, "pid": 7, "replicas": 4}]}]
    lines += [{"kind": "epoch", "epoch": i, "global_step": 100 * (i + 1), "seconds": 50, "opened_s": 1, "input_s": 0, "train": {}, "test": {"accuracy": 0.3 * (i + 1)}}
              for i in range(3)]
    lines += [{"kind": "step", "epoch": 0, "step": i, "global_step": i, "loss": {}} for i in range(1, 4)]
    lines += [{"kind": "end", "time": 1160, "global_step": STEPS, "status": "succeeded", "workers": [account(step_s)]}]
    job = JOB + more.pop("job_more", "")
    return {"job.yaml": job.encode(), "run.json": json.dumps(summary | more).encode(), "metrics.jsonl": "".join(json.dumps(line) + "\n" for line in lines).encode()}


class World(People):
    def __init__(self, service: Service):
        super().__init__(service)
        self.experiment = good(self.mlflow(self.ann, "experiments/create", {"name": "ann's"})).json()["experiment_id"]

    def run(self, files: dict[str, bytes], token: str | None = None, experiment: str | None = None) -> str:
        token = token or self.ann
        run = good(self.mlflow(token, "runs/create", {"experiment_id": experiment or self.experiment, "run_name": "planned"})).json()["run"]["info"]["run_id"]
        for name, text in files.items():
            good(call(self.service, "PUT", f"/api/v1/runs/{run}/files/{name}", text, token))
        return run

    def folder(self, run: str) -> pathlib.Path:
        return next(self.service.folder.rglob(f"{run}/artifacts"))

    def plan(self, token: str | None = None, status: int = 200, **fields: object) -> dict:
        answer = call(self.service, "POST", "/api/v1/plans", fields, token or self.ann)
        assert answer.status == status, (answer.status, answer.body)
        return answer.json()


@contextlib.contextmanager
def world(*options: str, **more: str):
    with Service(*options, **more) as service:
        yield World(service)


def row(plan: dict, name: str) -> dict:
    return next(one for one in plan["rows"] if one["name"].startswith(name))


def test_a_run_is_planned_by_what_it_measured() -> None:
    with world("--price", "0.5") as w:
        run = w.run(record())
        plan = w.plan(run=run)
        here = row(plan, "the service's host, 1 worker")
        check(plan["measured"][0]["run"] == run and plan["measured"][0]["steps"] == STEPS, "the run is the measurement")
        check(plan["goal"]["steps"]["middle"] == STEPS and plan["epochs"] == 3, "for all its steps")
        waves = [2 * 0.45 * STEP_S + 0.1 * STEP_S, 0.45 * STEP_S + 0.1 * STEP_S]  # of two replicas; of four, on a host that has the cores
        check(0.9 * min(waves) < here["compute_s"]["middle"] < 2 * max(waves) and not here["remarks"], "a step takes what it took")
        check(here["money_usd"] is not None, "the service's prices are known")
        again = w.plan(job=JOB, set=["train.epochs=30", "train.replicas=8"])
        check(again["goal"]["steps"]["middle"] == 1500, "another job of the same work: other epochs, other replicas")
        more = w.plan(run=run, machines=["gcp/v100x*"], hosts=4, regions=["us-central1", "europe-west4"], workers=[1, 2], spot=True, by="time", rows=5)
        check(more["count"] > len(more["rows"]) >= 5, "few rows are told of many")
        check(all(one["name"] not in [r["name"] for r in more["rows"][:i]] for i, one in enumerate(more["rows"])), "each once")
        check(any(one["front"] for one in more["rows"]) and row(w.plan(run=run, machines=["gcp/v100x1"], hosts=4), "gcp/v100x1, 4 hosts")["exchange_s"]["middle"] > 0,
              "the messages of the run's updates are planned for several hosts")
        late = w.plan(run=run, deadline_s=1)
        check(not late["rows"][0]["good"] and late["rows"][0]["on_time"] < 0.01, "a deadline that nobody meets")
        cheap = w.plan(run=run, budget=1e-6, currency="EUR")
        check(not cheap["rows"][0]["good"] and cheap["currency"]["code"] == "EUR" and any("1 EUR" in remark for remark in cheap["remarks"]), "a budget in euros")
        reached = w.plan(run=run, goal="test accuracy >= 0.5")
        check(abs(reached["goal"]["steps"]["middle"] - 200) < 1e-6, "until a measure was so good")
        check(any("is not known" in remark for remark in w.plan(run=run, goal="test accuracy >= 2")["remarks"]), "a goal that none reached is said to be unknown")


def test_what_came_of_plans_is_learned() -> None:
    with world() as w:
        planned = "plan:\n  on: \"the service's host, 1 worker\"\n  start_s: [4, 5, 6]\n  step_s: [0.2, 0.25, 0.3]\n  hours: [0.02, 0.022, 0.025]\n"
        for _ in range(3):
            w.run(record(job_more=planned))
        plan = w.plan(job=JOB)
        check(plan["experience"]["step"]["runs"] == 3 and plan["experience"]["step"]["bias"] > 1.2, "steps that took twice the planned time move the next plan")
        text = linac("plan", "calibration", w.service.url, LINAC_TOKEN=w.ann)
        check("a step: 0 of 3 inside" in text, "linac plan calibration has them, too")
        check("no run there was planned" in linac("plan", "calibration", w.service.url, status=2, LINAC_TOKEN=w.bob), "of bob's eyes there is none")


def test_the_verb_plans_by_a_service() -> None:
    with world("--price", "0.5") as w, tempfile.TemporaryDirectory() as folder:
        w.run(record())
        job = pathlib.Path(folder, "job.yaml")
        job.write_text(JOB)
        words = ["plan", job, "--on", w.service.url, "--runs", w.service.url, "--not-here", "--json"]
        text = linac(*words, LINAC_TOKEN=w.ann)
        plan = json.loads(text[text.index("{"):])
        check(row(plan, "the service's host, 1 worker")["money_usd"] is not None, "the service's host with its price")
        check(w.service.url + "/#/runs/" in plan["facts"]["measured"], "measured by its run")
        text = linac(*words[:-1], "--goal", "test accuracy >= 0.5", "--write", job, LINAC_TOKEN=w.ann)
        check("the service's host, 1 worker" in job.read_text(), "the job is written as for any other place")
        check("linac login" in linac("plan", job, "--runs", w.service.url, status=2, LINAC_TOKEN="linac_no_such"), "a token that is none: how to log in")


class Nonsense(http.server.BaseHTTPRequestHandler):
    answers = [b"{}", b"[]", b"<html>", b'{"places": 3}', b'{"places": [{"name": 1}]}', b'{"places": [{"name": "x", "plan": {"price": -1}, "host": null, "waits": true}]}',
               b'{"places": [{"name": "x", "plan": {"hosts": "many"}, "host": null, "waits": true}]}']
    body = b""

    def do_GET(self) -> None:  # noqa: N802
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(self.body)))
        self.end_headers()
        self.wfile.write(self.body)

    def log_message(self, *_) -> None:
        pass


def test_a_server_that_tells_nonsense_is_named() -> None:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Nonsense)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_port}"
    with tempfile.TemporaryDirectory() as folder:
        for name, text in record().items():
            pathlib.Path(folder, name).write_bytes(text)
        job = pathlib.Path(folder, "plan-me.yaml")
        job.write_text(JOB)
        for body in Nonsense.answers:
            Nonsense.body = body
            done = subprocess.run([LINAC, "plan", job, "--measured", folder, "--on", address, "--not-here"], capture_output=True, text=True, timeout=60)
            check(done.returncode in (2, 4) and address in done.stderr + done.stdout, f"{body}: the server is named: {done.returncode} {done.stderr}")
    server.shutdown()


def test_strangers_see_nothing() -> None:
    """Bob with ann's private run; with hers measured; and when she has shared it."""
    with world() as w:
        run = w.run(record())
        check(w.plan(w.bob, 404, run=run)["detail"] == w.plan(w.bob, 404, run="0" * 32)["detail"].replace("0" * 32, run), "a private run is not there")
        refused = w.plan(w.bob, 409, job=JOB)["detail"]
        check("nothing has been measured" in refused and "linac submit" in refused, "nor does it measure for bob; he hears what to do")
        runs = good(call(w.service, "GET", "/api/v1/plans/runs?kin=" + "0" * 16, token=w.bob)).json()
        check(runs["runs"] == [], "nor is it told to his planner")
        check(w.plan(w.admin, run=run)["count"] > 0, "an admin may")
        reader = w.user("reader", "viewer")
        check("nothing has been measured" in w.plan(reader, 409, job=JOB)["detail"], "a viewer plans, of what he may read")
        good(call(w.service, "PATCH", f"/api/v1/experiments/{w.experiment}", {"visibility": "shared"}, w.ann))
        check(w.plan(reader, run=run)["count"] > 0 and w.plan(w.bob, job=JOB)["count"] > 0, "what is shared measures for all")
        good(call(w.service, "PATCH", f"/api/v1/experiments/{w.experiment}", {"visibility": "private"}, w.ann))
        w.plan(w.bob, 404, run=run)
        w.plan(w.bob, 409, job=JOB)
        check(call(w.service, "POST", "/api/v1/plans", {"job": JOB}).status == 401, "nobody plans without a token")


def test_records_of_strangers() -> None:
    """What lies in a run's folder is of its owner's hand: it is passed over, and the service goes on."""
    with world() as w:
        sound = w.run(record(when="2026-11-29T12:00:00Z"))
        w.run({"job.yaml": b"name: [", "run.json": b"{", "metrics.jsonl": b"\0\0\n{"})
        w.run(record(time_by_worker=[account(float("nan"))]))
        w.run(record(step_s=-3))
        w.run(record(outline={"steps_per_epoch": -5, "flop": "NaN", "updates": [{"beside": 1e300, "parts": [{"bytes": -1, "left": "Infinity"}]}]}))
        w.run(record(replicas_side_by_side=1 << 50, workers=-1))
        w.run(record(host={"name": "<script>alert(1)</script>", "cores": 0, "processor": "\n\x1b[31m"}))
        fifo, link, folder = (w.run(record(when=f"2026-11-30T0{i}:00:00Z")) for i in range(3))
        place = w.folder(fifo)
        (place / "metrics.jsonl").unlink()
        os.mkfifo(place / "metrics.jsonl")
        outside = w.service.folder / "outside.yaml"
        outside.write_text(JOB)
        place = w.folder(link)
        (place / "job.yaml").unlink()
        (place / "job.yaml").symlink_to(outside)
        place = w.folder(folder)
        (place / "run.json").unlink()
        (place / "run.json").mkdir()
        large = w.run(record(when="2026-11-30T08:00:00Z"))
        with open(w.folder(large) / "metrics.jsonl", "r+b") as file:
            file.truncate(65 << 20)  # a hole
        plan = w.plan(run=sound)
        check(plan["measured"][0]["run"] == sound, "the sound run measures; those of a FIFO, a link, a folder and a hole do not")
        check(all(one["seconds"]["middle"] > 0 for one in plan["rows"]), "and each figure is one")
        for run in (fifo, link, folder, large):
            check("no job to plan" in w.plan(run=run, status=409)["detail"], "a run without a record says so")
        w.run(record(when="2026-11-30T09:00:00Z", step_s=2 * STEP_S))
        check(w.plan(run=sound)["measured"][0]["step_s"] > 0.8 * STEP_S, "the newest one measures")
        (w.folder(sound) / "run.json").write_text(json.dumps(json.loads(record()["run.json"]) | {"updated": "2026-12-01T00:00:00Z"}))
        check(w.plan(run=sound)["measured"][0]["step_s"] < 0.8 * STEP_S, "a run.json that has changed is read anew")
        several = w.run(record(time_by_worker=[account(), account()]))
        check(w.plan(run=several)["count"] > 0, "a run of several workers is planned by others' steps")


def test_what_is_refused() -> None:
    with world() as w:
        run = w.run(record())
        for fields, word in (({}, "'run' or 'job'"), ({"run": run, "job": JOB}, "'run' or 'job'"), ({"run": run, "deadline_s": "NaN"}, "deadline_s"),
                             ({"run": run, "deadline_s": -1}, "deadline_s"), ({"run": run, "budget": "Infinity"}, "budget"), ({"run": run, "currency": "XYZ"}, "XYZ"),
                             ({"run": run, "by": "luck"}, "by"), ({"run": run, "rows": 1001}, "rows"), ({"run": run, "rows": 0}, "rows"), ({"run": run, "hosts": 65537}, "hosts"),
                             ({"run": run, "hosts": 0}, "hosts"), ({"run": run, "workers": [0]}, "workers"), ({"run": run, "workers": ["NaN"]}, "workers"),
                             ({"run": run, "workers": [1.5]}, "workers"), ({"run": run, "workers": [1] * 9}, "workers"), ({"run": run, "machines": ["no/*"]}, "no/*"),
                             ({"run": run, "machines": ["a"] * 21}, "machines"), ({"run": run, "machines": ["x" * 101]}, "machines"), ({"run": run, "machines": [""]}, "machines"),
                             ({"run": run, "regions": ["r"] * 21}, "regions"), ({"run": run, "goal": "auc"}, "auc"), ({"run": run, "spot_life_h": "NaN"}, "spot_life_h"),
                             ({"job": "name: ["}, "the job"), ({"job": "epochs: 3"}, "epochs"), ({"job": JOB, "set": ["train.epochs=many"]}, "train.epochs"),
                             ({"run": run, "machines": ["*"], "regions": [f"r{i}" for i in range(20)], "hosts": 65536, "workers": [1, 2, 3, 4, 5, 6, 7, 8], "spot": True,
                               "set": ["train.replicas=4096"]}, "are the most")):
            answer = call(w.service, "POST", "/api/v1/plans", fields, w.ann)
            check(answer.status == 400 and word in answer.json()["detail"], f"{str(fields)[:80]}: 400 that names it, was {answer.status} {answer.body[:200]}")
        check(w.plan(job=JOB + "# " + "x" * (16 << 10) + "\n")["count"] > 0, "a job of 16 kB is planned")
        check(call(w.service, "POST", "/api/v1/plans", {"job": "# " + "x" * (1 << 20)}, w.ann).status == 400, "one of a MiB is not")
        check(call(w.service, "POST", "/api/v1/plans", {"job": "# " + "x" * (3 << 20)}, w.ann).status == 413, "and more is not read")
        bomb = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(f"{chr(98 + i)}: &{chr(98 + i)} [{','.join(['*' + chr(97 + i)] * 9)}]\n" for i in range(9))
        check(call(w.service, "POST", "/api/v1/plans", {"job": bomb}, w.ann).status == 400, "nor does a bomb of aliases explode")
        unmeasured = w.run({"job.yaml": JOB.replace("batch: 30", "batch: 31").encode(), "run.json": b'{"status": "running"}', "metrics.jsonl": b""})
        text = w.plan(run=unmeasured, status=409)["detail"]
        check("nothing has been measured" in text and "its workers' times are not told" in text and "linac plan" in text, "a run without a measurement says why, and what to do")


def test_a_thousand_sites() -> None:
    with tempfile.TemporaryDirectory() as folder:
        sites = pathlib.Path(folder, "sites.yaml")
        site = {"kind": "slurm", "folder": "/shared/linac", "users": ["*"]}
        sites.write_text(json.dumps({f"site{i}": site | {"plan": {"hosts": 4096, "price": 1 + i, "spot_price": 0.1, "spot_life_h": 5, "link": "10gbit:50us"}} for i in range(1000)}))
        with world("--sites", str(sites)) as w:
            run = w.run(record())
            plan = w.plan(run=run, set=["train.replicas=32"], spot=True, by="money")
            check(plan["count"] > 10_000 and len(plan["rows"]) < 400, f"ten thousand candidates of a thousand sites, few told: {plan['count']}")
            check("/shared/linac" not in json.dumps(plan), "and of the sites' settings nothing but their worth")
            places = good(call(w.service, "GET", "/api/v1/plans/places", token=w.bob)).json()["places"]
            check(len(places) == 1001 and "/shared/linac" not in json.dumps(places), "nor are they told to a planner")
        for price in (".nan", "-1", ".inf"):
            sites.write_text("far:\n  kind: slurm\n  folder: /shared/linac\n  plan: {price: %s}\n" % price)
            text = output(LINAC, "serve", "--data", f"{folder}/data", "--listen", "127.0.0.1:0", "--sites", sites, status=2, limit_s=60)
            check("plan.price" in text, f"a price of {price} is refused at the start")
        sites.write_text(json.dumps({"mine": site | {"users": ["ann"], "plan": {"price": 7}}}))
        with world("--sites", str(sites)) as w:
            names = lambda token: [one["name"] for one in good(call(w.service, "GET", "/api/v1/plans/places", token=token)).json()["places"]]  # noqa: E731
            check("mine" in names(w.ann) and "mine" not in names(w.bob), "a site is a place for those whose jobs it takes")


def test_agents_are_places() -> None:
    with world() as w:
        run = w.run(record())
        secret = w.token("ann", by=w.ann, scope="agent")
        body = {"name": "mine", "host": HOST, "version": "1", "cores": 4, "memory_mb": 8192, "gpus": 0, "cores_free": 4, "memory_mb_free": 8192, "gpus_free": 0, "price": 2, "wait_s": 0}
        answer = call(w.service, "POST", f"/api/v1/agents/{'a1' * 16}/work", body, secret)
        assert answer.status == 200, answer.body
        agent = row(w.plan(run=run), "agent mine, 1 worker")
        check(abs(agent["money_usd"]["middle"] / (2 * agent["seconds"]["middle"] / 3600) - 1) < 0.01, "an agent with its price is a place")
        good(call(w.service, "PATCH", f"/api/v1/experiments/{w.experiment}", {"visibility": "shared"}, w.ann))
        check(all("agent" not in one["name"] for one in w.plan(w.bob, run=run)["rows"]), "for its user's jobs alone")
        for price in ("NaN", "Infinity", -1):
            check(call(w.service, "POST", f"/api/v1/agents/{'a2' * 16}/work", body | {"price": price}, secret).status == 400, f"a price of {price} is refused")


def main() -> int:
    tests = [(name, one) for name, one in sorted(globals().items()) if name.startswith("test_")]
    wanted = [(name, one) for name, one in tests if not sys.argv[1:] or any(word in name for word in sys.argv[1:])]
    failed = 0
    for name, one in wanted:
        try:
            one()
            print(f"ok    {name}", flush=True)
        except Exception:  # noqa: BLE001
            failed += 1
            print(f"FAIL  {name}\n{traceback.format_exc()}", flush=True)
    return 1 if failed or not wanted else 0


if __name__ == "__main__":
    sys.exit(main())
