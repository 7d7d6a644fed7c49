#!/usr/bin/env python3
"""The network of hosts.py keeps its promises: rates, delays, losses, partitions, CPU quotas, and nothing left behind.
Called with the name of a part and its arguments, it is a program that the hosts run."""

import os
import pathlib
import select
import signal
import socket
import socketserver
import statistics
import subprocess
import sys
import time

from lib import hosts
from lib.checks import check

PORT = 5000
SKIPPED = 77
PIPES = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True, "bufsize": 1}


def part(name: str, *arguments) -> list[str]:
    return [sys.executable, __file__, name, *map(str, arguments)]


class Echo(socketserver.StreamRequestHandler):
    def handle(self) -> None:
        self.wfile.write(f"{socket.gethostname()} sees {self.client_address[0]}\n".encode())
        for line in self.rfile:
            self.wfile.write(line)


def echo() -> None:
    """Tells every client whom it sees, then repeats what it says."""
    with socketserver.ThreadingTCPServer(("", PORT), Echo) as server:
        print("ready", flush=True)
        server.serve_forever()


def talk(address: str, port: str) -> None:
    """Prints the server's greeting; then for each line on stdin the seconds until it came back. Ends with the error of the connection."""
    try:
        with socket.create_connection((address, int(port))) as connection:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            print(connection.recv(100).decode().strip(), flush=True)
            for line in sys.stdin:
                begin = time.monotonic()
                connection.sendall(line.encode())
                while not connection.recv(100).endswith(b"\n"):
                    pass
                print(time.monotonic() - begin, flush=True)
    except OSError as error:
        print(type(error).__name__, flush=True)


def sink() -> None:
    """Prints how many bytes a second one connection brought."""
    with socket.create_server(("", PORT + 1)) as server:
        print("ready", flush=True)
        connection, _ = server.accept()
        buffer, total, begin = bytearray(1 << 20), 0, time.monotonic()
        while got := connection.recv_into(buffer):
            total += got
        print(total / (time.monotonic() - begin), flush=True)


def pour(address: str, megabytes: str) -> None:
    with socket.create_connection((address, PORT + 1)) as connection:
        for _ in range(int(megabytes)):
            connection.sendall(bytes(1_000_000))


def spin(seconds: str) -> None:
    """Prints how much of one core it got."""
    begin, begin_cpu = time.monotonic(), time.process_time()
    while time.monotonic() - begin < float(seconds):
        pass
    print((time.process_time() - begin_cpu) / (time.monotonic() - begin))


