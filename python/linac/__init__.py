"""Trains networks of high-energy physics on any number of workers, with the same bits.

    import linac
    run = linac.fit(model, x, y, epochs=10, workers=2)   # a compiled Keras model, arrays; returns at once
    run.wait().history                                   # a pandas DataFrame in Keras's words
    scores = linac.predict(run, x)                       # a NumPy array

The training is a process of its own: it goes on when this one ends, and `linac.runs.last()` finds it again. What the program refuses is a
LinacError with its text. Nothing is imported here that is not needed, so that `import linac` takes no time.
"""

import importlib
from typing import TYPE_CHECKING

from linac._program import LinacError, program

if TYPE_CHECKING:
    from linac import models, runs
    from linac._fit import fit, train
    from linac._job import Job
    from linac._loader import loader
    from linac._run import Run
    from linac._study import Study
    from linac._tune import TrialPruned, tune
    from linac._verbs import Report, check, evaluate, export, generate, plan, predict, simulate, validate
    from linac._views import show

__all__ = [
    "Job", "LinacError", "Report", "Run", "Study", "TrialPruned", "check", "evaluate", "export", "fit", "generate", "loader", "models", "plan",
    "predict", "program", "runs", "show", "simulate", "train", "tune", "validate",
]  # fmt: skip
__version__: str

_PLACES = {"fit": "_fit", "train": "_fit", "Run": "_run", "Job": "_job"}
_PLACES |= {"loader": "_loader", "tune": "_tune", "TrialPruned": "_tune", "Study": "_study"}
_PLACES["show"] = "_views"
_PLACES |= dict.fromkeys("Report check evaluate export generate plan predict simulate validate".split(), "_verbs")


def __getattr__(name: str) -> object:
    if name == "__version__":
        from linac._program import version

        return version()
    "keras", "models", "runs", "sklearn",
        return importlib.import_module(f"linac.{name}")
    if name in _PLACES:
        return getattr(importlib.import_module(f"linac.{_PLACES[name]}"), name)
    raise AttributeError(f"module 'linac' has no attribute '{name}'")


def __dir__() -> list[str]:
    return [*__all__, "keras", "sklearn", "__version__"]
