"""An object store that speaks as Azure's: `with Azurite() as store:`, then `store.environment` and container "test". In a temporary folder, on
a free port of 127.0.0.1. `Azurite.available()` says whether it is installed (tests/servers/get.sh azurite)."""

import base64
import datetime
import hashlib
import hmac
import http.client
import os
import pathlib
import secrets
import tempfile

from . import port_server
from ..ports import free_port

PROGRAM = port_server.programs() / "azurite" / "node_modules" / ".bin" / "azurite-blob"


class Azurite(port_server.PortServer):
    BUCKET = "test"

    @staticmethod
    def available() -> bool:
        return PROGRAM.exists()

    def __enter__(self) -> "Azurite":
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="linac-azurite-"))
        self.port, self.account, self.key = free_port(), "linactest", base64.b64encode(secrets.token_bytes(64)).decode()
        place = f"http://127.0.0.1:{self.port}/{self.account}"
        self.environment = {"AZURE_STORAGE_CONNECTION_STRING": f"DefaultEndpointsProtocol=http;AccountName={self.account};AccountKey={self.key};"
                                                               f"BlobEndpoint={place};"}
        words = [PROGRAM, "--blobHost", "127.0.0.1", "--blobPort", str(self.port), "--location", self.folder, "--silent", "--skipApiVersionCheck",
                 "--disableTelemetry"]
        self.process = port_server.start(words, self.port, self.folder / "log", env={**os.environ, "AZURITE_ACCOUNTS": f"{self.account}:{self.key}"})
        self._make_container()
        return self

    def _make_container(self) -> None:
        """By the server's own interface (Shared Key)."""
        path, version = f"/{self.account}/{self.BUCKET}", "2021-12-02"
        date = datetime.datetime.now(datetime.timezone.utc).strftime("%a, %d %b %Y %H:%M:%S GMT")
        said = "PUT" + "\n" * 12 + f"x-ms-date:{date}\nx-ms-version:{version}\n/{self.account}{path}\nrestype:container"
        signature = base64.b64encode(hmac.new(base64.b64decode(self.key), said.encode(), hashlib.sha256).digest()).decode()
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        connection.request("PUT", f"{path}?restype=container", b"", {"x-ms-date": date, "x-ms-version": version,
                                                                     "Authorization": f"SharedKey {self.account}:{signature}"})
        answer = connection.getresponse()
        if answer.status != 201:
            self.__exit__()
            raise SystemExit(f"azurite: container: {answer.status} {answer.read()}")
        connection.close()
