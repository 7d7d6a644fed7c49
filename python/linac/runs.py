"""Runs that this user has begun from Python on this machine, found again by another kernel."""

import os
import pathlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from linac._run import Run

_LINES_MAX = 1000


def all() -> "list[Run]":
    """Those whose folders are there, the one that began last first."""
    from linac._program import LinacError
    from linac._run import Run

    found = []
    for folder in reversed(_folders()):
        try:
            found.append(Run(folder))
        except LinacError:  # removed since
            pass
    return found


def last() -> "Run":
    """The one that began last."""
    from linac._program import LinacError

    for run in all():
        return run
    raise LinacError(f"[runs] {_list()} names no run that is still there; give the folder to linac.Run()", 2)


def _list() -> pathlib.Path:
    state = os.environ.get("XDG_STATE_HOME") or os.path.join(os.path.expanduser("~"), ".local", "state")
    return pathlib.Path(state) / "linac" / "python-runs"


def _folders() -> list[str]:
    """Each once, at the place of its last start."""
    try:
        lines = _list().read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError:
        return []
    return list(dict.fromkeys(reversed(lines)))[::-1]


def _note(folder: pathlib.Path) -> None:
    """A home folder that cannot be written only costs the way back: the run is there."""
    if "\n" in str(folder):
        return
    path = _list()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(path, "a", encoding="utf-8", errors="surrogateescape") as file:  # one write, so that of two kernels both lines stay
            file.write(f"{folder}\n")
        kept = _folders()
        if len(kept) > _LINES_MAX:
            kept = [one for one in kept if os.path.isdir(one)]  # thousands of short ones, as of a search, push nobody's out
            part = path.with_name(f"{path.name}.{os.getpid()}")
            part.write_text("".join(f"{one}\n" for one in kept[-_LINES_MAX // 2 :]), encoding="utf-8", errors="surrogateescape")
            part.replace(path)
    except OSError:
        pass
