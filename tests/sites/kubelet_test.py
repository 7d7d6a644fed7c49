#!/usr/bin/env python3
"""A training of four workers as real pods, on a real kubelet with containerd: pods are deleted, killed and evicted, the node is drained, the API
server killed for some seconds; the run ends with the bits of one here, and no step of its record is undone. What a pod waits for and
why it ended is told, logs come from the pods, secrets as references, and cancel leaves nothing. Exit 77 where there is no kubelet, no root or no image.

  tests/sites/kubelet_test.py [--deleted 20] [--away 3] [--image linac-VERSION-oci.tar]    # of `make image`; LINAC_TEST_IMAGE
"""

import argparse
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import threading
import time

from lib import launches, runs
from lib.checks import check
from lib.launches import Client, name_in
from lib.pods import IMAGE_FILE, prepared, running, sites_of, why_no_pods
from lib.servers.kubelet import NODE, Kubelet

WORKERS = 4
PODS = "/api/v1/namespaces/default/pods/"


class Record:
    """Counts the steps of a run's record while it grows, and those that are taken back: done, and lost."""

    def __init__(self, client: Client, name: str, out: pathlib.Path):
        self.client, self.name = client, name
        self.out, self.steps, self.undone, self.members, self.over = out, 0, 0, 0, threading.Event()
        self.thread = threading.Thread(target=self._look, daemon=True)
        self.thread.start()

    def _look(self) -> None:
        while not self.over.wait(0.05):
            lines = runs.lines_so_far(self.out)
            now = sum(line["kind"] == "step" for line in lines)
            self.members = next((len(line["members"]) for line in reversed(lines) if line["kind"] == "view"), 0)
            self.undone += max(0, self.steps - now)
            self.steps = now

    def wait_for(self, steps: int, limit_s: float = 120) -> None:
        begun = asked = time.monotonic()
        while self.steps < steps:
            now = time.monotonic()
            if now > asked + 5:
                asked = now
                standing = self.client.standing(self.name)
                if standing["state"] in ("FAILED", "SUCCEEDED") or now > begun + limit_s:
                    sys.exit(f"{steps} steps not reached, {self.steps}: {standing}\n{self.client.linac('logs', self.name)}")
            time.sleep(0.05)


def delete(cluster: Kubelet, pod: str, grace: int | None) -> None:
    cluster.ask("DELETE", PODS + pod, {} if grace is None else {"gracePeriodSeconds": grace})


