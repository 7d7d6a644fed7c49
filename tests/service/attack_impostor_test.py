#!/usr/bin/env python3
"""Somebody who listens at the service's port while it is away: what linac's callers send him has no token in it. LINAC names the program."""

import contextlib
import hashlib
import os
import pathlib
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import urllib.request

from lib.certificates import self_signed
from lib.ports import free_port
from lib.runs import LINAC, ROOT
from lib.server_process import Service

sys.path.insert(0, str(ROOT / "python"))
from linac._program import LinacError  # noqa: E402
from linac._service import Service as Requests  # noqa: E402

WELL = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}"


class Impostor:
    """Answers every request well and keeps what was sent: plainly, or by TLS with a certificate of its own. `says`: these bytes in place of an answer;
    of none it is silent."""

    def __init__(self, port: int, certificate: tuple[pathlib.Path, pathlib.Path] | None = None, says: bytes = WELL):
        self.heard, self.callers, self.says = bytearray(), 0, says
        self.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER) if certificate else None
        if self.tls:
            self.tls.load_cert_chain(*certificate)
        self.listener = socket.create_server(("127.0.0.1", port))
        threading.Thread(target=self._answer, daemon=True).start()

    def _answer(self) -> None:
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            self.callers += 1
            with contextlib.suppress(OSError), connection:
                connection.settimeout(30)
                speaks = self.tls.wrap_socket(connection, server_side=True) if self.tls else connection
                self.heard += speaks.recv(65536)
                speaks.sendall(self.says)
                while self.says != WELL and (more := speaks.recv(65536)):
                    self.heard += more

    def __enter__(self) -> "Impostor":
        return self

    def __exit__(self, *_) -> None:
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()


def said_by(port: int) -> bytes:
    """What the service answers to the beginning of a handshake, its certificate among it, for whoever plays it again."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    came, goes = ssl.MemoryBIO(), ssl.MemoryBIO()
    with contextlib.suppress(ssl.SSLWantReadError):
        context.wrap_bio(came, goes).do_handshake()
    with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
        connection.sendall(goes.read())
        return connection.recv(65536)


def fingerprint(file: pathlib.Path) -> str:
    text = file.read_text()
    end = "-----END CERTIFICATE-----"
    return hashlib.sha256(ssl.PEM_cert_to_DER_cert(text[: text.index(end) + len(end)])).hexdigest()


def main() -> int:
    port = free_port()
    with tempfile.TemporaryDirectory(prefix="linac-impostor-") as name, Service(listen=f"127.0.0.1:{port}") as service:
        folder = pathlib.Path(name)
        environment = {**os.environ, "LINAC_SERVER": service.url, "LINAC_TOKEN": service.token, "XDG_CONFIG_HOME": name}
        secret, kept = service.token.encode(), service.folder / "private" / "service.pem"

        def verb(*words: str, **more) -> subprocess.CompletedProcess:
            return subprocess.run([LINAC, *words], env={**environment, **more.pop("env", {})}, capture_output=True, text=True, timeout=60, **more)

        def in_python(_: str = "") -> subprocess.CompletedProcess:
            try:
                Requests(service.url, service.token, timeout_s=2).json("GET", "/api/v1/me")
            except LinacError as error:
                return subprocess.CompletedProcess([], error.exit_status, "", str(error))
            return subprocess.CompletedProcess([], 0, "", "")

        def fine(done: subprocess.CompletedProcess) -> None:
            assert done.returncode == 0, done

        fine(verb("status"))
        fine(verb("login", input=service.token + "\n", env={"LINAC_TOKEN": ""}))
        fine(in_python())
        # Who speaks plainly is answered plainly, as before.
        request = urllib.request.Request(service.url + "/api/v1/me", headers={"Authorization": f"Bearer {service.token}"})
        assert urllib.request.urlopen(request, timeout=10).status == 200
        assert kept.stat().st_mode & 0o777 == 0o600 and service.token.endswith(fingerprint(kept)), kept
        played = said_by(port)
        assert played[:1] == b"\x16", played  # a handshake
        service.stop()

        calls = {"with the token": lambda: verb("status"), "with the login": lambda: verb("status", env={"LINAC_TOKEN": ""}), "in Python": in_python,
                 "an agent": lambda: verb("agent", "--once", "--idle-exit", "1s", "--folder", str(folder / "agent"))}
        impostors = {"plain": {}, "another certificate": {"certificate": self_signed(folder, "linac", "IP:127.0.0.1")}, "played again": {"says": played},
                     "half": {"says": played[: len(played) // 2]}, "noise": {"says": b"\x16\x03\x01\xff\xff" + b"\0" * 70000}}
        for who, ways in impostors.items():
            for what, call in calls.items():
                if who == "half" and what != "in Python":  # he is waited for: once is enough
                    continue
                with Impostor(port, **ways) as impostor:
                    done = call()
                assert impostor.callers, (who, what, done)
                assert secret not in impostor.heard and b"Bearer" not in impostor.heard, (who, what, bytes(impostor.heard))
                assert what == "an agent" or done.returncode == 4 and "did not prove to be the service of this token" in done.stderr, (who, what, done)
        with Impostor(port, says=b"") as impostor:  # silent
            done = verb("status")
        assert done.returncode == 4 and secret not in impostor.heard and "did not prove" in done.stderr, done
        with Impostor(port) as impostor:  # who is told to
            verb("status", env={"LINAC_UNPROVEN": "1"})
        assert secret in impostor.heard, bytes(impostor.heard)
        old = "linac_" + 16 * "1" + "_" + 64 * "2"  # as earlier versions made them
        with Impostor(port) as impostor:
            verb("status", env={"LINAC_TOKEN": old})
        assert old.encode() in impostor.heard, bytes(impostor.heard)

        service.__enter__()  # it is back, with the same key
        fine(verb("status"))
        fine(in_python())
        # First bytes that never come, and handshakes that stop, hold nobody up.
        silent = [socket.create_connection(("127.0.0.1", port)) for _ in range(20)]
        for one in silent[10:]:
            one.sendall(b"\x16\x03\x01\x02\x00\x01")
        fine(verb("status"))
        for one in silent:
            one.close()
        # What is no key is no reason for a new one.
        service.stop()
        kept.write_text("no key\n")
        done = subprocess.run(service.words, capture_output=True, text=True, timeout=30)
        assert done.returncode == 2 and "service.pem: no key with its certificate" in done.stderr, done
        # With a new one it does not take itself for the service of before.
        kept.unlink()
        service.__enter__()
        done = verb("status")
        assert done.returncode == 4 and "did not prove" in done.stderr, done
        new = subprocess.run([LINAC, "serve", "token", "--new", "--data", str(service.folder)], capture_output=True, text=True, timeout=30)
        fine(new)
        fine(verb("status", env={"LINAC_TOKEN": next(word for word in new.stdout.split() if word.startswith("linac_"))}))
        print("who took the port got no token")
    return 0


if __name__ == "__main__":
    sys.exit(main())
