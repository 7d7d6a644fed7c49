"""Events in memory as columns of an Arrow file, without a copy where the layout allows: NumPy, pandas, PyArrow, polars, awkward arrays (jagged
ones as offsets), and what NumPy takes.

A file is written block by block. What lies in C order with this machine's bytes is handed on as it lies; what does not is converted a block
at a time. So there is never a second copy in memory."""

import math
import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from linac._program import LinacError

if TYPE_CHECKING:
    import numpy as np

_BLOCK_BYTES = 32 << 20


class Column(NamedTuple):
    """`block(first, end)` gives these events as a pyarrow.Array of `type`; `bytes` of an event, on average."""

    name: str
    events: int
    type: Any
    bytes: float
    block: Callable[[int, int], Any]


def refused(where: str, why: str, way_out: str, status: int = 2) -> LinacError:
    return LinacError(f"[{where}] {why}; {way_out}", status)


def arrow() -> Any:
    try:
        import pyarrow
    except ImportError as error:
        raise refused("linac", f"arrays are handed over by pyarrow, which cannot be imported ({error})", "pip install pyarrow", 4) from error
    return pyarrow


def module_of(value: object) -> str:
    return type(value).__module__.partition(".")[0]


def is_table(value: object) -> bool:
    """Whether it has columns with names."""
    kind = module_of(value), type(value).__name__
    if kind[0] == "awkward":
        return bool(getattr(value, "fields", None)) and not getattr(value, "is_tuple", False)
    if kind[0] == "numpy":
        return getattr(getattr(value, "dtype", None), "names", None) is not None
    return isinstance(value, Mapping) or kind in {("pandas", "DataFrame"), ("pyarrow", "Table"), ("pyarrow", "RecordBatch"), ("polars", "DataFrame")}


def is_array(value: object) -> bool:
    return is_table(value) or hasattr(value, "__array__") or module_of(value) in ("pyarrow", "awkward", "polars")


def columns_of(table: Any) -> dict[str, Any]:
    """Of something that is_table()."""
    kind = module_of(table)
    if isinstance(table, Mapping):
        named = dict(table)
    elif kind == "pyarrow":
        named = named_once(table.schema.names, table.columns)
    elif kind == "awkward":
        named = {name: table[name] for name in table.fields}
    elif kind == "numpy":
        named = {name: table[name] for name in table.dtype.names}
    elif kind == "polars":
        named = named_once(table.columns, table.get_columns())
    else:
        named = named_once(list(table.columns), [table.iloc[:, i] for i in range(table.shape[1])])
    for name in named:
        if not isinstance(name, str) or not name or any(ord(c) < 32 for c in name):
            raise refused("data", f"{name!r} is no name of a column", "give it a text without control characters")
    return named


def named_once(names: Sequence[Any], values: Sequence[Any]) -> dict[Any, Any]:
    if len(set(names)) != len(names):
        raise refused("data", f"column '{next(n for n in names if list(names).count(n) > 1)}' is there twice", "rename one")
    return dict(zip(names, values, strict=True))


def column(name: str, value: Any) -> Column:
    """`value`: [events, ...], of any of the kinds above."""
    kind = module_of(value)
    if kind == "pyarrow":
        return _of_arrow(name, value)
    if kind == "awkward":
        return _of_awkward(name, value)
    if kind == "polars":
        return _of_arrow(name, value.to_arrow())
    if kind == "pandas":
        return _of_pandas(name, value)
    return _of_numpy(name, as_numpy(name, value))


def as_numpy(name: str, value: Any) -> Any:
    import numpy as np

    if type(value).__module__.startswith("scipy.sparse"):
        raise refused("data", f"{name}: is a sparse matrix", "give its .toarray()")
    if isinstance(value, np.ma.MaskedArray) and np.ma.is_masked(value):
        raise refused("data", f"{name}: has masked values", "fill them, or leave the events out", 3)
    try:
        return np.asarray(value)
    except ValueError:  # lists of several lengths
        return _as_object_array(value)
    except Exception as error:  # whatever another library's __array__ raises
        raise refused("data", f"{name}: {type(value).__name__} is no array ({error})", "give it as a NumPy array") from error


def _as_object_array(value: Any) -> Any:
    import numpy as np

    array: Any = np.empty(len(value), dtype=object)
    array[:] = list(value)
    return array


def _of_numpy(name: str, array: "np.ndarray[Any, Any]") -> Column:
    import numpy as np

    pa = arrow()
    if array.ndim == 0:
        raise refused("data", f"{name}: is a single value", "give an array with the events as its first axis")
    if 0 in array.shape[1:]:
        raise refused("data", f"{name}: has shape {array.shape}, no values of an event", "leave it out")
    if array.dtype.kind in "OUST":
        return _of_objects(name, array)
    if array.dtype.kind == "b":
        array = array.view(np.uint8)
    if array.dtype.kind not in "iuf":
        raise refused("data", f"{name}: is of type {array.dtype}", "give real numbers, or texts for classes")
    stored = np.dtype(np.float64) if array.dtype.itemsize > 8 else array.dtype.newbyteorder("=")
    item = pa.from_numpy_dtype(stored)
    types = [item]
    for size in reversed(array.shape[1:]):
        types.append(pa.list_(types[-1], size))

    def block(first: int, end: int) -> Any:
        part = np.ascontiguousarray(array[first:end], dtype=stored)
        values = pa.Array.from_buffers(item, part.size, [None, pa.py_buffer(part.reshape(-1))])
        for size in reversed(array.shape[1:]):
            values = pa.FixedSizeListArray.from_arrays(values, size)
        return values

    return Column(name, len(array), types[-1], stored.itemsize * math.prod(array.shape[1:]), block)


