#!/usr/bin/env python3
"""What others rest on: fields of a job, verbs and their options, routes of the service with their fields, and declarations of the installed
headers, as sorted lines, from the sources alone.

  tests/structure/surface.py [ROOT]                     all lines
  tests/structure/surface.py --against COMMIT [ROOT]    what is new (+) and what is gone (-) since that commit, and a last line that counts them

Fields of a job are those of docs/reference/settings.md, which the tests hold against the program. Verbs and options are by the file of
src/linac that adds them: a renamed file shows as options that come and go. Ends with status 1 where a kind of line is missing altogether, for
then it is this script that no longer finds it, and where COMMIT is not here."""

import argparse
import pathlib
import re
import subprocess
import sys
import tarfile
import tempfile

TEXT = r'"((?:[^"\\]|\\.)*)"'
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
KINDS = ("job", "verb", "option", "route", "field", "header")


def sources(root: pathlib.Path, folder: str = "linac"):
    """The .cpp files that make the program, with what they say."""
    for path in sorted((root / "src" / "linac").rglob("*.cpp")):
        if not path.stem.endswith("_test") and folder in path.parts:
            yield path, path.read_text()


def job_fields(root: pathlib.Path):
    """Rows of the page of settings, by the part of the job that they are in."""
    for page in (root / "docs").rglob("settings.md"):
        part = ""
        for line in page.read_text().splitlines():
            if line.startswith("## "):
                part = line[3:]
            if row := re.match(r"\| `([^`]+)` \| ([^|]+) \|([^|]*)\|", line):
                name, kind, default = row.groups()
                of = f" ({part})" if " of kind " in part else ""
                yield f"job {name}{of}: {kind.strip()}, default {default.strip().strip('`') or 'empty'}"


def verbs(root: pathlib.Path):
    """Literal names of subcommands, those handed to a function of the same file that adds one, and rows of a table of verbs."""
    for path, text in sources(root, "cli"):
        for receiver, name in re.findall(rf"(\w+)(?:\.|->)add_subcommand\(\s*{TEXT}", text):
            yield f"verb {name}" if receiver == "app" else f"verb {path.stem}: {name}"
        for call in re.finditer(r"add_subcommand\(name\b", text):
            makers = re.findall(r"^(?:\w[^\n=]*[ *&](\w+)\(CLI::App|\s+const auto (\w+) = \[)", text[: call.start()], re.M)
            maker = "".join(makers[-1]) if makers else ""
            for name in re.findall(rf"\b{maker}\([^\";]*{TEXT}", text[call.start() :]) if maker else []:
                yield f"verb {path.stem}: {name}"
        for table in re.findall(r"^[^\n]*[Vv]erb[^\n]*(?:= |\]|\))\{+\s*\n(.*?)^\s*\}+;", text, re.S | re.M):
            for name in re.findall(rf"^\s*\{{{TEXT}", table, re.M):
                yield f"verb {name}"
    for table in (root / "src/linac/cli").rglob("verbs.h"):
        for name in re.findall(r"^  (?:COMPUTE|CONTROL)\((\w+)[,)]", table.read_text(), re.M):
            yield f"verb {name}"


def options(root: pathlib.Path):
    for path, text in sources(root, "cli"):
        for kind, names in re.findall(rf"add_(option|flag)\w*(?:<[^>]*>)?\(\s*{TEXT}", text):
            yield f"option {path.stem}: {names}{' VALUE' if kind == 'option' and names.startswith('-') else ''}"


def routes(root: pathlib.Path):
    """By their operation's name: how it is asked and its address as the table has it, which may be the end of one."""
    name = r'"([a-z][a-z_0-9]+)"'
    for path, text in sources(root):
        for word, address, constant, operation in re.findall(rf"(?:\bk|\b)(\w+)[,(]\s*(?:{TEXT}|(k\w+)),\s*{name},\s*\"", text):
            if (method := word.upper()) in METHODS:
                yield f"route {operation}: {method} {address or constant}"
        for address, operation in re.findall(rf"\.pattern = [^;]*?{TEXT}[^;]*;\s*\w+\.name = [^;]*?{name};", text):
            yield f"route {operation}: {address}"
        for field, kind, needed in re.findall(rf"\{{\s*{TEXT},\s*FieldType::k(\w+),\s*(true|false)", text):
            yield f"field {path.stem}: {field}, {kind.lower()}{', must be there' if needed == 'true' else ''}"


