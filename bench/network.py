#!/usr/bin/env python3
"""The 3DGAN trained on four hosts (network namespaces) with a limited link, by linac and by PyTorch DDP (gloo), in turns.

  bench/network.py [--replicas 1,8] [--rounds 2] [--delays 0,1]    root, for namespaces; needs `bench/peers/setup.sh build/bench-peers torch`

The same networks, batch, micro-batches a host and cores for both. A delay of 0 ms: the kernel forwards at the rate; more: each packet
passes a relay in user space that holds it, which takes CPU from the hosts. Before each case one connection shows what the link carries.
Writes bench/results/DATE-NAME.md. A replica-step of 16 showers takes a core 2 to 3 s in linac and some 20 s in PyTorch, which
is measured with and without communication: with 8 on each of four hosts that share two cores a round takes ten minutes and more."""

import argparse
import datetime
import itertools
import os
import pathlib
import platform
import shlex
import statistics
import subprocess
import sys
import tempfile
import time

from lib import hosts
from lib.runs import ROOT
from network_contenders import Ddp, Linac
from store import RESULTS, store

STREAM_BYTES = 64 << 20
ROUND_TRIPS = 50
SERVER = """import socket, sys, time
s = socket.create_server(("", 5001)); print("up", flush=True); c, _ = s.accept(); c.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
for _ in range(int(sys.argv[1])): c.sendall(c.recv(1))
n = 0; c.recv(1); b = time.monotonic()
while part := c.recv(1 << 20): n += len(part)
print(n / (time.monotonic() - b) / 1e6)"""
CLIENT = """import socket, statistics, sys, time
c = socket.create_connection((sys.argv[1], 5001)); c.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1); t = []
for _ in range(int(sys.argv[2])):
    b = time.monotonic(); c.sendall(b"x"); c.recv(1); t.append(time.monotonic() - b)
print(statistics.median(t)); c.sendall(b"x"); c.sendall(bytes(int(sys.argv[3])))"""


def say(text: str) -> None:
    print(f"[network] {text}", file=sys.stderr, flush=True)


def try_link(one: hosts.Host, other: hosts.Host) -> dict:
    """What one connection carries, and half of the median round trip."""
    server = other.popen([sys.executable, "-c", SERVER, ROUND_TRIPS], stdout=subprocess.PIPE, text=True)
    server.stdout.readline()
    client = one.run([sys.executable, "-c", CLIENT, other.address, ROUND_TRIPS, STREAM_BYTES], check=True, stdout=subprocess.PIPE, text=True)
    return {"latency_s": float(client.stdout) / 2, "stream_mb_per_s": float(server.communicate(timeout=60)[0])}


def busy_cores() -> float:
    """What others take of the machine, seen for a second before anything is measured."""
    def cpu() -> tuple[int, int]:
        values = [int(word) for word in pathlib.Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]
        return sum(values), values[3] + values[4]
    before = cpu()
    time.sleep(1)
    after = cpu()
    return os.cpu_count() * (1 - (after[1] - before[1]) / (after[0] - before[0]))


def measure_case(options, net: hosts.Network, rate: str, delay_ms: float, folder: pathlib.Path) -> dict:
    members = list(net)
    case = {"hosts": len(members), "rate": rate, "delay_ms": delay_ms, "rounds": []}
    if delay_ms:
        net.shape(delay_ms=delay_ms)
    case |= try_link(members[0], members[1])
    say(f"{len(members)} hosts, {rate}, {delay_ms:g} ms: {case['stream_mb_per_s']:.0f} MB/s, {case['latency_s'] * 1e3:.2f} ms")
    folder.mkdir()
    linac = Linac(options.batch, options.steps, folder)
    case["predicted_s"] = {replicas: linac.predicted_s(len(members), replicas, case["stream_mb_per_s"], case["latency_s"])
                           for replicas in options.replicas}
    contenders = [linac]
    if not options.no_peer:
        contenders.append(Ddp(members, options.python, options.batch, options.mode, folder))
        say("PyTorch DDP is warm")
    for number in range(options.rounds):
        for replicas in options.replicas:
            for one in contenders:
                if one.name != linac.name and replicas not in (options.peer_replicas or options.replicas):
                    continue
                relay = net.relay_counts() if delay_ms else {"cpu_s": 0}
                begin, others = time.monotonic(), busy_cores()
                found = {"round": number, "contender": one.name, "replicas": replicas, "others_cores": others,
                         **one.measure(members, replicas)}
                if delay_ms:
                    found["relay_cores"] = (net.relay_counts()["cpu_s"] - relay["cpu_s"]) / (time.monotonic() - begin)
                case["rounds"].append(found)
                say(f"round {number + 1}: {one.name}, {replicas} replicas: step {found['step_s']:.2f} s, waiting for peers "
                    f"{percent(found, 'waiting_s'):.2f} %, the least {percent(found, 'waiting_least_s'):.2f} %, not hidden {percent(found, 'exposed_s'):.2f} %")
    for one in contenders:
        one.close()
    if delay_ms:
        net.shape()
    return case


def percent(found: dict, part: str) -> float:
    return 100 * found[part] / found["step_s"]


COLUMNS = ("", "replicas a host", "step, s", "without communication, s", "waiting for peers, s", "% of the step (min–max)",
           "the least of the hosts, s", "% of the step (min–max)", "not hidden, s", "% of the step (min–max)", "model, s")


