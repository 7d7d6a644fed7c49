"""What servers of tests have in common: a process that listens on a port of 127.0.0.1, ended by its own process id."""

import os
import pathlib
import shutil
import socket
import subprocess
import time


def programs() -> pathlib.Path:
    """Where tests/servers/get.sh puts what is no package of the system."""
    return pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "linac-servers"


def start(words: list, port: int, log: pathlib.Path, seconds_max: float = 30, **settings) -> subprocess.Popen:
    """Once it listens. SystemExit with its log if it does not."""
    with open(log, "ab") as file:
        process = subprocess.Popen(words, stdout=file, stderr=file, **settings)
    end = time.monotonic() + seconds_max
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return process
        except OSError:
            if process.poll() is not None or time.monotonic() > end:
                process.kill()
                process.wait()
                raise SystemExit(f"{words[0]} does not start: {log.read_text(errors='replace')}") from None
            time.sleep(0.02)


class PortServer:
    """Its `process` and `folder` go with the block."""

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()

    def __exit__(self, *_) -> None:
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)
