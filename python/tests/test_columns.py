"""Events in memory as columns: every kind that is taken, what is refused, and that nothing is copied that need not be."""

import awkward as ak
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import linac
from linac import _columns

VALUES = np.arange(24, dtype=np.float64).reshape(6, 2, 2)
JAGGED = [[[1, 2], [3, 4]], [], [[5, 6]]]

TAKEN = {
    "fortran": np.asfortranarray(VALUES),
    "big endian": VALUES.astype(">f4"),
    "backwards": VALUES[::-1],
    "every other": VALUES[::2, :, :1],
    "one value for all": np.broadcast_to(np.float32(1), (5, 2)),
    "integers": VALUES.astype(np.int16),
    "half": VALUES.astype(np.float16),
    "long double": VALUES.astype(np.longdouble),
    "booleans": VALUES[:, 0, 0] > 3,
    "list": VALUES.tolist(),
    "lists of several lengths": [[1.0, 2.0], [], [3.0]],
    "texts": np.array(["QCD", "tt̄", "W"]),
    "texts in a column": np.array([["QCD"], ["W"]], dtype=object),
    "series": pd.Series([1.5, float("nan")]),
    "series of texts": pd.Series(["QCD", "W"]),
    "categories": pd.Series(["W", "QCD", "W"], dtype="category"),
    "chunks": pa.chunked_array([[1, 2], [3]]),
    "jagged": ak.Array(JAGGED),
    "jagged, rows of two": ak.to_regular(ak.Array(JAGGED), axis=2),
    "selected": ak.Array(JAGGED)[[2, 0]],
    "long list": ak.Array([np.arange(200_000.0).tolist(), []]),
}

REFUSED = {
    "objects": np.array([{}, 1], dtype=object),
    "None": np.array([None, None], dtype=object),
    "complex": VALUES.astype(complex),
    "dates": np.zeros(3, dtype="M8[s]"),
    "a number": 3.0,
    "no values": np.zeros((3, 0)),
    "masked": np.ma.array([1, 2], mask=[False, True]),
    "union": ak.Array([1, [2], 3]),
    "records": ak.Array([{"a": 1}, {"a": 2}]),
    "times": pa.array([1], pa.timestamp("s")),
    "a model": object(),
}


def read(path):
    with pa.memory_map(str(path)) as file:
        return pa.ipc.open_file(file).read_all()


@pytest.mark.parametrize("kind", TAKEN)
def test_taken(kind, tmp_path, monkeypatch):
    monkeypatch.setattr(_columns, "_BLOCK_BYTES", 40)  # several blocks
    value = TAKEN[kind]
    assert _columns.write(tmp_path / "events.arrow", [_columns.column("x", value)]) == len(value)
    found, wanted = read(tmp_path / "events.arrow")["x"].to_pylist(), value.to_pylist() if hasattr(value, "to_pylist") else value
    if kind == "texts in a column":
        assert found == ["QCD", "W"]
    elif kind == "series":
        assert found[0] == 1.5 and np.isnan(found[1])  # NaN is no null: the program says which event has it
    else:
        assert found == (wanted.tolist() if hasattr(wanted, "tolist") else wanted)


@pytest.mark.parametrize("kind", REFUSED)
def test_refused(kind):
    with pytest.raises(linac.LinacError, match=r"\[data\] .*;") as caught:
        _columns.column("x", REFUSED[kind])
    assert caught.value.exit_status in (2, 3)


def test_no_copy():
    column = _columns.column("x", VALUES)
    assert column.block(2, 4).flatten().flatten().buffers()[1].address == VALUES[2:].ctypes.data
    jagged = ak.Array(JAGGED)
    content = _columns.column("x", jagged).block(0, 3)
    while not pa.types.is_integer(content.type):
        content = content.values
    assert content.buffers()[1].address == np.asarray(ak.flatten(jagged, axis=None)).ctypes.data or content.buffers()[1].address == jagged.layout.content.content.data.ctypes.data


def test_counts(tmp_path):
    with pytest.raises(linac.LinacError, match="'x' has 6 events and 'y' 3"):
        _columns.write(tmp_path / "a", [_columns.column("x", VALUES), _columns.column("y", VALUES[:3])])
    with pytest.raises(linac.LinacError, match="no events"):
        _columns.write(tmp_path / "a", [_columns.column("x", VALUES[:0])])


def test_names():
    with pytest.raises(linac.LinacError, match="twice"):
        _columns.columns_of(pd.DataFrame(np.zeros((1, 2)), columns=["a", "a"]))
    with pytest.raises(linac.LinacError, match="no name"):
        _columns.columns_of({1: VALUES})
    assert list(_columns.columns_of(np.zeros(2, dtype=[("pt", "f4"), ("η", "f4")]))) == ["pt", "η"]


def test_full_disk():
    with pytest.raises(linac.LinacError, match="cannot be written") as caught:
        _columns.write("/dev/full", [_columns.column("x", np.zeros(100_000))])
    assert caught.value.exit_status == 4
