#!/usr/bin/env python3
"""What runs the tests, on a small project of its own: how skips are read and held against a list, the last line, the exit status; and that ten
passes of .ci/run give every test its turn, within seconds that are told. runner_test.py [BUILD]: with the tests of this build too."""

import contextlib
import io
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

from lib import paths
from lib.runs import ROOT

paths.add("tests")
from runner import cpu, minutes, results, skip_list, turns  # noqa: E402

BUILD = pathlib.Path(sys.argv.pop(1)) if len(sys.argv) > 1 else None
# Of the long tests in one pass of .ci/run, by the clock on two cores: with the servers in the cache, and where they are brought first.
CACHED_S, BARE_S = 640, 1250

PROJECT = """cmake_minimum_required(VERSION 3.22)
project(small NONE)
enable_testing()
add_test(NAME good COMMAND sh -c "x=0; while [ $x -lt 300000 ]; do x=$((x+1)); done")
add_test(NAME half COMMAND sh -c "echo 'SKIPPED the other half: no such server; tests/servers/get.sh prometheus'")
add_test(NAME none COMMAND sh -c "echo 'skipped: no sshd (tests/servers/get.sh sshd)'; exit 77")
add_test(NAME bad COMMAND sh -c "echo why it is bad; exit 3")
add_test(NAME lost COMMAND no_such_program)
add_test(NAME shaky_long COMMAND sh -c "test -e been || { touch been; echo the first time; exit 1; }")
add_test(NAME long_one COMMAND true)
set_tests_properties(none PROPERTIES SKIP_RETURN_CODE 77)
set_tests_properties(long_one PROPERTIES LABELS long COST 50)
set_tests_properties(shaky_long PROPERTIES LABELS long)
"""


