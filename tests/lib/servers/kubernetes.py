"""A cluster of Kubernetes for a test: `with Kubernetes() as cluster:`, then `cluster.kubeconfig()`. API server, controllers and scheduler are the
real ones; nodes and the pods on them are pretended by kwok: a pod runs until it is deleted, or until `end()` says how it ended.

In a temporary folder, on free ports of 127.0.0.1, with certificates of its own; ended by its own process ids.
`Kubernetes.available()` says whether it can be (tests/servers/get.sh kubernetes).
"""

import base64
import concurrent.futures
import json
import pathlib
import secrets
import shutil
import ssl
import subprocess
import tempfile
import urllib.error
import urllib.request

from . import port_server
from ..certificates import openssl
from ..checks import wait_for
from ..ports import free_port

PROGRAMS = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kwok")

# Without kwok's own stages for pods: by those the pods of Jobs end at once.
STAGES = """apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: {name: pod-run}
spec:
  resourceRef: {apiGroup: v1, kind: Pod}
  selector:
    matchExpressions:
    - {key: '.metadata.deletionTimestamp', operator: DoesNotExist}
    - {key: '.status.podIP', operator: DoesNotExist}
  next:
    statusTemplate: |
      {{ $now := Now }}
      conditions:
      - {type: Initialized, status: "True", lastTransitionTime: {{ $now | Quote }}}
      - {type: Ready, status: "True", lastTransitionTime: {{ $now | Quote }}}
      - {type: ContainersReady, status: "True", lastTransitionTime: {{ $now | Quote }}}
      containerStatuses:
      {{ range .spec.containers }}
      - {name: {{ .name | Quote }}, image: {{ .image | Quote }}, ready: true, restartCount: 0, state: {running: {startedAt: {{ $now | Quote }}}}}
      {{ end }}
      hostIP: {{ NodeIPWith .spec.nodeName | Quote }}
      podIP: {{ PodIPWith .spec.nodeName ( or .spec.hostNetwork false ) ( or .metadata.uid "" ) ( or .metadata.name "" ) ( or .metadata.namespace "" ) | Quote }}
      phase: Running
      startTime: {{ $now | Quote }}
---
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: {name: pod-delete}
spec:
  resourceRef: {apiGroup: v1, kind: Pod}
  selector:
    matchExpressions:
    - {key: '.metadata.deletionTimestamp', operator: Exists}
  next:
    delete: true
"""


