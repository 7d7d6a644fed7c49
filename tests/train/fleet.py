"""The workers of a run on several hosts (network namespaces), which share one folder or have a disk each: started, revived as they fall,
resumed when all have ended; what the newest view and the growing record say; how every worker ended. For use by one thread."""

import collections
import json
import os
import pathlib
import random
import secrets
import signal
import subprocess
import time

from lib import runs

LIVING_WANTED = 5
STARTING_MAX = 2  # newcomers at a time
STEP = b'"kind":"step"'
# Exit statuses of a worker that gives itself up. 8: it did not get to run for the stall timeout. 6: the run went on without it, or excluded
# it. 9: it found no majority for twice the stall timeout.
GAVE_UP = (6, 8, 9)


class Tail:
    """Counts the steps of a record while it grows."""

    def __init__(self, path: pathlib.Path):
        self.path, self.inode, self.at, self.count = path, 0, 0, 0

    def steps(self) -> int:
        try:
            file = open(self.path, "rb")
        except FileNotFoundError:
            return self.count
        with file:
            status = os.fstat(file.fileno())
            if status.st_ino != self.inode or status.st_size < self.at:  # another worker's copy
                self.inode, self.at, self.count = status.st_ino, 0, 0
            if status.st_size > self.at:
                file.seek(self.at)
                text = file.read()
                whole = text[:text.rfind(b"\n") + 1]
                self.at, self.count = self.at + len(whole), self.count + whole.count(STEP)
        return self.count


class Views:
    """The newest view that a folder has."""

    def __init__(self, folder: pathlib.Path):
        self.folder, self.changed, self.newest, self.name, self.number = folder, 0, None, "", -1

    def read(self) -> None:
        try:
            changed = os.stat(self.folder).st_mtime_ns
            if changed == self.changed:
                return
            names = sorted(name for name in os.listdir(self.folder) if name.endswith(".json"))
            if names:
                self.newest = json.loads((self.folder / names[-1]).read_text())
                self.name, self.number = names[-1].split("-after-")[0], self.newest["number"]
                self.changed = changed
        except (FileNotFoundError, json.JSONDecodeError):
            pass  # being made


class Worker:
    def __init__(self, process: subprocess.Popen, host: str, joins: bool):
        self.process, self.host, self.joins = process, host, joins
        self.pid, self.began = process.pid, time.monotonic()
        self.killed = self.told_to_leave = False


class Fleet:
    def __init__(self, net, root: pathlib.Path, name: str, settings: dict, apart: bool, dice: random.Random):
        self.net, self.settings, self.apart, self.dice = net, settings, apart, dice
        self.log = root / f"{name}.log"
        self.mount = root / name
        self.mount.mkdir()
        self.out = self.mount / "a"
        self.disks = {host.name: root / f"{name}-{host.name}" if apart else self.mount for host in net}
        for disk in set(self.disks.values()) - {self.mount}:
            disk.mkdir()
        self.key = secrets.token_hex(32)
        folders = sorted({disk / "a" for disk in self.disks.values()})
        self.tails = [Tail(folder / "metrics.jsonl") for folder in folders]
        self.views = [Views(folder / "views") for folder in folders]
        self.workers: dict[int, Worker] = {}  # that have not ended
        self.ends: collections.Counter = collections.Counter()  # by what they did, and in which way they ended
        self.wrong: list[str] = []
        self.may_stop = False  # one was told to leave: where it has lost the others meanwhile, the run stops after a checkpoint
        self.well: set[str] = set()  # hosts with a worker that came to the run's end
        self.joins = self.resumes = 0
        self.reviving = True

    def start(self, port: int, *extra: str) -> None:
        """A worker on each host, as a launcher of several machines would."""
        hosts = list(self.net)
        for rank, host in enumerate(hosts):
            self._start(host, runs.arguments(self.out, self.settings, *extra), runs.placed(rank, len(hosts), port, hosts[0].address) | {"LOCAL_WORLD_SIZE": "1"})

    def resume(self, port: int) -> None:
        self.resumes += 1
        self.may_stop = False
        self.start(port, "--resume")

    def join(self) -> Worker | None:
        """One more worker, on the host that has fewest."""
        load = collections.Counter(worker.host for worker in self.workers.values())
        least = min(load[host.name] for host in self.net)
        host = self.dice.choice([host for host in self.net if load[host.name] == least])
        if self.apart:
            view = self.view()
            present = [member for member in view.newest["members"] if member["pid"] in self.workers] if view.newest else []
            if not present:
                return None
            command = runs.arguments(self.out, self.settings, "--join", f"{view.name}@{self.dice.choice(present)['address']}")
        else:
            command = [runs.LINAC, "train", "--join", str(self.out)]
        self.joins += 1
        return self._start(host, command, {}, joins=True)

    def _start(self, host, command: list, variables: dict, joins: bool = False) -> Worker:
        if self.apart:
            variables = {**variables, "LINAC_RUN_KEY": self.key}
            command = ["unshare", "--mount", "sh", "-c", 'mount --bind "$1" "$2" && shift 2 && exec "$@"', "sh", self.disks[host.name], self.mount, *command]
        with open(self.log, "ab") as log:
            process = host.popen(command, cwd=runs.ROOT, env=runs.environment(**variables), stdout=log, stderr=log)
        host.children.remove(process)  # or they would pile up, by thousands; close() kills what is in the namespace
        worker = Worker(process, host.name, joins)
        self.workers[worker.pid] = worker
        return worker

    def view(self) -> Views:
        for view in self.views:
            view.read()
        return max(self.views, key=lambda view: view.number)

    def members(self) -> list[dict]:
        view = self.view()
        return view.newest["members"] if view.newest else []

    def living(self) -> list[Worker]:
        """Members of the latest view whose process is there, the most senior first."""
        found = [self.workers.get(member["pid"]) for member in self.members()]
        return [worker for worker in found if worker and not worker.killed]

    def starting(self) -> list[Worker]:
        members = {member["pid"] for member in self.members()}
        return [worker for worker in self.workers.values() if worker.joins and worker.pid not in members and not worker.killed]

    def steps(self) -> int:
        return max(tail.steps() for tail in self.tails)

    def kill(self, worker: Worker) -> None:
        worker.killed = True
        os.kill(worker.pid, signal.SIGKILL)

    def tell_to_leave(self, worker: Worker) -> None:
        worker.told_to_leave = self.may_stop = True
        os.kill(worker.pid, signal.SIGTERM)

    def tick(self) -> None:
        """Sees who has ended, and starts newcomers in the place of the lost."""
        for worker in list(self.workers.values()):
            code = worker.process.poll()
            if code is not None:
                self._ended(worker, code)
        if self.reviving and self.living() and len(self.living()) + len(self.starting()) < LIVING_WANTED and len(self.starting()) < STARTING_MAX:
            self.join()

    def _ended(self, worker: Worker, code: int) -> None:
        del self.workers[worker.pid]
        if code == 0:
            self.well.add(worker.host)
        good = code == 0 or code in GAVE_UP or (code == -signal.SIGKILL and worker.killed) or (code == 75 and self.may_stop)
        self.ends[str(code)] += 1
        if not good:
            self.wrong.append(f"process {worker.pid} on host {worker.host} ends with exit status {code}")

    def over(self) -> bool:
        return not self.workers

    def records(self) -> list[pathlib.Path]:
        """The folders that must hold the whole run now."""
        return sorted({self.disks[host] / "a" for host in self.well})

    def end(self) -> None:
        """Kills whoever is left."""
        for worker in self.workers.values():
            worker.process.kill()
            worker.process.wait()
