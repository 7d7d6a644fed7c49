"""What a test finds, and what it waits for."""

import sys
import time


def check(holds: bool, what: str) -> None:
    print(("ok    " if holds else "FAILED ") + what, flush=True)
    if not holds:
        sys.exit(1)


def wait_for(holds, what: str, limit_s: float = 300, pause_s: float = 0.005):
    """What `holds()` tells as soon as it is true; asks again after each pause."""
    end = time.monotonic() + limit_s
    while not (found := holds()):
        assert time.monotonic() < end, f"{what}: not within {limit_s} s"
        time.sleep(pause_s)
    return found
