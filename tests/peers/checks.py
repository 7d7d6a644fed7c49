"""What the tests of PyTorch's files share: checks that are counted, and linac's command."""

import subprocess

from lib.runs import LINAC

failures = []


def check(holds: bool, what: str) -> None:
    print(("ok   " if holds else "FAIL ") + what, flush=True)
    if not holds:
        failures.append(what)


def linac(*arguments, status: int = 0, timeout: float = 100) -> str:
    """What `linac` prints; another exit status than `status` is a failure."""
    done = subprocess.run([LINAC, *map(str, arguments)], capture_output=True, text=True, timeout=timeout)
    if done.returncode != status:
        check(False, f"linac {' '.join(map(str, arguments))}: {done.returncode}, not {status}: {(done.stdout + done.stderr)[-600:]}")
    return done.stdout + done.stderr
