#!/usr/bin/env python3
"""Rules of rounds in which groups of replicas train apart (train/train/local), each broken on purpose: the simulation of schedules of faults must find
every one.

  rounds_mutation_test.py BUILD [--schedules 2000]      BUILD: by ninja"""

import argparse
import pathlib
import shlex
import subprocess

from lib import mutations
from lib.runs import ROOT

LOCAL = ROOT / "src/linac/train/train/local"
SOURCES = ["island_states.cpp", "islands.cpp", "local_steps.cpp", "round.cpp", "rounds_simulation_test.cpp"]

RULES = [
    ("a round counts where all copies are there", "local_steps.cpp",
     "if (states_.keeps()) group_.barrier();", ""),
    ("nothing of an island changes before the round counts", "local_steps.cpp",
     "arrive();\n  states_.count();", "states_.count();\n  arrive();"),
    ("nor of what all share", "local_steps.cpp",
     "arrive();\n  states_.count();", "state.networks = end.state.networks;\n  arrive();\n  states_.count();"),
    ("what was done stands for its own round alone", "local_steps.cpp",
     "return !is_of_round || half_done", "return half_done"),
    ("a step that broke off is no part of it", "local_steps.cpp",
     "|| half_done || round.broken", "|| round.broken"),
    ("an island that has lost a carrier begins its round again", "local_steps.cpp",
     "|| !islands_->is_alone(island) ||", "||"),
    ("a round ends with its epoch", "local_steps.cpp",
     "std::min(sync.every, steps_per_epoch_ - state.step)", "sync.every"),
    ("what an island keeps holds for one moment", "island_states.cpp",
     "return !one.second.is_at(state);", "return one.second.rollbacks != state.rollbacks;"),
    ("who has offered has the state, though the round counts elsewhere", "island_states.cpp",
     "begun_.merge(offered_);", ""),
    ("who lacks an island's state gets it", "island_states.cpp",
     "if (!have.contains(rank)) ranks.push_back(rank);", "if (have.empty()) ranks.push_back(rank);"),
    ("its copy is with another worker", "island_states.cpp",
     "states.insert_or_assign(island, std::move(one));", "states.erase(island + 1000);"),
    ("and with one more, where one alone was left", "island_states.cpp",
     "if (job_.train.sync.copies) {", "if (have.empty() && job_.train.sync.copies) {"),
    ("a copy is at another place", "islands.cpp",
     "if (places[static_cast<size_t>(rank)] != place) others.push_back(rank);", "if (rank < 0) others.push_back(rank);"),
    ("and one more is, where all are at one", "island_states.cpp",
     "place_of_rank(view, other) != *places.begin()", "false"),
    ("who looks for what it lacks keeps what it has", "island_states.cpp",
     "std::map<int, std::map<int, bool>> holders = who_holds();",
     "std::map<int, std::map<int, bool>> holders;\n  try {\n    holders = who_holds();\n  } catch (...) {\n    begun_.clear();\n    throw;\n  }"),
    ("who comes anew brings nothing along", "local_steps.cpp",
     "states_.forget();", ""),
    ("what began anew is told", "island_states.cpp",
     "const bool is_anew = have.empty() || have.begin()->second;", "const bool is_anew = have.empty();"),
]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--schedules", type=int, default=2000)
    options = parser.parse_args()
    build = options.build.resolve()
    # As ninja makes the module's tests, from these objects.
    commands = subprocess.run(["ninja", "-C", build, "-t", "commands", "train_test"], stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()
    whole = next(line for line in commands if "/train_test.dir/" in line and " -c " in line)
    compiling = shlex.split(whole[:whole.index(" -MD ")])
    linking = [word for word in shlex.split(commands[-1][commands[-1].index("&&") + 2:commands[-1].rindex("&&")]) if not word.endswith(".o")]
    at = linking.index("-o")
    places = [build / "lib/linac" / name for name in ("torch/lib", "arrow")]

    def compile_to(path: pathlib.Path, source: pathlib.Path) -> None:
        subprocess.run([*compiling, "-w", "-o", path, "-c", source], check=True, cwd=build)

    # The first definition counts: the objects here stand before those of the libraries.
    def link(program: pathlib.Path, objects: list[pathlib.Path]) -> None:
        subprocess.run([*linking[:at], "-Wl,--allow-multiple-definition", *objects, "-o", program, *linking[at + 2:],
                        *(f"-Wl,-rpath,{place}" for place in places)], check=True, cwd=build)

    mutations.find_all(LOCAL, SOURCES, RULES, link, options.schedules, compile_to, "RoundsSimulation.*", times=5)


main()
