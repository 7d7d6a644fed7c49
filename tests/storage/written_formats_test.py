#!/usr/bin/env python3
"""Tables that `linac data convert` and `linac data split` write as TFRecord and HDF5: TensorFlow and h5py read every value, linac reads both back as
Parquet with the same values, and a training from them ends with the bits of one from the original. What has no form is refused; killed, stopped and
with a full disk the same command goes on; a TFRecord input is not read from its beginning for each shard. Wants the peers' Python."""

import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import time

import awkward as ak
import h5py
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import tensorflow as tf  # noqa: E402

from convert_test import read, run, same, start  # noqa: E402
from lib import runs  # noqa: E402
from lib.checks import check, wait_for  # noqa: E402
from lib.skips import skipped
from range_server import RangeServer  # noqa: E402

EVENTS = 1000


def made(events: int) -> pa.Table:
    """What TFRecord and HDF5 both have a form for; the first event's lists are empty."""
    rng = np.random.default_rng(7)
    counts = rng.integers(0, 6, events)
    counts[0] = 0
    total = int(counts.sum())
    offsets = pa.array(np.concatenate([[0], np.cumsum(counts)]).astype("i4"))
    rows = rng.normal(size=3 * total).astype("f4")
    return pa.table({
        "i1": pa.array(rng.integers(-128, 128, events), pa.int8()),
        "u4": pa.array(rng.integers(0, 2**32, events), pa.uint32()),
        "event": pa.array(2**60 + np.arange(events), pa.uint64()),
        "i8": pa.array(rng.integers(-2**63, 2**63, events), pa.int64()),
        "half": pa.array(rng.normal(size=events).astype("f2"), pa.float16()),
        "met": pa.array([float("nan") if i % 50 == 0 else -0.0 if i % 50 == 1 else float(i) for i in range(events)], pa.float32()),
        "good": pa.array(rng.random(events) < 0.5),
        "name": pa.array([f"event {i} µ" if i % 9 else "" for i in range(events)]),
        "jets_pt": pa.ListArray.from_arrays(offsets, pa.array(rng.exponential(30, total).astype("f4"))),
        "ids": pa.ListArray.from_arrays(offsets, pa.array(2**60 + np.arange(total))),
        "tagged": pa.ListArray.from_arrays(offsets, pa.array(rng.random(total) < 0.5)),
        "jets": pa.ListArray.from_arrays(offsets, pa.FixedSizeListArray.from_arrays(pa.array(rows), 3)),
        "nested": pa.ListArray.from_arrays(offsets, pa.ListArray.from_arrays(pa.array(3 * np.arange(total + 1, dtype="i4")), pa.array(rows))),
        "grid": pa.FixedSizeListArray.from_arrays(pa.FixedSizeListArray.from_arrays(pa.array(rng.normal(size=6 * events).astype("f4")), 3), 2),
    })


def flat(value: object) -> list:
    return [x for one in value for x in flat(one)] if isinstance(value, (list, np.ndarray)) else [value]


def bits(values: list) -> list:
    return [np.float64(x).tobytes() if isinstance(x, (float, np.floating)) else x for x in values]


def by_tensorflow(paths: list[pathlib.Path], compression: str, whole: pa.Table) -> None:
    """One parse of all records, by features of the kinds that the columns have."""
    kinds = {name: tf.string if pa.types.is_string(kind) else tf.float32 if "float" in str(kind) else tf.int64
             for name, kind in zip(whole.schema.names, whole.schema.types)}
    records = list(tf.data.TFRecordDataset([str(path) for path in paths], compression_type=compression).as_numpy_iterator())
    check(len(records) == len(whole), f"TensorFlow reads {len(records)} records {compression}")
    parsed = tf.io.parse_example(records, {name: tf.io.RaggedFeature(kind, row_splits_dtype=tf.int64) for name, kind in kinds.items()})
    for name in kinds:
        wanted = [bits(flat(value)) for value in whole[name].to_pylist()]
        if kinds[name] == tf.string:
            wanted = [[text.encode() for text in event] for event in wanted]
        found = parsed[name]
        splits, values = found.row_splits.numpy(), bits(list(found.values.numpy().tolist()))
        check([values[a:b] for a, b in zip(splits, splits[1:])] == wanted, f"TensorFlow: {name} {whole.schema.field(name).type}")