def table(case: dict) -> list[str]:
    relay = f" The relay takes {statistics.median(one['relay_cores'] for one in case['rounds']):.2f} of a core." if case["delay_ms"] else ""
    lines = ["", f"## {case['hosts']} hosts, {case['rate']}, {case['delay_ms']:g} ms each way", f"One connection between two hosts carries "
             f"{case['stream_mb_per_s']:.0f} MB/s; half a round trip takes {case['latency_s'] * 1e3:.2f} ms.{relay}", "",
             f"| {' | '.join(COLUMNS)} |", "|---" * len(COLUMNS) + "|"]
    for replicas, name in dict.fromkeys((one["replicas"], one["contender"]) for one in case["rounds"]):
        found = [one for one in case["rounds"] if (one["replicas"], one["contender"]) == (replicas, name)]
        middle = {key: statistics.median(one[key] for one in found) for key in ("step_s", "compute_s", "waiting_s", "waiting_least_s", "exposed_s")}
        spread = {}
        for key in ("waiting_s", "waiting_least_s", "exposed_s"):
            parts = [percent(one, key) for one in found]
            spread[key] = f"{statistics.median(parts):.2f} ({min(parts):.2f}–{max(parts):.2f})"
        model = f"{case['predicted_s'][replicas]:.3f}" if name == "linac" else ""
        lines.append(f"| {name} | {replicas} | {middle['step_s']:.2f} | {middle['compute_s']:.2f} | {middle['waiting_s']:.3f} | "
                     f"{spread['waiting_s']} | {middle['waiting_least_s']:.3f} | {spread['waiting_least_s']} | {middle['exposed_s']:.3f} | "
                     f"{spread['exposed_s']} | {model} |")
    return lines


def markdown(result: dict) -> str:
    others = [one["others_cores"] for case in result["cases"] for one in case["rounds"]]
    lines = [f"# The 3DGAN on several hosts: linac{' and PyTorch DDP' if result['peer'] else ''}",
             f"{result['date']}, {result['cpu']}, {result['cores']} cores for all hosts, commit {result['commit']}. In the second before each "
             f"training other programs took {statistics.median(others):.2f} cores in the median and {max(others):.2f} at most"
             + (": the machine was **busy with other work**, and steps wait for whom that slowed down." if statistics.median(others) > 0.1 else "."),
             "", f"`{result['command']}`; {result['batch']} showers a replica (micro-batch), medians over {result['number_of_rounds']} round(s). "
             "Waiting: of a host from its own last gradient to the sum of all, over the four updates of a step: what was not hidden of the "
             "communication, and the slowness of others. Not hidden: from the last gradient of the last host to the sums of all. Model: what of it is communication, by `linac bench scaling` for this link."]
    for case in result["cases"]:
        lines += table(case)
    return "\n".join(lines) + "\n"


def provenance(script: str) -> dict:
    cpu = next((line.split(":", 1)[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), platform.machine())
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True).stdout.strip()
    return {"command": shlex.join([script, *sys.argv[1:]]), "date": datetime.date.today().isoformat(), "cpu": cpu, "cores": os.cpu_count(), "commit": commit}


def numbers(text: str) -> list[int]:
    return [int(word) for word in text.split(",")]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--replicas", type=numbers, default=[1, 8], help="replicas, or micro-batches, a host (default 1,8)")
    parser.add_argument("--batch", type=int, default=16, help="showers of each (default 16)")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--steps", type=int, default=4, help="of linac's trainings after the first one; 2 from 4 replicas on (default 4)")
    parser.add_argument("--rates", type=lambda text: text.split(","), default=["1gbit"], help="to and from each host (default 1gbit)")
    parser.add_argument("--delays", type=lambda text: [float(word) for word in text.split(",")], default=[0.0, 1.0], help="ms (default 0,1)")
    parser.add_argument("--cores", type=float, help="each host gets so many, by a CPU quota (default: no quota)")
    parser.add_argument("--hosts", type=numbers, default=[4], help="default 4")
    parser.add_argument("--peer-replicas", type=numbers, help="only with so many PyTorch is measured too (default: all of --replicas)")
    parser.add_argument("--no-peer", action="store_true", help="linac alone")
    parser.add_argument("--mode", default="eager-channels-last-folded", help="of bench/peers/torch_step.py")
    parser.add_argument("--python", type=pathlib.Path, default=ROOT / "build/bench-peers/bin/python", help="PyTorch's interpreter")
    parser.add_argument("--name", default="network", help="of the result (default network)")
    parser.add_argument("--out", type=pathlib.Path, default=RESULTS)
    options = parser.parse_args()
    able, why = hosts.available()
    if not able:
        sys.exit(why)
    if not options.no_peer and not options.python.exists():
        sys.exit("no PyTorch; run: bench/peers/setup.sh build/bench-peers torch")
    result = {**provenance("bench/network.py"), "peer": not options.no_peer, "batch": options.batch, "number_of_rounds": options.rounds, "cases": []}
    with tempfile.TemporaryDirectory(prefix="linac-network-") as folder:
        for count, rate in itertools.product(options.hosts, options.rates):
            with hosts.Network("abcdefghijklmnop"[:count], rate=rate, cores=options.cores) as net:
                for delay_ms in options.delays:
                    case = measure_case(options, net, rate, delay_ms, pathlib.Path(folder) / f"{count}-{rate}-{delay_ms:g}")
                    result["cases"].append(case)
    path = store(result, options.name, markdown(result), options.out)
    say(f"written: {path}")


if __name__ == "__main__":
    main()
