#!/usr/bin/env python3
"""Includes point down only: a file of module A may name headers of A and of the modules that A's CMakeLists.txt declares.
A module is a folder whose CMakeLists.txt calls linac_module; one inside another carries both names, launch_workers."""

import pathlib
import re
import sys

# Lowest first. A module may depend only on modules of lower levels.
LEVELS = [
    {"base"},
    {"stacks"},
    {"hdf5", "storage", "spec", "kernels", "plot", "physics", "scores", "comm", "plan", "plugin", "catalog", "launch"},
    {"data", "graph", "report", "client", "optimizer", "launch_workers"},
    {"nn", "onnx", "keras", "service"},
    {"models", "cli"},
    {"trained", "cli_control"},
    {"train", "validate"},
    {"cli_compute"},
]


def call_of(folder: pathlib.Path) -> list[str]:
    """The words that the folder's CMakeLists.txt gives to linac_module(); none if it is not a module."""
    lists = folder / "CMakeLists.txt"
    call = re.search(r"linac_module\(([^)]*)\)", lists.read_text(), re.S) if lists.exists() else None
    return call.group(1).split() if call else []


def declared(call: list[str]) -> set[str]:
    """Modules after DEPS and PRIVATE_DEPS."""
    names, keyword = set(), None
    for word in call[1:]:
        if word.isupper() and "::" not in word:
            keyword = word
        elif keyword in ("DEPS", "PRIVATE_DEPS"):
            names.add(word)
    return names


def module_of(path: pathlib.PurePath, modules: dict[pathlib.PurePath, list[str]]) -> str:
    """The innermost module that holds the file; the first folder's name if none does."""
    for folder in path.parents:
        if folder in modules:
            return modules[folder][0]
    return path.parts[0]


def main() -> int:
    root = pathlib.Path(sys.argv[1])
    level = {name: i for i, names in enumerate(LEVELS) for name in names}
    calls = {path.parent.relative_to(root): call_of(path.parent) for path in sorted(root.rglob("CMakeLists.txt"))}
    modules = {folder: call for folder, call in calls.items() if call}
    problems, includes = [], 0
    for folder, call in modules.items():
        name = call[0]
        if name != "_".join(folder.parts):
            problems.append(f"{folder}/CMakeLists.txt: calls itself {name}")
        if name not in level:
            problems.append(f"{name}: not in the table of levels")
            continue
        for dependency in sorted(declared(call)):
            if level.get(dependency, len(LEVELS)) >= level[name]:
                problems.append(f"{folder}/CMakeLists.txt: depends upward on {dependency}")
    names = {call[0] for call in modules.values()}
    problems += [f"{name}: in the table of levels, but not there" for name in sorted(set(level) - names)]
    allowed = {call[0]: declared(call) | {call[0]} for call in modules.values()}
    for path in sorted(path for suffix in ("h", "cpp", "cu", "cuh") for path in root.rglob(f"*.{suffix}")):
        here = path.relative_to(root)
        name = module_of(here, modules)
        if name not in names:
            problems.append(f"{here}: belongs to no module")
            continue
        for line, text in enumerate(path.read_text().splitlines(), 1):
            match = re.match(r'#include "linac/([\w/.-]+)"', text)
            if not match:
                continue
            includes += 1
            included = module_of(pathlib.PurePath(match.group(1)), modules)
            if included not in allowed[name]:
                problems.append(f"{here}:{line}: includes {included}, which {name} does not declare")
    print("\n".join(problems) or f"{includes} includes, all downward")
    return 1 if problems or includes == 0 else 0


sys.exit(main())