def by_h5py(path: pathlib.Path, whole: pa.Table) -> None:
    with h5py.File(path) as file:
        check(sorted(file) == sorted(["event_rows", *whole.schema.names]), "h5py finds a data set a column")
        for name in whole.schema.names:
            found = file[name]
            values = found.asstr()[:] if pa.types.is_string(whole.schema.field(name).type) else found[:]
            if name in file["event_rows"]:
                values = ak.to_list(ak.unflatten(values, file["event_rows"][name][:]))
            wanted = whole[name].to_pylist()
            check(len(values) == len(whole) and all(bits(flat(x.item() if isinstance(x, np.generic) else x)) == bits(flat(y)) for x, y in zip(values, wanted)),
                  f"h5py: {name} {found.dtype} {list(found.shape)}")


def written(root: pathlib.Path, whole: pa.Table) -> None:
    for i, (begin, end) in enumerate([(0, 400), (400, 410), (410, EVENTS)]):
        pq.write_table(whole.slice(begin, end - begin), root / f"in-{i}.parquet")
    for name, compression, words in (("a.tfrecord", "", ()), ("a.tfrecord.gz", "GZIP", ()), ("gz/", "GZIP", ("--format", "tfrecord.gz"))):
        run(root, "convert", "in-*.parquet", name, "--shards", 4, *words)
        ending = name.removeprefix("a") if name != "gz/" else ".tfrecord.gz"
        files = sorted((root / "gz").glob("part-*.tfrecord.gz") if name == "gz/" else root.glob(f"a-*of-00004{ending}"))
        check(len(files) == 4, f"{name}: four shards")
        by_tensorflow(files, compression, whole)
    run(root, "convert", "in-*.parquet", "a.h5")
    by_h5py(root / "a.h5", whole)

    # linac's own readers: TFRecord knows three kinds of values, and rows one after the other.
    run(root, "convert", "a.h5", "h5.parquet", "--columns", ",".join(whole.schema.names))
    back = pq.read_table(root / "h5.parquet")
    check(same(back, whole.set_column(whole.schema.get_field_index("nested"), "nested", whole["jets"])), "HDF5 and back: the same types and bits")
    run(root, "convert", "a-*.tfrecord", "tf.parquet", "--list", "jets_pt,ids,tagged,jets,nested")
    back = pq.read_table(root / "tf.parquet")
    for name in whole.schema.names:
        wanted = [bits(flat(x)) for x in whole[name].to_pylist()]
        found = [bits([text.decode() for text in flat(x)] if name == "name" else flat(x)) for x in back[name].to_pylist()]
        check(found == wanted, f"TFRecord and back: {name} {back.schema.field(name).type}")

    for format, ending in (("tfrecord", "tfrecord"), ("hdf5", "h5")):
        for jobs in (1, 3):
            run(root, "convert", "in-*.parquet", f"{format}-{jobs}", "--format", format, "--shards", 5, "--jobs", jobs)
        names = [f"part-0000{i}-of-00005.{ending}" for i in range(5)]
        check(all((root / f"{format}-1" / name).read_bytes() == (root / f"{format}-3" / name).read_bytes() for name in names), f"{format}: bytes do not depend on --jobs")
        run(root, "convert", "in-*.parquet", f"{format}-each/", "--format", format, "--filter", "len(jets_pt) > 2", "--columns", "event,jets_pt")
        check(sorted(path.name for path in (root / f"{format}-each").iterdir()) == ["_linac-convert.json", *[f"in-{i}.{ending}" for i in range(3)]], f"{format}: a file for each input")
        run(root, "convert", f"{format}-each/*.{ending}", f"{format}.parquet", "--list", "jets_pt")
        keep = pa.array([len(x) > 2 for x in whole["jets_pt"].to_pylist()])
        check(read(root / f"{format}.parquet")["event"].to_pylist() == whole.filter(keep)["event"].to_pylist(), f"{format}: the events of a filter")
        run(root, "split", "in-*.parquet", f"{format}-parts", "--parts", "train=0.6,test=0.4", "--by", "i1", "--format", format)
        run(root, "split", "in-*.parquet", f"{format}-wanted", "--parts", "train=0.6,test=0.4", "--by", "i1")
        run(root, "convert", f"{format}-parts/test/*.{ending}", f"{format}-test.parquet", "--columns", "event")
        check(read(root / f"{format}-test.parquet")["event"].to_pylist() == read(*sorted((root / f"{format}-wanted/test").glob("*.parquet")))["event"].to_pylist(), f"{format}: the part of a split")


