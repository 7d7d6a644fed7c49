#!/usr/bin/env python3
"""A training of four workers as real pods, on a real kubelet with containerd: pods are deleted, killed and evicted, the node is drained, the API
server killed; the run ends with the bits of one here, and no step of its record is undone. Logs come from the pods, secrets as references, and cancel
leaves nothing. With --deleted 20: that many pods, at random. Exit 77 where there is no kubelet, no root or no image.

  tests/sites/kubelet_test.py [--deleted 20] [--image linac-0.1.0-oci.tar]    # of `make image`; LINAC_TEST_IMAGE
"""

import argparse
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import time

import launches
import runs
from launches import Client, check, name_in

from kubelet import IMAGE, NODE, Kubelet  # in tests/servers, which runs.py has found

WORKERS = 4
PODS = "/api/v1/namespaces/default/pods/"


class Record:
    """Counts the steps of a run's record while it grows, and those that are taken back: done, and lost."""

    def __init__(self, out: pathlib.Path):
        self.out, self.steps, self.undone, self.over = out, 0, 0, threading.Event()
        self.thread = threading.Thread(target=self._look, daemon=True)
        self.thread.start()

    def _look(self) -> None:
        while not self.over.wait(0.05):
            now = sum(line["kind"] == "step" for line in runs.lines_so_far(self.out))
            self.undone += max(0, self.steps - now)
            self.steps = now

    def wait_for(self, steps: int, limit_s: float = 120) -> None:
        end = time.monotonic() + limit_s
        while self.steps < steps:
            if time.monotonic() > end:
                sys.exit(f"{self.out}: {steps} steps not reached, {self.steps}")
            time.sleep(0.05)


def running(cluster: Kubelet, label: str) -> list[str]:
    return [pod["metadata"]["name"] for pod in cluster.pods(label)
            if pod["status"]["phase"] == "Running" and "deletionTimestamp" not in pod["metadata"]]


def delete(cluster: Kubelet, pod: str, grace: int | None) -> None:
    cluster.ask("DELETE", PODS + pod, {} if grace is None else {"gracePeriodSeconds": grace})


