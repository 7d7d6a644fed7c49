#!/usr/bin/env python3
"""Jobs brought to a cluster of Kubernetes, with its real API server, controllers and scheduler and nodes that are pretended: what a dry run shows is
what is made; whatever becomes of the client, a launch is one Job; what it waits for is told; it is cancelled without a rest; the rights that are
printed suffice. With --many: a thousand workers instead. Exit 77 where there is no Kubernetes."""

import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

from lib import launches
from lib.checks import check, wait_for
from lib.launches import Client, name_in
from lib.servers.kubernetes import Kubernetes

SETTINGS = launches.SETTINGS
MANY = 1000
LIMIT_S = float(os.environ.get("LINAC_TEST_MANY_S", "120"))  # of each of made, shown, cancelled, on a machine with other work


def label_of(name: str) -> str:
    return name.split(":")[1]


def kubectl(cluster: Kubernetes, *words: str, given: str = "") -> str:
    done = subprocess.run(["kubectl", f"--kubeconfig={cluster.folder}/own.kubeconfig", *words], input=given, text=True, capture_output=True, timeout=60)
    if done.returncode != 0:
        sys.exit(f"kubectl {words}: {done.stderr}")
    return done.stdout


def as_wanted(thing: dict) -> dict:
    """Without what the server says of an object, and whose it is."""
    meta = {key: value for key, value in thing["metadata"].items()
            if key not in ("uid", "resourceVersion", "creationTimestamp", "generation", "managedFields", "ownerReferences", "deletionTimestamp")}
    meta.get("annotations", {}).pop("kubectl.kubernetes.io/last-applied-configuration", None)
    meta.get("annotations", {}).pop("batch.kubernetes.io/job-tracking", None)
    if not meta.get("annotations", True):
        del meta["annotations"]
    spec = json.loads(json.dumps(thing.get("spec", {})))
    for key in ("clusterIPs", "selector") if thing["kind"] == "Job" else ():
        spec.pop(key, None)
    for text in ("controller-uid", "batch.kubernetes.io/controller-uid"):
        spec.get("template", {}).get("metadata", {}).get("labels", {}).pop(text, None)
        meta.get("labels", {}).pop(text, None)
    return {"kind": thing["kind"], "metadata": meta, "spec": spec, "data": thing.get("data")}


def objects(cluster: Kubernetes, name: str) -> list[dict]:
    base, batch = "/api/v1/namespaces/default", "/apis/batch/v1/namespaces/default"
    return [as_wanted(cluster.ask("GET", path + name)) for path in (f"{batch}/jobs/", f"{base}/services/", f"{base}/configmaps/")]


def planned(client: Client, cluster: Kubernetes) -> None:
    said = client.linac("sites", "check", "k8s", "--job", "examples/topology.yaml")
    check("v1.34" in said and "the cluster would take it" in said and "\nno" not in said, "the site can be used, says check")
    words = ("k8s", SETTINGS, "--workers", "2", "--name", "same")
    manifests = client.launch(*words, "--dry-run")
    check(not cluster.left_of("same"), "a dry run makes nothing")
    client.launch(*words)
    made = objects(cluster, "same")
    key = json.loads((client.root / "state/linac/launches/k8s/same.json").read_text())["key"]
    check(key not in manifests and all(key not in json.dumps(thing) for thing in made), "the key is in the Secret alone")
    client.linac("cancel", "k8s:same")
    check(not cluster.left_of("same"), "cancel leaves nothing")
    kubectl(cluster, "apply", "-f", "-", given=manifests)
    check(objects(cluster, "same") == made, "kubectl makes of a dry run what linac makes")
    kubectl(cluster, "delete", "-f", "-", "--wait=true", given=manifests)


