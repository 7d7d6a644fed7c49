#!/usr/bin/env python3
"""Rules by which workers come and go (train/comm/membership/membership.h), each broken on purpose: the simulation of schedules of faults must find every one.
A rule whose text is not found where it is looked for fails the test, so the list stays true.

  mutation_test.py BUILD [--schedules 300]"""

import argparse
import pathlib
import subprocess

from lib import mutations
from lib.runs import ROOT

MEMBERSHIP = ROOT / "src/linac/train/comm/membership"
SOURCES = ["membership.cpp", "membership_peers.cpp", "membership_newcomers.cpp", "membership_views.cpp", "membership_exclusion.cpp",
           "membership_message.cpp", "view.cpp", "view_change.cpp", "membership_simulation_test.cpp"]

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


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--schedules", type=int, default=300)
    options = parser.parse_args()
    base = options.build / "src/linac/base/base/liblinac_base.a"

    def link(program: pathlib.Path, objects: list[pathlib.Path]) -> None:
        libraries = [base, "-lgtest", "-lgtest_main", "-lspdlog", "-lfmt", "-lyaml-cpp", "-lz", "-lpthread"]
        subprocess.run([mutations.CXX, "-o", program, *objects, *libraries], check=True)

    mutations.find_all(MEMBERSHIP, SOURCES, RULES, link, options.schedules)


main()
