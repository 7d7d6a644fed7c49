#!/usr/bin/env python3
"""Jobs that mpirun starts, Open MPI's and where it is there MPICH's: they end with the bits of a run here, also when workers, or mpirun itself,
are killed on the way; they are cancelled with a checkpoint and go on from it. Exit 77 where there is no mpirun."""

import os
import pathlib
import shutil
import signal
import sys
import tempfile
import time

from lib import elastic, launches, runs
from lib.checks import check
from lib.launches import LONG, Client, name_in
from lib.processes import processes
from lib.servers.sshd import Sshd
from lib.skips import skipped

SETTINGS = launches.SETTINGS | {"train.epochs": 6, "checkpoint.every_steps": 4}
SCRIPT = """import os
print("rank", os.environ["RANK"], "of", os.environ["WORLD_SIZE"], "beside", os.environ["LOCAL_WORLD_SIZE"])
"""


class Place:
    def __init__(self, root: pathlib.Path):
        self.root = root
        common = {"kind": "mpi", "folder": f"{root}/site", "program": runs.LINAC, "environment": elastic.steady(root, step_ms=30)}
        user = ["--allow-run-as-root"] if os.geteuid() == 0 else []
        self.open = common | {"arguments": ["--oversubscribe", *user]}
        self.mpich = common | {"mpi": "mpich", "mpirun": ["mpiexec.hydra"]}
        others = {"wrong": self.open | {"mpi": "intel"}, "hostile": self.open | {"arguments": [*user, "--", f"$(touch {root}/owned)"]}}
        self.client = Client(root, {"open": self.open, "mpich": self.mpich} | others)

    def out(self, name: str) -> pathlib.Path:
        return self.root / "site" / name.split(":")[1]

    def workers(self, out: pathlib.Path) -> list[int]:
        """Processes of linac of that run."""
        return sorted(pid for pid, words in processes() if "train" in words and str(out) in words and "linac" in words[0])

    def no_process(self, limit_s: float = 10) -> None:
        end = time.monotonic() + limit_s
        while launches.processes_with(f"{self.root}/site") and time.monotonic() < end:
            time.sleep(0.1)
        check(not launches.processes_with(f"{self.root}/site"), "no process of them is left")


def planned(place: Place) -> None:
    said = place.client.linac("sites", "check", "open", "--job", "examples/topology.yaml")
    check("(Open MPI)" in said and "see the folder" in said and "\nno" not in said, "the site can be used, says check")
    check("it is openmpi, not intel" in place.client.linac("sites", "check", "wrong", status=4), "check knows another MPI than the one that is meant")
    said = place.client.launch("open", SETTINGS, "--workers", "3", "--dry-run")
    check("mpirun -n 3 --bind-to none" in said and not list((place.root / "site").glob("*/launch")), "a dry run shows mpirun's command, and does nothing")
    for settings, what in (({"hosts": ["-x"]}, "hosts"), ({"hosts": ["n01:2"]}, "slots"), ({"hosts": ["n01,n02"]}, "hosts"), ({"hostfile": "hosts"}, "hostfile"),
                           ({"arguments": ["-np", "9"]}, "--workers"), ({"arguments": ["a\nb"]}, "line breaks"), ({"mpi": "lam"}, "openmpi, mpich, intel"),
                           ({"hosts": ["n01"], "slots": 1}, "more slots"), ({"mpirun": []}, "mpirun"), ({"address": "a b"}, "address")):
        folder = place.root / "refused"
        folder.mkdir(exist_ok=True)
        check(what in Client(folder, {"open": place.open | settings}).launch("open", SETTINGS, "--workers", "2", "--dry-run", status=2), f"refused: {settings}")
    for name in ("../x", "-n", "a b", "$(touch owned)"):
        place.client.launch("open", SETTINGS, f"--name={name}", status=2)


def hostile(place: Place) -> None:
    """mpirun is handed what looks like shell, and cannot start it."""
    check("mpirun cannot start" in place.client.launch("hostile", SETTINGS, "--workers", "2", status=4), "mpirun is asked first")
    name = name_in(place.client.launch("hostile", SETTINGS, "--workers", "2", "--no-check"))
    end = place.client.wait_for(name, "FAILED", "SUCCEEDED", "LOST", "CANCELLED")
    log = place.client.linac("logs", name)
    check(end["state"] == "FAILED" and "mpirun ended with" in log and "$(touch" in log, "what mpirun cannot start fails, with its words in the log")
    check(not (place.root / "owned").exists(), "and is nothing that a shell would do")


def killed(place: Place, calm: pathlib.Path) -> None:
    """A worker, and then all at once."""
    client = place.client
    twice = [client.start(*launches.launch_words("open", SETTINGS), "--workers", "3", "--name", "same") for _ in range(2)]
    said = sorted(process.communicate(timeout=60)[0] for process in twice)
    check(sum("as it was launched before" in text for text in said) == 1, "of two clients at once one launches a name")
    client.launch("open", LONG, "--name", "same", status=2)
    out = place.out("open:same")
    launches.wait_for_steps(out, 6)
    workers = place.workers(out)
    check(len(workers) == 3, "three workers are there, once")
    os.kill(workers[1], signal.SIGKILL)
    client.wait_for("open:same", "SUCCEEDED", "FAILED", "LOST")
    log = client.linac("logs", "open:same")
    check("ended with 137, and comes again" in log and "resuming from" not in log, "the others go on without a worker that is killed, and it comes again")
    launches.same_bits(calm, out, "three workers of mpirun, one of them killed on the way")

    name = name_in(client.launch("open", SETTINGS, "--workers", "2"))
    launches.wait_for_steps(place.out(name), 8)
    # As if its host were lost: mpirun is gone, and the workers see it.
    os.kill(int((place.out(name) / "launch" / "mpirun").read_text()), signal.SIGKILL)
    end = client.wait_for(name, "SUCCEEDED", "FAILED", "LOST", "CANCELLED")
    log = client.linac("logs", name)
    check(end["state"] == "SUCCEEDED" and "1 of 20 times" in log and "resuming from" in log, "where mpirun itself is killed, it is started again")
    launches.same_bits(calm, place.out(name), "mpirun killed on the way")