def evict(cluster: Kubelet, pod: str) -> None:
    said = cluster.ask("POST", f"{PODS}{pod}/eviction", {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": pod, "namespace": "default"}})
    check(said.get("status") == "Success", f"{pod} is evicted: {said}")


def kubectl(cluster: Kubelet, *words: str) -> None:
    done = subprocess.run(["kubectl", f"--kubeconfig={cluster.folder}/own.kubeconfig", *words], text=True, capture_output=True, timeout=120)
    check(done.returncode == 0, f"kubectl {' '.join(words)} {done.stderr[-500:]}")


def faults(cluster: Kubelet, label: str, record: Record, deleted: int, seed: int) -> dict:
    """One after the other, the run a step further before each. What was done, by kind."""
    kinds = ["deleted", "killed"] * deleted
    wanted = kinds[:deleted] + ["API server", "API server", "evicted", "drained"]
    chance = random.Random(seed)
    chance.shuffle(wanted)
    done: dict[str, int] = {}
    for kind in wanted:
        record.wait_for(record.steps + 1)
        if kind == "API server":
            cluster.stop_apiserver()
            time.sleep(0.5)
            cluster.start_apiserver()
        elif kind == "drained":
            kubectl(cluster, "drain", NODE, "--timeout=60s")
            kubectl(cluster, "uncordon", NODE)
        else:
            cluster.wait(lambda: running(cluster, label), "a pod that runs")
            pod = chance.choice(running(cluster, label))
            if kind == "evicted":
                evict(cluster, pod)
            else:
                delete(cluster, pod, 0 if kind == "killed" else None)
        done[kind] = done.get(kind, 0) + 1
        print(f"  {kind} at step {record.steps}", flush=True)
    return done


def trains(client: Client, cluster: Kubelet, root: pathlib.Path, settings: dict, deleted: int, seed: int) -> None:
    calm = root / "calm"
    runs.run(calm, settings, "--workers", str(WORKERS))
    begun = time.monotonic()
    name = name_in(client.launch("k8s", settings, "--workers", str(WORKERS)))
    label, out = name.split(":")[1], root / "runs" / name.split(":")[1]
    record = Record(out)
    record.wait_for(1)
    print(f"first step {time.monotonic() - begun:.1f} s after the launch")
    check("RUNNING" == client.standing(name)["state"], "a launch of real pods runs")
    check("step" in client.linac("logs", name), "its log is read from the pods")
    done = faults(cluster, label, record, deleted, seed)
    end = client.wait_for(name, "SUCCEEDED", "FAILED", limit_s=300)
    record.over.set()
    check(end["state"] == "SUCCEEDED", f"after {done} it has come to its end: {end['reason']}")
    launches.same_bits(calm, out, f"{done}")
    check(record.undone == 0, f"no step of its record was undone: {record.undone}")
    client.linac("cancel", name)
    check(not cluster.left_of(label), "and cancel leaves nothing")
    print(f"{done}: {record.steps} steps, {record.undone} undone, {time.monotonic() - begun:.0f} s")


def told(client: Client, cluster: Kubelet, root: pathlib.Path, settings: dict) -> None:
    """What a launch waits for, and a secret that is a reference."""
    begun = time.monotonic()
    waits = name_in(client.launch("absent", settings, "--workers", "1"))
    while "mage" not in (standing := client.standing(waits))["reason"]:
        check(time.monotonic() - begun < 15, f"an image that is not there is told: {standing}")
        time.sleep(0.2)
    print(f"an image that is not there is told after {time.monotonic() - begun:.1f} s: {standing['reason']}")
    client.linac("cancel", waits)
    check(not cluster.left_of(waits.split(":")[1]), "and cancelled, nothing of it is left")
    name = name_in(client.launch("k8s", settings | {"train.epochs": 500}, "--workers", "2"))
    label = name.split(":")[1]
    launches.wait_for_steps(root / "runs" / label, 3)
    pods = cluster.ask("GET", f"{PODS}?labelSelector=linac/launch%3D{label}")
    check("word-of-the-store" not in json.dumps(pods), "a secret is in no pod's manifest")
    container = [one for one in cluster.ctr("containers", "ls").splitlines() if "linac" in one][0].split()[0]
    check("STORE_KEY=word-of-the-store" in json.dumps(json.loads(cluster.ctr("containers", "info", container))["Spec"]["process"]["env"]),
          "and the worker has it")
    client.linac("cancel", name)
    check(client.standing(name)["state"] == "CANCELLED" and not cluster.left_of(label), "a run that was cancelled has gone")
    check("worker.sh" not in json.dumps(launches.processes_with("/linac/worker.sh")), "and no process of it is left")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--deleted", type=int, default=2)
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--image", type=pathlib.Path, default=os.environ.get("LINAC_TEST_IMAGE", runs.ROOT / "build/packages/linac-0.1.0-oci.tar"))
    options = parser.parse_args()
    why = Kubelet.missing() or ("" if options.image.is_file() else f"no image {options.image} (make image)")
    if why:
        print(f"skipped: {why}")
        sys.exit(77)
    with tempfile.TemporaryDirectory(prefix="linac-pods-", ignore_cleanup_errors=True) as folder, Kubelet(options.image) as cluster:
        root = pathlib.Path(folder)
        (root / "runs").mkdir()
        for name in ("train.parquet", "test.parquet", "scaling.json"):
            shutil.copy(runs.ROOT / "data" / f"topology-{name}", root / "runs")
        settings = launches.SETTINGS | {"train.epochs": options.epochs, "data.train": f"[{root}/runs/topology-train.parquet]",
                                        "data.test": f"[{root}/runs/topology-test.parquet]", "data.scaling": f"{root}/runs/topology-scaling.json"}
        cluster.ask("POST", "/api/v1/namespaces/default/secrets", {"metadata": {"name": "store"}, "stringData": {"key": "word-of-the-store"}})
        site = {"kind": "kubernetes", "image": IMAGE, "image_pull_policy": "Never", "folder": f"{root}/runs", "volume": f"hostPath:{root}/runs",
                "notice": "20s", "secrets": {"STORE_KEY": "store/key"}, "kubeconfig": f"{cluster.folder}/own.kubeconfig"}
        client = Client(root, {"k8s": site, "absent": site | {"image": "docker.io/local/absent:1"}})
        trains(client, cluster, root, settings, options.deleted, options.seed)
        told(client, cluster, root, settings)


if __name__ == "__main__":
    main()
