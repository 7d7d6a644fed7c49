"""Trials of a study at a service, for programs that carry them out: ask, report, tell (docs/guide/tuning.md)."""

import math
import secrets
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from linac._service import Service, ServiceError, named

if TYPE_CHECKING:
    import pandas

_PAGE = 1000
_WAIT_MAX_S = 60.0  # for a trial, at a time

Report = Callable[[int, float], bool]


def number(value: float) -> "float | str":
    """JSON has no NaN and no infinities; they are results all the same."""
    value = float(value)
    return value if math.isfinite(value) else "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


class ServiceStudy:
    """Any number of programs may carry out trials of the same study at once, an object each. One that is lost is no failed trial: after its lease
    another is given the point. Requests are repeated for patience_s while the service is away, which is harmless: the lease names who asks, and
    the same tell twice is one. `seconds`: of the lease, which each report renews."""

    def __init__(self, service: Service, name: str, seconds: int = 600, patience_s: float = 3600.0) -> None:
        self.name, self._service, self._patience_s = name, service, patience_s
        self._lease = {"lease": secrets.token_hex(16), "seconds": seconds}
        self._path = f"/api/v1/studies/{named(name)}"

    def __repr__(self) -> str:
        return f"linac study {self.name!r} at {self._service.url}"

    def _repr_html_(self) -> "str | None":
        """What linac.show() makes of it; nothing, and so the text, where the service is away."""
        from linac._views import study

        try:
            return study.of_service(self)._repr_html_()
        except ServiceError:
            return None

    def state(self, patience_s: "float | None" = None) -> dict[str, Any]:
        """Its file (`study`), how many trials are in which state, and `front`: those that no other one beats in all objectives."""
        return self._service.json("GET", self._path, patience_s=self._patience_s if patience_s is None else patience_s)

    def best(self) -> Any:
        """The best trial, None before there is one; of several objectives the list of `front`."""
        state = self.state()
        front = state["front"]
        return front if len(state["objectives"]) > 1 else front[0] if front else None

    def history(self) -> "pandas.DataFrame":
        """A row for each trial, in the order in which they were asked for."""
        import pandas as pd

        return pd.json_normalize(self.told())

    def told(self, patience_s: "float | None" = None) -> "list[dict[str, Any]]":
        """As history(): number (`trial`), `state`, `point`, `values`, `curve`, `reason`, times."""
        rows: "list[dict[str, Any]]" = []
        after: "int | None" = 0
        while after is not None:
            words = {"after": after, "limit": _PAGE}
            page = self._service.json("GET", f"{self._path}/trials", None, words, self._patience_s if patience_s is None else patience_s)
            rows += page["trials"]
            after = page["after"]
        return rows

    def ask(self) -> "dict[str, Any] | None":
        """{"trial", "point", ...} of the next one, for which it waits where others have all that are open; None when all are told."""
        while True:
            asked = self._post("ask")
            if asked.get("done"):
                return None
            if asked.get("trial") is not None:
                return asked
            time.sleep(min(max(float(asked.get("seconds", 1)), 0.01), _WAIT_MAX_S))

    def report(self, trial: int, step: int, value: float) -> bool:
        """An intermediate value; whether the trial should stop."""
        return bool(self._post(f"trials/{int(trial)}/report", step=int(step), value=number(value))["stop"])

    def tell(self, trial: int, *values: float, state: str = "complete", reason: str = "", cost: "float | None" = None) -> dict[str, Any]:
        """The end of a trial: a value for each objective, or `state` pruned, failed (it says nothing) or infeasible. Raises ServiceError where
        another has been given the trial meanwhile."""
        more = {} if cost is None else {"cost": float(cost)}
        return self._post(f"trials/{int(trial)}/tell", values=[number(value) for value in values], state=state, reason=reason, **more)

    def trials(self) -> "Iterator[tuple[int, dict[str, Any], Report]]":
        """Until all are told: (number, point, report); `report(step, value)` says whether to stop.

            for number, point, report in study.trials():
                study.tell(number, loss_of(point))
        """
        while (asked := self.ask()) is not None:
            trial = int(asked["trial"])
            yield trial, asked["point"], lambda step, value, trial=trial: self.report(trial, step, value)  # type: ignore[misc]

    def delete(self, force: bool = False) -> None:
        """force: although programs have trials of it."""
        self._service.json("DELETE", self._path, query={"force": "true" if force else None})

    def _post(self, path: str, **body: Any) -> dict[str, Any]:
        return self._service.json("POST", f"{self._path}/{path}", self._lease | body, patience_s=self._patience_s)