class Runner(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory(prefix="linac-runner-")))
        (cls.folder / "CMakeLists.txt").write_text(PROJECT)
        subprocess.run(["cmake", "-S", cls.folder, "-B", cls.folder / "build"], check=True, stdout=subprocess.DEVNULL)

    def run_tests(self, *words: str, skips: str = "", tally: str = "tally") -> tuple[int, list[str]]:
        (self.folder / "skips.txt").write_text(skips)
        done = subprocess.run([ROOT / "tests/run.py", self.folder / "build", "--skips", self.folder / "skips.txt", *words], text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env={**os.environ, "LINAC_BROUGHT": "", minutes.TALLY: str(self.folder / tally)})
        return done.returncode, done.stdout.splitlines()

    def test_whose_processor_seconds(self):
        python, script = ["/usr/bin/python3", "tests/a_test.py", "/build"], ["/tree/tests/ui/run.sh", "/build"]
        self.assertTrue(cpu.is_started_by(["/usr/bin/python3.11", *python[1:]], python))
        self.assertTrue(cpu.is_started_by(["/bin/sh", *script], script))
        self.assertFalse(cpu.is_started_by(["/bin/sh", "/tree/tests/ui/unit.sh", "/build"], script), "of two scripts with the same argument each has its own")
        self.assertFalse(cpu.is_started_by([], ["/build/base_test"]))

    def test_the_last_line_counts(self):
        status, said = self.run_tests()
        self.assertEqual((status, said[-1]), (1, "2 passed, 2 failed, 2 skipped"), said)
        self.assertIn("Failed: bad lost", said)
        self.assertEqual(said[said.index("bad failed:") + 1], "  why it is bad")
        self.assertTrue(any("half (the other half): no such server" in line for line in said), said)
        self.assertIn("  this brings them: tests/servers/get.sh prometheus sshd", said)
        self.assertIn("2 2 2", (self.folder / "tally").read_text().splitlines())

    def test_status(self):
        self.assertEqual(self.run_tests("-R", "^good$")[0], 0)
        self.assertEqual(self.run_tests("-R", "nothing")[0], 1)
        self.assertEqual(self.run_tests("-R", "nothing")[1][-1], "0 passed, 0 failed, 0 skipped")
        self.assertEqual(self.run_tests("-R", "none")[0], 0)
        self.assertEqual(self.run_tests("-R", "^long_one$")[1][-1], "1 passed, 0 failed, 0 skipped")

    def test_once_more_alone(self):
        been = self.folder / "build" / "been"
        been.unlink(missing_ok=True)
        self.assertEqual(self.run_tests("--long")[1][-1], "1 passed, 1 failed, 0 skipped")
        been.unlink()
        status, said = self.run_tests("--long", "--again", "1")
        self.assertEqual((status, said[-1]), (0, "2 passed, 0 failed, 0 skipped"))
        self.assertEqual(said[said.index("shaky_long is shaky: it failed beside others, as follows, and passed alone:") + 1], "  the first time")
        status, said = self.run_tests("-R", "bad|lost", "--again", "2")
        self.assertEqual((status, said[-1]), (1, "0 passed, 2 failed, 0 skipped"), "what fails twice has failed")
        self.assertNotIn("Once more, alone: bad lost", self.run_tests("-R", "bad|lost", "--again", "1")[1], "more than that is no accident")

    def test_a_skip_is_allowed_only_where_its_need_is_missing(self):
        lines = "half | * | server:prometheus | it\nnone | all | server:sshd | it\n"
        self.assertEqual(self.run_tests("-R", "half|none", "--strict")[0], 1)
        self.assertEqual(self.run_tests("-R", "half|none", "--strict", skips=lines)[0], 0)
        status, said = self.run_tests("-R", "half|none", "--strict", "--brought", "sshd", skips=lines)
        self.assertEqual((status, said[-1]), (1, "1 passed, 1 failed, 2 skipped"))
        self.assertTrue(any("none: no sshd" in line and "not allowed" in line for line in said), said)

    def test_what_runs_elsewhere_is_no_skip(self):
        status, said = self.run_tests("-R", "half", "--strict", skips="half | the other half | elsewhere | it\n")
        self.assertEqual((status, said[-1]), (0, "1 passed, 0 failed, 0 skipped"))

    def test_record_of_turns(self):
        file = self.folder / "ran"
        self.run_tests("-R", "good|none", "--ran", str(file))
        read = turns.read(file)
        self.assertEqual([read["good"][3], read["none"][3]], ["passed", "skipped"])

    def test_parts_of_a_pass(self):
        folder = self.folder / "pass"
        self.assertEqual(minutes.part(folder, "one", ["sh", "-c", "x=0; while [ $x -lt 300000 ]; do x=$((x+1)); done"]), 0)
        minutes.part(folder, "two", ["sh", "-c", f"echo 5 0 1 >>${minutes.TALLY}"])
        self.assertEqual(minutes.part(folder, "three", ["sh", "-c", f"echo 5 0 0 >>${minutes.TALLY}; exit 4"]), 4)
        said = io.StringIO()
        with unittest.mock.patch.object(minutes, "yardstick", lambda: 0.5), contextlib.redirect_stdout(said):
            self.assertEqual(minutes.tell(folder), 1)
        self.assertEqual(said.getvalue().splitlines()[-1], "11 passed, 1 failed, 1 skipped")


