"""Showers from three sides: what lies in a line of sight is summed, in GeV, by colours on one logarithmic scale."""

import base64
import struct
import zlib
from typing import Any

from linac._axes import picture
from linac._columns import refused
from linac._views.page import View, panel, words

Array = Any  # of NumPy

_EVENTS_MAX = 8
_SIDE = 200  # pixels of the longer edge
_GAP = 46
_DECADES = 4  # that the colours cover, below the largest sum
_SIDES = (("x", "y"), ("z", "x"), ("z", "y"))  # to the right, upwards; along the third axis cells are summed
# From faint to bright, readable on both backgrounds: anchors of a scale of colours, red green blue.
_ANCHORS = ((64, 40, 120), (58, 95, 175), (40, 155, 150), (120, 200, 80), (253, 231, 37))


def view(showers: Any, events: int) -> View:
    """showers: {"ECAL": [events, x, y, z] in GeV, "energy": [events] in GeV, "theta": [events] in rad}, as simulate() and generate() return it, or
    the array alone; one shower is [x, y, z]. The average of all comes first, then so many of the first."""
    import numpy as np

    cells, facts = _cells(showers)
    shown = min(events, len(cells), _EVENTS_MAX)
    rows = [(f"average of {len(cells)}", cells.mean(axis=0, dtype=np.float64))] if len(cells) > 1 else []
    rows += [(_named(i, cells[i], facts), cells[i]) for i in range(shown)]
    sums = [(name, [_side(np.where(np.isfinite(one), one, 0).clip(0).astype(np.float64), *side) for side in _SIDES]) for name, one in rows]
    most = max((float(side.max()) for _, sides in sums for side in sides), default=0.0)
    height = sum(_row_height(sides) for _, sides in sums)
    body, top = "", 0.0
    for name, sides in sums:
        body += _row(name, sides, top, most)
        top += _row_height(sides)
    width = len(_SIDES) * (_SIDE + _GAP)
    html = panel(picture(width, height + 34, body + _scale(top, most)))
    shape = " × ".join(map(str, cells.shape[1:]))
    return View(html, f"{len(cells)} showers of {shape} cells")


def of_file(path: str, events: int) -> View:
    """Of an HDF5 file: the first ones alone are read."""
    try:
        import h5py
    except ImportError as error:
        raise refused("show", f"showers are read by h5py, which cannot be imported ({error})", "pip install h5py", 4) from error
    most = max(events, 100)
    try:
        with h5py.File(path) as file:
            return view({name: values[:most] for name, values in file.items() if isinstance(values, h5py.Dataset) and values.ndim > 0}, events)
    except OSError as error:
        raise refused("show", f"{path} cannot be read ({error})", "name an HDF5 file of showers", 4) from error


def _cells(showers: Any) -> tuple[Array, dict[str, Array]]:
    import numpy as np

    facts: dict[str, Any] = {}
    if hasattr(showers, "keys"):
        if "ECAL" not in showers:
            raise refused("show", f"there are no cells among {', '.join(map(str, showers))}", 'give {"ECAL": [events, x, y, z]}')
        facts = {name: np.asarray(showers[name]) for name in ("energy", "theta") if name in showers}
        showers = showers["ECAL"]
    cells = np.asarray(showers)
    if cells.ndim == 3:
        cells = cells[None]
    if cells.ndim != 4 or cells.dtype.kind not in "fiub" or 0 in cells.shape:
        raise refused("show", f"an array of {cells.dtype} {list(cells.shape)} is no showers", "give cells [events, x, y, z] in GeV")
    return cells, {name: values for name, values in facts.items() if values.shape == (len(cells),) and values.dtype.kind in "fiu"}


def _named(event: int, cells: Array, facts: dict[str, Array]) -> str:
    told = f"event {event}"
    if "energy" in facts:
        told += f", {facts['energy'][event]:.4g} GeV"
    if "theta" in facts:
        told += f" at {facts['theta'][event]:.3g} rad"
    return f"{told}; in the cells {float(cells.sum()):.4g} GeV"


