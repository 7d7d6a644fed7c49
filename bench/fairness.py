#!/usr/bin/env python3
"""How long one user's small requests take while another one does his worst: two builds in turns, on SQLite and PostgreSQL.

  bench/fairness.py --before PATH/bin/linac --before-commit COMMIT --after PATH/bin/linac [--rounds 5] [--seconds 5] [--runs 10000]

Bob asks for what a page asks for and makes runs, one request after the other, 20 a second. Eve asks on eight connections for: searches with as many
conditions as fit, searches that name a million experiments, lists of the runs of which one has as many metrics as it may, that run itself,
requests whose body never comes, and batches of a thousand new metrics, to a new run each. Writes bench/results/DATE-fairness.md. BENCH_PREFIX, words before the command: a lock, say, that keeps other work away."""

import concurrent.futures
import contextlib
import http.client
import json
import multiprocessing
import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import time

import turns
from lib.server_process import Service, databases
from store import store

EVES, RATE = 8, 20
SEARCH = "/api/2.0/mlflow/runs/search"
MANY_NAMES = 10_000  # of a run


class Client:
    def __init__(self, url: str, token: str):
        self.host, self.token, self.connection = url.split("//")[1], token, None

    def ask(self, method: str, path: str, body: dict | bytes | None = None) -> tuple[int, bytes]:
        """Once more on a new connection where the service has ended the old one."""
        data = json.dumps(body).encode() if isinstance(body, dict) else body
        headers = {"Authorization": f"Bearer {self.token}"} | ({"Content-Type": "application/json"} if data else {})
        for again in (False, True):
            if self.connection is None:
                self.connection = http.client.HTTPConnection(self.host, timeout=300)
            try:
                self.connection.request(method, path, data, headers)
                answer = self.connection.getresponse()
                return answer.status, answer.read()
            except (http.client.HTTPException, OSError):
                self.connection = None
                if again:
                    raise
        raise AssertionError("unreachable")


def good(answer: tuple[int, bytes]) -> dict:
    if answer[0] != 200:
        raise RuntimeError(answer)
    return json.loads(answer[1])


def users(service: Service) -> tuple[str, str]:
    admin, tokens = Client(service.url, service.token), []
    for name in ("bob", "eve"):
        good(admin.ask("POST", "/api/v1/users", {"name": name, "role": "member"}))
        tokens.append(good(admin.ask("POST", f"/api/v1/users/{name}/tokens", {}))["secret"])
    return tokens[0], tokens[1]


def fill(url: str, token: str, runs: int) -> tuple[str, str]:
    """Eve's runs of five tags each; the last one has a great many metrics, and is of an experiment of its own: that, and the run."""
    def some(part: int) -> None:
        client = Client(url, token)
        for i in range(part, runs, 16):
            tags = [{"key": f"tag-{t}", "value": f"{i}-{t}-" + "x" * 20} for t in range(5)]
            good(client.ask("POST", "/api/2.0/mlflow/runs/create", {"experiment_id": "0", "tags": tags}))

    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        list(pool.map(some, range(16)))
    client = Client(url, token)
    wide = good(client.ask("POST", "/api/2.0/mlflow/experiments/create", {"name": "wide"}))["experiment_id"]
    run = good(client.ask("POST", "/api/2.0/mlflow/runs/create", {"experiment_id": wide}))["run"]["info"]["run_id"]
    for i in range(0, MANY_NAMES, 1000):
        metrics = [{"key": f"a-name-of-a-metric-{i + k}", "value": k, "timestamp": 1, "step": 1} for k in range(1000)]
        good(client.ask("POST", "/api/2.0/mlflow/runs/log-batch", {"run_id": run, "metrics": metrics}))
    return wide, run


def conditions() -> str:
    text = "tags.`tag-0` LIKE '%a%b%'"
    for i in range(1, 100):
        text += f" OR tags.`tag-{i % 5}` LIKE '%a%b{i}%'"
    return text