class Kubernetes:
    PROGRAMS = PROGRAMS
    api_words: tuple[str, ...] = ()  # further ones of the API server

    @staticmethod
    def folder_of_programs() -> pathlib.Path:
        return port_server.programs() / "kubernetes"

    @classmethod
    def available(cls) -> bool:
        return all((cls.folder_of_programs() / name).is_file() for name in cls.PROGRAMS) and shutil.which("openssl") is not None

    def __enter__(self) -> "Kubernetes":
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="linac-kubernetes-"))
        self.processes: dict[str, subprocess.Popen] = {}
        self.port, self.etcd, self.admin = free_port(), free_port(), secrets.token_hex(16)
        self.url = f"https://127.0.0.1:{self.port}"
        try:
            self._certificates()
            self._start_etcd()
            self.start_apiserver()
            self._start_the_rest()
        except BaseException:
            self.__exit__()
            raise
        return self

    def _openssl(self, *words: object) -> None:
        openssl(*words, folder=self.folder)

    def _key(self, name: str) -> None:
        self._openssl("genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", f"{name}.key")

    def certificate(self, name: str, user: str, extension: str, days: int = 1) -> None:
        """NAME.crt and NAME.key of a user, or of the server; of a day in the past with `days` -1."""
        self._key(name)
        (self.folder / f"{name}.ext").write_text(extension)
        self._openssl("req", "-new", "-key", f"{name}.key", "-subj", f"/CN={user}", "-out", f"{name}.csr")
        self._openssl("x509", "-req", "-in", f"{name}.csr", "-CA", "ca.crt", "-CAkey", "ca.key", "-CAcreateserial", "-days", days, "-extfile",
                      f"{name}.ext", "-out", f"{name}.crt")

    def _certificates(self) -> None:
        self._key("ca")
        self._openssl("req", "-x509", "-new", "-key", "ca.key", "-subj", "/CN=linac-test", "-days", 2, "-out", "ca.crt")
        self.certificate("server", "kube-apiserver", "subjectAltName=IP:127.0.0.1\nextendedKeyUsage=serverAuth\n")
        self._key("account")
        self._openssl("pkey", "-in", "account.key", "-pubout", "-out", "account.pub")
        (self.folder / "tokens.csv").write_text(f'{self.admin},admin,1,"system:masters"\n')

    def _start(self, name: str, port: int, *words: str) -> None:
        self.processes[name] = port_server.start([self.folder_of_programs() / name, *words], port, self.folder / f"{name}.log", cwd=self.folder)

    def _start_etcd(self) -> None:
        peer = free_port()
        here, others = f"http://127.0.0.1:{self.etcd}", f"http://127.0.0.1:{peer}"
        self._start("etcd", self.etcd, "--name=a", f"--data-dir={self.folder}/etcd", f"--listen-client-urls={here}", f"--advertise-client-urls={here}",
                    f"--listen-peer-urls={others}", f"--initial-advertise-peer-urls={others}", f"--initial-cluster=a={others}", "--unsafe-no-fsync")

    def start_apiserver(self) -> None:
        """Again after stop_apiserver(): the same address and objects."""
        self._start("kube-apiserver", self.port, f"--etcd-servers=http://127.0.0.1:{self.etcd}", "--bind-address=127.0.0.1", "--advertise-address=127.0.0.1",
                    f"--secure-port={self.port}", "--tls-cert-file=server.crt", "--tls-private-key-file=server.key", "--client-ca-file=ca.crt",
                    "--service-cluster-ip-range=10.96.0.0/24", "--service-account-issuer=https://kubernetes.default.svc",
                    "--service-account-key-file=account.pub", "--service-account-signing-key-file=account.key", "--token-auth-file=tokens.csv",
                    "--authorization-mode=RBAC", "--endpoint-reconciler-type=none", "--delete-collection-workers=8",
                    "--max-requests-inflight=2000", "--max-mutating-requests-inflight=1000", *self.api_words)
        self.wait(self._ready, "the API server")

    def _ready(self) -> bool:
        try:
            return self.ask("GET", "/readyz", text=True) == "ok"
        except (OSError, urllib.error.URLError):
            return False

    def stop_apiserver(self) -> None:
        process = self.processes.pop("kube-apiserver")
        process.kill()
        process.wait()

    def _start_the_rest(self) -> None:
        own = self.kubeconfig("own", {"token": self.admin})
        # More requests than the clusters of others would grant: a thousand pods within seconds.
        often = ("--kube-api-qps=2000", "--kube-api-burst=4000", "--leader-elect=false", "--bind-address=127.0.0.1", f"--kubeconfig={own}")
        ports = [free_port() for _ in range(3)]
        (self.folder / "stages.yaml").write_text(STAGES)
        words = {"kube-controller-manager": (*often, f"--secure-port={ports[0]}", "--root-ca-file=ca.crt", "--service-account-private-key-file=account.key",
                                             "--pvclaimbinder-sync-period=1s", "--concurrent-gc-syncs=50", "--concurrent-job-syncs=20"),
                 "kube-scheduler": (*often, f"--secure-port={ports[1]}"),
                 "kwok": (f"--kubeconfig={own}", "--manage-all-nodes=true", "--node-ip=127.0.0.1", f"--config={self.folder}/stages.yaml",
                          f"--server-address=127.0.0.1:{ports[2]}")}
        with concurrent.futures.ThreadPoolExecutor() as pool:
            for started in [pool.submit(self._start, name, port, *words[name]) for name, port in zip(words, ports) if name in self.PROGRAMS]:
                started.result()
        self.wait(lambda: self.ask("GET", "/api/v1/namespaces/default/serviceaccounts/default").get("kind") == "ServiceAccount", "the controllers")

    def kubeconfig(self, name: str, user: dict, server: str | None = None) -> str:
        """A file for that user: {"token": ...}, {"client-certificate": path, ...}."""
        path = self.folder / f"{name}.kubeconfig"
        ca = base64.b64encode((self.folder / "ca.crt").read_bytes()).decode()
        path.write_text(json.dumps({
            "clusters": [{"name": "c", "cluster": {"server": server or self.url, "certificate-authority-data": ca}}],
            "users": [{"name": "u", "user": user}],
            "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
            "current-context": "x"}))
        return str(path)

    def ask(self, method: str, path: str, body: dict | None = None, text: bool = False, kind: str = "application/json"):
        """As the administrator. What is refused is answered too: {"kind": "Status", "code": ...}."""
        context = ssl.create_default_context(cafile=str(self.folder / "ca.crt"))
        request = urllib.request.Request(self.url + path, method=method, data=None if body is None else json.dumps(body).encode(),
                                         headers={"Authorization": f"Bearer {self.admin}", "Content-Type": kind})
        try:
            with urllib.request.urlopen(request, context=context, timeout=30) as answer:
                said = answer.read()
        except urllib.error.HTTPError as error:
            said = error.read()
        return said.decode() if text else json.loads(said)

    def add_nodes(self, number: int, prefix: str = "node", **resources: str) -> None:
        capacity = {"cpu": "64", "memory": "256Gi", "pods": "200", **resources}
        for index in range(number):
            self.ask("POST", "/api/v1/nodes", {"metadata": {"name": f"{prefix}-{index}"}, "status": {"allocatable": capacity, "capacity": capacity}})

    def pods(self, name: str, namespace: str = "default") -> list[dict]:
        return self.ask("GET", f"/api/v1/namespaces/{namespace}/pods?labelSelector=linac/launch%3D{name}")["items"]

    def end(self, pod: dict, status: int, message: str = "") -> None:
        """Its container has ended."""
        ended = {"exitCode": status, "message": message, "reason": "Error" if status else "Completed"}
        self.ask("PATCH", f"/api/v1/namespaces/{pod['metadata']['namespace']}/pods/{pod['metadata']['name']}/status",
                 {"status": {"phase": "Failed" if status else "Succeeded",
                             "containerStatuses": [{**pod["status"]["containerStatuses"][0], "ready": False, "state": {"terminated": ended}}]}},
                 kind="application/merge-patch+json")

    def left_of(self, name: str, namespace: str = "default") -> list[str]:
        """Objects of a launch."""
        left = []
        for resource in ("apis/batch/v1/namespaces/{}/jobs", "api/v1/namespaces/{}/pods", "api/v1/namespaces/{}/services",
                         "api/v1/namespaces/{}/configmaps", "api/v1/namespaces/{}/secrets"):
            items = self.ask("GET", "/" + resource.format(namespace) + f"?labelSelector=linac/launch%3D{name}")["items"]
            left += [f"{resource.rsplit('/', 1)[1]}/{item['metadata']['name']}" for item in items]
        return left

    def wait(self, holds, what: str, limit_s: float = 60) -> None:
        logs = lambda: "".join(f"\n{path.name}: {path.read_text(errors='replace')[-1000:]}" for path in self.folder.glob("*.log"))
        wait_for(holds, lambda: f"{logs()}\nkubernetes: {what}", limit_s, 0.05)

    def __exit__(self, *_) -> None:
        for process in reversed(list(self.processes.values())):
            process.kill()  # in a folder that goes with it: nothing to be put in order
            process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)
