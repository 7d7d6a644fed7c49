#!/usr/bin/env python3
"""Nothing hangs. A worker that is halted, one whose disk never answers, one whose disk is full: each is noticed within the stall
timeout and named with what it was doing, the run goes on without it, and the answer is that of the undisturbed run.

  hang_test.py [--long]      --long: what takes long and is no hang"""

import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile

from lib import elastic, runs
from lib.checks import check, wait_for
from lib.ports import free_port

STALL_S = 3
CLASSIFIER = {**elastic.CLASSIFIER, "train.epochs": 9, "distribution.restarts": 0, "distribution.stall_timeout_s": STALL_S}


class Case:
    """A run of three workers, one of which is about to fail; `disk` is what broken_disk.c reads. Until go_on() it does so many steps."""

    def __init__(self, root: pathlib.Path, name: str, library: pathlib.Path, settings: dict = CLASSIFIER, steps: int = 20):
        self.out, self.disk = root / name, root / f"{name}.disk"
        self.held = elastic.Held(root, name, steps + 1, library)
        self.run = elastic.Run(self.out, settings, 3, **self.held.variables, LINAC_TEST_DISK=str(self.disk))
        wait_for(lambda: self.run.steps() >= steps, "the first steps")
        self.members = self.run.members()

    def noticed(self, victim: int, limit_s: float) -> None:
        """Returns when the others go on in a view without it."""
        self.held.let_go()
        wait_for(lambda: victim not in self.run.members(), "a worker that hangs is excluded", limit_s)

    def waited(self, words: str) -> float:
        """The seconds that the log tells after these words."""
        return max(map(float, re.findall(words + r" ([\d.]+) s", self.log())), default=0.0)

    def log(self) -> str:
        return pathlib.Path(f"{self.out}.log").read_text()

    def needs(self, texts: list[str], what: str) -> None:
        missing = [text for text in texts if text not in self.log()]
        if missing:
            print(self.log()[-6000:])
        check(not missing, what + (f" (missing: {missing})" if missing else ""))


def halted(root: pathlib.Path, library: pathlib.Path, calm: pathlib.Path) -> None:
    case = Case(root, "halted", library)
    victim = case.members[1]
    case.run.kill(victim, signal.SIGSTOP)
    case.noticed(victim, 10 * STALL_S)
    seconds = case.waited("nothing heard for")
    check(seconds > STALL_S / 2, f"a halted worker is excluded after {seconds:.1f} s (stall timeout {STALL_S} s)")
    case.needs(["lost rank 1", f"process {victim}", "nothing heard for", "last heard: ", "stopped"],
               "the log names rank, process, what it was doing, and where it stands")
    os.kill(victim, signal.SIGCONT)
    wait_for(lambda: victim in case.run.members() or case.run.over(), "a worker that goes on joins again")
    check(case.run.end() == 0, "the run ends well")
    elastic.same_end(calm, case.out, "halted and going on")


def stuck(root: pathlib.Path, library: pathlib.Path, calm: pathlib.Path) -> None:
    case = Case(root, "stuck", library)
    case.disk.write_text(f"{case.members[0]} stuck")
    case.noticed(case.members[0], 10 * STALL_S)
    seconds = case.waited("rank 0 has made no progress for")
    check(seconds > STALL_S / 2, f"a writer whose fsync never returns is gone after {seconds:.1f} s")
    case.needs(["rank 0 has made no progress for", "checkpoint", "fsync", "blocked in read"],
               "the log has the phase and the stack of the thread that waits for the disk")
    check(case.run.end() == 0, "another worker writes the record and the run ends well")
    elastic.same_end(calm, case.out, "stuck disk")


# Which has the highest loss: the first epoch is the best one, and nobody writes another.
FIRST_IS_BEST = {**CLASSIFIER, "train.epochs": 4, "checkpoint.best_by": "loss", "checkpoint.best_mode": "max", "train.early_stopping.restore_best": "true",
                 "train.early_stopping.mode": "max"}


def lost_best(root: pathlib.Path, library: pathlib.Path) -> None:
    """Rank 0 is killed, or halted for a while, in the midst of best.safetensors, while the others train on."""
    calm = root / "first-best"
    runs.run(calm, FIRST_IS_BEST, "--workers", "2")
    for name, number in (("killed", signal.SIGKILL), ("halted", signal.SIGSTOP)):
        case = Case(root, f"best-{name}", library, FIRST_IS_BEST, steps=1)
        victim = case.members[0]
        case.disk.write_text(f"{victim} best")
        case.held.let_go()
        wait_for(lambda: list((case.out / "checkpoints").glob("best.*.tmp.*")), "the best checkpoint under way")
        case.run.kill(victim, number)
        case.noticed(victim, 10 * STALL_S)
        case.disk.write_text("0 well")
        if number == signal.SIGSTOP:
            os.kill(victim, signal.SIGCONT)
        check(case.run.end() == 0, f"a writer of the best checkpoint that is {name}: the run ends well")
        for file in ("checkpoints/best.safetensors", "models/model.keras"):
            check((case.out / file).read_bytes() == (calm / file).read_bytes(), f"and {file} is that of the undisturbed run, byte for byte")
        check(not half_written(case.out), "nothing half written is left")
        elastic.same_end(calm, case.out, f"best {name}")


