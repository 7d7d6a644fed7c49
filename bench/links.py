#!/usr/bin/env python3
"""How much of a link linac uses while it streams: events in an object store (versitygw) and behind XRootD on one host, read by another; the
hosts are network namespaces with a link of 1 Gb/s. Read as a training reads them, with an empty cache, and copied as `linac data copy` does.

  bench/links.py [--rounds 5] [--showers 4000] [--files 4] [--window 0] [--rate 1gbit]
                                                 root, for namespaces; needs versitygw and xrootd (tests/servers/get.sh)

Before each round one connection shows what the link carries; the share is of that. Showers: TFRecord with float lists, 260 kB each. Writes
bench/results/DATE-links.md."""

import argparse
import contextlib
import json
import os
import pathlib
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import network
from lib import hosts
from lib.runs import ROOT
from storage import LINAC, SHOWERS_JOB, make_showers
from store import store

# Runs on the host that serves: what it serves is a folder of files, and its environment says how it is asked.
# XRootD wants a name of its host that can be found, which those of namespaces cannot.
SERVER = """import json, os, pathlib, shutil, socket, sys
socket.sethostname(sys.argv[2])
from lib.servers.versitygw import Versitygw
from lib.servers.xrootd import Xrootd
files = sorted(pathlib.Path(sys.argv[1]).iterdir())
with Versitygw("0.0.0.0") as gate, Xrootd() as grid:
    for file in files:
        gate.put(file.name, file.read_bytes())
        shutil.copy(file, grid.data / "test")
    print(json.dumps({"s3": gate.port, "root": grid.port, "environment": gate.environment}), flush=True)
    sys.stdin.read()"""
# No name server answers in a namespace, and XRootD's two sides look for the names of addresses: 5 s of silence otherwise.
NO_NAMES = {"RES_OPTIONS": "timeout:1 attempts:1"}
BATCH = 64
COLUMNS = {"training": "read for a training", "copy": "copied"}


@contextlib.contextmanager
def servers(host: hosts.Host, folder: pathlib.Path):
    """URLs by scheme, and the variables for whoever reads them."""
    process = host.popen([sys.executable, "-c", SERVER, folder, platform.node()], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                         text=True, env={**os.environ, **NO_NAMES, "LINAC_TEST_NETWORK_NAMESPACE": "1", "PYTHONPATH": str(ROOT / "tests")})
    said = json.loads(process.stdout.readline())
    yield ({"s3": "s3://test/*", "root": f"root://{host.address}:{said['root']}//test/*"},
           said["environment"] | NO_NAMES | {"AWS_ENDPOINT_URL": f"http://{host.address}:{said['s3']}"})
    process.stdin.close()
    process.wait(timeout=30)


def on(host: hosts.Host, environment: dict, *words: object) -> str:
    done = host.run([LINAC, *words], cwd=ROOT, env={**os.environ, **environment}, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode != 0:
        sys.exit(f"{words}: exit status {done.returncode}\n{done.stderr[-4000:]}")
    return done.stdout


def measure(reader: hosts.Host, url: str, environment: dict, folder: pathlib.Path, window: dict) -> dict:
    """Seconds and CPU seconds of both ways. `window`: settings of the job."""
    job, cache, copied = folder / "job.yaml", folder / "cache", folder / "copied"
    job.write_text(SHOWERS_JOB.format(url=f"'{url}'", batch=BATCH))
    settings = [word for key, value in window.items() for word in ("--set", f"{key}={value}")]
    found = json.loads(on(reader, {**environment, "LINAC_CACHE": str(cache)}, "bench", "input", job, "--epochs", 1, "--json", *settings))
    parts = (found["open"], found["epochs"][0])
    shutil.rmtree(cache)
    os.sync()
    copied.mkdir()
    begin, cpu = time.monotonic(), os.times()
    on(reader, {**environment, "LINAC_CACHE": str(cache)}, "data", "copy", url, f"{copied}/")
    took, after = time.monotonic() - begin, os.times()
    shutil.rmtree(copied)
    shutil.rmtree(cache, ignore_errors=True)
    os.sync()
    return {"training": {"wall_s": sum(part["wall_s"] for part in parts), "cpu_s": sum(part["cpu_s"] for part in parts)},
            "copy": {"wall_s": took, "cpu_s": after.children_user + after.children_system - cpu.children_user - cpu.children_system}}


def markdown(result: dict) -> str:
    rounds = result["rounds"]
    window = f", read in windows of {result['window']}" if result["window"] else ""
    lines = ["# The share of a link that streaming uses",
             f"{result['date']}, {result['cpu']}, {result['cores']} cores for both hosts, commit {result['commit']}; other programs took "
             f"{result['others_cores']:.2f} cores at the start. `{result['command']}`", "",
             f"{result['bytes'] / 1e6:.0f} MB of showers in {result['files']} files{window}, {result['rate']} between the hosts; one connection carries "
             f"{statistics.median(one['stream_mb_per_s'] for one in rounds):.1f} MB/s. Median (minimum to maximum) of {len(rounds)} rounds; wanted: 90 % and more.", "",
             "| | share of the link, % | MB/s | reader's CPU s |", "|---|---|---|---|"]
    for scheme in ("s3", "root"):
        for way, title in COLUMNS.items():
            rates = [result["bytes"] / 1e6 / one[scheme][way]["wall_s"] for one in rounds]
            shares = [100 * rate / one["stream_mb_per_s"] for rate, one in zip(rates, rounds)]
            cpu = [one[scheme][way]["cpu_s"] for one in rounds]
            lines.append(f"| {scheme}://, {title} | {statistics.median(shares):.1f} ({min(shares):.1f} to {max(shares):.1f}) | {statistics.median(rates):.1f} | "
                         f"{statistics.median(cpu):.2f} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--showers", type=int, default=4000)
    parser.add_argument("--files", type=int, default=4)
    parser.add_argument("--window", type=int, default=0, help="data.shuffle_window: so many files are mixed at a time; 0: the whole set is read before the first step")
    parser.add_argument("--rate", default="1gbit")
    options = parser.parse_args()
    able, why = hosts.available()
    if not able:
        sys.exit(why)
    result = {**network.provenance("bench/links.py"), "others_cores": network.busy_cores(), "rate": options.rate, "window": options.window, "rounds": []}
    with tempfile.TemporaryDirectory(prefix="linac-links-") as name, hosts.Network("ab", rate=options.rate) as net:
        folder = pathlib.Path(name)
        make_showers(folder / "showers", options.showers, options.files)
        window = {"data.shuffle_window": options.window, "train.steps_per_epoch": options.showers // BATCH} if options.window else {}
        files = list((folder / "showers").iterdir())
        result |= {"bytes": sum(file.stat().st_size for file in files), "files": len(files)}
        with servers(net["a"], folder / "showers") as (urls, environment):
            for number in range(options.rounds):
                found = network.try_link(net["b"], net["a"])
                for scheme in urls if number % 2 == 0 else reversed(urls):
                    found[scheme] = measure(net["b"], urls[scheme], environment, folder, window)
                result["rounds"].append(found)
                network.say(f"round {number + 1}: link {found['stream_mb_per_s']:.1f} MB/s; " + "; ".join(
                    f"{scheme} {way} {result['bytes'] / 1e6 / found[scheme][way]['wall_s']:.1f}" for scheme in urls for way in COLUMNS))
    store(result, "links-window" if options.window else "links", markdown(result))


if __name__ == "__main__":
    main()
