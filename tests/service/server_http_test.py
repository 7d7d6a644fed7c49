"""The service over raw HTTP, on each database: authentication, sessions, limits, files, curves, events, TLS, stopping, kill -9."""

import http.client
import json
import math
import os
import pathlib
import shutil
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import traceback
import urllib.error
import urllib.request

from lib.certificates import self_signed
from lib.checks import wait_for
from lib.runs import LINAC
from lib.server_process import Service, databases


class Answer:
    def __init__(self, status: int, headers, body: bytes):
        self.status, self.headers, self.body = status, headers, body

    def json(self):
        return json.loads(self.body)


def call(service: Service, method: str, path: str, body=None, headers=None, token="own", context=None) -> Answer:
    headers = dict(headers or {})
    if token:
        headers.setdefault("Authorization", "Bearer " + (service.token or "none" if token == "own" else token))
    data = json.dumps(body).encode() if isinstance(body, dict) else body
    request = urllib.request.Request(service.url + path, data=data, method=method, headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=20, context=context) as response:
            return Answer(response.status, response.headers, response.read())
    except urllib.error.HTTPError as e:
        return Answer(e.code, e.headers, e.read())


def raw(service: Service, text: bytes, wait: float = 5) -> bytes:
    host, port = service.url.split("//")[1].split(":")
    with socket.create_connection((host, int(port)), timeout=wait) as connection:
        connection.sendall(text)
        got = b""
        try:
            while piece := connection.recv(65536):
                got += piece
        except (TimeoutError, ConnectionResetError):
            pass
        return got


def new_run(service: Service, **more) -> str:
    answer = call(service, "POST", "/api/2.0/mlflow/runs/create", {"experiment_id": "0", **more})
    assert answer.status == 200, answer.body
    return answer.json()["run"]["info"]["run_id"]


def test_authentication(service: Service):
    assert call(service, "GET", "/healthz", token=None).status == 200
    assert call(service, "GET", "/readyz", token=None).body == b"ready\n"
    refused = call(service, "GET", "/api/v1/runs", token=None)
    assert refused.status == 401 and refused.headers["Content-Type"] == "application/problem+json"
    assert "LINAC_TOKEN" in refused.json()["detail"] and refused.headers["WWW-Authenticate"].startswith("Bearer")
    refused = call(service, "POST", "/api/2.0/mlflow/runs/search", {}, token=None)
    assert refused.status == 401 and refused.json()["error_code"] == "UNAUTHENTICATED"
    assert call(service, "GET", "/api/v1/me", token=service.token[:-1] + "x").status == 401
    assert call(service, "GET", "/api/v1/me").json() == {"user": "admin", "role": "admin"}
    import base64

    basic = "Basic " + base64.b64encode(f"anybody:{service.token}".encode()).decode()
    assert call(service, "GET", "/api/v1/me", headers={"Authorization": basic}).status == 200
    # A remembered token costs no hash: 200 hashes would take seconds of the process's time.
    connection = http.client.HTTPConnection(service.url.split("//")[1])
    before = service.cpu_seconds()
    for _ in range(200):
        connection.request("GET", "/api/v1/me", headers={"Authorization": "Bearer " + service.token})
        response = connection.getresponse()
        assert response.status == 200 and response.read()
    assert service.cpu_seconds() - before < 2