def hold() -> None:
    """A network and a process in it, until a signal comes."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job is started with SIGINT ignored
    with hosts.Network("ab") as net:
        net["a"].popen(["sh", "-c", "echo $$; exec sleep 1000"])
        time.sleep(1000)


class Talk:
    """A connection between two hosts, on which lines are said."""

    def __init__(self, source: hosts.Host, destination: hosts.Host, port: int = PORT):
        self.process = source.popen(part("talk", destination.address, port), **PIPES)

    def say(self) -> None:
        self.process.stdin.write("hello\n")

    def hears(self, limit_s: float) -> str:
        """The next line of talk(); nothing if none comes in time."""
        ready, _, _ = select.select([self.process.stdout], [], [], limit_s)
        return self.process.stdout.readline().strip() if ready else ""

    def round_trip_ms(self, times: int) -> float:
        answers = []
        for _ in range(times):
            self.say()
            answers.append(float(self.hears(10)) * 1e3)
        return statistics.median(answers)


def bytes_per_s(source: hosts.Host, destination: hosts.Host, megabytes: int) -> float:
    receiver = destination.popen(part("sink"), **PIPES)
    receiver.stdout.readline()
    source.run(part("pour", destination.address, megabytes), check=True)
    return float(receiver.communicate(timeout=60)[0])


def connections(net: hosts.Network) -> None:
    servers = [host.popen(part("echo"), **PIPES) for host in net]
    check(all(server.stdout.readline() == "ready\n" for server in servers), "a server runs on each of the hosts")
    talks = {(one, other): Talk(one, other) for one in net for other in net if one is not other}
    greetings = {ends: talk.hears(10) for ends, talk in talks.items()}
    check(len(greetings) == 12 and all(greetings[one, other] == f"{other.name} sees {one.address}" for one, other in greetings),
          "every host reaches every other and is seen by its own address")


def rates(net: hosts.Network) -> None:
    a, b = net["a"], net["b"]
    a.limit_rate("100mbit")
    for source, destination in ((a, b), (b, a)):
        mbit = bytes_per_s(source, destination, 15) * 8 / 1e6
        check(85 < mbit < 115, f"100 Mbit/s from {source.name} to {destination.name}: {mbit:.1f} measured")
    a.limit_rate(None)


def delays(net: hosts.Network) -> None:
    talk = Talk(net["a"], net["b"])
    talk.hears(10)
    check(talk.round_trip_ms(20) < 4, "without a delay an answer takes less than 4 ms")
    net.shape("a", "b", delay_ms=10)
    delayed = talk.round_trip_ms(20)
    check(16 < delayed < 24, f"10 ms each way: an answer takes 20 ms: {delayed:.1f} measured, on the same connection")
    net.shape("a", "b", delay_ms=10, jitter_ms=5)
    check(10 < talk.round_trip_ms(20) < 34, "10 ms give or take 5: an answer takes 10 to 30 ms")
    net.shape("a", "b", stall_per_mb=1e6, stall_ms=40)
    stalled = talk.round_trip_ms(5)
    check(80 <= stalled < 120, f"every packet stalled by 40 ms: an answer takes 80 ms: {stalled:.1f} measured")
    net.shape("a", "b", delay_ms=1)
    before = net.relay_counts()
    rate = bytes_per_s(net["a"], net["b"], 200)
    cores = (net.relay_counts()["cpu_s"] - before["cpu_s"]) / (200e6 / rate)
    check(rate > 50e6 and cores < 1, f"through a delay of 1 ms go {rate / 1e6:.0f} MB/s, for {cores:.2f} of a core")
    check(Talk(net["a"], net["b"], PORT + 2).hears(10) == "ConnectionRefusedError", "what is refused there is refused here")
    net.shape()


def losses(net: hosts.Network) -> None:
    net.shape("a", "b", loss=0.02)
    before = net.relay_counts()
    bytes_per_s(net["a"], net["b"], 4)
    now = net.relay_counts()
    share = (now["lost"] - before["lost"]) / (now["packets"] - before["packets"])
    check(0.01 < share < 0.03, f"of the packets 2 % are lost: {share * 100:.1f} % measured; TCP sends them again")
    net.shape()


def partitions(net: hosts.Network) -> None:
    for way in ("forwarded by the kernel", "delayed by the relay"):
        inside, across = Talk(net["a"], net["b"]), Talk(net["b"], net["c"])
        check(inside.hears(10) != "" and across.hears(10) != "", f"partition, {way}: two connections")
        net.partition(["ab", "cd"])
        late = Talk(net["d"], net["a"])
        across.say()
        check(across.hears(0.7) == "" and late.hears(0) == "", "across the partition nothing comes, nor can be connected")
        check(inside.round_trip_ms(5) < 20, "within one side all goes on")
        net.heal()
        check(float(across.hears(10)) > 0.7, "healed: the same connection goes on, with what was said in the meantime")
        check(late.hears(10) == "a sees " + net["d"].address, "and the one that waited is made")
        net.shape(delay_ms=2)
    net.shape()


def resets(net: hosts.Network) -> None:
    talk = Talk(net["a"], net["b"])
    talk.hears(10)
    net.partition(["a", "b"], "reset")
    talk.say()
    check(talk.hears(10) == "ConnectionResetError", "cut by reset: the connection is reset")
    check(Talk(net["b"], net["a"]).hears(10) == "ConnectionRefusedError", "and a new one is refused")
    net.heal()
    net.partition(["a", "b"], "unreachable")
    check(Talk(net["b"], net["a"]).hears(10) == "OSError", "cut by unreachable: a new one fails at once")
    net.cut("a", "b", "reset")
    check(Talk(net["a"], net["b"]).hears(10) == "ConnectionRefusedError", "of two cuts of one way the last counts")
    net.heal()
    net.cut("a", "b")
    net.cut_all([("c", "d"), ("d", "c")], "reset")
    check(Talk(net["b"], net["a"]).hears(0.5) == "", "cut in one direction: no connection")
    net.heal([("a", "b"), ("d", "a")])
    check(Talk(net["b"], net["a"]).hears(10) != "", "one cut is healed")
    check(Talk(net["c"], net["d"]).hears(10) == "ConnectionRefusedError", "and the other stays")
    net.heal()


def quotas(net: hosts.Network) -> None:
    host = net["d"]
    host.limit_cores(0.5)
    for _ in range(3):  # others may have taken the machine
        share = float(host.run(part("spin", 1.5), check=True, stdout=subprocess.PIPE, text=True).stdout)
        if share > 0.4:
            break
    check(0.4 < share < 0.6, f"half a core: {share:.2f} measured")
    host.limit_cores(None)


def names_of(pid: int) -> list[str]:
    folders = (hosts.NAMESPACES, hosts.CPU_GROUPS)
    return [path.name for folder in folders if folder.exists() for path in folder.glob(f"linac-{pid}-*")]


def main_namespace() -> str:
    """What must not change: the interfaces, rules and routes of the caller."""
    return "".join(hosts.command(["ip", "-o", *what.split()]) for what in ("-br link", "rule", "route"))


def ended(pid: str, limit_s: float) -> bool:
    deadline = time.monotonic() + limit_s
    while alive := pathlib.Path("/proc", pid).exists():
        if time.monotonic() > deadline:
            break
        time.sleep(0.01)  # its new parent has to notice
    return not alive


def endings() -> None:
    try:
        with hosts.Network("a") as net:
            child = net["a"].popen(["sleep", "1000"])
            raise KeyError("an error in the block")
    except KeyError:
        check(names_of(os.getpid()) == [] and child.returncode == -signal.SIGKILL, "an exception in the block: nothing is left")
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGKILL):
        holder = subprocess.Popen(part("hold"), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        sleeper = holder.stdout.readline().strip()
        holder.send_signal(number)
        holder.wait(timeout=20)
        if number == signal.SIGKILL:
            check(names_of(holder.pid) != [] and not ended(sleeper, 0), "SIGKILL: all is left")
            hosts.remove_leftovers()
        after = " by the run that comes next" if number == signal.SIGKILL else ""
        check(names_of(holder.pid) == [] and ended(sleeper, 2), f"{number.name}: nothing is left{after}")


def main() -> None:
    able, why = hosts.available()
    if not able:
        print(f"skipped: {why}")
        sys.exit(SKIPPED)
    before = main_namespace()
    with hosts.Network("abcd") as net:
        for test in (connections, rates, delays, losses, partitions, resets, quotas):
            test(net)
        children = [child for host in net for child in host.children]
    check(names_of(os.getpid()) == [], "no namespace and no CPU group is left")
    check(all(child.returncode is not None for child in children), "no process is left")
    endings()
    check(main_namespace() == before, "nothing was changed outside")


PARTS = {"echo": echo, "talk": talk, "sink": sink, "pour": pour, "spin": spin, "hold": hold}
if len(sys.argv) > 1:
    PARTS[sys.argv[1]](*sys.argv[2:])
else:
    main()
