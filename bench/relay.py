#!/usr/bin/env python3
"""What the way by `linac relay` costs: sums of large messages between two workers on this host, directly and by a relay, in turns, and the
relay's CPU time.

  bench/relay.py [--rounds 5] [--bytes 33554432] [--repeat 20]

Writes bench/results/DATE-relay.md."""

import argparse
import json
import os
import secrets
import statistics
import subprocess

import network
from lib.ports import free_port
from lib.runs import LINAC, environment, placed
from store import store


def sums(options: argparse.Namespace, *variables: dict) -> float:
    """Median seconds of a sum between two workers with these variables."""
    words = [LINAC, "bench", "exchange", "--bytes", str(options.bytes), "--repeat", str(options.repeat), "--json"]
    workers = [subprocess.Popen(words, env=environment(**one), stdout=subprocess.PIPE, text=True) for one in variables]
    said = [worker.communicate(timeout=600)[0] for worker in workers]
    if any(worker.returncode for worker in workers):
        raise SystemExit("a worker failed")
    return json.loads(said[0])[0]["median_s"]


def by_relay(options: argparse.Namespace, key: str) -> dict:
    relay = subprocess.Popen([LINAC, "relay", "--listen", "127.0.0.1:0"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    address = relay.stdout.readline().strip().removeprefix("LINAC_RELAY=")
    common = {"LINAC_RUN_KEY": key, "LINAC_RELAY": address, "LINAC_GROUPS": "a:1,b:1"}
    took = sums(options, {**common, "LINAC_GROUP": "a"}, {**common, "LINAC_GROUP": "b"})
    relay.terminate()
    _, status, usage = os.wait4(relay.pid, 0)
    last = relay.stderr.read().splitlines()[-1]
    if status != 0:
        raise SystemExit(f"the relay failed: {last}")
    return {"wall_s": took, "relay_cpu_s": usage.ru_utime + usage.ru_stime, "relay_mib": usage.ru_maxrss / 1024,
            "relay_bytes": int(last.split()[-2])}


def markdown(result: dict) -> str:
    rounds = result["rounds"]

    def spread(values: list[float], digits: int) -> str:
        return f"{statistics.median(values):.{digits}f} ({min(values):.{digits}f} to {max(values):.{digits}f})"
    rate = {way: [result["bytes"] / 1e6 / one[way]["wall_s"] for one in rounds] for way in ("direct", "relay")}
    ratios = [one["direct"]["wall_s"] / one["relay"]["wall_s"] for one in rounds]
    cpu = [one["relay"]["relay_cpu_s"] / (one["relay"]["relay_bytes"] / 1e9) for one in rounds]
    return "\n".join(["# The way by a relay", f"{result['date']}, {result['cpu']}, {result['cores']} cores for all, commit {result['commit']}; other programs "
                      f"took {result['others_cores']:.2f} cores at the start. `{result['command']}`", "",
                      f"Sums of {result['bytes']} bytes over two workers on one host, median (minimum to maximum) of {len(rounds)} rounds.", "",
                      "| | directly | by a relay |", "|---|---|---|",
                      f"| MB/s of the message | {spread(rate['direct'], 0)} | {spread(rate['relay'], 0)} |",
                      f"| of the direct rate | 1 | {spread(ratios, 2)} |", f"| relay's CPU s a GB that it copies | | {spread(cpu, 2)} |",
                      f"| relay's memory, MiB | | {spread([one['relay']['relay_mib'] for one in rounds], 0)} |"]) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--bytes", type=int, default=1 << 25)
    parser.add_argument("--repeat", type=int, default=20)
    options = parser.parse_args()
    result = {**network.provenance("bench/relay.py"), "others_cores": network.busy_cores(), "bytes": options.bytes, "rounds": []}
    key = secrets.token_hex(32)
    for number in range(options.rounds):
        port = free_port()
        ways = {"direct": lambda: {"wall_s": sums(options, *({"LINAC_RUN_KEY": key, **placed(rank, 2, port)} for rank in range(2)))},
                "relay": lambda: by_relay(options, key)}
        names = list(ways) if number % 2 == 0 else list(reversed(ways))
        found = {name: ways[name]() for name in names}
        result["rounds"].append(found)
        network.say(f"round {number + 1}: " + ", ".join(f"{name} {result['bytes'] / 1e6 / found[name]['wall_s']:.0f} MB/s" for name in ways))
    store(result, "relay", markdown(result))


if __name__ == "__main__":
    main()
