"""Pages of the reference that the program and the package tell of themselves: verbs, routes, functions."""

import json
import pathlib
import re
import subprocess
import sys
import tempfile
import textwrap
import urllib.request

import stage

sys.path[:0] = [str(stage.ROOT / "tests"), str(stage.ROOT / "python")]
METHODS = ("get", "post", "put", "patch", "delete")
WORDS_AT = 30
HEADING = re.compile(r"^([A-Z][\w ]*):$")
BEGIN = re.compile(r"^  \S")


def write(folder: pathlib.Path, program: pathlib.Path) -> None:
    (folder / "verbs").mkdir(parents=True, exist_ok=True)
    verbs(folder / "verbs", program)
    (folder / "routes.md").write_text(routes(description(program)))
    (folder / "package.md").write_text(package())


def verbs(folder: pathlib.Path, program: pathlib.Path) -> None:
    """A page for each verb, with the verbs below it."""
    found = rows(told(program), "Subcommands")
    if not found:
        sys.exit(f"docs: `{program} --help` lists no verbs")
    listed = "".join(f"| [{name}]({name}.md) | {cell(help)} |\n" for name, help in found)
    index = f"# Verbs\n\nWhat `linac VERB --help` says, of the version of this site.\n\n| | |\n|---|---|\n{listed}\n"
    (folder / "index.md").write_text(index + stage.tree([f"{name}.md" for name, _ in found]))
    for name, _ in found:
        (folder / f"{name}.md").write_text(verb(program, [name]))


def verb(program: pathlib.Path, words: list[str]) -> str:
    help = told(program, *words)
    said = help.splitlines()
    usage = next(line for line in said if line.startswith("Usage: "))
    text = f"{'#' * len(words)} linac {' '.join(words)}\n\n{cell(said[0])}\n\n```text\n{usage.removeprefix('Usage: ')}\n```\n"
    options = [(name, about) for part in ("Positionals", "Options") for name, about in rows(help, part) if not name.startswith("-h,")]
    if options:
        text += "\n| | |\n|---|---|\n" + "".join(f"| `{cell(name)}` | {cell(about)} |\n" for name, about in options)
    _, _, examples = help.partition("\nExample")
    if examples:
        text += f"\n```sh\n{textwrap.dedent(examples.split(':', 1)[1].strip(chr(10))).strip()}\n```\n"
    return text + "".join("\n" + verb(program, [*words, name]) for name, _ in rows(help, "Subcommands"))


def told(program: pathlib.Path, *words: str) -> str:
    return subprocess.run([program, *words, "--help"], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True).stdout


def rows(help: str, heading: str) -> list[tuple[str, str]]:
    """[(name, words)] of the part of a help with this heading."""
    found: list[tuple[str, str]] = []
    inside = False
    lines = help.splitlines()
    for line, after in zip(lines, [*lines[1:], ""], strict=True):
        if match := HEADING.match(line):
            inside = match[1] == heading
        elif inside and BEGIN.match(line):
            found.append(row(line, after))
        elif inside and found and line.startswith(" " * WORDS_AT):
            found[-1] = (found[-1][0], f"{found[-1][1]} {line.strip()}".strip())
        elif line and not line.startswith(" "):
            inside = False
    return found


def row(line: str, after: str) -> tuple[str, str]:
    """Words begin in column WORDS_AT, those of a long name in the line after it."""
    if line[WORDS_AT - 1 : WORDS_AT] in ("", " ") and not after.startswith(" " * WORDS_AT):
        return line[:WORDS_AT].strip(), line[WORDS_AT:].strip()
    name, _, words = line.strip().partition("  ")
    return name, words.strip()


def cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")


def description(program: pathlib.Path) -> dict:
    """The OpenAPI document of a service that is started for it, on the loopback address."""
    from lib import runs
    from lib.server_process import Service

    runs.LINAC = str(program)
    with tempfile.TemporaryDirectory(prefix="linac-docs-") as folder, Service(data=folder) as service:
        request = urllib.request.Request(service.url + "/openapi.json", headers={"Authorization": f"Bearer {service.token}"})
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.load(answer)


def routes(api: dict) -> str:
    """Routes by what they are about."""
    families: dict[str, list[str]] = {}
    for path, methods in api["paths"].items():
        for method in METHODS:
            if method in methods:
                one = methods[method]
                families.setdefault(family(path), []).append(route(api, method, path, one))
    text = "# Routes of the service\n\nMade from the description that a service gives of itself at `/openapi.json`.\n[](service-api.md) says who may what, and what fields cannot say.\n"
    return text + "".join(f"\n## {name}\n" + "".join(found) for name, found in families.items())


def family(path: str) -> str:
    match path.split("/"):
        case ["", "api", "v1", what, *_]:
            return what
        case ["", "api", _, *rest]:
            return "MLflow's: " + rest[1 if rest[0] == "mlflow" else 0]
    return "pages and files"


def route(api: dict, method: str, path: str, one: dict) -> str:
    text = f"\n### {method.upper()} {path}\n\n{cell(one.get('summary', ''))}\n\n{cell(one.get('description', ''))}\n"
    rows = [(p["name"], p["in"], kind(api, p.get("schema", {})), p.get("description", "")) for p in (resolved(api, p) for p in one.get("parameters", []))]
    for content in resolved(api, one.get("requestBody", {})).get("content", {}).values():
        schema = resolved(api, content.get("schema", {}))
        required = schema.get("required", [])
        rows += [(name, "body" + (", required" if name in required else ""), kind(api, field), resolved(api, field).get("description", "")) for name, field in schema.get("properties", {}).items()]
    if rows:
        text += "\n| field | in | type | |\n|---|---|---|---|\n" + "".join(f"| `{name}` | {where} | {cell(type)} | {cell(words)} |\n" for name, where, type, words in dict.fromkeys(rows))
    return text


def resolved(api: dict, part: dict) -> dict:
    """What a reference leads to."""
    while "$ref" in part:
        at = api
        for name in part["$ref"].removeprefix("#/").split("/"):
            at = at[name]
        part = at
    return part


def kind(api: dict, schema: dict) -> str:
    schema = resolved(api, schema)
    if "enum" in schema:
        return ", ".join(map(str, schema["enum"]))
    type = schema.get("type", "any")
    return f"list of {kind(api, schema['items'])}" if type == "array" and "items" in schema else str(type)


def package() -> str:
    """Everything that `linac` exports, from its docstrings."""
    import linac

    text = "# The Python package\n\n[](../start/python.md) is the way in.\n"
    for name in sorted(linac.__all__, key=str.lower):
        thing = getattr(linac, name)
        what = "module" if type(thing).__name__ == "module" else "class" if isinstance(thing, type) else "function"
        if name == "Job":  # its members are the settings
            text += "\n## Job\n\nThe settings of a job as a `TypedDict`: [](settings.md) lists them.\n"
            continue
        members = "   :members:\n" if what != "function" else ""
        text += f"\n## {name}\n\n```{{eval-rst}}\n.. auto{what}:: linac.{name}\n{members}```\n"
    return text
