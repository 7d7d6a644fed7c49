"""The program that carries everything out: where it is, how it is called, and its errors as exceptions."""

import os
import pathlib
import re
import shutil
import subprocess
from collections.abc import Iterable
from typing import Any

# By these a launcher tells a worker its place among others. A program that is called from here is no worker of whoever started Python.
_LAUNCHERS = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT", "TF_CONFIG")
_LINE = re.compile(r"^\d\d:\d\d:\d\d ([A-Z]) (.*)$")
_OWN = pathlib.Path(__file__).resolve().parent / "program" / "bin" / "linac"


class LinacError(RuntimeError):
    """What the program, or this package in its stead, refuses or could not do: its text, and `exit_status` of docs/reference/commands.md; None
    where nobody saw how the program ended."""

    def __init__(self, message: str, exit_status: "int | None") -> None:
        super().__init__(message)
        self.exit_status = exit_status

    def __reduce__(self) -> "tuple[type[LinacError], tuple[Any, ...]]":
        return type(self), (str(self), self.exit_status)


def program() -> pathlib.Path:
    """The program `linac`: what the variable LINAC names, else that of this package, else the one in PATH."""
    if named := os.environ.get("LINAC"):
        found = shutil.which(named)
        if found is None:
            raise LinacError(f"[linac] LINAC: there is no program {named}; name one, or unset the variable", 4)
        return pathlib.Path(found).absolute()
    if _OWN.exists():
        return _OWN
    if found := shutil.which("linac"):
        # The script that pip installs beside Python calls this package, and not the other way round.
        with open(found, "rb") as file:
            if file.read(2) != b"#!":
                return pathlib.Path(found)
    raise LinacError("[linac] there is no program: this package came without it, and none is in PATH; install the wheel of `make wheel`, or set LINAC", 4)


def version() -> str:
    """Of the package, which is that of the program it came with."""
    import importlib.metadata

    try:
        return importlib.metadata.version("linac")
    except importlib.metadata.PackageNotFoundError:  # the sources
        return (pathlib.Path(__file__).resolve().parents[2] / "VERSION").read_text().strip()


def environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name not in _LAUNCHERS}


def command(*words: object) -> list[str]:
    return [str(program()), *map(str, words)]


def message(output: str) -> str:
    """The error among lines of the program's log, without time and level; all of it where none is."""
    errors: list[str] = []
    last = False
    for line in output.splitlines():
        match = _LINE.match(line)
        last = match[1] == "E" if match else last
        if last:
            errors.append(match[2] if match else line)
    # Each worker tells the same error.
    return "\n".join(dict.fromkeys(errors)) or output.strip()[-2000:]


def failure(output: str, status: "int | None") -> LinacError:
    """The exception for a program that ended with this status; status < 0: by a signal."""
    if "error while loading shared libraries" in output or "symbol lookup error" in output:
        return LinacError(f"[linac] the program does not find the libraries it was built with: {output.strip()}; install the wheel again, or unset "
                          "LD_PRELOAD and LD_LIBRARY_PATH", 4)  # fmt: skip
    text = message(output)
    if status is not None and status < 0:
        return LinacError(text or f"[linac] the program was ended by signal {-status}", 128 - status)
    return LinacError(text or f"[linac] the program ended with status {status} and said nothing", status)


def call(*words: object) -> str:
    """What the program prints on its standard output. Raises LinacError for each status but 0."""
    return call_with_status(words, ())[0]


def call_with_status(words: "Iterable[object]", accept: "Iterable[int]") -> tuple[str, int]:
    """The same with the status, which is 0 or one of those that are accepted."""
    line = command(*words)
    try:
        done = subprocess.run(line, stdin=subprocess.DEVNULL, capture_output=True, encoding="utf-8", errors="replace", env=environment())
    except OSError as error:
        raise LinacError(f"[linac] {line[0]} cannot be started ({error.strerror})", 4) from error
    if done.returncode not in (0, *accept):
        raise failure(done.stderr, done.returncode)
    return done.stdout, done.returncode
