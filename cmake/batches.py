#!/usr/bin/env python3
"""batches.py LINES SOURCE...: which sources are compiled together, a line each: the number of its batch, a space, its path.

A batch has about LINES lines, at least one source, and no two sources that give different things the same name in their anonymous
namespaces, or of which one means something else by such a name: they would meet in one translation unit. Names are found by reading braces, not by a compiler; a source for which that
does not do is kept out by CMake's property SKIP_UNITY_BUILD_INCLUSION.
"""

import pathlib
import re
import sys


def without_texts(code: str) -> str:
    code = re.sub(r'R"(\w*)\(.*?\)\1"', '""', code, flags=re.S)
    return re.sub(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|(?<!\w)\'(?:\\.|[^\'\\\n])*\'', lambda m: '""' if m[0][0] in "\"'" else "", code, flags=re.S)


def declarations(code: str):
    """What stands directly in an anonymous namespace: each declaration up to its body or semicolon."""
    for start in re.finditer(r"\bnamespace \{", code):
        depth, text = 1, ""
        for c in code[start.end():]:
            if c == "{":
                if depth == 1:
                    yield text
                    text = ""
                depth += 1
            elif c == "}":
                depth -= 1
                text = ""
            elif depth == 1 and c == ";":
                yield text
                text = ""
            elif depth == 1:
                text += c
            if depth == 0:
                break


def names_of(declaration: str):
    """(name, what tells two equal declarations from two different ones), of each name. Equal aliases may meet."""
    text = " ".join(line for line in declaration.splitlines() if not line.startswith("#")).strip()
    text = re.sub(r"^template\s*<[^>]*>\s*", "", text)
    if match := re.match(r"(?:TEST|TEST_F|TEST_P)\(\s*(\w+),\s*(\w+)\s*\)", text):
        return [(match[1] + "." + match[2], object())]
    if match := re.match(r"using\s+(\w+)\s*=", text) or re.match(r"(?:using|namespace)\s+(?:[\w:]+::)?(\w+)", text):
        return [(match[1], " ".join(text.split()))]
    if match := re.match(r"(?:struct|class|enum class|enum)\s+(\w+)", text):
        return [(match[1], object())]
    call, equals = re.search(r"(\w+)\s*\(", text), text.find("=")
    if call and (equals < 0 or call.start() < equals):
        return [(call[1], object())]
    return [(name, object()) for name in re.findall(r"(\w+)\s*(?:\[[^\]]*\]\s*)*(?:=|$)", text)]


def declared_beside(sources: list) -> set:
    """Names at the outermost level of the headers in the sources' folders: what is not indented."""
    names = set()
    for header in {header for source in sources for header in pathlib.Path(source).parent.glob("*.h")}:
        for line in without_texts(header.read_text(errors="replace")).splitlines():
            if match := re.match(r"(?:struct|class|enum class|enum)\s+(\w+)", line) or re.match(r"[^\s#].*?\b(\w+)\(", line):
                names.add(match[1])
    return names


class Source:
    def __init__(self, path: str):
        text = pathlib.Path(path).read_text(errors="replace")
        code = without_texts(text)
        self.path, self.lines = path, text.count("\n") + 1
        self.names = dict(name for declaration in declarations(code) for name in names_of(declaration))
        # What it calls, and the types and constants that it names, unqualified.
        self.used = set(re.findall(r"(?<![\w.>:])(?:\w+(?=\()|[A-Z]\w*|k[A-Z]\w*)", code))

    def hides(self, declared: set) -> bool:
        """Whether it has a name of its own for what a header of the module declares."""
        return any(name in declared for name in self.names)

    def meets(self, other: "Source") -> bool:
        """Whether a name would mean two things."""
        return any(other.names.get(name, what) != what or (name not in other.names and name in other.used) for name, what in self.names.items())


class Batch:
    def __init__(self):
        self.lines, self.sources = 0, []

    def takes(self, source: Source, lines_max: int) -> bool:
        return not self.sources or (self.lines + source.lines <= lines_max
                                    and not any(source.meets(other) or other.meets(source) for other in self.sources))

    def add(self, source: Source):
        self.lines += source.lines
        self.sources.append(source)


def main() -> int:
    lines_max, batches, alone = int(sys.argv[1]), [], []
    declared = declared_beside(sys.argv[2:])
    for source in map(Source, sys.argv[2:]):
        if source.hides(declared):
            alone.append(source)
            continue
        batch = next((b for b in batches if b.takes(source, lines_max)), None)
        if batch is None:
            batches.append(batch := Batch())
        batch.add(source)
        print(batches.index(batch), source.path)
    for i, source in enumerate(alone):
        print(len(batches) + i, source.path)
    return 0


sys.exit(main())