def evict(cluster: Kubelet, pod: str) -> None:
    said = cluster.ask("POST", f"{PODS}{pod}/eviction", {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": pod, "namespace": "default"}})
    check(said.get("status") == "Success", f"{pod} is evicted: {said}")


def kubectl(cluster: Kubelet, *words: str) -> None:
    done = subprocess.run(["kubectl", f"--kubeconfig={cluster.folder}/own.kubeconfig", *words], text=True, capture_output=True, timeout=120)
    check(done.returncode == 0, f"kubectl {' '.join(words)} {done.stderr[-500:]}")


def faults(cluster: Kubelet, label: str, record: Record, options: argparse.Namespace) -> dict:
    """One after the other, the run a step further before each. What was done, by kind."""
    wanted = ["deleted"] * options.deleted + ["killed", "API server", "API server", "evicted"]
    seed = options.seed
    chance = random.Random(seed)
    chance.shuffle(wanted)
    if options.drain:
        wanted.insert(0, "drained")
    done: dict[str, int] = {}
    for kind in wanted:
        record.wait_for(record.steps + 1)
        if kind == "API server":
            cluster.stop_apiserver()
            time.sleep(options.away)
            cluster.start_apiserver()
        elif kind == "drained":
            kubectl(cluster, "drain", NODE, "--delete-emptydir-data", "--timeout=60s")
            kubectl(cluster, "uncordon", NODE)
        else:
            # Never the last one: the Job controller lets each index wait longer from one end to the next, and a pod that runs may not train yet.
            cluster.wait(lambda: record.members > 1 and len(running(cluster, label)) > 1, "two pods that train", 600)
            pod = chance.choice(running(cluster, label))
            if kind == "evicted":
                evict(cluster, pod)
            else:
                delete(cluster, pod, 0 if kind == "killed" else None)
        done[kind] = done.get(kind, 0) + 1
        print(f"  {kind} at step {record.steps}", flush=True)
    return done


def trains(client: Client, cluster: Kubelet, root: pathlib.Path, settings: dict, options: argparse.Namespace) -> None:
    calm = root / "calm"
    runs.run(calm, settings, "--workers", "2")
    begun = time.monotonic()
    name = name_in(client.launch("k8s", settings, "--workers", str(WORKERS)))
    label, out = name.split(":")[1], root / "runs" / name.split(":")[1]
    record = Record(client, name, out)
    record.wait_for(1)
    print(f"first step {time.monotonic() - begun:.1f} s after the launch")
    check("RUNNING" == client.standing(name)["state"], "a launch of real pods runs")
    check("step" in client.linac("logs", name), "its log is read from the pods")
    done = faults(cluster, label, record, options)
    end = client.wait_for(name, "SUCCEEDED", "FAILED", limit_s=600)
    seconds = time.monotonic() - begun
    record.over.set()
    check(end["state"] == "SUCCEEDED", f"after {done} it has come to its end: {end['reason']}; {end['details']}")
    print({key: value for key, value in end["details"].items() if key.startswith("worker")})
    launches.same_bits(calm, out, f"{done}")
    check(record.undone == 0, f"no step of its record was undone: {record.undone}")
    client.linac("cancel", name)
    check(not cluster.left_of(label), "and cancel leaves nothing")
    print(f"{done}: {record.steps} steps, {record.undone} undone, {seconds:.0f} s")
    if options.figures:
        options.figures.write_text(json.dumps({"faults": done, "steps": record.steps, "undone": record.undone, "seconds": seconds}))


def told(client: Client, cluster: Kubelet, root: pathlib.Path, settings: dict) -> None:
    """What a launch waits for, and a secret that is a reference."""
    begun = time.monotonic()
    waits = name_in(client.launch("absent", settings, "--workers", "1"))
    while "mage" not in (standing := client.standing(waits))["reason"] and time.monotonic() - begun < 5:
        time.sleep(0.2)
    check("mage" in standing["reason"], f"an image that is not there is told within 5 s: {standing}")
    print(f"an image that is not there is told after {time.monotonic() - begun:.1f} s: {standing['reason']}")
    client.linac("cancel", waits)
    check(not cluster.left_of(waits.split(":")[1]), "and cancelled, nothing of it is left")
    starved = name_in(client.launch("starved", settings, "--workers", "1"))
    ended = lambda: any("terminated" in one["state"] for pod in cluster.pods(starved.split(":")[1])
                        for one in pod["status"].get("containerStatuses", []))
    cluster.wait(ended, "a worker without memory")
    begun = time.monotonic()
    while "OOMKilled: raise memory" not in json.dumps(standing := client.standing(starved)) and time.monotonic() - begun < 5:
        time.sleep(0.2)
    check("OOMKilled: raise memory" in json.dumps(standing), f"want of memory is told within 5 s: {standing}")
    print(f"want of memory is told {time.monotonic() - begun:.1f} s after it: {standing['details']}")
    client.linac("cancel", starved)
    name = name_in(client.launch("secret", settings | {"train.epochs": 500}, "--workers", "2"))
    label = name.split(":")[1]
    launches.wait_for_steps(root / "runs" / label, 3)
    pods = cluster.ask("GET", f"{PODS}?labelSelector=linac/launch%3D{label}")
    check("word-of-the-store" not in json.dumps(pods), "a secret is in no pod's manifest")
    containers = [one.split()[0] for one in cluster.ctr("containers", "ls").splitlines() if "linac" in one]  # of others that have ended, too
    check(any("STORE_KEY=word-of-the-store" in json.dumps(json.loads(cluster.ctr("containers", "info", one))["Spec"]["process"]["env"]) for one in containers),
          "and the worker has it")
    client.linac("cancel", name)
    check(client.standing(name)["state"] == "CANCELLED" and not cluster.left_of(label), "a run that was cancelled has gone")
    check("worker.sh" not in json.dumps(launches.processes_with("/linac/worker.sh")), "and no process of it is left")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--deleted", type=int, default=2)
    parser.add_argument("--away", type=float, default=1, help="seconds for which the API server is away, twice")
    parser.add_argument("--drain", action=argparse.BooleanOptionalAction, default=True, help="the node first, once")
    parser.add_argument("--epochs", type=int, default=60)
    parser.add_argument("--figures", type=pathlib.Path, help="a file for the figures of the run")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--image", type=pathlib.Path, default=os.environ.get("LINAC_TEST_IMAGE", IMAGE_FILE))
    options = parser.parse_args()
    if why := why_no_pods(options.image):
        print(f"skipped: {why}")
        sys.exit(77)
    with tempfile.TemporaryDirectory(prefix="linac-pods-", ignore_cleanup_errors=True) as folder, Kubelet(options.image) as cluster:
        root = pathlib.Path(folder)
        settings = prepared(root) | {"train.epochs": options.epochs, "distribution.on_sigterm": "leave"}
        cluster.ask("POST", "/api/v1/namespaces/default/secrets", {"metadata": {"name": "store"}, "stringData": {"key": "word-of-the-store"}})
        client = Client(root, sites_of(cluster, root))
        trains(client, cluster, root, settings, options)
        told(client, cluster, root, settings)


if __name__ == "__main__":
    main()
