"""Views: what a notebook shows of showers, models, studies, plans and reports. Each is one piece of HTML that opens anywhere, also offline."""

import os
import pathlib
from collections.abc import Mapping
from typing import Any

from linac._columns import refused
from linac._views.page import View

__all__ = ["View", "show"]


def show(what: Any, *, events: int = 3) -> Any:
    """A picture of `what`, which a notebook shows. That of showers, a model or a study is a View, whose .save("NAME.html") writes it as a page.

    what: showers, as simulate() and generate() return them, an array [events, x, y, z] in GeV, or the path of an .h5 file: the three projections of
        their average and of single ones. A Keras model or the path of a .keras file: layers, shapes, weights. A Study, its folder, or linac.Client().study(NAME): its
        trials, the best ones, their curves. A Run or the folder of one: its state and curves. A Report: what it says.
    events: so many of the showers, at most 8, are shown one by one.

    Raises LinacError where it is nothing of that.
    """
    from linac import _model
    from linac._run import Run
    from linac._service_study import ServiceStudy
    from linac._study import Study
    from linac._verbs import Report

    if isinstance(what, (Run, Report, View)):
        return what
    if isinstance(what, (Study, ServiceStudy)):
        from linac._views import study

        return study.of_folder(what.folder) if isinstance(what, Study) else study.of_service(what)
    if isinstance(what, (str, os.PathLike)):
        return _of_path(pathlib.Path(os.path.abspath(what)), events)
    if _model.is_keras(what):
        from linac._views import model

        return model.view(what)
    if isinstance(what, Mapping) or hasattr(what, "__array__"):
        from linac._views import showers

        return showers.view(what, events)
    raise refused("show", f"there is no view of a {type(what).__name__}", "give showers, a model, a study or its folder, a Run or a Report")


def _of_path(path: pathlib.Path, events: int) -> Any:
    from linac._run import Run
    from linac._views import model, showers, study

    if path.is_dir():
        return study.of_folder(path) if study.is_study(path) else Run(path)
    if not path.is_file():
        raise refused("show", f"there is no file or folder {path}", "name a file of showers, a model, or the folder of a study or a run")
    return model.of_file(path) if path.suffix == ".keras" else showers.of_file(str(path), events)