def refused(root: pathlib.Path) -> None:
    def table(name: str, values: pa.Array) -> None:
        pq.write_table(pa.table({"n": pa.array(np.arange(len(values))), name: values}), root / "odd.parquet")

    offsets = pa.array([0, 1, 2], pa.int32())
    for name, values, format, words in (
            ("x", pa.array([0.1, 0.2]), "tfrecord", "--float32 x"),
            ("x", pa.array([0, 2**63], pa.uint64()), "tfrecord", "2^63"),
            ("x", pa.array([1, None], pa.int64()), "tfrecord", "holds a null in event 1"),
            ("x", pa.array([[1], [2, None]]), "hdf5", "holds a null in event 1"),
            ("x", pa.array([0, 1], pa.timestamp("us")), "hdf5", "timestamp"),
            ("x", pa.array([{"a": 1}] * 2), "tfrecord", "struct"),
            ("x", pa.array(["a", "b\0c"]), "hdf5", "zero byte"),
            ("x", pa.array([["a"], ["b"]]), "hdf5", "lists of texts"),
            ("x", pa.array([[[1, 2]], [[3]]]), "tfrecord", "a row of 1 values"),
            ("x", pa.array([[[1, 2]], [[3]]]), "hdf5", "a row of 1 values"),
            ("x", pa.FixedSizeListArray.from_arrays(pa.ListArray.from_arrays(offsets, pa.array([1, 2])), 1), "hdf5", "no form"),
            ("a//b", pa.array([1, 2]), "hdf5", "name"), (".", pa.array([1, 2]), "hdf5", "name")):
        table(name, values)
        said = run(root, "convert", "odd.parquet", f"odd-{format}/", "--format", format, status=3)
        check(f"column '{name}'" in said and words in said and ("--columns" in said or "--without" in said), f"{format}: {values.type} is refused: {words}")
        run(root, "convert", "odd.parquet", f"odd-{format}/", "--format", format, "--columns", "n")
        check(len(list((root / f"odd-{format}").iterdir())) == 2, "its way out goes on in the same folder, and nothing hidden is left")
        for path in (root / f"odd-{format}").iterdir():
            path.unlink()
    table("x", pa.array([[0.1, 1e300], [-0.0]]))
    run(root, "convert", "odd.parquet", "rounded.tfrecord", "--float32", "x")
    run(root, "convert", "rounded.tfrecord", "rounded.parquet")
    check(pq.read_table(root / "rounded.parquet")["x"].to_pylist() == [[float(np.float32(0.1)), float("inf")], [-0.0]], "--float32 rounds")
    check("only float64" in run(root, "convert", "odd.parquet", "x.tfrecord", "--float32", "n", status=3), "and only float64")
    check("found: n, x" in run(root, "convert", "odd.parquet", "x.tfrecord", "--float32", "xx", status=3), "of columns that are there")
    check("its ending says hdf5" in run(root, "convert", "odd.parquet", "x.h5", "--format", "tfrecord", status=2), "an ending that says another format is refused")
    pq.write_table(pa.table({"x": pa.array([[[1, 2]]])}), root / "two.parquet")
    pq.write_table(pa.table({"x": pa.array([[[1, 2, 3]]])}), root / "three.parquet")
    check("[3]" in (said := run(root, "convert", "two.parquet", "three.parquet", "rows", "--format", "tfrecord", "--jobs", 1, status=3)) and "[2]" in said, "TFRecord files whose rows differ are refused")
    run(root, "convert", "two.parquet", "three.parquet", "rows-h5", "--format", "hdf5")
    check("x: " not in said and not (root / "x.tfrecord").exists(), "nothing is left of what was refused")


