#!/usr/bin/env python3
"""Scripts brought to a cluster of Kubernetes by `linac spawn`, with its real API server, controllers and scheduler and nodes that are pretended: what
TF-Spawner makes for the same call is there too, but for its secrets in plain text; two names side by side; nothing is left of what is deleted.
Exit 77 where there is no Kubernetes; the comparison is left out where there is no TF-Spawner (tests/servers/get.sh tfspawner)."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

from lib.checks import check
from lib.launches import Client
from lib.ports import free_port
from lib.servers import port_server
from lib.servers.kubernetes import Kubernetes
from lib.skips import skipped

SECRET = "s3cr3t-Value $(id)"
SCRIPT = """import json, os
json.dump(dict(os.environ), open(os.environ["LINAC_OUT"] + "/" + os.environ["WORKER_NUMBER"] + ".json", "w"))
"""
POD = """apiVersion: v1
kind: Pod
metadata: {name: PODNAME, labels: {app: APPNAME, training_attempt: ATTEMPT, team: calo}}
spec:
  containers:
  - name: tensorflow
    resources: {requests: {memory: 1Gi, cpu: 250m}}
    env:
    volumeMounts: [{name: script, mountPath: /script}, {name: data, mountPath: /data}]
    command: [python, /script/training-script.py]
  nodeSelector: {disk: "1"}
  volumes: [{name: script, configMap: {name: script}}, {name: data, emptyDir: {}}]
  restartPolicy: Never
