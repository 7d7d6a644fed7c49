#!/usr/bin/env python3
"""Runs the cases of *.test: a line `$ linac ...`, then `status N`, then lines that the output must hold (`~` before a regular expression).
{tmp} is a fresh folder, {linac} the program; `$ sh: ...` runs any other command."""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
LINAC = os.environ.get("LINAC", str(ROOT / "build" / "linac"))


def blocks(path: pathlib.Path):
    block = []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if line.startswith("$ ") and block:
            yield block
            block = []
        if line.strip() and not line.startswith("#"):
            block.append((number, line))
    if block:
        yield block


def run_block(path: pathlib.Path, block, tmp: str) -> list[str]:
    number, command = block[0]
    command = command[2:].replace("{tmp}", tmp).replace("{linac}", LINAC)
    command = command[4:] if command.startswith("sh: ") else command.replace("linac", LINAC, 1)
    done = subprocess.run(command, shell=True, cwd=ROOT, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120)
    wanted_status, problems = 0, []
    for line_number, line in block[1:]:
        if line.startswith("status "):
            wanted_status = int(line.split()[1])
            continue
        text = line.replace("{tmp}", tmp)
        found = re.search(text[1:].strip(), done.stdout) if text.startswith("~") else text in done.stdout
        if not found:
            problems.append(f"{path.name}:{line_number}: not in the output: {text}")
    if done.returncode != wanted_status:
        problems.append(f"{path.name}:{number}: exit status {done.returncode}, expected {wanted_status}")
    if problems:
        problems.append(f"--- output of: {command}\n{done.stdout}---")
    return problems


def main() -> int:
    commands, problems = 0, []
    for path in sorted(HERE.glob("*.test")):
        with tempfile.TemporaryDirectory(prefix="linac-cli-") as tmp:
            for block in blocks(path):
                commands += 1
                problems += run_block(path, block, tmp)
    print("\n".join(problems) if problems else f"{commands} commands as expected")
    return 1 if problems or commands == 0 else 0


sys.exit(main())
