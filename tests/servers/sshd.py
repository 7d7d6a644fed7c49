"""Hosts that ssh leads to, for a test: `with Sshd(["n01", "n02"]) as hosts:`, then `hosts.command`, the ssh that knows them.

All are this host, each a server on a port of 127.0.0.1, with keys of their own in a temporary folder; ended by their own process ids.
`Sshd.available()` says whether it is installed (tests/servers/get.sh sshd).
"""

import os
import pathlib
import shutil
import subprocess
import tempfile

import port_server
from ports import free_port

PROGRAM = pathlib.Path("/usr/sbin/sshd")


class Sshd:
    @staticmethod
    def available() -> bool:
        return PROGRAM.is_file() and shutil.which("ssh") is not None

    def __init__(self, names: list[str]):
        self.names = names

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
                port = free_port()
                known += f"[127.0.0.1]:{port} {host_key}\n"
                config += (f"Host {name}\n  HostName 127.0.0.1\n  Port {port}\n  IdentityFile {self.folder}/user\n  IdentitiesOnly yes\n"
                           f"  UserKnownHostsFile {self.folder}/known\n  BatchMode yes\n  KexAlgorithms curve25519-sha256\n")  # the usual one takes half a second of a processor
                server = self.folder / f"sshd-{name}"
                server.write_text(f"ListenAddress 127.0.0.1\nPort {port}\nHostKey {self.folder}/host\nAuthorizedKeysFile {self.folder}/authorized\n"
                                  "PidFile none\nStrictModes no\nUsePAM no\nPasswordAuthentication no\nPermitRootLogin yes\nAllowTcpForwarding no\n")
                self.processes.append(port_server.start([PROGRAM, "-D", "-e", "-f", server], port, self.folder / f"log-{name}"))
        except BaseException:
            self.__exit__()
            raise
        (self.folder / "config").write_text(config)
        (self.folder / "known").write_text(known)
        self.command = ["ssh", "-F", str(self.folder / "config")]
        return self

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
