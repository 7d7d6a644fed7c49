#!/usr/bin/env python3
"""Which of the tests that are not in every pass of .ci/run have their turn: the long ones, and those of servers that take minutes to bring.

They are dealt into PARTS parts of about equal seconds, the same way each time. The part whose tests ran the longest ago is due, by
tests/turns.txt, the record in the repository. .ci/run leaves its lines in build/turns, and who lands a change commits them:

  turns.py BUILD                 the parts, their servers and seconds, and which is due
  turns.py BUILD --servers       the servers of the part that is due, for tests/servers/get.sh
  turns.py --record              moves what is in build/turns to tests/turns.txt

Where nobody has committed lines for a long time, the part follows from the number of commits instead."""

import dataclasses
import datetime
import json
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
RECORD = ROOT / "tests" / "turns.txt"
LOCAL = ROOT / "build" / "turns"
# What the tests of `make test` take, side by side on two cores: a line for each, copied now and then from build/release/Testing/seconds.txt.
SECONDS = ROOT / "tests" / "seconds.txt"
PARTS = 10
# A record that is this many commits old is not kept, and the number of commits chooses.
STALE_COMMITS = 60

# Seconds to bring these where nothing is cached, on two cores, about. `kubelet` is beside `kubernetes`; `image` is the container image of this
# tree. Others are Debian's packages, which every pass brings.
SERVERS = {"kubernetes": 300, "kubelet": 30, "opentofu": 400, "kubeflow": 20, "tfspawner": 20, "gcsemulator": 20, "azurite": 30, "aarch64": 40, "nvcc": 10, "docs": 40, "packaging": 20, "image": 150}


@dataclasses.dataclass(frozen=True)
class Test:
    name: str
    command: list[str]
    cost: float  # what orders: those that want two cores first, then by seconds, or by CMake's COST where they are not known
    long: bool
    needs: frozenset[str]
    seconds: float  # expected


@dataclasses.dataclass
class Part:
    number: int
    tests: list[Test] = dataclasses.field(default_factory=list)

    def servers(self) -> list[str]:
        """In the order in which they are brought."""
        needed = {name for test in self.tests for name in test.needs}
        return [name for name in SERVERS if name in needed]

    def seconds(self, cached: bool = False) -> float:
        return sum(test.seconds for test in self.tests) + (0 if cached else sum(SERVERS[name] for name in self.servers()))

    def weight_with(self, test: Test) -> float:
        """Servers count half: a pass brings them once for all that come after it."""
        more = Part(self.number, [*self.tests, test])
        return (more.seconds() + more.seconds(cached=True)) / 2


def measured(path: pathlib.Path = SECONDS) -> dict[str, float]:
    lines = path.read_text().splitlines() if path.exists() else []
    return {words[0]: float(words[1]) for line in lines if (words := line.split()) and not line.startswith("#")}


def tests_of(build: pathlib.Path) -> list[Test]:
    shown = subprocess.run(["ctest", "--test-dir", str(build), "--show-only=json-v1"], capture_output=True, text=True, check=True)
    tests, known = [], measured()
    for test in json.loads(shown.stdout)["tests"]:
        of = {one["name"]: one["value"] for one in test.get("properties", [])}
        labels, cost = of.get("LABELS", []), float(of.get("COST", 0))
        needs = frozenset(label.removeprefix("needs-") for label in labels if label.startswith("needs-"))
        is_long = "long" in labels
        seconds = cost if is_long else known.get(test["name"], 60.0)
        order = known.get(test["name"], cost) + (10000 if of.get("PROCESSORS", 1) > 1 else 0)
        tests.append(Test(test["name"], test.get("command", []), order, is_long, needs, seconds))
    return tests


def deal(tests: list[Test], parts: int = PARTS) -> list[Part]:
    """The longest first, each to the part that is the lightest with it: those of one server come together as long as that pays."""
    dealt = [Part(number) for number in range(parts)]
    for test in sorted((test for test in tests if test.long or test.needs & SERVERS.keys()), key=lambda test: (-test.seconds, test.name)):
        min(dealt, key=lambda part: (part.weight_with(test), part.number)).tests.append(test)
    return dealt


def read(path: pathlib.Path) -> dict[str, list[str]]:
    """By test: date, commit, seconds and outcome of its last turn, as they stand in the line."""
    if not path.exists():
        return {}
    lines = [line.split() for line in path.read_text().splitlines() if line.strip() and not line.startswith("#")]
    return {name: rest for name, *rest in lines}


def last_turns() -> dict[str, list[str]]:
    """The record, and what passes on this machine have added."""
    turns = read(RECORD)
    for name, line in read(LOCAL).items():
        if name not in turns or line[0] > turns[name][0]:
            turns[name] = line
    return turns


def commits(span: str = "HEAD") -> int:
    done = subprocess.run(["git", "-C", str(ROOT), "rev-list", "--count", span], capture_output=True, text=True)
    return int(done.stdout) if done.returncode == 0 else 0


def stale(turns: dict[str, list[str]]) -> bool:
    newest = max(turns.values(), key=lambda line: line[0], default=None)
    return newest is None or commits(f"{newest[1]}..HEAD") > STALE_COMMITS


def choose(parts: list[Part], turns: dict[str, list[str]], is_stale: bool, count: int) -> Part:
    """A failed test has not had its turn: it comes again. Parts that are equally old begin with another one for each commit."""
    if is_stale:
        return parts[count % len(parts)]

    def last(part: Part) -> str:
        return min((turns[test.name][0] if test.name in turns and turns[test.name][3] != "failed" else "" for test in part.tests), default="9")

    return min(parts, key=lambda part: (last(part), (part.number - count) % len(parts)))


def due(parts: list[Part]) -> Part:
    turns = last_turns()
    return choose(parts, turns, stale(turns), commits())


def line_of(name: str, rest: list[str]) -> str:
    return f"{name:32} {' '.join(rest)}"


def write_ran(path: pathlib.Path, ran: list) -> None:
    """Adds results of tests/run.py."""
    commit = subprocess.run(["git", "-C", str(ROOT), "rev-parse", "--short", "HEAD"], capture_output=True, text=True).stdout.strip() or "-"
    now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [line_of(one.name, [now, commit, f"{one.seconds:.0f}", one.outcome]) for one in ran]
    with open(path, "a") as file:
        file.write("".join(line + "\n" for line in lines))
    print("\nFor tests/turns.txt (tests/runner/turns.py --record):\n" + "\n".join(lines))


def record() -> None:
    head = [line for line in RECORD.read_text().splitlines() if line.startswith("#")]
    RECORD.write_text("\n".join(head + [line_of(name, line) for name, line in sorted(last_turns().items())]) + "\n")
    LOCAL.unlink(missing_ok=True)


def main() -> None:
    if sys.argv[1:] == ["--record"]:
        return record()
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    parts = deal(tests_of(pathlib.Path(sys.argv[1])))
    now = due(parts)
    if sys.argv[2:] == ["--servers"]:
        return print(" ".join(now.servers()))
    for part in parts:
        print(f"{'>' if part is now else ' '} {part.number}: {part.seconds(cached=True):4.0f} s, {part.seconds():4.0f} s with {' '.join(part.servers()) or 'no servers'}")
        for test in part.tests:
            print(f"     {test.seconds:5.0f}  {test.name}")


if __name__ == "__main__":
    main()
