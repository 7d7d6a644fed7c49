#!/usr/bin/env python3
"""Pages can be read and followed: lines of prose end at 100 columns, links and paths lead to something that is there."""

import os
import pathlib
import re
import sys

COLUMNS = 100
# Not pages of ours, or made by a program that writes them anew (bench/results).
LEFT_OUT = {"build", "prefix", "node_modules", "results", "runs", "shared"}
# Folders at the top whose files pages name; what a command makes below them is not there yet.
TOP = ("bench", "cmake", "data", "deps", "docs", "examples", "fuzz", "models", "src", "tests", "ui")
MADE = ("deps/prefix", "bench/results", "models/generator.", "models/model.", "data/events")


def files(root: pathlib.Path, suffixes: tuple[str, ...]):
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if name not in LEFT_OUT and not name.startswith("."))
        yield from (pathlib.Path(folder) / name for name in sorted(names) if name.endswith(suffixes))


def prose(text: str):
    """Lines with their numbers, without blocks of code."""
    fence, before, code = False, "", False
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("```"):
            fence = not fence
        elif not fence:
            code = line.startswith("    ") and (code or not before.strip())
            if not code:
                yield number, line
        before = line


def too_long(line: str) -> bool:
    if line.startswith("|"):
        return False
    shown = re.sub(r"\]\([^)]*\)", "]()", line)  # the address of a link cannot be broken
    shown = re.sub(r"https?://\S+", "", shown)
    return len(shown) > COLUMNS


def broken_link(page: pathlib.Path, target: str) -> bool:
    target = target.split("#")[0]
    return bool(target) and not re.match(r"\w+:", target) and not (page.parent / target).exists()


def missing(root: pathlib.Path, page: pathlib.Path, path: str) -> bool:
    """`path` as prose names it: from the top, from the page, or from src/linac with or without the suffix of a header."""
    path = path.rstrip("/.")
    first, last = path.split("/")[0], path.split("/")[-1]
    if last.isupper():  # stands for something: train/MEASURE
        return False
    if "*" in path:
        return first in TOP and not any(root.glob(path))
    found = [root / path, page.parent / path, *(root / "src/linac" / (path + suffix) for suffix in ("", ".h", ".cpp"))]
    return not any(place.exists() for place in found)


def main() -> int:
    root = pathlib.Path(sys.argv[1])
    modules = {p.name for p in (root / "src/linac").iterdir() if p.is_dir()}
    # What begins like a folder of ours, and whatever else ends like a source.
    folders = "|".join(sorted(modules | set(TOP)))
    named = re.compile(rf"(?<![\w/.:~-])((?:{folders})/[\w./*-]+|[\w-]+/[\w/-]+\.(?:h|cpp|cu|py)\b)")
    problems, count = [], 0
    for page in files(root, (".md",)):
        count += 1
        name = page.relative_to(root)
        for number, line in prose(page.read_text()):
            where = f"{name}:{number}"
            if too_long(line):
                problems.append(f"{where}: {len(line)} columns, at most {COLUMNS}")
            for target in re.findall(r"\]\(([^)\s]+)\)", line):
                if broken_link(page, target):
                    problems.append(f"{where}: the link to {target} leads nowhere")
            for path in named.findall(line):
                if "NAME" not in path and not path.startswith(MADE) and missing(root, page, path):
                    problems.append(f"{where}: there is no {path}")
    # Sources say which page tells more.
    for source in files(root, (".h", ".cpp", ".cu", ".py", ".sh", ".ts", ".tsx", ".cmake", ".yaml")):
        for page in sorted(set(re.findall(r"(?<![\w/])docs/[\w/-]+\.md", source.read_text(errors="replace")))):
            if not (root / page).exists():
                problems.append(f"{source.relative_to(root)}: there is no {page}")
    print("\n".join(problems) or f"{count} pages, all as they should be")
    return 1 if problems or count == 0 else 0


sys.exit(main())
