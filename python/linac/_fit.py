"""fit(): a model and events in memory become a job, and that a run."""

import copy
import json
import math
import os
import pathlib
import shutil
import tempfile
import time
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from linac import _callbacks, _columns, _model, _remote, _showers, _torch, _words, models
from linac._columns import Column, refused
from linac._model import are_files
from linac._run import FOLDER, Run, start

_REPLICAS = 4


def fit(
    model: Any,
    x: Any,
    y: Any = None,
    *,
    loss: Any = None,
    optimizer: Any = None,
    metrics: "Iterable[str]" = (),
    epochs: int = 1,
    batch_size: int = 32,
    replicas: "int | None" = None,
    workers: int = 1,
    validation_data: Any = None,
    validation_split: float = 0.0,
    sample_weight: Any = None,
    class_weight: "Mapping[int, float] | None" = None,
    steps_per_epoch: "int | None" = None,
    callbacks: "Iterable[Any]" = (),
    seed: "int | None" = None,
    folder: "str | os.PathLike[str] | None" = None,
    name: "str | None" = None,
    settings: "Mapping[str, Any] | None" = None,
    on: "str | None" = None,
    upload: "str | os.PathLike[str] | None" = None,
) -> Run:
    """Trains `model` on events in memory or in files, in a process of its own, and returns when that has begun.

    model: one of linac.models; a Keras 3 model, of which weights, and if it is compiled optimizer, losses and metrics are taken; a torch.nn.Module, which is exported
        by torch.export with the first events as examples; or the path or address of a model file. The model itself stays as it is; the trained
        one is `run.model`.
    x: an array [events, ...] for a model of one input; for several a dict by their names, or a list in their order. A table (a pandas or polars
        DataFrame, PyArrow's Table, a dict of columns) gives each input the column of its name, or joins all its columns to the only input. Lists of
        several lengths come as awkward arrays, and are not padded here. Showers are a dict as linac.simulate() returns it, without y. Or paths and addresses of files of events, with `y` the names of columns.
    y: likewise for the outputs: [events] class numbers or texts, [events, values].
    loss, optimizer: texts of docs/reference/settings.md (train.fit.loss, train.optimizer.name), or an instance of torch.nn's or torch.optim's, of
        which all is taken that the program computes alike, and what it does not is refused. metrics: texts, as train.fit.metrics has them. They
        go before what a Keras model was compiled with.
    batch_size: events of an update, of all replicas together. replicas: into how many parts it is cut, each of which a worker computes; part of the
        mathematics where the model normalizes batches. Without: 4, or fewer where batch_size does not divide by that.
    workers: processes, at most as many as replicas; never changes the result.
    validation_data: (x, y) or (x, y, sample_weight); files if x is. validation_split: the last part of the events.
    sample_weight: [events]; of files the name of a column. class_weight: by class number.
    callbacks: Keras's EarlyStopping, ReduceLROnPlateau, ModelCheckpoint; what else it has that needs no code.
    folder: of the run; without, runs/NAME-DATE-TIME. It keeps the events, the model and all that the training leaves.
    settings: of the job, by docs/reference/settings.md: {"train.optimizer.lr": 1e-3}. They come last.
    on: elsewhere: a site of sites.yaml (`linac launch`), or the address of a service (`linac submit`). upload: a folder, or s3://BUCKET/FOLDER, that
        is read there and written here; without, the site's folder if this host sees it, else the run's. Events and model are brought there once,
        by their checksum.

    Raises LinacError where arguments do not go together, or the program refuses the job.
    """
    replicas = math.gcd(batch_size, _REPLICAS) if replicas is None else replicas
    if replicas < 1 or batch_size < 1 or batch_size % replicas != 0:
        raise refused("fit", f"batch_size {batch_size} is not a multiple of {replicas} replicas", "change one of them")
    if validation_data is not None and validation_split:
        raise refused("fit", "validation_data and validation_split are both given", "leave one out")
    train: dict[str, Any] = {"epochs": epochs, "replicas": replicas, "batch": batch_size // replicas}
    if seed is not None:
        train["seed"] = seed
    if steps_per_epoch is not None:
        train["steps_per_epoch"] = steps_per_epoch
    if class_weight is not None:
        train["fit"] = {"class_weight": _class_weights(class_weight)}
    words = _words.settings_of(model, y, loss, optimizer, metrics)
    name = name or str(getattr(model, "name", None) or "fit")
    with _folder_for(folder, name) as place:
        saved = _model.file_of(model, place.part, x)
        own = isinstance(model, models.Model)
        if own and model.is_of_showers and not are_files(x):
            data = _showers.data(place.part, _only_showers(x, y, sample_weight), validation_data, validation_split)
        else:
            data = _data(place.part, saved, x, y, sample_weight, validation_data)
            if validation_split:
                data["validation_split"] = validation_split
        section = {"kind": saved.kind, **(model.settings if own else {"file": saved.file})}
        job: dict[str, Any] = {"name": name, "model": section, "data": data | (model.data if own else {}), "train": train, "workers": workers}
        for key, value in {**words, **_callbacks.settings_of(callbacks), **(settings or {})}.items():
            put(job, key, value)
        if on is not None:
            _remote.bring(place.part, place.folder / FOLDER, job, on, upload)
        write_job(place.part / "job.yaml", job)
        module = copy.deepcopy(model) if _torch.is_module(model) else None
        place.claim()
    path = place.folder / FOLDER / "job.yaml"
    run = _begin(place.folder, path, [], on)
    run._module = module
    return run


def train(
    job: Any, *, folder: "str | os.PathLike[str] | None" = None, workers: "int | None" = None, settings: "Mapping[str, Any] | None" = None,
    on: "str | None" = None,
) -> Run:  # fmt: skip
    """Trains a job, the path of its file or the same as a mapping, as fit() does, also `on` a site or a service. Relative paths in a mapping are
    those of the working folder."""
    name = pathlib.Path(os.fspath(job)).stem if isinstance(job, (str, os.PathLike)) else str(job.get("name", "run"))
    words: list[str] = [] if workers is None else ["--workers", str(workers)]
    for key, value in (settings or {}).items():
        words += ["--set", f"{key}={json.dumps(value, ensure_ascii=False)}"]
    with _folder_for(folder, name) as place:
        if isinstance(job, (str, os.PathLike)):
            path = pathlib.Path(_model.local(job)) if "://" not in os.fspath(job) else None
            if path is not None and not path.is_file():
                raise refused("train", f"there is no job {path}", "name the file of a job")
            place.claim()
            return _begin(place.folder, path or os.fspath(job), words, on)
        write_job(place.part / "job.yaml", job)
        place.claim()
    return _begin(place.folder, place.folder / FOLDER / "job.yaml", words, on)


def _begin(folder: pathlib.Path, job: Any, words: list[str], on: "str | None") -> Run:
    return start(folder, job, words) if on is None else _remote.begin(folder, job, on, words)


def _only_showers(x: Any, y: Any, sample_weight: Any) -> Any:
    if y is not None or sample_weight is not None:
        raise refused("fit", "showers have their energy and angle beside them, and neither y nor sample_weight", "give one dict of arrays")
    return x


def _class_weights(weights: "Mapping[int, float]") -> list[float]:
    if sorted(weights) != list(range(len(weights))):
        raise refused("fit", f"class_weight is of the classes {sorted(weights)}", f"give one for each of 0 to {max(weights, default=0)}")
    return [float(weights[i]) for i in range(len(weights))]


def put(job: dict[str, Any], key: str, value: Any) -> None:
    """job["a"]["b"] = value of the key "a.b"; maps are merged."""
    *path, last = key.split(".")
    for word in path:
        inner = job.setdefault(word, {})
        if not isinstance(inner, dict):
            raise refused("fit", f"settings: '{key}': '{word}' is no map", "see docs/reference/settings.md")
        job = inner
    if isinstance(value, Mapping):
        job.setdefault(last, {})
        for name, inner in value.items():
            put(job, f"{last}.{name}", inner)
    else:
        job[last] = value


def write_job(path: pathlib.Path, job: "Mapping[str, Any]") -> None:
    """JSON is YAML."""
    try:
        text = json.dumps(job, indent=1, ensure_ascii=False, allow_nan=False, default=_plain)
        path.write_text(text + "\n", encoding="utf-8")
    except (TypeError, ValueError) as error:
        raise refused("fit", f"a setting cannot be written down ({error})", "give finite numbers, texts, lists and dicts") from error


def _plain(value: Any) -> Any:
    """NumPy's numbers and arrays, and paths."""
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} {value!r}")


