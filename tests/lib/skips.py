"""What a test leaves out is said in one line that tests/run.py reads, counts and holds against tests/skips.txt:

  SKIPPED what: why; command that brings it

Shell scripts print the same line. GoogleTest's own lines of skipped tests are read as they are."""

import sys
import typing


def skipped(what: str, why: str, brings: str = "") -> None:
    """A part of a test is left out: `what` in few words without a colon, `brings` the command after which it no longer is."""
    print(f"SKIPPED {what.replace(':', ' ')}: {' '.join(why.split()).replace(';', ',')}" + (f"; {brings}" if brings else ""), flush=True)


def skip(why: str, brings: str = "") -> typing.NoReturn:
    """The whole test is left out."""
    skipped("all", why, brings)
    sys.exit(77)