def client_dies(cluster: Kubernetes, root: pathlib.Path, site: dict) -> None:
    """At any moment, again and again; and four at once."""
    client = Client(root / "dying", {"k8s": site})
    killed = 0
    for moment in range(40):
        process = client.start(*launches.launch_words("k8s", SETTINGS), "--workers", "2", "--name", "once")
        try:
            process.communicate(timeout=0.01 + moment * 0.004)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            killed += 1
    said = client.launch("k8s", SETTINGS, "--workers", "2", "--name", "once")
    check(killed > 3 and "k8s:once" in said, f"after {killed} clients that were killed the launch is there")
    cluster.wait(lambda: len(cluster.pods("once")) == 2, "its pods")
    check(sorted(cluster.left_of("once"))[0::1].count("jobs/once") == 1, "it is one Job")
    job = cluster.ask("GET", "/apis/batch/v1/namespaces/default/jobs/once")
    for resource in ("services", "configmaps", "secrets"):
        owners = cluster.ask("GET", f"/api/v1/namespaces/default/{resource}/once")["metadata"]["ownerReferences"]
        check([owner["uid"] for owner in owners] == [job["metadata"]["uid"]], f"its {resource} go with it")
    others = [Client(root / f"other-{index}", {"k8s": site}) for index in range(4)]
    with concurrent.futures.ThreadPoolExecutor() as pool:
        list(pool.map(lambda other: other.launch("k8s", SETTINGS, "--workers", "2", "--name", "together"), others))
    cluster.wait(lambda: len(cluster.pods("together")) == 2, "its pods")
    check(cluster.left_of("together").count("jobs/together") == 1, "four clients that launch one name at once make one Job")
    said = others[0].launch("k8s", SETTINGS | {"train.epochs": 3}, "--workers", "2", "--name", "once", status=2)
    check("another launch" in said, "a name that has another job is refused")
    others[0].linac("cancel", "k8s:together")
    client.linac("cancel", "k8s:once")
    check(not cluster.left_of("once") and not cluster.left_of("together"), "and nothing of them is left")


def standings(client: Client, cluster: Kubernetes) -> None:
    waits = name_in(client.launch("gpus", SETTINGS, "--workers", "2"))
    wait_for(lambda: "Insufficient nvidia.com/gpu" in client.standing(waits)["reason"], "what a pod waits for is told", 60)
    check(client.standing(waits)["state"] == "PENDING", "a launch without room is PENDING")
    client.linac("cancel", waits)
    check(client.standing(waits)["state"] == "CANCELLED", "and CANCELLED when it was")

    runs_on = name_in(client.launch("k8s", SETTINGS, "--workers", "2"))
    label = label_of(runs_on)
    check(client.wait_for(runs_on, "RUNNING")["details"]["pods"] in ("1 running", "1 running, 1 waiting", "2 running"), "a launch that runs is RUNNING")
    cluster.wait(lambda: len(cluster.pods(label)) == 2 and all(pod["status"]["phase"] == "Running" for pod in cluster.pods(label)), "both run")
    first, second = sorted(cluster.pods(label), key=lambda pod: pod["metadata"]["name"])
    cluster.end(second, 75)
    cluster.wait(lambda: sum(pod["status"]["phase"] == "Running" for pod in cluster.pods(label)) == 2, "a worker that was preempted is started again")
    check("exit status 75" in client.standing(runs_on)["details"]["worker 1"], "and how it ended is told")
    cluster.end(first, 0)
    check(client.wait_for(runs_on, "SUCCEEDED")["state"] == "SUCCEEDED", "it has come to its end when the first worker has")
    client.linac("cancel", runs_on)
    check(client.standing(runs_on)["state"] == "SUCCEEDED" and not cluster.left_of(label), "what is tidied up stays known")

    wrong = name_in(client.launch("k8s", SETTINGS, "--workers", "2"))
    cluster.wait(lambda: any(pod["status"]["phase"] == "Running" for pod in cluster.pods(label_of(wrong))), "one runs")
    cluster.end(next(pod for pod in cluster.pods(label_of(wrong)) if pod["status"]["phase"] == "Running"), 3, "[hdf5] a.h5: no dataset 'ECAL'")
    end = client.wait_for(wrong, "FAILED")
    check("exit status 3" in end["reason"] and "no dataset" in end["reason"], "wrong data end it at once, with the worker's words")
    client.linac("cancel", wrong)


