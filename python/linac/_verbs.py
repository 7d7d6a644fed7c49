"""The verbs that use and judge models, with arrays in and out."""

import json
import os
import pathlib
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from linac import _columns, _fit, _model, _showers, models
from linac._program import LinacError, call, call_with_status
from linac._run import FOLDER, Run

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]

_GATE_FAILED, _GATE_CANNOT_JUDGE, _SCORES_NOT_FINITE = 7, 10, 11


class Report(dict[str, Any]):
    """report.json of a verb, with the page beside it where one was written."""

    page: "pathlib.Path | None" = None

    @property
    def scores(self) -> dict[str, float]:
        """Of evaluate(): the first model's scores of all classes together, by name."""
        return {score["name"]: score["value"] for score in self["models"][0]["scores"] if score["part"] is None}

    def _repr_html_(self) -> str:
        from linac._views import report

        return report.html(self, self.page)


class _Given(NamedTuple):
    """A model and events as words of a command."""

    words: list[str]
    events: "_fit.Events | None"


@contextmanager
def _scratch() -> Iterator[pathlib.Path]:
    with tempfile.TemporaryDirectory(prefix="linac-") as folder:
        yield pathlib.Path(folder)


def _given(folder: pathlib.Path, model: Any, x: Any, y: Any = None, sample_weight: Any = None) -> _Given:
    known: list[dict[str, Any]] = []
    if isinstance(model, Run):
        named = model._named()
        known = [{key: value for key, value in one.items() if key != "shape"} for one in _read_job(model).get("data", {}).get("inputs", [])]
        saved = _model_of_run(model, [one["name"] for one in known])
    elif isinstance(model, (str, os.PathLike)) and not os.fspath(model).endswith(".keras"):
        saved, named = _model.ModelFile("", "", [], [], []), _model.local(model)
        if os.path.isdir(named.partition("@")[0]):
            saved = _model_of_run(Run(named.partition("@")[0]))
    else:
        saved = _model.file_of(model, folder)
        named = str(folder / saved.file)
    if _model.are_files(x):
        return _Given(["--model", named, "--data", *_fit.files(x)], None)
    events = _fit.Events(saved, x, y, sample_weight)
    _columns.write(folder / "events.arrow", events.columns)
    words = ["--model", named, "--data", str(folder / "events.arrow")]
    for one in events.inputs:
        if one not in known:
            read = one.get("columns") or [one["column"]]
            if "=" in one["name"] or any("," in column for column in read):
                raise _columns.refused("data", f"'{one['name']}' reads {read}, which `linac predict --input` cannot say", "give columns names without commas")
            words += ["--input", f"{one['name']}={','.join(read)}"]
    return _Given(words, events)


def _read_job(run: Run) -> dict[str, Any]:
    try:
        job = json.loads((run.folder / FOLDER / "job.yaml").read_text(encoding="utf-8"))
        return job if isinstance(job, dict) else {}
    except (OSError, ValueError):
        return {}


def _model_of_run(run: Run, names: "list[str] | None" = None) -> _model.ModelFile:
    """As it predicts: without the inputs that only a loss reads. `names`: of its inputs, where its model does not tell them."""
    path = run.model_file if (_read_job(run).get("model") or {}).get("kind") != "torchscript" else None
    return _model.file_of(path, run.folder) if path is not None and path.suffix == ".keras" else _model.ModelFile("", "", names or [], [], [])


def predict(model: Any, x: Any, *, batch_size: "int | None" = None, threads: "int | None" = None) -> "Array | dict[str, Array]":
    """What `model` (a Run, a Keras model, a model's file, RUN@best) says of `x`, which is given as to fit(): an array [events, values] or
    [events, steps, values] of float32, or of several outputs a dict of such. Scores that are not finite are returned like others."""
    _columns.arrow()
    import pyarrow.parquet as parquet

    with _scratch() as folder:
        given = _given(folder, model, x)
        words = [word for name, value in (("--batch", batch_size), ("--threads", threads)) if value is not None for word in (name, value)]
        call_with_status(("predict", *given.words, "--out", folder / "scores.parquet", *words), (_SCORES_NOT_FINITE,))
        table = parquet.read_table(folder / "scores.parquet")
        outputs = {name: _array(table[name]) for name in table.column_names if name not in ("file", "row")}
    return next(iter(outputs.values())) if len(outputs) == 1 else outputs


