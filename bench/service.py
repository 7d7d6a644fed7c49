#!/usr/bin/env python3
"""Metrics into the service, beside the MLflow server from PyPI in the same run, and the delay of live events; then a large catalog.

service.py [--seconds 5] [--mlflow PYTHON] [--clients 1000] [--runs 20000] [--points 1e8] [--out FILE]   (`bench/store.py FILE` keeps its summary)

LINAC names the program. `--mlflow` names a Python that has mlflow with its server; without it
only the service is measured. The writers are processes of their own with raw sockets and bodies made beforehand, so that they take
little of the machine: 32 connections, each sends its next request when the last one is acknowledged.
"""

import argparse
import datetime
import http.client
import json
import math
import multiprocessing
import os
import pathlib
import platform
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request

from lib.ports import free_port
from lib.server_process import Service, databases

WRITERS, BATCH = 32, 100
STEPS = 1000  # of a request at most
FIRST_STEPS = b'"step": 1000000'  # of each step, all but the three digits that count within a request


def post(url: str, path: str, token: str | None, body: dict) -> dict:
    headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {token}"} if token else {})
    request = urllib.request.Request(url + path, json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request, timeout=60) as response:
        return json.loads(response.read())


def make_request(url: str, path: str, token: str | None, body: dict) -> bytes:
    data = json.dumps(body).encode()
    head = f"POST {path} HTTP/1.1\r\nHost: {url.split('//')[1]}\r\nContent-Type: application/json\r\nContent-Length: {len(data)}\r\n"
    return (head + (f"Authorization: Bearer {token}\r\n" if token else "") + "\r\n").encode() + data


def answer_length(got: bytes) -> int | None:
    """How long the first answer in `got` is, if it is whole."""
    end = got.find(b"\r\n\r\n")
    if end < 0:
        return None
    for line in got[:end].split(b"\r\n")[1:]:
        name, value = line.split(b":", 1)
        if name.lower() == b"content-length":
            whole = end + 4 + int(value)
            return whole if len(got) >= whole else None
    raise RuntimeError(got[:200])


def at_step(request: bytes, number: int) -> bytes:
    """Points that were sent before would count for nothing: all steps of a request move on, in as many digits."""
    return request.replace(FIRST_STEPS, b'"step": %d' % (10**6 + number))


