"""The status with which this process leaves by sys.exit(), exit() or quit(). Python tells it to nobody who is called at the end (atexit), so these
three are listened to from the first watch() on. A plain `raise SystemExit(3)` is not heard."""

import builtins
import functools
import sys
import threading
from typing import Any

_watching = False
_said: object = None


def watch() -> None:
    """Begins to listen; a second time nothing."""
    global _watching
    if _watching:
        return
    _watching = True
    sys.exit = _heard(sys.exit, 0)
    if type(getattr(builtins, "exit", None)).__name__ == "Quitter":  # others, as IPython's, leave in a way of their own
        quitter: Any = type(builtins.exit)
        quitter.__call__ = _heard(quitter.__call__, 1)


def went_on() -> None:
    """Somebody caught it: the process lives."""
    global _said
    _said = None


def status() -> int:
    """What the parent of this process is about to see; 0 where nobody has said anything else. A text is status 1."""
    if _said is None:
        return 0
    return _said & 0xFF if isinstance(_said, int) else 1


def _heard(leave: Any, at: int) -> Any:
    """`at`: where the status stands among the arguments."""

    @functools.wraps(leave)
    def listening(*words: Any, **more: Any) -> Any:
        global _said
        if threading.current_thread() is threading.main_thread():  # elsewhere it ends a thread
            _said = more.get("code", words[at] if len(words) > at else None)
        return leave(*words, **more)

    return listening