def test_users(service: Service):
    assert call(service, "POST", "/api/v1/users", {"name": "eva", "role": "viewer"}).status == 200
    assert call(service, "POST", "/api/v1/users", {"name": "eva"}).status == 409
    assert call(service, "POST", "/api/v1/users", {"name": "../x"}).status == 400
    made = call(service, "POST", "/api/v1/users/eva/tokens", {"scope": "admin", "days": 1, "note": "laptop"}).json()
    eva = made["secret"]
    assert call(service, "GET", "/api/v1/me", token=eva).json() == {"user": "eva", "role": "viewer"}
    assert call(service, "GET", "/api/v1/users", token=eva).status == 403
    assert call(service, "POST", "/api/2.0/mlflow/runs/create", {"experiment_id": "0"}, token=eva).status == 403
    assert call(service, "POST", "/api/2.0/mlflow/runs/search", {"experiment_ids": ["0"]}, token=eva).status == 200
    assert call(service, "GET", "/api/v1/users/admin/tokens", token=eva).status == 403
    assert "secret" not in json.dumps(call(service, "GET", "/api/v1/users/eva/tokens").json())
    assert call(service, "PATCH", "/api/v1/users/eva", {"role": "member"}).status == 200
    assert call(service, "POST", "/api/2.0/mlflow/runs/create", {"experiment_id": "0"}, token=eva).status == 200
    assert call(service, "PATCH", "/api/v1/users/eva", {"disabled": True}).status == 200
    assert call(service, "GET", "/api/v1/me", token=eva).status == 401
    assert call(service, "PATCH", "/api/v1/users/eva", {"disabled": False}).status == 200
    assert call(service, "GET", "/api/v1/me", token=eva).status == 200
    assert call(service, "DELETE", f"/api/v1/users/eva/tokens/{made['id']}").status == 200
    assert call(service, "GET", "/api/v1/me", token=eva).status == 401
    assert call(service, "PATCH", "/api/v1/users/admin", {"role": "viewer"}).status == 409
    actions = [e["action"] for e in call(service, "GET", "/api/v1/audit").json()["entries"]]
    assert actions.count("user.change") == 3 and "token.revoke" in actions and "token.create" in actions


def test_session(service: Service):
    answer = call(service, "POST", "/api/v1/login", {"token": service.token}, token=None)
    assert answer.status == 200
    cookie = answer.headers["Set-Cookie"]
    assert "HttpOnly" in cookie and "SameSite=Strict" in cookie
    jar = {"Cookie": cookie.split(";")[0]}
    csrf = answer.json()["csrf_token"]
    assert call(service, "GET", "/api/v1/me", headers=jar, token=None).json()["csrf_token"] == csrf
    create = ("POST", "/api/2.0/mlflow/runs/create", {"experiment_id": "0"})
    assert call(service, *create, headers=jar, token=None).status == 403
    assert call(service, *create, headers={**jar, "X-CSRF-Token": "0" * 64}, token=None).status == 403
    assert call(service, *create, headers={**jar, "X-CSRF-Token": csrf}, token=None).status == 200
    evil = {**jar, "X-CSRF-Token": csrf, "Origin": "http://evil.example"}
    assert call(service, *create, headers=evil, token=None).status == 403
    own = {**jar, "X-CSRF-Token": csrf, "Origin": service.url}
    assert call(service, *create, headers=own, token=None).status == 200
    assert call(service, "POST", "/api/v1/logout", headers={**jar, "X-CSRF-Token": csrf}, token=None).status == 200
    assert call(service, "GET", "/api/v1/me", headers=jar, token=None).status == 401
    assert call(service, "POST", "/api/v1/login", {"token": "linac_a_b"}, token=None).status == 401


def test_hosts_and_browsers(service: Service):
    assert call(service, "GET", "/api/v1/me", headers={"Host": "evil.example"}).status == 421
    assert call(service, "GET", "/api/v1/me", headers={"Host": "localhost:1"}).status == 200
    answer = call(service, "GET", "/api/v1/me")
    assert answer.headers["X-Content-Type-Options"] == "nosniff" and answer.headers["X-Frame-Options"] == "DENY"
    assert "default-src 'none'" in answer.headers["Content-Security-Policy"]
    call(service, "PUT", "/api/2.0/mlflow-artifacts/artifacts/0/x/page.html", b"<script>alert(1)</script>")
    page = call(service, "GET", "/api/2.0/mlflow-artifacts/artifacts/0/x/page.html")
    assert page.headers["Content-Type"] == "application/octet-stream" and "attachment" in page.headers["Content-Disposition"]
    assert "sandbox" in page.headers["Content-Security-Policy"]


