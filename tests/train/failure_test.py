#!/usr/bin/env python3
"""What happens when things go wrong: collapse, rollback, a signal, a damaged checkpoint, workers that disagree, foreign launchers.

  failure_test.py [--long]      --long: workers whose files disagree, and checkpoints of other runs"""

import fcntl
import hmac
import json
import os
import pathlib
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import zipfile

from lib import runs
from lib.checks import check, wait_for
from lib.elastic import CLASSIFIER, Held, Run, same_end, steady
from lib.ports import free_port

STALL_S = 4
TINY = {**runs.SMALL, "train.replicas": 2, "train.steps_per_epoch": 2, "data.test": "[]"}
STEPS = 4  # of two epochs
# What does not depend on the network is shown by the classifier, of which a run computes a tenth.
BRIEF = {**CLASSIFIER, "train.replicas": 2, "train.epochs": 2, "train.steps_per_epoch": 2, "data.test": "[]", "checkpoint.best_by": "loss", "checkpoint.every_steps": 1}
SHORT = {**CLASSIFIER, "train.replicas": 2, "train.epochs": 1, "train.steps_per_epoch": 6, "data.test": "[]", "checkpoint.best_by": "loss"}


def claimed(root: pathlib.Path) -> None:
    """Two processes in one folder: the second one is refused, whenever it comes, unless it is to take over."""
    settings = {**CLASSIFIER, "train.epochs": 400}
    short = {**CLASSIFIER, "train.epochs": 2}
    for workers in ("1", "2"):
        out = root / f"claimed-{workers}"
        first = runs.start(out, settings, "--workers", workers, **steady(root))
        runs.wait_for_steps(out, first, 2)
        text = runs.run(out, settings, "--resume", "--workers", workers, status=2)
        check(f"process {first.pid} on" in text and "--take-over" in text and first.poll() is None, f"{workers}: a second --resume is refused, and told who works there")
        runs.kill_tree(first)
        again = runs.start(out, settings, "--resume", "--workers", workers, **steady(root))
        done = runs.steps_so_far(out)
        runs.wait_for_steps(out, again, done + 2)
        check(again.poll() is None, f"{workers}: kill -9 ends the claim at once")
        third = runs.start(out, settings, "--resume", "--workers", workers, "--take-over", **steady(root))
        check(again.wait(timeout=60) == 2, f"{workers}: who had the run ends with status 2")
        check("was taken over by process" in pathlib.Path(f"{out}.log").read_text(), "and says why")
        done = runs.steps_so_far(out)
        runs.wait_for_steps(out, third, done + 2)
        third.send_signal(signal.SIGTERM)
        check(third.wait(timeout=60) == 75, f"{workers}: --take-over goes on")
        steps = [line["global_step"] for line in runs.lines(out) if line["kind"] == "step"]
        check(steps == list(range(1, len(steps) + 1)), "each step is in the record once")
    out = root / "at-once"
    both = [runs.start(out, short, "--workers", "1") for _ in range(2)]
    check(sorted(one.wait(timeout=60) for one in both) == [0, 2], "of two that start at the same moment one is refused")
    losses = runs.losses(out)
    check(runs.lines(out)[-1]["status"] == "succeeded", "and the other one's record is whole")
    both = [runs.start(out, short, "--workers", "1", "--resume") for _ in range(2)]
    status = [one.wait(timeout=60) for one in both]
    check(0 in status and set(status) <= {0, 2} and runs.losses(out) == losses, "two that resume a complete run at the same moment leave its record as it is")


def collapse(root: pathlib.Path) -> None:
    wild = {**TINY, "train.optimizer.lr": "1e18"}
    text = runs.run(root / "collapse", wild, "--workers", "2", status=5)
    check("the training collapsed" in text, "a collapsed run ends on all workers with exit status 5 and says so")
    check("there is no checkpoint yet" in text and "try train.collapse.action=rollback" in text, "collapsed in the first step: no checkpoint is promised")
    end = runs.lines(root / "collapse")[-1]
    check(end["kind"] == "end" and end["status"] == "failed" and len(end["workers"]) >= 1, "its record ends with that, and with an account")
    text = runs.run(root / "rollback", {**wild, "train.collapse.action": "rollback", "train.collapse.lr_factor": "1e-21"}, "--workers", "2")
    check("back to epoch 1, step 0" in text, "rollback returns to the last good state and goes on")
    kinds = [line["kind"] for line in runs.lines(root / "rollback")]
    text = runs.run(root / "again", {**wild, "train.collapse.action": "rollback", "train.collapse.lr_factor": "1"}, "--workers", "2", status=5)
    check("collapsed again after 1 rollback:" in text and "action=rollback" not in text, "after a rollback it is not advised once more")
    check(kinds.count("rollback") == 1 and kinds.count("step") == STEPS, "the record holds the rollback and every step once")


