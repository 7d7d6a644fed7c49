"""A cluster with one real node: `with Kubelet(image) as cluster:`. Kubernetes' control plane with a kubelet, containerd and runc in place of kwok: pods
are processes with addresses of their own, made of an image in a file (`make image`). Names of pods are answered by dnsmasq, which is told of them
as the cluster's own name service would be.

Needs root, and what `Kubelet.missing()` names. All of it stands in a temporary folder and goes with it: pods, mounts, the bridge; settings of the
kernel that a kubelet changes are set back. SIGTERM ends the test. Known gap: ended while pods begin, shims and namespaces of pods have stayed.
"""

import hashlib
import http.client
import io
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tarfile
import threading
import time
import urllib.error

from ..ports import free_port
from ..runs import ROOT
from .kubernetes import PROGRAMS, Kubernetes

PLUGINS = pathlib.Path("/usr/lib/cni")
VERSION = (ROOT / "VERSION").read_text().strip()
IMAGE = f"docker.io/local/linac:{VERSION}"
NODE = "localhost"  # the API server reaches the kubelet by this name, for logs
SUBNET = "10.244.77"
LINKS = pathlib.Path("/var/log/containers")  # to the logs of pods; no setting of the kubelet leads elsewhere
ADDRESSES = pathlib.Path("/var/lib/cni/results")  # what CNI remembers of each pod, likewise
# What a kubelet and its network set for the whole host.
SYSCTLS = [pathlib.Path("/proc/sys") / name for name in ("vm/overcommit_memory", "vm/panic_on_oom", "kernel/panic", "kernel/panic_on_oops",
                                                        "kernel/keys/root_maxkeys", "kernel/keys/root_maxbytes", "net/ipv4/ip_forward")]

CONTAINERD = """version = 2
root = "{folder}/containerd/root"
state = "{folder}/containerd/state"
disabled_plugins = ["io.containerd.snapshotter.v1.btrfs", "io.containerd.snapshotter.v1.zfs", "io.containerd.snapshotter.v1.devmapper"]
[grpc]
address = "{folder}/c.sock"
[plugins."io.containerd.internal.v1.opt"]
path = "{folder}/containerd/opt"
[plugins."io.containerd.grpc.v1.cri"]
sandbox_image = "docker.io/local/pause:1"
stream_server_address = "127.0.0.1"
restrict_oom_score_adj = true
[plugins."io.containerd.grpc.v1.cri".cni]
bin_dir = "{plugins}"
conf_dir = "{folder}/cni"
"""

KUBELET = {"apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration", "address": "127.0.0.1", "readOnlyPort": 0, "healthzPort": 0,
           "authentication": {"anonymous": {"enabled": False}, "webhook": {"enabled": False}}, "authorization": {"mode": "AlwaysAllow"},
           "cgroupDriver": "cgroupfs", "cgroupsPerQOS": False, "enforceNodeAllocatable": [], "failSwapOn": False, "failCgroupV1": False, "resolvConf": "",
           "evictionHard": {"memory.available": "50Mi", "nodefs.available": "1%", "imagefs.available": "1%"}, "imageGCHighThresholdPercent": 100,
           "imageGCLowThresholdPercent": 99, "nodeStatusUpdateFrequency": "5s",
           "makeIPTablesUtilChains": False, "clusterDomain": "cluster.local", "clusterDNS": [f"{SUBNET}.1"]}


def pause_image(path: pathlib.Path) -> None:
    """What holds a pod's network: a busybox that sleeps."""
    layer = io.BytesIO()
    with tarfile.open(fileobj=layer, mode="w") as tree:
        tree.add("/bin/busybox", "bin/busybox")
    data = layer.getvalue()
    config = json.dumps({"architecture": "amd64", "os": "linux", "config": {"Entrypoint": ["/bin/busybox", "sleep", "1000000000"]},
                         "rootfs": {"type": "layers", "diff_ids": ["sha256:" + hashlib.sha256(data).hexdigest()]}}).encode()
    manifest = json.dumps([{"Config": "config.json", "RepoTags": ["docker.io/local/pause:1"], "Layers": ["layer.tar"]}]).encode()
    with tarfile.open(path, "w") as image:
        for name, content in (("config.json", config), ("layer.tar", data), ("manifest.json", manifest)):
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            image.addfile(entry, io.BytesIO(content))


