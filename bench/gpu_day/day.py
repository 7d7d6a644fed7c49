#!/usr/bin/env python3
"""A day with a GPU on a host without network: builds linac's CUDA path, tests it, and measures it beside PyTorch. See docs/internals/gpu-day.md.

Each part is a command with a limit of time; a part that fails takes no other along. The table at the end tells of each how it went, and of each
kind of error the first one. Logs, tables and numbers are in OUT, the table from the first part on. Exit status 1: a part has failed."""

import argparse
import json
import lzma
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tarfile
import threading
import time

import host
from errors import errors_of

ROOT = pathlib.Path(__file__).resolve().parents[2]
HERE = pathlib.Path(__file__).resolve().parent
LEAST_S = 5  # with less time left no part is begun
REHEARSED = 2  # times as long a part may take where a few cores stand for a GPU
END_S = 15  # is kept for the table and the archive
HEAD, TAIL = 20000, 2000  # lines of a log that are looked into


class Part:
    """`seconds`: its limit. `programs`: files of WORK/bin without which it cannot be. `filters`: of GoogleTest."""

    def __init__(self, name: str, seconds: int, command: list, programs: list[str] = ()):
        self.name, self.seconds, self.command, self.programs = name, seconds, [str(word) for word in command], list(programs)


def parts_of(options: argparse.Namespace, work: pathlib.Path, out: pathlib.Path) -> list[Part]:
    """The dearest and most telling first."""
    script = lambda name, *words: [sys.executable, HERE / name, work, out, *words]  # noqa: E731
    tests = lambda name, only: [work / "bin" / name, f"--gtest_filter={only}"]  # noqa: E731
    emulated = [options.emulated, "--gtest_filter=-CudaDevice.*"]
    rehearse = ["--rehearse"] if options.rehearse else []
    return [
        Part("build", 240, [sys.executable, HERE / "build.py", work, options.kernels]),
        Part("kernels", 60, emulated if options.rehearse else tests("kernels_test", "*Cuda*-CudaDevice.*"), [] if options.rehearse else ["kernels_test"]),
        Part("nn", 120, tests("nn_test", "Cuda.A*:Cuda.W*"), ["nn_test"]),
        Part("3dgan", 300, script("steps.py", "3dgan", *rehearse)),
        Part("bits", 180, script("bits.py", *rehearse), ["linac-compute"]),
        Part("classifier", 240, script("steps.py", "classifier", *rehearse)),
        Part("devices", 60, tests("devices_test", "Cuda*Devices.*"), ["devices_test"]),
    ]


