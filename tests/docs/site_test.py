#!/usr/bin/env python3
"""The site of `make docs`, with its notebooks executed: site_test.py OUT

Every page is there, has the version and asks no other host for anything; the search knows words of all kinds of pages; notebooks show what they
promise. A link to nowhere and a cell that fails end the building. LINAC names the program."""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

from lib.checks import check
from lib.runs import LINAC, ROOT, output
from lib.skips import skip

SITE = ROOT / "docs/site"
PYTHON = ROOT / "build/docs-env/bin/python"
# What a reader sees in the last cells, by notebook.
SHOWN = {
    "first-steps": ["the same weights", "bytes of ONNX"], "3dgan": ["may it be used?", "response"], "classifier-from-root": ["240 events", "accuracy"],
    "your-own-model": ["resolution", "energy"], "study": ["trials, the best", "rates.html"], "plan": ["ways, the best first", "gcp/"],
    "service": ["champion", "ended with 0"], "showers-in-a-program": ["the same showers: True", "full simulation"],
}  # fmt: skip
# Anything that a browser would fetch from elsewhere.
FOREIGN = re.compile(r"""<(?:script|img|iframe|source|audio|video)\b[^>]*\bsrc=["']?(?:https?:)?//|<link\b[^>]*\bhref=["']?(?:https?:)?//[^>]*stylesheet|url\(["']?https?:""")


def notebook_shows(folder: pathlib.Path, name: str, words: list[str]) -> None:
    cells = [cell for cell in json.loads((folder / f"{name}.ipynb").read_text())["cells"] if cell["cell_type"] == "code"]
    check(all(cell["execution_count"] for cell in cells), f"{name}: every cell was executed")
    shown = json.dumps([cell["outputs"] for cell in cells], ensure_ascii=False)
    missing = [word for word in words if word not in shown]
    check(not missing, f"{name}: shows what it promises, missing {missing}" if missing else f"{name}: shows what it promises")


def whole(html: pathlib.Path) -> None:
    version = (ROOT / "VERSION").read_text().strip()
    pages = [page for page in html.rglob("*.html") if "_static" not in page.parts]
    without = [page for page in pages if f"linac {version}" not in page.read_text()]
    check(len(pages) > 100 and not without, f"{len(pages)} pages, all with the version {without[:3]}")
    foreign = [page for page in html.rglob("*") if page.suffix in (".html", ".css") and FOREIGN.search(page.read_text(errors="replace"))]
    check(not foreign, f"nothing is fetched from another host {foreign[:3]}")
    wanted = [ROOT / page for page in subprocess.run(["git", "ls-files", "docs/*.md"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()]
    lost = [page for page in wanted if SITE not in page.parents and page.name != "README.md" and not (html / page.relative_to(ROOT)).with_suffix(".html").exists()]
    check(bool(wanted) and not lost, f"every page of docs/ is there {lost[:3]}")
    index = (html / "searchindex.js").read_text()
    for word in ("checkpoint", "kubernet", "openapi", "predict"):
        check(word in index, f"the search knows {word}")
    for page, words in (("verbs/train", "--resume"), ("routes", "/api/v1/runs"), ("package", "linac.fit")):
        check(words.replace("-", "") in re.sub(r"<[^>]*>", "", (html / f"docs/reference/{page}.html").read_text()).replace("-", ""), f"{page} has {words}")


def refused(folder: pathlib.Path) -> None:
    """Sphinx, as build.py calls it, and a notebook, each with something wrong."""
    for name, text in (("lost", "[there](nowhere.md)"), ("anchor", "[there](#nowhere)"), ("picture", "![](nowhere.png)")):
        source = folder / name
        source.mkdir()
        (source / "index.md").write_text(f"# A page\n\n{text}\n")
        done = subprocess.run([PYTHON, "-m", "sphinx", "-W", "-q", "-b", "dummy", "-c", SITE, source, folder / f"{name}.out"], capture_output=True, text=True)
        check(done.returncode != 0 and "nowhere" in done.stderr, f"a page with {text} is refused")
    foreign = folder / "foreign"
    foreign.mkdir()
    (foreign / "source").write_text("somebody's")
    for where, words in ((foreign, "files of others"), (foreign / "source", "a folder that can be written")):
        done = subprocess.run([PYTHON, SITE / "build.py", "--out", where], capture_output=True, text=True, env={**os.environ, "LINAC": LINAC})
        check(done.returncode == 1 and words in done.stderr, f"a site in {where.name} is refused")
    failing = "import notebooks, nbformat, pathlib; cell = nbformat.v4.new_code_cell('1 / 0'); book = nbformat.v4.new_notebook(cells=[cell]); "
    said = output(PYTHON, "-c", failing + f"print(notebooks.run(book, 'broken.ipynb', pathlib.Path({LINAC!r})))", cwd=SITE)
    check("broken.ipynb" in said and "ZeroDivisionError" in said, "a cell that fails is told with its notebook")


def main() -> None:
    if not PYTHON.exists():
        skip("no environment of the site", "docs/site/setup.sh")
    out = pathlib.Path(sys.argv[1]).resolve()
    program = pathlib.Path(LINAC).resolve()
    done = subprocess.run([PYTHON, SITE / "build.py", "--out", out], env={**os.environ, "LINAC": str(program)}, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    print(done.stdout[-20000:])
    check(done.returncode == 0, "the site is made without a warning")
    whole(out / "html")
    check({path.stem for path in (ROOT / "examples/notebooks").glob("*.ipynb")} == set(SHOWN), "each notebook is looked at")
    for name, words in SHOWN.items():
        notebook_shows(out / "source/notebooks", name, words)
    with tempfile.TemporaryDirectory(prefix="linac-site-") as folder:
        refused(pathlib.Path(folder))


if __name__ == "__main__":
    main()