class _Place(NamedTuple):
    """What is written before the run begins lies in `part`, and comes to its place when it is whole: of two that want one folder the second finds
    that taken, and a process that dies here leaves nothing that looks like a run."""

    folder: pathlib.Path
    part: pathlib.Path

    def claim(self) -> None:
        try:
            os.rename(self.part, self.folder / FOLDER)
        except OSError as error:
            raise _taken(self.folder) from error


def _taken(folder: pathlib.Path) -> Exception:
    return refused("fit", f"{folder} already holds a run", "linac.Run(folder).resume() goes on with it, or choose another folder")


class _FolderFor:
    def __init__(self, folder: "str | os.PathLike[str] | None", name: str) -> None:
        self._folder, self._name = folder, name

    def __enter__(self) -> _Place:
        if self._folder is not None and "://" in os.fspath(self._folder):
            raise refused("fit", f"{os.fspath(self._folder)} is no folder of this machine", "`linac train --out` keeps a run at an object store")
        try:
            folder = pathlib.Path(os.path.abspath(self._folder)) if self._folder is not None else new_folder("runs", self._name)
            folder.mkdir(parents=True, exist_ok=True)
            if (folder / "run.json").exists() or (folder / FOLDER).exists():
                raise _taken(folder)
            self._place = _Place(folder, pathlib.Path(tempfile.mkdtemp(prefix=f".{FOLDER}-", dir=folder)))
            (self._place.part / "output.txt").touch()  # an empty folder would let another one take its place
        except OSError as error:
            raise refused("fit", f"{error.filename or self._folder} cannot be written ({error.strerror})", "choose another folder", 4) from error
        return self._place

    def __exit__(self, *_: object) -> None:
        shutil.rmtree(self._place.part, ignore_errors=True)


