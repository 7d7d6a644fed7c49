"""The verbs that speak with a service, as a user of it calls them, and the jobs that are submitted."""

import json
import os
import subprocess
import time
import urllib.parse
import urllib.request

from .runs import LINAC, ROOT, SMALL_CLASSIFIER
from .server_process import Service

JOB = "examples/topology.yaml"
STEPS = 12
SHORT_LISTS = [word for key, value in SMALL_CLASSIFIER.items() for word in ("--set", f"{key}={value}")]
SHORT = [*SHORT_LISTS, "--set", "workers=1", "--set", "train.epochs=1", "--set", f"train.steps_per_epoch={STEPS}", "--set", "data.test=[]",
         "--set", "checkpoint.best_by=loss"]
LONG = ["--set", "workers=1", "--set", "train.epochs=100000", "--set", "train.steps_per_epoch=10", "--set", "data.test=[]",
        "--set", "checkpoint.best_by=loss"]
ENDED = {"SUCCEEDED", "FAILED", "FAILED_PRECHECKS", "CANCELLED", "LOST"}


class Client:
    """The verbs, as a user with this token calls them."""

    def __init__(self, service: Service, config: str):
        self.environment = {**os.environ, "LINAC_SERVER": service.url, "LINAC_TOKEN": service.token or "", "XDG_CONFIG_HOME": config}

    def run(self, *words: str, status: int = 0, text: str | None = None, **more) -> str:
        done = subprocess.run([LINAC, *words], cwd=ROOT, env=self.environment, input=text, text=True, capture_output=True, timeout=300, **more)
        output = done.stdout + done.stderr
        assert done.returncode == status, f"{words}: exit status {done.returncode}, expected {status}\n{output}"
        return done.stdout if status == 0 else output

    def json(self, *words: str):
        return json.loads(self.run(*words, "--json"))

    def submit(self, *words: str) -> list[str]:
        return [run["id"] for run in self.json("submit", JOB, *words)["runs"]]

    def state(self, run: str) -> dict:
        return self.json("status", run)

    def told(self, run: str) -> dict:
        """What state() tells, asked without a process: who waits asks often."""
        try:
            return self.send("GET", f"/api/v1/runs/{run}")
        except OSError:
            return self.state(run)

    def wait(self, run: str, *states: str, seconds: float = 180) -> dict:
        end = time.monotonic() + seconds
        while True:
            found = self.told(run)
            if found["state"] in states:
                return found
            assert found["state"] not in ENDED and time.monotonic() < end, f"{run}: {found['state']} ({found['reason']}), waited for {states}"
            time.sleep(0.3)

    def wait_for_steps(self, run: str, count: int, seconds: float = 180) -> None:
        end = time.monotonic() + seconds
        while (found := self.told(run))["metrics"].get("loss", {"count": 0})["count"] < count:
            assert time.monotonic() < end and found["state"] not in ENDED, f"{run} tells no steps: {found['reason']}"
            time.sleep(0.3)

    def send(self, method: str, path: str, body: dict | None = None) -> dict:
        request = urllib.request.Request(self.environment["LINAC_SERVER"] + path, method=method, data=json.dumps(body).encode() if body is not None else None)
        request.add_header("Authorization", f"Bearer {self.environment['LINAC_TOKEN']}")
        request.add_header("Content-Type", "application/json")
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.load(answer)

    def curve(self, run: str, key: str = "loss") -> list:
        query = urllib.parse.urlencode({"run_id": run, "metric_key": key, "max_results": 25000})

        def count() -> int:
            return self.send("GET", f"/api/v1/runs/{run}")["metrics"].get(key, {"count": 0})["count"]  # MLflow's history shows the same point once

        for _ in range(5):  # a run that goes on tells points, and takes back some after a loss, between one question and the next
            before = count()
            steps = [int(point["step"]) for point in self.send("GET", f"/api/2.0/mlflow/metrics/get-history?{query}")["metrics"]]
            after = count()
            if before <= len(steps) <= after:
                return steps
        raise AssertionError(f"{run}: {before} points, then {after}, of {len(steps)} steps")
