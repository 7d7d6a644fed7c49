#!/usr/bin/env python3
"""The loader looks for no library in the current folder, where somebody else may have laid one by the name that linac wants."""

import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
LINAC = pathlib.Path(os.environ.get("LINAC", ROOT / "build" / "linac")).resolve()


def main() -> None:
    for program in (LINAC, LINAC.with_name("linac-compute"), LINAC.with_name("linac-data")):
        said = subprocess.run([program, "--version"], env={**os.environ, "LD_DEBUG": "libs"}, capture_output=True, text=True, timeout=60).stderr
        tried = re.findall(r"trying file=(.*)", said)
        relative = [place for place in tried if not place.startswith("/")]
        if len(tried) < 10 or relative:
            sys.exit(f"FAILED: {program}: looks for {relative[:3]} (of {len(tried)})")
        print(f"ok    {program.name}: none of {len(tried)} places is relative")


if __name__ == "__main__":
    main()
