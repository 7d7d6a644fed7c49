#!/usr/bin/env python3
"""Runs tests of a build by ctest, and tells at the end what was left out and what brings it. The last line is `N passed, N failed, N skipped`,
where a test that ran but left out a part of itself counts as passed, and the part as skipped.

  tests/run.py BUILD                 what `make test` runs: all but the long ones, as many side by side as there are cores, and two more
  tests/run.py BUILD --long          the long ones, one after another
  tests/run.py BUILD --part due      those whose turn it is (tests/runner/turns.py); --part 3: those of this part
  tests/run.py BUILD -R REGEX        those of this name, long or not
    --strict           a skip that tests/skips.txt does not allow is a failure
    --brought NAME...  servers that this pass has brought: for want of one of these no test may skip
    --light-servers    brings Debian's packages of them first, where this user may and LINAC_SKIP_APT is not 1
    --ran FILE         one more line there for each test that has had its turn, for tests/runner/turns.py
    --again N          where at most N tests failed, they are run once more, alone: one that passes then has passed, and is told as shaky

Exit status 1 if a test failed, if there was none, and with --strict for a skip that is not allowed."""

import argparse
import collections
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

from runner import minutes, results, skip_list, turns
from runner.cpu import Watch

ROOT = pathlib.Path(__file__).resolve().parents[1]


