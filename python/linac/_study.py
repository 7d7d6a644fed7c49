"""A study of hyper-parameters: the folder that holds all that was asked and told, in Optuna's words."""

import json
import math
import os
import pathlib
import tempfile
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from linac._columns import refused
from linac._program import LinacError, call
from linac._space import Space

if TYPE_CHECKING:
    import pandas


class FrozenTrial(NamedTuple):
    """A trial as it stands. number: from 1 on. state: running, complete, pruned, failed or infeasible. values: one an objective, of complete ones.
    intermediate_values: by step."""

    number: int
    state: str
    params: dict[str, Any]
    values: "list[float] | None"
    intermediate_values: dict[int, float]
    reason: str

    @property
    def value(self) -> "float | None":
        return self.values[0] if self.values and len(self.values) == 1 else None


class Study:
    """The study in `folder`: linac.tune()'s, `linac tune`'s, or one that another program asks and tells."""

    def __init__(self, folder: "str | os.PathLike[str]", space: "Space | None" = None) -> None:
        self.folder = pathlib.Path(os.path.abspath(folder))
        self._space = space
        if not (self.folder / "study.yaml").exists():
            raise refused("study", f"{self.folder}: there is no study", "name the folder of one")

    def __repr__(self) -> str:
        return f"linac.Study({str(self.folder)!r}): {len(self.trials)} trials"

    def _repr_html_(self) -> "str | None":
        from linac._views import study

        return study.of_folder(self.folder)._repr_html_()

    @property
    def trials(self) -> "list[FrozenTrial]":
        """In the order in which they were asked for."""
        return [self.frozen(one) for one in json.loads(call("study", "show", self.folder, "--json"))]

    @property
    def best_trials(self) -> "list[FrozenTrial]":
        """Those that no other one beats in all objectives; of one objective the best alone."""
        front = json.loads(call("study", "best", self.folder, "--json"))
        return [self.frozen(one) for one in (front if isinstance(front, list) else [front] if front else [])]

    @property
    def best_trial(self) -> FrozenTrial:
        best = self.best_trials
        if len(best) > 1 and len(best[0].values or []) > 1:
            raise refused("study", f"{self.folder} has several objectives", "see best_trials")
        if not best:
            raise refused("study", f"{self.folder} has no complete trial yet", "see trials, and why others ended")
        return best[0]

    @property
    def best_params(self) -> dict[str, Any]:
        return self.best_trial.params

    @property
    def best_value(self) -> float:
        value = self.best_trial.value
        if value is None:
            raise refused("study", f"{self.folder} has several objectives", "see best_trials")
        return value

    def trials_dataframe(self) -> "pandas.DataFrame":
        """A row a trial: number, value or values_0, ..., params_NAME, state."""
        import pandas as pd

        rows = []
        for one in self.trials:
            values = one.values or []
            named = {"value": values[0]} if len(values) == 1 else {f"values_{i}": value for i, value in enumerate(values)}
            rows.append({"number": one.number, **named, **{f"params_{name}": value for name, value in one.params.items()}, "state": one.state})
        return pd.DataFrame(rows)

    def report(self, path: "str | os.PathLike[str] | None" = None) -> pathlib.Path:
        """The page of the study, report.html of its folder without a `path`."""
        out = self.folder / "report.html" if path is None else pathlib.Path(os.path.abspath(path))
        call("study", "report", self.folder, "--out", out)
        return out

    # --- Asked and told: what linac.tune() does ---

    def ask(self) -> "tuple[int, dict[str, Any]]":
        """A new trial's number and its point. LinacError where the budget has none."""
        asked = json.loads(call("study", "ask", self.folder))
        return asked["trial"], self.params_of(asked["point"])

    def tell(self, number: int, values: "float | list[float] | tuple[float, ...] | None" = None, state: str = "complete", reason: str = "") -> None:
        """The end of a trial. A value that is no finite number makes it infeasible: a result, which the sampler learns from."""
        given = [] if values is None else list(values) if isinstance(values, (list, tuple)) else [values]
        words = ["--state", state, *([f"--reason={reason[:500]}"] if reason else [])]
        call("study", "tell", *words, self.folder, number, "--", *map(_word, given))

    def told(self, number: int, value: float, step: int) -> bool:
        """After `step` the trial is worth `value`; whether the pruner gives it up."""
        return bool(json.loads(call("study", "report", self.folder, number, step, "--", _word(value)))["stop"])

    def frozen(self, trial: "Mapping[str, Any]") -> FrozenTrial:
        values = [float(value) for value in trial["values"]] if trial["values"] else None
        curve = {int(step): float(value) for step, value in trial["curve"]}
        return FrozenTrial(trial["trial"], trial["state"], self.params_of(trial["point"]), values, curve, trial["reason"])

    def params_of(self, point: "Mapping[str, Any]") -> dict[str, Any]:
        return self._space.values(point) if self._space is not None else dict(point)


def _word(value: Any) -> str:
    try:
        number = float(value)
    except (TypeError, ValueError) as error:
        raise refused("tune", f"an objective returned {value!r}", "return a number, or one for each direction") from error
    return repr(number) if math.isfinite(number) else "nan" if math.isnan(number) else "inf" if number > 0 else "-inf"


def made(folder: pathlib.Path, text: str, beside: "pathlib.Path | None", space: Space) -> Study:
    """The study of this file's text, or the one that is there, with the budget of this text. `beside`: where its relative paths begin."""
    try:
        with tempfile.NamedTemporaryFile("w", suffix=".yaml", prefix=".linac-tune-", dir=beside, encoding="utf-8") as file:
            file.write(text)
            file.flush()
            call("study", "new", file.name, "--out", folder)
    except OSError as error:
        raise LinacError(f"[tune] {error.filename or beside}: cannot be written ({error.strerror}); give the job as a dict", 4) from error
    return Study(folder, space)