class Kubelet(Kubernetes):
    PROGRAMS = tuple(name for name in PROGRAMS if name != "kwok") + ("kubelet",)

    def __init__(self, image: pathlib.Path):
        self.image, self.bridge = image, f"linac{os.getpid() % 100000}"

    @classmethod
    def missing(cls) -> str:
        """Why there can be none here; empty if there can."""
        if os.geteuid() != 0:
            return "a kubelet needs root"
        absent = [name for name in cls.PROGRAMS if not (cls.folder_of_programs() / name).is_file()]
        absent += [name for name in ("containerd", "ctr", "runc", "dnsmasq", "openssl", "busybox", "ip") if shutil.which(name) is None]
        absent += [str(PLUGINS / "bridge")] if not (PLUGINS / "bridge").is_file() else []
        return f"no {', '.join(absent)} (tests/servers/get.sh kubelet)" if absent else ""

    def __enter__(self) -> "Kubelet":
        self.over = threading.Event()
        self.resolver = threading.Thread(target=self._names, daemon=True)
        self.sysctls = {path: path.read_text() for path in SYSCTLS}
        signal.signal(signal.SIGTERM, lambda *_: sys.exit("SIGTERM"))  # through __exit__
        super().__enter__()
        return self

    def _certificates(self) -> None:
        super()._certificates()
        self.certificate("to-kubelet", "kube-apiserver", "extendedKeyUsage=clientAuth\n")
        self.api_words = ("--kubelet-client-certificate=to-kubelet.crt", "--kubelet-client-key=to-kubelet.key",
                          "--kubelet-preferred-address-types=Hostname")

    def ctr(self, *words: object, checked: bool = True) -> str:
        done = subprocess.run(["ctr", "-a", f"{self.folder}/c.sock", "-n", "k8s.io", *map(str, words)], text=True, capture_output=True, timeout=180)
        if checked and done.returncode != 0:
            raise SystemExit(f"ctr {words}: {done.stderr}")
        return done.stdout

    def _network(self) -> None:
        subprocess.run(["ip", "link", "add", self.bridge, "type", "bridge"], check=True)
        subprocess.run(["ip", "address", "add", f"{SUBNET}.1/24", "dev", self.bridge], check=True)
        subprocess.run(["ip", "link", "set", self.bridge, "up"], check=True)
        (self.folder / "cni").mkdir()
        (self.folder / "cni/10-bridge.conflist").write_text(json.dumps({"cniVersion": "0.4.0", "name": self.bridge, "plugins": [
            {"type": "bridge", "bridge": self.bridge, "isGateway": True, "ipMasq": False,
             "ipam": {"type": "host-local", "ranges": [[{"subnet": f"{SUBNET}.0/24"}]], "dataDir": f"{self.folder}/addresses"}}]}))
        (self.folder / "hosts").write_text("")
        self.processes["dnsmasq"] = subprocess.Popen(
            ["dnsmasq", "--keep-in-foreground", "--conf-file=/dev/null", "--no-hosts", "--no-resolv", f"--listen-address={SUBNET}.1", "--bind-interfaces",
             "--except-interface=lo", f"--addn-hosts={self.folder}/hosts", "--local=/cluster.local/", "--user=root", f"--pid-file={self.folder}/dnsmasq.pid"],
            stdout=subprocess.DEVNULL, stderr=open(self.folder / "dnsmasq.log", "wb"))
        self.resolver.start()

    def _names(self) -> None:
        known = ""
        while not self.over.wait(0.2):
            try:
                pods = self.ask("GET", "/api/v1/pods").get("items", [])
            except (OSError, http.client.HTTPException, urllib.error.URLError, ValueError):
                continue  # the API server is away: the names stay as they are
            lines = []
            for pod in pods:
                address, spec = pod["status"].get("podIP"), pod["spec"]
                if address and spec.get("subdomain") and pod["status"]["phase"] in ("Pending", "Running"):
                    lines.append(f"{address} {spec['hostname']}.{spec['subdomain']}.{pod['metadata']['namespace']}.svc.cluster.local\n")
            if (now := "".join(sorted(lines))) != known:
                known = now
                (self.folder / "hosts").write_text(now)
                self.processes["dnsmasq"].send_signal(1)  # SIGHUP: read again

    def _start_the_rest(self) -> None:
        super()._start_the_rest()
        (self.folder / "containerd.toml").write_text(CONTAINERD.format(folder=self.folder, plugins=PLUGINS))
        self._network()
        self.processes["containerd"] = subprocess.Popen(["containerd", "-c", self.folder / "containerd.toml"], stdout=subprocess.DEVNULL,
                                                        stderr=open(self.folder / "containerd.log", "wb"))
        self.wait(lambda: "linux" in self.ctr("version", checked=False) or self.ctr("images", "ls", checked=False), "containerd")
        pause_image(self.folder / "pause.tar")
        self.ctr("images", "import", self.folder / "pause.tar")
        self.ctr("images", "import", "--base-name", IMAGE.rsplit(":", 1)[0], self.image)
        self.start_kubelet()

    def start_kubelet(self) -> None:
        """Again after stop("kubelet"): with the pods that run."""
        port = free_port()
        config = KUBELET | {"port": port, "podLogsDir": f"{self.folder}/logs", "containerRuntimeEndpoint": f"unix://{self.folder}/c.sock"}
        config["authentication"] = config["authentication"] | {"x509": {"clientCAFile": f"{self.folder}/ca.crt"}}
        (self.folder / "kubelet.yaml").write_text(json.dumps(config))
        self._start("kubelet", port, f"--config={self.folder}/kubelet.yaml", f"--kubeconfig={self.folder}/own.kubeconfig",
                    f"--root-dir={self.folder}/kubelet", f"--hostname-override={NODE}")
        self.wait(self._node_ready, "the node")

    def _node_ready(self) -> bool:
        node = self.ask("GET", f"/api/v1/nodes/{NODE}")
        conditions = node["status"].get("conditions", []) if node["kind"] == "Node" else []
        return any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)

    def _end_pods(self) -> None:
        """While containerd runs: what it has started outlives it."""
        for name in self.ctr("tasks", "ls", "-q", checked=False).split():
            self.ctr("tasks", "kill", "-s", "SIGKILL", name, checked=False)
        for _ in range(50):
            left = self.ctr("tasks", "ls", "-q", checked=False).split()
            if not left:
                break
            for name in left:
                self.ctr("tasks", "rm", "-f", name, checked=False)
            time.sleep(0.1)

    def __exit__(self, *_) -> None:
        self.over.set()
        if self.resolver.is_alive():
            self.resolver.join()
        if "kubelet" in self.processes:
            kubelet = self.processes.pop("kubelet")
            kubelet.kill()
            kubelet.wait()
        if "containerd" in self.processes:
            own = self._own_namespaces()
            containers = self.ctr("containers", "ls", "-q", checked=False).split()
            self._end_pods()
            containerd = self.processes.pop("containerd")
            containerd.terminate()
            containerd.wait()
            for path in own:
                subprocess.run(["umount", path], check=False, stderr=subprocess.DEVNULL)
                pathlib.Path(path).unlink(missing_ok=True)
            for cached in [path for name in containers for path in ADDRESSES.glob(f"*-{name}-*")]:
                cached.unlink()
        mounts = [line.split()[1] for line in pathlib.Path("/proc/self/mounts").read_text().splitlines()]
        for mount in reversed([mount for mount in mounts if mount.startswith(f"{self.folder}/")]):
            subprocess.run(["umount", mount], check=False)
        subprocess.run(["ip", "link", "delete", self.bridge], check=False, stderr=subprocess.DEVNULL)
        for link in LINKS.glob("*.log"):
            if link.is_symlink() and os.readlink(link).startswith(f"{self.folder}/"):
                link.unlink()
        for path, value in self.sysctls.items():
            if path.read_text() != value:
                path.write_text(value)
        super().__exit__()

    def _own_namespaces(self) -> list[str]:
        """Network namespaces of the pods that containerd has made."""
        found = []
        for name in self.ctr("containers", "ls", "-q", checked=False).split():
            try:
                spec = json.loads(self.ctr("containers", "info", name, checked=False))["Spec"]
            except (ValueError, KeyError):
                continue
            found += [one["path"] for one in spec["linux"]["namespaces"] if one["type"] == "network" and one.get("path", "").startswith("/var/run/netns/")]
        return sorted(set(found))
