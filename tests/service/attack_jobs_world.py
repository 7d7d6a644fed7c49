"""What attacks by jobs have in common: people with tokens, and jobs that carry out a script in Python."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import time
import traceback
import urllib.error
import urllib.request

from lib.runs import ROOT
from lib.server_process import Service
from lib.skips import skipped

TRAIN = ROOT / "data" / "topology-train.parquet"
PYTHON = "/usr/bin/python3"  # what is in somebody's home is not there for a job


class Skipped(Exception):
    pass


class Person:
    """Somebody with a token."""

    def __init__(self, service: Service, name: str, token: str):
        self.service, self.name, self.token = service, name, token

    def ask(self, method: str, path: str, body=None, timeout: float = 60):
        """Status and answer."""
        data = json.dumps(body).encode() if isinstance(body, (dict, list)) else body
        request = urllib.request.Request(self.service.url + path, data=data, method=method)
        request.add_header("Authorization", "Bearer " + self.token)
        request.add_header("Content-Type", "application/json")
        try:
            with urllib.request.urlopen(request, timeout=timeout) as answer:
                return answer.status, json.loads(answer.read() or b"null")
        except urllib.error.HTTPError as error:
            return error.code, json.loads(error.read() or b"null")

    def get(self, path: str):
        status, answer = self.ask("GET", path)
        assert status == 200, (path, status, answer)
        return answer

    def submit(self, job: str, **more) -> str:
        status, answer = self.ask("POST", "/api/v1/jobs", {"job": job, "cores": 1, **more})
        assert status == 200, (status, answer)
        return answer["runs"][0]["id"]

    def ended(self, run: str, seconds: float = 60) -> dict:
        end = time.monotonic() + seconds
        while True:
            found = self.get(f"/api/v1/runs/{run}")
            if found["state"] not in ("PENDING", "STARTING", "RUNNING", "RECOVERING"):
                return found
            assert time.monotonic() < end, f"{run} is {found['state']} ({found['reason']})"
            time.sleep(0.1)

    def log(self, run: str) -> str:
        request = urllib.request.Request(f"{self.service.url}/api/v1/runs/{run}/log")
        request.add_header("Authorization", "Bearer " + self.token)
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.read().decode()


def account() -> str:
    return subprocess.run(["id", "-un"], capture_output=True, text=True, check=True).stdout.strip()


def newcomer(admin: Person, name: str, role: str = "member", runs_as: str | None = None) -> Person:
    status, answer = admin.ask("POST", "/api/v1/users", {"name": name, "role": role, "account": runs_as or account(), "as_root": True})
    assert status == 200, answer
    status, answer = admin.ask("POST", f"/api/v1/users/{name}/tokens", {})
    assert status == 200, answer
    return Person(admin.service, name, answer["secret"] if "secret" in answer else answer["token"])


def plug_in(folder: pathlib.Path, name: str, script: str) -> str:
    """A job whose model is a shared object: as it is loaded it carries out `script`, in Python."""
    if not shutil.which("cc") or not pathlib.Path(PYTHON).exists():
        raise Skipped(f"no C compiler (cc), or no {PYTHON}, for a job that attacks")
    source, target = folder / f"{name}.c", folder / f"{name}.so"
    source.write_text("#include <unistd.h>\n#include <sys/wait.h>\n"
                      f"static const char* script = {json.dumps(script)};\n"
                      "__attribute__((constructor)) static void begin(void) {\n"
                      "  pid_t child = fork();\n"
                      f"  if (child == 0) {{ execl({json.dumps(PYTHON)}, \"python3\", \"-c\", script, (char*)0); _exit(1); }}\n"
                      "  waitpid(child, 0, 0);\n  _exit(0);\n}\n")
    subprocess.run(["cc", "-shared", "-fPIC", "-o", target, source], check=True)
    return (f"name: {name}\nworkers: 1\nmodel: {{kind: custom, file: {target}}}\n"
            f"data: {{train: [{TRAIN}], inputs: [{{name: HLF_input}}], targets: [{{column: encoded_label}}], classes: [a, b, c]}}\n"
            "train: {epochs: 1, batch: 30, fit: {loss: categorical_crossentropy}}\n")


def sandbox_or_skip(service: Service) -> None:
    if any("sandbox" in line for line in service.lines):
        raise Skipped("no sandbox here: " + "".join(line for line in service.lines if "sandbox" in line).strip())


TRY = r"""
import glob, json, os, pathlib, signal, socket
found = {}
def tries(name, what):
    try:
        found[name] = what()
    except BaseException as error:
        found[name] = "no: " + type(error).__name__
"""


CALLS = r"""
import ctypes, errno
libc = ctypes.CDLL(None, use_errno=True)
def call(what, *arguments):
    ctypes.set_errno(0)
    return 0 if what(*arguments) >= 0 else ctypes.get_errno()
number = lambda x86, arm: x86 if os.uname().machine == 'x86_64' else arm
tries('calls', lambda: [call(libc.mount, b'none', b'/mnt', b'tmpfs', 0, None), call(libc.unshare, 0x10000000), call(libc.setns, 0, 0), call(libc.unshare, 0x80)]
      + [call(libc.syscall, number(*one), 0, 0, 0, 0, 0) for one in ((250, 219), (321, 280), (298, 241), (323, 282))]
      + [call(libc.syscall, number(56, 220), 0x10000000 | signal.SIGCHLD, 0, 0, 0, 0)])
"""


def carry_out(test, *arguments) -> int:
    """One attack, unless the command line has words of others alone; 1 if it succeeded."""
    if sys.argv[1:] and not any(word in test.__name__ for word in sys.argv[1:]):
        return 0
    begin = time.monotonic()
    try:
        test(*arguments)
        print(f"ok    {test.__name__} ({time.monotonic() - begin:.1f} s)", flush=True)
    except Skipped as why:
        skipped(test.__name__, *why.args)
    except Exception:  # noqa: BLE001 - each attack is reported
        print(f"FAIL  {test.__name__}", flush=True)
        traceback.print_exc()
        return 1
    return 0