"""
BASE, BATCH = "/api/v1/namespaces/default", "/apis/batch/v1/namespaces/default"


def tagged(cluster: Kubernetes, tag: str) -> dict[str, list[dict]]:
    query = f"?labelSelector=training_attempt%3D{tag}"
    return {kind: cluster.ask("GET", f"{base}/{kind}{query}")["items"] for base, kind in
            ((BATCH, "jobs"), (BASE, "pods"), (BASE, "services"), (BASE, "configmaps"), (BASE, "secrets"))}


def seen_by_scripts(root: pathlib.Path, objects: dict, workers: int) -> list[dict]:
    """The environment of each script: what stands for a pod is the program of the ConfigMap with the variables of the Job."""
    folder, port = root / "pods", free_port()
    (folder / "script").mkdir(parents=True)
    for name, text in objects["configmaps"][0]["data"].items():
        path = folder / ("script/" if name == "training-script.py" else "") / name
        path.write_text(text.replace("/linac/", f"{folder}/").replace("/scratch", f"{folder}").replace("/dev/termination-log", f"{folder}/end")
                        .replace("/runs/", f"{folder}/runs/"))
    secret = {key: value for key, value in objects["secrets"][0]["data"].items()}
    import base64
    started = []
    for rank in range(workers):
        env = {"RANK": str(rank)}
        for one in objects["jobs"][0]["spec"]["template"]["spec"]["containers"][0]["env"]:
            if "value" in one:
                env[one["name"]] = one["value"].replace("/scratch", str(folder))
            elif "secretKeyRef" in one["valueFrom"]:
                env[one["name"]] = base64.b64decode(secret[one["valueFrom"]["secretKeyRef"]["key"]]).decode()
        env |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "PATH": os.environ["PATH"]}
        started.append(subprocess.Popen(["sh", folder / "worker.sh"], env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True))
    for one in started:
        said = one.communicate(timeout=30)[0]
        check(one.returncode == 0, f"the workers of the pods come to their end: {said}")
    return [json.loads(next(folder.glob(f"runs/*/out/{rank}.json")).read_text()) for rank in range(workers)]


def like_tf_spawner(client: Client, cluster: Kubernetes, root: pathlib.Path, script: pathlib.Path) -> None:
    words = ("-w", 2, "-p", 2222, "-i", "tensorflow/tensorflow:2.21.0", "-e", root / "env", script)
    client.linac("spawn", *words, "-t", "ours", "--on", "k8s")
    ours = tagged(cluster, "ours")
    check(all(len(ours[kind]) == 1 for kind in ("jobs", "services", "configmaps", "secrets")), "all objects have the tag")
    cluster.wait(lambda: len(tagged(cluster, "ours")["pods"]) == 2, "its pods")
    pod = ours["jobs"][0]["spec"]["template"]["spec"]
    check(SECRET not in json.dumps([ours[kind] for kind in ("jobs", "services", "configmaps")] + tagged(cluster, "ours")["pods"]), "no secret stands in a pod")
    seen = seen_by_scripts(root, ours, 2)
    check(all(one["S3_KEY"] == SECRET for one in seen), "the scripts have it")

    folder = port_server.programs() / "tf-spawner"
    if not (folder / "repo" / "tf-spawner").exists():
        skipped("the comparison with TF-Spawner", "it is not here", "tests/servers/get.sh tfspawner")
        expected = [{"TF_CONFIG": json.dumps({"cluster": {"worker": ["worker0:2222", "worker1:2222"]}, "task": {"type": "worker", "index": index}}),
                     "WORKER_NUMBER": str(index), "TOT_WORKERS": "2", "S3_KEY": SECRET} for index in range(2)]
        ports, image, mounts, text = {2222}, "tensorflow/tensorflow:2.21.0", {"/script"}, SCRIPT
    else:
        done = subprocess.run([folder / "bin/python", "tf-spawner", *map(str, words), "-t", "theirs"], cwd=folder / "repo", text=True,
                              env=os.environ | {"KUBECONFIG": f"{cluster.folder}/own.kubeconfig"}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        check(done.returncode == 0 and "theirs" in done.stdout, f"TF-Spawner makes its own: {done.stdout}")
        theirs = tagged(cluster, "theirs")
        pods = sorted(theirs["pods"], key=lambda one: one["metadata"]["name"])
        containers = [one["spec"]["containers"][0] for one in pods]
        expected = [{one["name"]: one["value"] for one in container["env"]} for container in containers]
        ports = {port["port"] for service in theirs["services"] for port in service["spec"]["ports"]}
        image, mounts = containers[0]["image"], {one["mountPath"] for one in containers[0]["volumeMounts"]} - {"/var/run/secrets/kubernetes.io/serviceaccount"}
        text = theirs["configmaps"][0]["data"]["training-script.py"]
        print(f"TF-Spawner: {sorted(expected[0])}, ports {ports}, mounts {mounts}")
    places = lambda env: json.loads(env["TF_CONFIG"])
    for index, (own, other) in enumerate(zip(seen, expected)):
        check(set(other) <= set(own), f"worker {index} has each variable that TF-Spawner gives it: {set(other) - set(own)}")
        check({key: value for key, value in other.items() if key != "TF_CONFIG"}.items() <= own.items(), "with the same values")
        check(places(own)["task"] == places(other)["task"] and
              [place.split(":")[1] for place in places(own)["cluster"]["worker"]] == [place.split(":")[1] for place in places(other)["cluster"]["worker"]] and
              places(own)["cluster"].keys() == places(other)["cluster"].keys(), "and the same TF_CONFIG but for the hosts")
    check([place.split(":")[0] for place in places(seen[0])["cluster"]["worker"]] == ["ours-0.ours", "ours-1.ours"], "which have names of this launch alone")
    check(ports <= {port["port"] for port in ours["services"][0]["spec"]["ports"]}, "the same ports")
    check(image == pod["containers"][0]["image"] and mounts <= {one["mountPath"] for one in pod["containers"][0]["volumeMounts"]}, "the same image and mounts")
    check(ours["configmaps"][0]["data"]["training-script.py"] == text == SCRIPT, "the same script")


def planned(client: Client, root: pathlib.Path, script: pathlib.Path) -> None:
    (root / "pod.yaml").write_text(POD)
    shown = client.linac("spawn", script, "--on", "k8s", "-t", "shown", "-e", root / "env", "--pod-file", root / "pod.yaml", "--dry-run")
    check(SECRET not in shown and "--from-literal=S3_KEY=..." in shown and 'mountPath: "/data"' in shown and 'disk: "1"' in shown and
          'memory: "1Gi"' in shown and 'team: "calo"' in shown and "APPNAME" not in shown, "a dry run shows no secret, and what the pod of the user has")
    (root / "bad.yaml").write_text(POD.replace("/script/training-script.py]", "/other.py]"))
    said = client.linac("spawn", script, "--on", "k8s", "--pod-file", root / "bad.yaml", "--dry-run", status=2)
    check("bring that as -c FILE" in said, "a command of its own is refused")


def beside_each_other(client: Client, cluster: Kubernetes, root: pathlib.Path, script: pathlib.Path) -> None:
    killed = 0
    for moment in range(16):
        process = client.start("spawn", script, "--on", "k8s", "-t", "first", "-e", root / "env", "--no-check", "--pod-file", root / "pod.yaml")
        try:
            process.communicate(timeout=0.01 + moment * 0.005)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            killed += 1
    client.linac("spawn", script, "--on", "k8s", "-t", "first", "-e", root / "env", "--no-check", "--pod-file", root / "pod.yaml")
    client.linac("spawn", script, "--on", "k8s", "-t", "second", "--no-check")
    cluster.wait(lambda: all(len(tagged(cluster, tag)["pods"]) == 2 for tag in ("first", "second")), "the pods of both")
    check(killed > 2 and all(len(tagged(cluster, tag)["jobs"]) == 1 for tag in ("first", "second")), f"two names side by side, one Job each, after {killed} killed clients")
    check(client.wait_for("k8s:second", "RUNNING")["state"] == "RUNNING", "one runs")
    cluster.wait(lambda: all(one["status"]["phase"] == "Running" for one in tagged(cluster, "second")["pods"]), "both pods run")
    check(client.standing("k8s:first")["state"] == "PENDING", "and one waits for a node that its pod file wants")
    cluster.end(tagged(cluster, "second")["pods"][1], 70, "worker 1: exit status 3: RuntimeError: boom")
    end = client.wait_for("k8s:second", "FAILED")
    check("exit status 70" in end["reason"] and "RuntimeError: boom" in end["reason"], f"how it failed is told: {end['reason']}")
    for tag in ("first", "second", "ours"):
        client.linac("spawn", "-d", "-t", tag, "--on", "k8s")
        check(not any(tagged(cluster, tag).values()), f"{tag} is deleted, and nothing of it left")
    client.linac("spawn", script, "--on", "k8s", "-t", "first", "-n", "other", "--no-check")
    check(cluster.ask("GET", "/apis/batch/v1/namespaces/other/jobs/first")["kind"] == "Job" and client.standing("k8s:first")["state"] != "LOST",
          "the name is free again, here in another namespace")
    client.linac("spawn", "-d", "-t", "first", "--on", "k8s")
    check(cluster.ask("GET", "/apis/batch/v1/namespaces/other/jobs/first")["kind"] == "Status", "where it is deleted too")


def as_kubeflow(client: Client, cluster: Kubernetes, root: pathlib.Path, script: pathlib.Path) -> None:
    """The server knows Kubeflow's objects by their schemas, and takes ours as they are: no field is unknown."""
    schemas = sorted((port_server.programs() / "kubeflow").glob("*.yaml"))
    if not schemas:
        skipped("Kubeflow's schemas", "they are not here", "tests/servers/get.sh kubeflow")
        return
    kubectl = ["kubectl", f"--kubeconfig={cluster.folder}/own.kubeconfig"]
    for schema in schemas:
        subprocess.run([*kubectl, "apply", "--server-side", "-f", schema], check=True, stdout=subprocess.DEVNULL, timeout=60)
    subprocess.run([*kubectl, "wait", "--for=condition=Established", "--timeout=30s", "crd", "--all"], check=True, stdout=subprocess.DEVNULL, timeout=60)
    job = ("launch", "examples/topology.yaml", "--set", "train.replicas=4", "--workers", 2)
    calls = {"launch": job, "spawn": ("spawn", script, "-w", 2, "-e", root / "env", "--pip", "numpy", "--", "two words", "$(id)")}
    tasks = calls | {"chief": ("spawn", script, "-w", 2, "--chief", "--ps", 1)}
    for kind, resource, these in (("trainjob", "trainjobs.trainer.kubeflow.org", calls), ("pytorchjob", "pytorchjobs.kubeflow.org", calls),
                                  ("tfjob", "tfjobs.kubeflow.org", tasks)):
        for name, (verb, *words) in these.items():
            shown = client.linac(verb, "--on", "queued", "--name", f"{name}-{kind}", "--dry-run", "--as", kind, *words)
            check(SECRET not in shown, "no secret is shown")
            done = subprocess.run([*kubectl, "apply", "--server-side", "--validate=strict", "-f", "-"], input=shown, text=True, capture_output=True, timeout=60)
            check(done.returncode == 0, f"{name} as {kind} is taken by the schema: {done.stderr}\n{shown if done.returncode else ''}")
            made = json.loads(subprocess.run([*kubectl, "get", resource, f"{name}-{kind}", "-o", "json"], check=True, capture_output=True, timeout=60).stdout)
            check(made["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] == "calo", "with Kueue's queue")
    said = client.linac("launch", *job[1:], "--on", "queued", "--as", "tfjob", status=2)
    check("print it with --dry-run" in said, "linac makes none itself")


def main() -> None:
    if not Kubernetes.available():
        print("skipped: no Kubernetes (tests/servers/get.sh kubernetes)")
        sys.exit(77)
    begin = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="linac-k8s-", ignore_cleanup_errors=True) as folder, Kubernetes() as cluster:
        root = pathlib.Path(folder)
        site = {"kind": "kubernetes", "image": "python:3.12", "folder": "/runs", "volume": "hostPath:/runs", "notice": "5s",
                "kubeconfig": f"{cluster.folder}/own.kubeconfig"}
        cluster.ask("POST", "/api/v1/namespaces", {"metadata": {"name": "other"}})
        cluster.add_nodes(2)
        client = Client(root, {"k8s": site, "queued": site | {"queue": "calo", "cpus": "2", "gpus": 1, "node_selector": {"disk": "ssd"}}})
        (root / "env").write_text(f"S3_KEY={SECRET}\n")
        script = root / "train.py"
        script.write_text(SCRIPT)
        planned(client, root, script)
        like_tf_spawner(client, cluster, root, script)
        beside_each_other(client, cluster, root, script)
        as_kubeflow(client, cluster, root, script)
    print(f"{time.monotonic() - begin:.1f} s")


if __name__ == "__main__":
    main()
