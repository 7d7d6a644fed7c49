"""What a study searches, in Optuna's words or in those of a study's file, and the values of a point as Python has them."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from linac._columns import refused


class Space:
    """`search`: as a study's file has it."""

    def __init__(self, space: Any) -> None:
        self.search: dict[str, dict[str, Any]] = {}
        self._choices: dict[str, dict[str, Any]] = {}  # of a categorical parameter: the value of each text
        if callable(space):
            space(_Recorder(self))
        elif isinstance(space, Mapping):
            for name, words in space.items():
                self.add(name, words)
        else:
            raise refused("tune", f"the space is a {type(space).__name__}", "give a dict of parameters, or a function of a trial")
        if not self.search:
            raise refused("tune", "the space has no parameter", 'name some: {"lr": {"kind": "log", "low": 1e-4, "high": 1e-1}}')

    def add(self, name: str, words: Any) -> None:
        """`words`: a map as in a study's file; (low, high), integers or not; a list of choices; one of Optuna's distributions."""
        if not isinstance(name, str) or not name:
            raise refused("tune", f"{name!r} is no name of a parameter", "give a text")
        if isinstance(words, Mapping):
            words = dict(words)
        elif type(words).__name__ in ("FloatDistribution", "IntDistribution"):
            words = numbers(words.low, words.high, words.step, words.log, type(words).__name__ == "IntDistribution")
        elif hasattr(words, "choices"):
            words = {"kind": "categorical", "choices": list(words.choices)}
        elif isinstance(words, tuple) and len(words) == 2 and all(isinstance(one, (int, float)) for one in words):
            words = numbers(*words, None, False, all(isinstance(one, int) for one in words))
        elif isinstance(words, list):
            words = {"kind": "categorical", "choices": words}
        else:
            raise refused("tune", f"{name}: {words!r} is nothing to search", "give (low, high), a list of choices, or a map as in a study's file")
        if "choices" in words:
            texts = [_text(one) for one in words["choices"]]
            if len(set(texts)) != len(texts):
                raise refused("tune", f"{name}: two of its choices are {next(one for one in texts if texts.count(one) > 1)}", "name each once")
            self._choices[name] = dict(zip(texts, words["choices"], strict=True))
            words["choices"] = texts
        if self.search.setdefault(name, words) != words:
            raise refused("tune", f"{name} is searched twice, and not alike", "name another parameter, or search it once")

    def values(self, point: "Mapping[str, Any]") -> dict[str, Any]:
        """The point of a trial: choices are what was given as such."""
        there = {name: point[name] for name in self.search if name in point}
        return {name: self._choices.get(name, {}).get(value, value) if isinstance(value, str) else value for name, value in there.items()}


class Suggestions:
    """The suggest_ words of Optuna's trials."""

    def suggest_float(self, name: str, low: float, high: float, *, step: "float | None" = None, log: bool = False) -> float:
        return float(self._value(name, numbers(low, high, step, log, False)))

    def suggest_int(self, name: str, low: int, high: int, *, step: int = 1, log: bool = False) -> int:
        return int(self._value(name, numbers(low, high, step, log, True)))

    def suggest_categorical(self, name: str, choices: "Sequence[Any]") -> Any:
        return self._value(name, {"kind": "categorical", "choices": list(choices)})

    def _value(self, name: str, words: dict[str, Any]) -> Any:
        raise NotImplementedError


class _Recorder(Suggestions):
    """Runs through a function of a trial once, to see what it searches."""

    def __init__(self, space: Space) -> None:
        self._space = space

    def _value(self, name: str, words: dict[str, Any]) -> Any:
        first = words["choices"][0] if words.get("choices") else words.get("low")
        self._space.add(name, words)
        return first


def numbers(low: float, high: float, step: "float | None", log: bool, integer: bool) -> dict[str, Any]:
    words: dict[str, Any] = {"kind": "integer" if integer else "log" if log else "uniform", "low": low, "high": high}
    if step is not None and not (integer and step == 1):
        words["step"] = step
    if integer and log:
        words["log"] = True
    return words


def _text(choice: Any) -> str:
    """As a study's file and the settings of a job have it."""
    return choice if isinstance(choice, str) else json.dumps(choice, default=repr)