def test_http(service: Service):
    assert raw(service, b"nonsense\r\n\r\n").startswith(b"HTTP/1.1 400")
    assert raw(service, b"GET /healthz HTTP/1.1\r\nX: " + b"a" * 70000 + b"\r\n\r\n").startswith(b"HTTP/1.1 431")
    assert raw(service, b"TRACE /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").startswith(b"HTTP/1.1 405")
    two = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\nGET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    assert raw(service, two).count(b"200 OK") == 2, "pipelined requests are answered in turn"
    head = raw(service, b"HEAD /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
    assert b"Content-Length: 3\r\n" in head and head.endswith(b"\r\n\r\n")
    token = service.token.encode()
    post = (b"POST /api/2.0/mlflow/runs/search HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + token +
            b"\r\nConnection: close\r\n")
    chunked = raw(service, post + b"Transfer-Encoding: chunked\r\n\r\n3\r\n{ \n\r\n1\r\n}\r\n0\r\n\r\n")
    assert chunked.startswith(b"HTTP/1.1 200"), chunked
    expected = raw(service, post + b"Content-Length: 2\r\nExpect: 100-continue\r\n\r\n{}")
    assert expected.startswith(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200"), expected
    assert raw(service, post + b"Content-Length: 99999999\r\n\r\n{}").startswith(b"HTTP/1.1 413")
    assert raw(service, post + b"Transfer-Encoding: chunked\r\n\r\nffffffff\r\n").startswith(b"HTTP/1.1 413")
    smuggled = raw(service, post + b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n{}")
    assert smuggled.startswith(b"HTTP/1.1 400"), smuggled
    for body in (b"[", b"[]", b"1", b'{"a":' + b"[" * 100 + b"]" * 100 + b"}", b'{"experiment_ids": 1}', b'{"filter": "\\u0000"}', b"\xff"):
        answer = call(service, "POST", "/api/2.0/mlflow/runs/search", body)
        assert answer.status == 400 and answer.json()["error_code"] == "INVALID_PARAMETER_VALUE", (body, answer.body)
    assert call(service, "GET", "/api/v1/nothing").status == 404
    assert call(service, "DELETE", "/api/v1/runs").status == 405
    assert call(service, "GET", "/api/v1/runs?filter=%ff").status == 400
    assert call(service, "GET", "/ajax-api/2.0/mlflow/experiments/search").status == 200


def test_files(service: Service):
    root = "/api/2.0/mlflow-artifacts/artifacts"
    (service.folder / "outside").write_text("secret")
    for path in ("../outside", "..%2foutside", "%2e%2e/outside", "0/../../outside", "/etc/passwd", "%2fetc%2fpasswd", "a//b", "a%5cb", "a%00b"):
        for method in ("GET", "PUT", "DELETE"):
            answer = call(service, method, f"{root}/{path}", b"x" if method == "PUT" else None)
            assert answer.status in (400, 404), (method, path, answer.status)
    assert (service.folder / "outside").read_text() == "secret"
    assert call(service, "GET", f"{root}?path=../").status == 400
    os.makedirs(service.folder / "artifacts" / "0" / "links", exist_ok=True)
    os.symlink("/etc", service.folder / "artifacts" / "0" / "links" / "etc")
    assert call(service, "GET", f"{root}/0/links/etc/passwd").status == 404
    assert call(service, "GET", f"{root}?path=0/links").json()["files"] == []
    content = os.urandom(700_001)
    assert call(service, "PUT", f"{root}/0/r/a%20b.bin", content).status == 200
    assert call(service, "GET", f"{root}/0/r/a%20b.bin").body == content
    part = call(service, "GET", f"{root}/0/r/a%20b.bin", headers={"Range": "bytes=100-299"})
    assert part.status == 206 and part.body == content[100:300] and part.headers["Content-Range"] == "bytes 100-299/700001"
    assert call(service, "GET", f"{root}/0/r/a%20b.bin", headers={"Range": "bytes=-5"}).body == content[-5:]
    assert call(service, "GET", f"{root}/0/r/a%20b.bin", headers={"Range": "bytes=700001-"}).status == 416
    assert list((service.folder / "uploads").iterdir()) == [], "an upload leaves nothing behind"


def test_curves(service: Service):
    run = new_run(service)
    points = {"loss": [[i, 1_700_000_000_000 + i, math.sin(i / 500)] for i in range(10_000)], "bad": [[0, 1, "NaN"], [1, 2, "-Infinity"]]}
    for _ in range(2):  # the second one is passed over
        answer = call(service, "POST", f"/api/v1/runs/{run}/points", {"sender": "w1", "sequence": 1, "points": points})
        assert answer.json() == {"acknowledged": 1}, answer.body
    gap = call(service, "POST", f"/api/v1/runs/{run}/points", {"sender": "w1", "sequence": 3, "points": {}})
    assert gap.status == 409 and "2" in gap.json()["detail"]
    assert call(service, "GET", f"/api/v1/runs/{run}/acknowledged?sender=w1").json() == {"acknowledged": 1}
    answer = call(service, "GET", f"/api/v1/runs/{run}/curves?key=loss&stretches=100").json()
    stretches = answer["curves"][0]["stretches"]
    names = answer["fields"]
    assert 90 <= len(stretches) <= 100 and sum(s[names.index("count")] for s in stretches) == 10_000
    assert abs(max(s[names.index("max")] for s in stretches) - 1) < 1e-5
    assert stretches[-1][names.index("last")] == math.sin(9999 / 500)
    window = call(service, "POST", "/api/v1/curves", {"runs": [run], "keys": ["loss", "bad"], "from": 10, "to": 19}).json()
    assert len(window["curves"][0]["stretches"]) == 10 and window["curves"][1]["stretches"] == []
    found = call(service, "GET", f"/api/v1/runs/{run}").json()
    assert found["metrics"]["bad"]["last"] == "-Infinity" and found["metrics"]["loss"]["count"] == 10_000
    call(service, "POST", "/api/2.0/mlflow/runs/update", {"run_id": run, "status": "FAILED"})
    found = call(service, "GET", f"/api/v1/runs/{run}").json()
    assert [(t["from"], t["to"]) for t in found["transitions"]][-1] == ("RUNNING", "FAILED") and found["ended_ms"] > 0
    assert call(service, "POST", f"/api/v1/runs/{run}/points", {"sender": "w2", "sequence": 1, "points": {"a": [[1, 2]]}}).status == 400
    assert call(service, "GET", f"/api/v1/runs/{'0' * 32}/curves").status == 404
    page = call(service, "GET", "/api/v1/runs?limit=2&order_by=start_time%20DESC").json()
    assert len(page["runs"]) == 2 and page["next"]
    second = call(service, "GET", f"/api/v1/runs?limit=2&order_by=start_time%20DESC&page_token={page['next']}").json()
    assert not {r["id"] for r in page["runs"]} & {r["id"] for r in second["runs"]}


def events(service: Service, run: str, into: list, last: str | None = None):
    host = service.url.split("//")[1]
    connection = http.client.HTTPConnection(host, timeout=20)
    headers = {"Authorization": f"Bearer {service.token}"} | ({"Last-Event-ID": last} if last else {})
    connection.request("GET", f"/api/v1/runs/{run}/events", headers=headers)
    response = connection.getresponse()
    into.append(("open", response.status))
    event: dict = {}
    for line in response:
        text = line.decode().rstrip("\n")
        if not text:
            if "event" in event:
                into.append((event["event"], json.loads(event["data"]), event.get("id")))
            event = {}
        elif ": " in text:
            name, value = text.split(": ", 1)
            event[name] = value
    into.append(("end",))


def test_events(service: Service):
    run = new_run(service)
    assert call(service, "GET", f"/api/v1/runs/{'0' * 32}/events").status == 404
    seen: list = []
    threading.Thread(target=events, args=(service, run, seen), daemon=True).start()
    wait_for(lambda: seen, "an event", 10, 0.01)
    assert seen[0] == ("open", 200)
    call(service, "POST", "/api/2.0/mlflow/runs/log-metric", {"run_id": run, "key": "a", "value": "NaN", "timestamp": 5, "step": 2})
    wait_for(lambda: len(seen) >= 2, "two events", 10, 0.01)
    assert seen[1][:2] == ("points", {"a": [[2, 5, "NaN"]]})
    call(service, "POST", "/api/2.0/mlflow/runs/update", {"run_id": run, "status": "FINISHED"})
    wait_for(lambda: len(seen) >= 3, "three events", 10, 0.01)
    assert seen[2][0] == "state" and seen[2][1]["state"] == "SUCCEEDED"
    missed: list = []
    threading.Thread(target=events, args=(service, run, missed, seen[1][2]), daemon=True).start()
    wait_for(lambda: len(missed) >= 2, "what was missed", 10, 0.01)
    assert missed[1][0] == "state", missed


def test_metrics(service: Service):
    text = call(service, "GET", "/metrics").body.decode()
    assert 'linac_runs{state="RUNNING"}' in text and 'linac_requests_total{route="get_run",status="200"}' in text
    bucket = [line for line in text.splitlines() if line.startswith('linac_request_seconds_bucket{route="healthz"')]
    counts = [int(line.split()[-1]) for line in bucket]
    assert counts and counts == sorted(counts)


def test_kill(service: Service):
    """What was acknowledged is there after kill -9 of the service."""
    run = new_run(service)
    done: list[int] = []

    def write():
        for sequence in range(1, 100_000):
            try:
                answer = call(service, "POST", f"/api/v1/runs/{run}/points",
                              {"sender": "w", "sequence": sequence, "points": {"x": [[sequence, 1, sequence]]}})
                if answer.status != 200:
                    return
                done.append(sequence)
            except OSError:
                return

    writer = threading.Thread(target=write)
    writer.start()
    wait_for(lambda: len(done) > 30 or not writer.is_alive(), "reads beside the writer", 10, 0.01)
    service.kill()
    writer.join()
    assert done
    with Service(data=str(service.folder), database=service.database) as again:
        again.token = service.token
        told = call(again, "GET", f"/api/v1/runs/{run}/acknowledged?sender=w").json()["acknowledged"]
        assert told in (done[-1], done[-1] + 1), (told, done[-1])
        count = call(again, "GET", f"/api/v1/runs/{run}").json()["metrics"]["x"]["count"]
        assert count == told, (count, told)


def test_start_refused(_: Service):
    def refused(*words: str) -> str:
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run([LINAC, "serve", "--data", folder, *words], capture_output=True, text=True, timeout=20)
        assert done.returncode in (2, 4), done
        return done.stderr

    assert "--tls-cert" in refused("--listen", "0.0.0.0:0")
    assert "--no-auth" in refused("--listen", "0.0.0.0:0", "--no-auth")
    assert "--listen" in refused("--listen", "nowhere")
    assert "certificate" in refused("--listen", "127.0.0.1:0", "--tls-cert", "/dev/null", "--tls-key", "/dev/null")


def test_tls_and_no_auth(_: Service):
    with tempfile.TemporaryDirectory() as folder:
        certificate, key = self_signed(pathlib.Path(folder), "localhost", "IP:127.0.0.1")
        with Service("--tls-cert", str(certificate), "--tls-key", str(key)) as service:
            context = ssl.create_default_context(cafile=certificate)
            assert service.url.startswith("https://")
            answer = call(service, "GET", "/api/v1/me", context=context)
            assert answer.status == 200 and "max-age" in answer.headers["Strict-Transport-Security"]
            login = call(service, "POST", "/api/v1/login", {"token": service.token}, token=None, context=context)
            assert "; Secure" in login.headers["Set-Cookie"]
            big = os.urandom(3_000_000)
            assert call(service, "PUT", "/api/2.0/mlflow-artifacts/artifacts/a", big, context=context).status == 200
            assert call(service, "GET", "/api/2.0/mlflow-artifacts/artifacts/a", context=context).body == big
            assert service.stop() == 0
    with Service("--no-auth") as service:
        assert service.token is None
        assert call(service, "GET", "/api/v1/me", token=None).json() == {"user": "local", "role": "admin"}
        evil = call(service, "POST", "/api/2.0/mlflow/runs/create", b'{"experiment_id": "0"}', headers={"Origin": "http://evil.example"}, token=None)
        assert evil.status == 403
        seen: list = []
        run = new_run(service)
        threading.Thread(target=events, args=(service, run, seen), daemon=True).start()
        wait_for(lambda: seen, "an event", 10, 0.01)
        begin = time.monotonic()
        assert service.stop() == 0 and time.monotonic() - begin < 5
        wait_for(lambda: seen[-1] == ("end",), "the end", 10, 0.01)


def test_password_of_the_database(service: Service) -> None:
    """It is in no line that others of the host see, and may come by a file or the environment."""
    if not service.database:
        return
    address, _, password = service.database.rpartition("@")[0].rpartition(":")
    bare = f"{address}@{service.database.rpartition('@')[2]}"
    line = pathlib.Path(f"/proc/{service.process.pid}/cmdline").read_bytes()
    assert b"--db" in line and password.encode() not in line, line
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "database"
        file.write_text(service.database + "\n")

        def checked(*words: str, **variables: str) -> subprocess.CompletedProcess:
            return subprocess.run([LINAC, "serve", "check", "--data", folder, *words], env=os.environ | variables, capture_output=True, text=True, timeout=60)

        file.chmod(0o600)
        assert "is sound" in checked("--db-file", str(file)).stdout
        assert "is sound" in checked("--db", bare, PGPASSWORD=password).stdout
        assert checked("--db", bare, PGPASSWORD="wrong").returncode != 0
        assert checked("--db", service.database, "--db-file", str(file)).returncode == 2
        file.chmod(0o644)
        refused = checked("--db-file", str(file))
        assert refused.returncode == 2 and password not in refused.stderr, refused


def test_given_socket(service: Service) -> None:
    """As systemd gives it: who calls while the service is started anew waits, and the port is nobody else's."""
    with socket.create_server(("127.0.0.1", 0)) as listener, tempfile.TemporaryDirectory() as folder:
        port = listener.getsockname()[1]
        words = ["sh", "-c", 'eval "exec 3<&$0"; LISTEN_PID=$$ LISTEN_FDS=1; export LISTEN_PID LISTEN_FDS; exec "$@"', str(listener.fileno()), LINAC, "serve", "--data", folder]

        def started() -> subprocess.Popen:
            process = subprocess.Popen(words, pass_fds=[listener.fileno()], stdout=subprocess.PIPE, text=True)
            line = process.stdout.readline()
            assert line == f"linac serves http://127.0.0.1:{port}\n", line
            return process

        process = started()
        try:
            for _ in range(2):
                process.terminate()
                assert process.wait(timeout=30) == 0
                process.stdout.close()
                with socket.create_connection(("127.0.0.1", port), timeout=20) as caller:
                    caller.sendall(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
                    process = started()
                    assert caller.recv(65536).startswith(b"HTTP/1.1 200")
        finally:
            process.kill()
            process.wait()
    with socket.create_server(("0.0.0.0", 0)) as listener, tempfile.TemporaryDirectory() as folder:  # the address that counts is the socket's
        words[3], words[-1] = str(listener.fileno()), folder
        refused = subprocess.run(words, pass_fds=[listener.fileno()], capture_output=True, text=True, timeout=30)
        assert refused.returncode == 2 and "unencrypted" in refused.stderr, refused


def main() -> int:
    word = sys.argv[1] if len(sys.argv) > 1 else ""
    failed = ran = 0
    for kind, database in databases():
        with database, tempfile.TemporaryDirectory(prefix="linac-service-") as folder:
            with Service(database=database.url, data=folder) as service:
                service.database = database.url
                for name, test in list(globals().items()):
                    if not name.startswith("test_") or word not in name:
                        continue
                    ran += 1
                    begin = time.monotonic()
                    try:
                        test(service)
                        print(f"{kind:10} {name:26} ok      {time.monotonic() - begin:5.1f} s", flush=True)
                    except Exception:
                        failed += 1
                        print(f"{kind:10} {name:26} FAILED", flush=True)
                        traceback.print_exc()
                    if service.process.poll() is not None:  # a test may kill it
                        service.url = None
                        token = service.token
                        service.__enter__()
                        service.token = token
            shutil.rmtree(folder, ignore_errors=True)
            os.makedirs(folder, exist_ok=True)
    print("FAILED" if failed or not ran else "ok")
    return 1 if failed or not ran else 0


if __name__ == "__main__":
    sys.exit(main())
