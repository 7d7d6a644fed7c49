#!/usr/bin/env python3
"""Includes point down only: a file of module A may name headers of A and of the modules that A's CMakeLists.txt declares."""

import pathlib
import re
import sys

# Lowest first. A module may depend only on modules of lower levels.
LEVELS = [
    {"base"},
    {"hdf5", "storage", "spec", "kernels", "plot", "physics", "scores", "comm", "plan", "plugin", "catalog", "launch"},
    {"data", "graph", "report", "client"},
    {"nn", "onnx", "keras", "service"},
    {"models", "control"},
    {"trained"},
    {"train", "validate"},
    {"app"},
]


def declared(module: pathlib.Path) -> set[str]:
    """Modules after DEPS and PRIVATE_DEPS in the module's CMakeLists.txt, and what those offer in turn."""
    text = (module / "CMakeLists.txt").read_text()
    call = re.search(r"linac_module\(([^)]*)\)", text, re.S).group(1)
    names, keyword = set(), None
    for word in call.split()[1:]:
        if word.isupper() and "::" not in word:
            keyword = word
        elif keyword in ("DEPS", "PRIVATE_DEPS"):
            names.add(word)
    return names


def main() -> int:
    root = pathlib.Path(sys.argv[1])
    level = {name: i for i, names in enumerate(LEVELS) for name in names}
    problems, includes = [], 0
    for module in sorted(p for p in root.iterdir() if p.is_dir()):
        if module.name not in level:
            problems.append(f"{module.name}: not in the table of levels")
            continue
        allowed = declared(module)
        for dependency in allowed:
            if level[dependency] >= level[module.name]:
                problems.append(f"{module.name}/CMakeLists.txt: depends upward on {dependency}")
        for path in sorted(path for suffix in ("h", "cpp", "cu", "cuh") for path in module.rglob(f"*.{suffix}")):
            for line, text in enumerate(path.read_text().splitlines(), 1):
                match = re.match(r'#include "linac/(\w+)/', text)
                if not match:
                    continue
                includes += 1
                if match.group(1) != module.name and match.group(1) not in allowed:
                    problems.append(f"{path.relative_to(root)}:{line}: includes {match.group(1)}, which {module.name} does not declare")
    print("\n".join(problems) or f"{includes} includes, all downward")
    return 1 if problems or includes == 0 else 0


sys.exit(main())
