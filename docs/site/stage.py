"""The pages of the repository as the source of a site: which there are, and how one leads to the next."""

import os
import pathlib
import re
import shutil

ROOT = pathlib.Path(__file__).resolve().parents[2]
HERE = pathlib.Path(__file__).resolve().parent
NOTEBOOKS = ROOT / "examples/notebooks"  # which notebooks.py brings
LINK = re.compile(r"(\]\()([^)\s]+)(\))")
NAMED = re.compile(r"\[`?[\w-]+\.md`?\](?=\([^)\s]+\.md(?:#[^)\s]*)?\))")  # links whose text is the file's name
PART = re.compile(r"^## \[(\w+)\]\(\w+\): (.*)$", re.M)
# From these pages all others are reached.
FIRST = ("docs/README.md", "CHANGELOG.md", "SECURITY.md")
MADE = {"reference": ["verbs/index.md", "routes.md", "package.md"]}  # by reference.py


def pages(out: pathlib.Path) -> list[str]:
    """Writes all pages and pictures below `out`, each at its place in the repository, with the page PART/index.md for each part of docs/README.md and
    the front page. Returns what is wrong."""
    staged = reached()
    problems = [f"{page.relative_to(ROOT)}: no page leads to it; name it in docs/README.md" for page in sorted((ROOT / "docs").rglob("*.md")) if page not in staged and HERE not in page.parents]
    for path in staged:
        place = out / path.relative_to(ROOT)
        place.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix == ".md" and path != ROOT / "docs/README.md":
            place.write_text(rebased(path.read_text(), path.parent, path.parent) + contents(path, staged))
        elif path.suffix != ".md":
            shutil.copy(path, place)
    parts = PART.split((ROOT / "docs/README.md").read_text())
    for name, title, text in zip(parts[1::3], parts[2::3], parts[3::3], strict=True):
        (out / "docs" / name / "index.md").write_text(part(name, title, text, staged))
    shutil.copy(HERE / "index.md", out / "index.md")
    return problems


def reached() -> list[pathlib.Path]:
    """Pages and other files that links lead to, in the order in which they are met."""
    found = [ROOT / name for name in FIRST]
    for path in found:
        if path.suffix != ".md":
            continue
        for _, target, _ in LINK.findall(path.read_text()):
            there = followed(path.parent, target)
            if there is not None and there.is_file() and there not in found and there != ROOT / "README.md" and NOTEBOOKS not in there.parents:
                found.append(there)
    return found


def followed(folder: pathlib.Path, target: str) -> "pathlib.Path | None":
    """Where a link leads, if that is in the repository."""
    path = target.partition("#")[0]
    if not path or re.match(r"\w+:", path):
        return None
    there = pathlib.Path(os.path.normpath(folder / path))
    return there / "README.md" if (there / "README.md").is_file() else there


def rebased(text: str, folder: pathlib.Path, to: pathlib.Path) -> str:
    """The links of a page of `folder` as one of `to` has them; those to a part or to a README lead to the page that the site has in its place."""

    def link(match: "re.Match[str]") -> str:
        there = followed(folder, match[2])
        if there is None:
            return match[0]
        anchor = match[2].partition("#")[2]
        if there in (ROOT / "README.md", ROOT / "docs/README.md"):
            there = ROOT / "index.md"
        elif NOTEBOOKS in there.parents:
            there = ROOT / "notebooks" / ("index.md" if there.name == "README.md" else there.name)
        elif there.is_dir():
            there /= "index.md"
        return match[1] + os.path.relpath(there, to) + ("#" + anchor if anchor else "") + match[3]

    # Who reads the site sees titles of pages, and not the names of files.
    return LINK.sub(link, NAMED.sub("[]", text))


def part(name: str, title: str, text: str, staged: list[pathlib.Path]) -> str:
    """A part of docs/README.md as the page of its folder. The pages come as it names them."""
    folder = ROOT / "docs" / name
    named = [there for _, target, _ in LINK.findall(text) if (there := followed(folder.parent, target)) in staged]
    if name == "internals":  # what pages of the whole site lead to, and what belongs to no part
        named += [path for path in staged if path.suffix == ".md" and ROOT / "docs" not in path.parents]
    lines = [os.path.relpath(path, folder) for path in dict.fromkeys(named)] + MADE.get(name, [])
    return f"# {name.capitalize()}: {title}\n{rebased(text, folder.parent, folder)}\n{tree(lines)}"


def contents(page: pathlib.Path, staged: list[pathlib.Path]) -> str:
    """A README of a folder below a part leads to the pages beside it."""
    if page.name != "README.md" or ROOT / "docs" not in page.parents:
        return ""
    beside = sorted(path.name for path in staged if path.parent == page.parent and path.suffix == ".md" and path != page)
    return "\n" + tree(beside)


def tree(lines: list[str]) -> str:
    return "```{toctree}\n:hidden:\n:maxdepth: 2\n\n" + "\n".join(lines) + "\n```\n"
