#!/usr/bin/env python3
"""LibTorch registers its kernels by the function of `linac-compute` (cli/compute/start), which leaves out those that are never reached, and
not by its own: else each start takes longer, and nothing else tells."""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = pathlib.Path(os.environ.get("LINAC", ROOT / "build" / "linac")).resolve().with_name("linac-compute")
FUNCTION = "torch7Library5_impl"


def bound_to(program: pathlib.Path) -> list[str]:
    """Whose function LibTorch calls."""
    with tempfile.TemporaryDirectory() as folder:
        words = {"LD_DEBUG": "bindings", "LD_DEBUG_OUTPUT": f"{folder}/said"}
        subprocess.run([program, "--version"], env={**os.environ, **words}, check=True, stdout=subprocess.DEVNULL, timeout=60)
        said = "".join(path.read_text() for path in pathlib.Path(folder).iterdir())
    return re.findall(rf"binding file \S*/libtorch_cpu\.so \[0\] to (\S+) \[0\]: normal symbol `\w*{FUNCTION}", said)


def main() -> None:
    found = bound_to(PROGRAM)
    if [pathlib.Path(one).name for one in found] != [PROGRAM.name]:
        sys.exit(f"FAILED: LibTorch registers its kernels by {found}")
    print("ok    LibTorch registers its kernels by the program")


if __name__ == "__main__":
    main()
