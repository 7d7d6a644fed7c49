#!/usr/bin/env python3
"""The module deploy/namespace carried out: by OpenTofu and its provider for Kubernetes on a real control plane, whose nodes are pretended. linac launches
by the site that is printed, with the rights of the account that was made and no others, within its bounds. Carried out again nothing changes; what
somebody took away comes back; two at once, one that is interrupted or killed, and a namespace that is there already have a way on; destroyed nothing is
left. Exit 77 without one of them."""

import contextlib
import json
import os
import pathlib
import signal
import subprocess
import tempfile
import threading

from lib import launches
from lib.checks import check, wait_for
from lib.launches import Client, name_in
from lib.opentofu import Tofu
from lib.runs import kill_tree
from lib.servers.kubernetes import Kubernetes
from lib.skips import skip

SPACE, SITE = "calo", "k8s"
HERE = f"/api/v1/namespaces/{SPACE}"
ROLE = f"/apis/rbac.authorization.k8s.io/v1/namespaces/{SPACE}/roles/linac"
APPLY = ("apply", "-auto-approve", "-input=false", "-no-color")
QUOTA = {"cpus": "3", "memory": "8Gi"}


class OldTokens:
    """Gives each account of the namespace a token, as Kubernetes did before 1.24: the one release of the provider that is a Go module waits for it."""

    def __init__(self, cluster: Kubernetes):
        self.cluster, self.ended = cluster, threading.Event()
        self.thread = threading.Thread(target=self.run)

    def run(self) -> None:
        while not self.ended.wait(0.2):
            with contextlib.suppress(OSError):  # while the API server is held
                for account in self.cluster.ask("GET", f"{HERE}/serviceaccounts").get("items", []):
                    if not account.get("secrets"):
                        self.give(account["metadata"]["name"])

    def give(self, name: str) -> None:
        self.cluster.ask("POST", f"{HERE}/secrets", {"type": "kubernetes.io/service-account-token", "metadata": {
            "name": f"{name}-token-old", "annotations": {"kubernetes.io/service-account.name": name}}})
        self.cluster.ask("PATCH", f"{HERE}/serviceaccounts/{name}", {"secrets": [{"name": f"{name}-token-old"}]}, kind="application/merge-patch+json")

    def __enter__(self) -> "OldTokens":
        self.thread.start()
        return self

    def __exit__(self, *_) -> None:
        self.ended.set()
        self.thread.join()


def code_of(cluster: Kubernetes, path: str) -> int:
    found = cluster.ask("GET", path)
    return found["code"] if found["kind"] == "Status" else 200


def deleted(cluster: Kubernetes) -> None:
    cluster.ask("DELETE", HERE)
    cluster.wait(lambda: code_of(cluster, HERE) == 404, "the namespace goes")


@contextlib.contextmanager
def held(cluster: Kubernetes):
    """The API server answers nobody meanwhile."""
    server = cluster.processes["kube-apiserver"]
    server.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        server.send_signal(signal.SIGCONT)


def begun(tofu: Tofu) -> subprocess.Popen:
    return subprocess.Popen([tofu.program, *APPLY], cwd=tofu.folder, env=tofu.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                            start_new_session=True)


def stopped_in_between(tofu: Tofu, cluster: Kubernetes) -> None:
    with held(cluster):
        first = begun(tofu)
        wait_for((tofu.folder / ".terraform.tfstate.lock.info").exists, "the first one has the state", 60)
        second = tofu.ask(*APPLY)
        check(second.returncode != 0 and "Error acquiring the state lock" in second.stderr, "of two at once the second is refused")
    cluster.wait(lambda: code_of(cluster, HERE) == 200, "the namespace")
    with held(cluster):
        kill_tree(first)
    said = tofu.ask(*APPLY)
    check(said.returncode != 0 and f'namespaces "{SPACE}" already exists' in said.stderr, "killed, it does not know what it has made, and takes nothing")
    deleted(cluster)
    cluster.ask("POST", "/api/v1/namespaces", {"metadata": {"name": SPACE}})
    check(tofu.ask(*APPLY).returncode != 0, "a namespace of somebody else is not taken either")
    tofu.need("import", "-input=false", "kubernetes_namespace.linac", SPACE)
    third = begun(tofu)
    cluster.wait(lambda: code_of(cluster, ROLE) == 200, "a role")
    os.kill(third.pid, signal.SIGINT)
    third.communicate(timeout=120)


def plan_changes(tofu: Tofu) -> list[str]:
    tofu.need("plan", "-input=false", "-out=plan")
    changes = json.loads(tofu.need("show", "-json", "plan"))["resource_changes"]
    return [change["address"] for change in changes if change["change"]["actions"] != ["no-op"]]


