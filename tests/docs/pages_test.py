#!/usr/bin/env python3
"""The pages as their readers use them: each block of commands of a page is run, in its order, in a folder of its own.

  pages_test.py PAGE...           e.g. docs/start/your-model.md
  pages_test.py --but PAGE...     all others of docs/start and docs/guide; first, pages with something wrong have to fail

What a block becomes goes by its language:
  sh       is run by bash and has to succeed; `linac` is the program, made short by tests/docs/linac where the page has a world
  python   whose first line is `# NAME.py`: that file. Others of a page are one session, run before the next block of commands
  yaml     whose first line is `# NAME.yaml`: that file
  text     each line stands in what the block of commands before it printed, but for digits

What a page presumes, a job.yaml or a run, is made by tests/docs/worlds/PAGE.sh. Comments in front of a block, which no reader sees, say what is
done otherwise, and why:
  <!-- not run: WHY -->              nothing of it
  <!-- not run /PATTERN/: WHY -->    not the lines that match
  <!-- each alone -->                each line in the folder as it was before the block
  <!-- file: NAME -->                it becomes that file
  <!-- before: COMMANDS -->          these are run first

Lines that are not run are counted, and their verbs and options still have to be those that `linac VERB --help` knows."""

import dataclasses
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from lib.runs import LINAC, ROOT, environment, kill_tree

BLOCK_SECONDS_MAX = 600
HERE = pathlib.Path(__file__).resolve().parent
BLOCK = re.compile(r"((?:^<!-- (?:(?!-->).)*-->\n)*)^```(\w*)\n(.*?)^```$", re.M | re.S)
MARK = re.compile(r"<!-- (not run|each alone|file|before)(?: /(.*?)/)?(?:: (.*?))? -->", re.S)
KNOWN = re.compile(r"(?<![\w-])(--?[\w-]+)")


@dataclasses.dataclass
class Counts:
    run: int = 0
    left_out: int = 0
    compared: int = 0


class Page:
    def __init__(self, page: str, folder: pathlib.Path):
        self.page, self.folder, self.counts = page, folder, Counts()
        self.session, self.printed = "", ""
        self.world = HERE / "worlds" / (page.removeprefix("docs/").removesuffix(".md").replace("/", "-") + ".sh")
        programs = ([HERE] if self.world.exists() else []) + [pathlib.Path(LINAC).resolve().parent, pathlib.Path(sys.executable).parent]
        self.variables = environment(
            PATH=":".join([*map(str, programs), os.environ["PATH"]]), LINAC=str(pathlib.Path(LINAC).resolve()), LINAC_ROOT=str(ROOT), PYTHONPATH=str(ROOT / "python"),
            HOME=str(folder / "home"), LINAC_CACHE=str(folder / "cache"), XDG_STATE_HOME=str(folder / "state"), XDG_CONFIG_HOME=str(folder / "config"),
            CUDA_VISIBLE_DEVICES="-1", TF_CPP_MIN_LOG_LEVEL="3",
        )  # fmt: skip
        self.work = folder / "work"
        self.work.mkdir()
        for name in ("examples", "models"):
            (self.work / name).symlink_to(ROOT / name)
        shutil.copytree(ROOT / "data", self.work / "data")

    def fail(self, block: str, why: str) -> None:
        sys.exit(f"{self.page}:\n{block}\n{why}")

    def bash(self, text: str) -> str:
        process = subprocess.Popen(["bash", "-e", "-o", "pipefail", "-c", text], cwd=self.work, env=self.variables, text=True, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)  # fmt: skip
        try:
            printed, _ = process.communicate(timeout=BLOCK_SECONDS_MAX)
        except subprocess.TimeoutExpired:
            kill_tree(process)
            self.fail(text, f"has not ended in {BLOCK_SECONDS_MAX} s")
        if process.returncode != 0:
            self.fail(text, f"{printed}\nexit status {process.returncode}")
        return printed

    def python(self) -> None:
        if self.session:
            (self.work / "session.py").write_text(self.session)
            self.printed, self.session = self.bash("python session.py"), ""

    def read(self) -> Counts:
        if self.world.exists():
            self.bash(self.world.read_text())
        for marks, language, block in BLOCK.findall((ROOT / self.page).read_text()):
            self.take(MARK.findall(marks), language, block)
        self.python()
        return self.counts

    def take(self, marks: list[tuple[str, str, str]], language: str, block: str) -> None:
        first = re.match(r"# ([\w-]+\.(?:py|yaml))\n", block)
        named = next((text for kind, _, text in marks if kind == "file"), first[1] if first else None)
        whole = next((why for kind, pattern, why in marks if kind == "not run" and not pattern), None)
        if whole is not None:
            if not whole:
                self.fail(block, "is not run, and the page does not say why")
            self.leave_out(block.splitlines(), whole)
        elif named:
            (self.work / named).write_text(block)
        elif language == "python":
            self.session += block
            self.counts.run += 1
        elif language == "sh":
            self.python()
            for kind, _, text in marks:
                if kind == "before":
                    self.bash(text)
            self.commands(block, marks)
        elif language == "text":
            missing = [line for line in block.splitlines() if plain(line) not in plain(self.printed)]
            if missing:
                self.fail(block, f"the page shows {missing}; printed was\n{self.printed}")
            self.counts.compared += 1

    def commands(self, block: str, marks: list[tuple[str, str, str]]) -> None:
        lines = block.replace("\\\n", "").splitlines()
        for kind, pattern, why in marks:
            if kind == "not run":
                left = [line for line in lines if re.search(pattern, line)]
                if not left or not why:
                    self.fail(block, f"no line is like /{pattern}/, or the page does not say why such are not run")
                self.leave_out(left, why)
                lines = [line for line in lines if line not in left]
        if any(kind == "each alone" for kind, *_ in marks):
            before = self.folder / "before"
            shutil.copytree(self.work, before, symlinks=True)
            for line in lines:
                self.bash(line)
                shutil.rmtree(self.work)
                shutil.copytree(before, self.work, symlinks=True)
            shutil.rmtree(before)
        else:
            self.printed = self.bash("\n".join(lines))
        self.counts.run += 1
        print("ok  ", "; ".join(line.strip() for line in lines), flush=True)

    def leave_out(self, lines: list[str], why: str) -> None:
        commands = [line for line in lines if line.strip() and not line.lstrip().startswith("#")]
        for line in commands:
            for part in re.split(r"&&|\|\||;|\|| -- ", line.partition(" #")[0]):
                self.known(part.split())
        self.counts.left_out += len(commands)
        print(f"not run, {' '.join(why.split())}: {'; '.join(line.strip() for line in commands)[:200]}", flush=True)

    def known(self, words: list[str]) -> None:
        """A command that is not run is spelt as the program would take it."""
        if words[:1] != ["linac"]:
            return
        verbs = []
        help = self.bash("linac --help")
        for word in words[1:]:
            if not re.search(rf"^  {re.escape(word)} {{2,}}", help.partition("Subcommands:")[2], re.M):
                break
            verbs.append(word)
            help = self.bash(f"linac {' '.join(verbs)} --help")
        if not verbs:
            self.fail(" ".join(words), "linac has no such verb")
        for word in words[1 + len(verbs) :]:
            option = word.partition("=")[0]
            if re.fullmatch(r"--?[a-zA-Z][\w-]*", option) and option not in KNOWN.findall(help):
                self.fail(" ".join(words), f"`linac {' '.join(verbs)}` has no option {option}")