def _folder_for(folder: "str | os.PathLike[str] | None", name: str) -> _FolderFor:
    return _FolderFor(folder, name)


def new_folder(place: str, name: str) -> pathlib.Path:
    """PLACE/NAME-DATE-TIME in the working folder, which no other call has."""
    safe = "".join(c if c.isalnum() or c in "-_" else "-" for c in name)[:80]
    all_of_them = pathlib.Path.cwd() / place
    all_of_them.mkdir(exist_ok=True)
    stamp = time.strftime("%Y%m%d-%H%M%S")
    for number in range(1000):
        folder = all_of_them / (f"{safe}-{stamp}" + (f"-{number}" if number else ""))
        try:
            folder.mkdir()
            return folder
        except FileExistsError:
            pass
    raise refused(place, f"{all_of_them} has a thousand of this second", "name a folder", 4)


def files(value: Any) -> list[str]:
    return [_model.local(one) for one in (value if isinstance(value, (list, tuple)) else [value])]


def _data(folder: pathlib.Path, model: _model.ModelFile, x: Any, y: Any, sample_weight: Any, validation: Any) -> dict[str, Any]:
    """The section `data` of the job; what is in memory is written."""
    given = _parts_of_validation(validation)
    if are_files(x):
        return _data_of_files(model, x, y, sample_weight, given)
    train = test = Events(model, x, y, sample_weight)
    if given is not None:
        if sample_weight is not None and given[2] is None:  # each counts as one, as in Keras
            import numpy as np

            given = (*given[:2], np.broadcast_to(np.float32(1), (Events(model, *given[:2]).columns[0].events,)))
        test = Events(model, *given)
        if test.settings != train.settings:
            raise refused("fit", "validation_data has other columns than the training", "give both in the same form")
    if model.kind == "torchscript":
        _torch.add_shapes(train.inputs, train.columns, test.columns)
    if model.export is not None:
        model.export(train.inputs, train.columns)
    data = {"train": ["train.arrow"], **train.settings}
    _columns.write(folder / "train.arrow", train.columns)
    if given is not None:
        _columns.write(folder / "test.arrow", test.columns)
        data["test"] = ["test.arrow"]
    return data


def _parts_of_validation(validation: Any) -> "tuple[Any, Any, Any] | None":
    if validation is None:
        return None
    if are_files(validation):
        return validation, None, None
    if not isinstance(validation, (list, tuple)) or len(validation) not in (2, 3):
        raise refused("fit", "validation_data is no (x, y) or (x, y, sample_weight)", "give such a tuple")
    return validation[0], validation[1], validation[2] if len(validation) == 3 else None


