"""Hosts that ssh leads to, for a test: `with Sshd(["n01", "n02"]) as hosts:`, then `hosts.command`, the ssh that knows them.

All are this host, each a server on a port of 127.0.0.1, or where `places` says: a Place of each name, as a network namespace. With keys of their
own in a temporary folder; ended by their own process ids.
`Sshd.available()` says whether it is installed (tests/servers/get.sh sshd).
"""

import collections.abc
import dataclasses
import os
import pathlib
import shutil
import subprocess
import tempfile
import time

from . import port_server
from ..ports import free_port

PROGRAM = pathlib.Path("/usr/sbin/sshd")


@dataclasses.dataclass
class Place:
    address: str
    popen: collections.abc.Callable[..., subprocess.Popen]  # as that of subprocess, there


class Sshd:
    @staticmethod
    def available() -> bool:
        return PROGRAM.is_file() and shutil.which("ssh") is not None

    def __init__(self, names: list[str], places: dict[str, Place] | None = None):
        self.names, self.places = names, places or {}

    def __enter__(self) -> "Sshd":
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="linac-sshd-"))
        self.processes = []
        if os.geteuid() == 0:
            pathlib.Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)  # it wants an empty folder to shut itself in
        for name in ("host", "user"):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", self.folder / name], check=True)
        shutil.copy(self.folder / "user.pub", self.folder / "authorized")
        config, known = "", ""
        host_key = " ".join((self.folder / "host.pub").read_text().split()[:2])
        try:
            for name in self.names:
                port, place = free_port(), self.places.get(name)
                address = place.address if place else "127.0.0.1"
                known += f"[{address}]:{port} {host_key}\n"
                config += (f"Host {name}\n  HostName {address}\n  Port {port}\n  IdentityFile {self.folder}/user\n  IdentitiesOnly yes\n"
                           f"  UserKnownHostsFile {self.folder}/known\n  BatchMode yes\n  KexAlgorithms curve25519-sha256\n")  # the usual one takes half a second of a processor
                server = self.folder / f"sshd-{name}"
                server.write_text(f"ListenAddress {address}\nPort {port}\nHostKey {self.folder}/host\nAuthorizedKeysFile {self.folder}/authorized\n"
                                  "PidFile none\nStrictModes no\nUsePAM no\nPasswordAuthentication no\nPermitRootLogin yes\nAllowTcpForwarding no\n")
                words, log = [PROGRAM, "-D", "-e", "-f", server], self.folder / f"log-{name}"
                self.processes.append(self._start_at(place, words, log) if place else port_server.start(words, port, log))
        except BaseException:
            self.__exit__()
            raise
        (self.folder / "config").write_text(config)
        (self.folder / "known").write_text(known)
        self.command = ["ssh", "-F", str(self.folder / "config")]
        return self

    @staticmethod
    def _start_at(place: Place, words: list, log: pathlib.Path) -> subprocess.Popen:
        """Nobody reaches its port from here: its log says when it listens."""
        with open(log, "wb") as file:
            process = place.popen(words, stdout=file, stderr=file)
        end = time.monotonic() + 30
        while "Server listening on" not in log.read_text(errors="replace"):
            if process.poll() is not None or time.monotonic() > end:
                raise SystemExit(f"{PROGRAM} does not start: {log.read_text(errors='replace')}")
            time.sleep(0.02)
        return process

    def stop(self, name: str) -> None:
        """No connection leads there any more."""
        process = self.processes[self.names.index(name)]
        process.terminate()
        process.wait()

    def __exit__(self, *_) -> None:
        for process in self.processes:
            if process.poll() is None:
                process.terminate()
                process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)