def showers(root: pathlib.Path) -> None:
    """What the inputs hold decides: showers stay showers, --format takes their columns."""
    data = runs.ROOT / "data/showers-test.h5"
    run(root, "convert", data, "showers.tfrecord")
    first = tf.train.Example.FromString(next(tf.data.TFRecordDataset(str(root / "showers.tfrecord")).as_numpy_iterator()))
    check(sorted(first.features.feature) == ["X", "Y", "ang", "ecal", "shape"], "showers become samples, as without tables")
    run(root, "convert", "showers.tfrecord", "back.h5")
    with h5py.File(root / "back.h5") as file:
        check("ECAL" in file and "eta" in file, "and raw showers again")
    run(root, "convert", data, "columns.tfrecord", "--format", "tfrecord", "--columns", "energy,ECAL")
    first = tf.train.Example.FromString(next(tf.data.TFRecordDataset(str(root / "columns.tfrecord")).as_numpy_iterator()))
    with h5py.File(data) as file:
        check(np.array_equal(np.array(first.features.feature["ECAL"].float_list.value, "f4"), file["ECAL"][0].ravel()), "--format converts their columns as they are")
    pq.write_table(pa.table({"X": [1, 2], "ECAL": [3, 4]}), root / "x.parquet")
    run(root, "convert", "x.parquet", "x.tfrecord")
    run(root, "convert", "x.tfrecord", "x.h5", "--columns", "X")
    run(root, "convert", "x.h5", "x again.tfrecord")
    run(root, "convert", "x again.tfrecord", "x again.parquet")
    check(pq.read_table(root / "x again.parquet").to_pydict() == {"X": [1, 2]}, "a table with a column X is none of showers")
    check("are for showers" in run(root, "convert", "x.parquet", "y.tfrecord", "--scale", 2, status=2), "options of showers are refused for a table")


def resumed(root: pathlib.Path, whole: pa.Table) -> None:
    for format, ending in (("tfrecord.gz", "tfrecord.gz"), ("hdf5", "h5")):
        folder = root / f"long-{format}"
        words = ("convert", "in-*.parquet", folder, "--events-per-file", 4, "--jobs", 2, "--format", format)
        for stop in (signal.SIGKILL, signal.SIGINT):
            before = len(list(folder.glob("part-*")))
            process = start(root, *words)
            wait_for(lambda: len(list(folder.glob("part-*"))) > before + 20 or process.poll() is not None, "some files", 30)
            process.send_signal(stop)
            process.communicate(timeout=60)
            check(before < len(list(folder.glob("part-*"))) < 250, f"{format}: stopped by {stop.name} among 250 files")
        check(run(root, *words).count("was there") > 20 and not list(folder.glob(".*")), "it goes on, and nothing hidden is left")
        run(root, "convert", folder / f"part-*.{ending}", f"long-{format}.parquet", "--columns", "event,name")
        found = pq.read_table(root / f"long-{format}.parquet").to_pydict()
        check(found["event"] == whole["event"].to_pylist(), f"{format}: the whole is as if it had not been stopped")

        (disk := root / "disk").mkdir(exist_ok=True)
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=60k", "none", disk], capture_output=True).returncode != 0:
            skipped("a full disk", "this user may not mount")
            continue
        try:
            said = run(root, "convert", "in-*.parquet", disk, "--shards", 6, "--format", format, status=4)
            check("space" in said and not list(disk.glob(".*")), f"{format}: a full disk is said: {said.strip()[-200:]}")
            subprocess.run(["mount", "-o", "remount,size=30m", disk], check=True)
            run(root, "convert", "in-*.parquet", disk, "--shards", 6, "--format", format)
            run(root, "convert", disk / f"part-*.{ending}", root / f"disk-{format}.parquet", "--columns", "event")
            check(pq.read_table(root / f"disk-{format}.parquet")["event"].to_pylist() == whole["event"].to_pylist(), "with room it goes on")
        finally:
            subprocess.run(["umount", "-l", disk], check=True)


