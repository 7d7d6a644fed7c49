"""A study: the best trial, what each came to, their curves, and a table of them."""

import json
import pathlib
from collections.abc import Mapping, Sequence
from typing import Any

from linac._axes import COLOURS, Axes, finite, picture, thinned
from linac._program import call
from linac._service_study import ServiceStudy
from linac._views.page import View, panel, table, title

_ROWS_MAX = 30
_CURVES_MAX = 60
_POINTS_MAX = 100


def is_study(folder: pathlib.Path) -> bool:
    return (folder / "journal.jsonl").exists()


def of_folder(folder: pathlib.Path) -> View:
    trials = json.loads(call("study", "show", folder, "--json"))
    best = json.loads(call("study", "best", folder, "--json"))
    return view(folder.name, trials, [] if best is None else best if isinstance(best, list) else [best])


def of_service(study: ServiceStudy) -> View:
    """Asked once: who looks does not wait until the service is back."""
    front = study.state(patience_s=0)["front"]
    return view(study.name, study.told(patience_s=0), front)


def view(name: str, trials: "Sequence[Mapping[str, Any]]", best: "Sequence[Mapping[str, Any]]") -> View:
    """trials: of `linac study show --json` or of a service, in the order in which they began; best: those that no other one beats in all objectives."""
    leading = [trial["trial"] for trial in best]
    order = sorted(trials, key=lambda trial: (trial["trial"] not in leading, trial["trial"]))
    keys = list(dict.fromkeys(key for trial in trials for key in trial["point"]))
    rows = [(trial["trial"], trial["state"], _worth(trial), *(trial["point"].get(key, "") for key in keys), trial["reason"]) for trial in order[:_ROWS_MAX]]
    told = f"{len(trials)} trials" + (f", the best {', '.join(map(str, leading))}" if leading else "")
    pictures = picture(700, 240, _values(trials, leading, 0) + _curves(trials, leading, 350))
    html = panel(title(name, told), pictures, table(("trial", "state", "values", *keys, "reason"), rows, more=len(trials) - len(rows)))
    return View(html, f"study {name}: {told}")


def _values(trials: "Sequence[Mapping[str, Any]]", leading: "Sequence[int]", left: float) -> str:
    """The first objective by trial; of one that was stopped early what it had come to."""
    ends = finite([(float(trial["trial"]), float(trial["values"][0])) for trial in trials if trial["values"]])
    stopped = finite([(float(trial["trial"]), float(trial["curve"][-1][1])) for trial in trials if not trial["values"] and trial["curve"]])
    points = ends + stopped
    if not points:
        return ""
    axes = Axes(left, 0, 350, 240, [x for x, _ in points], [y for _, y in points])
    faint = [axes.dot(point, COLOURS[0], f"trial {point[0]:g}, stopped at {point[1]:.4g}", opacity=0.4) for point in stopped]
    dots = [axes.dot(point, COLOURS[1] if point[0] in leading else COLOURS[0], f"trial {point[0]:g}: {point[1]:.4g}", 4 if point[0] in leading else 2.5) for point in ends]
    return axes.frame("objective by trial (red: the best, faint: stopped early)", "trial") + "".join(faint + dots)


def _curves(trials: "Sequence[Mapping[str, Any]]", leading: "Sequence[int]", left: float) -> str:
    """Of the last ones, and of the best."""
    kept = [trial for trial in trials if trial["trial"] in leading] + list(trials)[-_CURVES_MAX:]
    lines = {trial["trial"]: thinned(finite([(float(step), float(value)) for step, value in trial["curve"]]), _POINTS_MAX) for trial in kept}
    points = [point for line in lines.values() for point in line]
    if not points:
        return ""
    axes = Axes(left, 0, 350, 240, [x for x, _ in points], [y for _, y in points])
    # The best last, so that it lies on top.
    drawn = sorted(lines, key=lambda number: number in leading)
    body = "".join(axes.line(lines[number], COLOURS[1] if number in leading else COLOURS[0], 2 if number in leading else 0.7) for number in drawn)
    return axes.frame("objective by step", "step") + body


def _worth(trial: "Mapping[str, Any]") -> str:
    """Its values, or in brackets what one without any had come to."""
    if trial["values"] or not trial["curve"]:
        return ", ".join(_number(value) for value in trial["values"])
    return f"({_number(trial['curve'][-1][1])})"


def _number(value: Any) -> str:
    """NaN and infinities are texts."""
    return f"{value:.5g}" if isinstance(value, (int, float)) else str(value)
