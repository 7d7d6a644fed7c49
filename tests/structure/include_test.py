#!/usr/bin/env python3
"""Includes point down only: a file of module A may name headers of A and of the modules that A's CMakeLists.txt declares.
A module is a folder whose CMakeLists.txt calls linac_module; one inside another carries both names, launch_workers.
ARCHITECTURE.md draws the modules as the table below has them; `include_test.py src/linac --draw` prints that drawing."""

import pathlib
import re
import sys
import textwrap

# Lowest first, each module with a sentence. A module may depend only on modules of lower levels.
LEVELS = [
    {
        "base": "errors, log, random numbers, threads, YAML, atomic files, wire formats",
    },
    {
        "weights": "named tensors in one file, and what primaries a generator was trained on",
        "columns": "what the values of columns of events are like, and which events repeat",
        "optimizer": "optimizers as Keras defines them: their table of settings, state and update",
        "expression": "formulas over the columns of events: parsed, given types, computed by blocks",
    },
    {
        "stacks": "where a process hangs: its threads, their stacks and system calls",
        "spec": "the job: every setting with its default and its help; what a run leaves: its record, states, exit codes",
        "net": "requests over http(s): the one place that knows libcurl",
    },
    {
        "archive": "zip files, read with limits, and written",
        "hdf5": "HDF5 handles, and the lock that lets one thread at a time use that library",
        "storage": "files by the scheme of their address; the cache of those that were fetched; folders kept at a store while somebody works in them",
        "kernels": "convolutions, recurrent layers, normalisation on plain pointers, for CPU and CUDA",
        "plot": "pictures",
        "physics": "observables of showers, comparison of samples, gate, fast simulation",
        "scores": "scores of predictions on labelled events, with uncertainties",
        "comm": "rendezvous, membership, groups of workers, the sum over replicas",
        "tune": "what a study tries next and what it stops: spaces, histories, samplers, pruners",
        "plan": "how the time of a step grows with the number of hosts",
        "plugin": "the one header that plug-ins include, and the loading of their shared objects",
        "catalog": "the tracking database: runs, curves, queue, models, users",
        "launch": "how attempts are carried out, and local processes that outlive who started them",
        "http": "a server, its tables of routes, files: knows no table of the database",
    },
    {
        "clouds": "Google's and Azure's object stores, by Arrow",
        "root": "ROOT files: records, trees, RNTuples, and their columns",
        "chain": "showers drawn cell by cell by small networks",
        "sites": "other people's systems: what they need to be told, and one launch there as files, commands and answers",
    },
    {
        "data": "events of HDF5, TFRecord, Parquet and ROOT files, read ahead in a fixed order",
        "fastsim": "showers of a trained model for programs of others: one header, one shared library",
        "graph": "a model as a graph: layers, shapes, weights, passes",
        "pt2": "programs of torch.export as files",
        "report": "comparisons, scores and runs as page, JSON, text and pictures",
        "client": "the service as the verbs see it; models by their catalog address",
        "execution": "the queue carried out: scheduler, attempts, submission, a run's record brought into the catalog",
        "launch_sites": "attempts of the service's queue, carried out at sites",
        "study": "studies of hyper-parameters on the disk, and carried out on this host",
        "launch_workers": "local worker processes, and what their ends mean together",
    },
    {
        "nn": "a graph computed and differentiated, by LibTorch and the kernels",
        "devices": "the devices of one worker: memory, what moves between them, the sum within",
        "onnx": "a graph written as ONNX",
        "keras": "Keras's files, to and from a graph",
        "service": "the HTTP service: routes, MLflow's among them, sessions, news, pages",
        "agent": "jobs of a service taken and carried out on this host, by outgoing requests alone",
    },
    {
        "models": "networks, losses and one replica's step; know nothing of workers",
        "cli": "what the verbs of both programs share",
    },
    {
        "trained": "models as files: runs, checkpoints, archives, and what they know of their training",
        "cli_control": "a file a verb that computes nothing: the program `linac`",
    },
    {
        "train": "training loops, schedules, checkpoints, the run's folder",
        "validate": "a sample of showers judged as a whole: sources, classifier test, search for copies",
    },
    {
        "cli_compute": "a file a verb that computes: the program `linac-compute`",
    },
]


def drawing() -> str:
    """The table with the highest level on top, at most 100 columns wide."""
    folders = {name: name.replace("_", "/") for modules in LEVELS for name in modules}
    width = max(len(folder) for folder in folders.values()) + 2
    levels = []
    for modules in reversed(LEVELS):
        lines = []
        for name, sentence in modules.items():
            first = folders[name].ljust(width)
            lines += textwrap.wrap(sentence, 100, initial_indent=first, subsequent_indent=" " * width)
        levels.append("\n".join(lines))
    return "\n\n".join(levels)


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
    if "--draw" in sys.argv[2:]:
        print(drawing())
        return 0
    level = {name: i for i, names in enumerate(LEVELS) for name in names}
    calls = {path.parent.relative_to(root): call_of(path.parent) for path in sorted(root.rglob("CMakeLists.txt"))}
    modules = {folder: call for folder, call in calls.items() if call}
    problems, includes = [], 0
    if f"```\n{drawing()}\n```" not in (root / "../../ARCHITECTURE.md").read_text():
        problems.append("ARCHITECTURE.md: draws other modules than this test's table; --draw prints what belongs there")
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
