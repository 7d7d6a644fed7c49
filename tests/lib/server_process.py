"""A running service for a test: `with Service(database=url) as service: requests.get(service.url + ...)`.

Listens on a free port of 127.0.0.1, keeps its data in a temporary folder that goes with it, and is ended by its own process id.
"""

import os
import pathlib
import queue
import re
import shutil
import signal
import subprocess
import tempfile
import threading
import time

from . import runs
from .servers.postgresql import PostgreSQL
from .skips import skipped


class Service:
    START_SECONDS_MAX = 30

    def __init__(self, *options: str, database: str | None = None, data: str | None = None, listen: str = "127.0.0.1:0"):
        self.own_folder = data is None
        self.folder = pathlib.Path(data or tempfile.mkdtemp(prefix="linac-service-"))
        self.words = [runs.LINAC, "serve", "--data", str(self.folder), "--listen", listen, *options]
        if database:
            self.words += ["--db", database]
        self.process, self.url, self.token, self.lines, self.serving_since = None, None, None, [], 0.0

    def __enter__(self) -> "Service":
        self.url = None  # it may have been stopped, and begin once more
        self.process = subprocess.Popen(self.words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        arrived: queue.Queue = queue.Queue()
        threading.Thread(target=self._read, args=(arrived,), daemon=True).start()
        end = time.monotonic() + self.START_SECONDS_MAX
        while self.url is None:
            try:
                line = arrived.get(timeout=max(0.01, end - time.monotonic()))
            except queue.Empty:
                line = None
            if line is None:
                self.__exit__()
                raise RuntimeError("the service did not start:\n" + "".join(self.lines))
            if found := re.match(r"linac serves (\S+)", line):
                self.url, self.serving_since = found.group(1), time.monotonic()
        if "--no-auth" not in self.words:
            time.sleep(0.05)
            self.token = next((word for line in self.lines for word in re.findall(r"linac_\w+_\w+", line)), None)
        return self

    def _read(self, arrived: queue.Queue) -> None:
        for line in self.process.stdout:
            self.lines.append(line)
            arrived.put(line)
        arrived.put(None)

    def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=30)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def cpu_seconds(self) -> float:
        fields = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(") ", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def rss_mb(self) -> float:
        text = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+)", text).group(1)) / 1024

    def __exit__(self, *_) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(timeout=20)
            except subprocess.TimeoutExpired:
                self.kill()
        if self.own_folder:
            shutil.rmtree(self.folder, ignore_errors=True)


def databases():
    """Each database that the tests can have: name, context manager with .url (None: SQLite in the data folder)."""
    class Embedded:
        url = None

        def __enter__(self):
            return self

        def __exit__(self, *_):
            pass

    yield "sqlite", Embedded()
    if PostgreSQL.available():
        yield "postgresql", PostgreSQL()
    else:
        skipped("the half on PostgreSQL", "none is installed", "tests/servers/get.sh postgresql")
