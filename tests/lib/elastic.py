"""A run whose workers come and go, and what it is compared with."""

import json
import os
import pathlib
import signal
import subprocess

from . import runs
from .checks import check

# Steps of some 10 ms: one update each. At full size they are of some 50 ms, and fill the time between faults themselves. And steps of
# seconds, four updates each, that are interrupted in their midst.
AT_FULL_SIZE = {"job": "examples/topology.yaml", "train.replicas": 8, "train.batch": 10, "checkpoint.keep": 2}
CLASSIFIER = AT_FULL_SIZE | runs.SMALL_CLASSIFIER
GAN = {**runs.SMALL, "train.epochs": 1, "train.steps_per_epoch": 12, "train.optimizer.lr": 1e-5}


STEP_MS = 60


def steady(folder: pathlib.Path, *libraries: pathlib.Path, step_ms: int = STEP_MS) -> dict[str, str]:
    """Variables of a run that is disturbed while it trains: each of its steps takes so much more, in which nothing is computed, and
    faults find it under way however fast the machine is. `libraries` are preloaded as well."""
    library = folder / "steady_steps.so"
    if not library.exists():
        subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", library, "tests/train/steady_steps.c", "-ldl"], cwd=runs.ROOT, check=True)
    return {"LD_PRELOAD": ":".join(map(str, (*libraries, library))), "LINAC_TEST_STEP_MS": str(step_ms)}


class Held:
    """Variables of a run that stands before it has written the line of step `step`, until it is let go: nothing that a test does meanwhile
    comes too late, however slow the test is."""

    def __init__(self, folder: pathlib.Path, name: str, step: int, *libraries: pathlib.Path):
        self.file = folder / f"{name}.held"
        self.file.write_text(f"{step}\n")
        self.variables = steady(folder, *libraries) | {"LINAC_TEST_HELD": str(self.file)}

    def let_go(self) -> None:
        self.file.unlink(missing_ok=True)


class Record:
    """What a run's folder says of it."""

    def __init__(self, out: pathlib.Path):
        self.out = out
        self.dead: set[int] = set()

    def members(self) -> list[int]:
        """Process ids of the latest view, the most senior first, without those that a test has killed."""
        views = sorted((self.out / "views").glob("*.json"), key=lambda path: path.name)
        return [member["pid"] for member in json.loads(views[-1].read_text())["members"] if member["pid"] not in self.dead] if views else []

    def steps(self) -> int:
        return runs.steps_so_far(self.out)


class Run(Record):
    """A run under test, its workers by process id."""

    def __init__(self, out: pathlib.Path, settings: dict, workers: int, **variables: str):
        super().__init__(out)
        self.variables = variables
        self.launcher = runs.start(out, settings, "--workers", str(workers), **variables)
        self.newcomers: list[subprocess.Popen] = []

    def kill(self, pid: int, number: int = signal.SIGKILL) -> None:
        os.kill(pid, number)
        if number == signal.SIGKILL:
            self.dead.add(pid)

    def join(self) -> None:
        with open(f"{self.out}.log", "ab") as log:
            self.newcomers.append(subprocess.Popen([runs.LINAC, "train", "--join", str(self.out)], cwd="/",
                                                   env=runs.environment(**self.variables), stdout=log, stderr=log))

    def over(self) -> bool:
        return self.launcher.poll() is not None and all(one.poll() is not None for one in self.newcomers)

    def end(self, limit_s: float = 600) -> int:
        """The launcher's exit status, and that of newcomers must be 0 unless they were killed."""
        status = self.launcher.wait(timeout=limit_s)
        for one in self.newcomers:
            code = one.wait(timeout=60)
            check(code == 0 or one.pid in self.dead, f"a newcomer ends with exit status {code}")
        return status


def same_losses(reference: pathlib.Path, other: pathlib.Path) -> bool:
    """Whether both records have the same steps and epochs; where not, prints what is there."""
    expected, found = runs.losses(reference), runs.losses(other)
    first = next((i for i, (a, b) in enumerate(zip(expected, found)) if a != b), min(len(expected), len(found)))
    for name, lines in (("expected", expected), ("found", found)):
        if expected != found:
            print(f"{name} {len(lines)} records, from {first}: {json.dumps(lines[max(0, first - 1):first + 2])}")
    return expected == found


def same_checkpoint(reference: pathlib.Path, other: pathlib.Path) -> bool:
    """Whether the newest ones have the same name and bytes."""
    a, b = runs.newest_checkpoint(reference), runs.newest_checkpoint(other)
    return a.name == b.name and a.read_bytes() == b.read_bytes()


def same_end(reference: pathlib.Path, other: pathlib.Path, what: str) -> None:
    check(same_losses(reference, other), f"{what}: every step and epoch once, with the same losses")
    check(same_checkpoint(reference, other), f"{what}: {runs.newest_checkpoint(reference).name} is the same, byte for byte")