def write(url: str, requests: list[bytes], seconds: float, counts) -> None:
    """One process with several connections; request i of `requests` is connection i's, over and over."""
    host, port = url.split("//")[1].split(":")
    selector = selectors.DefaultSelector()
    for request in requests:
        connection = socket.create_connection((host, int(port)))
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        selector.register(connection, selectors.EVENT_READ, [request, b"", time.monotonic(), 0])
        connection.sendall(request)
    done, delays, end = 0, [], time.monotonic() + seconds
    while (now := time.monotonic()) < end:
        for key, _ in selector.select(0.2):
            state = key.data
            state[1] += key.fileobj.recv(65536)
            length = answer_length(state[1])
            if length is None:
                continue
            if not state[1].startswith(b"HTTP/1.1 200"):
                raise RuntimeError(state[1][:300])
            state[1] = state[1][length:]
            done += 1
            now = time.monotonic()
            delays.append(now - state[2])
            state[2] = now
            state[3] += 1
            key.fileobj.sendall(at_step(state[0], state[3]))
    delays.sort()
    counts.put((done, delays[len(delays) // 2] if delays else 0, delays[int(len(delays) * 0.99)] if delays else 0))


def ingest(url: str, token: str | None, points: int, seconds: float) -> dict:
    runs = [post(url, "/api/2.0/mlflow/runs/create", token, {"experiment_id": "0"})["run"]["info"]["run_id"] for _ in range(WRITERS)]
    now = int(time.time() * 1000)
    if points == 1:
        bodies = [("log-metric", {"run_id": r, "key": "loss", "value": 0.125, "timestamp": now, "step": 10**6 * STEPS}) for r in runs]
    else:
        bodies = [("log-batch", {"run_id": r, "metrics": [{"key": f"m{i % 4}", "value": i * 0.1, "timestamp": now, "step": 10**6 * STEPS + i}
                                                          for i in range(points)]}) for r in runs]
    requests = [make_request(url, f"/api/2.0/mlflow/runs/{verb}", token, body) for verb, body in bodies]
    counts = multiprocessing.Queue()
    processes = [multiprocessing.Process(target=write, args=(url, requests[i::2], seconds, counts)) for i in range(2)]
    begin = time.monotonic()
    for process in processes:
        process.start()
    results = [counts.get(timeout=seconds + 60) for _ in processes]
    for process in processes:
        process.join()
    taken = time.monotonic() - begin
    done = sum(r[0] for r in results)
    return {"requests_per_s": round(done / min(taken, seconds), 1), "points_per_s": round(done * points / min(taken, seconds), 1),
            "median_ms": round(1000 * max(r[1] for r in results), 2), "p99_ms": round(1000 * max(r[2] for r in results), 2)}


def watch(url: str, token: str, run: str, clients: int, seconds: float, into) -> None:
    """Many streams of one run; the delay of each point that arrives, from its time stamp."""
    host, port = url.split("//")[1].split(":")
    selector = selectors.DefaultSelector()
    text = f"GET /api/v1/runs/{run}/events HTTP/1.1\r\nHost: {host}:{port}\r\nAuthorization: Bearer {token}\r\n\r\n".encode()
    for _ in range(clients):
        connection = socket.create_connection((host, int(port)))
        connection.sendall(text)
        selector.register(connection, selectors.EVENT_READ, [b""])
    into.put("open")
    delays, end = [], time.monotonic() + seconds
    while time.monotonic() < end:
        for key, _ in selector.select(0.2):
            got = key.fileobj.recv(65536)
            if not got:
                selector.unregister(key.fileobj)
                continue
            key.data[0] += got
            *events, key.data[0] = key.data[0].split(b"\n\n")
            now = time.time() * 1000
            for event in events:
                if b"event: points" in event:
                    for point in json.loads(event.split(b"data: ", 1)[1])["live"]:
                        delays.append(now - point[1])
    into.put(delays)


def live(service: Service, clients: int, seconds: float) -> dict:
    run = post(service.url, "/api/2.0/mlflow/runs/create", service.token, {"experiment_id": "0"})["run"]["info"]["run_id"]
    into = multiprocessing.Queue()
    process = multiprocessing.Process(target=watch, args=(service.url, service.token, run, clients, seconds + 10, into))
    process.start()
    assert into.get(timeout=60) == "open"
    time.sleep(2)
    end, step = time.monotonic() + seconds, 0
    while time.monotonic() < end:
        step += 1
        post(service.url, "/api/2.0/mlflow/runs/log-metric", service.token,
             {"run_id": run, "key": "live", "value": step, "timestamp": int(time.time() * 1000), "step": step})
        time.sleep(0.05)
    delays = sorted(into.get(timeout=60))
    process.join()
    return {"clients": clients, "points_sent": step, "points_received": len(delays), "expected": step * clients,
            "median_ms": round(delays[len(delays) // 2], 1), "p99_ms": round(delays[int(len(delays) * 0.99)], 1)}


class Connection:
    """Requests one after the other over one connection."""

    def __init__(self, service: Service):
        self.http = http.client.HTTPConnection(service.url.split("//")[1], timeout=120)
        self.headers = {"Authorization": f"Bearer {service.token}", "Content-Type": "application/json"}

    def send(self, method: str, path: str, body: dict | bytes | None = None) -> bytes:
        data = json.dumps(body).encode() if isinstance(body, dict) else body
        self.http.request(method, path, data, self.headers)
        answer = self.http.getresponse()
        text = answer.read()
        if answer.status != 200:
            raise RuntimeError(f"{path}: {answer.status} {text[:300]!r}")
        return text

    def create(self, name: str) -> str:
        return json.loads(self.send("POST", "/api/2.0/mlflow/runs/create", {"experiment_id": "0", "run_name": name}))["run"]["info"]["run_id"]


def timed(connection: Connection, path: str, times: int) -> dict:
    taken, size = [], 0
    for _ in range(times):
        begin = time.monotonic()
        size = len(connection.send("GET", path))
        taken.append(time.monotonic() - begin)
    taken.sort()
    return {"times": times, "bytes": size, "median_ms": round(1000 * taken[times // 2], 1), "p99_ms": round(1000 * taken[math.ceil(times * 0.99) - 1], 1)}


def points_of(keys: int, first: int, count: int) -> str:
    """The same for many runs: `count` steps of each key, as the route for batches takes them."""
    columns = []
    for key in range(keys):
        wave = ",".join(f"[{step},{1_700_000_000_000 + step},{math.sin(step * (key + 1) * 1e-3):.6f}]" for step in range(first, first + count))
        columns.append(f'"metric-{key}":[{wave}]')
    return "{" + ",".join(columns) + "}"


def large_catalog(service: Service, runs: int, points: int, times: int = 200) -> dict:
    """`runs` runs with five metrics and three parameters each, one curve of 10^6 points, `points` points in all; then the questions that
    pages ask, over one connection."""
    connection = Connection(service)
    begin = time.monotonic()
    for i in range(runs):
        run = connection.create(f"run-{i}")
        now = 1_700_000_000_000 + i
        connection.send("POST", "/api/2.0/mlflow/runs/log-batch", {
            "run_id": run, "metrics": [{"key": f"m{k}", "value": i * k * 1e-4, "timestamp": now, "step": 1} for k in range(5)],
            "params": [{"key": "lr", "value": str(1e-3 * (i % 7))}, {"key": "seed", "value": str(i)}, {"key": "net", "value": "gan" if i % 2 else "gru"}]})
    result = {"runs": runs, "runs_written_s": round(time.monotonic() - begin, 1)}

    keys, steps, at_once = 10, 100_000, 2_000
    many = [connection.create(f"long-{i}") for i in range(max(1, points // (keys * steps)))]
    begin = time.monotonic()
    for batch in range(steps // at_once):
        body = points_of(keys, batch * at_once + 1, at_once)
        for run in many:
            connection.send("POST", f"/api/v1/runs/{run}/points", f'{{"sender":"w","sequence":{batch + 1},"points":{body}}}'.encode())
    long = connection.create("million")
    for batch in range(50):
        connection.send("POST", f"/api/v1/runs/{long}/points", f'{{"sender":"w","sequence":{batch + 1},"points":{points_of(1, batch * 20_000 + 1, 20_000)}}}'.encode())
    stored = len(many) * keys * steps + 1_000_000
    result |= {"points": stored, "points_written_s": round(time.monotonic() - begin, 1), "rss_mb_after_writing": round(service.rss_mb(), 1)}
    result["first_100_runs"] = timed(connection, "/api/v1/runs?limit=100", times)
    result["first_100_runs_by_a_metric"] = timed(connection, "/api/v1/runs?limit=100&order_by=metrics.m3%20DESC", times)
    result["first_100_runs_of_a_filter"] = timed(connection, "/api/v1/runs?limit=100&filter=params.net%3D%27gan%27%20AND%20metrics.m1%3E1", times)
    result["curve_of_a_million_points"] = timed(connection, f"/api/v1/runs/{long}/curves?key=metric-0&stretches=600", times)
    result["rss_mb"] = round(service.rss_mb(), 1)
    return result


class Mlflow:
    def __init__(self, python: str):
        self.python = python

    def __enter__(self):
        self.folder = tempfile.TemporaryDirectory(prefix="mlflow-")
        port = free_port()
        self.url, self.token = f"http://127.0.0.1:{port}", None
        database = f"sqlite:///{self.folder.name}/x.db"
        # Beforehand: its workers would make the tables at the same time, and some of them fail.
        subprocess.run([self.python, "-m", "mlflow", "db", "upgrade", database], check=True, capture_output=True)
        self.process = subprocess.Popen(
            [self.python, "-m", "mlflow", "server", "--host", "127.0.0.1", "--port", str(port), "--workers", "2", "--backend-store-uri",
             database, "--artifacts-destination", f"{self.folder.name}/a"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        for _ in range(600):
            try:
                post(self.url, "/api/2.0/mlflow/experiments/search", None, {"max_results": 1})
                return self
            except OSError:
                time.sleep(0.2)
        raise RuntimeError("the MLflow server did not start")

    def __exit__(self, *_):
        os.killpg(self.process.pid, signal.SIGTERM)  # its own group: the workers are children
        try:
            self.process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        self.folder.cleanup()


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--seconds", type=float, default=5)
    arguments.add_argument("--mlflow")
    arguments.add_argument("--clients", type=int, default=1000)
    arguments.add_argument("--runs", type=int, default=20000, help="of the large catalog; 0: leave it out")
    arguments.add_argument("--points", type=float, default=1e8)
    arguments.add_argument("--out")
    options = arguments.parse_args()
    result: dict = {"date": datetime.date.today().isoformat(), "command": " ".join(sys.argv), "cores": os.cpu_count(),
                    "machine": platform.machine(), "load_before": round(os.getloadavg()[0], 2)}
    for kind, database in databases():
        with database:
            begin = time.monotonic()
            with Service(database=database.url) as service:
                started = {"start_s": round(time.monotonic() - begin, 3), "rss_mb_at_start": round(service.rss_mb(), 1)}
        with database, Service("--requests-per-second", "1000000", database=database.url) as service:
            result[kind] = started | {"batches": ingest(service.url, service.token, BATCH, options.seconds),
                            "single": ingest(service.url, service.token, 1, options.seconds),
                            "live": live(service, options.clients, options.seconds), "rss_mb": round(service.rss_mb(), 1)}
            print(kind, json.dumps(result[kind], indent=1), flush=True)
        if options.runs:
            with database, Service("--requests-per-second", "1000000", database=database.url) as service:
                result[kind]["large"] = large_catalog(service, options.runs, int(options.points))
                print(kind, json.dumps(result[kind]["large"], indent=1), flush=True)
    if options.mlflow:
        with Mlflow(options.mlflow) as server:
            result["mlflow"] = {"batches": ingest(server.url, None, BATCH, options.seconds),
                                "single": ingest(server.url, None, 1, options.seconds)}
            print("mlflow", json.dumps(result["mlflow"], indent=1), flush=True)
        for kind in ("sqlite", "postgresql"):
            if kind in result:
                for what, key in (("batches", "points_per_s"), ("single", "requests_per_s")):
                    result[kind][what]["times_mlflow"] = round(result[kind][what][key] / result["mlflow"][what][key], 1)
    result["load_after"] = round(os.getloadavg()[0], 2)
    text = json.dumps(result, indent=1)
    if options.out:
        pathlib.Path(options.out).write_text(text + "\n")
    print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