def signalled(root: pathlib.Path) -> None:
    out, held = root / "signal", Held(root, "signal", STEPS)
    process = runs.start(out, TINY, "--workers", "2", **held.variables)
    runs.wait_for_steps(out, process, 1)
    process.send_signal(signal.SIGTERM)
    held.let_go()
    check(process.wait(timeout=120) == 75, "SIGTERM: the run ends with exit status 75")
    done = [line for line in runs.lines(out) if line["kind"] == "step"]
    check(runs.newest_checkpoint(out).name == f"step-{len(done):010}.safetensors", "SIGTERM: the last finished step is in a checkpoint")
    runs.run(out, TINY, "--resume", "--workers", "1")
    runs.run(root / "unstopped", TINY, "--workers", "2")
    runs.run(root / "calm", BRIEF, "--workers", "2")
    check(runs.losses(out) == runs.losses(root / "unstopped"), "interrupted and resumed: every loss as without the signal")


def stopped_in_the_first_moments(root: pathlib.Path) -> None:
    """A signal while the program is still being loaded: to the only worker, and to the launcher once its first worker is there."""
    settings = {**SHORT, "train.epochs": 4000}
    for number, later_s in ((signal.SIGTERM, 0), (signal.SIGTERM, 0.1), (signal.SIGINT, 0.2), (signal.SIGUSR1, 0.3)):
        out = root / f"first-moments-{later_s}"
        process = runs.start(out, settings, "--workers", "1")
        wait_for(lambda: os.readlink(f"/proc/{process.pid}/exe").endswith("/linac-compute"), "the program begins")
        time.sleep(later_s)
        process.send_signal(number)
        status = process.wait(timeout=60)
        said = pathlib.Path(f"{out}.log").read_text()
        check(status == 75 and "stopped by a signal" in said, f"{signal.Signals(number).name} {later_s} s after the program begins: status {status}")
    process = runs.start(root / "first-worker", settings, "--workers", "2")
    workers = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children")
    wait_for(lambda: bool(workers.read_text().split()), "the first worker")
    process.send_signal(signal.SIGTERM)
    check(process.wait(timeout=60) == 75, "SIGTERM to the launcher while its workers are being loaded: status 75")


def stopped_at_start(root: pathlib.Path) -> None:
    """SIGTERM to a worker that waits at its start: for another one, for who packs the data, for one that reads them."""
    caches = [root / "first-cache", root / "second-cache"]
    for cache in caches:
        runs.run(root / cache.name.replace("cache", "run"), {**SHORT, "train.max_steps": 1}, LINAC_CACHE=str(cache))
    port = free_port()

    def start(rank: int, out: str) -> subprocess.Popen:
        variables = runs.placed(rank, 2, port, local_rank=rank) | {"LINAC_CACHE": str(caches[rank])}
        return runs.start(root / out, SHORT, **variables)

    def heeds(process: subprocess.Popen) -> bool:
        caught = re.search(r"SigCgt:\s*([0-9a-f]+)", pathlib.Path(f"/proc/{process.pid}/status").read_text())
        return bool(int(caught[1], 16) >> (signal.SIGTERM - 1) & 1)

    def stop(process: subprocess.Popen, what: str) -> None:
        wait_for(lambda: heeds(process), "a worker begins")
        time.sleep(0.5)
        process.send_signal(signal.SIGTERM)
        status = process.wait(timeout=60)  # a worker waits five minutes for another one
        check(status == 75, f"{what}: SIGTERM ends it before what it waits for has come: exit status {status}")

    for rank in (0, 1):
        stop(start(rank, f"waits-{rank}"), f"rank {rank} waits for the other one")
    locks = [open(lock, "ab") for lock in (caches[0] / "tables").glob("*.lock")]
    for lock in locks:
        fcntl.flock(lock, fcntl.LOCK_EX)
    for copy in (caches[0] / "tables").glob("*.pack"):
        copy.unlink()
    both = [start(rank, "waits") for rank in (0, 1)]
    log = root / "waits.log"
    wait_for(lambda: log.read_text().count("view 1: 2 workers") == 2, "both have met")
    stop(both[1], "rank 1 waits for rank 0, which has no data yet")
    stop(both[0], "rank 0 waits for who packs the data")
    check(locks and log.read_text().count("before the training began") == 2, "and both say so")


