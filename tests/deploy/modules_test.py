#!/usr/bin/env python3
"""The modules of deploy/: in OpenTofu's own form and valid; those whose providers are Go modules also by the providers' schemas, and planned; what
cannot be is refused; linac takes the sites that they print. Exit 77 without OpenTofu."""

import json
import pathlib
import re
import subprocess
import tempfile

from lib import launches
from lib.checks import check
from lib.launches import Client
from lib.opentofu import MODULES, Tofu, programs
from lib.servers.slurm import Slurm
from lib.skips import skip, skipped

NAMESPACE = {"name": "k8s", "namespace": "calo", "image": "registry.invalid/calo/linac:1.0", "cpus": "1", "memory": "1Gi",
             "quota": {"cpus": "3", "memory": "8Gi"}, "disk": {"size": "10Gi"}}
MAGNUM = {"template_id": "7d0e", "keypair": "me", "flavor": "g.large", "kubeconfig": "/nowhere", "image": "registry.invalid/calo/linac:1.0", "cpus": "7",
          "memory": "24Gi", "out": "s3://calo/runs"}
SLURM = {"head_flavor": "small", "node_flavor": "large", "node_cpus": 8, "node_memory_mib": 32000, "keypair": "me", "network_id": "4b1c",
         "floating_ip_pool": "public", "ssh_from": "192.0.2.0/24", "munge_key": "0123456789abcdef" * 8, "price": 0.4}
MACHINES = {"name": "slurm", "cluster": "linac", "user": "debian", "ssh_key": None, "head": "192.0.2.7", "login": "198.51.100.9", "node_cpus": 8,
            "nodes": [{"name": f"linac-{index}", "address": f"192.0.2.{8 + index}"} for index in range(2)], "node_memory_mib": 32000,
            "munge_key": SLURM["munge_key"], "memory": None, "plan": {}}
# Of each module: its provider, variables, what the made-up provider says, and variables that cannot be with a word of the refusal.
PLANNED = {
    "namespace": ("kubernetes", NAMESPACE, "", [
        ({"image": "registry.invalid/calo/linac"}, "Name a version"), ({"image": "linac:latest"}, "Name a version"), ({"namespace": "Calo_1"}, "small letters"),
        ({"disk": None}, "runs go with their pods"), ({"disk": None, "out": "/scratch"}, "s3://"), ({"gpus": 0.5}, "whole number"), ({"price": -1}, "From 0 on"),
        ({"name": "a: {b"}, "only"), ({"quota": {"cpus": "lots", "memory": "8Gi"}}, "Amounts as Kubernetes")]),
    "magnum": ("openstack", MAGNUM, '  mock_resource "openstack_containerinfra_cluster_v1" {\n    defaults = { kubeconfig = { raw_config = "made up" } }\n  }', [
        ({"nodes": 0}, "From 1"), ({"out": "runs"}, "s3://"), ({"cluster": "-"}, "Small letters")]),
    "slurm-openstack": ("openstack", SLURM, '''  mock_resource "openstack_networking_port_v2" {
    defaults = { all_fixed_ips = ["192.0.2.7"] }
  }
  mock_resource "openstack_networking_floatingip_v2" {
    defaults = { address = "198.51.100.9" }
  }''', [
        ({"nodes": 0}, "From 1"), ({"nodes": 1.5}, "From 1"), ({"ssh_from": "0.0.0.0/0"}, "whole world"), ({"ssh_from": "me"}, "range of addresses"),
        ({"node_cpus": 0}, "whole number"), ({"node_memory_mib": -1}, "512"), ({"munge_key": "short"}, "From 32"), ({"cluster": "a b"}, "Small letters")]),
}


def forms() -> None:
    done = subprocess.run([programs() / "tofu", "fmt", "-check", "-recursive", MODULES], text=True, capture_output=True)
    check(done.returncode == 0, f"modules are in OpenTofu's form {done.stdout}")
    for module in sorted(path.parent for path in MODULES.glob("*/main.tf")):
        text = "".join(path.read_text() for path in sorted(module.glob("*.tf")))
        variables = re.findall(r'^variable "(\w+)" \{\n(.*?)^\}', text, re.M | re.S)
        check(variables and all("description = " in body for _, body in variables), f"{module.name}: each variable says what it is")
        used = set(re.findall(r"\bvar\.(\w+)", text))
        check(used == {name for name, _ in variables}, f"{module.name}: each variable is used {used ^ {name for name, _ in variables} or ''}")
        check('output "site"' in text and (module / "README.md").is_file(), f"{module.name}: prints a site, and says how it is used")