def cancelled(place: Place, site: str, calm: pathlib.Path) -> None:
    client = place.client
    name = name_in(client.launch(site, SETTINGS, "--workers", "2"))
    launches.wait_for_steps(place.out(name), 6)
    check("checkpoint" in client.linac("cancel", name), f"{site}: a launch that runs is asked to stop")
    end = client.wait_for(name, "CANCELLED", "SUCCEEDED", "FAILED", "LOST")
    check(end["state"] == "CANCELLED" and runs.newest_checkpoint(place.out(name)).is_file(), "it is cancelled, with a checkpoint")
    client.linac("resume", name)
    end = client.wait_for(name, "SUCCEEDED", "FAILED", "LOST", "CANCELLED")
    check(end["state"] == "SUCCEEDED" and "resuming from" in client.linac("logs", name), "resumed, it comes to its end")
    launches.same_bits(calm, place.out(name), f"{site}: cancelled and resumed")
    client.linac("artifacts", name, "--out", place.root / f"fetched-{site}")
    check((place.root / f"fetched-{site}" / "metrics.jsonl").read_bytes() == (place.out(name) / "metrics.jsonl").read_bytes(), "its files come here")

    name = name_in(client.launch(site, LONG, "--workers", "2"))
    launches.wait_for_steps(place.out(name), 4)
    for worker in place.workers(place.out(name)):
        os.kill(worker, signal.SIGSTOP)  # they hear nothing more
    client.linac("cancel", name)
    check("killed" in client.linac("cancel", name), "cancelled twice, workers that do not hear are killed")
    check(client.wait_for(name, "CANCELLED", "FAILED", "LOST")["state"] == "CANCELLED", "and it is cancelled")
    place.no_process()


def limited(place: Place) -> None:
    name = name_in(place.client.launch("open", LONG, "--workers", "2", "--time", "4s"))
    end = place.client.wait_for(name, "CANCELLED", "SUCCEEDED", "FAILED", "LOST")
    check(end["state"] == "CANCELLED" and runs.newest_checkpoint(place.out(name)).is_file(), "at its limit of time it stops after a checkpoint")


def script(place: Place, site: str) -> None:
    (place.root / "rank.py").write_text(SCRIPT)
    said = place.client.linac("spawn", place.root / "rank.py", "--on", site, "-w", "2", "--follow")
    check("rank 0 of 2 beside 2" in said and "rank 1 of 2 beside 2" in said and "SUCCEEDED" in said, f"{site}: a script has its place as well")


def elsewhere(root: pathlib.Path, place: Place, calm: pathlib.Path) -> None:
    """On two hosts, from a login node: all three are behind ssh."""
    with Sshd(["login", "n01", "n02"]) as hosts:
        agent = ["--mca", "plm_rsh_agent", " ".join(hosts.command), "--mca", "oob_tcp_if_include", "lo", "--mca", "plm_rsh_no_tree_spawn", "1"]
        settings = place.open | {"login": "login", "ssh": hosts.command, "hosts": ["n01", "n02"], "slots": 1, "address": "127.0.0.1"}
        (root / "far").mkdir()
        client = Client(root / "far", {"far": settings | {"arguments": [*place.open["arguments"], *agent]}})
        said = client.linac("sites", "check", "far")
        check("2 slots are there" in said, "mpirun reaches the hosts, says check")
        name = name_in(client.launch("far", SETTINGS))
        end = client.wait_for(name, "SUCCEEDED", "FAILED", "LOST", "CANCELLED")
        if end["state"] != "SUCCEEDED":
            print(client.linac("logs", name))
        check(end["state"] == "SUCCEEDED" and end["workers"] == 2 and (place.out(name) / "launch" / "first-0").is_file(), "the workers of two hosts find each other")
        launches.same_bits(calm, place.out(name), "two hosts of mpirun")


def main() -> None:
    if shutil.which("mpirun") is None:
        print("skipped: no mpirun (tests/servers/get.sh openmpi)")
        sys.exit(77)
    with tempfile.TemporaryDirectory(prefix="linac-mpi-", ignore_cleanup_errors=True) as folder:
        root = pathlib.Path(folder)
        place = Place(root)
        calm = root / "calm"
        runs.run(calm, SETTINGS, "--workers", "1")
        planned(place)
        hostile(place)
        killed(place, calm)
        cancelled(place, "open", calm)
        limited(place)
        script(place, "open")
        if shutil.which("mpiexec.hydra"):
            cancelled(place, "mpich", calm)
            script(place, "mpich")
        else:
            skipped("MPICH", "none is installed", "tests/servers/get.sh mpich")
        if Sshd.available():
            elsewhere(root, place, calm)
        else:
            skipped("two hosts", "no sshd is installed", "tests/servers/get.sh sshd")
        place.no_process()


if __name__ == "__main__":
    main()
