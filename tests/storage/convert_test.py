#!/usr/bin/env python3
"""`linac data convert` and `linac data split` on tables: pyarrow, h5py and uproot wrote the files, and pyarrow reads back the same values of the
same types. Killed and gone on, two at a time, a full disk, inputs and settings that change, parts as xxhash and a job have them. Wants the
peers' Python."""

import json
import os
import pathlib
import signal
import struct
import subprocess
import sys
import tempfile
import time

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import feather
import uproot
import xxhash

from lib import runs
from lib.checks import check, wait_for
from lib.servers.versitygw import Versitygw
from lib.skips import skipped
from range_server import RangeServer

EVENTS = 5000
PARTS = "train=0.7,validation=0.2,test=0.1"


def start(root: pathlib.Path, verb: str, *words: object, **environment: str) -> subprocess.Popen:
    return runs.started("data", verb, *words, cwd=root, **{"LINAC_CACHE": str(root / "cache"), **environment})


def run(root: pathlib.Path, verb: str, *words: object, status: int = 0, **environment: str) -> str:
    process = start(root, verb, *words, **environment)
    said, problems = process.communicate(timeout=120)
    if process.returncode != status:
        sys.exit(f"{verb} {words}: exit status {process.returncode}, expected {status}\n{said}{problems}")
    return problems if status else said


