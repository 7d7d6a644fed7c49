"""A plan: the places ranked, and their time against their money."""

from collections.abc import Mapping, Sequence
from typing import Any

from linac._axes import COLOURS, Axes, picture
from linac._views.page import panel, table, title

_ROWS_MAX = 20
_UNITS = ((86400.0, "d"), (3600.0, "h"), (60.0, "min"), (1.0, "s"))


def html(plan: "Mapping[str, Any]") -> str:
    """plan: the JSON of `linac plan`; its rows come ranked."""
    rows = plan["rows"]
    of_all = _of_all(rows)
    told = [_remarks(row, of_all) for row in rows[:_ROWS_MAX]]
    head = ("", "place", "time", "money", "energy, kWh", "memory, GiB", *(["remarks"] if any(told) else []))
    cells = [
        (i, row["name"], _duration(row["seconds"]), _money(row["money_usd"], plan), _interval(row["kwh"]), row["memory_gib"], *([remark] if any(told) else []))
        for i, (row, remark) in enumerate(zip(rows, told, strict=False), 1)
    ]
    wishes = [f"done in {_time(plan['deadline_s'])}"] if plan.get("deadline_s") else []
    wishes += [f"for {plan['budget_usd']:.4g} USD"] if plan.get("budget_usd") else []
    words = f"{len(rows)} ways, the best first" + (f"; wanted {' and '.join(wishes)}" if wishes else "")
    said = [title("all", "; ".join(of_all))] if of_all else []
    return panel(title(str(plan.get("title", "plan")), words), *said, table(head, cells, more=len(rows) - len(cells)), _picture(plan))


def _picture(plan: "Mapping[str, Any]") -> str:
    """Hours against money, each with its interval; filled where no other one is both faster and cheaper."""
    shown = [row for row in plan["rows"] if row["money_usd"] is not None]
    if not shown:
        return ""
    hours = [row["seconds"][end] / 3600 for row in shown for end in ("low", "high")]
    money = [_in_currency(row["money_usd"][end], plan) for row in shown for end in ("low", "high")]
    axes = Axes(0, 0, 560, 300, hours, money, may_be_log=True)
    code = plan["currency"]["code"]
    body = axes.frame(f"{code} (up) against hours; filled: none is both faster and cheaper", "hours")
    for i, row in enumerate(shown):
        x, y = row["seconds"]["middle"] / 3600, _in_currency(row["money_usd"]["middle"], plan)
        colour = COLOURS[0] if row["front"] else "currentColor"
        low, high = (row["seconds"][end] / 3600 for end in ("low", "high"))
        cheap, dear = (_in_currency(row["money_usd"][end], plan) for end in ("low", "high"))
        body += axes.line([(low, y), (high, y)], colour, 1) + axes.line([(x, cheap), (x, dear)], colour, 1)
        body += axes.dot((x, y), colour, f"{i + 1}. {row['name']}: {_duration(row['seconds'])}, {_money(row['money_usd'], plan)}", 4, 1 if row["front"] else 0.35)
    return picture(560, 300, body)


def _in_currency(usd: float, plan: "Mapping[str, Any]") -> float:
    return float(usd) / float(plan["currency"]["usd"] or 1)


def _money(usd: "Mapping[str, float] | None", plan: "Mapping[str, Any]") -> str:
    if usd is None:
        return "–"
    return _interval({end: _in_currency(value, plan) for end, value in usd.items()}) + " " + str(plan["currency"]["code"])


def _interval(value: "Mapping[str, float] | None") -> str:
    return "–" if value is None else f"{value['middle']:.3g} ({value['low']:.3g} to {value['high']:.3g})"


def _duration(seconds: "Mapping[str, float]") -> str:
    return f"{_time(seconds['middle'])} ({_time(seconds['low'])} to {_time(seconds['high'])})"


def _time(seconds: float) -> str:
    size, unit = next(((size, unit) for size, unit in _UNITS if seconds >= 2 * size), _UNITS[-1])
    return f"{seconds / size:.3g} {unit}"


def _of_all(rows: "Sequence[Mapping[str, Any]]") -> "list[str]":
    """Remarks that every row has, which are said once."""
    return [one for one in rows[0]["remarks"] if all(one in row["remarks"] for row in rows)] if len(rows) > 1 else []


def _remarks(row: "Mapping[str, Any]", but: "Sequence[str]") -> str:
    told = [] if row["fits"] else ["does not fit into memory"]
    told += [] if row["on_time"] > 0.5 else ["too late"]
    return "; ".join([*told, *(one for one in row["remarks"] if one not in but)])
