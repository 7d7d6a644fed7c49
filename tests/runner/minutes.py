#!/usr/bin/env python3
"""What the parts of .ci/run cost, in minutes by the clock and of the processor, beside what they cost when tests/minutes.txt was written.

  minutes.py part FOLDER NAME COMMAND...   runs it and notes in FOLDER what it took, and how many tests it says were passed, failed and skipped
  minutes.py tell FOLDER                   the table, and as the last line the sum: N passed, N failed, N skipped

Processors differ, so each part is also told in yardsticks: the time of a small fixed compilation (tests/structure/yardstick.cpp), the median
of three, on this machine. Nothing fails for being slow."""

import json
import os
import pathlib
import resource
import shutil
import statistics
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
KEPT = ROOT / "tests" / "minutes.txt"
YARDSTICK = ROOT / "tests" / "structure" / "yardstick.cpp"
TALLY = "LINAC_TALLY"  # a file: a line for each runner of tests, "passed failed skipped"


def cpu_of_children() -> float:
    """Seconds of user and system, of all children that were waited for."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def tally(passed: int, failed: int, skipped: int) -> None:
    if TALLY in os.environ:
        with open(os.environ[TALLY], "a") as file:
            file.write(f"{passed} {failed} {skipped}\n")


def counted(path: pathlib.Path) -> list[int]:
    lines = [list(map(int, line.split())) for line in path.read_text().splitlines()] if path.exists() else []
    return [sum(column) for column in zip(*lines)] if lines else [0, 0, 0]


def yardstick() -> float:
    """Processor seconds of the compilation, without a compiler cache."""
    compiler = shutil.which("g++") or shutil.which("c++")
    if not compiler:
        return float("nan")
    seconds = []
    for _ in range(3):
        before = cpu_of_children()
        subprocess.run([compiler, "-std=c++20", "-O2", "-c", YARDSTICK, "-o", "/dev/null"], check=True, env={**os.environ, "CCACHE_DISABLE": "1"})
        seconds.append(cpu_of_children() - before)
    return statistics.median(seconds)


def kept(path: pathlib.Path = KEPT) -> dict[str, tuple[float, float]]:
    """Of each part: CPU minutes and yardsticks when the table was written."""
    found = {}
    for line in path.read_text().splitlines() if path.exists() else []:
        if line.strip() and not line.startswith("#"):
            name, minutes, yardsticks = line.split("|")
            found[name.strip()] = float(minutes), float(yardsticks)
    return found


def part(folder: pathlib.Path, name: str, command: list[str]) -> int:
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "tally"
    before, begin, cpu = counted(file), time.monotonic(), cpu_of_children()
    status = subprocess.run(command, env={**os.environ, TALLY: str(file.resolve())}).returncode
    # A command that counts no tests is one itself; one that fails beside its tests is one more.
    added = [now - then for now, then in zip(counted(file), before)]
    if not any(added):
        added = [int(status == 0), int(status != 0), 0]
    elif status != 0 and added[1] == 0:
        added[1] = 1
    with open(folder / "parts", "a") as notes:
        notes.write(json.dumps({"name": name, "wall_s": time.monotonic() - begin, "cpu_s": cpu_of_children() - cpu, "counts": added}) + "\n")
    return status


def table(parts: list[dict], before: dict[str, tuple[float, float]], one: float) -> list[str]:
    rows = [f"{'part':34} {'clock min':>9} {'CPU min':>8} {'kept':>6} {'yardsticks':>10} {'kept':>6}"]
    for line in parts:
        minutes, yardsticks = before.get(line["name"], (float("nan"),) * 2)
        rows.append(f"{line['name']:34} {line['wall_s'] / 60:9.1f} {line['cpu_s'] / 60:8.1f} {minutes:6.1f} {line['cpu_s'] / one:10.0f} {yardsticks:6.0f}")
    wall, cpu = (sum(line[key] for line in parts) for key in ("wall_s", "cpu_s"))
    rows = [row.replace("nan", "  -") for row in rows]
    rows.append(f"{'all':34} {wall / 60:9.1f} {cpu / 60:8.1f} {sum(before.get(line['name'], (0, 0))[0] for line in parts):6.1f} {cpu / one:10.0f}")
    return rows


def tell(folder: pathlib.Path) -> int:
    file = folder / "parts"
    parts = [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
    one = yardstick()
    print(f"\nA yardstick: {one:.2f} CPU s (tests/structure/yardstick.cpp at -O2). `kept` is tests/minutes.txt; what grew is explained in the commit.")
    print("\n".join(table(parts, kept(), one)))
    print("Lines for tests/minutes.txt:")
    for line in parts:
        print(f"  {line['name']} | {line['cpu_s'] / 60:.1f} | {line['cpu_s'] / one:.0f}")
    passed, failed, skipped = (sum(column) for column in zip(*(line["counts"] for line in parts))) if parts else (0, 1, 0)
    print(f"{passed} passed, {failed} failed, {skipped} skipped", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["part", folder, name, *command] if command:
            sys.exit(part(pathlib.Path(folder), name, command))
        case ["tell", folder]:
            sys.exit(tell(pathlib.Path(folder)))
    sys.exit(__doc__)