def plain(text: str) -> str:
    """Without what differs between processors: digits and the blanks that they are aligned with."""
    return re.sub(r"\s+", " ", re.sub(r"[0-9][0-9.e+-]*", "N", text)).strip()


WRONG = {
    "a command that fails": "```sh\ntrue\nfalse\ntrue\n```\n",
    "a pipe whose first part fails": "```sh\nfalse | cat\n```\n",
    "a block that is not run, without a reason": "<!-- not run -->\n```sh\ntrue\n```\n",
    "lines that are not run and not there": "<!-- not run /s3:/: a store -->\n```sh\ntrue\n```\n",
    "an option that is none": "<!-- not run: a farm -->\n```sh\nlinac launch a.yaml --onn farm\n```\n",
    "a verb that is none": "<!-- not run: a farm -->\n```sh\nlinac lauch a.yaml\n```\n",
    "output that is not printed": "```sh\necho 12 events\n```\n```text\n13 showers\n```\n",
    "Python that raises": "```python\nx = 1\n```\n```python\nassert x == 2\n```\n",
    "a comment that ends elsewhere": "<!-- not run: a -->\ntext\n<!-- b -->\n```sh\nfalse\n```\n",
}
RIGHT = "```sh\necho 12 events\n```\n```text\n13 events\n```\n<!-- not run /cloud/: a cloud -->\n```sh\ntest 1 = \\\n  1\ncloud\n```\n<!-- each alone -->\n```sh\nmkdir a\nmkdir a\n```\n"


def wrong_pages() -> None:
    for what, text in {**WRONG, "": RIGHT}.items():
        with tempfile.TemporaryDirectory(prefix="linac-page-") as name:
            (pathlib.Path(name) / "page.md").write_text(text)
            done = subprocess.run([sys.executable, __file__, f"{name}/page.md"], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if (done.returncode == 0) == bool(what):
            sys.exit(f"{what or 'a page that is right'}: exit status {done.returncode}\n{done.stdout}")
        print("ok   refuses", what, flush=True) if what else None


def main() -> None:
    pages = sys.argv[1:]
    if pages[:1] == ["--but"]:
        wrong_pages()
        all_pages = sorted(str(page.relative_to(ROOT)) for part in ("start", "guide") for page in (ROOT / "docs" / part).rglob("*.md"))
        pages = [page for page in all_pages if page not in pages[1:]]
    total = Counts()
    for page in pages:
        print(f"-- {page}", flush=True)
        with tempfile.TemporaryDirectory(prefix="linac-page-") as name:
            counts = Page(page, pathlib.Path(name)).read()
        total = Counts(*(a + b for a, b in zip(dataclasses.astuple(total), dataclasses.astuple(counts), strict=True)))
    print(f"{len(pages)} pages: {total.run} blocks were run, {total.compared} outputs compared, {total.left_out} lines not run")
    if total.run + total.left_out == 0:
        sys.exit("there is no block of commands")


if __name__ == "__main__":
    main()
