"""An agent of a service for a test.

    with Agent(service.url, token, "--slots", "cores=1") as agent: ...
"""

import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import threading
import time

from . import runs
from .processes import processes


class Agent:
    """Ends by SIGTERM with the block; its folder goes with it unless one is given."""

    def __init__(self, url: str, token: str, *options: str, folder: str | None = None):
        self.own_folder = folder is None
        self.folder = pathlib.Path(folder or tempfile.mkdtemp(prefix="linac-agent-"))
        self.words = [runs.LINAC, "agent", "--server", url, "--folder", str(self.folder), *options]
        self.environment = {**os.environ, "LINAC_TOKEN": token, "XDG_CONFIG_HOME": str(self.folder / "config")}
        self.process, self.output = None, ""

    def start(self) -> "Agent":
        self.log = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen(self.words, env=self.environment, stdout=self.log, stderr=subprocess.STDOUT, text=True)
        return self

    __enter__ = start

    def said(self) -> str:
        return os.pread(self.log.fileno(), 1 << 20, 0).decode()

    def waits_for(self, words: str, seconds: float = 30) -> None:
        end = time.monotonic() + seconds
        while words not in self.said():
            assert time.monotonic() < end and self.process.poll() is None, f"the agent does not say '{words}':\n{self.said()}"
            time.sleep(0.05)

    def ends(self, seconds: float = 30) -> int:
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"the agent does not end:\n{self.said()}") from None

    def drain(self, seconds: float = 30) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.ends(seconds)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def processes(self) -> list[int]:
        """Of jobs: those that have its folder on their command line."""
        return [pid for pid, words in processes() if pid != self.process.pid and str(self.folder) in "\0".join(words)]

    def __exit__(self, *_) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(timeout=30)
            except subprocess.TimeoutExpired:
                self.kill()
        end = time.monotonic() + 10
        while self.processes() and time.monotonic() < end:
            time.sleep(0.1)
        if self.own_folder:
            shutil.rmtree(self.folder, ignore_errors=True)


def in_parallel(*works) -> None:
    """Each in a thread; the first failure is raised when all have ended."""
    failures = []

    def carry_out(work):
        try:
            work()
        except BaseException as failure:  # noqa: BLE001
            failures.append(failure)

    threads = [threading.Thread(target=carry_out, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