class Skips(unittest.TestCase):
    def test_of_googletest(self):
        said = ("[ RUN      ] Sizes/Conv.Is/avx512\n/src/a_test.cpp:164: Skipped\nthis processor\nlacks it\n\n"
                "[  SKIPPED ] Sizes/Conv.Is/avx512, where GetParam() = 8-byte object (0 ms)\n[ RUN      ] A.B\n[       OK ] A.B (0 ms)\n"
                "[ RUN      ] C.D\nb_test.cpp:1: Skipped\n\n[  SKIPPED ] C.D (12 ms)\n[  SKIPPED ] 2 tests, listed below:\n[  SKIPPED ] C.D\n")
        self.assertEqual(results.skips_in("t", said), [results.Skip("t", "Sizes/Conv.Is/avx512", "this processor lacks it"),
                                                      results.Skip("t", "C.D", "no reason given")])

    def test_what_failed(self):
        said = ("[ RUN      ] A.B\nnoise\na_test.cpp:7: Failure\nExpected equality\n  1\n  2\n\n[  FAILED  ] A.B (3 ms)\n[ RUN      ] C.D\n"
                "[       OK ] C.D (0 ms)\n[  FAILED  ] 1 test, listed below:\n[  FAILED  ] A.B\n")
        self.assertEqual(results.evidence(said), ["a_test.cpp:7: Failure", "Expected equality", "  1", "  2", "[  FAILED  ] A.B (3 ms)"])
        self.assertEqual(len(results.evidence("line\n" * 1000)), results.EVIDENCE_LINES // 2)
        said = "ok 1 s first\nFAIL 2 s second\nTraceback (most recent call last):\n  File \"a.py\", line 1, in f\n    g()\nAssertionError: 59 of 55\n\nok third\n"
        self.assertEqual(results.evidence(said), ["FAIL 2 s second", "Traceback (most recent call last):", '  File "a.py", line 1, in f', "    g()", "AssertionError: 59 of 55"])
        self.assertEqual(results.evidence("x" * 10000), ["x" * results.EVIDENCE_WIDTH])

    def test_of_our_own(self):
        self.assertEqual(results.skips_in("t", "x\n  SKIPPED a part: no server; get it\nSKIPPED b: why\n"),
                         [results.Skip("t", "a part", "no server", "get it"), results.Skip("t", "b", "why")])
        said = subprocess.run([sys.executable, "-c", "import skips; skips.skipped('a: b', 'one; two\\nthree', 'bring'); skips.skip('why')"],
                              cwd=ROOT / "tests/lib", capture_output=True, text=True)
        self.assertEqual(results.whole("t", said.stdout), [results.Skip("t", "a  b", "one, two three", "bring"), results.Skip("t", "all", "why")])
        self.assertEqual(said.returncode, 77)

    def test_of_others(self):
        self.assertEqual(results.skips_in("t", "﹣ pages (0.1ms) # no Chromium\n=== 7 passed, 2 skipped, 1 warning in 3.10s ===\n"),
                         [results.Skip("t", "pages", "no Chromium"), results.Skip("t", "2 of pytest", "pytest names them with -rs")])

    def test_the_list(self):
        machine, lines = skip_list.Machine([]), skip_list.read()
        for line in lines:
            for need in line.needs:
                machine.has(need)  # it is known
        self.assertFalse(skip_list.why_allowed(results.Skip("base", "Some.Test", "no wish"), lines, machine))
        if BUILD:
            names = {test.name for test in turns.tests_of(BUILD)}
            self.assertEqual([line.test for line in lines if line.test not in names and "*" not in line.test], [], "skips.txt names tests that are none")


class Turns(unittest.TestCase):
    def setUp(self):
        self.tests = turns.tests_of(BUILD) if BUILD else [
            turns.Test(f"t{i}", [], 0, True, frozenset({"kubernetes"} if i < 3 else ()), float(30 + 37 * i % 200)) for i in range(36)]
        self.parts = turns.deal(self.tests)
        self.everything = {test.name for test in self.tests if test.long or test.needs & turns.SERVERS.keys()}

    def passes(self, remembered: bool, first_commit: int, commits_each: int = 1) -> set[str]:
        """What ten passes run; where nobody commits lines, the number of commits chooses."""
        record, ran = {}, set()
        for number in range(turns.PARTS):
            part = turns.choose(self.parts, record, not record, first_commit + number * commits_each)
            ran |= {test.name for test in part.tests}
            if remembered:
                record |= {test.name: [f"2026-{number:02}", "abc", "1", "passed"] for test in part.tests}
        return ran

    def test_ten_passes_run_everything(self):
        self.assertTrue(self.everything)
        for first in (0, 7, 793):
            self.assertEqual(self.passes(True, first), self.everything)
            self.assertEqual(self.passes(True, first, commits_each=4), self.everything)
            self.assertEqual(self.passes(False, first), self.everything)

    def test_each_part_within_its_seconds(self):
        for part in self.parts:
            self.assertTrue(part.tests)
            self.assertLessEqual(part.seconds(cached=True), CACHED_S, [test.name for test in part.tests])
            self.assertLessEqual(part.seconds(), BARE_S, [test.name for test in part.tests])

    def test_what_failed_comes_again(self):
        record = {test.name: ["2026-05", "abc", "1", "passed"] for test in self.tests}
        record[self.parts[4].tests[0].name] = ["2026-06", "abc", "1", "failed"]
        self.assertEqual(turns.choose(self.parts, record, False, 1).number, 4)


if __name__ == "__main__":
    unittest.main()
