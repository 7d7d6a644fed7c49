#!/usr/bin/env python3
"""The command line of docs/guide/launch.md for Open MPI: two workers end with the bits of a run of one. Exit 77 where there is no mpirun."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

from lib import launches, runs
from lib.checks import check
from lib.launches import SETTINGS
from lib.ports import free_port


def main() -> None:
    if shutil.which("mpirun") is None:
        print("skipped: no mpirun (tests/servers/get.sh openmpi)")
        sys.exit(77)
    with tempfile.TemporaryDirectory(prefix="linac-mpirun-") as folder:
        root = pathlib.Path(folder)
        runs.run(root / "calm", SETTINGS, "--workers", "1")
        mpirun = ["mpirun", "-n", "2", "--bind-to", "none", "--oversubscribe", *(["--allow-run-as-root"] if os.geteuid() == 0 else [])]
        done = subprocess.run([*mpirun, *runs.arguments(root / "two", SETTINGS)], cwd=runs.ROOT, env=runs.environment(MASTER_PORT=str(free_port())),
                              text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120)
        if done.returncode != 0:
            print(done.stdout)
        check(done.returncode == 0, "two workers of mpirun come to their end")
        launches.same_bits(root / "calm", root / "two", "mpirun")


if __name__ == "__main__":
    main()
