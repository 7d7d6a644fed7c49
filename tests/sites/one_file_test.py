#!/usr/bin/env python3
"""The same file on every kind of site, the same bits: the job of `make demo` and that of examples/topology.yaml run on this host, on a real Slurm, by
a real mpirun, on two hosts behind ssh that share no folder (network namespaces), at an agent of a service, as real pods, and as pods of a service.
All checkpoints and records are compared with those of one worker here. A table tells kinds and seconds. The demo's job has three steps of one
epoch in place of 117, each with all updates of a 3DGAN. Paths are absolute, as services want them.

Kinds whose servers are missing are left out by name, and the others are looked at.

  tests/sites/one_file_test.py [KIND...] [--image linac-VERSION-oci.tar]    # of `make image`; LINAC_TEST_IMAGE
"""

import argparse
import contextlib
import json
import os
import pathlib
import shutil
import sys
import tempfile
import time
import zipfile

from lib import hosts, launches, runs, service_client
from lib.checks import check
from lib.launches import name_in
from lib.pilot_process import Agent
from lib.pods import IMAGE_FILE, why_no_pods
from lib.server_process import Service
from lib.servers.kubelet import IMAGE, Kubelet
from lib.servers.slurm import Slurm
from lib.servers.sshd import Place, Sshd
from lib.skips import skipped

WORKERS = 2


class World:
    """A folder that all see but the hosts of ssh, with what the jobs read, and what is left of each run in it."""

    def __init__(self, stack: contextlib.ExitStack, image: pathlib.Path):
        self.stack, self.image, self._cluster = stack, image, None
        self.root = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="linac-one-file-", ignore_cleanup_errors=True)))
        self.runs = self.root / "runs"
        self.runs.mkdir()
        read = self.runs / "read"
        read.mkdir()
        for name in ("data/showers-train.h5", "data/showers-test.h5", "data/topology-train.parquet", "data/topology-test.parquet",
                     "data/topology-scaling.json", "models/3dgan-clic.keras"):
            shutil.copy(runs.ROOT / name, read)
        # The same words for every kind.
        self.jobs = {"demo": {"job": "examples/demo.yaml", "model.from": f"{read}/3dgan-clic.keras", "data.train": f"[{read}/showers-train.h5]",
                              "data.test": f"[{read}/showers-test.h5]", "train.epochs": 1, "train.steps_per_epoch": 3, "train.discriminator_first": 1,
                              "validate.events": 100, "checkpoint.every_steps": 1},
                     "topology": {"job": "examples/topology.yaml", "data.train": f"[{read}/topology-train.parquet]",
                                  "data.test": f"[{read}/topology-test.parquet]", "data.scaling": f"{read}/topology-scaling.json"}}

    def pods(self) -> dict:
        """A site: a cluster with one node, which stays until the end of the test."""
        if not self._cluster:
            self._cluster = self.stack.enter_context(Kubelet(self.image))
        return {"kind": "kubernetes", "image": IMAGE, "image_pull_policy": "Never", "folder": str(self.runs), "volume": f"hostPath:{self.runs}",
                "cpus": 1,  # else others of this host come first
                "notice": "20s", "kubeconfig": f"{self._cluster.folder}/own.kubeconfig"}

    def client(self, name: str, site: dict, **variables: str) -> launches.Client:
        folder = self.root / f"client-{name}"
        folder.mkdir()
        return launches.Client(folder, {name: site}, **variables)

    def launched(self, client: launches.Client, name: str, settings: dict, *words: object) -> str:
        """The launch's label, once it has come to its end."""
        launch = name_in(client.launch(name, settings, *words))
        end = client.wait_for(launch, "SUCCEEDED", "FAILED", "LOST", "CANCELLED", limit_s=600)
        if end["state"] != "SUCCEEDED":
            sys.exit(f"{name}: {end}\n" + client.linac("logs", launch))
        check(end["workers"] == WORKERS, f"{name}: {settings['job']} has come to its end with {WORKERS} workers")
        return launch.split(":")[1]


