"""Hosts (network namespaces) that share no folder, for tests of workers that are apart."""

import json
import os
import pathlib
import signal
import subprocess
import sys

from lib import elastic, hosts, runs
from lib.checks import wait_for


class Host:
    """One with a disk of its own at `run`, which lies at `disk` for who looks from outside."""

    def __init__(self, net: hosts.Network, name: str, root: pathlib.Path, key: str, settings: dict):
        self.net, self.name, self.key, self.settings, self.steady = net, name, key, settings, elastic.steady(root)
        self.run, self.disk, self.log = root / "run", root / f"disk-{name}", root / f"{name}.log"
        self.run.mkdir(exist_ok=True)
        self.disk.mkdir()
        self.process: subprocess.Popen | None = None

    def start(self, *extra: str, **variables: str) -> None:
        mount = ["unshare", "--mount", "sh", "-c", 'mount --bind "$1" "$2" && shift 2 && exec "$@"', "sh", self.disk, self.run]
        command = [*mount, *runs.arguments(self.run / "a", self.settings, *extra)]
        with open(self.log, "ab") as log:
            self.process = self.net[self.name].popen(command, cwd=runs.ROOT, stdout=log, stderr=log,
                                                     env=runs.environment(LINAC_RUN_KEY=self.key, **self.steady, **variables))

    def record(self) -> elastic.Record:
        return elastic.Record(self.disk / "a")

    def address(self) -> str:
        """To join at."""
        view = sorted((self.disk / "a" / "views").glob("*.json"))[-1]
        return view.name.split("-after-")[0] + "@" + json.loads(view.read_text())["members"][0]["address"]

    def kill(self) -> None:
        os.kill(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def text(self) -> str:
        return self.log.read_text()


def await_steps(host: Host, steps: int) -> None:
    def reached() -> bool:
        if host.process.poll() not in (None, 0):
            sys.exit(f"host {host.name} ends with exit status {host.process.poll()}:\n{host.text()[-3000:]}")
        return host.record().steps() >= steps
    wait_for(reached, f"step {steps} in the record of host {host.name}", 120)
