#!/usr/bin/env python3
"""What launches cost under Kubernetes, as tests see it.

  bench/kubernetes.py [--parts first-step,faults,many] [--rounds 5] [--image FILE]

`first-step`: from `linac launch` of two pods, on a real kubelet that has the image, to the first step in the run's record; in turns with `linac train` of
the same two workers here. Wanted: 5 s beyond that at most. `faults`: `tests/sites/kubelet_test.py` with 20 deletions at random and the API server away
twice. `many`: a thousand workers on pretended nodes (kwok), the Job's objects made, shown, cancelled and gone; with what the servers computed
meanwhile, and the same pods deleted by other requests than linac's. Wanted: 10 s each at most. The first two need root (tests/lib/servers/kubelet.py).
Writes bench/results/DATE-kubernetes-PART.md."""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import network
from lib import runs
from lib.launches import SETTINGS, Client, name_in, wait_for_steps
from lib.pods import IMAGE_FILE, prepared, sites_of
from lib.runs import ROOT
from lib.servers.kubelet import Kubelet
from lib.servers.kubernetes import Kubernetes
from store import store

MANY = 1000
WORKERS = 2
WANTED_FIRST_S, WANTED_MANY_S = 5, 10
DELETED = 20
# How linac deletes, and what else the API server could be asked for. Each also deletes the pods by one request, at once where it says so.
WAYS = {"Foreground (linac's own)": ("Foreground", {}), "Background": ("Background", {}), "the Job alone, Foreground": ("Foreground", None),
        "Foreground, pods at once": ("Foreground", {"gracePeriodSeconds": 0})}


def first_step(out: pathlib.Path, begun: float) -> float:
    wait_for_steps(out, 1, pause_s=0.02)
    return time.monotonic() - begun


def first_steps(options: argparse.Namespace) -> list[dict]:
    rounds = []
    with tempfile.TemporaryDirectory(prefix="linac-bench-", ignore_cleanup_errors=True) as name, Kubelet(options.image) as cluster:
        root = pathlib.Path(name)
        settings = prepared(root) | {"train.epochs": 500}
        client = Client(root, sites_of(cluster, root))

        def here(number: int) -> float:
            begun, out = time.monotonic(), root / f"here-{number}"
            process = runs.start(out, settings, "--workers", str(WORKERS))
            try:
                return first_step(out, begun)
            finally:
                runs.kill_tree(process)

        def pods(number: int) -> float:
            begun = time.monotonic()
            launch = name_in(client.launch("k8s", settings, "--workers", str(WORKERS)))
            try:
                return first_step(root / "runs" / launch.split(":")[1], begun)
            finally:
                client.linac("cancel", launch)

        for number in range(options.rounds + 1):  # the first one warms up
            order = (("here", here), ("pods", pods)) if number % 2 == 0 else (("pods", pods), ("here", here))
            found = {what: measure(number) for what, measure in order}
            network.say(f"round {number}: {found}")
            if number > 0:
                rounds.append(found)
    return rounds


def faults(options: argparse.Namespace) -> dict:
    with tempfile.TemporaryDirectory(prefix="linac-bench-") as name:
        figures = pathlib.Path(name) / "figures.json"
        done = subprocess.run([sys.executable, ROOT / "tests/sites/kubelet_test.py", "--deleted", str(DELETED), "--away", "3", "--epochs", "300", "--no-drain", "--image",
                               options.image, "--figures", figures], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=2400)
        if done.returncode != 0:
            sys.exit(done.stdout[-3000:])
        return json.loads(figures.read_text())


