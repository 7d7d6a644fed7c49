"""Processes of this host."""

import collections.abc
import pathlib


def processes() -> collections.abc.Iterator[tuple[int, list[str]]]:
    """Number and command line of each."""
    for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        try:
            yield int(path.parent.name), path.read_bytes().decode(errors="replace").split("\0")
        except OSError:
            continue
