"""What a test finds, and what it waits for."""

import sys
import time


def check(holds: bool, what: str) -> None:
    print(("ok    " if holds else "FAILED ") + what, flush=True)
    if not holds:
        sys.exit(1)


failures: list[str] = []


def expect(holds: bool, what: str) -> None:
    """As check(), but the test goes on; it looks at `failures` in the end."""
    print(("ok    " if holds else "FAIL  ") + what, flush=True)
    if not holds:
        failures.append(what)


def wait_for(holds, what, limit_s: float = 300, pause_s: float = 0.005):
    """What `holds()` tells as soon as it is true; asks again after each pause. `what` is waited for: a text, or a function that makes one
    when it has not come."""
    end = time.monotonic() + limit_s
    while not (found := holds()):
        assert time.monotonic() < end, f"{what() if callable(what) else what}: not within {limit_s} s"
        time.sleep(pause_s)
    return found
