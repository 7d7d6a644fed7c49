#!/usr/bin/env python3
"""Jobs of the queue carried out at sites (`linac submit --on SITE`), by real processes, a real Slurm and a real ssh where they are installed: the
bits of a run here, a service that is killed in between, cancellation, and what users may not. LINAC names the program.

    sites_test.py [WORD...]      those with one of these words in their name
"""

import contextlib
import hashlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import traceback
import unittest.mock

from attack_world import People
from lib.checks import wait_for
from lib.runs import LINAC, ROOT
from lib.servers.slurm import Slurm
from lib.servers.sshd import Sshd
from lib.servers.versitygw import Versitygw
from lib.service_client import JOB, STEPS, Client
from lib.sites_world import World, words
from lib.skips import skipped

ABSOLUTE = {"data.train": f"[{ROOT}/data/topology-train.parquet]", "data.test": "[]", "data.scaling": f"{ROOT}/data/topology-scaling.json",
            "checkpoint.best_by": "loss", "workers": "1", "train.threads": "1"}
SHORT = ABSOLUTE | {"train.epochs": "1", "train.steps_per_epoch": str(STEPS)}
PLANNED = {"plan.memory_gib": "1.5", "plan.hours": "[0.2, 0.5, 0.9]", "budget.hours": "1"}  # as `linac plan --write --budget` leaves it
LONG = ABSOLUTE | {"train.epochs": "100000", "train.steps_per_epoch": "10"}


