"""tune(): a study of hyper-parameters whose trials are calls of a function, or trainings of a job."""

import fcntl
import json
import os
import pathlib
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import IO, Any

from linac import _fit, _study
from linac._columns import refused
from linac._program import LinacError, command, environment, failure
from linac._space import Space, Suggestions
from linac._study import Study

_FAILURES_MAX = 20  # one after the other, as in the queue of a service
_PREEMPTED, _BUDGET = 75, 12


class TrialPruned(Exception):
    """An objective raises it where trial.should_prune() says so; Optuna's does as well."""


class Trial(Suggestions):
    """What an objective is called with. number: from 1 on; params: its point."""

    def __init__(self, study: Study, space: Space, number: int, params: "Mapping[str, Any]") -> None:
        self.number, self.params = number, dict(params)
        self._study, self._space, self._stop = study, space, False

    def report(self, value: float, step: int) -> None:
        self._stop = self._study.told(self.number, value, step)

    def should_prune(self) -> bool:
        """Whether what was reported last is not worth going on."""
        return self._stop

    def _value(self, name: str, words: dict[str, Any]) -> Any:
        if name not in self._space.search:
            raise refused("tune", f"trial {self.number} wants {name}, which is not searched", f"name it in the space ({', '.join(self._space.search)})")
        if name not in self.params:
            raise refused("tune", f"trial {self.number} has no {name}: its conditions do not hold", "ask for it only where they do")
        self._space.add(name, words) if "when" not in self._space.search[name] else None
        return self.params[name]


def tune(
    objective: Any,
    space: Any,
    *,
    direction: "str | None" = None,
    directions: "Sequence[str] | None" = None,
    metric: "str | Sequence[str] | None" = None,
    sampler: "str | Mapping[str, Any]" = "tpe",
    pruner: "str | Mapping[str, Any]" = "none",
    constraints: "Sequence[str]" = (),
    n_trials: int = 20,
    timeout: "float | None" = None,
    n_jobs: int = 1,
    seed: int = 1,
    catch: "tuple[type[Exception], ...]" = (),
    folder: "str | os.PathLike[str] | None" = None,
) -> Study:
    """Searches for the best point of `space`, and returns the study when its trials have ended.

        study = linac.tune(lambda trial: (trial.suggest_float("x", -5, 5) - 2) ** 2, {"x": (-5.0, 5.0)}, n_trials=30)
        study.best_params, study.best_value

    objective: a function of a Trial that returns a number, or one for each of `directions`; or a job, the path of its file or a mapping, whose
        trials are trainings (`linac tune`), judged by `metric`.
    space: {"lr": {"kind": "log", "low": 1e-4, "high": 1e-1}, ...} as in a study's file (docs/guide/tuning.md), of a job by its keys; for short
        (low, high) or a list of choices; or a function that calls trial.suggest_float(), suggest_int() and suggest_categorical() for each.
    direction: minimize or maximize; of a job without as linac knows the metric. directions: of several objectives.
    sampler, pruner: names, or mappings with their settings, of `linac help study`. constraints: formulas over the parameters, true for what is tried.
    n_trials: of the study in all, so that the same call goes on after a kill; trials that failed come on top. timeout: seconds, after which none begins.
    n_jobs: trials at a time, in threads; of a job, trainings at a time. A study with one comes out the same each time.
    catch: exceptions that make a trial a failed one; others end the search, and are raised. NaN and infinity are results: such a point is infeasible.
    folder: of the study; without, studies/tune-DATE-TIME. One that is there goes on, with the trials of a call that was killed first.

    Raises LinacError where the program refuses the study.
    """
    searched = Space(space)
    chosen = pathlib.Path(os.path.abspath(folder)) if folder is not None else _fit.new_folder("studies", "tune")
    words: dict[str, Any] = {
        "search": searched.search, "constraints": list(constraints), "sampler": _named(sampler), "pruner": _named(pruner), "seed": seed,
        "budget": {"trials": n_trials}, "parallel": n_jobs,
    }  # fmt: skip
    if not words["constraints"]:
        del words["constraints"]
    wanted = list(directions) if directions is not None else [direction or ("auto" if not callable(objective) else "minimize")]
    if direction is not None and directions is not None:
        raise refused("tune", "direction and directions are both given", "leave one out")
    if callable(objective):
        if metric is not None:
            raise refused("tune", "a function's value has no metric", "leave `metric` out")
        names = ["value"] if len(wanted) == 1 else [f"values_{i}" for i in range(len(wanted))]
        words["objective"] = _objectives(names, wanted)
        study = _study.made(chosen, json.dumps(words), None, searched)
        _Search(study, searched, objective, catch, timeout).run(n_jobs)
        return study
    names = [metric] if isinstance(metric, str) else list(metric or ())
    if not names or directions is not None and len(names) != len(wanted):
        raise refused("tune", "a job's trials are judged by a metric", 'name one, or one for each direction: metric="auc"')
    words["objective"] = _objectives(names, wanted if len(wanted) == len(names) else wanted * len(names))
    if timeout is not None:
        words["budget"]["hours"] = timeout / 3600
    text, beside = _job_text(objective, words)
    study = _study.made(chosen, text, beside, searched)
    _carry_out(study)
    return study


