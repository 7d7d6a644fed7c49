#!/usr/bin/env python3
"""Jobs brought to a cluster with Slurm: they end with the bits of a run here, also when they are put back into the queue on the way; whatever
becomes of the client, a launch is one job; it is cancelled with a checkpoint. Exit 77 where there is no Slurm."""

import os
import pathlib
import signal
import sys
import tempfile

from lib import elastic, launches, runs
from lib.checks import check
from lib.launches import LONG, Client, name_in
from lib.servers.slurm import Slurm

SETTINGS = launches.SETTINGS | {"train.epochs": 4, "checkpoint.every_steps": 4}

# Submits, and then kills linac, which has started the shell that has started this.
DEADLY = """#!/bin/sh
/usr/bin/sbatch "$@"
status=$?
read -r _ _ _ client _ < /proc/$PPID/stat
kill -9 "$client"
exit $status
"""


def planned(client: Client, cluster: Slurm) -> None:
    said = client.linac("sites", "check", "farm", "--job", "examples/topology.yaml")
    check("partition" in said and "topology-train.parquet" in said and "\nno" not in said, "the site can be used, says check")
    said = client.linac("sites", "check", "wrong", status=4)
    check("nowhere: not there; there are main" in said, "check names the partitions that there are")
    said = client.launch("farm", SETTINGS, "--workers", "2", "--time", "30m", "--dry-run")
    check("#SBATCH --ntasks=2\n" in said and "#SBATCH --time=30\n" in said and "sbatch --parsable" in said, "a dry run shows the script and the command")
    check(not list((client.root / "site").glob("*/launch")) and not cluster.ask("squeue", "-h"), "and does nothing")
    said = client.launch("wrong", SETTINGS, status=4)
    check("invalid partition" in said.lower(), "what Slurm refuses is told in its words")


def client_dies(client: Client, cluster: Slurm) -> str:
    """In the moment in which sbatch has submitted."""
    programs = client.root / "programs"
    programs.mkdir()
    (programs / "sbatch").write_text(DEADLY)
    (programs / "sbatch").chmod(0o755)
    client.launch("farm", SETTINGS, "--workers", "2", "--no-check", status=-9, PATH=f"{programs}:{os.environ['PATH']}")
    said = client.launch("farm", SETTINGS, "--workers", "2")
    check("as it was launched before" in said, "a client that was killed behind sbatch finds its launch again")
    name = name_in(said)
    check(len(cluster.jobs(name.split(":")[1])) == 1, "it is one job")
    return name


def main() -> None:
    if not Slurm.available():
        print("skipped: no Slurm (tests/servers/get.sh slurm, as root)")
        sys.exit(77)
    with tempfile.TemporaryDirectory(prefix="linac-farm-", ignore_cleanup_errors=True) as folder, Slurm() as cluster:
        root = pathlib.Path(folder)
        farm = {"kind": "slurm", "folder": f"{root}/site", "program": runs.LINAC, "partition": "main", "workers_per_node": 2, "notice": "5s",
                "environment": elastic.steady(root, step_ms=30)}
        # As a user may have them for other work.
        others = {"SBATCH_JOB_NAME": "other", "SBATCH_WAIT": "1", "SBATCH_PARTITION": "nowhere", "SQUEUE_PARTITION": "nowhere"}
        client = Client(root, {"farm": farm, "wrong": farm | {"partition": "nowhere"}}, **cluster.environment, **others)
        planned(client, cluster)

        name = client_dies(client, cluster)
        first = root / "site" / name.split(":")[1]
        launches.wait_for_steps(first, 6)
        members = [member["pid"] for line in runs.lines_so_far(first) if line["kind"] == "view" for member in line["members"]]
        os.kill(members[0], signal.SIGKILL)
        # Put back into the queue in its midst, where it waits for some seconds.
        twice = [client.start(*launches.launch_words("farm", SETTINGS), "--workers", "2", "--name", "again") for _ in range(2)]
        said = sorted(process.communicate(timeout=60)[0] for process in twice)
        check(sum("as it was launched before" in text for text in said) == 1 and len(cluster.jobs("again")) == 1, "of two clients at once one launches a name")
        again = name_in(said[0])
        client.launch("farm", LONG, "--name", "again", status=2)
        out = root / "site" / "again"
        launches.wait_for_steps(out, 8)
        launches.no_secret_is_told(client, root / "site")
        cluster.ask("scontrol", "requeue", client.standing(again)["id"])

        calm = root / "calm"
        runs.run(calm, SETTINGS, "--workers", "1")
        check(client.wait_for(name, "SUCCEEDED", "FAILED", "LOST")["state"] == "SUCCEEDED", "the launch whose client died comes to its end")
        launches.same_bits(calm, first, "two workers of Slurm, the first of them killed on the way")

        stopped = name_in(client.launch("farm", LONG, "--workers", "2"))
        out_of_stopped = root / "site" / stopped.split(":")[1]
        launches.wait_for_steps(out_of_stopped, 6)
        check("checkpoint" in client.linac("cancel", stopped), "a launch that runs is asked to stop")
        end = client.wait_for(stopped, "CANCELLED", "FAILED", "LOST")
        check(end["state"] == "CANCELLED" and runs.newest_checkpoint(out_of_stopped).is_file(), "it is cancelled, with a checkpoint")
        check("COMPLETED" not in cluster.jobs(stopped.split(":")[1]), "and stays so: it does not go back into the queue")
        steps = sum(line["kind"] == "step" for line in runs.lines_so_far(out_of_stopped))
        former = client.standing(stopped)["id"]
        client.linac("resume", stopped)
        launches.wait_for_steps(out_of_stopped, steps + 4)
        standing = client.standing(stopped)
        check(standing["state"] == "RUNNING" and standing["id"] != former and "resuming from" in client.linac("logs", stopped),
              "resumed, it goes on from its checkpoint as another job, though Slurm still knows the first")
        check("it is RUNNING" in client.linac("resume", stopped, status=2), "and once")
        client.linac("cancel", stopped)
        check(client.wait_for(stopped, "CANCELLED", "FAILED", "LOST")["state"] == "CANCELLED", "and is cancelled again")
        client.linac("artifacts", stopped, "--out", root / "fetched")
        check((root / "fetched" / "metrics.jsonl").read_bytes() == (out_of_stopped / "metrics.jsonl").read_bytes(), "its files come here")

        end = client.wait_for(again, "SUCCEEDED", "FAILED", "LOST")
        log = client.linac("logs", "-f", again)
        check(end["state"] == "SUCCEEDED" and "resuming from" in log, "one that was put back into the queue goes on")
        launches.same_bits(calm, out, "requeued")
        table = client.linac("status", "farm:")
        check(table.count("SUCCEEDED") == 2 and table.count("CANCELLED") == 1, "all of them are listed")
        check(not launches.processes_with(str(root / "site")), "no process of them is left")


if __name__ == "__main__":
    main()