def made(first: int, events: int) -> pa.Table:
    """Types that a conversion could lose: integers beyond float64, halves, texts, nulls, structs, lists of lists."""
    random = np.random.default_rng(first)
    counts = random.integers(0, 6, events)
    total = int(counts.sum())
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype("i4")
    pt = random.exponential(30, total).astype("f4")
    rows = pa.FixedSizeListArray.from_arrays(pa.array(random.normal(size=3 * total).astype("f4")), 3)
    grid = pa.FixedSizeListArray.from_arrays(pa.array(random.normal(size=4 * events).astype("f2"), pa.float16()), 4)
    numbers = np.arange(first, first + events)
    return pa.table({
        "run": pa.array(numbers // 1000, pa.int32()),
        "event": pa.array(numbers, pa.uint64()),
        "id": pa.array(2**63 + numbers.astype("u8"), pa.uint64()),
        "met": pa.array(random.exponential(50, events)),
        "weight": pa.array([None if i % 97 == 0 else float(i) for i in range(events)], pa.float64()),
        "nan": pa.array([float("nan") if i % 5 == 0 else -0.0 for i in range(events)], pa.float32()),
        "good": pa.array(random.random(events) < 0.8),
        "name": pa.array([f"event {i} µ" for i in range(events)]),
        "kind": pa.array(["signal" if i % 3 else "other" for i in range(events)]).dictionary_encode(),
        "when": pa.array(numbers, pa.timestamp("us")),
        "jets_pt": pa.ListArray.from_arrays(pa.array(offsets), pa.array(pt)),
        "jets": pa.ListArray.from_arrays(pa.array(offsets), rows),
        "ids": pa.ListArray.from_arrays(pa.array(offsets), pa.array(2**60 + np.arange(total))),
        "grid": grid,
        "place": pa.StructArray.from_arrays([pa.array(numbers), pa.array(random.normal(size=events))], ["a", "b"]),
    })


def same(a: pa.Table, b: pa.Table) -> bool:
    """Types and bits; NaN is NaN."""
    if a.schema.names != b.schema.names or a.schema.types != b.schema.types or len(a) != len(b):
        return False
    for name in a.schema.names:
        x, y = a[name].combine_chunks(), b[name].combine_chunks()
        if pa.types.is_floating(x.type) and x.null_count == 0:
            if x.to_numpy(zero_copy_only=False).tobytes() != y.to_numpy(zero_copy_only=False).tobytes():
                return False
        elif x.to_pylist() != y.to_pylist():
            return False
    return True


def read(*paths: pathlib.Path) -> pa.Table:
    return pa.concat_tables([pq.read_table(path) for path in paths]).unify_dictionaries()


def parquet(root: pathlib.Path, whole: pa.Table) -> None:
    for part, group in ((0, 500), (1, 777), (2, 10_000)):
        begin, end = [0, 2000, 2100, EVENTS][part:part + 2]
        pq.write_table(whole.slice(begin, end - begin), root / f"in-{part}.parquet", row_group_size=group)
    run(root, "convert", "in-*.parquet", "one.parquet")
    check(same(read(root / "one.parquet"), whole), "three Parquet files become one with the same types and bits")
    check("exists already" in run(root, "convert", "in-*.parquet", "one.parquet", status=2), "what is there stays")
    feather.write_feather(whole.slice(0, 2000), root / "in-0.feather", compression="lz4", chunksize=300)
    feather.write_feather(whole.slice(2000), root / "in-1.feather", compression="zstd")
    run(root, "convert", "in-*.feather", "of-arrow.parquet")
    check(same(read(root / "of-arrow.parquet"), whole), "Arrow's own files hold the same")
    run(root, "convert", "in-*.parquet", "folder/")
    check([same(pq.read_table(root / f"folder/in-{i}.parquet"), pq.read_table(root / f"in-{i}.parquet")) for i in range(3)] == [True] * 3, "each becomes a file of a folder")
    run(root, "convert", "in-*.parquet", "shards", "--shards", 7, "--jobs", 1)
    run(root, "convert", "in-*.parquet", "again", "--shards", 7, "--jobs", 5)
    names = [f"part-{i:05}-of-00007.parquet" for i in range(7)]
    check(same(read(*[root / "shards" / name for name in names]), whole), "seven shards hold the same, in order")
    check(all((root / "shards" / name).read_bytes() == (root / "again" / name).read_bytes() for name in names), "the bytes of a shard do not depend on --jobs")
    run(root, "convert", "in-*.parquet", "each.parquet", "--events-per-file", 1999)
    sizes = [len(pq.read_table(path)) for path in sorted(root.glob("each-*.parquet"))]
    check(sizes == [1999, 1999, 1002], f"--events-per-file 1999: {sizes}")
    run(root, "convert", "in-*.parquet", "some", "--columns", "name,met", "--columns", "id", "--filter", "met > 100 && good", "--shards", 3)
    table = whole.to_pandas()
    keep = (table["met"] > 100) & table["good"]
    check(same(read(*sorted((root / "some").glob("*.parquet"))), whole.filter(pa.array(keep)).select(["name", "met", "id"])), f"{keep.sum()} events and three columns, in their order")
    run(root, "convert", "in-0.parquet", "none.parquet", "--filter", "met < -1")
    check(len(pq.read_table(root / "none.parquet")) == 0 and pq.read_table(root / "none.parquet").schema.types == whole.schema.types, "no event passes: an empty table")
    check("did you mean 'met'" in run(root, "convert", "in-0.parquet", "x.parquet", "--columns", "mte", status=3), "a wrong column is named")
    check("character" in run(root, "convert", "in-0.parquet", "x.parquet", "--filter", "met >", status=2) and not (root / "x.parquet").exists(), "a wrong formula is said")
    check("also an input" in run(root, "convert", "in-0.parquet", "./in-0.parquet", "--overwrite", status=2), "an output that is an input is refused")
    pq.write_table(whole.set_column(3, "met", whole["met"].cast(pa.float32())), root / "other.parquet")
    check("column 'met' is float" in run(root, "convert", "in-0.parquet", "other.parquet", "x.parquet", status=3), "columns of another type are refused")


def formats(root: pathlib.Path) -> None:
    random = np.random.default_rng(1)
    columns = {"f8": random.normal(size=100), "f4": random.normal(size=(100, 3)).astype("f4"), "f2": random.normal(size=(100, 2, 3)).astype("f2"),
               "i8": random.integers(-2**62, 2**62, 100), "u8": random.integers(2**63, 2**64, 100, dtype="u8"), "b": random.random(100) < 0.5,
               "i1": random.integers(-128, 128, (100, 1)).astype("i1"), "be": random.integers(0, 9, 100).astype(">i4"), "lzf": np.arange(100) // 7}
    with h5py.File(root / "a.h5", "w") as file:
        for name, values in columns.items():
            file.create_dataset(name, data=values, **({"chunks": (60,), "compression": "lzf", "shuffle": True} if name == "lzf" else {}))
        file["text"] = [f"n{i}" for i in range(100)]
    run(root, "convert", "a.h5", "h5.parquet", "--columns", ",".join([*columns, "text"]))
    table = pq.read_table(root / "h5.parquet")
    for name, values in columns.items():
        found = np.array(table[name].to_pylist() if values.ndim > 1 else table[name].to_numpy())
        check(np.array_equal(found.astype(values.dtype).reshape(values.shape), values), f"HDF5 {values.dtype} {list(values.shape)}: {table[name].type}")
    check(table["text"].to_pylist() == [f"n{i}" for i in range(100)], "HDF5 texts")
    run(root, "convert", "a.h5", "a.h5", "h5s", "--shards", 3)
    check(sum(len(pq.read_table(path)) for path in (root / "h5s").glob("*.parquet")) == 200, "one file twice, in three shards")

    flat = {name: values for name, values in columns.items() if values.ndim == 1 and name != "be"} | {"f4": columns["f4"]}
    counts = random.integers(0, 5, 100)
    lists = pa.ListArray.from_arrays(pa.array(np.concatenate([[0], np.cumsum(counts)]).astype("i4")), pa.array(random.integers(0, 2**60, counts.sum())))
    with uproot.recreate(root / "a.root") as file:
        file["Events"] = flat
        import awkward as ak
        file.mktree("Jets", {"ids": "var * int64"}).extend({"ids": ak.unflatten(lists.values.to_numpy(), counts)})
    run(root, "convert", "a.root", "root.parquet", "--columns", ",".join(f"Events/{name}" for name in flat))
    table = pq.read_table(root / "root.parquet")
    for name, values in flat.items():
        column = table[f"Events/{name}"]
        check(np.array_equal(np.array(column.to_pylist()).astype(values.dtype), values), f"ROOT {values.dtype}: {column.type}")
    run(root, "convert", "a.root", "jets", "--columns", "Jets/ids", "--shards", 4)
    check(read(*sorted((root / "jets").glob("*.parquet")))["Jets/ids"].to_pylist() == lists.to_pylist(), "ROOT lists of int64, in four shards")
    run(root, "convert", "a.root", "cut.parquet", "--columns", "Events/f8", "--filter", "`Events/f8` > 0")
    check(np.array_equal(pq.read_table(root / "cut.parquet")["Events/f8"].to_numpy(), flat["f8"][flat["f8"] > 0]), "a filter on a ROOT file")

    run(root, "convert", runs.ROOT / "data/showers-test.h5", "showers.tfrecord")
    run(root, "convert", "showers.tfrecord", "tf", "--shards", 3)
    tf = read(*sorted((root / "tf").glob("*.parquet")))
    run(root, "convert", "showers.tfrecord", "tf.parquet")
    check(same(tf, pq.read_table(root / "tf.parquet")) and tf["shape"].to_pylist()[0] == [51, 51, 25] and tf["Y"].type == pa.float32(), f"TFRecord: {tf.schema.names}, {len(tf)} events in three shards and in one file")
    with h5py.File(runs.ROOT / "data/showers-test.h5") as file:
        check(len(tf) == len(file["ECAL"]) and sorted(tf.schema.names) == ["X", "Y", "ang", "ecal", "shape"], "all events and features are there")


JOB = """
name: convert
model: {kind: keras, file: none.keras}
data:
  train: [in-*.parquet]
  inputs: [{name: x, columns: [met, ht]}]
  targets: [{column: good}]
  define: {ht: "sum(jets_pt)", busy: "len(jets_pt) > 2"}
  lists: [{columns: [jets_pt, ids, jets], filter: "jets_pt > 5", sort: "-jets_pt", first: 3}]
  filter: "met > 20"
  split: {key: [run, event], validation: 0.2, test: 0.1}
train: {epochs: 1, batch: 16, fit: {loss: binary_crossentropy}}
"""


def part_place(run_number: int, event: int) -> float:
    return (xxhash.xxh3_64_intdigest(struct.pack("<2d", run_number, event)) >> 11) / 2**53


def part_of(run_number: int, event: int) -> str:
    place = part_place(run_number, event)
    return "test" if place >= 1 - 0.1 else "validation" if place >= 1 - 0.1 - 0.2 else "train"


def transforms(root: pathlib.Path, whole: pa.Table) -> None:
    (root / "job.yaml").write_text(JOB)
    run(root, "convert", "in-*.parquet", "job.parquet", "--job", "job.yaml", "--columns", "event,jets_pt,ids,jets,ht,busy")
    found = pq.read_table(root / "job.parquet").to_pylist()
    wanted = []
    for row in whole.to_pylist():
        if not row["met"] > 20:
            continue
        kept = sorted((i for i, pt in enumerate(row["jets_pt"]) if pt > 5), key=lambda i: -row["jets_pt"][i])[:3]
        wanted.append({"event": row["event"], **{name: [row[name][i] for i in kept] for name in ("jets_pt", "ids", "jets")},
                       "ht": sum(row["jets_pt"][i] for i in kept), "busy": len(kept) > 2})
    check(found == wanted, f"a job's lists, define and filter: {len(wanted)} events, the same bits")
    check(pq.read_table(root / "job.parquet").schema.field("ht").type == pa.float64(), "what is computed is float64")
    check("data.split" in run(root, "convert", "in-0.parquet", "x.parquet", "--part", "test", status=2), "--part without a split is refused")
    run(root, "convert", "in-*.parquet", "part.parquet", "--job", "job.yaml", "--part", "test", "--columns", "event")

    run(root, "split", "in-*.parquet", "parts", "--parts", PARTS, "--by", "run,event", "--shards", 3)
    parts = {part: read(*sorted((root / "parts" / part).glob("*.parquet"))) for part in ("train", "validation", "test")}
    places = [part_of(*key) for key in zip(whole["run"].to_pylist(), whole["event"].to_pylist())]
    for part, table in parts.items():
        check(same(table, whole.filter(pa.array([place == part for place in places]))), f"{part}: {len(table)} events, as xxhash has them")
    of_job = pq.read_table(root / "part.parquet")["event"].to_pylist()
    check(of_job == parts["test"].filter(pa.array([met > 20 for met in parts["test"]["met"].to_pylist()]))["event"].to_pylist(), f"{len(of_job)} events of the job's own test part are those of the split")
    (root / "unfiltered.yaml").write_text(JOB.replace('  filter: "met > 20"\n', ""))
    run(root, "convert", "in-*.parquet", "part.parquet", "--job", "unfiltered.yaml", "--part", "test", "--columns", "event", "--overwrite")
    check(pq.read_table(root / "part.parquet")["event"].to_pylist() == parts["test"]["event"].to_pylist(), "of a job that filters nothing its test part, and no other event")
    run(root, "split", "in-*.parquet", "folds", "--folds", "3", "--by", "run,event", "--columns", "run,event")
    folds = [[part_place(*key) for key in zip(*(table[name].to_pylist() for name in ("run", "event")))]
             for table in (read(*sorted((root / f"folds/fold-{fold}").glob("*.parquet"))) for fold in (1, 2, 3))]
    check(sum(map(len, folds)) == EVENTS and all(int(3 * place) == fold for fold in range(3) for place in folds[fold]), f"folds: {[len(one) for one in folds]} events, as xxhash has them")
    run(root, "split", "in-1.parquet", "alone", "--parts", PARTS, "--by", "run", "--by", "event")
    alone = {part: set(pq.read_table(root / "alone" / part / "in-1.parquet")["event"].to_pylist()) for part in parts}
    run(root, "split", "in-*.parquet", "alone", "--parts", PARTS, "--by", "run", "--by", "event")
    check(all(alone[part] <= set(parts[part]["event"].to_pylist()) for part in parts), "an event stays in its part when files are added")
    check(sum(len(pq.read_table(path)) for path in (root / "alone").glob("*/in-*.parquet")) == EVENTS, "which the same command does")
    run(root, "split", "in-*.parquet", "by job", "--job", "job.yaml")
    tests = read(*sorted((root / "by job/test").glob("*.parquet")))["event"].to_pylist()
    check(tests == of_job, "a job's split, in folders")
    for wrong in ("train=0.8", "train=0.8,test=0.3", "train=0.9,other=0.1", "train=x,test=0.1", "train=0.5,train=0.5"):
        check("[split]" in run(root, "split", "in-*.parquet", "x", "--parts", wrong, "--by", "run", status=2), f"--parts {wrong} is refused")
    check("NaN" in run(root, "split", "in-0.parquet", "x", "--parts", PARTS, "--by", "nan", status=3), "a key that is NaN is refused")


def resumed(root: pathlib.Path, whole: pa.Table) -> None:
    words = ("convert", "in-*.parquet", "long", "--events-per-file", 25, "--jobs", 2)
    for stop in (signal.SIGKILL, signal.SIGINT):
        before = len(list((root / "long").glob("part-*")))
        process = start(root, *words)
        wait_for(lambda: len(list((root / "long").glob("part-*"))) > before + 20 or process.poll() is not None, "some files", 30)
        process.send_signal(stop)
        _, problems = process.communicate(timeout=60)
        done = len(list((root / "long").glob("part-*")))
        check(before < done < 200, f"{done} of 200 files when it was stopped")
        if stop == signal.SIGINT:
            check(process.returncode == 75 and "the same command goes on" in problems, "Ctrl-C ends with status 75 and a word")
        for path in (root / "long").glob("part-*"):
            pq.read_metadata(path)  # whole
    stale = {path: path.stat().st_mtime_ns for path in (root / "long").glob("part-*")}
    broken = root / "long/part-00003-of-00200.parquet"
    broken.write_bytes(broken.read_bytes()[:-10])
    (root / "long/.part-00007-of-00200.parquet.99999.tmp").write_text("left by somebody")
    said = run(root, *words)
    kept = [path for path, date in stale.items() if path.stat().st_mtime_ns == date]
    check(len(stale) - 4 <= len(kept) < len(stale) and broken not in kept, f"{len(kept)} of {len(stale)} finished files are kept, a cut one is not")
    check(said.count("was there") == len(kept) and not list((root / "long").glob(".*tmp")), "it says which; nothing hidden is left")
    check(same(read(*sorted((root / "long").glob("part-*"))), whole), "the whole is as if it had not been stopped")
    check(run(root, *words).count("was there") == 200, "the same command again does nothing")
    check("other settings (filter)" in run(root, *words, "--filter", "met > 1", status=2), "another filter is refused")
    check("other settings" in run(root, *words[:-4], "--shards", 3, status=2), "another number of files too")
    os.utime(root / "in-1.parquet")
    check("have changed" in run(root, *words, status=2), "an input that has changed is refused")
    run(root, "convert", "in-*.parquet", "long", "--shards", 3, "--overwrite")
    check(same(read(*sorted((root / "long").glob("*.parquet"))), whole) and len(list((root / "long").glob("part-*"))) == 3, "--overwrite writes anew and leaves none of the former files")
    (root / "long/_linac-convert.json").write_text("{")
    check("no note" in run(root, "convert", "in-*.parquet", "long", "--shards", 3, status=2), "a damaged note is said")
    (root / "foreign").mkdir()
    (root / "foreign/in-1.parquet").write_text("mine")
    check("not made by this command" in run(root, "convert", "in-*.parquet", "foreign", status=2) and (root / "foreign/in-1.parquet").read_text() == "mine", "somebody else's file stays")

    with RangeServer(root, bytes_per_s=100_000) as server:
        process = start(root, "convert", f"{server.url}/in-2.parquet", "remote", "--shards", 4)
        wait_for(lambda: (root / "remote").exists(), "the folder", 30)
        check("another conversion" in run(root, "convert", "in-2.parquet", "remote", "--shards", 4, status=2), "a second one at the same time is refused")
        server.bytes_per_s = 0
        _, problems = process.communicate(timeout=60)
        check(process.returncode == 0 and same(read(*sorted((root / "remote").glob("*.parquet"))), pq.read_table(root / "in-2.parquet")), f"from a web server, in ranges {problems}")


def awkward_places(root: pathlib.Path, whole: pa.Table) -> None:
    (root / "cut.bin").write_bytes((root / "in-0.parquet").read_bytes()[:5000])
    run(root, "convert", "in-0.parquet", "cut.bin", "not yet", status=3)
    check(not (root / "not yet").exists(), "a cut input is refused before anything is written")
    os.mkfifo(root / "fifo.parquet")
    run(root, "convert", "fifo.parquet", "x", status=3)
    (disk := root / "disk").mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=300k", "none", disk], capture_output=True).returncode == 0:
        try:
            said = run(root, "convert", "in-*.parquet", disk, "--shards", 8, status=4)
            hidden = list(disk.glob(".*"))
            check("space" in said and not hidden, f"a full disk is said: {said.strip()}")
            subprocess.run(["mount", "-o", "remount,size=30m", disk], check=True)
            run(root, "convert", "in-*.parquet", disk, "--shards", 8)
            check(same(read(*sorted(disk.glob("part-*"))), whole), "with room it goes on")
        finally:
            subprocess.run(["umount", "-l", disk], check=True)
    else:
        skipped("a full disk", "this user may not mount")
    if not Versitygw.available():
        skipped("an object store", "no versitygw is installed", "tests/servers/get.sh versitygw")
        return
    with Versitygw() as store:
        url = f"s3://{store.BUCKET}/some folder"
        words = ("split", "in-*.parquet", url, "--parts", PARTS, "--by", "run,event", "--shards", 2)
        run(root, *words, **store.environment)
        check(run(root, *words, **store.environment).count("was there") == 6, "an object store: six objects, and nothing to do again")
        run(root, "convert", f"{url}/*/part-*.parquet", "back.parquet", "--columns", "event", **store.environment)
        check(sorted(pq.read_table(root / "back.parquet")["event"].to_pylist()) == list(range(EVENTS)), "and back, by a pattern")


def of_the_field(root: pathlib.Path) -> None:
    """HDF5 in groups, in records and of variable length; and what is the same in all events, up to the largest float32."""
    lists = [[1.5], [], [2.5, 3.5]]
    with h5py.File(root / "field.h5", "w") as file:
        file["INPUTS/Source/pt"] = np.array([[1, 2], [3, 4], [5, 6]], "f4")
        file["jets"] = np.array([(1.5, 7, True), (2.5, 8, False), (3.5, 9, True)], [("pt", "f4"), ("n", ">i8"), ("is_b", "?")])
        hits = file.create_dataset("hits", (3,), dtype=h5py.vlen_dtype(np.dtype("f8")))
        for i, values in enumerate(lists):
            hits[i] = values
    run(root, "convert", "field.h5", "field.parquet")
    found = pq.read_table(root / "field.parquet").to_pydict()
    wanted = {"INPUTS/Source/pt": [[1, 2], [3, 4], [5, 6]], "hits": lists, "jets.is_b": [True, False, True], "jets.n": [7, 8, 9], "jets.pt": [1.5, 2.5, 3.5]}
    check(found == wanted, f"groups, records and lists of HDF5: {found}")
    values = {"filled": 1e16, "unset": -1e30, "largest": float(np.finfo("f4").max)}
    pq.write_table(pa.table({**{name: np.full(40, value, "f4") for name, value in values.items()}, "n": np.arange(40)}), root / "constant.parquet")
    columns = json.loads(run(root, "stats", "constant.parquet", "--json"))["columns"]
    found = {column["name"]: (column["train"]["min"], column["train"]["max"]) for column in columns if column["name"] in values}
    check(found == {name: (float(np.float32(value)),) * 2 for name, value in values.items()}, f"stats of constants: {found}")


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        whole = made(0, EVENTS)
        for step in (lambda: parquet(root, whole), lambda: formats(root), lambda: of_the_field(root), lambda: transforms(root, whole), lambda: resumed(root, whole), lambda: awkward_places(root, whole)):
            begin = time.monotonic()
            step()
            print(f"{time.monotonic() - begin:.1f} s")


if __name__ == "__main__":
    main()
