"""Hosts on one machine: a network namespace each, joined by a router namespace, with bandwidth, CPU share, delay and partitions.

    with Network("abcd", rate="1gbit", cores=0.5) as net:
        server = net["a"].popen(["some", "server"])
        net["b"].run(["some", "client", net["a"].address], check=True)
        net.shape(delay_ms=10)
        net.partition(["ab", "cd"])
        net.heal()

Every packet between two hosts passes the router, which forwards it (the kernel alone), cuts it (a routing rule) or holds it for a while (packet_relay.py).
Nothing is changed in the namespace of the caller. Everything is removed when the block is left, also by an exception, SIGINT or SIGTERM;
what a run that was killed has left is removed when the next Network starts. Needs root. For use by one thread.
"""

import atexit
import contextlib
import errno
import itertools
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import threading
import time

RELAY = pathlib.Path(__file__).resolve().with_name("packet_relay.py")
NAMESPACES = pathlib.Path("/run/netns")


def own_cpu_group() -> pathlib.Path:
    """Where the hosts' groups lie: below that of who starts them, so that its share of the CPU holds for all of them. cgroup v1."""
    for line in pathlib.Path("/proc/self/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        if "cpu" in controllers.split(","):
            return pathlib.Path("/sys/fs/cgroup/cpu" + path.rstrip("/"))
    return pathlib.Path("/sys/fs/cgroup/cpu")


CPU_GROUPS = own_cpu_group()
CPU_PERIOD_US = 100_000
OWN_NAME = re.compile(r"linac-(\d+)-\w+")
HOSTS_MAX = 200
KILL_S_MAX = 10

ROUTER_ADDRESS = "10.77.1.1"
HOST_ADDRESSES = "10.77.0.0/24"
QUEUE_MS_MAX = 20  # a packet that would wait longer for its turn at a limited rate is lost, as in a switch
BITS = {"kbit": 1e3, "mbit": 1e6, "gbit": 1e9}

# The rules of the router, in this order; the first that matches a packet decides.
CUT, RELAYED, FORWARDED, LOCAL = 10, 20, 100, 200
# Dropped in silence; answered "network unreachable"; answered as by a host that has just restarted: connections reset or refused.
CUTS = {"drop": "blackhole", "unreachable": "unreachable", "reset": "lookup local"}


def available() -> tuple[bool, str]:
    """Whether this machine can do it and, if not, why."""
    if os.geteuid() != 0:
        return False, "needs root"
    for tool in ("ip", "tc", "unshare"):
        if not shutil.which(tool):
            return False, f"no {tool} (install iproute2 and util-linux)"
    if not os.access("/dev/net/tun", os.R_OK | os.W_OK):
        return False, "no /dev/net/tun"
    if not os.access(CPU_GROUPS / "cpu.cfs_period_us", os.R_OK) or not os.access(CPU_GROUPS, os.W_OK):
        return False, f"no cgroup v1 for the CPU that can be written ({CPU_GROUPS})"
    trial = "ip link add name one type veth peer name two && tc qdisc add dev one root tbf rate 1mbit burst 16kb latency 20ms"
    done = subprocess.run(["unshare", "--net", "sh", "-c", trial], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode:
        return False, f"no network namespace with a limited rate: {done.stdout.strip()}"
    return True, ""


class Host:
    """One host of a Network: `name`, `address`, and processes that see only its network, run under its name and share its CPU quota."""

    def __init__(self, network: "Network", name: str, number: int):
        self.name = name
        self.namespace = f"linac-{os.getpid()}-{name}"
        self.address = f"10.77.0.{number}"
        self.link = f"to-{name}"  # the router's end
        self.children: list[subprocess.Popen] = []
        self._router = network.router
        self._rate = None
        self._group = CPU_GROUPS / self.namespace

    def popen(self, command: list, **options) -> subprocess.Popen:
        """subprocess.Popen on this host. The process id is the command's own. Whatever still runs when the Network ends is killed."""
        child = subprocess.Popen(self._inside(command), **options)
        self.children.append(child)
        return child

    def run(self, command: list, **options) -> subprocess.CompletedProcess:
        """subprocess.run on this host."""
        return subprocess.run(self._inside(command), **options)

    def limit_rate(self, rate: str | None) -> None:
        """To and from this host each so much, as `100mbit`; None: unlimited."""
        for namespace, device in ((self.namespace, "eth0"), (self._router, self.link)):
            if rate:
                shape = f"tbf rate {rate} burst {burst_bytes(rate)} latency {QUEUE_MS_MAX}ms"
                command(["tc", "-n", namespace, "qdisc", "replace", "dev", device, "root", *shape.split()])
            elif self._rate:
                command(["tc", "-n", namespace, "qdisc", "del", "dev", device, "root"])
        self._rate = rate

    def limit_cores(self, cores: float | None) -> None:
        """All processes of this host together get so many cores (0.5: half of one); None: unlimited."""
        (self._group / "cpu.cfs_period_us").write_text(str(CPU_PERIOD_US))
        (self._group / "cpu.cfs_quota_us").write_text(str(round(cores * CPU_PERIOD_US) if cores is not None else -1))

    def _inside(self, command: list) -> list[str]:
        join = ('echo $$ >"$1/cgroup.procs" && echo "$2" >/proc/sys/kernel/hostname && namespace=$3 && shift 3 && '
                'exec ip netns exec "$namespace" "$@"')
        return ["unshare", "--uts", "sh", "-c", join, "sh", str(self._group), self.name, self.namespace, *map(str, command)]


class Network:
    """The hosts `names` (`"abcd"` or a list), found by name as net["a"] or in order by iteration, and what lies between them.
    `rate` and `cores` hold for every host; Host.limit_rate and Host.limit_cores change them. `seed` is that of jitter, loss and stalls."""

    def __init__(self, names, *, rate: str | None = None, cores: float | None = None, seed: int = 1):
        self.router = f"linac-{os.getpid()}-router"
        self.hosts = {name: Host(self, name, number) for number, name in enumerate(names, 1)}
        if len(self.hosts) > HOSTS_MAX or not all(re.fullmatch(r"\w{1,12}", name) and name != "router" for name in self.hosts):
            raise ValueError(f"up to {HOSTS_MAX} hosts with names of 1 to 12 letters and digits, none of them router")
        self._rate, self._cores, self._seed = rate, cores, seed
        self._undo = contextlib.ExitStack()
        self._relay: subprocess.Popen | None = None
        self._cuts: dict[tuple[str, str], str] = {}  # the rule of each way that is cut
        self._relayed: set[str] = set()  # the rules that lead into the relay

    def __getitem__(self, name: str) -> Host:
        return self.hosts[name]

    def __iter__(self):
        return iter(self.hosts.values())

    def __enter__(self) -> "Network":
        remove_leftovers()
        self._undo.callback(atexit.unregister, self.close)
        atexit.register(self.close)
        try:
            self._end_at_sigterm()
            self._start_router()
            for host in self:
                self._start_host(host)
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *unused) -> None:
        self.close()

    def close(self) -> None:
        """Ends all processes of the hosts and removes everything, last first. Signals wait until it is done. Does nothing the second time."""
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
        try:
            self._undo.close()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)

    def shape(self, *names: str, delay_ms: float = 0, jitter_ms: float = 0, loss: float = 0, stall_per_mb: float = 0, stall_ms: float = 0) -> None:
        """Sets the way between every two of the named hosts (of all hosts, if none is named), in each direction.

        A packet arrives `delay_ms` later, give or take `jitter_ms`, in order; is lost with the probability `loss`; and with the probability
        `stall_per_mb` for each 10^6 bytes it and all behind it wait `stall_ms` more. All zero: the kernel forwards alone again."""
        settings = {"delay_ms": delay_ms, "jitter_ms": jitter_ms, "loss": loss, "stall_per_mb": stall_per_mb, "stall_ms": stall_ms}
        if self._relay is None:
            self._start_relay()
        change = "add" if any(settings.values()) else "del"
        lines = []
        for source, destination in itertools.permutations([self[name] for name in names or self.hosts], 2):
            self._ask({"from": source.address, "to": destination.address, **settings})
            rule = f"pref {RELAYED} iif {source.link} to {destination.address} lookup {RELAYED}"
            if (change == "add") != (rule in self._relayed):
                lines.append(f"rule {change} {rule}")
                self._relayed ^= {rule}
        ip(self.router, *lines)

    def relay_counts(self) -> dict:
        """What the relay has done so far: packets, bytes, lost, stalls, cpu_s."""
        return self._ask({})

    def cut(self, source: str, destination: str, how: str = "drop") -> None:
        """From now on nothing gets from `source` to `destination`; the other direction stays. `how`: see CUTS; the last word counts."""
        self.cut_all([(source, destination)], how)

    def partition(self, groups: list, how: str = "drop") -> None:
        """Cuts both directions between hosts of different groups, as `["ab", "cd"]`. A host in no group keeps all its ways."""
        self.cut_all([way for one, other in itertools.permutations(groups, 2) for way in itertools.product(one, other)], how)

    def heal(self, ways: list[tuple[str, str]] | None = None) -> None:
        """Ends the cuts of these ways, each from one host to another, or all cuts. Delays and rates stay."""
        ended = [self._cuts.pop(way) for way in (list(self._cuts) if ways is None else ways) if way in self._cuts]
        if ended:
            ip(self.router, *(f"rule del {rule}" for rule in ended))

    def cut_all(self, ways: list[tuple[str, str]], how: str = "drop") -> None:
        """Cuts each of these ways, from one host to another."""
        lines = []
        for source, destination in ways:
            if old := self._cuts.get((source, destination)):
                lines.append(f"rule del {old}")
            rule = f"pref {CUT} iif {self[source].link} to {self[destination].address} {CUTS[how]}"
            lines.append(f"rule add {rule}")
            self._cuts[source, destination] = rule
        ip(self.router, *lines)

    def _end_at_sigterm(self) -> None:
        """SIGTERM ends Python at once, unless it is made an exception, which leaves the block."""
        if threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGTERM) == signal.SIG_DFL:
            self._undo.callback(signal.signal, signal.SIGTERM, signal.SIG_DFL)
            signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))

    def _start_router(self) -> None:
        self._undo.callback(remove, self.router)
        command(["ip", "netns", "add", self.router])
        # The hosts' addresses are also the router's own, but are looked up there last: only the rule of a cut by "reset" sends packets to them.
        ip(self.router, "link set lo up", f"route add local {HOST_ADDRESSES} dev lo table local", f"rule add pref {LOCAL} lookup local",
           f"rule add pref {FORWARDED} lookup main", "rule del pref 0")
        settings = "echo 1 >/proc/sys/net/ipv4/ip_forward; echo 0 >/proc/sys/net/ipv4/icmp_ratelimit"
        command(["ip", "netns", "exec", self.router, "sh", "-c", settings])

    def _start_host(self, host: Host) -> None:
        self._undo.callback(remove, host.namespace)
        self._undo.callback(kill, host.children)
        (CPU_GROUPS / host.namespace).mkdir()
        host.limit_cores(self._cores)
        command(["ip", "netns", "add", host.namespace])
        ip(self.router, f"link add name {host.link} type veth peer name eth0 netns {host.namespace}",
           f"addr add {ROUTER_ADDRESS} peer {host.address} dev {host.link}", f"link set {host.link} up")
        ip(host.namespace, "link set lo up", f"addr add {host.address} peer {ROUTER_ADDRESS} dev eth0", "link set eth0 up",
           f"route add default via {ROUTER_ADDRESS}")
        host.limit_rate(self._rate)

    def _start_relay(self) -> None:
        inside = ["ip", "netns", "exec", self.router, sys.executable, str(RELAY), str(self._seed)]
        self._relay = subprocess.Popen(inside, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True)
        self._undo.callback(self._relay.communicate, timeout=KILL_S_MAX)  # closes its stdin, at which it ends
        self._answer()
        ip(self.router, "link set relay txqueuelen 10000 up", f"route add default dev relay table {RELAYED}")

    def _ask(self, question: dict) -> dict:
        with contextlib.suppress(BrokenPipeError):
            self._relay.stdin.write(json.dumps(question) + "\n")
            self._relay.stdin.flush()
        return self._answer()

    def _answer(self) -> dict:
        line = self._relay.stdout.readline()
        if not line:
            raise RuntimeError(f"[network] the relay has ended with exit status {self._relay.wait()}")
        answer = json.loads(line)
        if "error" in answer:
            raise ValueError(f"[network] {answer['error']}")
        return answer


