#!/usr/bin/env python3
"""batches.py LINES SOURCE...: which sources are compiled together, a line each: the number of its batch, a space, its path.

A batch has about LINES lines, at least one source, and no two sources that give different things the same name in their anonymous
namespaces: they would meet in one translation unit. Names are found by reading braces, not by a compiler; a source for which that
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


class Batch:
    def __init__(self):
        self.lines, self.names = 0, {}

    def takes(self, lines: int, names: dict, lines_max: int) -> bool:
        return self.lines == 0 or (self.lines + lines <= lines_max and all(self.names.get(n, t) == t for n, t in names.items()))

    def add(self, lines: int, names: dict):
        self.lines += lines
        self.names |= names


def main() -> int:
    lines_max, batches = int(sys.argv[1]), []
    for source in sys.argv[2:]:
        code = pathlib.Path(source).read_text(errors="replace")
        lines = code.count("\n") + 1
        names = dict(name for declaration in declarations(without_texts(code)) for name in names_of(declaration))
        batch = next((b for b in batches if b.takes(lines, names, lines_max)), None)
        if batch is None:
            batches.append(batch := Batch())
        batch.add(lines, names)
        print(batches.index(batch), source)
    return 0


sys.exit(main())
