"""An XRootD server for a test: `with Xrootd() as store:`, then `store.root` and `store.dav`, addresses of an empty folder, and `store.data`,
that folder here. It listens on all addresses, so a test must be in a network namespace of its own: `Xrootd.enter()` first.
`Xrootd.available()` says whether it can be started here (tests/servers/get.sh xrootd)."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

from . import port_server
from ..ports import free_port

INSIDE = "LINAC_TEST_NETWORK_NAMESPACE"


class Xrootd(port_server.PortServer):
    @staticmethod
    def available() -> bool:
        return bool(shutil.which("xrootd")) and os.geteuid() == 0 and subprocess.run(["unshare", "--net", "true"], capture_output=True).returncode == 0

    @staticmethod
    def enter() -> None:
        """Starts this test anew where nobody else is on the network."""
        if INSIDE in os.environ:
            return
        os.environ[INSIDE] = "1"
        os.execvp("unshare", ["unshare", "--net", "sh", "-c", 'ip link set lo up && exec "$@"', "sh", sys.executable, *sys.argv])

    def __init__(self, *lines: str):
        """`lines` for its configuration."""
        self.lines = lines

    def __enter__(self) -> "Xrootd":
        if INSIDE not in os.environ:
            sys.exit("Xrootd.enter() comes first")
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="linac-xrootd-"))
        self.data = self.folder / "data"
        self.port, self.http = free_port(), free_port()
        for folder in (self.data / "test", self.folder / "admin"):
            folder.mkdir(parents=True)
        config = ["all.role server", f"xrd.port {self.port}", "xrd.network nodnr", "all.sitename test", "all.export /", f"oss.localroot {self.data}",
                  f"all.adminpath {self.folder}/admin", f"all.pidpath {self.folder}/admin", f"xrd.protocol http:{self.http} libXrdHttp.so", *self.lines]
        (self.folder / "config").write_text("\n".join(config) + "\n")
        for path in (self.folder, *self.folder.rglob("*")):
            shutil.chown(path, "xrootd")
        self.root, self.dav = f"root://127.0.0.1:{self.port}//test", f"dav://127.0.0.1:{self.http}/test"
        self.start()
        return self

    def start(self) -> None:
        # It refuses to run as root.
        words = ["setpriv", "--reuid=xrootd", "--regid=xrootd", "--clear-groups", "xrootd", "-c", self.folder / "config"]
        self.process = port_server.start(words, self.http, self.folder / "log", cwd=self.folder / "admin")
