#!/usr/bin/env python3
"""Several jobs as one array of Slurm: each is a launch of its own, which ends with the bits of a run here, and is cancelled and resumed alone; a
client that is killed leaves no second array. Exit 77 where there is no Slurm."""

import os
import pathlib
import sys
import tempfile

from lib import launches, runs
from lib.checks import check
from lib.launches import Client
from lib.servers.slurm import Slurm
from slurm_test import DEADLY

SETTINGS = launches.SETTINGS | {"train.epochs": 2, "checkpoint.every_steps": 4}
LONG = SETTINGS | {"train.epochs": 500, "checkpoint.keep": 2}


def words(settings: dict, *files: str) -> list[str]:
    return ["launch", *files, *launches.launch_words("farm", settings)[1:]]


def members(cluster: Slurm, name: str) -> list[str]:
    """Of all arrays of that name."""
    return cluster.ask("squeue", "-h", "-r", "-t", "all", f"--name={name}", "-o", "%F").split()


def refused(client: Client) -> None:
    for extra, what in ((["--seeds", "5:1"], "FIRST:LAST"), (["--seeds", "1:5000"], "FIRST:LAST"), (["--seeds", "1:3", "--follow"], "--follow"), (["--at-once", "2"], "several jobs"),
                        (["--seeds", "1:3", "--at-once", "-1"], "less than 0"), (["--seeds", "1:3", "--name", "a/../b"], "letters"), (["--seeds", "1:3", "--name", "a" * 99], "letters")):
        check(what in client.linac(*words(SETTINGS), *extra, "--dry-run", status=2), f"refused: {extra}")
    check("kind slurm" in client.linac("launch", SETTINGS["job"], "--on", "here", "--seeds", "1:2", status=2), "other kinds have no arrays, and say so")
    said = client.linac(*words(SETTINGS), "--seeds", "1:5", "--at-once", "2", "--name", "five", "--dry-run")
    check("#SBATCH --array=1-5%2\n" in said and "seed: 5" in said and said.count("sbatch --parsable") == 1, "a dry run shows the array and its members")


def main() -> None:
    if not Slurm.available():
        print("skipped: no Slurm (tests/servers/get.sh slurm, as root)")
        sys.exit(77)
    with tempfile.TemporaryDirectory(prefix="linac-array-", ignore_cleanup_errors=True) as folder, Slurm() as cluster:
        root = pathlib.Path(folder)
        common = {"folder": f"{root}/site", "program": runs.LINAC}
        client = Client(root, {"farm": common | {"kind": "slurm", "partition": "main", "notice": "5s"}, "here": common | {"kind": "local"}}, **cluster.environment)
        refused(client)

        # Of two files and two seeds; the client dies in the moment in which sbatch has submitted.
        other = root / "other.yaml"
        other.write_text((runs.ROOT / SETTINGS["job"]).read_text().replace("data/", f"{runs.ROOT}/data/"))
        four = [*words(SETTINGS, str(other)), "--seeds", "1:2", "--workers", "1", "--at-once", "3", "--no-check"]
        programs = root / "programs"
        programs.mkdir()
        (programs / "sbatch").write_text(DEADLY)
        (programs / "sbatch").chmod(0o755)
        client.linac(*four, status=-9, PATH=f"{programs}:{os.environ['PATH']}")
        said = client.linac(*four)
        names = [line.split()[0] for line in said.splitlines() if "1 worker" in line]
        array = names[0].split(":")[1].removesuffix("-1")
        check(len(names) == 4 and said.count("as it was launched before") == 4, "a client that was killed behind sbatch finds its array again")
        check(len(set(members(cluster, array))) == 1, "it is one array")
        for name in names:
            check(client.wait_for(name, "SUCCEEDED", "FAILED", "LOST", "CANCELLED")["state"] == "SUCCEEDED", f"{name} comes to its end")
        for index, seed in ((1, 1), (4, 2)):
            calm = root / f"calm-{index}"
            runs.run(calm, SETTINGS | {"train.seed": seed}, "--workers", "1")
            launches.same_bits(calm, root / "site" / f"{array}-{index}", f"member {index}")

        # Between two records: what it has kept is completed.
        five = [*words(LONG), "--seeds", "1:5", "--workers", "1", "--at-once", "3", "--name", "five"]
        twice = [client.start(*five) for _ in range(2)]
        said = sorted(process.communicate(timeout=60)[0] for process in twice)
        check([text.count("as it was launched before") for text in said].count(5) == 1 and len(set(members(cluster, "five"))) == 1, "of two clients at once one launches it")
        (root / "state" / "linac" / "launches" / "farm" / "five-4.json").unlink()
        said = client.linac(*five)
        check(said.count("as it was launched before") == 4 and len(set(members(cluster, "five"))) == 1, "a record that is missing is written, and nothing is submitted")
        check("another launch has it" in client.linac(*five[:-1], "five", "--set", "train.epochs=3", status=2), "other jobs do not get its name")
        check("another launch has it" in client.launch("farm", LONG, "--workers", "1", "--name", "five-2", status=2), "nor that of a member")
        for index in (1, 2, 3):
            launches.wait_for_steps(root / "site" / f"five-{index}", 4)
        check(client.standing("farm:five-4")["state"] in ("PENDING", "QUEUED"), "of five three run at the same time")
        client.linac("cancel", "farm:five-5")
        check(client.wait_for("farm:five-5", "CANCELLED", "FAILED", "LOST")["state"] == "CANCELLED", "a member that waits is taken out of the queue")
        check(client.standing("farm:five-4")["state"] in ("PENDING", "QUEUED"), "and the other one that waits stays there")
        client.linac("cancel", "farm:five-2")
        check(client.wait_for("farm:five-2", "CANCELLED", "FAILED", "LOST")["state"] == "CANCELLED", "one that runs is cancelled alone")
        check(runs.newest_checkpoint(root / "site" / "five-2").is_file(), "with a checkpoint")
        check(all(client.standing(f"farm:five-{index}")["state"] == "RUNNING" for index in (1, 3)), "the others go on")
        launches.wait_for_steps(root / "site" / "five-4", 2)
        check("step" in client.linac("logs", "farm:five-4") and "it is RUNNING" in client.linac("resume", "farm:five-1", status=2), "each has its log and its standing")
        client.linac("cancel", "farm:five-1")
        client.wait_for("farm:five-1", "CANCELLED", "FAILED", "LOST")
        client.linac("resume", "farm:five-2")
        check(client.wait_for("farm:five-2", "RUNNING", "FAILED", "LOST")["state"] == "RUNNING" and client.standing("farm:five-2")["id"].isdigit(),
              "a member that was cancelled goes on as a job of its own")
        client.linac("artifacts", "farm:five-2", "--out", root / "fetched")
        check((root / "fetched" / "metrics.jsonl").is_file(), "the files of a member come here")
        for index in (2, 3, 4):
            client.linac("cancel", f"farm:five-{index}")
        for index in (2, 3, 4):
            check(client.wait_for(f"farm:five-{index}", "CANCELLED", "FAILED", "LOST")["state"] == "CANCELLED", f"five-{index} is cancelled")


if __name__ == "__main__":
    main()