def computed(cluster: Kubernetes) -> dict[str, float]:
    """CPU seconds of each server until now."""
    seconds = {}
    for name, process in cluster.processes.items():
        words = pathlib.Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        seconds[name] = (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")
    return seconds


class Timed:
    """Seconds of each thing that was done, and the CPU seconds of the servers meanwhile."""

    def __init__(self, cluster: Kubernetes):
        self.cluster, self.found = cluster, {}

    def __call__(self, what: str, act):
        before, begun = computed(self.cluster), time.monotonic()
        answer = act()
        seconds, after = time.monotonic() - begun, computed(self.cluster)
        self.found[what] = {"s": seconds, "cpu_s": {name: after[name] - before[name] for name in after}}
        network.say(f"{what}: {seconds:.1f} s, servers {sum(after.values()) - sum(before.values()):.1f} s of CPU")
        return answer


def many(_: argparse.Namespace) -> dict:
    with tempfile.TemporaryDirectory(prefix="linac-bench-", ignore_cleanup_errors=True) as name, Kubernetes() as cluster:
        cluster.add_nodes(10, "many")
        client = Client(pathlib.Path(name), {"k8s": {"kind": "kubernetes", "image": "linac:1", "folder": "/runs", "volume": "hostPath:/runs",
                                                     "notice": "5s", "kubeconfig": f"{cluster.folder}/own.kubeconfig"}})
        timed = Timed(cluster)
        jobs, pods = "/apis/batch/v1/namespaces/default/jobs/", "/api/v1/namespaces/default/pods?labelSelector=linac/launch%3D"

        def made() -> str:
            launch = name_in(client.launch("k8s", SETTINGS | {"train.replicas": MANY, "train.batch": 1}, "--workers", str(MANY)))
            cluster.wait(lambda: cluster.ask("GET", jobs + launch.split(":")[1]).get("status", {}).get("ready") == MANY, f"{MANY} pods", 120)
            return launch

        def delete(label: str, way: tuple) -> None:
            cluster.ask("DELETE", jobs + label, {"propagationPolicy": way[0]})
            if way[1] is not None:
                cluster.ask("DELETE", pods + label, way[1])
            cluster.wait(lambda: cluster.ask("GET", jobs + label).get("code") == 404 and not cluster.ask("GET", f"{pods}{label}&limit=1")["items"], "its end", 120)

        launch = timed("made", made)
        timed("shown", lambda: client.linac("status", launch))
        timed("cancelled", lambda: client.linac("cancel", launch))
        own, timed.found = timed.found, {}
        for what, way in WAYS.items():
            label = made().split(":")[1]
            timed(what, lambda: delete(label, way))
        return {"linac": own, "ways": timed.found}


TITLES = {"first-step": "from the launch to the first step", "faults": "pods deleted, killed and evicted", "many": f"{MANY} workers on pretended nodes"}


def cpu_words(seconds: dict[str, float]) -> str:
    return ", ".join(f"{name.removeprefix('kube-')} {value:.1f}" for name, value in sorted(seconds.items(), key=lambda item: -item[1]))


def markdown(result: dict) -> str:
    lines = ["# Launches under Kubernetes: " + TITLES[next(part for part in PARTS if part in result)],
             f"{result['date']}, {result['cpu']}, {result['cores']} cores, commit {result['commit']}; other programs took {result['others_cores']:.2f} cores at "
             f"the start. `{result['command']}`. Kubernetes 1.34 and linac on the same cores.", ""]
    if rounds := result.get("first-step"):
        here, pods = ([one[what] for one in rounds] for what in ("here", "pods"))
        beyond = [one["pods"] - one["here"] for one in rounds]
        lines += [f"Two workers, the image is there. Median (minimum to maximum) of {len(rounds)} rounds, in s.", "",
                  "| | |", "|---|---|"]
        lines += [f"| {what} | {statistics.median(values):.2f} ({min(values):.2f} to {max(values):.2f}) |"
                  for what, values in (("`linac train` here", here), ("`linac launch`, two pods of a real kubelet", pods),
                                       (f"beyond it (wanted: {WANTED_FIRST_S} at most)", beyond))] + [""]
    if found := result.get("faults"):
        lines += ["Four pods of a real kubelet. One run; the bits are those of a run here.", "", "| | |", "|---|---|",
                  f"| faults | {', '.join(f'{count} {kind}' for kind, count in found['faults'].items())} |",
                  f"| seconds from the launch to the end, all faults included | {found['seconds']:.0f} |", f"| steps | {found['steps']} |", f"| steps lost | {found['undone']} |", ""]
    if found := result.get("many"):
        lines += [f"Wanted: {WANTED_MANY_S} s each at most. One run.", "", "| linac | s | CPU s of the servers |", "|---|---|---|"]
        lines += [f"| {what} | {one['s']:.1f} | {sum(one['cpu_s'].values()):.1f}: {cpu_words(one['cpu_s'])} |" for what, one in found["linac"].items()]
        lines += ["", "The same objects deleted by requests of other kinds, until they are gone:", "", "| Job, pods | s | CPU s of the servers |", "|---|---|---|"]
        lines += [f"| {what} | {one['s']:.1f} | {sum(one['cpu_s'].values()):.1f}: {cpu_words(one['cpu_s'])} |" for what, one in found["ways"].items()]
    return "\n".join(lines).rstrip() + "\n"


PARTS = {"first-step": first_steps, "faults": faults, "many": many}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parts", default=",".join(PARTS))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--image", type=pathlib.Path, default=IMAGE_FILE)
    options = parser.parse_args()
    wanted = options.parts.split(",")
    if {"first-step", "faults"} & set(wanted) and (why := Kubelet.missing()):
        sys.exit(why)
    for part in wanted:
        result = {**network.provenance("bench/kubernetes.py"), "others_cores": network.busy_cores()}
        result[part] = PARTS[part](options)
        store(result, f"kubernetes-{part}", markdown(result))


if __name__ == "__main__":
    main()