class Day:
    def __init__(self, options: argparse.Namespace):
        self.options, self.work, self.out = options, options.work.resolve(), options.out.resolve()
        self.end = time.monotonic() + options.minutes * 60 - END_S
        self.rows: list[tuple[str, str, float, str]] = []  # part, how it went, seconds, words
        self.first: dict[str, tuple[str, str]] = {}  # kind of error: part, words
        self.running: subprocess.Popen | None = None
        self.told: list[str] = []  # what this host has
        self.files: set[str] = set()  # that could not be written

    def write(self, name: str, text: str, mode: str = "w") -> None:
        """A file of OUT. A disk that is full ends no day: it is told."""
        try:
            (self.out / name).parent.mkdir(parents=True, exist_ok=True)
            with open(self.out / name, mode) as file:
                file.write(text)
        except OSError as error:
            self.files.add(name)
            self.first.setdefault("disk", (name, f"{self.out / name} cannot be written ({error.strerror}); make room, or give another OUT="))

    def row(self, name: str, state: str, seconds: float = 0, words: str = "") -> None:
        self.rows.append((name, state, seconds, words))
        print(f"[gpu-day] {name}: {state}{f', {seconds:.0f} s' if seconds else ''}{f'. {words}' if words else ''}", flush=True)
        self.write("table.md", self.table())

    def failed(self, name: str, seconds: float, errors: dict[str, str], told: str = "") -> None:
        for kind, words in errors.items():
            self.first.setdefault(kind, (name, words))
        kind, words = next(iter(errors.items()))
        self.row(name, "failed", seconds, f"{kind}: {words}" + (f"; {told}" if told else ""))

    def table(self) -> str:
        clean = lambda text: text.replace("|", "\\|")  # noqa: E731
        lines = ["# A day with a GPU" + (", rehearsed without one" if self.options.rehearse else ""), *(f"- {line}" for line in self.told), "",
                 "| part | | s | |", "|---|---|---|---|"]
        lines += [f"| {name} | {state} | {seconds:.0f} | {clean(words)} |" for name, state, seconds, words in self.rows]
        if self.first:
            lines += ["", "The first error of each kind:", "", "| kind | part | what |", "|---|---|---|"]
            lines += [f"| {kind} | {part} | {clean(words)} |" for kind, (part, words) in self.first.items()]
        return "\n".join(lines) + "\n"

    def guarded(self, name: str, work) -> None:
        """Not even a fault of this program takes the other parts along."""
        try:
            work()
        except Exception as error:  # noqa: BLE001
            self.failed(name, 0, {"end": f"{type(error).__name__}: {error}"[:300]})

    def look(self) -> None:
        """The host, in words, before anything is built."""
        manifest = {}
        archive, place = self.options.brought, self.work / "brought"
        try:
            shutil.rmtree(self.work, ignore_errors=True)
            self.work.mkdir(parents=True)
            if archive.is_dir():
                place.symlink_to(archive.resolve())
            elif archive.exists():
                with tarfile.open(archive) as file:
                    file.extractall(place, **({"filter": "data"} if hasattr(tarfile, "data_filter") else {}))  # Python before 3.11.4 has none
            if archive.exists():
                manifest = json.loads((place / "manifest.json").read_text())
            found, self.told, missing = host.look(archive, manifest, self.options.python, self.options.rehearse)
            (self.work / "host.json").write_text(json.dumps(found, indent=1))
        except (OSError, tarfile.TarError, lzma.LZMAError, EOFError, ValueError) as error:
            missing = [f"{archive} cannot be unpacked into {self.work} ({error}); make room, or bring it again"]
        for line in self.told:
            print(f"[gpu-day] {line}", flush=True)
        for line in missing:
            print(f"[gpu-day] missing: {line}", flush=True)
        if missing:
            kind = "disk" if "No space left" in missing[0] else "missing"
            self.failed("host", 0, {kind: " / ".join(missing)})
        else:
            self.row("host", "passed")

    def run(self, part: Part) -> None:
        if self.options.parts and part.name not in self.options.parts.split(","):
            return
        absent = [name for name in part.programs if not (self.work / "bin" / name).exists()]
        if not pathlib.Path(part.command[0]).exists():
            absent = absent or [part.command[0]]
        if not ((self.work / "brought/manifest.json").exists() and (self.work / "host.json").exists()):
            absent = [f"whole {self.options.brought}"]
        left = self.end - time.monotonic()
        if absent:
            return self.row(part.name, "left out", 0, f"there is no {', '.join(absent)}")
        if left < LEAST_S:
            return self.row(part.name, "left out", 0, f"no time: it may take {part.seconds} s of {self.options.minutes:g} minutes")
        limit = min(self.options.seconds.get(part.name, part.seconds * (REHEARSED if self.options.rehearse else 1)), left)
        begin = time.monotonic()
        log, status = self.watch(part, limit)
        seconds = time.monotonic() - begin
        told = "; ".join(line.removeprefix("TOLD ") for line in log if line.startswith("TOLD "))
        skipped = [line for line in log if line.startswith("[  SKIPPED ]") and line.endswith(")")]
        passed = sum(line.startswith("[       OK ]") for line in log)
        if status is None:
            self.failed(part.name, seconds, {"time": f"not at its end after {limit:.0f} s; its last word: {(log or ['none'])[-1].strip()}"[:300]}, told)
        elif status != 0 or (skipped and not passed and not self.options.rehearse):
            self.failed(part.name, seconds, errors_of(log, status), told)
        elif skipped and not passed:
            self.row(part.name, "left out", seconds, "; ".join(sorted({line.strip() for line in log if "no CUDA device" in line or "CUDA devices" in line or "[cuda]" in line}))[:200])
        else:
            tests = f"{passed} tests" + (f", {len(skipped)} skipped" if skipped else "") if passed else ""
            self.row(part.name, "passed", seconds, "; ".join(filter(None, [tests, told])))

    def watch(self, part: Part, limit: float) -> tuple[list[str], int | None]:
        """Its lines and exit status; None if it took longer than its limit, and was ended with all that it had started."""
        self.write(f"logs/{part.name}.log", f"{' '.join(part.command)}\n")
        environment = {**os.environ, "LINAC": str(self.work / "bin/linac-compute"), "PYTHONUNBUFFERED": "1"}
        try:
            self.running = process = subprocess.Popen(part.command, cwd=ROOT, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                                      stderr=subprocess.STDOUT, text=True, errors="replace", start_new_session=True)
        except OSError as error:
            return [f"{part.command[0]} cannot be loaded ({error.strerror})"], 127
        head: list[str] = []
        tail: list[str] = []

        def read() -> None:
            for line in process.stdout:
                if f"logs/{part.name}.log" not in self.files:
                    self.write(f"logs/{part.name}.log", line, "a")
                (head if len(head) < HEAD else tail).append(line.rstrip("\n"))
                del tail[:-TAIL]

        reader = threading.Thread(target=read, daemon=True)
        reader.start()
        try:
            status = process.wait(limit)
        except subprocess.TimeoutExpired:
            status = None
        try:
            os.killpg(process.pid, signal.SIGKILL)  # what it left behind
        except ProcessLookupError:
            pass
        process.wait()
        reader.join(10)
        self.running = None
        return head + tail, status

    def finish(self) -> int:
        if self.running:
            os.killpg(self.running.pid, signal.SIGKILL)
        table = self.table()
        self.write("table.md", table)
        print(f"\n{table}", flush=True)
        self.pack()
        failed = sum(state == "failed" for _, state, _, _ in self.rows)
        left_out = sum(state == "left out" for _, state, _, _ in self.rows)
        if self.files:
            print(f"[gpu-day] not or not wholly written: {', '.join(sorted(self.files))} ({self.first['disk'][1]})")
        print(f"[gpu-day] {failed} failed, {left_out} left out; {self.out}")
        return 1 if failed or self.files else 0

    def pack(self) -> None:
        """All of OUT as one file beside its parts."""
        name = "gpu-day.tar.gz"
        try:
            with tarfile.open(self.out / f"{name}.new", "w:gz") as archive:
                archive.add(self.out, arcname="gpu-day", filter=lambda member: None if member.name.endswith((".tar.gz", ".new")) else member)
            os.replace(self.out / f"{name}.new", self.out / name)
        except OSError as error:
            self.files.add(name)
            self.first.setdefault("disk", (name, f"{self.out / name} cannot be written ({error.strerror}); make room, or give another OUT="))


