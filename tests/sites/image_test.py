#!/usr/bin/env python3
"""Whether the image of a site can be had is known before a launch: by a real registry, by servers that mean no good, and by files where there is
Slurm. It never takes long. Exit 77 where there is no registry."""

import http.server
import json
import os
import pathlib
import socket
import tempfile
import threading
import time

from lib import launches
from lib.checks import check
from lib.launches import Client
from lib.runs import LINAC
from lib.servers.registry import Registry
from lib.servers.slurm import Slurm
from lib.skips import skip, skipped

BOUND_S = 60  # kRegistryPatience is 10, on a machine with other work


def image_of(said: str) -> tuple[str, str]:
    """ok, no or ? of the image, and why."""
    line = next(line for line in said.splitlines() if line.split()[1:2] == ["image"])
    return line.split()[0], line


def asked(root: pathlib.Path, container: str) -> tuple[str, str]:
    """A site of the kind panda asks its registry itself, whether PanDA answers or not."""
    site = {"kind": "panda", "prefix": "user.me", "container": container, "out": "s3://b/runs"}
    client = Client(root, {"grid": site}, PANDA_URL_SSL="https://127.0.0.1:9/server/panda", X509_USER_PROXY="/nowhere")
    return image_of(client.linac("sites", "check", "grid", status=4))


class Fake:
    """A server that answers as `reply(path, headers)` says: status, headers, body."""

    def __init__(self, reply):
        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                status, headers, body = reply(self.path, self.headers)
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(body)

            do_HEAD = do_GET

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.host = f"127.0.0.1:{self.server.server_address[1]}"

    def __enter__(self) -> "Fake":
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_) -> None:
        self.server.shutdown()
        self.server.server_close()


def real_registry(root: pathlib.Path, registry: Registry) -> None:
    digest = registry.push("calo/linac", "1.0")
    for name in (":1.0", f"@{digest}"):
        word, line = asked(root, f"docker://{registry.host}/calo/linac{name}")
        check(word == "ok" and f"{registry.host} has it" in line, f"the registry has {name}")
    for name in ("calo/linac:2.0", "calo/other:1.0", "calo/linac", f"calo/linac@sha256:{'0' * 64}"):
        word, line = asked(root, f"docker://{registry.host}/{name}")
        check(word == "no" and "has no such image" in line, f"the registry has not {name}")


def servers_that_mean_no_good(root: pathlib.Path) -> None:
    tokens = []

    def with_token(realm: str, token: str = "abc"):
        def reply(path: str, headers) -> tuple:
            if path.startswith("/token"):
                tokens.append(path)
                return 200, {}, json.dumps({"token": token}).encode()
            if headers.get("Authorization") == "Bearer abc":
                return 200, {}, b""
            return 401, {"WWW-Authenticate": f'Bearer realm="{realm or own[0]}",service="r & s",scope="repository:x:push"'}, b""

        return reply

    own = [""]
    with Fake(with_token("")) as server:
        own[0] = f"http://{server.host}/token"
        check(asked(root, f"docker://{server.host}/a/b:1")[0] == "ok", "a token is asked for as the registry says")
        check(tokens == ["/token?service=r%20%26%20s&scope=repository%3Aa%2Fb%3Apull"], "to pull that image, and no more")
    strange = {
        "a token from a file": with_token("file:///etc/passwd"), "an unencrypted token of another host": with_token("http://example.org/token"),
        "no challenge": lambda *_: (401, {}, b""), "a broken challenge": lambda *_: (401, {"WWW-Authenticate": 'Bearer realm="'}, b""),
        "a refusal": lambda *_: (403, {}, b""), "an error": lambda *_: (500, {}, b"x" * 10), "too many": lambda *_: (429, {}, b""),
        "no end of redirects": lambda path, _: (302, {"Location": path}, b""), "a redirect to a file": lambda *_: (302, {"Location": "file:///etc/passwd"}, b""),
    }
    for what, reply in strange.items():
        with Fake(reply) as server:
            word, line = asked(root, f"docker://{server.host}/a/b:1")
        check(word == "?" and "not looked at" in line, f"{what} is told, and refuses nothing")

    def large_token(path: str, _) -> tuple:
        if path.startswith("/token"):
            return 200, {}, b'{"token": "' + b"a" * (2 << 20) + b'"}'
        return 401, {"WWW-Authenticate": f'Bearer realm="{own[0]}"'}, b""

    with Fake(large_token) as server:
        own[0] = f"http://{server.host}/token"
        check(asked(root, f"docker://{server.host}/a/b:1")[0] == "?", "an endless token is not taken")
    with socket.create_server(("127.0.0.1", 0)) as silent:
        begin = time.monotonic()
        word, line = asked(root, f"docker://127.0.0.1:{silent.getsockname()[1]}/a/b:1")
        check(word == "?" and "has not answered for 10 s" in line and time.monotonic() - begin < BOUND_S, "a registry that says nothing is waited for 10 s")
    word, line = asked(root, "docker://127.0.0.1:9/a/b:1")
    check(word == "?" and "is not reached from here" in line, "one that is not there is told")
    check(asked(root, "docker://a b")[0] == "no" and asked(root, "docker://127.0.0.1:9/../a:1")[0] == "no", "what is no name is refused")


def launches_with_slurm(root: pathlib.Path, registry: Registry, cluster: Slurm) -> None:
    def said(container: object, status: int, *words: str) -> str:
        site = {"kind": "slurm", "folder": f"{root}/site", "program": LINAC, "partition": "main", "container": str(container)}
        client = Client(root, {"farm": site}, **cluster.environment)
        return client.launch("farm", launches.SETTINGS, "--workers", "1", *words, status=status)

    os.mkfifo(root / "pipe")
    (root / "image.sif").write_bytes(b"")
    for container, why in ((root / "nowhere.sif", "not there, or not to be read"), (root / "pipe", "not there, or not to be read"),
                           (f"docker://{registry.host}/calo/linac:2.0", "has no such image")):
        text = said(container, 4)
        check("no  image" in text and why in text and "nothing was started" in text, f"a launch without {container} is refused")
    check(not cluster.ask("squeue", "-h", "-t", "all"), "and nothing was submitted")
    for container in (root / "image.sif", f"docker://{registry.host}/calo/linac:1.0"):
        text = said(container, 0, "--name", f"has-{pathlib.Path(container).stem[:5]}")
        check("farm:has-" in text and "image:" not in text, f"one with {container} is launched")
    text = said("docker://127.0.0.1:9/calo/linac:1.0", 0, "--name", "unseen")
    check("farm:unseen" in text and "is not reached from here" in text, "one whose registry is not reached from here is launched, and that is said")
    said(root / "nowhere.sif", 0, "--name", "anyhow", "--no-check")
    cluster.ask("scancel", "--user=root")


def main() -> None:
    if not Registry.available():
        skip("no registry", "tests/servers/get.sh registry")
    with tempfile.TemporaryDirectory(prefix="linac-image-", ignore_cleanup_errors=True) as folder, Registry() as registry:
        root = pathlib.Path(folder)
        real_registry(root, registry)
        servers_that_mean_no_good(root)
        if Slurm.available():
            with Slurm() as cluster:
                launches_with_slurm(root, registry, cluster)
        else:
            skipped("Slurm", "no Slurm", "tests/servers/get.sh slurm, as root")


if __name__ == "__main__":
    main()