def burst_bytes(rate: str) -> int:
    """5 ms at this rate, but at least ten packets and at most two of the 64 KiB trains that the kernel makes of TCP, lest it takes them apart."""
    parts = re.fullmatch(r"([\d.]+)([kmg]bit)", rate)
    if not parts:
        raise ValueError(f"[network] a rate is written as 100mbit (k, m, g), not as {rate!r}")
    return round(min(max(float(parts[1]) * BITS[parts[2]] / 8 * 0.005, 16_384), 131_072))


def command(arguments: list[str], text: str = "") -> str:
    done = subprocess.run(arguments, input=text, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode:
        raise RuntimeError(f"[network] {' '.join(arguments)} {text!r}: {done.stdout.strip()}")
    return done.stdout


def ip(namespace: str, *lines: str) -> None:
    """Commands of ip in that namespace."""
    command(["ip", "-n", namespace, "-batch", "-"], "\n".join(lines) + "\n")


def processes(name: str) -> set[int]:
    """The living processes in the namespace or the CPU group of that name."""
    found = subprocess.run(["ip", "netns", "pids", name], text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
    with contextlib.suppress(OSError):
        found += (CPU_GROUPS / name / "cgroup.procs").read_text()
    return {int(pid) for pid in found.split()} - {0}


def remove(name: str) -> None:
    """Kills the processes of a namespace and its CPU group and removes both, as far as they exist."""
    deadline = time.monotonic() + KILL_S_MAX
    while (alive := processes(name)) or not removed(CPU_GROUPS / name):
        if time.monotonic() > deadline:
            raise RuntimeError(f"[network] {name}: processes {sorted(alive)} do not end")
        for pid in alive:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.01)
    subprocess.run(["ip", "netns", "del", name], stderr=subprocess.DEVNULL)


def removed(group: pathlib.Path) -> bool:
    """False while a process is in it, as one that was just being started."""
    try:
        group.rmdir()
    except OSError as error:
        return error.errno == errno.ENOENT
    return True


def remove_leftovers() -> None:
    """Removes what runs have left that no longer live: their process id is part of the names."""
    names = {path.name for folder in (NAMESPACES, CPU_GROUPS) if folder.exists() for path in folder.iterdir()}
    for name in sorted(names):
        owner = OWN_NAME.fullmatch(name)
        if owner and not pathlib.Path("/proc", owner[1]).exists():
            remove(name)


def kill(children: list[subprocess.Popen]) -> None:
    for child in children:
        child.kill()
        child.wait()
