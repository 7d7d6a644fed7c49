#!/usr/bin/env python3
"""How long the service takes until it serves: for the first time, and after it was killed while four clients wrote, by how much there was.

  bench/service_starts.py [--before PATH/bin/linac --before-commit COMMIT] --after PATH/bin/linac [--rounds 5] [--runs 2000]

Killed with `kill -9` behind a tenth of the runs, and behind all of them with a hundred jobs in the queue; each run has 252 points. Wall time
until the line with the address, and CPU seconds of the service and of what it started until then; with PostgreSQL, its own are not counted.
On SQLite and PostgreSQL. BENCH_PREFIX, words before the command: a lock, say. Writes bench/results/DATE-service-starts.md."""

import contextlib
import http.client
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import time

import turns
from fairness import Client, good
from lib.runs import ROOT
from lib.server_process import Service, databases
from store import store

WRITERS, WAITING, AT_ONCE = 4, 100, 50
CURVES = {f"m{k}": [[step, step, step * 0.5] for step in range(63)] for k in range(4)}
JOB = f"name: waits\ndata: {{train: [{ROOT / 'data/showers-test.h5'}]}}\n"


def started(service: Service, what: str) -> dict:
    """Begins it, once more if it was killed."""
    begin = time.monotonic()
    service.__enter__()
    wall = service.serving_since - begin
    fields = pathlib.Path(f"/proc/{service.process.pid}/stat").read_text().rsplit(") ", 1)[1].split()
    cpu = sum(int(field) for field in fields[11:15]) / os.sysconf("SC_CLK_TCK")
    return {f"{what}, s": round(wall, 3), f"{what}, cpu_s": round(cpu, 3)}


def write(url: str, token: str, wanted: int, made: list[str]) -> None:
    """Runs with their points, until the service is gone."""
    client, create = Client(url, token), "/api/2.0/mlflow/runs/create"
    with contextlib.suppress(http.client.HTTPException, OSError):
        while len(made) < 2 * wanted:
            run = good(client.ask("POST", create, {"experiment_id": "0"}))["run"]["info"]["run_id"]
            good(client.ask("POST", f"/api/v1/runs/{run}/points", {"sender": "s", "sequence": 1, "points": CURVES}))
            made.append(run)


def killed_behind(service: Service, token: str, runs: int) -> None:
    made: list[str] = []
    writers = [threading.Thread(target=write, args=(service.url, token, runs, made)) for _ in range(WRITERS)]
    for one in writers:
        one.start()
    while len(made) < runs:
        time.sleep(0.005)
    service.kill()
    for one in writers:
        one.join()


def let_jobs_wait(url: str, token: str) -> None:
    """Those of a user who is disabled stay in the queue."""
    admin = Client(url, token)
    good(admin.ask("POST", "/api/v1/users", {"name": "bob", "role": "member", "account": "nobody"}))
    bob = Client(url, good(admin.ask("POST", "/api/v1/users/bob/tokens", {}))["secret"])
    for first in range(0, WAITING, AT_ONCE):
        good(bob.ask("POST", "/api/v1/jobs", {"job": JOB, "array": [{"set": [f"train.seed={first + i}"]} for i in range(AT_ONCE)]}))
    good(admin.ask("PATCH", "/api/v1/users/bob", {"disabled": True}))


def one(out: str, runs: int) -> None:
    figures = {}
    for name, database in databases():
        with database:
            service = Service(database=database.url)
            with contextlib.ExitStack() as end:
                figures |= started(service, f"{name}: first start")
                end.callback(service.__exit__)
                token = service.token
                killed_behind(service, token, runs // 10)
                figures |= started(service, f"{name}: after kill -9 behind {runs // 10} runs")
                let_jobs_wait(service.url, token)
                killed_behind(service, token, runs - runs // 10)
                figures |= started(service, f"{name}: after kill -9 behind {runs} runs and {WAITING} jobs")
    pathlib.Path(out).write_text(json.dumps(figures))


def measure(linac: str, folder: pathlib.Path, options) -> dict:
    out = folder / "figures.json"
    words = [sys.executable, __file__, "--one", str(out), "--runs", str(options.runs)]
    subprocess.run([*os.environ.get("BENCH_PREFIX", "").split(), *words], check=True, env={**os.environ, "LINAC": linac})
    return json.loads(out.read_text())


def main() -> None:
    parser = turns.arguments(__doc__)
    parser.add_argument("--runs", type=int, default=2000)
    parser.add_argument("--one", metavar="FILE", help="measure the program LINAC alone, into this file")
    if "--one" in sys.argv:
        options = parser.parse_args(["--after", "-", *sys.argv[1:]])
        return one(options.one, options.runs)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="linac-service-starts-") as name:
        result = turns.in_turns("bench/service_starts.py", options, lambda linac, _: measure(linac, pathlib.Path(name), options))
    said = f"Killed while {WRITERS} clients wrote; {options.runs} runs of {sum(map(len, CURVES.values()))} points, {WAITING} jobs in the queue."
    store(result, "service-starts", "\n".join([*turns.heading("How long the service takes until it serves", result), said, "", *turns.table(result, 2)]) + "\n")


if __name__ == "__main__":
    main()
