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
    from linac._log import Log, log
    from linac._run import Run
    from linac._service import ServiceError
    from linac._spool import send_logs
    from linac._study import Study
    from linac._tune import TrialPruned, tune
    from linac._verbs import Report, check, evaluate, export, generate, plan, predict, simulate, validate
    from linac._views import show
    from linac.client import AsyncClient, Client

__all__ = [
    "AsyncClient", "Client", "Job", "LinacError", "Log", "Report", "Run", "ServiceError", "Study", "TrialPruned", "check", "evaluate", "export", "fit",
    "generate", "loader", "log", "models", "plan", "predict", "program", "runs", "send_logs", "show", "simulate", "train", "tune", "validate",
]  # fmt: skip
__version__: str

# Where each name is from: imported when it is asked for.
_NAMES = {
    "_fit": "fit train",
    "_job": "Job",
    "_loader": "loader",
    "_log": "Log log",
    "_run": "Run",
    "_service": "ServiceError",
    "_spool": "send_logs",
    "_study": "Study",
    "_tune": "TrialPruned tune",
    "_verbs": "Report check evaluate export generate plan predict simulate validate",
    "_views": "show",
    "client": "AsyncClient Client",
}
_PLACES = {name: module for module, names in _NAMES.items() for name in names.split()}
_MODULES = ("keras", "lightning", "models", "runs", "sklearn")


def __getattr__(name: str) -> object:
    if name == "__version__":
        from linac._program import version

        return version()
    if name in _MODULES:
        return importlib.import_module(f"linac.{name}")
    if name in _PLACES:
        return getattr(importlib.import_module(f"linac.{_PLACES[name]}"), name)
    raise AttributeError(f"module 'linac' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted({*__all__, *_MODULES, "__version__"})
