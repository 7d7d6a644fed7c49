#!/usr/bin/env python3
"""Two groups of workers at places that take no connections from each other train together by way of `linac relay`: two hosts (network
namespaces) that reach each other, a third that reaches the relays' host alone. The relay is killed and started again, and another takes
its place; strangers call, replay and flood it meanwhile. The end is that of an undisturbed run on one host."""

import os
import pathlib
import secrets
import signal
import subprocess
import sys
import tempfile

from apart_host import Host, await_steps
from lib import elastic, hosts, runs
from lib.checks import check, wait_for

SETTINGS = {**elastic.CLASSIFIER, "train.epochs": 25, "distribution.stall_timeout_s": 10}
PORTS = (4711, 4712)
GROUPS = "near:2,far:1"


class Relay:
    """`linac relay` on a host."""

    def __init__(self, net: hosts.Network, host: str, port: int, log: pathlib.Path):
        self.host, self.port, self.log = net[host], port, log
        self.address = f"{self.host.address}:{port}"
        self.start()

    def start(self, *extra: str) -> None:
        with open(self.log, "ab") as log:
            self.process = self.host.popen([runs.LINAC, "relay", "--listen", f"0.0.0.0:{self.port}", *extra], stdout=log, stderr=log,
                                           env=runs.environment())

    def kill(self) -> None:
        os.kill(self.process.pid, signal.SIGKILL)
        self.process.wait()


def start(workers: list[Host], relays: list[Relay], *extra: str) -> None:
    """Ranks 0 and 1 are the group near, rank 2 is far."""
    relay = ",".join(one.address for one in relays)
    for rank, host in enumerate(workers[:2]):
        host.start(*extra, LINAC_GROUPS=GROUPS, LINAC_GROUP="near", LINAC_RELAY=relay, **runs.placed(rank, 2, 29500, workers[0].net["a"].address))
    workers[2].start(*extra, LINAC_GROUPS=GROUPS, LINAC_GROUP="far", LINAC_RELAY=relay)


class Strangers:
    """Who has no key calls the relay: garbage, silence, half of a hello, more than one, by the hundred."""

    PIECES = (b"", b"\n", b"GET / HTTP/1.1\r\n\r\n", b"\x16\x03\x01\x02\x00\x01\x00", b"listen " + b"0" * 64 + b" near/x " + b"0" * 128 + b"\n",
              b"call " + b"a" * 4096, b"\xff" * 7000)

    def __init__(self, relay: Relay):
        self.process = relay.host.popen([sys.executable, "-c", FLOOD, relay.host.address, str(relay.port)], stdout=subprocess.DEVNULL)

    def end(self) -> None:
        self.process.kill()
        self.process.wait()


# Some connections stay open and say nothing or half a word; bounded: 400 open ones, a round of eight each 20 ms.
FLOOD = f"""import collections, itertools, socket, sys, time
pieces = {Strangers.PIECES!r}
open_ones = collections.deque()
for number in itertools.count():
    try:
        one = socket.create_connection((sys.argv[1], int(sys.argv[2])), timeout=1)
        one.sendall(pieces[number % len(pieces)])
        open_ones.append(one)
    except OSError:
        pass
    if len(open_ones) > 400:
        open_ones.popleft().close()
    if number % 8 == 0:
        time.sleep(0.02)
"""


def main() -> None:
    able, why = hosts.available()
    if not able:
        print(f"skipped: {why}")
        sys.exit(77)
    with tempfile.TemporaryDirectory(prefix="linac-relay-") as folder, hosts.Network("abcr", seed=1) as net:
        root = pathlib.Path(folder)
        runs.run(root / "calm", SETTINGS, "--workers", "2")
        for one in "ab":
            net.cut(one, "c")
            net.cut("c", one)
        key = secrets.token_hex(32)
        relays = [Relay(net, "r", port, root / f"relay-{port}.log") for port in PORTS]
        workers = [Host(net, name, root, key, SETTINGS) for name in "abc"]
        strangers = Strangers(relays[0])
        start(workers, relays)
        for host in workers:
            await_steps(host, 10)
        check(True, "workers that reach nothing but the relay train together, beside strangers who call it")
        relays[0].kill()
        relays[0].start()
        await_steps(workers[2], workers[2].record().steps() + 15)
        check(all(host.process.poll() is None for host in workers), "a relay that was killed and is back costs no worker")
        relays[0].kill()
        await_steps(workers[2], workers[2].record().steps() + 15)
        check(all(host.process.poll() is None for host in workers), "where one is gone for good the second takes its place")
        strangers.end()
        codes = [host.process.wait(timeout=200) for host in workers]
        if any(codes):
            print(*[host.text()[-3000:] for host in workers], sep="\n")
        check(codes == [0, 0, 0], f"all end well: {codes}")
        elastic.same_end(root / "calm", workers[0].disk / "a", "two groups by a relay")
        elastic.same_end(root / "calm", workers[2].disk / "a", "the record of the far group")


main()
