"""Rules of a program that are broken on purpose, one by one: a simulation of schedules of faults must find each. A rule whose text is not found
where it is looked for fails the test, so a list of them stays true."""

import os
import pathlib
import re
import subprocess
import tempfile
from collections.abc import Callable

from .checks import check
from .runs import ROOT

CXX = os.environ.get("CXX", "g++")
# What it says; the file; the text; what stands there instead.
Rule = tuple[str, str, str, str]
Compile = Callable[[pathlib.Path, pathlib.Path], None]  # the object, its source
Link = Callable[[pathlib.Path, list[pathlib.Path]], None]


def compiled(path: pathlib.Path, source: pathlib.Path) -> None:
    subprocess.run([CXX, "-std=c++20", "-O1", f"-I{ROOT / 'src'}", "-c", source, "-o", path], check=True)


def violation(program: pathlib.Path, schedules: int, chosen: str) -> str:
    """What the simulation has to say; "" if it finds nothing."""
    done = subprocess.run([program, "--gtest_brief=1", "--gtest_fail_fast", f"--gtest_filter={chosen}"],
                          env={**os.environ, "LINAC_SIM_SCHEDULES": str(schedules)}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=600)
    found = re.search(r"at (?:\d+(?: ms)?|the end): [^\"\n]*", done.stdout)
    return "" if done.returncode == 0 else found[0] if found else done.stdout[-300:]


def find_all(folder: pathlib.Path, sources: list[str], rules: list[Rule], link: Link, schedules: int, compile_to: Compile = compiled, chosen: str = "*",
             times: int = 1) -> None:
    """`sources` of `folder`, each compiled alone; `link` makes a program of their objects, whose tests `chosen` play the schedules. With all
    rules they play so many times as many."""
    with tempfile.TemporaryDirectory(prefix="linac-mutation-") as name:
        root = pathlib.Path(name)
        objects = {source: root / f"{source}.o" for source in sources}
        for source, path in objects.items():
            compile_to(path, folder / source)
        link(root / "whole", list(objects.values()))
        found = violation(root / "whole", times * schedules, chosen)
        check(found == "", f"with all rules nothing is found in {times * schedules} schedules {found}")
        for number, (rule, source, text, broken) in enumerate(rules):
            whole = (folder / source).read_text()
            check(whole.count(text) == 1, f"{source} has the rule: {rule}")
            changed = root / f"rule{number}.cpp"
            changed.write_text(whole.replace(text, broken))
            compile_to(root / f"rule{number}.o", changed)
            link(root / f"rule{number}", [path for name, path in objects.items() if name != source] + [root / f"rule{number}.o"])
            found = violation(root / f"rule{number}", schedules, chosen)
            check(found != "", f"without it the simulation says: {found}")