# A kind of site: how a job runs there, as a function of its name and settings that gives the folders of the run. Its servers end with the stack.
# Or a text: why there is none here.


def launching(world: World, name: str, site: dict, *words: object, **variables: str):
    client = world.client(name, {"folder": str(world.runs), "program": runs.LINAC} | site, **variables)
    return lambda job, settings: [world.runs / world.launched(client, name, settings, *words)]


def local(world: World, stack: contextlib.ExitStack):
    return launching(world, "local", {"kind": "local"}, "--workers", WORKERS)


def slurm(world: World, stack: contextlib.ExitStack):
    if not Slurm.available():
        return "no Slurm, or no root (tests/servers/get.sh slurm)"
    cluster = stack.enter_context(Slurm())
    site = {"kind": "slurm", "partition": "main", "workers_per_node": WORKERS}
    return launching(world, "slurm", site, "--workers", WORKERS, **cluster.environment)


def mpi(world: World, stack: contextlib.ExitStack):
    if shutil.which("mpirun") is None:
        return "no mpirun (tests/servers/get.sh openmpi)"
    arguments = ["--oversubscribe", *(["--allow-run-as-root"] if os.geteuid() == 0 else [])]
    return launching(world, "mpi", {"kind": "mpi", "arguments": arguments}, "--workers", WORKERS)


def ssh(world: World, stack: contextlib.ExitStack):
    able, why = hosts.available()
    if not able or not Sshd.available():
        return why or "no sshd (tests/servers/get.sh sshd)"
    net = stack.enter_context(hosts.Network(["n01", "n02", "desk"]))
    folder, disks = world.root / "hosts", {name: world.root / f"disk-{name}" for name in ("n01", "n02")}
    for path in (folder, *disks.values()):
        path.mkdir()

    def place(name: str) -> Place:
        mount = ["unshare", "--mount", "sh", "-c", 'mount --bind "$1" "$2" && shift 2 && exec "$@"', "sh", disks[name], folder]
        return Place(net[name].address, lambda words, **more: net[name].popen([*mount, *words], **more))

    servers = stack.enter_context(Sshd(list(disks), {name: place(name) for name in disks}))
    site = {"kind": "ssh", "folder": str(folder), "program": runs.LINAC, "hosts": list(disks), "address": net["n01"].address,
            "ssh": ["ip", "netns", "exec", net["desk"].namespace, *servers.command]}
    client = world.client("ssh", site)

    def run(job: str, settings: dict) -> list[pathlib.Path]:
        label = world.launched(client, "ssh", settings)
        check(not list(folder.iterdir()), "ssh: each host has a disk of its own")
        return [disk / label for disk in disks.values()]

    return run


def kubernetes(world: World, stack: contextlib.ExitStack):
    return why_no_pods(world.image) or launching(world, "kubernetes", world.pods() | {"program": "linac"}, "--workers", WORKERS)


def serving(stack: contextlib.ExitStack, *options: str) -> tuple[Service, service_client.Client]:
    service = stack.enter_context(Service(*options))
    return service, service_client.Client(service, stack.enter_context(tempfile.TemporaryDirectory(prefix="linac-config-")))


def submitted(client: service_client.Client, settings: dict, *words: str) -> str:
    sets = [word for key, value in settings.items() if key != "job" for word in ("--set", f"{key}={value}")]
    [run] = client.json("submit", settings["job"], *sets, *words)["runs"]
    client.wait(run["id"], "SUCCEEDED", seconds=600)
    return run["id"]


def pilot(world: World, stack: contextlib.ExitStack):
    service, client = serving(stack)
    stack.enter_context(Agent(service.url, client.run("agents", "token").strip(), "--slots", f"cores={WORKERS},gpus=0"))

    def run(job: str, settings: dict) -> list[pathlib.Path]:
        found, to = submitted(client, settings, "--on", "pilots", "--cores", str(WORKERS)), world.root / f"pilot-{job}"
        to.mkdir()
        for part in ("metrics.jsonl", "checkpoints", "models"):
            client.run("artifacts", "get", found, part, str(to / part))
        return [to]

    return run