def digest(path: pathlib.Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def done_with_the_bits_of_here(world: World, run: str, settings: dict = SHORT) -> None:
    found = world.client.wait(run, "SUCCEEDED")
    assert world.client.curve(run) == list(range(1, STEPS + 1))
    files = {entry["path"] for entry in world.client.json("artifacts", "list", run, "--all")}
    assert {"job.yaml", "run.json", "metrics.jsonl", "models/model.keras", "checkpoints/best.safetensors"} <= files, files
    assert not any(name.startswith(("private", "views", "launch")) for name in files), files
    with tempfile.TemporaryDirectory() as folder:
        alone = subprocess.run([LINAC, "train", JOB, *words(settings, "")[2:], "--out", f"{folder}/alone"], cwd=ROOT, capture_output=True, text=True, timeout=120)
        assert alone.returncode == 0, alone.stderr
        for name in ("models/model.keras", *(f"checkpoints/{path.name}" for path in pathlib.Path(folder, "alone/checkpoints").glob("*.safetensors"))):
            world.client.run("artifacts", "get", run, name, f"{folder}/fetched")
            assert digest(pathlib.Path(folder, "fetched")) == digest(pathlib.Path(folder, "alone", name)), name
    assert "epoch 1/1" in world.client.run("logs", run)
    assert any(change["reason"].startswith("attempt 1 on ") for change in found["transitions"]), found["transitions"]


def test_a_job_comes_to_its_end_here() -> None:
    with contextlib.ExitStack() as stack:
        world = World(stack)
        assert world.client.send("GET", "/api/v1/sites") == {"sites": [{"name": "here", "kind": "local"}]}
        run = world.submit(SHORT)
        done_with_the_bits_of_here(world, run)
        assert len(world.launches()) == 1
        wait_for(lambda: not list((world.root / "data" / "sites" / "here").glob("*.json")), "what has ended is forgotten", 20, 0.1)


def test_the_service_is_killed_in_between() -> None:
    with contextlib.ExitStack() as stack:
        world = World(stack)
        run = world.submit(SHORT | {"train.epochs": "6"})  # killed at some moments of its way, and while it is told of
        for pause in (0, 0.1, 0.3, 0.6, 1):
            time.sleep(pause)
            world.kill()
        found = world.client.wait(run, "SUCCEEDED")
        assert world.client.curve(run) == list(range(1, 6 * STEPS + 1))
        assert len(world.launches()) == 1, world.launches()
        assert sum(change["to"] == "STARTING" for change in found["transitions"]) == 1, found["transitions"]


def test_it_is_cancelled_with_a_checkpoint() -> None:
    with contextlib.ExitStack() as stack:
        world = World(stack)
        run = world.submit(LONG)
        world.client.wait_for_steps(run, 3)
        assert " here " in world.client.run("status")
        world.kill()
        world.client.run("cancel", run)
        world.client.wait(run, "CANCELLED")
        files = {entry["path"] for entry in world.client.json("artifacts", "list", run, "--all")}
        assert any("checkpoints/" in name for name in files), files
        steps = world.client.curve(run)[-1]
        world.client.run("resume", run)  # from there
        world.client.wait_for_steps(run, steps + 3)
        assert world.client.curve(run) == sorted(set(world.client.curve(run))), "it has begun anew"
        world.client.run("cancel", run)
        world.client.wait(run, "CANCELLED")
        assert len(world.launches()) == 2


def test_what_users_may_not() -> None:
    with contextlib.ExitStack() as stack:
        far = {"kind": "ssh", "folder": "/nowhere", "program": LINAC, "hosts": ["n01"], "ssh": ["false"]}
        world = World(stack, anns=far | {"users": ["ann"]}, all=far | {"users": ["*"]}, admins=far, bare={"kind": "local", "folder": "/tmp/linac-bare", "program": "/nowhere/linac"})
        people = People(world.service)
        clients = {}
        for name in ("ann", "bob"):
            clients[name] = Client(world.service, str(world.root / name))
            clients[name].environment["LINAC_TOKEN"] = getattr(people, name)
        assert [site["name"] for site in clients["ann"].send("GET", "/api/v1/sites")["sites"]] == ["anns", "all"]
        assert "nowhere" not in json.dumps(clients["ann"].send("GET", "/api/v1/sites"))
        for name, site, may in (("bob", "anns", False), ("bob", "here", False), ("bob", "nothing", False), ("bob", "all", True), ("ann", "anns", True)):
            said = clients[name].run("submit", JOB, *words(SHORT, site), "--check", status=0 if may else 2)
            assert may or f"'{site}' is no place for jobs of yours" in said, said
        said = clients["bob"].run("submit", JOB, "--on", "all", "--check", status=2)
        assert "is a relative path" in said, said
        said = clients["bob"].run("submit", JOB, *words(SHORT, "all"), "--secrets", "KEY", status=2)
        assert "are not brought to all" in said, said
        said = clients["bob"].run("submit", JOB, *words(SHORT, "all"), "--tags", "gpu", status=2)
        assert "tags are of agents" in said, said
        # What could not begin there is told before it waits; nothing is queued.
        said = world.client.run("submit", JOB, *words(SHORT, "bare"), status=3)
        assert "could not begin at bare" in said and "/nowhere/linac" in said, said
        said = world.client.run("submit", JOB, *words(SHORT | {"data.train": "[/nowhere/a.parquet]"}, "here"), status=3)
        assert "could not begin at here: data: /nowhere/a.parquet: not there" in said, said
        # What cannot be reached is waited for, with the reason, and can be cancelled meanwhile.
        run = clients["bob"].submit(*words(SHORT, "all"))[0]
        wait_for(lambda: "n01" in clients["bob"].state(run)["reason"], lambda: clients["bob"].state(run), 60, 0.2)
        assert clients["bob"].state(run)["state"] == "STARTING"


def test_what_a_site_has_no_memory_for() -> None:
    with contextlib.ExitStack() as stack:
        far = {"kind": "ssh", "folder": "/nowhere", "program": LINAC, "hosts": ["n01"], "workers_per_host": 2, "ssh": ["false"]}
        world = World(stack, pair=far | {"plan": {"memory_gib": 16}}, silent=far, boasts={"kind": "local", "folder": "/tmp/linac-boasts", "plan": {"memory_gib": 1e9}},
                      farm={"kind": "slurm", "folder": "/nowhere", "program": LINAC, "memory": "10G"},
                      cluster={"kind": "kubernetes", "image": "linac:1.0", "volume": "pvc:runs", "folder": "/runs", "memory": "12G", "kubeconfig": "/nowhere"})

        def said(site: str, gib: object, *more: str, status: int = 3) -> str:
            return world.client.run("submit", JOB, *words(SHORT | {"plan.memory_gib": str(gib)}, site), *more, status=status)

        # None of the places but `here` can be reached: what their entries say is enough.
        for site, gib, replicas, word in (("here", 1e6, 1, "this host gives"), ("boasts", 1e6, 1, "this host gives"), ("farm", 12, 1, "memory: 10G gives them 10"),
                                          ("cluster", 12, 1, "memory: 12G gives them 11.2"), ("pair", 12, 2, "2 workers of 12 GiB (plan.memory_gib) take 24")):
            refusal = said(site, gib, "--set", f"train.replicas={replicas}")
            assert f"could not begin at {site}: memory: " in refusal and word in refusal, refusal
        assert "take 24" in said("pair", 12, "--array", "train.replicas=1,2"), "of an array each is looked at, not the first alone"
        # By a plan beyond the budget, too; one refusal tells both.
        refusal = said("silent", 1, "--set", "plan.hours=[9, 10, 12]", "--set", "budget.hours=8")
        assert "could not begin at silent: budget: plan.hours is 9 to 12, and budget.hours allows 8: raise it, or plan another place" in refusal, refusal
        refusal = said("farm", 12, "--set", "plan.hours=[9, 10, 12]", "--set", "budget.hours=8")
        assert "budget.hours allows 8" in refusal and "memory: 10G gives them 10" in refusal, refusal
        study = world.root / "study.yaml"
        study.write_text(pathlib.Path(ROOT, JOB).read_text().replace("workers: 2", "workers: 1").replace("replicas: 2", "replicas: 1")
                         + "search: {train.replicas: {kind: integer, low: 1, high: 2}}\nobjective: {metric: loss}\nbudget: {trials: 2}\n")

        def trials(site: str, gib: object, *more: str, status: int = 2) -> str:
            return world.client.run("submit", str(study), *words(SHORT | {"plan.memory_gib": str(gib)}, site), *more, status=status)

        refusal = trials("farm", 12)
        assert "could not begin at farm: memory: " in refusal, refusal  # the trials of a study are jobs like others
        assert "take 24" in trials("pair", 12), "with both ends of what is searched"
        assert "would be submitted" in trials("pair", 8, "--check", status=0)
        runs = world.client.json("list")["runs"]
        assert {run["state"] for run in runs} == {"FAILED_PRECHECKS"} and not world.launches(), runs
        for site, gib, replicas in (("pair", 12, 1), ("pair", 8, 2), ("silent", 1e6, 2), ("here", 0, 1)):
            said(site, gib, "--set", f"train.replicas={replicas}", "--check", status=0)
        for gib in (-1, "nan", "much"):
            said("here", gib, status=2)


def test_files_that_declare_no_sites() -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "sites.yaml"
        here = f"{{kind: local, folder: {folder}/site}}"
        for text, word in (("", "declares none"), (f"a: {here}\na: {here}\n", "the key 'a' is there twice"), (f"pilots: {here}\n", "agents' place"),
                           ("a: {kind: local, folder: /x, users: ['*']}\n", "without a sandbox"), ("a: {kind: nothing}\n", "is not one of")):
            file.write_text(text)
            said = subprocess.run([LINAC, "serve", "--data", f"{folder}/data", "--sites", str(file), "--listen", "127.0.0.1:0"], capture_output=True, text=True,
                                  timeout=20)
            assert said.returncode == 2 and word in said.stderr, said
        os.mkfifo(f"{folder}/pipe")
        said = subprocess.run([LINAC, "serve", "--data", f"{folder}/data", "--sites", f"{folder}/pipe"], capture_output=True, text=True, timeout=20)
        assert said.returncode == 2 and "is no file" in said.stderr, said


def test_slurm() -> None:
    if not Slurm.available():
        return skipped("Slurm", "none is installed, or this user is not root", "tests/servers/get.sh slurm")
    with contextlib.ExitStack() as stack:
        cluster = stack.enter_context(Slurm())
        stack.enter_context(unittest.mock.patch.dict(os.environ, cluster.environment))
        root = stack.enter_context(tempfile.TemporaryDirectory(prefix="linac-farm-", ignore_cleanup_errors=True))
        farm = {"kind": "slurm", "folder": f"{root}/site", "program": LINAC, "partition": "main", "notice": "5s", "memory": "2G"}
        world = World(stack, farm=farm, wrong=farm | {"partition": "nowhere"}, bare=farm | {"container": f"{root}/nowhere.sif"})
        said = world.client.run("submit", JOB, *words(SHORT | PLANNED, "farm"), "--set", "plan.memory_gib=3", status=3)
        assert "could not begin at farm: memory: 1 worker of 3 GiB (plan.memory_gib) take 3, and memory: 2G gives them 2: raise it" in said, said
        run = world.submit(SHORT | PLANNED, "farm")
        said = world.client.run("submit", JOB, *words(SHORT, "wrong"), status=3)
        assert "nowhere: not there; there are main" in said, said
        said = world.client.run("submit", JOB, *words(SHORT, "bare"), status=3)
        assert f"could not begin at bare: image: {root}/nowhere.sif: not there" in said, said
        world.kill()
        done_with_the_bits_of_here(world, run, SHORT | PLANNED)
        long = world.submit(LONG, "farm")
        world.client.wait_for_steps(long, 3)
        world.client.run("cancel", long)
        world.client.wait(long, "CANCELLED")
        assert len(list(pathlib.Path(root).glob("site/*/launch/submitted"))) == 2


def test_ssh_with_a_folder_of_its_own() -> None:
    if not Sshd.available():
        return skipped("ssh", "no sshd is installed", "tests/servers/get.sh sshd")
    with contextlib.ExitStack() as stack:
        hosts = stack.enter_context(Sshd(["n01", "n02"]))
        root = stack.enter_context(tempfile.TemporaryDirectory(prefix="linac-hosts-", ignore_cleanup_errors=True))
        pair = {"kind": "ssh", "folder": f"{root}/site", "program": LINAC, "ssh": hosts.command, "hosts": ["n01", "n02"], "address": "127.0.0.1"}
        world = World(stack, pair=pair)
        done_with_the_bits_of_here(world, world.submit(SHORT, "pair"))


def test_runs_at_an_object_store() -> None:
    if not Versitygw.available():
        return skipped("runs at an object store", "no versitygw is installed", "tests/servers/get.sh versitygw")
    with contextlib.ExitStack() as stack:
        store = stack.enter_context(Versitygw())
        stack.enter_context(unittest.mock.patch.dict(os.environ, store.environment))
        root = stack.enter_context(tempfile.TemporaryDirectory(prefix="linac-cloud-", ignore_cleanup_errors=True))
        world = World(stack, cloud={"kind": "local", "folder": f"{root}/site", "program": LINAC, "out": f"s3://{store.BUCKET}/runs"})
        run = world.submit(SHORT, "cloud")
        done_with_the_bits_of_here(world, run)
        assert not list(pathlib.Path(root).glob("site/*/metrics.jsonl")), "the run was kept at the site"


def main() -> None:
    failed = []
    for name, test in list(globals().items()):
        if not name.startswith("test_") or (len(sys.argv) > 1 and not any(word in name for word in sys.argv[1:])):
            continue
        begin = time.monotonic()
        try:
            test()
            print(f"ok   {name} ({time.monotonic() - begin:.1f} s)", flush=True)
        except Exception:
            traceback.print_exc()
            print(f"FAIL {name}", flush=True)
            failed.append(name)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
