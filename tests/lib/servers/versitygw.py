"""An object store for a test: `with Versitygw() as store:`, then `store.environment` and bucket "test".

In a temporary folder, on a free port of 127.0.0.1 (or of all addresses, for one in a network namespace), with keys of its own; ended by
its own process id.
`Versitygw.available()` says whether it is installed (tests/servers/get.sh versitygw).
"""

import datetime
import hashlib
import hmac
import http.client
import os
import pathlib
import secrets
import shutil
import tempfile

from . import port_server
from ..ports import free_port


class Versitygw(port_server.PortServer):
    BUCKET = "test"

    @staticmethod
    def program() -> str | None:
        usual = port_server.programs() / "versitygw"
        return str(usual) if usual.is_file() else shutil.which("versitygw")

    @classmethod
    def available(cls) -> bool:
        return cls.program() is not None

    def __init__(self, listens_on: str = "127.0.0.1"):
        self.listens_on = listens_on

    def __enter__(self) -> "Versitygw":
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="linac-versitygw-"))
        (self.folder / "data" / self.BUCKET).mkdir(parents=True)
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.id, self.secret = "linactest", secrets.token_hex(16)
        self.environment = {"AWS_ENDPOINT_URL": self.url, "AWS_ACCESS_KEY_ID": self.id, "AWS_SECRET_ACCESS_KEY": self.secret,
                            "AWS_REGION": "us-east-1", "AWS_CONFIG_FILE": "/dev/null", "AWS_SHARED_CREDENTIALS_FILE": "/dev/null"}
        self.start()
        return self

    def start(self) -> None:
        """Again after stop(): the same address, keys and objects."""
        words = [self.program(), "--port", f"{self.listens_on}:{self.port}", "--quiet", "posix", self.folder / "data"]
        self.process = port_server.start(words, self.port, self.folder / "log",
                                         env={**os.environ, "ROOT_ACCESS_KEY": self.id, "ROOT_SECRET_KEY": self.secret})

    def put(self, key: str, content: bytes) -> None:
        """An object by the server's own interface (AWS Signature Version 4), so that it has an ETag."""
        now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y%m%dT%H%M%SZ")
        path, scope = f"/{self.BUCKET}/{key}", f"{now[:8]}/us-east-1/s3/aws4_request"
        headers = {"host": f"127.0.0.1:{self.port}", "x-amz-content-sha256": hashlib.sha256(content).hexdigest(), "x-amz-date": now}
        names = ";".join(headers)
        asked = "\n".join(["PUT", path, "", *(f"{name}:{value}" for name, value in headers.items()), "", names, headers["x-amz-content-sha256"]])
        said = "\n".join(["AWS4-HMAC-SHA256", now, scope, hashlib.sha256(asked.encode()).hexdigest()])
        secret = b"AWS4" + self.secret.encode()
        for word in (*scope.split("/"), said):
            secret = hmac.new(secret, word.encode(), hashlib.sha256).digest()
        headers["Authorization"] = f"AWS4-HMAC-SHA256 Credential={self.id}/{scope}, SignedHeaders={names}, Signature={secret.hex()}"
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        connection.request("PUT", path, content, headers)
        answer = connection.getresponse()
        if answer.status != 200:
            raise SystemExit(f"versitygw: PUT {key}: {answer.status} {answer.read()}")
        connection.close()
