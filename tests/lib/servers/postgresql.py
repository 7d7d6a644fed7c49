"""A PostgreSQL server for a test: `with PostgreSQL() as server: connect(server.url)`.

In a temporary folder, on a free port of 127.0.0.1, with a password; as the user postgres if the test is root, because the server
refuses root. Ended by its own process id. `PostgreSQL.available()` says whether one is installed.
"""

import glob
import os
import pathlib
import secrets
import shutil
import signal
import subprocess
import tempfile
import time

from ..ports import free_port


class PostgreSQL:
    START_SECONDS_MAX = 60

    def __init__(self, **settings: str):
        """`settings` as in postgresql.conf, e.g. fsync="off" for tests that do not pull the plug."""
        self.settings = settings
        self.process = None

    @staticmethod
    def programs() -> pathlib.Path | None:
        found = sorted(glob.glob("/usr/lib/postgresql/*/bin"), key=lambda p: int(p.split("/")[4]))
        if found:
            return pathlib.Path(found[-1])
        initdb = shutil.which("initdb")
        return pathlib.Path(initdb).resolve().parent if initdb else None

    @classmethod
    def available(cls) -> bool:
        return cls.programs() is not None

    def _command(self, *words) -> list[str]:
        as_user = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"] if os.geteuid() == 0 else []
        return [*as_user, *map(str, words)]

    def __enter__(self) -> "PostgreSQL":
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="linac-postgresql-"))
        self.data = self.folder / "data"
        password = secrets.token_hex(8)
        (self.folder / "password").write_text(password)
        if os.geteuid() == 0:
            for path in (self.folder, self.folder / "password"):
                shutil.chown(path, "postgres", "postgres")
        subprocess.run(
            self._command(self.programs() / "initdb", "-D", self.data, "-U", "linac", "-A", "scram-sha-256", "--no-sync", "-E", "UTF8",
                          "--locale=C", "--pwfile", self.folder / "password"),
            check=True, stdout=subprocess.DEVNULL, cwd=self.folder)
        self.port = free_port()
        self.url = f"postgresql://linac:{password}@127.0.0.1:{self.port}/postgres"
        try:
            self.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def start(self) -> None:
        """Also after kill(): the server recovers what was committed."""
        settings = {"listen_addresses": "127.0.0.1", "port": self.port, "unix_socket_directories": self.folder} | self.settings
        options = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
        with open(self.folder / "log", "ab") as log:
            self.process = subprocess.Popen(self._command(self.programs() / "postgres", "-D", self.data, *options), stdout=log,
                                            stderr=log, cwd=self.folder)
        deadline = time.monotonic() + self.START_SECONDS_MAX
        ready = [str(self.programs() / "pg_isready"), "-q", "-h", "127.0.0.1", "-p", str(self.port)]
        while subprocess.run(ready).returncode != 0:
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError("PostgreSQL did not start:\n" + (self.folder / "log").read_text()[-2000:])
            time.sleep(0.05)

    def kill(self) -> None:
        """As if the power failed: the server and its children are killed, and nothing is written down."""
        children = subprocess.run(["ps", "-o", "pid=", "--ppid", str(self.process.pid)], capture_output=True, text=True).stdout
        for pid in [self.process.pid, *map(int, children.split())]:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        self.process.wait()
        self.process = None

    def stop(self) -> None:
        if self.process is None:
            return
        self.process.send_signal(signal.SIGINT)  # "fast": connections are ended
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.kill()
        self.process = None

    def __exit__(self, *exception) -> None:
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)
