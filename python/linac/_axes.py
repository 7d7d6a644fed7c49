"""Two axes as SVG, in the colour of the text around them, so that a picture can be read on a dark page and on a light one."""

import math
from collections.abc import Iterable, Sequence
from html import escape

Point = tuple[float, float]

# Readable on white and on black alike.
COLOURS = ("#2f86d6", "#e0603f", "#3a9d5d", "#a06cd5", "#c9912b")
_MARGIN, _TOP, _RIGHT, _BOTTOM = 60, 20, 12, 40
_LOG_FROM = 20.0  # values this far apart, of which none is below zero, are drawn by their logarithm


class Axes:
    """A panel at (left, top) of so many pixels. `x` and `y` are the values that have to find place; those that are not finite are passed over."""

    def __init__(self, left: float, top: float, width: float, height: float, x: "Iterable[float]", y: "Iterable[float]", *, may_be_log: bool = False) -> None:
        self.left, self.top = left + _MARGIN, top + _TOP
        self.width, self.height = width - _MARGIN - _RIGHT, height - _TOP - _BOTTOM
        self.x, self.y = _Scale(x, may_be_log), _Scale(y, may_be_log)

    def place(self, point: Point) -> str:
        """Its pixels: "x,y"."""
        return f"{self.left + self.x.share(point[0]) * self.width:.1f},{self.top + (1 - self.y.share(point[1])) * self.height:.1f}"

    def frame(self, title: str, x_name: str) -> str:
        bottom, right = self.top + self.height, self.left + self.width
        words = [(self.left, self.top - 6, "start", title), (self.left - 4, self.top + 8, "end", f"{self.y.high:.3g}")]
        words += [(self.left - 4, bottom, "end", f"{self.y.low:.3g}"), (self.left, bottom + 14, "start", f"{self.x.low:.4g}")]
        words += [(right, bottom + 14, "end", f"{x_name} {self.x.high:.4g}")]
        box = f'<rect x="{self.left}" y="{self.top}" width="{self.width}" height="{self.height}" fill="none" stroke="currentColor" stroke-opacity="0.35"/>'
        return box + "".join(f'<text x="{x}" y="{y}" text-anchor="{anchor}" fill="currentColor">{escape(word)}</text>' for x, y, anchor, word in words)

    def line(self, points: "Sequence[Point]", colour: str, width: float = 1.5) -> str:
        """Of finite points; one alone is a dot."""
        if len(points) == 1:
            return self.dot(points[0], colour)
        return f'<polyline fill="none" stroke="{colour}" stroke-width="{width}" points="{" ".join(map(self.place, points))}"/>' if points else ""

    def dot(self, point: Point, colour: str, title: str = "", radius: float = 2.5, opacity: float = 1.0) -> str:
        x, y = self.place(point).split(",")
        words = f"<title>{escape(title)}</title>" if title else ""
        return f'<circle cx="{x}" cy="{y}" r="{radius}" fill="{colour}" fill-opacity="{opacity}">{words}</circle>'


class _Scale:
    def __init__(self, values: "Iterable[float]", may_be_log: bool) -> None:
        finite = [value for value in values if math.isfinite(value)]
        low, high = (min(finite), max(finite)) if finite else (0.0, 1.0)
        self.log = may_be_log and low > 0 and high / low > _LOG_FROM
        # Half a unit to each side of a single value, or more where a unit is lost beside it.
        room = max(0.5, abs(high) * 1e-6) if low == high else 0.0
        self.low, self.high = low - room, high + room

    def share(self, value: float) -> float:
        """0 at the low end, 1 at the high one."""
        if self.log:
            return math.log(value / self.low) / math.log(self.high / self.low)
        # Of halves: the difference of the largest numbers is no number.
        return (value / 2 - self.low / 2) / (self.high / 2 - self.low / 2)


def picture(width: float, height: float, body: str, *, background: bool = False) -> str:
    """The whole SVG. background: white, for a file that stands alone."""
    white = '<rect width="100%" height="100%" fill="white"/>' if background else ""
    size = f'width="{width:g}" height="{height:g}" viewBox="0 0 {width:g} {height:g}"'
    style = 'style="max-width:100%;height:auto" font-family="sans-serif" font-size="11"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size} {style}>{white}{body}</svg>'


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


def finite(line: "Iterable[Point]") -> list[Point]:
    return [point for point in line if math.isfinite(point[0]) and math.isfinite(point[1])]
