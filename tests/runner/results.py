"""What ctest has written of its tests (--output-junit): how each ended, and what each has left out."""

import dataclasses
import pathlib
import re
import xml.etree.ElementTree

PASSED, FAILED, SKIPPED = "passed", "failed", "skipped"
ALL = "all"  # the part that is the whole test


@dataclasses.dataclass(frozen=True)
class Skip:
    """A part of a test that was left out; `brings` is the command after which it is not, or nothing."""
    test: str
    what: str
    why: str
    brings: str = ""


@dataclasses.dataclass
class Result:
    name: str
    outcome: str
    seconds: float
    skips: list[Skip]
    cpu_s: float | None = None
    evidence: list[str] = dataclasses.field(default_factory=list)  # of a failed one: the lines that tell why


# tests/lib/skips.py: SKIPPED what: why; command
OWN = re.compile(r"^\s*SKIPPED ([^:\n]+): ([^;\n]*)(?:; (.*))?$", re.M)
# GoogleTest: "file:line: Skipped", the reason, and the name of the test with how long it took.
GOOGLE = re.compile(r"^[^\n]*:\d+: Skipped\n(.*?)^\[  SKIPPED \] (\S+?),? [^\n]*\(\d+ ms\)$", re.M | re.S)
# Node.js' reporter "spec", and the count of pytest, which names none.
NODE = re.compile(r"^\s*﹣ (.+?) \([\d.]+ms\)(?: # (.*))?$", re.M)
PYTEST = re.compile(r"^=+ .*?(\d+) skipped.* in [\d.]+s", re.M)
# The command in a reason of a test that says all in one text: "no sshd (tests/servers/get.sh sshd)", "no server: tests/servers/get.sh gcs; it also ..."
COMMAND = re.compile(r"(?:tests/servers/get\.sh|deps/get\.sh|bench/peers/setup\.sh|make image|apt(?:-get)? install)[^;,)]*")


def skips_in(test: str, output: str) -> list[Skip]:
    """Of a test that has run: the parts that it says to have left out."""
    found = [Skip(test, what.strip(), why.strip(), (brings or "").strip()) for what, why, brings in OWN.findall(output)]
    found += [Skip(test, name, " ".join(why.split()) or "no reason given") for why, name in GOOGLE.findall(output)]
    found += [Skip(test, name.strip(), (why or "no reason given").strip()) for name, why in NODE.findall(output)]
    found += [Skip(test, f"{count} of pytest", "pytest names them with -rs") for count in PYTEST.findall(output)]
    return list(dict.fromkeys(found))


def whole(test: str, output: str) -> list[Skip]:
    """Of a test whose exit status says that it is skipped: what it says itself, or the last line that it has printed."""
    found = skips_in(test, output)
    if any(skip.what == ALL for skip in found):
        return found
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    why = re.sub(r"^skipped: |: skipped$", "", lines[-1]) if lines else "no reason given"
    command = COMMAND.search(why)
    return [*found, Skip(test, ALL, why, command.group().strip() if command else "")]


# GoogleTest: "file:line: Failure" and what follows, up to the next event.
GOOGLE_FAILURE = re.compile(r"^[^\n]*:\d+: Failure\n(?:(?!\[ |[^\n]*:\d+: (?:Failure|Skipped)).*\n?)*", re.M)
# Python: the traceback, the line before it, which names the part that failed where a test has several, and the error.
PYTHON_FAILURE = re.compile(r"^(?:[^\n]*\n)?Traceback \(most recent call last\):\n(?:[ \t]+[^\n]*\n|\n)*[^\n]*$", re.M)
EVIDENCE_LINES, EVIDENCE_WIDTH = 40, 240


def evidence(output: str) -> list[str]:
    """What a failed test says of its failure: GoogleTest's failures and which tests had them, Python's tracebacks, else its last lines.
    Bounded, since a log may keep the end only."""
    blocks = [match.group().rstrip().splitlines()[:8] for match in GOOGLE_FAILURE.finditer(output)]
    for traceback in (match.group().splitlines() for match in PYTHON_FAILURE.finditer(output)):
        blocks.append(traceback if len(traceback) <= 12 else [*traceback[:2], "  ...", *traceback[-9:]])
    lines = [line for block in blocks for line in block][:EVIDENCE_LINES] + re.findall(r"^\[  FAILED  \] .*\(\d+ ms\)$", output, re.M)
    lines = lines or [line for line in output.splitlines() if line.strip()][-EVIDENCE_LINES // 2:]
    return [line[:EVIDENCE_WIDTH] for line in lines[-EVIDENCE_LINES:]]


def read(junit: pathlib.Path) -> list[Result]:
    results = []
    for case in xml.etree.ElementTree.parse(junit).getroot().iter("testcase"):
        name, output = case.get("name"), case.findtext("system-out") or ""
        message = skipped.get("message", "") if (skipped := case.find("skipped")) is not None else None
        if case.get("status") == "run":
            outcome, skips = PASSED, skips_in(name, output)
        elif message is not None and message.startswith("SKIP_"):
            outcome, skips = SKIPPED, whole(name, output)
        elif case.get("status") == "disabled":
            outcome, skips = SKIPPED, [Skip(name, ALL, "disabled in CMake")]
        else:  # failed, or not run for want of its program or of what it follows
            outcome, skips = FAILED, skips_in(name, output)
        told = evidence(output) if outcome == FAILED else []
        results.append(Result(name, outcome, float(case.get("time") or 0), skips, evidence=told))
    return results