def rights(client: Client, cluster: Kubernetes, root: pathlib.Path, site: dict) -> None:
    notes = client.linac("sites", "init", "kubernetes").split("in the namespace of the site:\n")[1]
    kubectl(cluster, "apply", "-f", "-", given="".join(line[4:] for line in notes.splitlines(keepends=True)))
    token = cluster.ask("POST", "/api/v1/namespaces/default/serviceaccounts/linac/token", {"spec": {}})["status"]["token"]
    least = Client(root / "least", {"k8s": site | {"kubeconfig": cluster.kubeconfig("least", {"token": token})},
                                    "elsewhere": site | {"kubeconfig": cluster.kubeconfig("least", {"token": token}), "namespace": "kube-system"}})
    said = least.linac("sites", "check", "k8s")
    check("all that a launch needs" in said, "the rights that are printed are all that are needed")
    name = name_in(least.launch("k8s", SETTINGS, "--workers", "2"))
    least.wait_for(name, "RUNNING")
    least.linac("logs", name)
    least.linac("status", "k8s:")
    least.linac("cancel", name)
    check(not cluster.left_of(label_of(name)), "a launch by them is made, shown and cancelled")
    said = least.launch("elsewhere", SETTINGS, "--workers", "2", status=4)
    check("forbidden" in said and "sites init kubernetes" in said, "in another namespace it may nothing")
    said = least.linac("sites", "check", "elsewhere", status=4)
    check("create jobs" in said, "and check says what is missing")
    own = f"--kubeconfig={root}/least.kubeconfig"
    (root / "least.kubeconfig").write_text(pathlib.Path(cluster.kubeconfig("least", {"token": token})).read_text())
    for words in (("get", "secrets"), ("list", "secrets"), ("create", "pods"), ("get", "nodes"), ("create", "pods/exec"), ("delete", "namespaces"), ("create", "roles")):
        done = subprocess.run(["kubectl", own, "auth", "can-i", *words], capture_output=True, text=True, timeout=30)
        check(done.stdout.strip() == "no", f"the rights do not let {' '.join(words)}")


def many(client: Client, cluster: Kubernetes) -> None:
    cluster.add_nodes(10, "many")
    times = {}

    def timed(what: str, act):
        begin = time.monotonic()
        answer = act()
        times[what] = time.monotonic() - begin
        return answer

    def made() -> str:
        name = name_in(client.launch("k8s", SETTINGS | {"train.replicas": MANY, "train.batch": 1}, "--workers", str(MANY)))
        cluster.wait(lambda: cluster.ask("GET", f"/apis/batch/v1/namespaces/default/jobs/{label_of(name)}").get("status", {}).get("active") == MANY,
                     f"{MANY} pods", 120)
        return name

    name = timed("made", made)
    said = timed("shown", lambda: client.linac("status", name))
    check(f"  {MANY}\n" in said, f"{MANY} workers are counted: {said}")
    timed("cancelled", lambda: client.linac("cancel", name))
    check(not cluster.left_of(label_of(name)), f"nothing of {MANY} workers is left")
    print(f"{MANY} workers: " + ", ".join(f"{what} in {seconds:.1f} s" for what, seconds in times.items()))
    check(all(seconds < LIMIT_S for seconds in times.values()), f"each of it within {LIMIT_S:.0f} s")