def damaged(root: pathlib.Path) -> None:
    out = root / "calm"
    newest = runs.newest_checkpoint(out)
    wanted = newest.read_bytes()
    newest.write_bytes(wanted[: len(wanted) // 2])
    text = runs.run(out, BRIEF, "--resume", "--workers", "1")
    check("damaged" in text and "resuming from" in text, "a truncated newest checkpoint is reported and the one before is used")
    check(runs.newest_checkpoint(out).read_bytes() == wanted, "and the end is the same, byte for byte")


def holes(root: pathlib.Path) -> None:
    """Lines of the record are damaged, and then all of it is gone: a resume says which steps are lost."""
    out = root / "holes"
    runs.run(out, {**SHORT, "train.max_steps": 4})
    record = out / "metrics.jsonl"
    lines = record.read_text().splitlines(keepends=True)
    at = [i for i, line in enumerate(lines) if '"kind":"step"' in line]
    record.write_text("".join(lines[:at[1]] + ["\0garbage\n"] + lines[at[3]:]))
    text = runs.run(out, {**SHORT, "train.max_steps": 5}, "--resume")
    check("the lines of steps 2 to 3 are lost" in text, "a resume tells of the steps that its record lacks")
    text = runs.run(out, {**SHORT, "train.max_steps": 5}, "--resume")
    gaps = [json.loads(line) for line in record.read_text().splitlines() if '"kind":"gap"' in line]
    check("are lost" not in text and gaps == [{"kind": "gap", "first": 2, "last": 3, "steps": 2, "global_step": 4}], f"once, and marks them in it: {gaps}")
    said = runs.linac("report", out)
    check("has a gap: the lines of steps 2 to 3 are lost" in said, "the report says so")
    record.unlink()
    text = runs.run(out, SHORT, "--resume")
    check("the lines of steps 1 to 5 are lost" in text and [line["kind"] for line in runs.lines(out)][:2] == ["gap", "view"], "where all of it is gone as well")


def foreign(root: pathlib.Path) -> None:
    """The checkpoint of another run lies among those of a run; a branch may begin with one."""
    mine, other, branch = root / "mine", root / "other", root / "branch"
    for out, seed in ((mine, 1), (other, 7)):
        runs.run(out, {**SHORT, "train.max_steps": 3, "train.seed": seed})
    stray = mine / "checkpoints" / "step-0000000009.safetensors"
    shutil.copy(runs.newest_checkpoint(other), stray)
    text = runs.run(mine, {**SHORT, "train.seed": 1}, "--resume", status=2)
    check(f"{stray} is of another run" in text and "--branch" in text, "a resume refuses the checkpoint of another run, and says the way out")
    stray.unlink()
    lower = {**SHORT, "train.seed": 1, "train.optimizer.lr": 1e-5}
    runs.run(branch, {**lower, "train.max_steps": 4}, "--branch", str(mine))
    runs.run(mine, {**SHORT, "train.seed": 1}, "--resume")
    ids = [json.loads((out / "run.json").read_text()) for out in (mine, branch)]
    check(ids[0]["id"] == ids[1]["branch_of"] != ids[1]["id"] and "branch_of" not in ids[0], "a branch has an id of its own")
    runs.newest_checkpoint(branch).unlink()
    text = runs.run(branch, lower, "--resume")
    check("step 3" in text and "are lost" not in text, "it goes on from its first checkpoint, that of the other run")
    shutil.copy(runs.newest_checkpoint(branch), mine / "checkpoints" / "step-0000000009.safetensors")
    runs.run(mine, {**SHORT, "train.seed": 1}, "--resume", status=2)


def damaged_copy(root: pathlib.Path) -> None:
    """The values of the packed copies in the cache are damaged: they are packed anew."""
    cache = {"LINAC_CACHE": str(root / "cache")}
    runs.run(root / "packed", SHORT, **cache)
    copies = [*(root / "cache" / "tables").glob("*.pack")]
    for copy in copies:
        content = copy.read_bytes()
        copy.write_bytes(bytes(byte ^ 1 for byte in content[: len(content) // 4]) + content[len(content) // 4:])
    text = runs.run(root / "repacked", SHORT, "--workers", "2", **cache)
    check(copies and "is damaged at event" in text and "made anew" in text, "damaged packed copies are told and made anew")
    check(runs.losses(root / "repacked") == runs.losses(root / "packed"), "and every loss is as with whole ones")


OTHER_BITS = {"ATEN_CPU_CAPABILITY": "default", "ONEDNN_MAX_CPU_ISA": "SSE41"}  # as of an old processor


def by_hand(root: pathlib.Path, out: str, settings: list[dict], status: list[int], of_last: dict | None = None, *words: str,
            words_of_last: tuple[str, ...] = ()) -> list[str]:
    """Two ranks started as torchrun would, each with its own settings; `of_last`: variables of the last one, `words_of_last` more words."""
    port = free_port()
    processes = []
    for rank, mine in enumerate(settings):
        variables = runs.placed(rank, 2, port, local_rank=rank) | (of_last if of_last and rank else {})
        processes.append(subprocess.Popen(runs.arguments(root / out, mine, *words, *(words_of_last if rank else ())), cwd=runs.ROOT, env=runs.environment(**variables), text=True,
                                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT))
    texts = [process.communicate(timeout=600)[0] for process in processes]
    got = [process.returncode for process in processes]
    if got != status:
        print(*texts, sep="\n")
    check(got == status, f"{out}: exit status {got}")
    return texts


def launchers(root: pathlib.Path) -> None:
    by_hand(root, "ranks", [BRIEF, BRIEF], [0, 0])
    check(runs.losses(root / "ranks") == runs.losses(root / "calm"), "ranks started by hand give the same losses")
    texts = by_hand(root, "disagree", [BRIEF, {**BRIEF, "train.seed": 7}], [2, 2])
    check(all("rank 1 has another job" in text for text in texts), "workers with different jobs are refused, on every rank")
    texts = by_hand(root, "starts", [BRIEF, BRIEF], [2, 2], words_of_last=("--resume-or-start",))
    check(all("rank 1 has another start" in text for text in texts), "a new run and one that goes on wait for no other, and are refused")


def files_disagree(root: pathlib.Path) -> None:
    """Workers compare what the files hold that a job names, not where they lie."""
    one_step = {**CLASSIFIER, "train.replicas": 2, "train.max_steps": 1}
    scaling = (runs.ROOT / "data" / "topology-scaling.json").read_text()
    (root / "same.json").write_text(scaling)
    (root / "other.json").write_text(scaling + "\n")
    by_hand(root, "elsewhere", [one_step, {**one_step, "data.scaling": root / "same.json"}], [0, 0])
    check("events" in (root / "elsewhere" / "run.json").read_text(), "a scaling file of the same content elsewhere is no difference")
    model = root / "elsewhere" / "models" / "model.keras"
    with zipfile.ZipFile(model) as archive, zipfile.ZipFile(root / "other.keras", "w") as copy:
        for name in archive.namelist():
            copy.writestr(name, archive.read(name))
    own = {key: value for key, value in one_step.items() if key not in runs.SMALL_CLASSIFIER}  # the sizes that a file has itself are no settings
    taken = own | {"model.kind": "keras", "model.file": model}
    for what, mine, other in (("other test files", {}, {"data.test": "[data/topology-train.parquet]"}),
                              ("another job", {"checkpoint.best_by": "loss"}, {"checkpoint.best_by": "accuracy"}),
                              ("another scaling file", {}, {"data.scaling": root / "other.json"}),
                              ("another model file", taken, {**taken, "model.file": root / "other.keras"})):
        both = [one_step | mine, one_step | other] if mine is not taken else [mine, other]
        texts = by_hand(root, what.replace(" ", "-"), both, [2, 2])
        check(all(f"rank 1 has {what}" in text for text in texts), f"{what}: refused on every rank")
    texts = by_hand(root, "nowhere", [one_step, one_step], [2, 2], None, "--resume")
    check(all("there is no run in" in text for text in texts), "a resume where no host has the run is refused on every rank")
    texts = by_hand(root, "processors", [one_step, one_step], [2, 2], OTHER_BITS)
    check(all("rank 1 has a processor that computes other last bits" in text for text in texts), "a processor of another kind is refused on every rank")
    text = runs.run(root / "elsewhere", {**one_step, "train.max_steps": 2}, "--resume", **OTHER_BITS)
    check("computes other last bits than the one that wrote the checkpoint" in text, "a resume on such a one says so")


def kill_one(out: pathlib.Path, settings: dict, workers: str) -> tuple[int, str]:
    """Kills worker 1 of a run after the first step; returns its exit status and its output."""
    held = Held(out.parent, out.name, 2)
    process = runs.start(out, settings, "--workers", workers, **held.variables)
    runs.wait_for_steps(out, process, 1)
    children = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    os.kill(int(children[1]), signal.SIGKILL)
    held.let_go()
    return process.wait(timeout=240), pathlib.Path(f"{out}.log").read_text()


def reported(out: pathlib.Path) -> None:
    """What `linac report` says of a run that lost a worker and got another one."""
    done = subprocess.run([runs.LINAC, "report", str(out), "--price", "3600", "--json"], cwd=runs.ROOT, text=True, capture_output=True, timeout=60)
    check(done.returncode == 0, f"its report is made {done.stderr}")
    report = json.loads(done.stdout)
    views = [line for line in runs.lines(out) if line["kind"] == "view"]
    lost = {member["pid"] for member in views[0]["members"]} - {member["pid"] for member in views[-1]["members"]}
    check({worker["pid"] for worker in report["workers"] if worker["lost"]} == lost and len(lost) == 1, "the report names the lost worker")
    check("its process has ended" in next(worker["lost"] for worker in report["workers"] if worker["lost"]), "and why it was lost")
    seconds = [change["s"] for change in report["changes"]]
    check(seconds == [view["seconds"] for view in views[1:]] and report["recoveries"]["number"] == 1, "the changes are those of the record")
    check(report["steps"] == {"done": STEPS, "twice": 0, "missing": 0, "redone_after_restarts": 0}, "every step is there once")
    computed = sum(account["phases"][phase]["wall_s"] for account in runs.lines(out)[-1]["workers"] for phase in ("compute", "test"))
    told = sum(worker["phases"][phase] for worker in report["workers"] if not worker["lost"] for phase in ("compute", "test"))
    check(report["status"] == "succeeded" and abs(told - computed) < 0.02 * computed, f"computing of those who stayed: {told:.2f} s of {computed:.2f} s")
    check(abs(sum(part["s"] for part in report["phases"].values()) - report["worker_s"]) < 1e-6, "the parts add up to the workers' time")
    check(abs(report["cost"]["eur"] - report["worker_s"]) < 1e-6, "a worker's second costs an euro, as the price says")
    check("worker" in (out / "report" / "report.html").read_text(), "and there is a page")


def lost_worker(root: pathlib.Path) -> None:
    status, log = kill_one(root / "lost", BRIEF, "2")
    check(status == 0 and "worker 1 was killed by signal 9" in log and "another one is started" in log,
          "a killed worker is named and replaced, and the run ends well")
    check(runs.losses(root / "lost") == runs.losses(root / "calm"), "with the losses of an undisturbed run")
    reported(root / "lost")
    few = {**BRIEF, "train.epochs": 50, "distribution.restarts": 0, "distribution.stall_timeout_s": STALL_S}
    status, log = kill_one(root / "few", few, "2:2")
    check(status == 9 and f"too few workers were left or reachable for {2 * STALL_S} s" in log, f"fewer workers than wanted: exit status {status} after two stall timeouts")
    check("--resume" in log, "the message says how to go on")


def refused(root: pathlib.Path) -> None:
    out, long = root / "refused", {**CLASSIFIER, "train.epochs": 1000}
    process = runs.start(out, long, "--workers", "2", **steady(root))
    runs.wait_for_steps(out, process, 2)
    text = runs.run(root / "other", {**long, "train.seed": 7}, "--join", str(out), status=2)
    check("has another job" in text, "a newcomer with another job is refused and told why")
    done = runs.steps_so_far(out)
    runs.wait_for_steps(out, process, done + 10)
    process.send_signal(signal.SIGTERM)
    check(process.wait(timeout=60) == 75 and runs.steps_so_far(out) >= done + 10, "and the run goes on without it")


def tell_end(run: str, key: bytes, address: str) -> subprocess.Popen:
    """The message of a worker that has finished the run, as train/comm/membership/membership_message.h has it (11th kind, no failure), by one that has the key, and
    stays until it is killed."""
    message = {"type": 10, "from": 1, "from_address": "127.0.0.1:1", "report": {"installed": 0, "moment": [-1, -1, -1]}}
    texts = [json.dumps(part).encode() for part in ({"to": address, "from": 1, "view": 0}, message)]
    psk = hmac.new(key, b"linac link 1\0" + run.encode(), "sha256").hexdigest()
    link = subprocess.Popen(["openssl", "s_client", "-quiet", "-tls1_3", "-connect", address, "-psk", psk, "-psk_identity", run],
                            stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    link.stdin.write(b"".join(len(text).to_bytes(4, "little") + text for text in texts))
    link.stdin.flush()
    return link


def ended_early(root: pathlib.Path) -> None:
    out = root / "early"
    process = runs.start(out, {**CLASSIFIER, "train.epochs": 1000}, "--workers", "2", **steady(root))
    runs.wait_for_steps(out, process, 5)
    newest = sorted((out / "views").glob("*.json"))[-1]
    key = bytes.fromhex((out / "private" / "key").read_text())
    members = json.loads(newest.read_text())["members"]
    links = [tell_end(newest.name.split("-after-")[0], key, member["address"]) for member in members]
    status = process.wait(timeout=60)
    for link in links:
        link.kill()
        link.wait()
    check(status == 6, f"a worker that calls the run complete before its end makes no success of it: exit status {status}")
    text = pathlib.Path(f"{out}.log").read_text()
    told = re.search(r"was ended by another worker as complete, and this one stands at epoch \d+ of 1000", text)
    check(told is not None, "the message says so")
    check(runs.lines(out)[-1]["status"] == "failed", "and so does the record")


def bare(root: pathlib.Path) -> None:
    """As cron and containers start programs: without standard descriptors, without a home, with a limit on files."""
    few = {**CLASSIFIER, "train.epochs": 1, "train.replicas": 2, "train.steps_per_epoch": 2}

    def by_shell(out: str, before: str, after: str = "", **variables: str) -> subprocess.CompletedProcess:
        command = shlex.join(runs.arguments(root / out, few, "--workers", "2"))
        return subprocess.run(f"{before} {command} {after}", shell=True, cwd=runs.ROOT, env=runs.environment(**variables), capture_output=True, text=True, timeout=120)

    held = Held(root, "closed", 2)
    process = subprocess.Popen(runs.arguments(root / "closed", few, "--workers", "2"), cwd=runs.ROOT, env=runs.environment(**held.variables),
                               preexec_fn=lambda: os.closerange(0, 3))
    runs.wait_for_steps(root / "closed", process, 1)
    links = [os.readlink(f"/proc/{process.pid}/fd/{number}") for number in range(3)]
    held.let_go()
    check(process.wait(timeout=120) == 0 and runs.lines(root / "closed")[-1]["status"] == "succeeded", "descriptors 0 to 2 closed: two workers train")
    check(links == ["/dev/null"] * 3, f"and nothing else has taken their numbers: {links}")
    done = by_shell("limited", "ulimit -f 4;")
    check(done.returncode == 4 and "File too large" in done.stderr, f"a limit on files is a full disk: {done.returncode} {done.stderr.strip()[-200:]}")
    (root / "tmp").mkdir()
    done = by_shell("homeless", "unset LINAC_CACHE XDG_CACHE_HOME;", HOME="/dev/null", TMPDIR=str(root / "tmp"))
    check(done.returncode == 0 and list(root.glob("tmp/linac-cache-*/tables")), f"no home: the cache is below TMPDIR: {done.stderr.strip()[-200:]}")


def removed(root: pathlib.Path) -> None:
    """The run's folder goes under it: nothing is made anew there that looks like a run."""
    for workers in ("1", "2"):
        out = root / f"removed-{workers}"
        process = runs.start(out, {**BRIEF, "train.epochs": 4000, "distribution.stall_timeout_s": STALL_S}, "--workers", workers, **steady(root))
        runs.wait_for_steps(out, process, 4)
        out.rename(root / f"removed-away-{workers}")
        status, log = process.wait(timeout=60), pathlib.Path(f"{out}.log").read_text()
        check(status == 4 and "removed under the run" in log, f"{workers}: a run whose folder was removed ends with 4 and says so")
        check(not out.exists(), f"{workers}: and leaves nothing in its place")


def flip_in_memory(pid: int, wanted: bytes) -> int:
    """Turns a bit over wherever these bytes lie in the memory that the process may write; in how many places."""
    places = 0
    with open(f"/proc/{pid}/mem", "r+b", buffering=0) as memory:
        for region in pathlib.Path(f"/proc/{pid}/maps").read_text().splitlines():
            span, rights = region.split()[:2]
            begin, end = (int(one, 16) for one in span.split("-"))
            if not rights.startswith("rw") or "[v" in region:
                continue
            memory.seek(begin)
            content, at = memory.read(end - begin) or b"", -1
            while (at := content.find(wanted, at + 1)) >= 0:
                memory.seek(begin + at)
                memory.write(bytes([wanted[0] ^ 1]))
                places += 1
    return places


def flipped(root: pathlib.Path) -> None:
    """A bit turns over in the memory of a worker, in a weight: the next checkpoint is not written."""
    out = root / "flipped"
    run = Run(out, {**CLASSIFIER, "train.epochs": 1000, "train.optimizer.lr": "1e-30", "checkpoint.every_steps": 20}, 3, **steady(root))
    wait_for(lambda: list((out / "checkpoints").glob("step-*.safetensors")), "the first checkpoint")
    weights = max((one for name, one in runs.tensors(out).items() if "/weights/" in name), key=len)
    victim = run.members()[1]
    run.kill(victim, signal.SIGSTOP)
    places = flip_in_memory(victim, weights[:64])
    run.kill(victim, signal.SIGCONT)
    status, log = run.end(60), pathlib.Path(f"{out}.log").read_text()
    check(places > 0 and status == 4 and re.search(r"the networks of rank 1 on \S+ have other bits", log), f"a bit that turned over in {places} copies of a weight is seen: exit status {status}")


def leaving(root: pathlib.Path) -> None:
    """A machine is taken away, that of the writer: its worker leaves and the others go on. Then another: too few would be left, so all stop."""
    settings = {**CLASSIFIER, "train.epochs": 15, "distribution.on_sigterm": "leave", "distribution.workers_min": 2}
    runs.run(root / "stayed", settings, "--workers", "2")
    out = root / "leaving"
    run = Run(out, settings, 3, **steady(root))
    wait_for(lambda: run.steps() >= 10, "the first steps")
    first = run.members()
    run.kill(first[0], signal.SIGTERM)
    wait_for(lambda: first[0] not in run.members(), "a worker that leaves is gone", 30)
    after = run.steps()
    wait_for(lambda: run.steps() > after + 10, "the others go on", 30)
    check(run.launcher.poll() is None and len(run.members()) == 2, "one has left by SIGTERM, two go on, and nobody takes its place")
    run.kill(run.members()[1], signal.SIGTERM)
    status = run.end(60)
    log = pathlib.Path(f"{out}.log").read_text()
    check(status == 75 and log.count("left the run after step") >= 1 and "another one is started" not in log,
          f"with fewer than workers_min left all stop: exit status {status}")
    done = sum(line["kind"] == "step" for line in runs.lines(out))
    check(runs.newest_checkpoint(out).name == f"step-{done:010}.safetensors", "after a checkpoint")
    ends = [line["status"] for line in runs.lines(out) if line["kind"] == "end"]
    check(ends == ["interrupted"], f"the record ends once, as interrupted: {ends}")
    runs.run(out, settings, "--resume", "--workers", "1")
    same_end(root / "stayed", out, "left, stopped and resumed")


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="linac-failure-") as folder:
        root = pathlib.Path(folder)
        if "--long" in sys.argv:
            files_disagree(root)
            foreign(root)
            return
        claimed(root)
        collapse(root)
        signalled(root)
        launchers(root)
        stopped_in_the_first_moments(root)
        stopped_at_start(root)
        damaged(root)
        damaged_copy(root)
        holes(root)
        lost_worker(root)
        refused(root)
        ended_early(root)
        removed(root)
        flipped(root)
        leaving(root)
        bare(root)


main()
