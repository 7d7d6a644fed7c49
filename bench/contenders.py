"""The programs that bench/compare.py measures: linac, started anew each round, and the peers, which stay."""

import hashlib
import json
import os
import select
import subprocess
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PEERS = {"torch": ROOT / "bench/peers/torch_step.py", "tensorflow": ROOT / "bench/peers/tensorflow_step.py",
         "torch classifier": ROOT / "bench/peers/classifier_step.py"}
WORKS = ("generate", "step")
LINAC_PARTS = {"generate": "generator_forward", "step": "step"}


class Failure(Exception):
    """Something the user has to know; the message says what to do."""


class TooSlow(Exception):
    """No answer within the time allowed."""


def sha256_of(path):
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


class Linac:
    """`linac bench step` once a round: a process of its own with one run that is not measured and one that is."""

    name, mode, works = "linac", "", WORKS

    def __init__(self, program, precision, batch, threads):
        self.program, self.precision, self.batch, self.threads = program, precision, batch, threads
        self.peak_rss_mib, self.libraries_rss_mib = 0.0, 0.0
        shown = subprocess.run([program, "version"], capture_output=True, text=True)
        if shown.returncode != 0:
            raise Failure(f"{program} version failed: {shown.stderr.strip()}")
        self.version = shown.stdout.strip()
        self.sha256 = sha256_of(program)

    def require_unchanged(self):
        """A build that goes on beside the benchmark would otherwise put two programs into one table."""
        if sha256_of(self.program) != self.sha256:
            raise Failure(f"{self.program} was rebuilt while it was measured: run the comparison again")

    def is_available(self):
        """False if this linac has no such precision."""
        done = self.run(batch=1)
        if done.returncode == 0:
            return True
        if "--precision" in done.stderr:
            return False
        raise Failure(f"{self.program} failed: {done.stderr.strip()}")

    def measure(self):
        done = self.run(self.batch)
        if done.returncode != 0:
            raise Failure(f"{self.program} failed: {done.stderr.strip()}")
        result = json.loads(done.stdout)
        self.peak_rss_mib = max(self.peak_rss_mib, result["step"]["peak_rss_mib"])
        parts = {work: result[part] for work, part in LINAC_PARTS.items()}
        return {work: {name: part[name]["median"] for name in ("wall_s", "cpu_s")} for work, part in parts.items()}

    def run(self, batch):
        settings = {"batch": batch, "threads": self.threads, "precision": self.precision, "repeat": 1}
        flags = [word for name, value in settings.items() for word in (f"--{name}", str(value))]
        return subprocess.run([self.program, "bench", "step", *flags, "--json"], capture_output=True, text=True)


class Peer:
    """A process of bench/peers that stays between the rounds and measures on request."""

    def __init__(self, name, mode, works, python, precision, batch, threads, device="cpu"):
        self.name, self.mode, self.works, self.threads = name, mode, works, threads
        self.peak_rss_mib = self.libraries_rss_mib = 0.0
        self.version = ""
        self.errors = tempfile.TemporaryFile("w+")
        settings = {"mode": mode, "precision": precision, "batch": batch, "threads": threads, "device": device}
        flags = [word for flag, value in settings.items() for word in (f"--{flag}", str(value))]
        self.process = subprocess.Popen(
            [python, PEERS[name], *flags, "--what", *works],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.errors,
            bufsize=0,  # a line that waits in a buffer here is not seen by select
            env={"OMP_WAIT_POLICY": "passive"} | os.environ,  # threads that wait take no CPU from others
        )

    def wait_until_ready(self, limit_s):
        while self.read_line(limit_s) != "ready":
            pass

    def measure(self, limit_s=None):
        return {work: self.ask(f"go {work}", limit_s) for work in self.works}

    def close(self):
        """Asks for the peer's last words and ends it."""
        last = self.ask("quit", limit_s=60)
        self.peak_rss_mib, self.libraries_rss_mib = last["peak_rss_mib"], last["libraries_rss_mib"]
        self.version = last["version"]
        self.kill()

    def kill(self):
        self.process.kill()
        self.process.wait()

    def ask(self, request, limit_s):
        self.process.stdin.write(f"{request}\n".encode())
        self.process.stdin.flush()
        return json.loads(self.read_line(limit_s))

    def read_line(self, limit_s):
        if not select.select([self.process.stdout], [], [], limit_s)[0]:
            raise TooSlow
        line = self.process.stdout.readline().decode()
        if line == "":
            self.process.wait()
            self.errors.seek(0)
            raise Failure(f"{self.name} {self.mode} ended: " + self.errors.read()[-2000:].strip())
        return line.strip()