def limits(text: str) -> dict[str, float]:
    return {name: float(value) for name, value in (word.split("=") for word in text.split(",") if word)}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "build/gpu-day", help="logs, tables, numbers (default build/gpu-day)")
    parser.add_argument("--minutes", type=float, default=25, help="of the whole (default 25)")
    parser.add_argument("--seconds", type=limits, default={}, help="other limits of parts, as 3dgan=100,bits=60")
    parser.add_argument("--parts", default="", help="these alone, as build,kernels")
    parser.add_argument("--rehearse", action="store_true", help="without a GPU: kernels on the emulated one, steps on the processor")
    parser.add_argument("--python", default=os.environ.get("PYTHON") or "python3", help="the interpreter that has PyTorch (default python3)")
    parser.add_argument("--brought", type=pathlib.Path, default=ROOT / "build/gpu-day.tar.xz", help="what bring.py made, or its folder (default build/gpu-day.tar.xz)")
    parser.add_argument("--work", type=pathlib.Path, default=ROOT / "build/gpu-day-work", help="where it is built; emptied")
    parser.add_argument("--kernels", type=pathlib.Path, default=ROOT / "src/linac/model/kernels/cuda", help="the folder of the .cu files")
    parser.add_argument("--emulated", type=pathlib.Path, default=ROOT / "build/release/bin/kernels_cuda_emulated", help="the kernels' test of a rehearsal")
    day = Day(parser.parse_args())
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    try:
        day.guarded("host", day.look)
        for part in parts_of(day.options, day.work, day.out):
            day.guarded(part.name, lambda part=part: day.run(part))
    except (KeyboardInterrupt, SystemExit):
        day.failed("day", 0, {"end": "ended from outside before its end"})
    return day.finish()


if __name__ == "__main__":
    sys.exit(main())