def half_written(out: pathlib.Path) -> list[pathlib.Path]:
    return list((out / "checkpoints").glob("*.tmp.*"))


def slow(root: pathlib.Path, library: pathlib.Path) -> None:
    """A lone worker, whose disk takes seconds for a checkpoint."""
    out, disk, settings = root / "slow", root / "slow.disk", {**CLASSIFIER, "checkpoint.every_steps": 4}

    def begin(way: str, *extra: str) -> subprocess.Popen:
        process = runs.start(out, settings, "--workers", "1", *extra, **elastic.steady(root, library), LINAC_TEST_DISK=str(disk))
        disk.write_text(f"{process.pid} {way}")
        wait_for(lambda: half_written(out) or process.poll() is not None, "a checkpoint under way")
        return process

    process = begin("held")
    file = half_written(out)[0]
    after = int(file.name.removeprefix("step-").split(".")[0])
    wait_for(lambda: elastic.Record(out).steps() >= after + 3 or process.poll() is not None, "further steps", 30)
    check(process.poll() is None and file.exists(), "the training goes on while a checkpoint is written")
    disk.write_text(f"{process.pid} slow")
    process.send_signal(signal.SIGTERM)
    status, done = process.wait(timeout=120), elastic.Record(out).steps()
    check(status == 75 and runs.newest_checkpoint(out).name == f"step-{done:010}.safetensors" and not half_written(out),
          f"SIGTERM meanwhile: exit status {status}, and the last step is in a checkpoint")
    runs.kill_tree(begin("slow", "--resume"))
    check(bool(half_written(out)), "kill -9 in the midst of a checkpoint leaves it half written")
    disk.unlink()
    text = runs.run(out, settings, "--resume", "--workers", "1")
    check(f"step-{done:010}.safetensors" in text and not half_written(out), "the one before is whole, a resume goes on from it and clears the rest away")
    runs.run(root / "slow-calm", settings, "--workers", "2")  # the job, which a checkpoint holds, is another one
    elastic.same_end(root / "slow-calm", out, "a slow disk, SIGTERM and kill -9 while checkpoints are written")


def slow_at_the_end_of_an_epoch(root: pathlib.Path, library: pathlib.Path) -> None:
    """What an epoch leaves, pictures among it, goes to a disk beside the training."""
    out, disk, held = root / "epochs", root / "epochs.disk", elastic.Held(root, "epochs", 2, library)
    process = runs.start(out, {**CLASSIFIER, "train.epochs": 2}, "--workers", "1", **held.variables, LINAC_TEST_DISK=str(disk))
    wait_for(lambda: elastic.Record(out).steps() >= 1 or process.poll() is not None, "the first step")
    disk.write_text(f"{process.pid} all")
    held.let_go()
    wait_for(lambda: elastic.Record(out).steps() >= 12 or process.poll() is not None, "steps of the second epoch", 30)
    check(process.poll() is None and not (out / "images" / "losses.png").exists(), "no fsync returns: the second epoch begins before the picture of the first is there")
    disk.unlink()
    check(process.wait(timeout=120) == 0, "and ends well when they do")
    check((out / "images" / "losses.png").read_bytes().startswith(b"\x89PNG") and not list((out / "images").glob("*.tmp.*")), "the picture is there at the end")


def in_the_way(root: pathlib.Path) -> None:
    out = root / "in-the-way"
    process = runs.start(out, CLASSIFIER, "--workers", "1", **elastic.steady(root))
    wait_for(lambda: elastic.Record(out).steps() >= 1, "the first step")
    claim, view = next(out.glob(".linac-writer-*")).name.removeprefix(".linac-writer-").rsplit("-", 1)
    for step in range(1, 200):
        (out / "checkpoints" / f"step-{step:010}.safetensors.tmp.{process.pid}.{claim}-{int(view)}").mkdir()
    status, log = process.wait(timeout=60), pathlib.Path(f"{out}.log").read_text()
    check(status == 4 and "checkpoints/step-" in log and ".tmp." in log, f"a checkpoint that cannot be written ends a lone worker: exit status {status}")
    check(runs.lines(out)[-1]["status"] == "failed", "its record says so")


def full(root: pathlib.Path, library: pathlib.Path, calm: pathlib.Path) -> None:
    case = Case(root, "full", library)
    case.disk.write_text(f"{case.members[0]} full")
    case.noticed(case.members[0], 30)
    case.needs(["it left: ", "No space left on device"], "the log says why it left")
    check(case.run.end() == 0, "another worker writes the record and the run ends well")
    elastic.same_end(calm, case.out, "full disk")


