#!/usr/bin/env python3
"""Trials that processes record at the same time: linac's service on SQLite, and Optuna's studies in an SQLite file, in turns.

  bench/studies.py [--rounds 5] [--processes 32] [--seconds 6] [--python PYTHON]

PYTHON has optuna. A trial is random points, one value; a process asks for the next one as soon as its last one is told. linac's processes speak HTTP over
a connection of their own; Optuna's open the file, as its documentation shows for SQLite. Writes bench/results/DATE-studies.md."""

import argparse
import http.client
import json
import multiprocessing
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import network
import turns
from lib import runs
from lib.runs import ROOT
from lib.server_process import Service
from store import store

SPACE = "search:\n" + "".join(f"  x{i}: {{low: 0, high: 1}}\n" for i in range(6)) + "budget: {trials: 20000}\nsampler: {name: random}\n"
OPTUNA = """
import sys, time, optuna
optuna.logging.set_verbosity(optuna.logging.CRITICAL)
url, seconds = sys.argv[1], float(sys.argv[2])
print("ready", flush=True)
begin = float(sys.stdin.readline())
told = errors = 0
time.sleep(max(0, begin - time.time()))
while time.time() < begin + seconds:
    try:
        study = optuna.load_study(study_name="a", storage=url, sampler=optuna.samplers.RandomSampler())
        while time.time() < begin + seconds:
            trial = study.ask()
            value = sum(trial.suggest_float(f"x{i}", 0, 1) for i in range(6))
            study.tell(trial, value)
            told += 1
    except Exception:
        errors += 1
print(told, errors)
"""


def write(url: str, token: str, lease: str, begin: float, seconds: float, answer) -> None:
    """Asks and tells until the time is over; sends (told, errors)."""
    connection, told, errors = http.client.HTTPConnection(url.split("//")[1], timeout=60), 0, 0
    head = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}

    def post(path: str, **body) -> dict | None:
        connection.request("POST", f"/api/v1/studies/a/{path}", json.dumps(body | {"lease": lease}), head)
        with connection.getresponse() as got:
            return json.loads(got.read()) if got.status == 200 else got.read() and None

    time.sleep(max(0.0, begin - time.time()))
    while time.time() < begin + seconds:
        asked = post("ask")
        done = asked and post(f"trials/{asked['trial']}/tell", value=sum(asked["point"].values()))
        told, errors = told + bool(done), errors + (not done)
    answer.send((told, errors))


def linac(options, folder: pathlib.Path) -> dict:
    with Service("--requests-per-second", "1000000", data=str(folder / "linac")) as service:
        connection = http.client.HTTPConnection(service.url.split("//")[1])
        head = {"Authorization": f"Bearer {service.token}", "Content-Type": "application/json"}
        connection.request("POST", "/api/v1/studies", json.dumps({"name": "a", "study": SPACE}), head)
        assert connection.getresponse().read() and True
        begin, found = time.time() + 2, []
        for i in range(options.processes):
            mine, theirs = multiprocessing.Pipe(duplex=False)
            process = multiprocessing.Process(target=write, args=(service.url, service.token, f"process-{i}", begin, options.seconds, theirs))
            process.start()
            found.append((process, mine))
        told, errors = (sum(column) for column in zip(*(pipe.recv() for _, pipe in found)))
        for process, _ in found:
            process.join()
        connection.request("GET", "/api/v1/studies/a", headers=head)
        there = json.loads(connection.getresponse().read())["told"]
        assert there >= told, (there, told)  # what was acknowledged is there
    return {"trials_per_s": told / options.seconds, "errors": errors}


def optuna(options, folder: pathlib.Path) -> dict:
    url = f"sqlite:///{folder}/optuna.db"
    subprocess.run([options.python, "-c", f"import optuna; optuna.create_study(study_name='a', storage={url!r})"], check=True, stderr=subprocess.DEVNULL)
    start = lambda: subprocess.Popen([options.python, "-c", OPTUNA, url, str(options.seconds)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)  # noqa: E731
    processes = [start() for _ in range(options.processes)]
    for one in processes:
        one.stdout.readline()  # it has imported what it needs
    begin = time.time() + 1
    told, errors = (sum(column) for column in zip(*(map(int, one.communicate(f"{begin}\n", timeout=300)[0].split()) for one in processes)))
    return {"trials_per_s": told / options.seconds, "errors": errors}


def page(result: dict) -> str:
    lines = [*turns.heading("Trials recorded by processes at the same time", result),
             f"{result['processes']} processes, {result['seconds']} s; median (least to most) of {len(result['rounds'])} rounds in turns. Wanted: 1,000 a second and no error.", "",
             "| | trials a second | errors in a round |", "|---|---|---|"]
    for name, words in (("linac", "linac's service, SQLite"), ("optuna", f"Optuna {result['optuna']}, SQLite")):
        rates, errors = ([one[name][key] for one in result["rounds"]] for key in ("trials_per_s", "errors"))
        lines.append(f"| {words} | {statistics.median(rates):.4g} ({min(rates):.4g} to {max(rates):.4g}) | {min(errors)} to {max(errors)} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--processes", type=int, default=32)
    parser.add_argument("--seconds", type=float, default=6)
    parser.add_argument("--python", default=str(ROOT / "build/peers/bin/python"))
    options = parser.parse_args()
    runs.LINAC = os.environ.get("LINAC", str(ROOT / "build/release/bin/linac"))
    version = subprocess.run([options.python, "-c", "import optuna; print(optuna.__version__)"], check=True, capture_output=True, text=True).stdout.strip()
    result = {**network.provenance("bench/studies.py"), "before": None, "others_cores": network.busy_cores(), "processes": options.processes, "seconds": options.seconds, "optuna": version, "rounds": []}
    for i in range(options.rounds):
        found = {}
        for one in (linac, optuna) if i % 2 == 0 else (optuna, linac):
            with tempfile.TemporaryDirectory() as folder:
                found[one.__name__] = one(options, pathlib.Path(folder))
        result["rounds"].append(found)
        print(found, file=sys.stderr, flush=True)
    store(result, "studies", page(result))


if __name__ == "__main__":
    main()