def bring_light_servers() -> str:
    """Why they were not brought, or nothing."""
    if os.environ.get("LINAC_SKIP_APT") == "1":
        return "LINAC_SKIP_APT is 1"
    if os.geteuid() != 0 and subprocess.run(["sh", "-c", "sudo -n true"], capture_output=True).returncode != 0:
        return "this user is not root and has no sudo"
    done = subprocess.run([ROOT / "tests/servers/get.sh", "light"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    return "" if done.returncode == 0 else f"get.sh ended with status {done.returncode}: {(done.stderr.strip().splitlines() or [''])[-1]}"


def longest_first(build: pathlib.Path, tests: list[turns.Test]) -> None:
    """What ctest remembers of former runs would leave those that want two cores for the end, when nothing is left to run beside them: its
    memory is what the tree says."""
    memory = build / "Testing/Temporary/CTestCostData.txt"
    memory.parent.mkdir(parents=True, exist_ok=True)
    memory.write_text("".join(f"{test.name} 1 {test.cost:g}\n" for test in tests) + "---\n")


def names_regex(names: list[str]) -> str:
    return "^(" + "|".join(map(re.escape, names)) + ")$"


def chosen(options: argparse.Namespace, tests: list[turns.Test]) -> tuple[list[turns.Test], int]:
    """The tests to run, and how many side by side."""
    if options.R:
        return [test for test in tests if re.search(options.R, test.name)], options.jobs
    if options.part:
        parts = turns.deal(tests)
        return (turns.due(parts) if options.part == "due" else parts[int(options.part)]).tests, 1
    if options.long:
        return [test for test in tests if test.long], 1
    return [test for test in tests if not test.long], options.jobs + 2


def carry_out(build: pathlib.Path, tests: list[turns.Test], side_by_side: int) -> tuple[list[results.Result], float, int]:
    """How each ended, the seconds of all by the clock, and ctest's exit status."""
    longest_first(build, tests)
    with tempfile.TemporaryDirectory(prefix="linac-tests-") as folder:
        junit, begin = pathlib.Path(folder, "junit.xml"), time.monotonic()
        words = ["ctest", "--test-dir", build, "--parallel", side_by_side, "-R", names_regex([test.name for test in tests]), "--output-on-failure",
                 "--output-junit", junit, "--test-output-size-passed", 1 << 24, "--test-output-size-failed", 1 << 24, "--no-tests=error"]
        process = subprocess.Popen([str(word) for word in words])
        with Watch(process.pid, {test.name: test.command for test in tests}) as watch:
            status = process.wait()
        ran, seconds = results.read(junit) if junit.exists() else [], time.monotonic() - begin
    for one in ran:
        one.cpu_s = watch.seconds.get(one.name)
    return ran, seconds, status


def tell_failure(one: results.Result, how: str) -> None:
    print(f"\n{one.name} {how}:\n" + "\n".join("  " + line for line in one.evidence))


def tell_times(build: pathlib.Path, ran: list[results.Result], seconds: float, cpu_s: float) -> None:
    (build / "Testing/seconds.txt").write_text("".join(f"{one.name:32} {one.seconds:.1f} {one.cpu_s or 0:.1f}\n" for one in sorted(ran, key=lambda one: one.name)))
    print(f"\n{len(ran)} tests in {seconds / 60:.1f} min by the clock, {cpu_s / 60:.1f} CPU min; the longest, in seconds (clock, CPU about):")
    for one in sorted(ran, key=lambda one: -one.seconds)[:15]:
        print(f"  {one.seconds:7.1f} {'-' if one.cpu_s is None else f'{one.cpu_s:.1f}':>7}  {one.name}")


def tell_skips(skips: list[results.Skip], allowed: dict[results.Skip, str]) -> int:
    """Each part with its reason, in one line the tests of one reason; how many parts there are, those left aside that run elsewhere."""
    together = collections.defaultdict(list)
    for skip in skips:
        if allowed[skip] != skip_list.ELSEWHERE:
            together[skip.test, skip.why, skip.brings].append(skip)
    if together:
        print("\nSkipped:")
    for (test, why, brings), parts in together.items():
        what = parts[0].what + (f" and {len(parts) - 1} more" if len(parts) > 1 else "")
        missing = sorted({need for part in parts for need in allowed[part].split()})
        note = "" if all(allowed[part] for part in parts) else " [not allowed by tests/skips.txt]"
        print(f"  {test}{'' if what == results.ALL else f' ({what})'}: {why}{f'; missing: {chr(32).join(missing)}' if missing else ''}{note}")
    commands = sorted({skip.brings for skip in skips if skip.brings})
    servers = sorted({name for command in commands if command.startswith("tests/servers/get.sh") for name in command.split()[1:]})
    others = [command for command in commands if not command.startswith("tests/servers/get.sh")]
    if commands:
        print("  this brings them: " + " && ".join([*([f"tests/servers/get.sh {' '.join(servers)}"] if servers else []), *others]))
    return len(together)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--long", action="store_true")
    parser.add_argument("--part")
    parser.add_argument("-R", metavar="REGEX")
    parser.add_argument("--strict", action="store_true")
    parser.add_argument("--light-servers", action="store_true")
    parser.add_argument("--brought", nargs="*", default=os.environ.get("LINAC_BROUGHT", "").split())
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--skips", type=pathlib.Path, default=ROOT / "tests" / "skips.txt")
    parser.add_argument("--ran", type=pathlib.Path)
    parser.add_argument("--again", type=int, default=0)
    options = parser.parse_args()
    not_brought = bring_light_servers() if options.light_servers else ""

    tests, side_by_side = chosen(options, turns.tests_of(options.build))
    ran, seconds, status, shaky = [], 0.0, 0, []
    before = minutes.cpu_of_children()
    if tests:
        ran, seconds, status = carry_out(options.build, tests, side_by_side)
        failed = [one for one in ran if one.outcome == results.FAILED]
        if 0 < len(failed) <= options.again:
            print(f"\nOnce more, alone: {' '.join(one.name for one in failed)}", flush=True)
            again, more, status = carry_out(options.build, [test for test in tests if test.name in {one.name for one in failed}], 1)
            seconds += more
            second = {one.name: one for one in again}
            shaky = [one for one in failed if one.name in second and second[one.name].outcome != results.FAILED]
            ran = [second.get(one.name, one) for one in ran]
        tell_times(options.build, ran, seconds, minutes.cpu_of_children() - before)

    machine, lines = skip_list.Machine(options.brought, options.build), skip_list.read(options.skips)
    skips = [skip for one in ran for skip in one.skips]
    allowed = {skip: skip_list.why_allowed(skip, lines, machine) for skip in skips}
    skipped = tell_skips(skips, allowed)
    if not_brought:
        print(f"The servers that Debian has were not brought ({not_brought}): tests/servers/get.sh light")
    if options.ran:
        turns.write_ran(options.ran, ran)

    failed = [one.name for one in ran if one.outcome == results.FAILED]
    forbidden = [skip for skip in skips if not allowed[skip]] if options.strict else []
    for one in shaky:
        tell_failure(one, "is shaky: it failed beside others, as follows, and passed alone")
    if failed:
        for one in ran:
            if one.outcome == results.FAILED:
                tell_failure(one, "failed")
        print("\nFailed: " + " ".join(failed))
    if forbidden:
        print(f"\n{len(forbidden)} skips that tests/skips.txt does not allow here: bring what is missing, or add a line that says what they need")
    if not tests:
        print("\nThere is no such test")
    elif status != 0 and not failed:
        print(f"\nctest ended with status {status}")
        failed = ["ctest"]
    passed = sum(one.outcome == results.PASSED for one in ran)
    minutes.tally(passed, len(failed) + (1 if forbidden else 0), skipped)
    sys.stdout.flush()
    print(f"{passed} passed, {len(failed) + (1 if forbidden else 0)} failed, {skipped} skipped", flush=True)
    return 1 if failed or forbidden or not ran else 0


if __name__ == "__main__":
    sys.exit(main())
