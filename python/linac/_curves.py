"""Curves as SVG: a notebook shows them without an extension, and a million points are no more than what a picture can show."""

import math
import os
import pathlib
from collections.abc import Mapping, Sequence
from html import escape

Point = tuple[float, float]

_POINTS_MAX = 400
_PANELS_MAX = 6
_WIDTH, _HEIGHT, _MARGIN = 320, 200, 60
_COLOURS = ("#1f77b4", "#d62728")  # of the training, of the validation


class Curves:
    """{name: [(x, y), ...]} over `axis`; a panel for each measure, with its `val_` beside it."""

    def __init__(self, axis: str, points: "Mapping[str, Sequence[Point]]") -> None:
        self.axis, self.points = axis, {name: list(line) for name, line in points.items()}

    def __repr__(self) -> str:
        return f"linac curves by {self.axis}: " + ", ".join(f"{name} ({len(line)})" for name, line in self.points.items())

    def save(self, path: "str | os.PathLike[str]") -> None:
        """As SVG."""
        pathlib.Path(path).write_text(self._repr_svg_(), encoding="utf-8")

    def _repr_svg_(self) -> str:
        names = sorted(dict.fromkeys(name.removeprefix("val_") for name in self.points), key=lambda name: name != "loss")[:_PANELS_MAX]
        columns = min(3, max(1, len(names)))
        rows = max(1, math.ceil(len(names) / columns))
        body = "".join(self._panel(name, i % columns * _WIDTH, i // columns * _HEIGHT) for i, name in enumerate(names))
        size = f'width="{columns * _WIDTH}" height="{rows * _HEIGHT}"'
        return f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="11"><rect width="100%" height="100%" fill="white"/>{body}</svg>'

    def _panel(self, name: str, left: int, top: int) -> str:
        lines = [thinned(_finite(self.points.get(key, ())), _POINTS_MAX) for key in (name, f"val_{name}")]
        both = [point for line in lines for point in line]
        if not both:
            return ""
        (x_low, x_high), (y_low, y_high) = _range([x for x, _ in both]), _range([y for _, y in both])
        width, height = _WIDTH - _MARGIN - 12, _HEIGHT - _MARGIN - 16

        def place(point: Point) -> str:
            return f"{left + _MARGIN + (point[0] - x_low) / (x_high - x_low) * width:.1f},{top + 20 + (y_high - point[1]) / (y_high - y_low) * height:.1f}"

        frame = f'<rect x="{left + _MARGIN}" y="{top + 20}" width="{width}" height="{height}" fill="none" stroke="#bbb"/>'
        words = [(left + _MARGIN, top + 14, "start", name + (" (blue), validation (red)" if lines[1] else ""))]
        words += [(left + _MARGIN - 4, top + 28, "end", f"{y_high:.3g}"), (left + _MARGIN - 4, top + 20 + height, "end", f"{y_low:.3g}")]
        words += [(left + _MARGIN, top + height + 34, "start", f"{x_low:g}"), (left + _MARGIN + width, top + height + 34, "end", f"{self.axis} {x_high:g}")]
        texts = "".join(f'<text x="{x}" y="{y}" text-anchor="{anchor}">{escape(word)}</text>' for x, y, anchor, word in words)
        drawn = ""
        for line, colour in zip(lines, _COLOURS, strict=True):
            if len(line) == 1:
                x, y = place(line[0]).split(",")
                drawn += f'<circle cx="{x}" cy="{y}" r="2" fill="{colour}"/>'
            elif line:
                drawn += f'<polyline fill="none" stroke="{colour}" points="{" ".join(map(place, line))}"/>'
        return frame + texts + drawn


def thinned(line: "Sequence[Point]", most: int) -> list[Point]:
    """At most so many of its points: of each stretch the least and the greatest, so that no peak is lost."""
    if len(line) <= most:
        return list(line)
    kept: list[Point] = []
    stretches = most // 2
    for i in range(stretches):
        part = line[i * len(line) // stretches : (i + 1) * len(line) // stretches]
        kept += sorted({min(part, key=lambda p: p[1]), max(part, key=lambda p: p[1])})
    return kept


def _finite(line: "Sequence[Point]") -> list[Point]:
    return [point for point in line if math.isfinite(point[1])]


def _range(values: "Sequence[float]") -> tuple[float, float]:
    low, high = min(values), max(values)
    return (low, high) if high > low else (low - 0.5, high + 0.5)