def declarations(text: str):
    """What a header declares outside of functions' bodies, without comments and private members; a macro by its name and arguments."""
    text = re.sub(r"//[^\n]*|/\*.*?\*/", " ", text, flags=re.S)
    yield from re.findall(r"^\s*(#define \w+\([^)]*\))", text, re.M)
    text = re.sub(r"^\s*#(?:[^\n]*\\\n)*[^\n]*", "", text, flags=re.M)
    statement, scopes, body, parentheses, hidden = "", [], 0, 0, False
    for character in text:
        if body:
            body += (character == "{") - (character == "}")
            continue
        parentheses += (character == "(") - (character == ")")
        if character not in "{};" or parentheses:
            statement += character
            continue
        said, statement = " ".join(statement.split()), ""
        if access := re.match(r"(public|private|protected):\s*", said):
            hidden, said = access.group(1) == "private", said[access.end() :]
        where = "".join(f"{scope}::" for scope in scopes if scope)
        if character == "{" and (kind := re.search(r"\b(class|struct|enum|union|namespace|extern)\b(?: class)?(?: (\w+))?(?!.*\()", said)):
            named = kind.group(1) not in ("namespace", "extern")
            scopes.append(kind.group(2) or "" if named else "")
            if named and not said.startswith("typedef"):
                yield where + said
            hidden = False
            continue
        if character == "{":
            body = 1
            said = re.sub(r"\)\s*:.*", ")", said)  # without what a constructor initializes
        if said and not hidden:
            yield where + said
        if character == "}" and scopes:
            scopes.pop()
            hidden = False


def headers(root: pathlib.Path):
    """Those that cmake/install.cmake installs."""
    lists = (root / "cmake" / "install.cmake").read_text()
    for source, place in re.findall(r"install\(FILES (\S+\.h) DESTINATION include/(\S+)", lists):
        path = root / source
        yield f"header {place}/{path.name}"
        for said in declarations(path.read_text()):
            yield f"header {path.name}: {said}"


def surface(root: pathlib.Path, complete: bool = True) -> list[str]:
    lines = sorted({line for part in (job_fields, verbs, options, routes, headers) for line in part(root)})
    for kind in KINDS if complete else ():
        if not any(line.startswith(kind + " ") for line in lines):
            sys.exit(f"[surface] no line of '{kind}' was found in {root}: how they are written has changed, and this script must follow")
    return lines


def of_commit(root: pathlib.Path, commit: str) -> list[str]:
    git = ["git", "-C", str(root)]
    if subprocess.run([*git, "cat-file", "-e", f"{commit}^{{commit}}"], capture_output=True).returncode != 0:
        sys.exit(f"[surface] no commit '{commit}' here; a clone of the last commits alone needs git fetch --unshallow")
    with tempfile.TemporaryDirectory(prefix="linac-surface-") as folder:
        archive = pathlib.Path(folder) / "tree.tar"
        subprocess.run([*git, "archive", "--output", str(archive), commit, "src", "docs", "cmake"], check=True)
        with tarfile.open(archive) as tree:
            tree.extractall(folder, filter="data")
        return surface(pathlib.Path(folder), complete=False)  # an older tree may have had no such thing


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("root", nargs="?", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parents[2])
    parser.add_argument("--against", metavar="COMMIT")
    arguments = parser.parse_args()
    now = surface(arguments.root)
    if not arguments.against:
        print("\n".join(now))
        return
    before = of_commit(arguments.root, arguments.against)
    new, gone = sorted(set(now) - set(before)), sorted(set(before) - set(now))
    for line in sorted(new + gone, key=lambda line: (line, line in new)):
        print(("+ " if line in new else "- ") + line)
    print(f"public surface since {arguments.against}: {len(new)} lines new, {len(gone)} gone, {len(now)} in all")


if __name__ == "__main__":
    main()
