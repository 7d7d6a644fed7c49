#!/usr/bin/env python3
"""Rules by which workers come and go (train/comm/membership/membership.h), each broken on purpose: the simulation of schedules of faults must find every one.
A rule whose text is not found where it is looked for fails the test, so the list stays true.

  mutation_test.py BUILD [--schedules 300]"""

import argparse
import os
import pathlib
import re
import subprocess
import tempfile

from lib.checks import check
from lib.runs import ROOT

CXX = os.environ.get("CXX", "g++")
MEMBERSHIP = ROOT / "src/linac/train/comm/membership"
SOURCES = ["membership.cpp", "membership_peers.cpp", "membership_newcomers.cpp", "membership_views.cpp", "membership_exclusion.cpp",
           "membership_message.cpp", "view.cpp", "view_change.cpp", "membership_simulation_test.cpp"]

# What it says; the file; the text; what stands there instead.
RULES = [
    ("a view needs the majority of the last one", "membership_views.cpp",
     "return present > silent || (present == silent && senior_present);", "return present + silent > 0 || senior_present;"),
    ("every member of a view has accepted it", "membership_views.cpp",
     "if (member.key != self_.key && !peer(member.key).accepted) return;", "if (member.key == self_.key) continue;"),
    ("the view that is written down counts, whoever wrote it", "membership_views.cpp",
     "install_for_all(next, now);\n}\n\nvoid Membership::on_note_failed", "install_for_all(proposed_ ? View(*proposed_) : next, now);\n}\n\nvoid Membership::on_note_failed"),
    ("a step counts in the view alone that goes on", "membership.cpp",
     "if (phase_ != Phase::kRunning) return false;", "if (phase_ == Phase::kEnded) return false;"),
    ("a refusal from another machine is no proof of an end", "membership_peers.cpp",
     "if (machine_of(refusing) == machine_of(self_.address)) return true;", "if (!refusing.empty()) return true;"),
]


def compile_to(path: pathlib.Path, source: pathlib.Path) -> None:
    subprocess.run([CXX, "-std=c++20", "-O1", f"-I{ROOT / 'src'}", "-c", source, "-o", path], check=True)


def link(program: pathlib.Path, objects: list[pathlib.Path], build: pathlib.Path) -> None:
    base = build / "src/linac/base/base/liblinac_base.a"
    subprocess.run([CXX, "-o", program, *objects, base, "-lgtest", "-lgtest_main", "-lspdlog", "-lfmt", "-lyaml-cpp", "-lz", "-lpthread"], check=True)


def violation(program: pathlib.Path, schedules: int) -> str:
    """What the simulation has to say; "" if it finds nothing."""
    done = subprocess.run([program, "--gtest_brief=1", "--gtest_fail_fast"], env={**os.environ, "LINAC_SIM_SCHEDULES": str(schedules)},
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=600)
    found = re.search(r"at \d+ ms: [^\"\n]*", done.stdout)
    return "" if done.returncode == 0 else found[0] if found else done.stdout[-300:]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--schedules", type=int, default=300)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="linac-mutation-") as folder:
        root = pathlib.Path(folder)
        objects = {source: root / f"{source}.o" for source in SOURCES}
        for source, path in objects.items():
            compile_to(path, MEMBERSHIP / source)
        link(root / "whole", list(objects.values()), options.build)
        found = violation(root / "whole", options.schedules)
        check(found == "", f"with all rules nothing is found in {options.schedules} schedules {found}")
        for number, (rule, source, text, broken) in enumerate(RULES):
            whole = (MEMBERSHIP / source).read_text()
            check(whole.count(text) == 1, f"{source} has the rule: {rule}")
            changed = root / f"rule{number}.cpp"
            changed.write_text(whole.replace(text, broken))
            compile_to(root / f"rule{number}.o", changed)
            link(root / f"rule{number}", [path for name, path in objects.items() if name != source] + [root / f"rule{number}.o"], options.build)
            found = violation(root / f"rule{number}", options.schedules)
            check(found != "", f"without it the simulation says: {found}")


main()
