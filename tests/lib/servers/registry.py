"""A registry of images for a test: `with Registry() as registry:`, then `registry.host` and `registry.push("calo/linac", "1.0")`. Debian's
docker-registry, on a free port of 127.0.0.1.

`Registry.available()` says whether it can be (tests/servers/get.sh registry).
"""

import hashlib
import json
import pathlib
import shutil
import tempfile
import urllib.parse
import urllib.request

from . import port_server
from ..ports import free_port

TYPE = "application/vnd.oci.image.manifest.v1+json"


class Registry(port_server.PortServer):
    @staticmethod
    def available() -> bool:
        return shutil.which("docker-registry") is not None

    def __enter__(self) -> "Registry":
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="linac-registry-"))
        port = free_port()
        self.host = f"127.0.0.1:{port}"
        (self.folder / "config.yml").write_text(json.dumps({
            "version": 0.1, "storage": {"filesystem": {"rootdirectory": str(self.folder / "images")}}, "http": {"addr": self.host}}))
        self.process = port_server.start(["docker-registry", "serve", self.folder / "config.yml"], port, self.folder / "log")
        return self

    def _ask(self, method: str, address: str, body: bytes = b"", kind: str = "application/octet-stream"):
        address = address if address.startswith("http") else f"http://{self.host}{address}"
        return urllib.request.urlopen(urllib.request.Request(address, method=method, data=body, headers={"Content-Type": kind}), timeout=30)

    def push(self, name: str, version: str) -> str:
        """An image without layers; its digest."""
        config = b'{"architecture": "amd64", "os": "linux", "rootfs": {"type": "layers", "diff_ids": []}}'
        digest = "sha256:" + hashlib.sha256(config).hexdigest()
        with self._ask("POST", f"/v2/{name}/blobs/uploads/") as answer:
            place = answer.headers["Location"]
        self._ask("PUT", place + ("&" if "?" in place else "?") + urllib.parse.urlencode({"digest": digest}), config).close()
        manifest = json.dumps({"schemaVersion": 2, "mediaType": TYPE, "layers": [],
                               "config": {"mediaType": "application/vnd.oci.image.config.v1+json", "digest": digest, "size": len(config)}}).encode()
        with self._ask("PUT", f"/v2/{name}/manifests/{version}", manifest, TYPE) as answer:
            return answer.headers["Docker-Content-Digest"]
