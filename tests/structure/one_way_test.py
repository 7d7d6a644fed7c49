#!/usr/bin/env python3
"""What the product does by one file alone: it makes processes (base/base/child_process.cpp) and locks files (base/base/sole_lock.cpp).

Tests make their own processes."""

import pathlib
import re
import sys

SOURCES = pathlib.Path(__file__).resolve().parents[2] / "src" / "linac"
ONE_WAY = {
    "base/base/child_process.cpp": re.compile(r"(?<![\w.>])(?:fork|vfork|posix_spawnp?|popen|system|clone|clone3)\("),
    "base/base/sole_lock.cpp": re.compile(r"(?<![\w.>])(?:flock|lockf)\(|\bF_(?:OFD_)?SETLKW?\b"),
}


def code(text: str) -> str:
    """Without comments and texts."""
    return re.sub(r'//[^\n]*|"(?:[^"\\\n]|\\.)*"', "", text)


def main() -> None:
    files = [f for end in ("cpp", "h", "cu") for f in SOURCES.rglob(f"*.{end}") if not f.name.endswith("_test.cpp") and not f.name.startswith("test_")]
    users = {one: [str(f.relative_to(SOURCES)) for f in files if calls.search(code(f.read_text()))] for one, calls in ONE_WAY.items()}
    for one, found in users.items():
        others = sorted(set(found) - {one})
        if one not in found or others:
            sys.exit(f"FAILED: {one} is the one way, and not the one of {', '.join(others) or 'anybody: this test looks for other calls'}")
        print(f"ok    {one}")


if __name__ == "__main__":
    main()
