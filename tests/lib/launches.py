"""What the tests of launches share: a file of sites, and linac with a state of its own."""

import json
import os
import pathlib
import re
import subprocess
import sys
import time

from . import runs
from .checks import check, wait_for
from .processes import processes

SETTINGS = {"job": "examples/topology.yaml", **runs.SMALL_CLASSIFIER, "train.replicas": 4, "train.batch": 10, "train.epochs": 2}
LONG = SETTINGS | {"train.epochs": 5000, "checkpoint.every_steps": 5, "checkpoint.keep": 2}


class Client:
    """A user with a file of sites and a state."""

    def __init__(self, root: pathlib.Path, sites: dict, **variables: str):
        self.root = root
        (root / "sites.yaml").write_text(json.dumps(sites))  # YAML has JSON in it
        self.variables = {"LINAC_SITES": str(root / "sites.yaml"), "XDG_STATE_HOME": str(root / "state"), **variables}

    def start(self, *words: object, **variables: str) -> subprocess.Popen:
        return runs.started(*words, stderr=subprocess.STDOUT, **self.variables | variables)

    def linac(self, *words: object, status: int = 0, **variables: str) -> str:
        return runs.linac(*words, status=status, **self.variables | variables)

    def launch(self, site: str, settings: dict, *extra: object, status: int = 0, **variables: str) -> str:
        return self.linac(*launch_words(site, settings), *extra, status=status, **variables)

    def standing(self, name: str) -> dict:
        return json.loads(self.linac("status", name, "--json"))

    def wait_for(self, name: str, *states: str, limit_s: float = 60) -> dict:
        end = time.monotonic() + limit_s
        while (standing := self.standing(name))["state"] not in states:
            if time.monotonic() > end:
                sys.exit(f"{name}: {standing}, expected {states}\n" + self.linac("logs", name))
            time.sleep(0.1)
        return standing


def launch_words(site: str, settings: dict) -> list[str]:
    words = ["launch", settings["job"], "--on", site]
    for key, value in settings.items():
        if key != "job":
            words += ["--set", f"{key}={value}"]
    return words


def name_in(said: str) -> str:
    """SITE:LABEL, as `linac launch` prints it, behind what it warns of."""
    return next(line for line in said.splitlines() if not re.match(r"\d\d:\d\d:\d\d ", line)).split()[0]


def wait_for_steps(out: pathlib.Path, steps: int, limit_s: float = 60, pause_s: float = 0.05) -> None:
    wait_for(lambda: runs.steps_so_far(out) >= steps, f"{steps} steps in {out}", limit_s, pause_s)


def processes_with(text: str) -> list[list[str]]:
    """Command lines of this host that hold the text, but that of this test."""
    return [words for pid, words in processes() if any(text in word for word in words) and pid != os.getpid()]


def no_secret_is_told(client: Client, site: pathlib.Path) -> None:
    """While they run: the keys of all launches."""
    for kept in (client.root / "state").rglob("*.json"):
        key = json.loads(kept.read_text())["key"]
        check(len(key) == 64 and not processes_with(key), "no command line has the key of the run")
        check(kept.stat().st_mode & 0o77 == 0, "what the client keeps is for its user alone")
        for path in site.rglob("*"):
            if path.is_file() and key.encode() in path.read_bytes():
                check(path.parent.name == "private" and path.stat().st_mode & 0o77 == 0, f"the key is in {path.relative_to(site)} alone, for its owner")


def same_bits(calm: pathlib.Path, out: pathlib.Path, what: str) -> None:
    check(runs.tensors(calm) == runs.tensors(out) and len(runs.tensors(out)) > 3, f"{what}: the last checkpoint has the bits of a run without")
    check(runs.losses(calm) == runs.losses(out), "and the record the same losses, each step once")