def _named(words: "str | Mapping[str, Any]") -> dict[str, Any]:
    if isinstance(words, str):
        return {"name": words}
    if isinstance(words, Mapping):
        return dict(words)
    raise refused("tune", f"{type(words).__name__} is no sampler or pruner of linac", 'give its name, as "tpe", or a mapping with its settings')


def _objectives(names: Sequence[str], directions: Sequence[str]) -> Any:
    made = [{"metric": name, "direction": direction} for name, direction in zip(names, directions, strict=True)]
    return made[0] if len(made) == 1 else made


def _job_text(job: Any, words: "Mapping[str, Any]") -> "tuple[str, pathlib.Path | None]":
    """A study's file of this job. JSON is YAML, also as values of YAML's own keys."""
    if isinstance(job, Mapping):
        return json.dumps({**job, **words}, default=_fit._plain, ensure_ascii=False), pathlib.Path.cwd()
    if not isinstance(job, (str, os.PathLike)):
        raise refused("tune", f"{type(job).__name__} is neither a function nor a job", "give a function of a trial, a mapping, or a job's file")
    path = pathlib.Path(os.path.abspath(job))
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise refused("tune", f"{path} cannot be read as a job ({error})", "name the file of one") from error
    if text.lstrip().startswith("{"):
        return _job_text(json.loads(text), words)[0], path.parent
    return text + "".join(f"\n{key}: {json.dumps(value, ensure_ascii=False)}" for key, value in words.items()) + "\n", path.parent


def _carry_out(study: Study) -> None:
    """`linac tune`, whose lines go where Python prints. Ctrl-C stops it after checkpoints; the same call goes on."""
    line = command("tune", study.folder / "study.yaml", "--out", study.folder)
    with subprocess.Popen(line, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8", errors="replace",
                          env=environment(), start_new_session=True) as process:  # fmt: skip
        assert process.stdout is not None
        said: list[str] = []
        try:
            for text in process.stdout:
                print(text, end="", flush=True)
                said.append(text)
            process.wait()
        except BaseException:
            process.send_signal(signal.SIGINT)
            process.wait()
            raise
    if process.returncode not in (0, _BUDGET):
        raise failure("".join(said), process.returncode)


class _Search:
    """Trials of a study as calls of a function, some at a time."""

    def __init__(self, study: Study, space: Space, objective: "Callable[[Trial], Any]", catch: "tuple[type[Exception], ...]", timeout: "float | None") -> None:
        self._study, self._space, self._objective, self._catch = study, space, objective, catch
        self._end = None if timeout is None else time.monotonic() + timeout
        self._lock = threading.Lock()
        self._error: BaseException | None = None
        self._failures = 0
        self._left: list[tuple[int, dict[str, Any]]] = []

    def run(self, n_jobs: int) -> None:
        with open(self._study.folder / ".python-lock", "a") as file:
            self._left = self._of_the_dead(file)
            if n_jobs == 1:
                self._work()
            else:
                threads = [threading.Thread(target=self._work, daemon=True) for _ in range(n_jobs)]
                for one in threads:
                    one.start()
                try:
                    for one in threads:
                        one.join()
                except BaseException as error:  # Ctrl-C
                    self._error = error
        if self._error is not None:
            raise self._error

    def _of_the_dead(self, file: "IO[str]") -> "list[tuple[int, dict[str, Any]]]":
        """Trials that run, though no call is alive that could carry them out. Each call holds the lock as long as it lives."""
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            fcntl.flock(file, fcntl.LOCK_SH)
            return []
        left = [(one.number, one.params) for one in self._study.trials if one.state == "running"]
        fcntl.flock(file, fcntl.LOCK_SH)
        return left

    def _work(self) -> None:
        try:
            while self._error is None and (trial := self._next()) is not None:
                self._carry_out(*trial)
        except BaseException as error:
            self._error = self._error or error

    def _next(self) -> "tuple[int, dict[str, Any]] | None":
        with self._lock:
            if self._end is not None and time.monotonic() >= self._end:
                return None
            if self._left:
                return self._left.pop(0)
            try:
                return self._study.ask()
            except LinacError as error:
                if "were asked for" in str(error) or "its cost is spent" in str(error):
                    return None
                raise

    def _carry_out(self, number: int, params: "dict[str, Any]") -> None:
        try:
            values = self._objective(Trial(self._study, self._space, number, params))
            values = list(values) if isinstance(values, (list, tuple)) else values
            self._study.tell(number, values)
            self._failures = 0
        except Exception as error:
            if isinstance(error, TrialPruned) or type(error).__name__ == "TrialPruned":
                self._study.tell(number, state="pruned", reason=str(error))
                return
            self._study.tell(number, state="failed", reason=f"{type(error).__name__}: {error}")
            if not isinstance(error, self._catch):
                raise
            self._failures += 1
            if self._failures >= _FAILURES_MAX:
                raise refused("tune", f"the last {_FAILURES_MAX} trials failed, the last one with {error!r}", "mend the objective") from error
