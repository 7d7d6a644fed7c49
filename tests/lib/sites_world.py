"""A service that carries out jobs at sites."""

import contextlib
import json
import os
import pathlib
import tempfile

from .runs import LINAC
from .server_process import Service
from .service_client import Client


def words(settings: dict, site: str) -> list[str]:
    return ["--on", site, *(word for key, value in settings.items() for word in ("--set", f"{key}={value}"))]


class World:
    """A service with a site of this host, and others that the test names; it can be killed and started again."""

    def __init__(self, stack: contextlib.ExitStack, **sites: dict):
        self.root = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="linac-queue-sites-", ignore_cleanup_errors=True)))
        self.stack, self.token = stack, None
        self.declare(here={"kind": "local", "folder": f"{self.root}/site", "program": LINAC}, **sites)
        self.serve()
        stack.callback(self.end_all)

    def declare(self, **sites: dict) -> None:
        (self.root / "sites.yaml").write_text(json.dumps(sites))  # YAML has JSON in it

    def serve(self) -> None:
        self.service = self.stack.enter_context(Service("--sites", str(self.root / "sites.yaml"), "--slots", "cores=1", data=str(self.root / "data")))
        self.token = self.service.token = self.service.token or self.token
        self.client = Client(self.service, str(self.root / "config"))

    def kill(self) -> None:
        self.service.kill()
        self.serve()

    def submit(self, settings: dict, site: str = "here", *more: str) -> str:
        return self.client.submit(*words(settings, site), *more)[0]

    def launches(self) -> list[str]:
        return sorted(path.parent.name for path in (self.root / "site").glob("*/launch"))

    def end_all(self) -> None:
        """What the test has left running there, whatever became of it."""
        for path in (self.root / "site").glob("*/launch/pid-*"):
            with contextlib.suppress(OSError, ValueError):
                os.killpg(int(path.read_text()), 9)