def service_pods(world: World, stack: contextlib.ExitStack):
    if why := why_no_pods(world.image):
        return why
    (world.root / "sites.yaml").write_text(json.dumps({"k8s": world.pods()}))
    _, client = serving(stack, "--sites", str(world.root / "sites.yaml"))

    def run(job: str, settings: dict) -> list[pathlib.Path]:
        found = submitted(client, settings, "--on", "k8s")
        return list(world.runs.glob(f"linac-*-{found}"))

    return run


KINDS = {"local": local, "slurm": slurm, "mpi": mpi, "ssh": ssh, "pilots": pilot, "kubernetes": kubernetes, "service, kubernetes": service_pods}


def network_in(model: pathlib.Path) -> dict[str, bytes]:
    """Of a Keras file, without linac's notes: they have the job, and that the number of its workers."""
    with zipfile.ZipFile(model) as file:
        return {name: file.read(name) for name in file.namelist() if name != "linac.json"}


def contents(out: pathlib.Path) -> dict:
    """What has to be the same: the tensors of each checkpoint, the record's losses, the networks."""
    checkpoints = {path.name: runs.tensors_in(path.read_bytes()) for path in (out / "checkpoints").glob("*.safetensors")}
    return {"checkpoints": checkpoints, "losses": runs.losses(out), "models": {path.name: network_in(path) for path in (out / "models").iterdir()}}


def compared(world: World, expected: dict, run, name: str, job: str) -> tuple[float, int]:
    """Seconds of the run from submission to its known end, and how many checkpoints were compared."""
    begun = time.monotonic()
    folders = run(job, world.jobs[job])
    seconds = time.monotonic() - begun
    check(len(folders) > 0, "the run has left a folder")
    for out in folders:
        found = contents(out)
        names = set(found["checkpoints"])
        # An agent brings the newest one and the best.
        wanted = {max(expected["checkpoints"]), "best.safetensors"} if name == "pilots" else set(expected["checkpoints"])
        check(wanted <= names, f"all checkpoints are there: {', '.join(sorted(names))}")
        check(all(found["checkpoints"][one] == expected["checkpoints"].get(one) for one in names), "and the tensors of each are those of one worker here")
        for what in ("losses", "models"):
            check(found[what] == expected[what], f"{what} are those of one worker here")
        members = max(len(line["members"]) for line in runs.lines(out) if line["kind"] == "view")
        check(members == WORKERS, f"{WORKERS} workers have trained together")
    return seconds, sum(len(contents(out)["checkpoints"]) for out in folders)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kinds", nargs="*", help=f"of {', '.join(KINDS)}; default: all")
    parser.add_argument("--image", type=pathlib.Path, default=os.environ.get("LINAC_TEST_IMAGE", IMAGE_FILE))
    options = parser.parse_args()
    table, missing, expected = [], [], {}
    with contextlib.ExitStack() as whole:
        world = World(whole, options.image)
        for job, settings in world.jobs.items():
            begun = time.monotonic()
            runs.run(world.root / f"alone-{job}", settings, "--workers", "1")
            expected[job] = contents(world.root / f"alone-{job}")
            check(len(expected[job]["checkpoints"]) > 2 and expected[job]["losses"], f"{job}, one worker here")
            table.append(("here", job, 1, time.monotonic() - begun, len(expected[job]["checkpoints"])))
        for name in options.kinds or KINDS:
            with contextlib.ExitStack() as stack:
                run = KINDS[name](world, stack)
                if isinstance(run, str):
                    missing.append((name, run))
                    continue
                for job in world.jobs:
                    print(f"-- {name}: {job}", flush=True)
                    table.append((name, job, WORKERS, *compared(world, expected[job], run, name, job)))
                    print(f"   in {table[-1][3]:.1f} s", flush=True)
    print(f"{'kind':20} {'job':10} workers  seconds  checkpoints of the same bits")
    for name, job, workers, seconds, checkpoints in table:
        print(f"{name:20} {job:10} {workers:7} {seconds:8.1f}  {checkpoints:11}")
    for name, why in missing:
        skipped(name, why)


if __name__ == "__main__":
    main()
