#!/usr/bin/env python3
"""The sum over workers on several hosts (network namespaces), `linac bench exchange`, beside what the model of src/linac/base/plan/scaling.h
says of the same link: no computing, so nothing but the exchange is measured.

  bench/exchange.py [--hosts 2,3,4,8] [--rates 1gbit,100mbit] [--delays 0,1]     root, for namespaces; writes bench/results/DATE-exchange.md

The link of the model is what one connection carries and half a round trip, measured in each case; what a byte costs a host is the sum of two
workers on one host over its loopback interface, as often as hosts share a core. What a message and an addition cost is in that already."""

import argparse
import itertools
import json
import secrets
import subprocess
import sys

import network
from lib import hosts, runs
from store import store

BYTES = {"one number": 416, "discriminator": 349824, "generator": 5460672}
BYTES_OF_A_HOST = 16 << 20  # to see what a byte costs it
MESSAGE = "10us"


def sums(members: list, repeat: int, link: str, sizes: list[int]) -> list[dict]:
    workers, key = [], secrets.token_hex(32)  # the hosts share no folder of a run
    for rank, host in enumerate(members):
        variables = {**runs.placed(rank, len(members), 29800, members[0].address), "LINAC_RUN_KEY": key}
        command = [runs.LINAC, "bench", "exchange", "--json", "--link", link, "--repeat", repeat, "--bytes", ",".join(map(str, sizes))]
        workers.append(host.popen(command, env=runs.environment(**variables), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))
    outputs = [worker.communicate(timeout=300) for worker in workers]
    for worker, output in zip(workers, outputs):
        if worker.returncode:
            sys.exit(f"linac bench exchange failed (exit status {worker.returncode}): {output[1][-2000:]}")
    return json.loads(outputs[0][0])


def byte_s(host) -> float:
    """What a byte that is sent and one that is received cost a thread, on a core of its own."""
    return sums([host, host], 7, "10gbit:50us", [BYTES_OF_A_HOST])[0]["median_s"] / BYTES_OF_A_HOST


def retransmitted(members: list) -> int:
    """TCP segments that were sent again so far, of all hosts."""
    total = 0
    for host in members:
        names, values = [line.split() for line in host.run(["cat", "/proc/net/snmp"], check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()
                         if line.startswith("Tcp:")]
        total += int(values[names.index("RetransSegs")])
    return total


def markdown(result: dict) -> str:
    lines = ["# The sum over workers on several hosts, and its model",
             f"{result['date']}, {result['cpu']}, {result['cores']} cores for all hosts, commit {result['commit']}; other programs took "
             f"{result['others_cores']:.2f} cores at the start. `{result['command']}`", "",
             "| hosts | rate | delay, ms | one connection, MB/s | half a round trip, ms | a byte of a host, ns | bytes | measured, ms, median (min) | model, ms | model / measured | TCP segments sent again |",
             "|---|---|---|---|---|---|---|---|---|---|---|"]
    for case in result["cases"]:
        for one in case["sums"]:
            lines.append(f"| {case['hosts']} | {case['rate']} | {case['delay_ms']:g} | {case['stream_mb_per_s']:.0f} | {case['latency_s'] * 1e3:.2f} | {case['byte_s'] * 1e9:.2f} | "
                         f"{one['bytes']} | {one['median_s'] * 1e3:.2f} ({one['min_s'] * 1e3:.2f}) | {one['model_s'] * 1e3:.2f} | {one['model_s'] / one['median_s']:.2f} | {case['retransmitted']} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hosts", type=network.numbers, default=[2, 3, 4, 8])
    parser.add_argument("--rates", type=lambda text: text.split(","), default=["1gbit", "100mbit"])
    parser.add_argument("--delays", type=lambda text: [float(word) for word in text.split(",")], default=[0.0, 1.0])
    parser.add_argument("--repeat", type=int, default=15)
    options = parser.parse_args()
    able, why = hosts.available()
    if not able:
        sys.exit(why)
    result = {**network.provenance("bench/exchange.py"), "others_cores": network.busy_cores(), "cases": []}
    for count, rate in itertools.product(options.hosts, options.rates):
        with hosts.Network("abcdefghijklmnop"[:count], rate=rate) as net:
            members = list(net)
            own_byte_s = byte_s(members[0])
            for delay_ms in options.delays:
                if delay_ms:
                    net.shape(delay_ms=delay_ms)
                case = {"hosts": count, "rate": rate, "delay_ms": delay_ms, **network.try_link(members[0], members[1])}
                case["byte_s"] = own_byte_s * max(1, count / result["cores"])
                link = f"{case['stream_mb_per_s'] * 8:.3f}mbit:{case['latency_s'] * 1e6:.1f}us:{MESSAGE}:{case['byte_s'] * 1e9:.4f}ns"
                before = retransmitted(members)
                case["sums"] = sums(members, options.repeat, link, list(BYTES.values()))
                case["retransmitted"] = retransmitted(members) - before
                result["cases"].append(case)
                network.say(f"{count} hosts, {rate}, {delay_ms:g} ms: " + ", ".join(
                    f"{one['bytes']} bytes {one['median_s'] * 1e3:.1f} ms (model {one['model_s'] * 1e3:.1f})" for one in case["sums"]))
    store(result, "exchange", markdown(result))


if __name__ == "__main__":
    main()