def _of_objects(name: str, array: "np.ndarray[Any, Any]") -> Column:
    """Texts, and lists of numbers; all else has no type that a file could have."""
    pa = arrow()
    if array.ndim == 2 and array.shape[1] == 1:
        array = array.reshape(-1)
    values: Any = None
    if array.ndim == 1:
        try:
            values = pa.array(array.astype(str) if array.dtype.kind in "UT" else array, from_pandas=False)
        except (pa.ArrowException, TypeError, ValueError, UnicodeError, OverflowError):
            pass
    if values is None or pa.types.is_null(values.type) and len(values) > 0:
        raise refused("data", f"{name}: is an array of Python objects (shape {array.shape}) that are neither all texts nor all lists of numbers",
                      "give numbers, or lists of several lengths as an awkward array")  # fmt: skip
    return _of_arrow(name, values)


def _of_pandas(name: str, series: Any) -> Column:
    dtype = series.dtype
    if getattr(dtype, "kind", "O") in "biuf" and hasattr(dtype, "newbyteorder"):  # NumPy's own types
        return _of_numpy(name, series.to_numpy())
    if getattr(dtype, "kind", "O") == "O" and hasattr(dtype, "newbyteorder"):
        return _of_objects(name, series.to_numpy())
    return _of_arrow(name, arrow().Array.from_pandas(series))


def _of_awkward(name: str, array: Any) -> Column:
    import awkward as ak

    if getattr(array, "fields", None):
        raise refused("data", f"{name}: is an array of records ({', '.join(array.fields)})", "give its fields as a dict, or join them by ak.concatenate")
    words = {"list_to32": False, "extensionarray": False}
    try:
        try:
            values = ak.to_arrow(array, **words)
        except ValueError:  # numbers that do not lie side by side
            values = ak.to_arrow(ak.to_packed(array), **words)
    except Exception as error:  # of unions and what else Arrow has no type for
        raise refused("data", f"{name}: awkward cannot write it as Arrow ({error})", "give lists of numbers of one type") from error
    return _of_arrow(name, values)


def _of_arrow(name: str, values: Any) -> Column:
    pa = arrow()
    if isinstance(values, pa.Array):
        values = pa.chunked_array([values])
    if not isinstance(values, pa.ChunkedArray):
        raise refused("data", f"{name}: {type(values).__name__} is no column", "give an array with the events as its first axis")
    if isinstance(values.type, pa.BaseExtensionType):
        values = pa.chunked_array([chunk.storage for chunk in values.chunks], values.type.storage_type)
    _need_type(name, values.type)
    if pa.types.is_dictionary(values.type):
        values = values.unify_dictionaries()

    def block(first: int, end: int) -> Any:
        chunks = values.slice(first, end - first).chunks
        if not chunks:
            return pa.array([], type=values.type)
        return chunks[0] if len(chunks) == 1 else pa.concat_arrays(chunks)

    return Column(name, len(values), values.type, values.nbytes / max(1, len(values)), block)


def _need_type(name: str, kind: Any) -> None:
    pa = arrow()
    inner, depth = kind, 0
    while pa.types.is_list(inner) or pa.types.is_large_list(inner) or pa.types.is_fixed_size_list(inner):
        inner, depth = inner.value_type, depth + 1
    if pa.types.is_integer(inner) or pa.types.is_floating(inner) or pa.types.is_boolean(inner):
        return
    if pa.types.is_dictionary(inner):
        inner = inner.value_type
    if depth < 2 and (pa.types.is_string(inner) or pa.types.is_large_string(inner) or pa.types.is_binary(inner) or pa.types.is_large_binary(inner)):
        return
    if str(inner) == "string_view":
        return
    raise refused("data", f"{name}: is of type {kind}", "give numbers, lists of numbers, or texts for classes")


def events_of(columns: Sequence[Column]) -> int:
    """How many all of them have."""
    first = columns[0]
    for one in columns:
        if one.events != first.events:
            raise refused("data", f"'{first.name}' has {first.events} events and '{one.name}' {one.events}", "give as many of each", 3)
    if first.events == 0:
        raise refused("data", f"'{first.name}' has no events", "give some", 3)
    return first.events


def write(path: "str | os.PathLike[str]", columns: Sequence[Column]) -> int:
    """All of them into an Arrow file; returns the events."""
    pa = arrow()
    events = events_of(columns)
    size = max(1, min(events, int(_BLOCK_BYTES / max(1.0, sum(one.bytes for one in columns)))))
    schema = pa.schema([(one.name, one.type) for one in columns])
    try:
        with pa.OSFile(os.fspath(path), "wb") as file, pa.ipc.new_file(file, schema) as writer:
            for first in range(0, events, size):
                end = min(first + size, events)
                writer.write_batch(pa.record_batch([one.block(first, end) for one in columns], schema=schema))
    except OSError as error:
        raise refused("data", f"{os.fspath(path)} cannot be written ({error.strerror or error})", "make room, or choose another folder", 4) from error
    return events
