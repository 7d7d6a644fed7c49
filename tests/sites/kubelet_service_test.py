#!/usr/bin/env python3
"""Kubernetes at a service: jobs of the queue (`linac submit --on SITE`) as real pods, on a real kubelet with containerd. The status has what a pod
waits for, log and state come from the pods, a service that is killed in between finds each launch again, a run ends with the bits of one here, one
whose Job somebody deletes goes on, and what is cancelled or done leaves nothing in the cluster. Exit 77 where there is no kubelet, no root or no image.

  tests/sites/kubelet_service_test.py [--image linac-VERSION-oci.tar]    # of `make image`; LINAC_TEST_IMAGE
"""

import argparse
import contextlib
import os
import pathlib
import sys
import tempfile
import time

from lib import launches, runs
from lib.checks import check
from lib.pods import IMAGE_FILE, prepared, running, sites_of, why_no_pods
from lib.servers.kubelet import Kubelet
from lib.service_client import ENDED
from lib.sites_world import World


class Place:
    """A service, the cluster that it has as a site, and the folder that all pods see."""

    def __init__(self, stack: contextlib.ExitStack, cluster: Kubelet, root: pathlib.Path):
        self.cluster, self.root = cluster, root
        self.world = World(stack, **sites_of(cluster, root))

    def submit(self, settings: dict, site: str) -> str:
        return self.world.submit({key: str(value) for key, value in settings.items() if key != "job"}, site)

    def labels(self) -> list[str]:
        """Launches that the cluster has."""
        items = self.cluster.ask("GET", "/apis/batch/v1/namespaces/default/jobs")["items"]
        return [item["metadata"]["labels"]["linac/launch"] for item in items]

    def out(self) -> pathlib.Path:
        """Of the only run that was in the volume since it was asked last."""
        return next(path for path in (self.root / "runs").glob("linac-*") if (path / "metrics.jsonl").exists())

    def state(self, run: str) -> dict:
        return self.world.client.state(run)

    def wait_for(self, run: str, holds, what: str, limit_s: float = 120) -> dict:
        end = time.monotonic() + limit_s
        while not holds(found := self.state(run)):
            if time.monotonic() > end or found["state"] in ENDED:
                sys.exit(f"{what}: {found['state']}: {found['reason']}")
            time.sleep(0.3)
        return found

    def tells(self, run: str, words: str) -> None:
        found = self.wait_for(run, lambda found: words in found["reason"], f"its reason has '{words}'", 30)
        check(found["state"] == "STARTING", f"the run says why it waits: {found['reason']}")

    def cancel(self, run: str) -> None:
        self.world.client.run("cancel", run)
        self.world.client.wait(run, "CANCELLED")

    def nothing_is_left(self, what: str, limit_s: float = 60) -> None:
        pods = lambda: self.cluster.ask("GET", "/api/v1/namespaces/default/pods")["items"]
        end = time.monotonic() + limit_s
        while (self.labels() or pods()) and time.monotonic() < end:
            time.sleep(0.3)
        check(not self.labels() and not pods(), f"{what}: no Job and no pod is left")
        for kind in ("services", "configmaps", "secrets"):
            left = [item["metadata"]["name"] for item in self.cluster.ask("GET", f"/api/v1/namespaces/default/{kind}")["items"]]
            check(not [name for name in left if name.startswith("linac-")], f"nor are {kind}")


def waits(place: Place, settings: dict) -> None:
    """A pod that cannot begin: the user hears why, also from the next service."""
    run = place.submit(settings, "absent")
    place.tells(run, "mage")
    place.world.kill()
    place.tells(run, "mage")
    check(len(place.labels()) == 1, "one launch, whichever service")
    place.cancel(run)
    place.nothing_is_left("cancelled while it waits")


def trains(place: Place, calm: pathlib.Path, settings: dict) -> None:
    """Killed as it is submitted and while it runs."""
    run = place.submit(settings, "k8s")
    for pause in (0, 0.2, 0.4, 1):
        time.sleep(pause)
        place.world.kill()
    found = place.wait_for(run, lambda found: found["state"] == "RUNNING", "it runs")
    check(len(place.labels()) == 1, f"it runs, once: {found['reason']}")
    place.world.kill()
    found = place.world.client.wait(run, "SUCCEEDED")
    check(sum(change["to"] == "STARTING" for change in found["transitions"]) == 1, "it was started once")
    log = place.world.client.run("logs", run)
    check("step" in log and "training:" in log, "its log came from the pods, to the end")
    launches.same_bits(calm, place.out(), "pods of a service that was killed five times")
    place.nothing_is_left("done")


def cancelled(place: Place, settings: dict) -> None:
    run = place.submit(settings, "k8s")
    place.cluster.wait(lambda: place.labels() and len(running(place.cluster, place.labels()[0])) == 2, "two pods that run", 120)
    out = place.root / "runs" / place.labels()[0].rsplit("-", 1)[0]
    launches.wait_for_steps(out, 3, 120)
    place.world.client.run("cancel", run)
    for pause in (0, 0.4, 0.8):
        time.sleep(pause)
        place.world.kill()
    place.world.client.wait(run, "CANCELLED")
    check(runs.newest_checkpoint(out).is_file(), "cancelled by services that were killed meanwhile, it has left a checkpoint")
    place.nothing_is_left("cancelled while it runs")
    check(not launches.processes_with("/linac/worker.sh"), "nor a process")
    steps = sum(line["kind"] == "step" for line in runs.lines(out))
    place.world.client.run("resume", run)
    launches.wait_for_steps(out, steps + 3, 120)
    done = [line["global_step"] for line in runs.lines_so_far(out) if line["kind"] == "step"]
    check(done == list(range(1, len(done) + 1)), "resumed, it goes on from there, each step once")

    label = place.labels()[0]
    place.cluster.ask("DELETE", f"/apis/batch/v1/namespaces/default/jobs/{label}", {"propagationPolicy": "Background"})  # as kubectl does it
    again = lambda found: any("attempt 3" in change["reason"] for change in found["transitions"])
    place.wait_for(run, again, "a Job that somebody has deleted is lost, and comes again")
    steps = sum(line["kind"] == "step" for line in runs.lines_so_far(out))
    launches.wait_for_steps(out, steps + 3, 120)
    done = [line["global_step"] for line in runs.lines_so_far(out) if line["kind"] == "step"]
    check(done == list(range(1, len(done) + 1)), "and goes on from its checkpoint, each step once")
    place.cancel(run)
    place.nothing_is_left("cancelled again")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--image", type=pathlib.Path, default=os.environ.get("LINAC_TEST_IMAGE", IMAGE_FILE))
    options = parser.parse_args()
    if why := why_no_pods(options.image):
        print(f"skipped: {why}")
        sys.exit(77)
    with contextlib.ExitStack() as stack:
        root = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="linac-pods-", ignore_cleanup_errors=True)))
        cluster = stack.enter_context(Kubelet(options.image))
        settings = prepared(root)
        place = Place(stack, cluster, root)
        calm = root / "calm"
        runs.run(calm, settings, "--workers", "1")
        waits(place, settings)
        trains(place, calm, settings)
        cancelled(place, settings | {"train.epochs": 500, "checkpoint.every_steps": 5, "checkpoint.keep": 2})


if __name__ == "__main__":
    main()