def draft_that_hangs(case: Case, rank: int) -> None:
    """A FIFO that nobody reads, in place of the file in which this rank would write the next view."""
    views = case.out / "views"
    newest = sorted(views.glob("*.json"))[-1]
    view = json.loads(newest.read_text())
    member = view["members"][rank]
    name = f"{newest.name.split('-after-')[0]}-after-{view['number']:06}.json"
    os.mkfifo(views / f".{name}-{member['key']:016x}.tmp.{member['pid']}")


def unwritten(root: pathlib.Path, library: pathlib.Path, calm: pathlib.Path) -> None:
    case = Case(root, "unwritten", library)
    draft_that_hangs(case, 0)
    case.run.kill(case.members[2])
    case.noticed(case.members[0], 10 * STALL_S)
    case.needs(["rank 0 has made no progress for", "writing down the view after number 1"], "the log says which file it waited for")
    check(case.run.end(60) == 0, "the others go on and the run ends well")
    elastic.same_end(calm, case.out, "a view that is never written")


def nobody_writes(root: pathlib.Path, library: pathlib.Path) -> None:
    case = Case(root, "nobody", library, {**CLASSIFIER, "train.epochs": 1000})
    for rank in (0, 1):
        draft_that_hangs(case, rank)
    case.run.kill(case.members[2])
    case.held.let_go()
    status = case.run.end(20 * STALL_S)
    check(status == 8, f"a disk that answers to nobody ends the run with status {status}")
    check(case.log().rstrip().count("writing down the view after number 1") >= 2 and "linac: rank 1 ended with exit code 8" in case.log(),
          "and each worker, and the launcher, says what it waited for")


def unreadable(root: pathlib.Path, library: pathlib.Path) -> None:
    """The reading thread of a worker waits for its data file for ever."""
    settings = {**runs.SMALL, "train.epochs": 1, "train.steps_per_epoch": 6, "data.test": "[]", "train.replicas": 3, "data.prefetch": 1,
                "distribution.restarts": 0, "distribution.stall_timeout_s": 6}
    case = Case(root, "unreadable", library, settings, steps=1)
    case.disk.write_text(f"{case.members[2]} stuck")
    case.noticed(case.members[2], 90)
    case.needs(["rank 2 has made no progress for", "input", "pread64", "Dataset"], "the log has the phase and the stack of the reader")
    check(case.run.end() == 0, "the run ends well")


def long_test(root: pathlib.Path) -> None:
    """Its parts are short, and the whole takes longer than the stall timeout."""
    settings = {**runs.SMALL, "train.epochs": 1, "train.steps_per_epoch": 1, "train.replicas": 2, "data.min_sum": 0, "model.discriminator_filters": "[8, 4, 4, 4]",
                "distribution.restarts": 0, "distribution.stall_timeout_s": 5, "data.test": "[data/showers-test.h5, data/showers-test.h5]"}
    runs.run(root / "long", settings, "--workers", "2")
    seconds = sum(account["phases"]["test"]["wall_s"] for account in runs.lines(root / "long")[-1]["workers"]) / 2
    check(seconds > 5, f"a test of {seconds:.1f} s is no hang for a stall timeout of 5 s")


def unopened(root: pathlib.Path, library: pathlib.Path) -> None:
    """The data of one worker never come, before the first step."""
    settings = {**runs.SMALL, "train.max_steps": 1, "train.replicas": 2, "data.test": "[]", "distribution.stall_timeout_s": 1.5}
    disk, port, workers = root / "unopened.disk", free_port(), []
    for rank in range(2):
        variables = runs.placed(rank, 2, port, local_rank=rank)
        with open(root / f"unopened.{rank}.log", "wb") as log:
            workers.append(subprocess.Popen(runs.arguments(root / "unopened", settings), cwd=runs.ROOT, stdout=log, stderr=log, env=runs.environment(
                **variables, LD_PRELOAD=str(library), LINAC_TEST_DISK=str(disk), LINAC_CACHE=str(root / f"cache{rank}"))))
    disk.write_text(f"{workers[1].pid} stuck")
    status = [worker.wait(timeout=120) for worker in workers]
    text = (root / "unopened.1.log").read_text()
    check(status == [0, 8] and "opening the data and the model" in text and "pread64" in text,
          f"a worker whose data never open says so and ends, the other one goes on: exit status {status}")


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="linac-hang-") as folder:
        root = pathlib.Path(folder)
        if "--long" in sys.argv:
            long_test(root)
            return
        library = root / "broken_disk.so"
        subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", library, "tests/train/broken_disk.c", "-ldl"], cwd=runs.ROOT, check=True)
        runs.run(root / "calm", CLASSIFIER, "--workers", "2")
        halted(root, library, root / "calm")
        lost_best(root, library)
        stuck(root, library, root / "calm")
        slow(root, library)
        slow_at_the_end_of_an_epoch(root, library)
        in_the_way(root)
        full(root, library, root / "calm")
        unwritten(root, library, root / "calm")
        nobody_writes(root, library)
        unreadable(root, library)
        unopened(root, library)


main()