def planned(root: pathlib.Path, module: str) -> str:
    provider, variables, known, refused = PLANNED[module]
    tofu = Tofu(module, root)
    tofu.need("init", "-backend=false", "-input=false")
    tofu.need("validate")
    tofu.write_variables(variables)
    outputs = tofu.planned(provider, known)
    for changes, why in refused:
        tofu.write_variables(variables | changes)
        done = tofu.ask("test", "-no-color")
        check(done.returncode != 0 and why in " ".join((done.stdout + done.stderr).replace("│", " ").split()), f"{module}: {changes} is refused")
    return outputs["site"]["value"]


def taken_by_linac(root: pathlib.Path, sites: list[str]) -> None:
    client = Client(root, {})
    (root / "sites.yaml").write_text("".join(sites))
    listed = client.linac("sites", "list")
    check(all(name in listed for name in ("k8s", "magnum", "slurm")), "linac reads what all of them print as one file")
    said = client.launch("k8s", launches.SETTINGS, "--workers", "2", "--dry-run")
    check("claimName: linac-runs" in said.replace('"', "") and "namespace: calo" in said.replace('"', ""), "and launches to a namespace, its claim and image")
    said = client.launch("slurm", launches.SETTINGS, "--workers", "2", "--dry-run")
    check("debian@198.51.100.9" in said and "--cpus-per-task=8" in said and "--partition=main" in said, "and to the head of a cluster with Slurm")
    said = client.launch("magnum", launches.SETTINGS, "--workers", "2", "--dry-run")
    check("magnum.openstack.org/nodegroup" in said, "and to the nodes of a group")


def files_of_machines(root: pathlib.Path) -> None:
    """What machines of a cluster with Slurm find when they begin: slurm-machines rents nothing, so it is carried out."""
    tofu = Tofu("slurm-machines", root / "machines")
    tofu.need("init", "-input=false")
    tofu.write_variables(MACHINES)
    tofu.need("apply", "-auto-approve", "-input=false")

    def told(expression: str):
        return json.loads(json.loads(tofu.need("console", text=f"jsonencode(nonsensitive({expression}))\n")))

    conf = told("local.slurm_conf")
    check(conf.count("NodeName=") == 2 and "NodeName=linac-1 NodeAddr=192.0.2.9 CPUs=8 RealMemory=30400" in conf, "Slurm knows its nodes")
    if Slurm.available():
        (root / "slurm.conf").write_text(conf.replace("192.0.2.7", "127.0.0.1"))
        said = subprocess.run(["scontrol", "show", "config"], env={"PATH": "/usr/bin", "SLURM_CONF": str(root / "slurm.conf")}, text=True,
                              capture_output=True, timeout=60).stderr
        check("arsing error" not in said and "nrecognized" not in said and "fatal" not in said, "Slurm reads its file")
    else:
        skipped("Slurm", "no Slurm", "tests/servers/get.sh slurm, as root")
    for role in ("head", "node"):
        setup = told(f'yamldecode(local.setup["{role}"])')
        paths = {file["path"]: file for file in setup["write_files"]}
        check(paths["/etc/munge/munge.key"]["permissions"] == "0400" and ("/etc/exports" in paths) == (role == "head"), f"a {role} gets its files")
        check(["systemctl", "restart", "munge", "slurmctld" if role == "head" else "slurmd"] in setup["runcmd"], f"a {role} starts its part of Slurm")
        check("users" not in setup, "and the user of the image")
    for key in ("ssh-ed25519 AAAA me", 'ssh-rsa AAAA "#: [x]'):
        tofu.write_variables(MACHINES | {"ssh_key": key})
        users = told('yamldecode(local.setup["node"])')["users"]
        check(users[0] == "default" and users[1]["name"] == "debian" and users[1]["ssh_authorized_keys"] == [key], "or makes one, the same on all")
    for changes in ({"ssh_key": "a\nb"}, {"user": "a b"}, {"nodes": []}):
        tofu.write_variables(MACHINES | changes)
        check(tofu.ask("plan", "-input=false").returncode != 0, f"{changes} is refused")


def main() -> None:
    if not Tofu.available():
        skip("no OpenTofu", "tests/servers/get.sh opentofu")
    with tempfile.TemporaryDirectory(prefix="linac-deploy-", ignore_cleanup_errors=True) as folder:
        root = pathlib.Path(folder)
        forms()
        taken_by_linac(root, [planned(root / "planned", module) for module in PLANNED])
        files_of_machines(root)


if __name__ == "__main__":
    main()
