"""Curves as a picture: a notebook shows it without an extension, and a million points are no more than what a picture can show."""

import math
import os
import pathlib
from collections.abc import Mapping, Sequence

from linac._axes import COLOURS, Axes, Point, finite, picture, thinned

_POINTS_MAX = 400
_PANELS_MAX = 6
_WIDTH, _HEIGHT = 320, 200


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
        return self._drawn(background=True)

    def _repr_html_(self) -> str:
        return self._drawn(background=False)

    def _drawn(self, background: bool) -> str:
        names = sorted(dict.fromkeys(name.removeprefix("val_") for name in self.points), key=lambda name: name != "loss")[:_PANELS_MAX]
        columns = min(3, max(1, len(names)))
        rows = max(1, math.ceil(len(names) / columns))
        body = "".join(self._panel(name, i % columns * _WIDTH, i // columns * _HEIGHT) for i, name in enumerate(names))
        return picture(columns * _WIDTH, rows * _HEIGHT, body, background=background)

    def _panel(self, name: str, left: int, top: int) -> str:
        lines = [thinned(finite(self.points.get(key, ())), _POINTS_MAX) for key in (name, f"val_{name}")]
        both = [point for line in lines for point in line]
        if not both:
            return ""
        axes = Axes(left, top, _WIDTH, _HEIGHT, [x for x, _ in both], [y for _, y in both])
        title = name + (" (blue), validation (red)" if lines[1] else "")
        return axes.frame(title, self.axis) + "".join(axes.line(line, colour) for line, colour in zip(lines, COLOURS, strict=False))
