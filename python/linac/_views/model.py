"""A Keras model: its layers with the shapes that leave them, and what their weights are like."""

import pathlib
from typing import Any

from linac._axes import COLOURS
from linac._columns import refused
from linac._views.page import Raw, View, panel, table, title

_LAYERS_MAX = 200
_BINS = 32
_WIDTH, _HEIGHT = 96, 18


def view(model: Any) -> View:
    layers = list(model.layers)
    rows = [_row(layer) for layer in layers[:_LAYERS_MAX]]
    count, trained = (sum(map(_size, weights)) for weights in (model.weights, model.trainable_weights))
    words = f"{len(layers)} layers, {count:,} parameters, {trained:,} of them trained"
    head = ("layer", "kind", "shape", "parameters", "weights", "mean ± rms", "distribution")
    html = panel(title(str(model.name), words), table(head, rows, more=len(layers) - len(rows)))
    return View(html, f"{model.name}: {words}")


def of_file(path: pathlib.Path) -> View:
    """Of a .keras file; what Keras cannot load is refused."""
    try:
        import keras

        import linac.keras  # noqa: F401  makes its layer known to Keras
    except ImportError as error:
        raise refused("show", f"models are read by Keras, which cannot be imported ({error})", "pip install keras", 4) from error
    try:
        return view(keras.saving.load_model(path, compile=False))
    except Exception as error:  # whatever a foreign file brings Keras to
        raise refused("show", f"{path}: Keras cannot load it ({error})", "`linac check` says what linac makes of it") from error


def _row(layer: Any) -> list[object]:
    import numpy as np

    weights = list(layer.weights)
    shapes = ", ".join("×".join(map(str, weight.shape)) or "1" for weight in weights)
    values = np.concatenate([np.asarray(weight).ravel() for weight in weights]).astype(np.float64) if weights else np.zeros(0)
    return [layer.name, type(layer).__name__, _shape(layer), f"{len(values):,}" if weights else "", shapes, _like(values), Raw(_histogram(values))]


def _size(weight: Any) -> int:
    size = 1
    for edge in weight.shape:
        size *= int(edge)
    return size


def _shape(layer: Any) -> str:
    """What leaves it, without the axis of events; nothing where the model was not built."""
    try:
        output = layer.output
    except (AttributeError, ValueError):
        return ""
    return "; ".join("×".join("any" if edge is None else str(edge) for edge in one.shape[1:]) for one in (output if isinstance(output, (list, tuple)) else [output]))


def _like(values: Any) -> str:
    import numpy as np

    if len(values) == 0:
        return ""
    finite = values[np.isfinite(values)]
    words = f"{finite.mean():.2g} ± {finite.std():.2g}" if len(finite) else ""
    return words + (f" ({len(values) - len(finite)} not finite)" if len(finite) < len(values) else "")


def _histogram(values: Any) -> str:
    import numpy as np

    finite = values[np.isfinite(values)]
    if len(finite) < 2 or finite.min() == finite.max():
        return ""
    counts, _ = np.histogram(finite, _BINS)
    step, most = _WIDTH / _BINS, counts.max()
    bars = "".join(f'<rect x="{i * step:.1f}" y="{_HEIGHT * (1 - n / most):.1f}" width="{step:.1f}" height="{_HEIGHT * n / most:.1f}"/>' for i, n in enumerate(counts) if n)
    return f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{_HEIGHT}" fill="{COLOURS[0]}"><title>{finite.min():.3g} to {finite.max():.3g}</title>{bars}</svg>'
