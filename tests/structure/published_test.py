#!/usr/bin/env python3
"""The published studies: their page has the tables of the stored runs, these are whole and have the bits that the page claims; and what is stored is not
run again."""

import json
import pathlib
import re
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "bench/published"), str(ROOT / "tests")]

import page
import records
from lib.checks import expect, failures

SIZE_MAX = 400_000


def stored_runs() -> dict[str, list[dict]]:
    return {path.stem: records.stored(path.stem) for path in sorted(records.STORED.glob("*.jsonl"))}


def check_stored(studies: dict[str, list[dict]]) -> None:
    size = sum(path.stat().st_size for path in records.STORED.iterdir())
    expect(0 < size < SIZE_MAX, f"{size} bytes of stored runs, at most {SIZE_MAX}")
    for name, runs in studies.items():
        keys = [json.dumps([run["case"], run["round"]]) for run in runs]
        expect(len(keys) == len(set(keys)), f"{name}: each run once")
        if name != "reading":  # which trains nothing
            expect(all(run["run"]["status"] == "succeeded" and re.fullmatch("[0-9a-f]{32}", run["weights"]) for run in runs), f"{name}: {len(runs)} trainings that succeeded, each with its digest")
        expect(all(run["wall_s"] > 0 and run["cpu_s"] > 0 for run in runs), f"{name}: times")
    for name in ("layout", "workers"):
        digests = {run["weights"] for run in studies[name]}
        numbers = {run["case"]["workers"] for run in studies[name]}
        expect(len(numbers) > 2 and len(digests) == 1, f"{name}: {sorted(numbers)} workers, one digest: {sorted(digests)}")
    own = {(run["case"]["loop"], run["values"]) for run in studies["own-loop"] if "values" in run}
    expect({loop for loop, _ in own} == {"own", "linac's"} and len({values for _, values in own}) == 1, f"own-loop: the same weights with both loops: {own}")
    places: dict[tuple, set] = {}
    for run in studies["first-epoch"]:
        places.setdefault((run["case"]["model"], run["round"]), set()).add(run["weights"])
    expect(len(places) > 1 and all(len(digests) == 1 for digests in places.values()), "first-epoch: the same bits from the disk and from the store")


def check_page() -> None:
    text = page.PAGE.read_text()
    expect(page.filled(text) == text, "the page has the tables of the stored runs (else: bench/published/page.py)")
    number = re.search(r"\| (\d+\.\d+) ", text)
    expect(page.filled(text.replace(number[0], "| 123.456 ", 1)) == text, f"another number than {number[1]} in the page is found")


def check_goes_on(folder: pathlib.Path) -> None:
    records.STORED = folder / "stored"
    asked = []

    def run(case: dict, number: int) -> dict:
        asked.append((case["n"], number))
        return {"wall_s": 1 / 3, "cpu_s": 1.0}

    study = records.Study("tried", [{"n": 1}, {"n": 2}, {"n": 3}], 2, run)
    records.carry_out(study, 1)
    expect(asked == [(1, 0), (2, 0), (3, 0)], f"a round of all cases: {asked}")
    records.carry_out(study, 5)
    expect(asked[3:] == [(3, 1), (2, 1), (1, 1)], f"the next one the other way round, and no third: {asked[3:]}")
    expect([one["wall_s"] for one in records.stored(study.name)] == [0.3333] * 6, "what is stored is rounded")
    file = records.file_of(study.name)
    lines = file.read_text().splitlines(keepends=True)
    file.write_text("".join(lines[:4] + lines[5:]))
    records.carry_out(study, 2)
    expect(asked[6:] == [(2, 1)], f"what was taken out is run again, and that alone: {asked[6:]}")
    expect({json.dumps([one["case"], one["round"]]) for one in records.stored(study.name)} == {json.dumps([json.loads(line)["case"], json.loads(line)["round"]]) for line in lines}, "all are there again")


def check_refuses() -> None:
    """In the folder of check_goes_on()."""
    def ends(what: str, words: str, of) -> None:
        try:
            of()
            said = "goes on"
        except SystemExit as end:
            said = str(end)
        expect(words in said, f"{what}: {said}")

    file = records.file_of("tried")
    whole = file.read_text()
    for what, content in (("half a line", whole[:-20]), ("a number", whole + "7\n"), ("no case", whole + '{"round": 0}\n'), ("no JSON", whole + "case\n")):
        file.write_text(content)
        ends(what, f"tried.jsonl:{len(content.splitlines())}: no run", lambda: records.stored("tried"))
    ends("a study without runs", "no run of never is stored", lambda: page.runs_of("never"))
    ends("a page without a table", "wants one place for the table", lambda: page.filled("# Nothing"))


def main() -> None:
    check_stored(stored_runs())
    check_page()
    with tempfile.TemporaryDirectory(prefix="linac-published-") as folder:
        check_goes_on(pathlib.Path(folder))
        check_refuses()
    if failures:
        sys.exit(f"{len(failures)} checks failed: {failures}")


main()
