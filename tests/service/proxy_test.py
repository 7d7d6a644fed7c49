"""The service behind a real nginx with the configuration of docs/operate/service.md, which takes the TLS: clients log in and work through it, the
service knows from whom and how requests come, and a stranger who guesses tokens through the same proxy keeps nobody out.
Exit 77 where there is no nginx."""

import http.client
import os
import pathlib
import re
import shutil
import ssl
import subprocess
import sys
import tempfile
import time

from attack_world import FILES, Answer, People, ask, good
from lib.certificates import self_signed
from lib.ports import free_port
from lib.runs import LINAC, ROOT
from lib.server_process import Service

NAME = "linac.example.org"
LARGE = 8 << 20  # nginx alone refuses more than 1 MiB


def configuration(folder: pathlib.Path, port: int, service: Service) -> pathlib.Path:
    """What the documentation shows, at this test's ports and files."""
    documented = re.search(r"```nginx\n(.*?)```", (ROOT / "docs/operate/service.md").read_text(), re.DOTALL).group(1)
    pem, key = self_signed(folder, NAME, f"DNS:{NAME},IP:127.0.0.1")
    for said, here in (("listen 443 ssl", f"listen 127.0.0.1:{port} ssl"), ("/etc/nginx/linac.pem", str(pem)), ("/etc/nginx/linac.key", str(key)),
                       ("http://127.0.0.1:5000", service.url)):
        assert said in documented, said
        documented = documented.replace(said, here)
    places = "".join(f"{name}_temp_path {folder}/{name};\n" for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    whole = f"daemon off;\nmaster_process off;\npid {folder}/pid;\nerror_log {folder}/error.log;\nevents {{}}\nhttp {{\naccess_log off;\n{places}{documented}}}\n"
    path = folder / "nginx.conf"
    path.write_text(whole)
    return path


class Proxy:
    """Answers as `call` of attack_world does, but through nginx."""

    def __init__(self, folder: pathlib.Path, service: Service):
        self.port, self.folder = free_port(), folder
        self.context = ssl.create_default_context(cafile=None)
        self.process = subprocess.Popen(["nginx", "-p", str(folder), "-e", str(folder / "error.log"), "-c", str(configuration(folder, self.port, service))])
        self.context.load_verify_locations(folder / "certificate.pem")
        end = time.monotonic() + 20
        while True:
            try:
                self.connect("127.0.0.1").close()
                return
            except OSError:
                if time.monotonic() > end or self.process.poll() is not None:
                    sys.exit(f"nginx does not start: {(folder / 'error.log').read_text()}")
                time.sleep(0.05)

    def connect(self, source: str) -> http.client.HTTPSConnection:
        connection = http.client.HTTPSConnection("127.0.0.1", self.port, timeout=30, source_address=(source, 0), context=self.context)
        connection._create_connection = lambda address, *rest, create=connection._create_connection: create(("127.0.0.1", self.port), *rest)
        connection.host = NAME  # what the certificate must say
        connection.connect()
        return connection

    def call(self, method: str, path: str, body=None, token: str | None = None, headers=None, source: str = "127.0.0.1") -> Answer:
        return ask(self.connect(source), method, path, body, token, {"Host": f"{NAME}:{self.port}"} | dict(headers or {}))

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(timeout=20)


def a_session(proxy: Proxy, people: People) -> None:
    """A browser's: its cookie is for TLS alone, and what it changes comes from the pages' own address."""
    login = good(proxy.call("POST", "/api/v1/login", {"token": people.ann}))
    cookie = login.headers["Set-Cookie"]
    assert "; Secure" in cookie and "HttpOnly" in cookie, cookie
    own = {"Cookie": cookie.split(";")[0], "X-CSRF-Token": login.json()["csrf_token"], "Origin": f"https://{NAME}:{proxy.port}"}
    good(proxy.call("POST", "/api/2.0/mlflow/experiments/create", {"name": "by the pages"}, headers=own))
    elsewhere = own | {"Origin": "https://elsewhere.example.org"}
    assert proxy.call("POST", "/api/2.0/mlflow/experiments/create", {"name": "by others"}, headers=elsewhere).status == 403
    assert proxy.call("GET", "/api/v1/me", token=people.ann, headers={"Host": "elsewhere.example.org"}).status == 421
    assert good(proxy.call("GET", "/")).body.lower().startswith(b"<!doctype html>")


def a_verb(proxy: Proxy, people: People) -> None:
    """The proxy proves itself by its own certificate, also where a token names that of the service behind it."""
    environment = {**os.environ, "LINAC_SERVER": f"https://127.0.0.1:{proxy.port}", "LINAC_TOKEN": people.admin, "LINAC_CA_FILE": str(proxy.folder / "certificate.pem")}
    done = subprocess.run([LINAC, "status"], env=environment, capture_output=True, text=True, timeout=30)
    assert done.returncode == 0, done
    done = subprocess.run([LINAC, "status"], env=environment | {"LINAC_CA_FILE": ""}, capture_output=True, text=True, timeout=30)
    assert done.returncode == 4 and "certificate" in done.stderr, done


def the_address(proxy: Proxy, people: People) -> None:
    """The audit log has the client's, whatever he writes himself."""
    good(proxy.call("POST", "/api/2.0/mlflow/registered-models/create", {"name": "far"}, people.ann, {"X-Forwarded-For": "10.9.8.7"}, "127.0.0.5"))
    entries = good(proxy.call("GET", "/api/v1/audit?limit=5", token=people.admin)).json()["entries"]
    assert [entry["from"] for entry in entries if entry["object"] == "model far"] == ["127.0.0.5"], entries


def guesses(proxy: Proxy, people: People) -> None:
    """One address is slowed, the others behind the same proxy are not."""
    answers = [proxy.call("GET", "/api/v1/me", token=f"linac_{i:016x}_{i:064x}", source="127.0.0.6").status for i in range(60)]
    assert 429 in answers and set(answers) <= {401, 429}, answers
    for _ in range(5):
        good(proxy.call("GET", "/api/v1/me", token=people.bob, source="127.0.0.7"))
    assert proxy.call("GET", "/api/v1/me", token="linac_0000000000000000_" + 64 * "0", source="127.0.0.8").status == 401


def a_large_file(proxy: Proxy, people: People) -> None:
    run = good(proxy.call("POST", "/api/2.0/mlflow/runs/create", {"experiment_id": "0"}, people.ann)).json()["run"]["info"]["run_id"]
    content = bytes(range(256)) * (LARGE // 256)
    good(proxy.call("PUT", f"{FILES}/0/{run}/artifacts/large", content, people.ann))
    assert good(proxy.call("GET", f"{FILES}/0/{run}/artifacts/large", token=people.ann)).body == content


def news(proxy: Proxy, people: People) -> None:
    """A point is with who watches within a second: the proxy does not gather them."""
    run = good(proxy.call("POST", "/api/2.0/mlflow/runs/create", {"experiment_id": "0"}, people.ann)).json()["run"]["info"]["run_id"]
    connection = proxy.connect("127.0.0.1")
    connection.request("GET", f"/api/v1/runs/{run}/events", headers={"Host": f"{NAME}:{proxy.port}", "Authorization": f"Bearer {people.ann}"})
    response = connection.getresponse()
    assert response.status == 200, response.status
    begin = time.monotonic()
    good(proxy.call("POST", "/api/2.0/mlflow/runs/log-metric", {"run_id": run, "key": "loss", "value": 0.125, "timestamp": 1, "step": 3}, people.ann))
    seen = b""
    while b"0.125" not in seen:
        assert time.monotonic() - begin < 10, seen
        seen += response.readline()
    took = time.monotonic() - begin
    connection.close()
    print(f"  a point came {1e3 * took:.0f} ms after it was sent")


def main() -> int:
    if not shutil.which("nginx"):
        print("no nginx installed (tests/servers/get.sh nginx): skipped")
        return 77
    with tempfile.TemporaryDirectory(prefix="linac-proxy-") as name, \
            Service("--host", NAME, "--trusted-proxy", "127.0.0.1") as service:
        people = People(service)
        proxy = Proxy(pathlib.Path(name), service)
        try:
            for check in (a_session, a_verb, the_address, guesses, a_large_file, news):
                check(proxy, people)
                print(f"{check.__name__:14} ok", flush=True)
        finally:
            proxy.stop()
    print("ok")
    return 0


if __name__ == "__main__":
    sys.exit(main())
