#!/usr/bin/env python3
"""Includes point down only: a file of module A may name headers of A and of the modules that A's CMakeLists.txt declares.
ARCHITECTURE.md draws the modules as the table below has them; `include_test.py src/linac --draw` prints that drawing."""

import pathlib
import re
import sys
import textwrap

# Lowest first, each module with a sentence. A module may depend only on modules of lower levels.
LEVELS = [
    {
        "base": "errors, log, random numbers, threads, configuration and YAML, atomic files, wire formats",
    },
    {
        "hdf5": "HDF5 handles, and the lock that lets one thread at a time use that library",
        "storage": "paths, globs and http(s) URLs; the cache of files that were fetched",
        "spec": "the job: every setting with its default and its help",
        "kernels": "convolutions, recurrent layers, normalisation on plain pointers, for CPU and CUDA",
        "plot": "pictures",
        "physics": "observables of showers, comparison of samples, gate, fast simulation",
        "scores": "scores of predictions on labelled events, with uncertainties",
        "comm": "rendezvous, membership, groups of workers, the sum over replicas",
        "plan": "how the time of a step grows with the number of hosts",
        "plugin": "the one header that plug-ins include, and the loading of their shared objects",
        "catalog": "the tracking database: runs, curves, queue, models, users",
        "launch": "processes that outlive who started them",
    },
    {
        "data": "events of HDF5, TFRecord and Parquet files, read ahead in an order that the seed gives",
        "graph": "Keras models as graphs: files, layers, shapes, weights, passes",
        "report": "comparisons, scores and runs as page, JSON, text and pictures",
        "client": "the service as the verbs see it; models by their catalog address",
    },
    {
        "nn": "a graph computed and differentiated, by LibTorch and the kernels",
        "onnx": "a graph written as ONNX",
        "service": "the HTTP service: routes, sessions, scheduler, pages",
    },
    {
        "models": "networks, losses and one replica's step; know nothing of workers",
        "control": "the verbs that compute nothing: the program `linac`",
    },
    {
        "train": "training loops, optimizers, schedules, checkpoints, the run's folder",
    },
    {
        "validate": "a sample of showers judged as a whole: sources, classifier test, search for copies",
    },
    {
        "app": "the verbs that compute: the program `linac-compute`; local workers and how they ended",
    },
]


def drawing() -> str:
    """The table with the highest level on top, at most 100 columns wide."""
    width = max(len(name) for modules in LEVELS for name in modules) + 2
    levels = []
    for modules in reversed(LEVELS):
        lines = []
        for name, sentence in modules.items():
            lines += textwrap.wrap(sentence, 100, initial_indent=name.ljust(width), subsequent_indent=" " * width)
        levels.append("\n".join(lines))
    return "\n\n".join(levels)


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
    if "--draw" in sys.argv[2:]:
        print(drawing())
        return 0
    level = {name: i for i, names in enumerate(LEVELS) for name in names}
    problems, includes = [], 0
    if f"```\n{drawing()}\n```" not in (root / "../../ARCHITECTURE.md").read_text():
        problems.append("ARCHITECTURE.md: draws other modules than this test's table; --draw prints what belongs there")
    problems += [f"{name}: in the table of levels, but not there" for name in level if not (root / name).is_dir()]
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