def _side(cells: Array, right: str, up: str) -> Array:
    """[right, up] in GeV."""
    kept = "xyz".index(right), "xyz".index(up)
    summed = cells.sum(axis=3 - sum(kept))
    return summed if kept[0] < kept[1] else summed.T


def _pixels(side: Array) -> float:
    return _SIDE / int(max(side.shape))


def _row_height(sides: list[Array]) -> float:
    return max(int(side.shape[1]) * _pixels(side) for side in sides) + 44


def _row(name: str, sides: list[Array], top: float, most: float) -> str:
    body = f'<text x="20" y="{top + 13}" fill="currentColor" font-weight="bold">{words(name)}</text>'
    left = 20.0
    for (right, up), side in zip(_SIDES, sides, strict=True):
        width, height = side.shape[0] * _pixels(side), side.shape[1] * _pixels(side)
        # The rows of a picture begin at its top.
        image = base64.b64encode(_png(_coloured(side.T[::-1], most))).decode()
        body += f'<image x="{left:.1f}" y="{top + 20}" width="{width:.1f}" height="{height:.1f}" preserveAspectRatio="none" style="image-rendering:pixelated" href="data:image/png;base64,{image}"/>'
        body += f'<rect x="{left:.1f}" y="{top + 20}" width="{width:.1f}" height="{height:.1f}" fill="none" stroke="currentColor" stroke-opacity="0.35"/>'
        body += f'<text x="{left + width:.1f}" y="{top + height + 33:.1f}" text-anchor="end" fill="currentColor">{right}, {side.shape[0]} cells</text>'
        body += f'<text x="{left - 4:.1f}" y="{top + 30}" text-anchor="end" fill="currentColor">{up}</text>'
        left += width + _GAP
    return body


def _scale(top: float, most: float) -> str:
    import numpy as np

    if most <= 0:
        return f'<text x="20" y="{top + 16}" fill="currentColor">no energy in any cell</text>'
    steps = most * np.logspace(-_DECADES, 0, 128)[None]
    image = base64.b64encode(_png(_coloured(steps, most))).decode()
    words_at = f'y="{top + 28}" fill="currentColor"'
    return (
        f'<image x="20" y="{top + 6}" width="{_SIDE}" height="10" preserveAspectRatio="none" href="data:image/png;base64,{image}"/>'
        f'<text x="20" {words_at}>{most * 10.0**-_DECADES:.2g} GeV</text><text x="{20 + _SIDE}" text-anchor="end" {words_at}>{most:.2g} GeV</text>'
    )


def _coloured(values: Array, most: float) -> Array:
    """[rows, columns] as red, green, blue, opacity; what is below the scale is transparent."""
    import numpy as np

    with np.errstate(divide="ignore"):
        share = 1 + np.log10(values / most) / _DECADES if most > 0 else np.full(values.shape, -1.0)
    at = np.clip(share, 0, 1) * (len(_ANCHORS) - 1)
    colours = np.stack([np.interp(at, range(len(_ANCHORS)), [anchor[i] for anchor in _ANCHORS]) for i in range(3)], axis=-1)
    return np.concatenate([colours, np.where(share > 0, 255.0, 0.0)[..., None]], axis=-1).astype(np.uint8)


def _png(pixels: Array) -> bytes:
    """Of [rows, columns, 4] bytes (PNG, ISO/IEC 15948: rows without a filter, one block of zlib)."""
    rows, columns, _ = pixels.shape

    def part(kind: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    lines = b"".join(b"\0" + row.tobytes() for row in pixels)
    head = struct.pack(">IIBBBBB", columns, rows, 8, 6, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + part(b"IHDR", head) + part(b"IDAT", zlib.compress(lines, 9)) + part(b"IEND", b"")
