"""Showers in memory as a file of HDF5 and back: a dict of arrays as linac.simulate() returns it, ECAL [events, x, y, z] in GeV, energy [events] in
GeV, theta [events] in rad, and what else there is of an event."""

import os
import pathlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from linac._columns import columns_of, is_table, refused

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]

_BLOCK_BYTES = 32 << 20


def h5py() -> Any:
    try:
        import h5py
    except ImportError as error:
        raise refused("linac", f"showers are handed over by h5py, which cannot be imported ({error})", "pip install h5py", 4) from error
    return h5py


def arrays_of(showers: Any) -> "dict[str, Array]":
    """What is there as arrays of numbers, all of as many events."""
    import numpy as np

    if not is_table(showers):
        raise refused("data", f"{type(showers).__name__} are no showers", "give a dict of arrays: ECAL [events, x, y, z] in GeV, energy in GeV, theta in rad")
    arrays: "dict[str, Array]" = {name: np.asarray(values) for name, values in columns_of(showers).items()}
    if not arrays:
        raise refused("data", "the dict of showers is empty", "give ECAL, energy and theta")
    first, events = next((name, len(values) if values.ndim else 0) for name, values in arrays.items())
    for name, values in arrays.items():
        if "/" in name or name == ".":
            raise refused("data", f"'{name}' is no name of a data set", "give it one without slashes")
        if values.dtype.kind not in "iuf" or values.ndim == 0:
            raise refused("data", f"'{name}' is of type {values.dtype} and shape {values.shape}", "give an array of numbers, the events first")
        if len(values) != events:
            raise refused("data", f"'{first}' has {events} events and '{name}' {len(values)}", "give as many of each", 3)
    if events == 0:
        raise refused("data", f"'{first}' has no events", "give some", 3)
    return arrays


def write(path: pathlib.Path, arrays: "Mapping[str, Array]", first: int = 0, end: "int | None" = None) -> None:
    """Events [first, end) of them, a block at a time."""
    try:
        with h5py().File(path, "w") as file:
            for name, values in arrays.items():
                part = values[first:end]
                stored = file.create_dataset(name, part.shape, part.dtype.newbyteorder("<") if part.dtype.itemsize <= 8 else "<f8")
                size = max(1, int(_BLOCK_BYTES / max(1, part[:1].nbytes)))
                for begin in range(0, len(part), size):
                    stored[begin : begin + size] = part[begin : begin + size]
    except (OSError, RuntimeError) as error:  # HDF5 tells a full disk as either
        raise refused("data", f"{os.fspath(path)} cannot be written ({error})", "make room, or choose another folder", 4) from error


def read(path: pathlib.Path) -> "dict[str, Array]":
    with h5py().File(path) as file:
        return {name: values[()] for name, values in file.items() if isinstance(values, h5py().Dataset)}


def data(folder: pathlib.Path, showers: Any, validation: Any, split: float) -> dict[str, Any]:
    """The section `data` of a job on showers, which are written into `folder`. split: this part of the events, the last ones, tests."""
    arrays = arrays_of(showers)
    events = len(next(iter(arrays.values())))
    tests = round(events * split)
    if split and not 0 < tests < events:
        raise refused("fit", f"validation_split = {split} of {events} events leaves {events - tests} to train", "give a share between 0 and 1")
    write(folder / "train.h5", arrays, 0, events - tests)
    if validation is not None:
        write(folder / "test.h5", arrays_of(validation))
    elif tests:
        write(folder / "test.h5", arrays, events - tests)
    return {"train": ["train.h5"], "test": ["test.h5"] if tests or validation is not None else []}