def applied(tofu: Tofu, cluster: Kubernetes, variables: dict) -> None:
    tofu.need(*APPLY)
    check(plan_changes(tofu) == [], "carried out, a second time would change nothing")
    check(cluster.ask("GET", f"{HERE}/resourcequotas/linac")["spec"]["hard"] == {"limits.cpu": "3", "limits.memory": "8Gi", "pods": "100"}, "bounds are there")
    cluster.ask("DELETE", ROLE)
    check(plan_changes(tofu) == ["kubernetes_role.linac"], "what somebody took away is missed, and nothing else")
    tofu.need(*APPLY)
    check(code_of(cluster, ROLE) == 200, "and comes back")
    tofu.write_variables(variables | {"quota": QUOTA | {"pods": "7"}})
    check(plan_changes(tofu) == ["kubernetes_resource_quota.linac"], "another bound changes the bounds alone")
    tofu.need("apply", "-input=false", "plan")
    check(cluster.ask("GET", f"{HERE}/resourcequotas/linac")["spec"]["hard"]["pods"] == "7", "and they are others")
    cluster.wait(lambda: cluster.ask("GET", f"{HERE}/persistentvolumeclaims/linac-runs")["status"].get("phase") == "Bound", "the claim")


def launched(tofu: Tofu, cluster: Kubernetes, root: pathlib.Path) -> None:
    client = Client(root, {})
    (root / "sites.yaml").write_text(tofu.need("output", "-raw", "site"))
    token = cluster.ask("POST", f"{HERE}/serviceaccounts/linac/token", {"spec": {}})["status"]["token"]
    cluster.kubeconfig("account", {"token": token})
    check("all that a launch needs" in client.linac("sites", "check", SITE), "the rights of the account suffice")
    said = client.launch(SITE, launches.SETTINGS, "--workers", "2", "--dry-run").replace('"', "")
    check("claimName: linac-runs" in said and f"namespace: {SPACE}" in said, "a dry run goes to the claim and the namespace")
    name = name_in(client.launch(SITE, launches.SETTINGS, "--workers", "2", "--name", "one"))
    client.wait_for(name, "RUNNING")
    cluster.wait(lambda: [pod["status"]["phase"] for pod in cluster.pods("one", SPACE)] == ["Running"] * 2, "both workers run")
    more = name_in(client.launch(SITE, launches.SETTINGS, "--workers", "2", "--name", "two"))
    cluster.wait(lambda: "quota" in client.standing(more)["reason"], "the bounds of the namespace")
    check(len(cluster.pods("two", SPACE)) == 1, "a second launch gets what is left within the bounds, and is told why it waits")
    for one in (more, name):
        client.linac("cancel", one)
    check(not cluster.left_of("one", SPACE) and not cluster.left_of("two", SPACE), "cancelled, nothing of them is left")


def main() -> None:
    if not Tofu.available():
        skip("no OpenTofu", "tests/servers/get.sh opentofu")
    if not Kubernetes.available():
        skip("no Kubernetes", "tests/servers/get.sh kubernetes")
    with tempfile.TemporaryDirectory(prefix="linac-deploy-", ignore_cleanup_errors=True) as folder, Kubernetes() as cluster:
        root = pathlib.Path(folder)
        cluster.add_nodes(2)
        cluster.ask("POST", "/api/v1/persistentvolumes", {"metadata": {"name": "runs"}, "spec": {
            "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteMany"], "hostPath": {"path": "/runs"}, "storageClassName": "none"}})
        tofu = Tofu("namespace", root)
        tofu.environment |= {name: f"{cluster.folder}/own.kubeconfig" for name in ("KUBECONFIG", "KUBE_CONFIG", "KUBE_CONFIG_PATH")}
        variables = {"name": SITE, "namespace": SPACE, "image": "linac:1.0", "cpus": "1", "memory": "1Gi", "kubeconfig": f"{cluster.folder}/account.kubeconfig",
                     "quota": QUOTA, "disk": {"size": "1Gi", "storage_class": "none"}, "users": ["anna"]}
        tofu.write_variables(variables)
        tofu.need("init", "-input=false")
        with OldTokens(cluster):
            stopped_in_between(tofu, cluster)
            applied(tofu, cluster, variables)
            launched(tofu, cluster, root)
            tofu.need("destroy", "-auto-approve", "-input=false")
        check(code_of(cluster, HERE) == 404, "destroyed, the namespace is gone with all that is in it")
        check(tofu.need("state", "list").strip() == "", "and OpenTofu knows of nothing")


if __name__ == "__main__":
    main()
