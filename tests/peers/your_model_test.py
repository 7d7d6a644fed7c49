#!/usr/bin/env python3
"""docs/start/your-model.md as its readers use it: every block in its order, in an empty folder. A block of Python or YAML is the file that its
first line names; of shell, it is run; of text, each of its lines stands in what the shell blocks before it have printed, but for digits.

usage: your_model_test.py FOLDER"""

import os
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
LINAC = pathlib.Path(os.environ.get("LINAC", ROOT / "build" / "linac")).resolve()


def plain(text: str) -> str:
    """Without what differs between processors: digits and the blanks that they are aligned with."""
    return re.sub(r"\s+", " ", re.sub(r"[0-9][0-9.e+-]*", "N", text)).strip()


def main() -> None:
    folder = pathlib.Path(sys.argv[1])
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    programs = f"{LINAC.parent}:{pathlib.Path(sys.executable).parent}"
    environment = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}", "CUDA_VISIBLE_DEVICES": "-1", "TF_CPP_MIN_LOG_LEVEL": "3"}
    printed, texts, began = "", 0, 0
    for language, block in re.findall(r"^```(\w+)\n(.*?)^```$", (ROOT / "docs/start/your-model.md").read_text(), re.M | re.S):
        if language in ("python", "yaml"):
            (folder / block.split("\n")[0].removeprefix("# ")).write_text(block)
        elif language == "sh" and "pip install" not in block:
            done = subprocess.run(["bash", "-e", "-c", block], cwd=folder, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            if done.returncode != 0:
                sys.exit(f"{block}{done.stdout}\nexit status {done.returncode}")
            print("ok  ", block.strip().replace("\n", "; "), flush=True)
            printed, began = done.stdout, began + 1
        elif language == "text":
            missing = [line for line in block.splitlines() if plain(line) not in plain(printed)]
            if missing:
                sys.exit(f"the page shows {missing}; printed was\n{printed}")
            texts += 1
    if began < 8 or texts < 6:
        sys.exit(f"only {began} blocks of commands and {texts} of output were found in the page")


main()
