"""Processor seconds of each test while ctest runs them: by looking at /proc twice a second, since ctest does not tell. What a test computes
in its last half second, and in processes that left it (daemons), is missed: the figures are about, the sum of all is not taken from them."""

import os
import pathlib
import threading

INTERVAL_S = 0.5
TICK_S = 1 / os.sysconf("SC_CLK_TCK")


def processes() -> dict[int, tuple[int, float]]:
    """Of each process its parent, and the seconds of itself and of those that it has waited for."""
    found = {}
    for entry in os.scandir("/proc"):
        if not entry.name.isdigit():
            continue
        try:
            fields = pathlib.Path(entry.path, "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue  # it has ended
        found[int(entry.name)] = int(fields[1]), sum(map(int, fields[11:15])) * TICK_S
    return found


def command_of(pid: int) -> list[str]:
    try:
        return pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").rstrip("\0").split("\0")
    except OSError:
        return []


def is_started_by(said: list[str], command: list[str]) -> bool:
    """Whether a process that shows itself as `said` is `command`: a script is started by the interpreter of its first line, and what is
    called python3 may start another one."""
    if len(said) < len(command):
        return False
    return said == command or said[-len(command):] == command or len(command) > 1 and said[1:] == command[1:]


class Watch:
    """Context manager: `seconds` by the name of the test, from the children of ctest that are named by their commands."""

    def __init__(self, ctest: int, commands: dict[str, list[str]]):
        self.ctest, self.commands = ctest, commands
        self.seconds: dict[str, float] = {}
        self._names: dict[int, str] = {}
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> "Watch":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._over.wait(INTERVAL_S):
            self._look()

    def _look(self) -> None:
        now = processes()
        children: dict[int, list[int]] = {}
        for pid, (parent, _) in now.items():
            children.setdefault(parent, []).append(pid)
        for pid in children.get(self.ctest, []):
            name = self._names.get(pid) or self._name(pid)
            if not name:
                continue
            total, left = 0.0, [pid]
            while left:
                one = left.pop()
                total += now[one][1]
                left += children.get(one, [])
            self.seconds[name] = max(self.seconds.get(name, 0.0), total)

    def _name(self, pid: int) -> str:
        said = command_of(pid)
        name = next((name for name, command in self.commands.items() if name not in self._names.values() and is_started_by(said, command)), "")
        if name:
            self._names[pid] = name
        return name
