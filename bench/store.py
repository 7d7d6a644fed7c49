"""Where benchmarks leave what they found."""

import json
import pathlib

RESULTS = pathlib.Path(__file__).resolve().parent / "results"


def store(result: dict, name: str, text: str, folder: pathlib.Path = RESULTS) -> pathlib.Path:
    """`result` as FOLDER/DATE-NAME.json and its `text` as .md, which is printed too; the path of the latter."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{result['date']}-{name}.md"
    path.with_suffix(".json").write_text(json.dumps(result, indent=1) + "\n")
    path.write_text(text)
    print(text, end="")
    return path