def strangers(client: Client, cluster: Kubernetes, root: pathlib.Path, site: dict) -> None:
    cluster.certificate("expired", "admin", "extendedKeyUsage=clientAuth\n", days=-1)
    users = {"token": {"token": "wrong"}, "expired": {"client-certificate": f"{cluster.folder}/expired.crt", "client-key": f"{cluster.folder}/expired.key"}}
    others = Client(root / "others", {name: site | {"kubeconfig": cluster.kubeconfig(name, user)} for name, user in users.items()})
    for name in users:
        said = others.launch(name, SETTINGS, "--workers", "2", status=4)
        check("log in again" in said or "certificate" in said, f"wrong credentials ({name}) are called that")
        others.linac("sites", "check", name, status=4)
    for name in ("Ünïcode", "a/../../b", "a b", "-a", "$(id)"):
        client.launch("k8s", SETTINGS, "--workers", "2", f"--name={name}", status=2)
    for name in ("Demo_1.x", "demo-1-x", "9", "x" * 100):
        client.launch("k8s", SETTINGS, "--workers", "2", "--name", name)
    jobs = cluster.ask("GET", "/apis/batch/v1/namespaces/default/jobs")["items"]
    check(len({job["metadata"]["annotations"]["linac/name"] for job in jobs}) == 4, "strange names are names of objects, each its own")
    for name in ("Demo_1.x", "demo-1-x", "9", "x" * 100):
        client.linac("cancel", f"k8s:{name}")


def server_dies(client: Client, cluster: Kubernetes) -> None:
    name = name_in(client.launch("k8s", SETTINGS, "--workers", "2"))
    client.wait_for(name, "RUNNING")
    follows = client.start("logs", "-f", name)
    time.sleep(0.5)
    cluster.stop_apiserver()
    said = client.linac("status", name, status=4)
    check("cannot be reached" in said, "status says that the cluster is not reached")
    client.launch("k8s", SETTINGS, "--workers", "2", "--name", "later", status=4)
    cluster.start_apiserver()
    check(client.wait_for(name, "RUNNING")["state"] == "RUNNING", "the launch went on without the API server")
    check("linac launch" not in client.launch("k8s", SETTINGS, "--workers", "2", "--name", "later"), "what could not be launched is, the second time")
    first = min(cluster.pods(label_of(name)), key=lambda pod: pod["metadata"]["name"])
    cluster.wait(lambda: not cluster.end(first, 0) and client.standing(name)["state"] == "SUCCEEDED", "its end")
    said = follows.communicate(timeout=60)[0]
    check(follows.returncode == 0 and "cannot be reached" in said, "whoever follows it waits, and ends as it ends")
    client.linac("cancel", name)
    client.linac("cancel", "k8s:later")


def main() -> None:
    if not Kubernetes.available():
        print("skipped: no Kubernetes (tests/servers/get.sh kubernetes)")
        sys.exit(77)
    with tempfile.TemporaryDirectory(prefix="linac-k8s-", ignore_cleanup_errors=True) as folder, Kubernetes() as cluster:
        root = pathlib.Path(folder)
        site = {"kind": "kubernetes", "image": "linac:1", "folder": "/runs", "volume": "pvc:runs", "notice": "5s",
                "kubeconfig": f"{cluster.folder}/own.kubeconfig"}
        for name in ("dying", "least", "others", *(f"other-{index}" for index in range(4))):
            (root / name).mkdir()
        cluster.ask("POST", "/api/v1/persistentvolumes", {"metadata": {"name": "runs"}, "spec": {
            "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteMany"], "hostPath": {"path": "/runs"}, "storageClassName": "none"}})
        cluster.ask("POST", "/api/v1/namespaces/default/persistentvolumeclaims", {"metadata": {"name": "runs"}, "spec": {
            "accessModes": ["ReadWriteMany"], "storageClassName": "none", "volumeName": "runs", "resources": {"requests": {"storage": "1Gi"}}}})
        claim = "/api/v1/namespaces/default/persistentvolumeclaims/runs"
        cluster.wait(lambda: cluster.ask("GET", claim)["status"].get("phase") == "Bound", "the volume")
        cluster.add_nodes(2)
        client = Client(root, {"k8s": site, "gpus": site | {"gpus": 1}})
        if "--many" in sys.argv:
            return many(client, cluster)
        planned(client, cluster)
        standings(client, cluster)
        client_dies(cluster, root, site)
        rights(client, cluster, root, site)
        strangers(client, cluster, root, site)
        server_dies(client, cluster)


if __name__ == "__main__":
    main()
