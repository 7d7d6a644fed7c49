#!/usr/bin/env python3
"""ROOT files as linac and uproot read them: every column that both read has equal values. root_test.py OUT DUMP_ROOT

The files: what uproot writes (types, lists, compressions, many baskets and clusters), and the real ones that the package
scikit-hep-testdata carries in its wheel, of ROOT 5.23 to 6.14.
"""

import json
import pathlib
import subprocess
import sys

import awkward
import numpy
import skhep_testdata
import uproot

from lib.checks import expect, failures

OUT, DUMP = pathlib.Path(sys.argv[1]), sys.argv[2]
REAL = pathlib.Path(skhep_testdata.__file__).parent / "data"
TYPES = ("bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float32", "float64")
read, refused = [0], {}


def read_by_linac(path):
    OUT.mkdir(parents=True, exist_ok=True)
    for old in OUT.glob("[0-9]*.[0-9]*.*"):
        old.unlink()
    done = subprocess.run([DUMP, path, OUT], capture_output=True, text=True, timeout=60)
    if done.returncode != 0:
        return {"error": f"status {done.returncode}: {done.stderr[-300:]}"}
    return json.loads(done.stdout)


def flattened(array):
    """Values, outer and inner lengths of what uproot read; None for what holds no numbers."""
    lengths = []
    layout = awkward.to_packed(array).layout
    while not layout.is_numpy:
        if layout.is_list and "__array__" not in layout.parameters:
            counts = numpy.diff(numpy.asarray(layout.to_ListOffsetArray64(True).offsets)) if not layout.is_regular else None
            lengths.append(counts)
            layout = layout.content
        else:
            return None
    lengths = [counts for counts in lengths if counts is not None]
    values = numpy.asarray(layout.data)
    if values.dtype.fields or values.dtype.kind not in "biuf":
        return None
    with numpy.errstate(over="ignore"):
        return values.astype(numpy.float32).ravel(), *(lengths + [None, None])[:2]


def same(path, table, place, number, column):
    """Whether the column is the same; None where uproot does not read it."""
    try:
        array = place.array(library="ak")
    except Exception:  # what uproot cannot read has no peer
        return None
    if "texts" in column:
        return column["texts"] == [text for text in array.to_list()]
    expected = flattened(array)
    if expected is None:
        return None
    at = OUT / f"{table}.{number}"
    values = numpy.fromfile(f"{at}.values", numpy.float32)
    good = values.shape == expected[0].shape and numpy.array_equal(values.view(numpy.uint32), expected[0].view(numpy.uint32))
    if not good and values.shape == expected[0].shape:
        good = numpy.array_equal(values, expected[0], equal_nan=True)
    for name, counts in (("outer", expected[1]), ("inner", expected[2])):
        mine = numpy.fromfile(f"{at}.{name}", numpy.uint32)
        good &= numpy.array_equal(mine, counts if counts is not None else [])
    return good


class LeafOf:
    """One of several leaves of a branch, which uproot reads as a record."""

    def __init__(self, tree, name):
        branch, self.leaf = name.rsplit(".", 1)
        self.branch = tree[branch]

    def array(self, library):
        return self.branch.array(library=library)[self.leaf]


def branch_of(tree, name):
    for look in (lambda: tree[name], lambda: LeafOf(tree, name)):
        try:
            return look()
        except Exception:  # another way of naming it, or a branch that uproot does not know
            continue
    return None


