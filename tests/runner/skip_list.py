"""Which test may leave out what, and why: tests/skips.txt against what this machine has.

A line names a test, a part of it, and what the part needs. A skip is allowed only where one of these needs is really missing: a test for
GPUs that skips where there is one has failed to do its work."""

import dataclasses
import fnmatch
import glob
import os
import pathlib
import re
import socket
import subprocess
import sys

from .results import Skip

ROOT = pathlib.Path(__file__).resolve().parents[2]
ELSEWHERE = "elsewhere"


def succeeds(*words: str) -> bool:
    try:
        return subprocess.run(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=20).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


def gpus() -> int:
    return len(glob.glob("/dev/nvidia[0-9]*"))


def has_network() -> bool:
    """What tests/network asks for: namespaces with their own devices, and cgroups of v1 for the processor."""
    trial = "ip link add name one type veth peer name two && tc qdisc add dev one root tbf rate 1mbit burst 16kb latency 20ms"
    return (os.geteuid() == 0 and os.access("/dev/net/tun", os.R_OK | os.W_OK) and any(
        os.access(pathlib.Path(folder, "cpu.cfs_period_us"), os.R_OK) and os.access(folder, os.W_OK)
        for folder in ("/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpu,cpuacct")) and succeeds("unshare", "--net", "sh", "-c", trial))


def has_sandbox() -> bool:
    """What src/linac/control/launch/sandbox.h asks for: bubblewrap, and that it may."""
    return succeeds("bwrap", "--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev", "--unshare-pid", "--unshare-ipc", "--die-with-parent", "true")


def has_control_groups() -> bool:
    """What src/linac/control/launch/control_groups.h asks for: that groups with each limit can be made below this process's own."""
    for line in pathlib.Path("/proc/self/cgroup").read_text().splitlines():
        _, names, path = line.split(":", 2)
        if {"memory", "pids", "cpu"} & set(names.split(",")):
            if not os.access(pathlib.Path("/sys/fs/cgroup", names, path.lstrip("/")), os.W_OK):
                return False
    own = pathlib.Path("/sys/fs/cgroup")
    return os.geteuid() == 0 and ((own / "memory").exists() or os.access(own / "cgroup.subtree_control", os.W_OK))


def reaches(host: str) -> bool:
    try:
        return bool(socket.getaddrinfo(host, 443))
    except OSError:
        return False


class Machine:
    """What there is here, each asked for once. `brought` are the servers that this pass has brought: tests may not skip for want of one."""

    def __init__(self, brought: list[str], build: pathlib.Path = pathlib.Path("build/release")):
        self.brought, self.build, self.known = set(brought), build, {}

    def has(self, need: str) -> bool:
        if need not in self.known:
            self.known[need] = self._has(*need.partition(":")[::2])
        return self.known[need]

    def _has(self, kind: str, name: str) -> bool:
        match kind:
            case "server":
                return name in self.brought
            case "cpu":
                return bool(re.search(rf"^flags.*\b{re.escape(name)}\b", pathlib.Path("/proc/cpuinfo").read_text(), re.M))
            case "host":
                return reaches(name)
            case "file":
                return (ROOT / name).exists()
            case "program":
                return succeeds("sh", "-c", f'command -v "{name}"')
            case "gpus":
                return gpus() >= int(name)
            case "no-gpu":
                return gpus() == 0
            case "no-tsan":
                return self.build.name != "tsan"
            case "cuda":
                return (cache := self.build / "CMakeCache.txt").exists() and "LINAC_CUDA:BOOL=ON" in cache.read_text()
            case "root":
                return os.geteuid() == 0
            case "others":  # that other accounts reach this tree
                return os.geteuid() == 0 and succeeds("setpriv", "--reuid=nobody", "--clear-groups", "test", "-x", str(ROOT / "Makefile"), "-o", "-r", str(ROOT / "Makefile"))
            case "mount":
                return succeeds("unshare", *([] if os.geteuid() == 0 else ["--user", "--map-root-user"]), "--mount", "mount", "-t", "tmpfs", "none", "/mnt")
            case "sandbox":
                return has_sandbox()
            case "groups":
                return has_control_groups()
            case "network":
                return has_network()
            case "ipv6":
                return (path := pathlib.Path("/proc/net/if_inet6")).exists() and "0" * 31 + "1" in path.read_text()
            case "addresses":  # one that is no loopback
                return any(not address.startswith("127.") for address in subprocess.run(["hostname", "-I"], capture_output=True, text=True).stdout.split())
            case "elsewhere":
                return False
        sys.exit(f"tests/skips.txt: {kind!r} is no need that tests/runner/skip_list.py knows")


@dataclasses.dataclass(frozen=True)
class Allowed:
    test: str
    what: str
    needs: tuple[str, ...]
    why: str

    def fits(self, skip: Skip) -> bool:
        return fnmatch.fnmatchcase(skip.test, self.test) and fnmatch.fnmatchcase(skip.what, self.what)


def read(path: pathlib.Path = ROOT / "tests" / "skips.txt") -> list[Allowed]:
    lines = []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        cells = [cell.strip() for cell in line.split("|")]
        if len(cells) != 4 or not all(cells):
            sys.exit(f"{path}:{number}: wants test | part | needs | why")
        lines.append(Allowed(cells[0], cells[1], tuple(cells[2].split()), cells[3]))
    return lines


def why_allowed(skip: Skip, lines: list[Allowed], machine: Machine) -> str:
    """The needs that are missing here, or nothing: then this skip is not allowed."""
    return " ".join(need for line in lines if line.fits(skip) for need in line.needs if not machine.has(need))
