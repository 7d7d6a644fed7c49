"""A cluster with Slurm for a test: `with Slurm() as cluster:`, then `cluster.environment`. One node of four cores on this host.

In a temporary folder, on free ports of 127.0.0.1, with a munge of its own; ended by its own process ids.
`Slurm.available()` says whether it can be (root, and tests/servers/get.sh slurm).
"""

import os
import pathlib
import secrets
import shutil
import socket
import subprocess
import tempfile
import time

import port_server
from ports import free_port

PROGRAMS = ("munged", "slurmctld", "slurmd")
REQUEUE_S = 5  # Slurm waits so long and a second before a job that was put back into the queue begins again


class Slurm:
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
SlurmdSpoolDir={self.folder}/spool
SlurmctldPidFile={self.folder}/slurmctld.pid
SlurmdPidFile={self.folder}/slurmd.pid
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
NodeName={host} NodeAddr=127.0.0.1 CPUs=4 State=UNKNOWN
PartitionName=main Nodes={host} Default=YES MaxTime=INFINITE State=UP
""")
        self.environment = {"SLURM_CONF": str(self.config)}
        try:
            self._start("/usr/sbin/munged", "--foreground", "--force", f"--key-file={key}", f"--socket={self.socket}",
                        f"--pid-file={self.folder}/munged.pid", f"--log-file={self.folder}/log/munged", f"--seed-file={self.folder}/munged.seed")
            self._wait(self.socket.exists, "munged")
            for port, name in zip(ports, ("slurmctld", "slurmd")):
                words = [f"/usr/sbin/{name}", "-D", *(["-c"] if name == "slurmctld" else []), "-f", self.config]
                self.processes.append(port_server.start(words, port, self.folder / "log" / name, env={**os.environ, **self.environment}))
            self._wait(lambda: self.ask("sinfo", "-h", "-o", "%t").strip() == "idle", "the node")
        except BaseException:
            self.__exit__()
            raise
        return self

    def _start(self, *words: object) -> None:
        with open(self.folder / "log" / "start", "ab") as log:
            self.processes.append(subprocess.Popen(words, stdout=log, stderr=log))

    def _wait(self, holds, what: str) -> None:
        end = time.monotonic() + 30
        while not holds():
            if time.monotonic() > end:
                raise SystemExit(f"slurm: {what} does not come up: " + "".join(path.read_text(errors="replace")[-2000:] for path in (self.folder / "log").iterdir()))
            time.sleep(0.05)

    def ask(self, *words: str) -> str:
        return subprocess.run(words, env={**os.environ, **self.environment}, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=30).stdout

    def jobs(self, name: str) -> list[str]:
        """States of the jobs of that name."""
        return self.ask("squeue", "-h", "-t", "all", f"--name={name}", "-o", "%T").split()

    def __exit__(self, *_) -> None:
        if len(self.processes) == len(PROGRAMS):
            self.ask("scancel", "--full", "-s", "KILL", "-u", "root")
            end = time.monotonic() + 10
            while self.ask("squeue", "-h").strip() and time.monotonic() < end:
                self.ask("scancel", "-u", "root")
                time.sleep(0.1)
        for process in reversed(self.processes):
            process.terminate()
            try:
                process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)