def from_marks(root: pathlib.Path) -> None:
    """Eight shards of a file of several megabytes cost it twice, and not nine times."""
    wide = pa.table({"n": np.arange(4000), "x": pa.FixedSizeListArray.from_arrays(pa.array(np.random.default_rng(1).normal(size=4000 * 500).astype("f4")), 500)})
    pq.write_table(wide, root / "wide.parquet")
    run(root, "convert", "wide.parquet", "wide.tfrecord")
    size = (root / "wide.tfrecord").stat().st_size
    with RangeServer(root) as server:
        run(root, "convert", f"{server.url}/wide.tfrecord", "wide/", "--shards", 8, "--jobs", 3)
        check(server.sent < 2.6 * size, f"eight shards: {server.sent / size:.2f} times the bytes of a file of {size} bytes are read")
    check(same(read(*sorted((root / "wide").glob("*.parquet"))).select(["n"]), wide.select(["n"])), "all events, in order")
    run(root, "convert", "wide.parquet", "packed.tfrecord.gz", "--columns", "n")
    run(root, "convert", "packed.tfrecord.gz", "packed/", "--events-per-file", 999)
    check(read(*sorted((root / "packed").glob("*.parquet")))["n"].to_pylist() == list(range(4000)), "a compressed file as well")


def altered(root: pathlib.Path) -> None:
    """Any byte may be another one: an error or other values, never a crash; TFRecord and the chunks of HDF5 have checksums. Texts of HDF5 are left
    out: its library writes beyond its memory where their lengths in a file are wrong."""
    choose = random.Random(5)
    seen = set()
    run(root, "convert", "in-*.parquet", "numbers.h5", "--columns", "event,met,good,jets_pt,jets,grid")
    for name in ("numbers.h5", "a-00000-of-00004.tfrecord"):
        content = (root / name).read_bytes()
        for _ in range(16):
            at = choose.randrange(len(content))
            other = root / f"altered{pathlib.Path(name).suffix}"
            other.write_bytes(content[:at] + bytes([content[at] ^ (1 << choose.randrange(8))]) + content[at + 1:])
            process = start(root, "convert", other, "altered/", "--format", "parquet", "--overwrite")
            problems = process.communicate(timeout=60)[1]
            seen.add((name, process.returncode))
            if process.returncode not in (0, 3):
                sys.exit(f"{name}, byte {at}: status {process.returncode}: {problems}")
    check(("a-00000-of-00004.tfrecord", 0) not in seen and ("numbers.h5", 3) in seen, "an altered byte is an error, or another value where HDF5 has no checksum")


def trained(root: pathlib.Path) -> None:
    """The particles of an event are a list of rows, of which the job takes the first ones."""
    source = runs.ROOT / "data/topology-train.parquet"
    run(root, "convert", source, "topology.h5")
    run(root, "convert", source, "topology.tfrecord.gz")
    ended = {}
    for data in (source, root / "topology.h5", root / "topology.tfrecord.gz"):
        settings = {"job": "examples/topology.yaml", "train.replicas": 1, "train.batch": 50, "train.epochs": 1, "data.train": f"[{data}]", "data.test": "[]",
                    "checkpoint.best_by": "loss", "train.fit.metrics": "[accuracy]", "train.steps_per_epoch": 4}
        runs.run(out := root / f"run-{data.name}", settings, "--workers", "1", LINAC_CACHE=str(root / "cache"))
        ended[data.name] = runs.tensors(out)
    first, *others = ended.values()
    check(len(first) > 10 and all(other == first for other in others), f"trainings from {', '.join(ended)} end with the same weights")


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        whole = made(EVENTS)
        for step in (lambda: written(root, whole), lambda: refused(root), lambda: showers(root), lambda: resumed(root, whole), lambda: from_marks(root),
                     lambda: altered(root), lambda: trained(root)):
            begin = time.monotonic()
            step()
            print(f"{time.monotonic() - begin:.1f} s")


if __name__ == "__main__":
    main()
