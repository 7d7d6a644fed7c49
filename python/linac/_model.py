"""A model as a file that the program trains, with the names of its inputs and outputs."""

import json
import os
import pathlib
import zipfile
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from linac import _torch, models
from linac._columns import Column, refused


class ModelFile(NamedTuple):
    """`inputs` and `outputs` are empty where the file does not tell them (a program of PyTorch). `targets`: inputs that a loss of one's own reads
    (linac.keras.save), and not the model itself. `export` writes the file of a module, which takes events as examples: data.inputs, and columns."""

    kind: str
    file: str
    inputs: list[str]
    outputs: list[str]
    targets: list[str]
    export: "Callable[[list[dict[str, Any]], Sequence[Column]], None] | None" = None


def is_keras(model: object) -> bool:
    return any(base.__module__.partition(".")[0] == "keras" and base.__name__ == "Model" for base in type(model).__mro__)


def file_of(model: Any, folder: pathlib.Path, x: Any = None) -> ModelFile:
    """A Keras model is saved in `folder`, of a path the absolute one is taken; an address stays. A module of PyTorch is exported there with the
    first events of `x`, when these are columns."""
    if is_keras(model):
        return _saved(model, folder / "model.keras")
    if isinstance(model, models.Model):
        return ModelFile(model.kind, "", model.inputs, [], [])
    if _torch.is_module(model):
        if x is None or are_files(x):
            raise refused("model", f"{type(model).__name__} is exported with events as examples, and there are none", "give x as arrays, or the path of a .pt2")

        def export(inputs: "list[dict[str, Any]]", columns: "Sequence[Column]") -> None:
            _torch.export(model, folder / "model.pt2", inputs, columns)

        return ModelFile("torchscript", "model.pt2", _torch.inputs_of(model, x), [], [], export)
    if not isinstance(model, (str, os.PathLike)):
        raise refused("model", f"{type(model).__name__} is no model", "give a Keras model, a module of PyTorch, or the path of a model file (.keras, .pt2, .pt)")
    file = local(model)
    if "://" not in file and os.path.exists(file) and not os.path.isfile(file) and not os.path.isdir(file):
        raise refused("model", f"{file} is no file", "name a model file")
    kind = "torchscript" if file.endswith((".pt", ".pt2")) else "keras"
    inputs, outputs = _names(pathlib.Path(file)) if file.endswith(".keras") and "://" not in file else ([], [])
    return ModelFile(kind, file, inputs, outputs, [])


def are_files(value: Any) -> bool:
    """Paths or addresses, in place of events."""
    if isinstance(value, (list, tuple)):
        return bool(value) and all(isinstance(one, (str, os.PathLike)) for one in value)
    return isinstance(value, (str, os.PathLike))


def local(path: "str | os.PathLike[str]") -> str:
    """The absolute path, so that a later os.chdir() changes nothing; an address as it is."""
    text = os.fspath(path)
    return text if "://" in text else os.path.abspath(text)


def _saved(model: Any, path: pathlib.Path) -> ModelFile:
    from linac import keras

    try:
        keras.save(model, path)
    except keras.TraceError as error:
        raise refused("model", str(error), "see docs/guide/own-losses.md") from error
    inputs, outputs = _names(path)
    own = [tensor._keras_history.operation.name for tensor in model.inputs]
    return ModelFile("keras", path.name, own, outputs, [name for name in inputs if name not in own])


def _names(path: pathlib.Path) -> tuple[list[str], list[str]]:
    """Of the inputs and outputs of a .keras file."""
    try:
        with zipfile.ZipFile(path) as archive:
            config = json.loads(archive.read("config.json"))["config"]
        if "input_layers" in config:
            return _layers(config["input_layers"]), _layers(config["output_layers"])
        layers = config["layers"]
        return [layers[0]["config"]["name"]], [layers[-1]["config"]["name"]]
    except (OSError, KeyError, IndexError, TypeError, ValueError, zipfile.BadZipFile) as error:
        raise refused("model", f"{path} is no model that Keras 3 saved ({error})", "write it by model.save('NAME.keras')") from error


def _layers(places: Any) -> list[str]:
    """[name, node, tensor] alone, or such in lists and dicts."""
    if isinstance(places, dict):
        places = list(places.values())
    if places and isinstance(places[0], str):
        return [places[0]]
    return [name for place in places for name in _layers(place)]
