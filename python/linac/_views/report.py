"""Reports of the verbs: what each says first, as tables."""

from collections.abc import Mapping
from typing import Any

from linac._axes import COLOURS
from linac._views import plan
from linac._views.page import Raw, panel, table, title, words

_FIGURES_MAX = 30


def html(report: "Mapping[str, Any]", page: object) -> str:
    """By what it has: a plan, scores of evaluate(), figures of validate(), times of a run; else its members. page: where all of it stands."""
    where = title("page", str(page)) if page else ""
    if "rows" in report and "currency" in report:
        return plan.html(report) + where
    if report.get("models") and "task" in report:
        return panel(_scores(report), where)
    if "figures" in report and "verdict" in report:
        return panel(_figures(report), where)
    if "phases" in report and "wall_s" in report:
        return panel(_times(report), where)
    return panel(table((), [(name, _short(value)) for name, value in report.items()]), where)


def _scores(report: "Mapping[str, Any]") -> str:
    """A row a score, those of all classes together first, and a column a model."""
    models = report["models"]
    by_score: dict[str, dict[int, str]] = {}
    for i, model in enumerate(models):
        for score in sorted(model["scores"], key=lambda score: score["part"] is not None):
            name = score["name"] if score["part"] is None else f"{score['name']}, {score['part']}"
            by_score.setdefault(name, {})[i] = _with_error(score["value"], score["error"])
    names = [str(model.get("name", i + 1)) for i, model in enumerate(models)]
    rows = [(name, *(found.get(i, "") for i in range(len(models)))) for name, found in by_score.items()]
    return title(str(report["task"]), f"{report['events']} events") + table(("score", *names), rows)


def _figures(report: "Mapping[str, Any]") -> str:
    """Those of the gate, the worst first; without a gate the first ones."""
    order = {False: 0, None: 1, True: 2}
    judged = [figure for figure in report["figures"] if figure["limit"] is not None]
    figures = sorted(judged, key=lambda figure: order[figure["passed"]]) or report["figures"]
    rows = [
        (figure["name"], figure["title"], _bin(figure["bin"]), _with_error(figure["value"], figure["uncertainty"]), figure["floor"], figure["limit"], figure["verdict"])
        for figure in figures[:_FIGURES_MAX]
    ]
    head = ("figure", "", "bin", "value", "floor", "limit", "verdict")
    told = f"{report['sample']['name']}, {report['sample']['events']} showers, beside {report['reference']['name']}, {report['reference']['events']}"
    return title(str(report["verdict"] or "no gate"), told) + table(head, rows, more=len(report["figures"]) - len(rows))


def _times(report: "Mapping[str, Any]") -> str:
    parts = [(name, part["s"], part["share"] or 0.0) for name, part in report["phases"].items()]
    rows = [(name, f"{seconds:.3g} s", Raw(_bar(share))) for name, seconds, share in sorted(parts, key=lambda part: -part[1]) if seconds > 0]
    return title(str(report["name"]), f"{report['status']}, {report['wall_s']:.3g} s") + table(("of the workers' time", "", ""), rows)


def _bar(share: float) -> str:
    width = 160 * min(1.0, max(0.0, share))
    label = f'<text x="{width + 4:.1f}" y="11" font-size="11" fill="currentColor">{share:.1%}</text>'
    return f'<svg xmlns="http://www.w3.org/2000/svg" width="220" height="14"><rect width="{width:.1f}" height="14" fill="{COLOURS[0]}"/>{label}</svg>'


def _with_error(value: Any, error: Any) -> str:
    if value is None:
        return "–"
    return f"{value:.4g}" + ("" if error is None else f" ± {error:.2g}")


def _bin(ranges: "Mapping[str, Any] | None") -> str:
    return "all" if not ranges else ", ".join(f"{name} {low:.4g} to {high:.4g}" for name, (low, high) in ranges.items())


def _short(value: Any) -> str:
    """Of what has members, how many; of a list of numbers or words, these."""
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {words(one)}" if not isinstance(one, (Mapping, list)) else str(name) for name, one in value.items())
    if isinstance(value, list) and any(isinstance(one, (Mapping, list)) for one in value):
        return f"{len(value)} entries"
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value if value is not None else "–")