def worst_of(kind: str, url: str, token: str, wide: str, run: str, stop) -> None:
    """On one connection after the other, in a process of its own, so that making requests does not hold Bob up."""
    client = Client(url, token)
    search = {"conditions": {"experiment_ids": ["0"], "filter": conditions(), "max_results": 1}, "names": {"experiment_ids": [wide], "max_results": 10},
              "experiments": {"experiment_ids": ["0"] * 700_000, "max_results": 1}}
    body = json.dumps(search[kind]).encode() if kind in search else None
    points = json.dumps({"sender": "eve", "sequence": 1, "points": {f"metric-{i}": [[k, 1, k] for k in range(20)] for i in range(1000)}}).encode()
    while not stop.is_set():
        with contextlib.suppress(http.client.HTTPException, OSError):
            if body:
                client.ask("POST", SEARCH, body)
            elif kind == "a run":
                client.ask("GET", f"/api/2.0/mlflow/runs/get?run_id={run}")
            elif kind == "writes":
                made = good(client.ask("POST", "/api/2.0/mlflow/runs/create", {"experiment_id": wide}))["run"]["info"]["run_id"]
                client.ask("POST", f"/api/v1/runs/{made}/points", points)
            else:
                host, port = client.host.split(":")
                with socket.create_connection((host, int(port)), timeout=10) as silent:
                    silent.sendall(b"POST /api/v1/curves HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000\r\n\r\n{")
                    stop.wait(2)


def delays(url: str, token: str, seconds: float) -> list[float]:
    client, taken = Client(url, token), []
    create = "/api/2.0/mlflow/runs/create"
    asks = [("GET", "/api/v1/experiments", None), ("GET", "/api/v1/runs?limit=20", None), ("GET", "/api/v1/me", None), ("POST", create, {"experiment_id": "0"})]
    begin = time.monotonic()
    for number in range(int(seconds * RATE)):
        if (now := time.monotonic()) > begin + 6 * seconds:
            break
        time.sleep(max(0.0, begin + number / RATE - now))
        asked = time.monotonic()
        good(client.ask(*asks[number % len(asks)]))
        taken.append(time.monotonic() - asked)
    return sorted(taken)


def of_service(service: Service, runs: int, seconds: float) -> dict:
    bob, eve = users(service)
    wide, run = fill(service.url, eve, runs)
    figures = {}
    for kind in ("nothing", "conditions", "experiments", "names", "a run", "bodies", "writes"):
        stop = multiprocessing.Event()
        eves = [multiprocessing.Process(target=worst_of, args=(kind, service.url, eve, wide, run, stop), daemon=True) for _ in range(EVES if kind != "nothing" else 0)]
        for one in eves:
            one.start()
        time.sleep(1)
        taken = delays(service.url, bob, seconds)
        stop.set()
        for one in eves:
            one.join(timeout=300)
        figures[f"{kind}: p99, ms"] = round(1000 * taken[int(0.99 * len(taken))], 1)
        figures[f"{kind}: median, ms"] = round(1000 * taken[len(taken) // 2], 1)
    time.sleep(4)
    figures["memory afterwards, MB"] = round(service.rss_mb())
    return figures


def one(out: str, runs: int, seconds: float) -> None:
    figures = {}
    for name, database in databases():
        with database, Service(database=database.url) as service:
            figures |= {f"{name}: {what}": value for what, value in of_service(service, runs, seconds).items()}
    pathlib.Path(out).write_text(json.dumps(figures))


def measure(linac: str, folder: pathlib.Path, options) -> dict:
    out = folder / "figures.json"
    words = [sys.executable, __file__, "--one", str(out), "--runs", str(options.runs), "--seconds", str(options.seconds)]
    subprocess.run([*os.environ.get("BENCH_PREFIX", "").split(), *words], check=True, env={**os.environ, "LINAC": linac})
    return json.loads(out.read_text())


def main() -> None:
    parser = turns.arguments(__doc__)
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--one", metavar="FILE", help="measure the program LINAC alone, into this file")
    if "--one" in sys.argv:
        options = parser.parse_args(["--before", "-", "--before-commit", "-", "--after", "-", *sys.argv[1:]])
        return one(options.one, options.runs, options.seconds)
    options = turns.two_builds(parser)
    with tempfile.TemporaryDirectory(prefix="linac-fairness-") as name:
        result = turns.in_turns("bench/fairness.py", options, lambda linac, _: measure(linac, pathlib.Path(name), options))
    said = f"Eve on {EVES} connections, {options.runs} runs, {options.seconds:g} s each."
    store(result, "fairness", "\n".join([*turns.heading("One user's small requests while another does his worst", result), said, "", *turns.table(result, 1)]) + "\n")


if __name__ == "__main__":
    main()
