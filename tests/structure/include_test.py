#!/usr/bin/env python3
"""Includes point down only: a file of module A may name headers of A and of the modules that A's CMakeLists.txt declares.

The tree is its own table. A storey is a folder of src/linac whose CMakeLists.txt calls linac_storey() and says what it stands on; a
module is a folder in it whose CMakeLists.txt calls linac_module(), under a comment that says what it is. A module depends on modules
of the storeys below its own, and on those of its own that the storey names before it. ARCHITECTURE.md draws the tree;
`include_test.py src/linac --draw` prints that drawing."""

import pathlib
import re
import sys
import textwrap


def call_of(lists: pathlib.Path, function: str) -> dict[str, list[str]]:
    """The words of a call in a CMakeLists.txt by the keyword before them, "" for the first ones; empty if there is none."""
    call = re.search(rf"^{function}\(([^)]*)\)", lists.read_text(), re.S | re.M) if lists.exists() else None
    words, keyword = {}, ""
    for word in call.group(1).split() if call else []:
        if word.isupper() and "::" not in word:
            keyword = word
            words.setdefault(keyword, [])
        else:
            words.setdefault(keyword, []).append(word)
    return words


def comment_of(lists: pathlib.Path) -> str:
    """The first lines of a CMakeLists.txt, as prose."""
    lines = []
    for line in lists.read_text().splitlines():
        if not line.startswith("#"):
            break
        lines.append(line.lstrip("# "))
    return " ".join(lines)


class Module:
    def __init__(self, root: pathlib.Path, folder: pathlib.Path):
        lists = folder / "CMakeLists.txt"
        call = call_of(lists, "linac_module")
        self.folder = folder.relative_to(root)
        self.name = call.get("", ["?"])[0]
        self.depends = set(call.get("DEPS", []) + call.get("PRIVATE_DEPS", []))
        self.sentence = comment_of(lists).split(". ")[0].rstrip(".")


class Storey:
    def __init__(self, root: pathlib.Path, name: str):
        lists = root / name / "CMakeLists.txt"
        call = call_of(lists, "linac_storey")
        self.name, self.below, self.story = name, call.get("ON", []), comment_of(lists)
        folders = call.get("MODULES", []) + call.get("WITH_TORCH", [])
        self.modules = sorted_by_need([Module(root, root / name / folder) for folder in folders])


def sorted_by_need(modules: list[Module]) -> list[Module]:
    """Each behind those that it depends on, else in the order in which they came; a circle as it came."""
    names, done, left = {m.name for m in modules}, [], list(modules)
    while left:
        known = {m.name for m in done}
        ready = next((m for m in left if not (m.depends & names) - known - {m.name}), left[0])
        left.remove(ready)
        done.append(ready)
    return done


def house(root: pathlib.Path) -> list[Storey]:
    listed = re.search(r"foreach\(storey ([^)]*)\)", (root / "CMakeLists.txt").read_text()).group(1).split()
    return [Storey(root, name) for name in listed]


def drawing(storeys: list[Storey]) -> str:
    """The highest storey on top, at most 100 columns wide."""
    width = max(len(str(module.folder.relative_to(storey.name))) for storey in storeys for module in storey.modules) + 2
    parts = []
    for storey in reversed(storeys):
        stands = f"   on {' '.join(storey.below)}" if storey.below else ""
        lines = [f"{storey.name}/{stands}"]
        lines += textwrap.wrap(storey.story, 98, initial_indent="  ", subsequent_indent="  ")
        for module in reversed(storey.modules):
            first = "    " + str(module.folder.relative_to(storey.name)).ljust(width)
            lines += textwrap.wrap(module.sentence, 100, initial_indent=first, subsequent_indent=" " * (width + 4))
        parts.append("\n".join(lines))
    return "\n\n".join(parts)


def wrong_names(root: pathlib.Path, storeys: list[Storey]) -> list[str]:
    problems, folders = [], set()
    for storey in storeys:
        for module in storey.modules:
            folders.add(root / module.folder)
            inner = "_".join(module.folder.parts[1:])
            if module.name not in (inner, f"{storey.name}_{inner}"):
                problems.append(f"{module.folder}/CMakeLists.txt: calls itself {module.name}")
            if not module.sentence:
                problems.append(f"{module.folder}/CMakeLists.txt: begins without a sentence on what the module is")
    for lists in sorted(root.rglob("CMakeLists.txt")):
        if call_of(lists, "linac_module") and lists.parent not in folders:
            problems.append(f"{lists.relative_to(root)}: its storey does not name it")
    return problems


def upward(storeys: list[Storey]) -> list[str]:
    """What depends on a module that is not below it."""
    problems, known = [], {}
    for storey in storeys:
        known[storey.name] = {module.name for module in storey.modules}
        below = set().union(*(known.get(name, set()) for name in storey.below))
        for name in storey.below:
            if name not in known or name == storey.name:
                problems.append(f"{storey.name}/CMakeLists.txt: stands on {name}, which is not below it")
        before = set()
        for module in storey.modules:
            for dependency in sorted(module.depends - below - before):
                problems.append(f"{module.folder}/CMakeLists.txt: depends upward on {dependency}")
            before.add(module.name)
    return problems


def main() -> int:
    root = pathlib.Path(sys.argv[1])
    storeys = house(root)
    if "--draw" in sys.argv[2:]:
        print(drawing(storeys))
        return 0
    problems = wrong_names(root, storeys) + upward(storeys)
    if f"```\n{drawing(storeys)}\n```" not in (root / "../../ARCHITECTURE.md").read_text():
        problems.append("ARCHITECTURE.md: draws another house than this one; --draw prints what belongs there")
    modules = {module.folder: module for storey in storeys for module in storey.modules}

    def module_of(path: pathlib.PurePath) -> Module | None:
        """The innermost one that holds the file."""
        return next((modules[folder] for folder in path.parents if folder in modules), None)

    includes = 0
    for path in sorted(path for suffix in ("h", "cpp", "cu", "cuh") for path in root.rglob(f"*.{suffix}")):
        here = path.relative_to(root)
        module = module_of(here)
        if module is None:
            problems.append(f"{here}: belongs to no module")
            continue
        for line, text in enumerate(path.read_text().splitlines(), 1):
            match = re.match(r'#include "linac/([\w/.-]+)"', text)
            if not match:
                continue
            includes += 1
            included = module_of(pathlib.PurePath(match.group(1)))
            if included is None or included.name not in module.depends | {module.name}:
                problems.append(f"{here}:{line}: includes {match.group(1)}, whose module {module.name} does not declare")
    print("\n".join(problems) or f"{includes} includes, all downward")
    return 1 if problems or includes == 0 else 0


sys.exit(main())