def _array(values: Any) -> "Array":
    """[events, ...] of a column of numbers, or of lists of one shape."""
    pa = _columns.arrow()
    shape = [len(values)]
    flat = values.combine_chunks()
    while pa.types.is_fixed_size_list(flat.type) or pa.types.is_list(flat.type):
        inner = flat.flatten()
        shape.append(len(inner) // max(1, len(flat)))
        flat = inner
    # An output of one value is a plain column in the file.
    array: Array = flat.to_numpy(zero_copy_only=False).reshape(shape if len(shape) > 1 else (-1, 1))
    return array


def evaluate(model: Any, x: Any, y: Any = None, *, sample_weight: Any = None, out: "str | os.PathLike[str] | None" = None, bootstraps: int = 200) -> Report:
    """Scores of `model` on labelled events, each with its uncertainty (docs/guide/evaluation.md): report.scores["accuracy"]. Of files `y` and
    `sample_weight` are names of columns. out: the folder for the page."""
    with _scratch() as folder:
        given = _given(folder, model, x, y, sample_weight)
        words = [*given.words, "--bootstraps", bootstraps, *_page(out)]
        if given.events is not None:
            targets = given.events.settings.get("targets")
            if targets:
                words += ["--targets", targets[0]["column"]]
            if "event_weight" in given.events.settings:
                words += ["--weights", given.events.settings["event_weight"]]
        else:
            words += [] if y is None else ["--targets", y]
            words += [] if sample_weight is None else ["--weights", sample_weight]
        return _report(call("evaluate", *words, "--json"), out)


def _page(out: "str | os.PathLike[str] | None") -> list[str]:
    return [] if out is None else ["--out", os.path.abspath(out)]


def _report(text: str, out: "str | os.PathLike[str] | None" = None) -> Report:
    made = Report(json.loads(text))
    made.page = None if out is None else pathlib.Path(os.path.abspath(out)) / "report.html"
    return made


def report(run: "Run | str | os.PathLike[str]") -> Report:
    """Where the time of a run went (`linac report`)."""
    folder = run.folder if isinstance(run, Run) else pathlib.Path(os.path.abspath(run))
    return _report(call("report", folder, "--json"), folder / "report")


def export(model: Any, path: "str | os.PathLike[str]") -> pathlib.Path:
    """The trained network for other programs, by the ending of `path`: .onnx or .keras."""
    with _scratch() as folder:
        if isinstance(model, Run):
            source = [model._named()]
        elif _model.is_keras(model):
            source = ["--model", str(folder / _model.file_of(model, folder).file)]
        else:
            named = _model.local(model)
            source = [named] if os.path.isdir(named.partition("@")[0]) else ["--model", named]
        call("export", *source, "--out", os.path.abspath(path))
    return pathlib.Path(os.path.abspath(path))


def generate(
    model: Any, events: "int | None" = None, *, seed: int, energy: "tuple[float, float] | None" = None, theta: "tuple[float, float] | None" = None,
    like: "str | os.PathLike[str] | None" = None, extrapolate: bool = False,
) -> "dict[str, Array]":  # fmt: skip
    """Showers of a trained generator (a Run, RUN@best, a .keras or .chain file): ECAL [events, x, y, z] in GeV, energy [events] in GeV, theta [events]
    in rad, .... Energies and angles are uniform in (low, high), or those of the file `like`. The same seed gives the same showers."""
    words = ["--model", _generator(model), *_range("--energy", energy), *_range("--theta", theta), *(["--extrapolate"] if extrapolate else [])]
    return _made("generate", words, events, seed, like)


def simulate(
    events: "int | None" = None, *, seed: int, energy: "tuple[float, float] | None" = None, theta: "tuple[float, float] | None" = None,
    like: "str | os.PathLike[str] | None" = None, geometry: "str | os.PathLike[str] | None" = None, threads: "int | None" = None,
) -> "dict[str, Array]":  # fmt: skip
    """Electron showers of a fast parametrised simulation: ECAL [events, x, y, z] in GeV, energy in GeV, theta in rad, ...."""
    words = [*_range("--energy", energy), *_range("--theta", theta)]
    words += [] if geometry is None else ["--geometry", _model.local(geometry)]
    words += [] if threads is None else ["--threads", str(threads)]
    return _made("simulate", words, events, seed, like)


def _range(option: str, limits: "tuple[float, float] | None") -> list[str]:
    return [] if limits is None else [option, f"{limits[0]!r}:{limits[1]!r}"]


def _made(verb: str, words: list[str], events: "int | None", seed: int, like: "str | os.PathLike[str] | None") -> "dict[str, Array]":
    _showers.h5py()
    words = words + ([] if events is None else ["--events", str(events)]) + ([] if like is None else ["--like", _model.local(like)])
    with _scratch() as folder:
        call(verb, *words, "--seed", seed, "--out", folder / "showers.h5")
        return _showers.read(folder / "showers.h5")


def _generator(model: Any) -> str:
    if isinstance(model, models.Model):
        return model.file
    return model._named() if isinstance(model, Run) else _model.local(model)


def validate(
    reference: Any, sample: Any, *, out: "str | os.PathLike[str]", gate: "str | os.PathLike[str] | None" = None, train: Any = None, classifiers: bool = True
) -> Report:  # fmt: skip
    """Showers compared with Monte Carlo (docs/guide/physics/validation.md); files, or dicts of arrays; of the sample also a Run. out: the folder for the page. With a
    `gate`, report["passed"] is its verdict: True, False, or None where there are too few showers to judge."""
    with _scratch() as folder:

        def given(name: str, showers: Any) -> list[str]:
            if not _columns.is_table(showers):
                return _fit.files(showers)
            _showers.write(folder / name, _showers.arrays_of(showers))
            return [str(folder / name)]

        own = isinstance(sample, (Run, models.Model))
        words = ["--reference", *given("reference.h5", reference), "--sample", *([_generator(sample)] if own else given("sample.h5", sample)), *_page(out)]
        words += [] if gate is None else ["--gate", _model.local(gate)]
        words += [] if train is None else ["--train", *given("train.h5", train)]
        words += [] if classifiers else ["--no-classifiers"]
        text, status = call_with_status(("validate", *words, "--json"), (_GATE_FAILED, _GATE_CANNOT_JUDGE))
    made = _report(text, out)
    if gate is not None:
        made["passed"] = {0: True, _GATE_FAILED: False, _GATE_CANNOT_JUDGE: None}[status]
    return made


@contextmanager
def _job_file(job: Any) -> Iterator[Any]:
    """The path of a job, of one in memory too, or of a run's."""
    if isinstance(job, Run):
        own = job.folder / FOLDER / "job.yaml"
        yield own if own.exists() else job.folder / "job.yaml"
    elif isinstance(job, Mapping):
        with _scratch() as folder:
            _fit.write_job(folder / "job.yaml", job)
            yield folder / "job.yaml"
    elif isinstance(job, (str, os.PathLike)):
        yield _model.local(job)
    else:
        raise LinacError(f"[job] {type(job).__name__} is no job; give the path of a file, a dict, or a Run", 2)


def check(job: Any) -> Report:
    """Whether a job (a file, a dict, a Run) would run and what it needs; raises LinacError where it would not."""
    with _job_file(job) as path:
        return _report(call("check", path, "--json"))


def plan(job: Any, *, machine: "str | None" = None, probe_s: "float | None" = None, measured: "str | os.PathLike[str] | None" = None) -> Report:
    """Time, money and energy of a job here and on `machine`s of the price book, with intervals (docs/guide/planning.md). Measures for 40 s, or
    probe_s, unless `measured` names a run of the same work."""
    words: list[Any] = [] if machine is None else ["--machine", machine]
    words += [] if probe_s is None else ["--probe-seconds", probe_s]
    words += [] if measured is None else ["--measured", _model.local(measured)]
    with _job_file(job) as path:
        return _report(call("plan", path, *words, "--json"))
