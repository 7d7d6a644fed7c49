#!/usr/bin/env python3
"""Metrics and submissions under load while the service, and PostgreSQL below it, are killed again and again: what was acknowledged is
there, and nothing is there twice.

  LINAC=build/linac points_kill_test.py [--kills 5] [--database-kills 3]

Writers send numbered batches and, when an answer does not come, send the same batch again; submitters do so with their keys. Each run's
curve has to be the steps from 1 on without a gap, at least up to the last one acknowledged; each key has to be one run.
"""

import argparse
import http.client
import json
import pathlib
import random
import sys
import tempfile
import threading
import time

from lib.ports import free_port
from lib.server_process import Service
from lib.servers.postgresql import PostgreSQL
from lib.skips import skipped

WRITERS, SUBMITTERS, BATCH = 8, 2, 20
JOB = f"name: waits\ndata: {{train: [{pathlib.Path(__file__).resolve().parents[2] / 'data/showers-test.h5'}]}}\n"


class Sender(threading.Thread):
    """One client: whatever goes wrong, the same request again."""

    def __init__(self, port: int, token: str):
        super().__init__(daemon=True)
        self.port, self.token, self.over, self.problem, self.broken = port, token, threading.Event(), None, 0

    def send(self, method: str, path: str, body: dict | None = None) -> dict:
        while True:
            try:
                if getattr(self, "connection", None) is None:
                    self.connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
                self.connection.request(method, path, json.dumps(body) if body is not None else None,
                                        {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"})
                answer = self.connection.getresponse()
                text = answer.read()
                if answer.status == 200:
                    return json.loads(text)
                if answer.status < 500 and answer.status != 429:
                    raise RuntimeError(f"{path}: {answer.status} {text[:300]!r}")
            except (OSError, http.client.HTTPException):
                self.connection = None
            self.broken += 1
            time.sleep(0.02)

    def run(self) -> None:
        try:
            self.work()
        except Exception as error:  # noqa: BLE001 - told by the main thread
            self.problem = error


class Writer(Sender):
    def work(self) -> None:
        self.id = self.send("POST", "/api/2.0/mlflow/runs/create", {"experiment_id": "0"})["run"]["info"]["run_id"]
        self.acknowledged = 0
        sequence = 0
        while not self.over.is_set():
            sequence += 1
            steps = range((sequence - 1) * BATCH + 1, sequence * BATCH + 1)
            batch = {"sender": "writer", "sequence": sequence, "points": {"loss": [[step, step, 1 / step] for step in steps]}}
            self.send("POST", f"/api/v1/runs/{self.id}/points", batch)
            self.acknowledged = steps[-1]


class Submitter(Sender):
    """Its jobs wait for a run that never ends."""

    def __init__(self, port: int, token: str, name: str):
        super().__init__(port, token)
        self.prefix, self.runs = name, {}

    def work(self) -> None:
        endless = self.send("POST", "/api/2.0/mlflow/runs/create", {"experiment_id": "0"})["run"]["info"]["run_id"]
        while not self.over.is_set():
            key = f"{self.prefix}-{len(self.runs)}"
            self.runs[key] = self.send("POST", "/api/v1/jobs", {"job": JOB, "name": key, "key": key, "depends_on": [endless]})["runs"][0]["id"]
            time.sleep(0.05)


def curve(client: Sender, run: str) -> list[int]:
    steps, token = [], ""
    while True:
        query = f"run_id={run}&metric_key=loss&max_results=25000" + (f"&page_token={token}" if token else "")
        page = client.send("GET", f"/api/2.0/mlflow/metrics/get-history?{query}")
        steps += [int(point["step"]) for point in page["metrics"]]
        token = page.get("next_page_token", "")
        if not token:
            return steps


def check(client: Sender, writers: list[Writer], submitters: list[Submitter]) -> list[str]:
    problems = [f"{sender}: {sender.problem}" for sender in [*writers, *submitters] if sender.problem]
    for writer in writers:
        steps = curve(client, writer.id)
        count = client.send("GET", f"/api/v1/runs/{writer.id}")["metrics"]["loss"]["count"]  # MLflow's history shows the same point once
        if steps != list(range(1, len(steps) + 1)) or count != len(steps):
            problems.append(f"{writer.id}: steps are missing or doubled ({count} points, {len(set(steps))} steps)")
        if len(steps) < writer.acknowledged:
            problems.append(f"{writer.id}: {writer.acknowledged} points were acknowledged, {len(steps)} are there")
    names: dict[str, list[str]] = {}
    token = ""
    while True:
        page = client.send("GET", f"/api/v1/runs?limit=1000&page_token={token}")
        for run in page["runs"]:
            names.setdefault(run["name"], []).append(run["id"])
        token = page.get("next") or ""
        if not token:
            break
    for submitter in submitters:
        for key, run in submitter.runs.items():
            if names.get(key) != [run]:
                problems.append(f"{key}: acknowledged as {run}, and there are {names.get(key)}")
    return problems


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--kills", type=int, default=5, help="of the service, on each database")
    arguments.add_argument("--database-kills", type=int, default=3, help="of PostgreSQL")
    arguments.add_argument("--seed", type=int, default=8)
    options = arguments.parse_args()
    chance = random.Random(options.seed)
    failures = 0
    for kind in ["sqlite", "postgresql"]:
        if kind == "postgresql" and not PostgreSQL.available():
            skipped("the half on PostgreSQL", "none is installed", "tests/servers/get.sh postgresql")
            continue
        begin = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="linac-kills-") as data:
            database = PostgreSQL().__enter__() if kind == "postgresql" else None
            port = free_port()

            def serve() -> Service:
                return Service("--requests-per-second", "1000000", data=data, database=database.url if database else None, listen=f"127.0.0.1:{port}").__enter__()

            service = serve()
            token = service.token
            writers = [Writer(port, token) for _ in range(WRITERS)]
            submitters = [Submitter(port, token, f"{kind}-{i}") for i in range(SUBMITTERS)]
            try:
                for sender in [*writers, *submitters]:
                    sender.start()
                events = ["service"] * options.kills + (["database"] * options.database_kills if database else [])
                chance.shuffle(events)
                for event in events:
                    time.sleep(chance.uniform(0.2, 1.0))
                    if event == "service":
                        service.kill()
                        service = serve()
                    else:
                        database.kill()
                        time.sleep(chance.uniform(0, 0.5))
                        database.start()
                time.sleep(0.5)
                for sender in [*writers, *submitters]:
                    sender.over.set()
                for sender in [*writers, *submitters]:
                    sender.join(120)
                problems = check(Sender(port, token), writers, submitters)
                points, runs = sum(w.acknowledged for w in writers), sum(len(s.runs) for s in submitters)
                broken = sum(sender.broken for sender in [*writers, *submitters])
                print(json.dumps({"database": kind, "kills_of_service": options.kills, "kills_of_database": options.database_kills if database else 0,
                                  "points_acknowledged": points, "submissions_acknowledged": runs, "requests_broken": broken, "problems": problems,
                                  "seconds": round(time.monotonic() - begin, 1)}), flush=True)
                if problems or points == 0 or runs == 0 or broken == 0:
                    failures += 1
            finally:
                service.__exit__()
                if database:
                    database.__exit__(None, None, None)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
