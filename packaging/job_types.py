#!/usr/bin/env python3
"""Writes python/linac/_job.py, the types of a job's settings, from docs/reference/settings.md, which follows from the structs of the job.

  packaging/job_types.py            writes it
  packaging/job_types.py --check    ends with status 1 where it is not what would be written"""

import keyword
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs/reference/settings.md"
TYPES = ROOT / "python/linac/_job.py"
ROW = re.compile(r"^\| `([\w.\[\]]+)` \| ([^|]+) \|")
HEAD = '''"""The settings of a job as types, so that an editor completes and mypy checks them: job: linac.Job = {"train": {"epochs": 3}}.

Written by packaging/job_types.py from docs/reference/settings.md, which says what each means and its default."""

from typing import Any, TypedDict
'''
PLAIN = {"text": "str", "integer": "int", "number": "float", "true or false": "bool", "map": "dict[str, Any]"}


def annotation(kind: str, inner: str) -> str:
    if kind == "list of maps":
        return f"list[{inner}]"
    if match := re.fullmatch(r"list of (text|integer|number)s", kind):
        return "{0} | list[{0}]".format(PLAIN[match[1]])  # a single one may stand for a list of it
    if kind.endswith(", auto"):
        return PLAIN[kind.removesuffix(", auto")] + " | str"
    return PLAIN[kind]


def classes(page: str) -> str:
    """A class for each map of settings, the innermost first."""
    tree: dict[str, dict[str, str]] = {"": {}}
    for line in page.splitlines():
        if (match := ROW.match(line)) is None or match[1] == "setting":
            continue
        *path, last = match[1].replace("[]", "").split(".")
        for depth, name in enumerate(path):
            outer, own = ".".join(path[:depth]), ".".join(path[: depth + 1])
            tree.setdefault(own, {})
            tree[outer].setdefault(name, class_name(own))
        own = ".".join([*path, last])
        tree[".".join(path)][last] = annotation(match[2].strip(), class_name(own))
    order = sorted(tree, key=lambda name: (-name.count(".") if name else 1, name))
    return "".join("\n\n" + definition(class_name(name), tree[name]) for name in order)


def definition(name: str, fields: dict[str, str]) -> str:
    if any(map(keyword.iskeyword, fields)):  # model.from
        return f"{name} = TypedDict(\n    \"{name}\",\n    {{\n" + "".join(f'        "{key}": {kind},\n' for key, kind in fields.items()) + "    },\n    total=False,\n)\n"
    return f"class {name}(TypedDict, total=False):\n" + "".join(f"    {key}: {kind}\n" for key, kind in fields.items())


def class_name(path: str) -> str:
    return "".join(word.capitalize() for word in re.split(r"[._]", path)) if path else "Job"


def main() -> None:
    made = HEAD + classes(PAGE.read_text())
    if sys.argv[1:] == ["--check"]:
        if TYPES.read_text() != made:
            sys.exit(f"{TYPES} is older than {PAGE}: packaging/job_types.py")
    else:
        TYPES.write_text(made)


if __name__ == "__main__":
    main()
