#!/usr/bin/env python3
"""Where benchmarks leave what they found: all numbers in build/bench/, which is not kept; the page and its summary in bench/results/.

  bench/store.py FILE.json [NAME]     the summary of such a file, written by another program, into bench/results/summaries.json

A summary has the command, date, machine and commit as the benchmark wrote them down, and its figures: what was measured in several rounds has
its number, least, median and most (`n`, `min`, `median`, `max`); what stands once stays. CPU time has the names that end in `cpu_s`."""

import json
import pathlib
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
RESULTS = ROOT / "bench" / "results"
RAW = ROOT / "build" / "bench"
COLUMNS = 140  # of a line of summaries.json
DIGITS = 4
LABELS = ("round", "study", "pid")  # of one round: no figures are kept apart by them


def commit() -> str:
    def git(*command):
        return subprocess.run(["git", "-C", ROOT, *command], capture_output=True, text=True).stdout.strip()

    return git("rev-parse", "--short", "HEAD") + (" and changes" if git("status", "--porcelain", "src") else "")


def is_number(value) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def rounded(value):
    return float(f"{value:.{DIGITS}g}") if isinstance(value, float) else value


def numbers(values):
    """All numbers of lists in lists; None if there is anything else in them."""
    found = []
    for value in values:
        if is_number(value):
            found.append(value)
        elif isinstance(value, list) and (inner := numbers(value)) is not None:
            found += inner
        elif value is not None:
            return None
    return found


def figure(values: list) -> dict:
    return {"n": len(values), "min": rounded(min(values)), "median": rounded(statistics.median(values)), "max": rounded(max(values))}


def is_setting(value) -> bool:
    return isinstance(value, (str, int)) or value is None


def merged(rows: list):
    """One value for what has the same name in several rounds."""
    if len(rows) == 1:
        return summarized(rows[0])
    if all(isinstance(row, dict) for row in rows):
        return {name: merged([row[name] for row in rows if name in row]) for name in dict.fromkeys(name for row in rows for name in row)}
    found = numbers(rows)
    if found:
        return found[0] if len(set(found)) == 1 and isinstance(found[0], int) else figure(found)
    return rows[0] if all(row == rows[0] for row in rows) else [summarized(row) for row in rows]


def cases(rows: list) -> list:
    """Rounds of the same settings (texts and whole numbers) as one; other settings are another case."""
    groups: dict = {}
    for row in rows:
        settings = {name: value for name, value in row.items() if is_setting(value) and name not in LABELS}
        groups.setdefault(json.dumps(settings), []).append({name: value for name, value in row.items() if name not in LABELS})
    return [merged(group) for group in groups.values()]


def summarized(value):
    if isinstance(value, dict):
        return {name: summarized(inner) for name, inner in value.items()}
    if isinstance(value, list) and value:
        found = numbers(value)
        if found:
            return found[0] if len(found) == 1 else figure(found)
        if all(isinstance(row, dict) for row in value):
            rows = cases(value)
            return rows[0] if len(rows) == 1 else rows
        return [summarized(row) for row in value]
    return rounded(value)


def reduced(value, raw_only: tuple, least: tuple):
    if isinstance(value, dict):
        kept = {name: inner for name, inner in value.items() if name not in raw_only}
        return {name: min(inner) if name in least and inner else reduced(inner, raw_only, least) for name, inner in kept.items()}
    return [reduced(row, raw_only, least) for row in value] if isinstance(value, list) else value


def written(value, indent: int = 0) -> str:
    """JSON in which what fits stands on one line."""
    line = json.dumps(value, ensure_ascii=False)
    if indent + len(line) <= COLUMNS or not isinstance(value, (dict, list)):
        return line
    inner, last = " " * (indent + 1), "\n" + " " * indent
    if isinstance(value, dict):
        return "{\n" + ",\n".join(f"{inner}{json.dumps(name, ensure_ascii=False)}: {written(part, indent + 1)}" for name, part in value.items()) + last + "}"
    return "[\n" + ",\n".join(inner + written(part, indent + 1) for part in value) + last + "]"


def summarize(result: dict, name: str, folder: pathlib.Path = RESULTS, raw_only: tuple = (), least: tuple = ()) -> None:
    """The summary of `result` into FOLDER/summaries.json, as `name`; without what `raw_only` names, and of series that `least` names
    (a search's values) with their least alone."""
    path = folder / "summaries.json"
    every = json.loads(path.read_text()) if path.exists() else {}
    every[name] = summarized(reduced(result, raw_only, least))
    path.write_text(written(dict(sorted(every.items()))) + "\n")


def store(result: dict, name: str, text: str, folder: pathlib.Path = RESULTS, raw_only: tuple = (), least: tuple = ()) -> pathlib.Path:
    """`result` as build/bench/DATE-NAME.json, its summary (see above), and its `text` as FOLDER/DATE-NAME.md, which is printed too; the path of
    the page."""
    stem = f"{result['date'][:10]}-{name}"
    for where in (RAW, folder):
        where.mkdir(parents=True, exist_ok=True)
    (RAW / f"{stem}.json").write_text(json.dumps(result, indent=1) + "\n")
    summarize(result, stem, folder, raw_only, least)
    path = folder / f"{stem}.md"
    path.write_text(text)
    print(text, end="")
    return path


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    raw = pathlib.Path(sys.argv[1])
    summarize(json.loads(raw.read_text()), sys.argv[2] if len(sys.argv) == 3 else raw.stem)
