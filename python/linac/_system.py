"""What this process and its host use, by Linux's own files, under the names that the service gives them for its jobs."""

import os
import time

_MIB = 1 << 20


class Meter:
    """Each read() tells the time since the one before. Not thread-safe."""

    def __init__(self) -> None:
        self._before = self._counters()

    def read(self) -> dict[str, float]:
        """`system/cores_used`, `system/memory_mb` of this process and those that it has started and waited for; `system/host_cores_busy`,
        `system/host_memory_mb`. Nothing of what the system does not tell."""
        now, before = self._counters(), self._before
        self._before = now
        seconds = max(1e-3, now["at"] - before["at"])
        figures = {"system/memory_mb": _resident_mb(), "system/host_memory_mb": _host_memory_mb()}
        for name in ("cores_used", "host_cores_busy"):
            if name in now and name in before:
                figures[f"system/{name}"] = max(0.0, now[name] - before[name]) / seconds
        return {name: value for name, value in figures.items() if value is not None}

    def _counters(self) -> dict[str, float]:
        own = os.times()
        counters = {"at": time.monotonic(), "cores_used": own.user + own.system + own.children_user + own.children_system}
        fields = _text("/proc/stat").partition("\n")[0].split()[1:]
        if len(fields) >= 8:
            ticks = [int(field) for field in fields[:8]]
            counters["host_cores_busy"] = (sum(ticks) - ticks[3] - ticks[4]) / os.sysconf("SC_CLK_TCK")  # but for idle and iowait
        return counters


def _resident_mb() -> "float | None":
    fields = _text("/proc/self/statm").split()
    return int(fields[1]) * os.sysconf("SC_PAGESIZE") / _MIB if len(fields) > 1 else None


def _host_memory_mb() -> "float | None":
    words = dict(line.split(":", 1) for line in _text("/proc/meminfo").splitlines() if ":" in line)
    try:
        return (int(words["MemTotal"].split()[0]) - int(words["MemAvailable"].split()[0])) / 1024
    except (KeyError, ValueError, IndexError):
        return None


def _text(path: str) -> str:
    try:
        with open(path, encoding="ascii", errors="replace") as file:
            return file.read()
    except OSError:
        return ""
