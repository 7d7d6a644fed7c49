#!/usr/bin/env python3
"""A short run, then TensorBoard's own reader on what it wrote: run_and_read.py PEER_PYTHON FOLDER"""

import pathlib
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "train"))
import runs

out = pathlib.Path(sys.argv[2])
shutil.rmtree(out, ignore_errors=True)
settings = {**runs.SMALL, "train.replicas": 2, "train.max_steps": 5}
# Interrupted and resumed, so that the folder holds two event files.
runs.run(out, {**settings, "train.max_steps": 2})
runs.run(out, settings, "--resume")
sys.exit(subprocess.run([sys.argv[1], str(pathlib.Path(__file__).with_name("test_tensorboard.py")), str(out)]).returncode)
