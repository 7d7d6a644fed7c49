"""A cluster with Slurm for a test: `with Slurm() as cluster:`, then `cluster.environment`. One node of four cores on this host, or with
`Slurm(nodes=4)` so many of one core, of which `lose()` takes one away and `bring()` brings it back.

In a temporary folder, on free ports of 127.0.0.1, with a munge of its own; ended by its own process ids.
`Slurm.available()` says whether it can be (root, and tests/servers/get.sh slurm).
"""

import os
import pathlib
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time

from . import port_server
from ..checks import wait_for
from ..ports import free_port

PROGRAMS = ("munged", "slurmctld", "slurmd")
REQUEUE_S = 5  # Slurm waits so long and a second before a job that was put back into the queue begins again


def _pids() -> list[int]:
    return [int(path.name) for path in pathlib.Path("/proc").glob("[0-9]*")]


def _read(pid: int, what: str) -> str:
    try:
        return pathlib.Path(f"/proc/{pid}/{what}").read_bytes().decode(errors="replace")
    except OSError:
        return ""


def _words(pid: int) -> str:
    return _read(pid, "cmdline").replace("\0", " ")


def _environment(pid: int) -> set[str]:
    return set(_read(pid, "environ").split("\0"))


def _parent(pid: int) -> int:
    fields = _read(pid, "stat").rpartition(")")[2].split()
    return int(fields[1]) if fields else 0


class Slurm:
    def __init__(self, nodes: int = 1):
        self.names = [f"n{number}" for number in range(1, nodes + 1)] if nodes > 1 else []

    @staticmethod
    def available() -> bool:
        return os.geteuid() == 0 and all(pathlib.Path("/usr/sbin", name).is_file() for name in PROGRAMS)

    def __enter__(self) -> "Slurm":
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="linac-slurm-"))
        self.processes = []
        for name in ("state", "spool", "log"):
            (self.folder / name).mkdir()
        key = self.folder / "munge.key"
        key.write_bytes(secrets.token_bytes(128))
        key.chmod(0o600)
        host, ports = socket.gethostname().split(".")[0], [free_port(), free_port()]
        self.ports = {name: free_port() for name in self.names}
        nodes = "".join(f"NodeName={name} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs=1 State=UNKNOWN\n" for name, port in self.ports.items())
        self.daemons = {}
        self.socket = self.folder / "munge.sock"
        self.config = self.folder / "slurm.conf"
        self.config.write_text(f"""ClusterName=loop
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
SlurmctldPort={ports[0]}
SlurmdPort={ports[1]}
AuthType=auth/munge
AuthInfo=socket={self.socket},cred_expire={REQUEUE_S}
CommunicationParameters=NoCtldInAddrAny,NoInAddrAny
StateSaveLocation={self.folder}/state
SlurmdSpoolDir={self.folder}/spool{"/%n" if self.names else ""}
SlurmctldPidFile={self.folder}/slurmctld.pid
SlurmdPidFile={self.folder}/slurmd{"-%n" if self.names else ""}.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerParameters=sched_interval=1,bf_interval=1
SlurmdParameters=config_overrides
ReturnToService=2
KillWait=5
JobRequeue=1
SlurmdTimeout=10
{nodes or f"NodeName={host} NodeAddr=127.0.0.1 CPUs=4 RealMemory=8192 State=UNKNOWN" + chr(10)}PartitionName=main Nodes={",".join(self.names) or host} Default=YES MaxTime=INFINITE State=UP
""")
        self.environment = {"SLURM_CONF": str(self.config)}
        try:
            self._start("/usr/sbin/munged", "--foreground", "--force", f"--key-file={key}", f"--socket={self.socket}",
                        f"--pid-file={self.folder}/munged.pid", f"--log-file={self.folder}/log/munged", f"--seed-file={self.folder}/munged.seed")
            self._wait(self.socket.exists, "munged")
            for port, name in zip(ports, ("slurmctld",) if self.names else ("slurmctld", "slurmd")):
                words = [f"/usr/sbin/{name}", "-D", *(["-c"] if name == "slurmctld" else []), "-f", self.config]
                self.processes.append(port_server.start(words, port, self.folder / "log" / name, env={**os.environ, **self.environment}))
            for name in self.names:
                self.bring(name)
            self._wait(lambda: set(self.ask("sinfo", "-h", "-N", "-o", "%t").split()) == {"idle"}, "the node")
        except BaseException:
            self.__exit__()
            raise
        return self

    def bring(self, name: str) -> None:
        """The node, as its machine comes up."""
        (self.folder / "spool" / name).mkdir(exist_ok=True)
        words = ["/usr/sbin/slurmd", "-D", "-N", name, "-f", self.config]
        self.daemons[name] = port_server.start(words, self.ports[name], self.folder / "log" / f"slurmd-{name}", env={**os.environ, **self.environment})

    def lose(self, name: str) -> None:
        """As its machine is lost: its slurmd, and all that it has started."""
        daemon = self.daemons.pop(name)
        daemon.kill()
        daemon.wait()
        mine = [pid for pid in _pids() if {f"SLURMD_NODENAME={name}", f"SLURM_CONF={self.config}"} <= _environment(pid)]
        for pid in {*mine, *(parent for parent in map(_parent, mine) if _words(parent).startswith("slurmstepd"))}:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass

    def _start(self, *words: object) -> None:
        with open(self.folder / "log" / "start", "ab") as log:
            self.processes.append(subprocess.Popen(words, stdout=log, stderr=log))

    def _wait(self, holds, what: str) -> None:
        logs = lambda: "".join(path.read_text(errors="replace")[-2000:] for path in (self.folder / "log").iterdir())
        wait_for(holds, lambda: f"{logs()}\nslurm: {what}", 30, 0.05)

    def ask(self, *words: str) -> str:
        return subprocess.run(words, env={**os.environ, **self.environment}, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=30).stdout

    def jobs(self, name: str) -> list[str]:
        """States of the jobs of that name."""
        return self.ask("squeue", "-h", "-t", "all", f"--name={name}", "-o", "%T").split()

    def __exit__(self, *_) -> None:
        if len(self.processes) + bool(self.names) == len(PROGRAMS):
            self.ask("scancel", "--full", "-s", "KILL", "-u", "root")
            end = time.monotonic() + 10
            while self.ask("squeue", "-h").strip() and time.monotonic() < end:
                self.ask("scancel", "-u", "root")
                time.sleep(0.1)
        for process in [*self.daemons.values(), *reversed(self.processes)]:
            process.terminate()
            try:
                process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)