def compare(path, must=()):
    """Compares all columns; those that `must` names have to be read."""
    mine = read_by_linac(path)
    if "error" in mine:
        return expect(False, f"{path.name}: {mine['error']}")
    bad, seen = [], set()
    with uproot.open(path) as file:
        for i, table in enumerate(mine["tables"]):
            tree = file[table["name"]]
            if table["events"] != tree.num_entries:
                bad.append(f"{table['name']} has {table['events']} events, not {tree.num_entries}")
            for j, column in enumerate(table["columns"]):
                if "refused" in column:
                    refused.setdefault(column["refused"], []).append(f"{path.name}:{column['name']}")
                    continue
                if "error" in column:
                    bad.append(f"{column['name']}: {column['error']}")
                    continue
                place = branch_of(tree, column["name"])
                result = None if place is None else same(path, i, place, j, column)
                if result:
                    seen.add(column["name"])
                    read[0] += 1
                elif result is not None:
                    bad.append(f"{column['name']} ({column['words']}) differs")
    bad += [f"{name} is not read" for name in must if name not in seen]
    expect(not bad, f"{path.name}: {len(seen)} columns as uproot reads them" + (f"; {bad[:6]}" if bad else ""))


def columns_of_all_types(events, seed):
    random = numpy.random.default_rng(seed)
    counts = random.integers(0, 5, events)
    columns = {}
    for name in TYPES:
        kind = numpy.dtype(name)
        if kind.kind == "b":
            values = random.integers(0, 2, (events, 3)).astype(kind)
        elif kind.kind == "f":
            values = random.standard_normal((events, 3)).astype(kind)
        else:
            limits = numpy.iinfo(kind)
            values = random.integers(limits.min, limits.max, (events, 3), dtype=kind, endpoint=True)
        columns[name] = values[:, 0].copy()
        columns["three_" + name] = values
        columns["list_" + name] = awkward.unflatten(numpy.resize(values.ravel(), counts.sum()), counts)
    return columns


def written_trees():
    for method in ("ZLIB", "LZMA", "LZ4", "ZSTD", None):
        path = OUT / f"tree-{method or 'none'}.root"
        compression = getattr(uproot, method)(4) if method else None
        with uproot.recreate(path, compression=compression) as file:
            first = columns_of_all_types(400, 1)
            file.mktree("Events", {name: awkward.type(awkward.Array(array)).content if name.startswith("list_") else
                                   (array.dtype if array.ndim == 1 else (array.dtype, array.shape[1:])) for name, array in first.items()})
            file["Events"].extend(first)
            for number in range(4):
                file["Events"].extend(columns_of_all_types(100 + number, number))
        compare(path, must=[name for name in first])


def written_ntuples():
    for method in ("ZLIB", "LZMA", "LZ4", "ZSTD", None):
        path = OUT / f"ntuple-{method or 'none'}.root"
        compression = getattr(uproot, method)(4) if method else None
        with uproot.recreate(path, compression=compression) as file:
            def content(number):
                columns = columns_of_all_types(300, number)
                columns["deep"] = awkward.Array([[[1.5 * i, 2, 3][: i % 4], [i]][: i % 3] for i in range(300)])
                columns["name"] = awkward.Array([f"event {i % 7}" for i in range(300)])
                columns["jets"] = awkward.zip({"pt": columns["list_float32"], "n": columns["list_int16"]})
                return awkward.Array(columns)
            ntuple = file.mkrntuple("Events", content(1))
            for number in range(2, 5):
                ntuple.extend(content(number))
        compare(path, must=["deep", "name", "jets.pt", "jets.n", *TYPES])


def real_files():
    geant4 = REAL / "uproot-from-geant4.root"  # of a simulation: trees laid out as ROOT 3's
    compare(geant4, must=["timeperray", "totaltime", "nrays"])
    corpus = pathlib.Path(__file__).resolve().parents[2] / "fuzz/corpus/root"
    compare(corpus / "rvec", must=["rec_part_px_VecOps"])  # of RDataFrame
    compare(corpus / "friends", must=["s", "event"])  # of ROOT 6.40
    for path in sorted(REAL.glob("*.root")):
        if path != geant4 and path.stat().st_size < 6_000_000:
            compare(path)


if __name__ == "__main__":
    OUT.mkdir(parents=True, exist_ok=True)
    written_trees()
    written_ntuples()
    real_files()
    print(f"{read[0]} columns compared; not read:")
    for why, names in sorted(refused.items(), key=lambda item: -len(item[1])):
        print(f"  {len(names):5} {why}: {names[0]}")
    sys.exit(1 if failures else 0)
