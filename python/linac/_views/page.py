"""What all views are made of: a piece of HTML that needs no script, no style sheet and no other file, in the colours of the page around it."""

import math
import os
import pathlib
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

_TEXT_MAX = 200  # of a cell


class View:
    """A piece of HTML, and one line for where no HTML is shown."""

    def __init__(self, html: str, words: str) -> None:
        self._html, self._words = html, words

    def __repr__(self) -> str:
        return self._words

    def _repr_html_(self) -> str:
        return self._html

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return {"text/html": self._html, "text/plain": self._words}

    def save(self, path: "str | os.PathLike[str]") -> None:
        """As a page of its own, dark where the reader's browser is."""
        head = '<meta charset="utf-8"><meta name="color-scheme" content="light dark">'
        text = f"<!doctype html><html><head>{head}<title>{escape(self._words)}</title></head><body style='font-family:sans-serif'>{self._html}</body></html>"
        pathlib.Path(path).write_text(text, encoding="utf-8", errors="replace")


def words(value: object) -> str:
    """A value as text, not longer than what a cell holds, without what HTML would read."""
    if isinstance(value, bool) or value is None:
        text = "–" if value is None else str(value).lower()
    elif isinstance(value, float):
        text = f"{value:.4g}" if math.isfinite(value) else str(value)
    else:
        text = str(value)
    return escape(text if len(text) <= _TEXT_MAX else text[: _TEXT_MAX - 1] + "…")


def table(head: "Sequence[str]", rows: "Iterable[Sequence[object]]", *, more: int = 0) -> str:
    """Cells that are Raw stay, all others are escaped. more: rows that are left out, which the last line says."""
    cell = 'style="text-align:left;padding:0.15em 0.7em;vertical-align:middle"'
    top = "".join(f"<th {cell}>{escape(name)}</th>" for name in head)
    body = "".join("<tr>" + "".join(f"<td {cell}>{value if isinstance(value, Raw) else words(value)}</td>" for value in row) + "</tr>" for row in rows)
    last = f"<p>… and {more} more</p>" if more > 0 else ""
    return f'<table style="border-collapse:collapse">{f"<thead><tr>{top}</tr></thead>" if head else ""}<tbody>{body}</tbody></table>{last}'


class Raw(str):
    """HTML that a view made itself."""


def title(strong: str, rest: str = "") -> str:
    return f"<p><b>{words(strong)}</b>{': ' if rest else ''}{words(rest)}</p>"


def panel(*parts: str) -> str:
    return f'<div class="linac" style="overflow-x:auto">{"".join(parts)}</div>'