def _data_of_files(model: _model.ModelFile, x: Any, y: Any, sample_weight: Any, validation: "tuple[Any, Any, Any] | None") -> dict[str, Any]:
    data: dict[str, Any] = {"train": files(x)}
    if y is not None:
        named = y if isinstance(y, Mapping) else dict(zip(model.outputs or [""], [y] if isinstance(y, str) else y, strict=False))
        if not all(isinstance(one, str) for one in named.values()):
            raise refused("fit", "x are files, and y is no name of a column", "name the column of each output")
        data["targets"] = [({"name": name} if name else {}) | {"column": column} for name, column in named.items()]
    if sample_weight is not None:
        if not isinstance(sample_weight, str):
            raise refused("fit", "x are files, and sample_weight is no name of a column", "name the column")
        data["event_weight"] = sample_weight
    if validation is not None:
        if not are_files(validation[0]):
            raise refused("fit", "x are files, and validation_data are not", "give files")
        data["test"] = files(validation[0])
    return data


class Events:
    """x, y and sample_weight as columns, and what the job says of them."""

    def __init__(self, model: _model.ModelFile, x: Any, y: Any = None, sample_weight: Any = None) -> None:
        self.columns: list[Column] = []
        self.settings: dict[str, Any] = {}
        self.inputs = self._add("x", model.inputs, x, "")
        if self.inputs:
            self.settings["inputs"] = self.inputs
        if y is not None:
            if model.targets:
                self.settings["inputs"] = self.inputs + self._add("y", model.targets, y, "")
            else:
                self.settings["targets"] = self._add("y", [name for name in model.outputs if not _is_loss(model, name)], y, "y")
        if sample_weight is not None:
            self.settings["event_weight"] = self._put("weight", sample_weight)
        _columns.events_of(self.columns)

    def _add(self, what: str, names: list[str], value: Any, prefix: str) -> list[dict[str, Any]]:
        """Columns for the inputs or outputs `names`; without a prefix they are called as these."""
        kind = {"x": "input", "y": "output"}[what]
        several = isinstance(value, (list, tuple)) and bool(value) and all(map(_columns.is_array, value)) and not isinstance(value[0], Mapping)
        if several and (len(names) != 1 or len(value) == 1):
            if len(value) != len(names):
                raise refused("fit", f"{what} are {len(value)} arrays, and the model has {len(names)} {kind}s ({', '.join(names)})", "give one for each")
            value = dict(zip(names, value, strict=True))
        if _columns.is_table(value):
            return self._add_table(what, names, _columns.columns_of(value), prefix)
        if len(names) > 1:
            raise refused("fit", f"{what} is one array, and the model has {len(names)} {kind}s ({', '.join(names)})", "give a dict by their names")
        if not names and what == "x":
            raise refused("fit", "the file does not tell the names of the model's inputs", "give x as a dict by them")
        if what == "y":
            return [({"name": names[0]} if names else {}) | {"column": self._put(prefix or names[0], value)}]
        return [{"name": names[0], "column": self._put(names[0], value)}]

    def _add_table(self, what: str, names: list[str], table: dict[str, Any], prefix: str) -> list[dict[str, Any]]:
        if not table:
            raise refused("fit", f"{what} has no columns", "give one for each input and output")
        if not names:
            return [{"name": name, "column": self._put(name, value)} for name, value in table.items()]
        if set(names) <= set(table):
            return [{"name": name, "column": self._put(f"{prefix}_{name}" if prefix else name, table[name])} for name in names]
        if len(names) == 1:
            stored = [self._put(f"{prefix}_{name}" if prefix else name, value) for name, value in table.items()]
            return [{"name": names[0], "column": stored[0]} if len(stored) == 1 else {"name": names[0], "columns": stored}]
        missing = [name for name in names if name not in table]
        raise refused("fit", f"{what} has no '{missing[0]}' (it has {', '.join(table)})", f"the model wants {', '.join(names)}")

    def _put(self, name: str, value: Any) -> str:
        taken = {one.name for one in self.columns}
        while name in taken:
            name += "_"
        self.columns.append(_columns.column(name, value))
        return name


def _is_loss(model: _model.ModelFile, output: str) -> bool:
    """An output that linac.keras.save made of layers that call add_loss."""
    return len(model.outputs) > 1 and (output == "loss" or output.startswith("metric_"))


