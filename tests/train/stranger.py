#!/usr/bin/env python3
"""A stranger on the host of a run: reads all that it can, and sends its workers whatever it likes. Told: the run's folder, for how many
seconds, and a file for all that it has learnt. Prints its attempts as JSON.

  stranger.py RUN SECONDS COLLECTED [--as UID] [--port PORT ...]     further ports to call"""

import argparse
import json
import os
import pathlib
import random
import shutil
import socket
import ssl
import struct
import subprocess
import threading
import time

MAX_FILE = 1 << 20
HELD = 300  # connections that are opened and say nothing


class Stranger:
    def __init__(self, run: pathlib.Path, seconds: float, collected: pathlib.Path, ports: list[int]):
        self.run, self.end = run, time.monotonic() + seconds
        self.collected = open(collected, "wb")
        self.lock = threading.Lock()
        self.attempts: dict[str, int] = {}
        self.let_in = 0
        self.readable: list[str] = []
        self.pids: list[int] = []
        self.name = "unknown"
        self.addresses = [("127.0.0.1", port) for port in ports]

    def learn(self, data: bytes) -> None:
        with self.lock:
            self.collected.write(data + b"\n")

    def count(self, what: str) -> None:
        with self.lock:
            self.attempts[what] = self.attempts.get(what, 0) + 1

    def read_all(self) -> None:
        """The run's folder, and what the kernel tells of processes."""
        files = [path for path in self.run.rglob("*") if path.is_file()]
        files += [pathlib.Path(f"/proc/{pid}/{name}") for pid in os.listdir("/proc") if pid.isdigit() for name in ("cmdline", "environ", "maps")]
        for path in files:
            try:
                with open(path, "rb") as file:
                    self.learn(file.read(MAX_FILE))
                self.readable.append(str(path))
            except OSError:
                pass
        for view in sorted(self.run.glob("views/*.json")):
            self.name = view.name.split("-after-")[0]
            members = json.loads(view.read_text())["members"]
            self.pids = [member["pid"] for member in members]
            self.addresses += [(host, int(port)) for host, _, port in (member["address"].rpartition(":") for member in members)]

    def call(self) -> socket.socket:
        connection = socket.create_connection(random.choice(self.addresses), timeout=2)
        return connection

    def say(self, what: str, data: bytes) -> None:
        with self.call() as connection:
            self.count(what)
            connection.sendall(data)
            connection.settimeout(0.2)
            self.learn(connection.recv(1 << 16))

    def plain(self) -> None:
        """What ends a run where links are not secure."""
        def frame(value: dict) -> bytes:
            text = json.dumps(value).encode()
            return struct.pack("<I", len(text)) + text
        hello = {"run": self.name, "to": "", "from": random.getrandbits(63), "view": random.choice([0, 1, 2])}
        self.say("plain messages", frame(hello) + frame({"type": 10, "from": 1, "failure": {"code": 0, "text": "the end"}}))

    def noise(self) -> None:
        self.say("noise", random.randbytes(random.choice([1, 5, 600, 100_000])))

    def records(self) -> None:
        """As TLS would have it, and nothing right in it."""
        body = random.randbytes(random.choice([0, 4, 200, 16_000]))
        self.say("records", bytes([random.choice([20, 21, 22, 23, 24]), 3, random.choice([1, 3, 4])]) + struct.pack(">H", len(body)) + body)

    def greeting(self) -> None:
        """A true greeting, by who has no key."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        with self.call() as connection:
            self.count("greetings")
            with context.wrap_socket(connection):
                self.let_in += 1

    def other_key(self) -> None:
        """The name of the run, and another key."""
        program = shutil.which("openssl")
        if not program:
            return time.sleep(1)
        host, port = random.choice(self.addresses)
        self.count("other keys")
        done = subprocess.run([program, "s_client", "-connect", f"{host}:{port}", "-psk", random.randbytes(32).hex(), "-psk_identity", self.name, "-tls1_3"],
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=5)
        self.let_in += b"Reused, TLSv1.3" in done.stdout
        self.learn(done.stdout)

    def hold(self) -> None:
        """Connections that say nothing."""
        held = []
        try:
            for _ in range(HELD):
                held.append(self.call())
                self.count("silent connections")
            time.sleep(0.5)
        finally:
            for one in held:
                one.close()

    def come_and_go(self) -> None:
        for _ in range(50):
            self.call().close()
            self.count("connections")
        time.sleep(0.02)

    def signal(self) -> None:
        for pid in self.pids:
            self.count("signals")
            os.kill(pid, 15)
            self.let_in += 1
        time.sleep(0.1)

    def again_and_again(self, attack) -> None:
        while time.monotonic() < self.end:
            try:
                attack()
            except (OSError, subprocess.SubprocessError):
                time.sleep(0.002)

    def go(self, signals: bool) -> None:
        self.read_all()
        attacks = [self.plain, self.noise, self.records, self.greeting, self.other_key, self.hold, self.come_and_go, *([self.signal] if signals else [])]
        threads = [threading.Thread(target=self.again_and_again, args=(attack,)) for attack in attacks]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.collected.close()
        print(json.dumps({"attempts": self.attempts, "let_in": self.let_in, "readable": self.readable, "addresses": len(self.addresses)}))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("run", type=pathlib.Path)
    parser.add_argument("seconds", type=float)
    parser.add_argument("collected", type=pathlib.Path)
    parser.add_argument("--as", dest="uid", type=int)
    parser.add_argument("--port", type=int, action="append", default=[])
    options = parser.parse_args()
    stranger = Stranger(options.run, options.seconds, options.collected, options.port)
    "localhost".encode("idna")  # loaded while Python's own files can be read
    if options.uid is not None:
        os.setgroups([])
        os.setgid(options.uid)
        os.setuid(options.uid)
    stranger.go(signals=options.uid is not None)


if __name__ == "__main__":
    main()
