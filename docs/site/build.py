#!/usr/bin/env python3
"""Makes the pages into a site that opens without a network: docs/site/build.py [--out build/docs] [--no-notebooks]

The pages lie in OUT/source as they do in the repository, so that their links keep their meaning, beside those that are made here: the parts of
docs/README.md as pages that lead through their folders, the verbs from their --help, the routes from the service's own description, the package
from its docstrings, the notebooks with what they show. Sphinx makes OUT/html of them. A link to nowhere, a page that no other one leads to, and
each warning of Sphinx end with status 1.

To be run by the Python of docs/site/setup.sh, with the program that LINAC names or build/linac."""

import argparse
import contextlib
import fcntl
import os
import pathlib
import shutil
import subprocess
import sys

import notebooks
import reference
import stage

HERE = pathlib.Path(__file__).resolve().parent


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", type=pathlib.Path, default=stage.ROOT / "build/docs")
    parser.add_argument("--no-notebooks", action="store_true", help="shows them without what they print")
    words = parser.parse_args()
    program = pathlib.Path(os.environ.get("LINAC", stage.ROOT / "build/linac")).resolve()
    if not program.exists():
        sys.exit(f"docs: there is no program {program}; make build, or set LINAC")
    try:
        with alone(words.out):
            return build(words.out, program, execute=not words.no_notebooks)
    except OSError as error:
        sys.exit(f"docs: {error}; give --out a folder that can be written")


@contextlib.contextmanager
def alone(out: pathlib.Path):
    """`out` is a folder of this program's, and nobody else builds in it."""
    mark = out / ".linac-docs"
    if out.is_dir() and any(out.iterdir()) and not mark.exists():
        sys.exit(f"docs: {out} has files of others; give --out an empty folder")
    out.mkdir(parents=True, exist_ok=True)
    with open(mark, "w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            sys.exit(f"docs: another process makes the site in {out}; wait for it, or give --out another folder")
        yield


def build(out: pathlib.Path, program: pathlib.Path, execute: bool) -> int:
    source, html = out / "source", out / "html"
    for folder in (source, html):
        shutil.rmtree(folder, ignore_errors=True)
    source.mkdir()
    problems = stage.pages(source)
    reference.write(source / "docs/reference", program)
    problems += notebooks.stage(source / "notebooks", program, execute=execute)
    if problems:
        sys.exit("\n".join(f"docs: {problem}" for problem in problems))
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html", "-c", str(HERE), "-d", str(out / "doctrees"), str(source), str(html)]
    status = subprocess.run(command, env={**os.environ, "PYTHONPATH": str(stage.ROOT / "python")}, stdin=subprocess.DEVNULL).returncode
    if status == 0:
        print(html / "index.html")
    return 1 if status else 0


if __name__ == "__main__":
    sys.exit(main())
