#!/usr/bin/env python3
"""batches.py LINES LIST: which sources are compiled together. LIST has a line for each source: its target, a space, its path.
Prints a line for each source that has company: its target, the number of the batch, its path.

A batch has about LINES lines, and no two sources that would not compile together as they do alone: because both have a thing of
the same name in their anonymous namespaces, because one of them has such a name for what a header that only the other includes
declares, or because it has one that the other uses for something else. Names are found by reading braces, not by a compiler; a
source for which that does not do is kept out by CMake's property SKIP_UNITY_BUILD_INCLUSION.
"""

import functools
import itertools
import pathlib
import re
import sys

# Headers of others that take a second or more to read and are in no precompiled set: sources that need them belong together.
SLOW = re.compile(r"^#include <((?:arrow|parquet|Eigen|torch/(?:script|nn|csrc/jit)|boost/(?:math|random)|LBFGSB|yaml-cpp|regex))\b", re.M)
TEXTS = re.compile(r'R"(\w*)\(.*?\)\1"|//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|(?<!\w)\'(?:\\.|[^\'\\\n])*\'', re.S)


def read(path: str) -> str:
    return pathlib.Path(path).read_text(errors="replace")


def without_texts(code: str) -> str:
    return TEXTS.sub(lambda m: "" if m[0][0] == "/" else '""', code)


def declarations(code: str):
    """What stands directly in an anonymous namespace: each declaration up to its body or semicolon."""
    for start in re.finditer(r"\bnamespace \{", code):
        depth, begin = 1, start.end()
        for mark in re.finditer(r"[{};]", code[start.end():]):
            at = start.end() + mark.start()
            if depth == 1 and mark[0] != "}":
                yield code[begin:at]
            depth += {"{": 1, "}": -1}.get(mark[0], 0)
            if depth == 0:
                break
            if depth == 1:
                begin = at + 1


def names_of(declaration: str):
    """(name, what tells two equal declarations from two different ones), of each name. Equal aliases may meet."""
    text = " ".join(line for line in declaration.splitlines() if not line.startswith("#")).strip()
    text = re.sub(r"^template\s*<[^>]*>\s*", "", text)
    if match := re.match(r"[A-Z][A-Z_]*\(.*?\)", text):  # a macro, as of a test
        return [(match[0], object())]
    if match := re.match(r"using\s+(\w+)\s*=", text) or re.match(r"(?:using|namespace)\s+(?:[\w:]+::)?(\w+)", text):
        return [(match[1], " ".join(text.split()))]
    if match := re.match(r"(?:struct|class|enum class|enum)\s+(\w+)", text):
        return [(match[1], object())]
    if text.startswith("static_assert"):
        return []
    call, equals = re.search(r"(\w+)\s*\(", text), text.find("=")
    if call and (equals < 0 or call.start() < equals):
        return [(call[1], object())]
    declarators = (re.search(r"([A-Za-z_]\w*)\s*(?:\[[^\]]*\]\s*)*$", one.split("=")[0]) for one in parted(text))
    return [(match[1], object()) for match in declarators if match]


def parted(text: str):
    """The text at its commas, but for those in brackets."""
    depth, begin = 0, 0
    for mark in re.finditer(r"<<|[<(\[{]|[>)\]}]|,", text):
        if mark[0] == "," and depth == 0:
            yield text[begin:mark.start()]
            begin = mark.end()
        depth += 1 if mark[0] in "<([{" else -1 if mark[0] in ">)]}" else 0
    yield text[begin:]


def namespaces(code: str) -> set:
    return set(re.findall(r"^namespace (linac[\w:]*)", code, flags=re.M))


class Header:
    """A header of the tree: what it includes, and the names at its outermost level, which is what is not indented."""

    def __init__(self, path: str):
        text = read(path)
        code = without_texts(text)
        self.includes, self.namespaces, self.slow = includes(text), namespaces(code), set(SLOW.findall(text))
        self.names = set()
        for line in code.splitlines():
            if match := re.match(r"(?:struct|class|enum class|enum)\s+(\w+)", line) or re.match(r"[^\s#].*?\b(\w+)\(", line):
                self.names.add(match[1])


def includes(text: str) -> list:
    return re.findall(r'^#include "(linac/[^"]+)"', text, flags=re.M)


@functools.cache
def header(root: str, name: str) -> Header | None:
    path = pathlib.Path(root, name)
    return Header(str(path)) if path.exists() else None


@functools.cache
def reached(root: str, name: str) -> frozenset:
    """The headers that including one brings, itself among them."""
    seen, open_ = set(), [name]
    while open_:
        one = open_.pop()
        if one not in seen and (found := header(root, one)):
            seen.add(one)
            open_ += found.includes
    return frozenset(seen)


class Source:
    def __init__(self, path: str):
        text = read(path)
        code = without_texts(text)
        self.path, self.lines = path, text.count("\n") + 1
        self.names = dict(name for declaration in declarations(code) for name in names_of(declaration))
        # What it calls, and the types and constants that it names, unqualified.
        self.used = set(re.findall(r"(?<![\w.>:])(?:\w+(?=\()|[A-Z]\w*|k[A-Z]\w*)", code))
        root = path[:path.rindex("/linac/")]
        own = namespaces(code)
        headers = frozenset().union(*(reached(root, name) for name in includes(text)))
        self.slow = sorted(set(SLOW.findall(text)).union(*(header(root, one).slow for one in headers)))
        self.declared = {name for one in headers if header(root, one).namespaces & own for name in header(root, one).names}

    def harms(self, other: "Source") -> bool:
        """Whether one of its names would mean two things, or another thing to the other source."""
        for name, what in self.names.items():
            if name in other.names:
                if other.names[name] != what:
                    return True
            elif name in other.used or (name in other.declared and name not in self.declared):
                return True
        return False


class Batch:
    def __init__(self):
        self.lines, self.sources = 0, []

    def takes(self, source: Source, lines_max: int) -> bool:
        return not self.sources or (self.lines + source.lines <= lines_max
                                    and not any(source.harms(other) or other.harms(source) for other in self.sources))

    def add(self, source: Source):
        self.lines += source.lines
        self.sources.append(source)


def batches_of(paths: list, lines_max: int) -> list[Batch]:
    """Each source into the first batch that takes it: those with slow headers first, by which ones, and of them the largest."""
    batches = []
    for source in sorted(map(Source, sorted(paths)), key=lambda source: (not source.slow, source.slow, -source.lines)):
        batch = next((b for b in batches if b.takes(source, lines_max)), None)
        if batch is None:
            batches.append(batch := Batch())
        batch.add(source)
    return batches


def main() -> int:
    lines_max = int(sys.argv[1])
    pairs = sorted(line.split(" ", 1) for line in read(sys.argv[2]).splitlines())
    for target, group in itertools.groupby(pairs, key=lambda pair: pair[0]):
        for i, batch in enumerate(batches_of([path for _, path in group], lines_max)):
            if len(batch.sources) > 1:
                for source in batch.sources:
                    print(target, i, source.path)
    return 0


sys.exit(main())
