"""linac.loader(): what arrives, in which order, in whose memory; and what becomes of it when somebody dies."""

import gc
import json
import os
import pathlib
import pickle
import re
import signal
import subprocess
import sys
import time
import warnings

import awkward as ak
import h5py
import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest
import uproot

import linac

EVENTS = 1000


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Two Parquet files: numbers, a list of features, lists of several lengths, texts."""
    folder = tmp_path_factory.mktemp("events")
    random = np.random.default_rng(1)
    for number in range(2):
        ids = np.arange(number * EVENTS // 2, (number + 1) * EVENTS // 2)
        lengths = random.integers(0, 9, len(ids))
        rows = ak.unflatten(ak.from_regular(ak.Array(np.repeat(ids, lengths)[:, None] + np.array([0.0, 0.25, 0.5])), 1), lengths)
        hits = ak.unflatten(np.repeat(ids, lengths) + 0.5, lengths)
        columns = {"id": ids.astype(np.float32), "x": list(ids[:, None] * np.ones(3, np.float32)), "kind": np.where(ids % 3 == 0, "tau", "jet")}
        table = pa.table(columns | {"p": ak.to_arrow(rows, extensionarray=False), "hits": ak.to_arrow(hits, extensionarray=False)})
        pyarrow.parquet.write_table(table, folder / f"{number}.parquet")
    return str(folder / "*.parquet")


def ids(batches):
    return np.array([batch["id"].copy() for batch in batches])


def test_an_epoch(files):
    with_all = linac.loader(files, ["id", "x", "p", "hits", "kind"], 64)
    assert len(with_all) == EVENTS // 64 and with_all.events == EVENTS and with_all.classes == {"kind": ["jet", "tau"]}
    seen = []
    for batch in with_all:
        number = batch["id"]
        assert number.shape == (64,) and batch["x"].shape == (64, 3) and number.dtype == np.float32
        assert np.array_equal(batch["x"], np.repeat(number[:, None], 3, axis=1)) and np.array_equal(batch["kind"], number % 3 == 0)
        p, hits = batch["p"], batch["hits"]
        assert p.offsets.dtype == np.int64 and p.values.shape == (p.offsets[-1], 3) and hits.values.shape == (hits.offsets[-1],)
        of_rows = np.repeat(number, np.diff(p.offsets))
        assert np.array_equal(p.values, of_rows[:, None] + np.array([0, 0.25, 0.5], np.float32)) and np.array_equal(hits.values, of_rows + 0.5)
        padded = p.padded(rows=5, value=-1)
        assert padded.shape == (64, 5, 3) and all((event[length:] == -1).all() for event, length in zip(padded, np.diff(p.offsets), strict=True))
        seen += list(number)
    assert len(set(seen)) == len(seen) == EVENTS // 64 * 64
    assert list(ids(with_all).ravel()) != seen  # the next epoch


def test_order(files):
    """By (seed, epoch) alone, whoever shares it, wherever a loop begins."""
    loader = linac.loader(files, "id", 32, seed=3)
    first, second = ids(loader), ids(loader)
    assert np.array_equal(ids(loader.epoch(0)), first) and np.array_equal(ids(linac.loader(files, ["id"], 32, seed=3).epoch(1)), second)
    assert not np.array_equal(ids(linac.loader(files, "id", 32, seed=4)), first)
    halves = [ids(linac.loader(files, "id", 16, seed=3, rank=rank, world_size=2)) for rank in (0, 1)]
    assert np.array_equal(np.concatenate(halves, axis=1), first)
    assert np.array_equal(ids(loader.epoch(0, 20)), first[20:])
    in_order = ids(linac.loader(files, "id", 32, shuffle=False))
    assert np.array_equal(in_order.ravel(), np.arange(in_order.size))
    # A checkpoint of the loop, and a loop that is left early.
    for batch in loader.epoch(0):
        state = loader.state_dict()
        if state["step"] == 7:
            break
    assert state == {"epoch": 0, "step": 7}
    again = linac.loader(files, "id", 32, seed=3)
    again.load_state_dict(json.loads(json.dumps(state)))
    assert np.array_equal(ids(pickle.loads(pickle.dumps(again))), first[7:]) and np.array_equal(ids(again), first[7:])
    assert np.array_equal(ids(loader), second)
    assert len(ids(linac.loader(files, "id", 32, steps_per_epoch=5))) == 5
    windowed = ids(linac.loader(files, "id", 25, window=1)).reshape(2, -1)
    assert {tuple(sorted(half // (EVENTS // 2))) for half in windowed} == {(0,) * (EVENTS // 2), (1,) * (EVENTS // 2)}


def test_shapes_formulas_and_filters(files):
    loader = linac.loader(files, {"id": (), "p": (4, 3), "x": 3, "double": None}, 50, define={"double": "2 * id"}, filter="id >= 500")
    assert loader.events == 500
    batch = next(iter(linac.loader(files, {"both": ["id", "id"], "id": None}, 50)))
    assert np.array_equal(batch["both"], np.repeat(batch["id"][:, None], 2, axis=1))
    batch = next(iter(loader))
    assert batch["p"].shape == (50, 4, 3) and np.array_equal(batch["double"], 2 * batch["id"]) and batch["id"].min() >= 500
    named = next(iter(linac.loader(files, "kind", 50, classes={"kind": ["tau", "jet"]}, shuffle=False)))["kind"]
    assert list(named[:4]) == [0, 1, 1, 0]
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        assert len(linac.loader(files, {"p": (2, 3)}, 50)) == 20
    assert any("more than 2 rows" in str(one.message) for one in told)


def test_other_formats(tmp_path):
    image = np.random.default_rng(1).random((60, 5, 4, 3), dtype=np.float32)
    with h5py.File("a.h5", "w") as file:
        file["image"], file["id"] = image, np.arange(60)
    pa.feather.write_feather(pa.table({"id": np.arange(60), "x": list(image[:, 0, 0])}), "a.arrow", compression="uncompressed")
    batch = next(iter(linac.loader("a.h5", ["image", "id"], 20)))
    assert np.array_equal(batch["image"], image[batch["id"].astype(int)])
    batch = next(iter(linac.loader("a.arrow", ["x", "id"], 20)))
    assert np.array_equal(batch["x"], image[batch["id"].astype(int), 0, 0])


@pytest.fixture(scope="module")
def jets(tmp_path_factory):
    """Events of each other format: a number, and two that make a list; in one list where the format has such."""
    folder = tmp_path_factory.mktemp("jets")
    pt, eta = np.random.default_rng(2).random((2, 90), dtype=np.float32)
    with uproot.recreate(folder / "jets.root") as file:
        file["events"] = {"id": np.arange(90, dtype=np.int32), "pt": pt, "eta": eta}
    with h5py.File(folder / "jets.h5", "w") as file:
        file["id"], file["jet"] = np.arange(90, dtype=np.float32), np.stack([pt, eta], axis=1)
    for ending in ("tfrecord", "tfrecord.gz"):
        subprocess.run([linac.program(), "data", "convert", folder / "jets.h5", folder / f"jets.{ending}"], check=True, stdout=subprocess.DEVNULL)
    return folder, np.stack([pt, eta], axis=1)


@pytest.mark.parametrize(("ending", "columns"), [("root", {"jet": ["pt", "eta"], "id": None}), ("tfrecord", {"jet": 2, "id": ()}), ("tfrecord.gz", {"jet": 2, "id": ()})])
def test_root_and_tfrecord(jets, ending, columns):
    folder, expected = jets
    for shuffle in (True, False):
        seen = []
        for batch in linac.loader(folder / f"jets.{ending}", columns, 30, shuffle=shuffle):
            assert np.array_equal(batch["jet"], expected[batch["id"].astype(int)])
            seen += list(batch["id"])
        assert sorted(seen) == list(range(90)) and (seen == list(range(90))) is not shuffle
    with pytest.raises(linac.LinacError, match="phi"):
        next(iter(linac.loader(folder / f"jets.{ending}", ["phi"], 30)))


def test_a_store(jets, monkeypatch, tmp_path):
    """s3://: the batches of the same file here, its bytes fetched once; a key that is wrong."""
    from lib.servers.versitygw import Versitygw

    if not Versitygw.available():
        pytest.skip("no versitygw")
    folder, expected = jets
    monkeypatch.setenv("LINAC_CACHE", str(tmp_path / "cache"))
    with Versitygw() as store:
        for name, value in store.environment.items():
            monkeypatch.setenv(name, value)
        columns = {"root": {"jet": ["pt", "eta"], "id": None}, "tfrecord": {"jet": 2, "id": ()}}
        for ending, named in columns.items():
            store.put(f"jets/jets.{ending}", (folder / f"jets.{ending}").read_bytes())
            there, here = (ids(linac.loader(where, named, 30, seed=5)) for where in (f"s3://{store.BUCKET}/jets/*.{ending}", folder / f"jets.{ending}"))
            assert np.array_equal(there, here)
        with pytest.raises(linac.LinacError, match="s3://test/jets/none.root"):
            next(iter(linac.loader("s3://test/jets/none.root", "id", 30)))
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "another")
        with pytest.raises(linac.LinacError, match="s3://") as refused:
            next(iter(linac.loader("s3://test/jets/jets.root", {"pt": ()}, 30)))
        assert store.secret not in str(refused.value)


def test_page(tmp_path):
    """The blocks of docs/guide/python-loops.md but for that of a job, which test_tune.py has."""
    root = pathlib.Path(__file__).resolve().parents[2]
    (tmp_path / "train-0.parquet").symlink_to(root / "data/topology-train.parquet")
    loop, function, _, pipeline = re.findall(r"^```python\n(.*?)^```$", (root / "docs/guide/python-loops.md").read_text(), re.M | re.S)
    names: dict = {}
    for block in (loop, function, pipeline):
        exec(compile(block, "python-loops.md", "exec"), names)
    assert names["x"].shape == (256, 14) and names["y"].shape == (256,) and len(names["study"].trials) == 30 and names["search"].estimator is names["network"]


# --- Memory ---


def test_kept_batches(files):
    """Who keeps what it gets finds it unchanged, in the memory of the program or copied; and none of it needs the loader."""
    loader = linac.loader(files, "id", 10, shuffle=False, slots=4)
    kept = [batch["id"] for batch in loader]
    loader.close()
    assert np.array_equal(np.concatenate(kept), np.arange(EVENTS))
    assert sum(one.base is not None for one in kept) == 2  # of 4 the program has two to read ahead
    mine = next(iter(loader))["id"]
    mine += 1  # whoever has a batch may change it
    del loader, kept
    gc.collect()
    assert list(mine[:2]) == [1, 2]


def test_slots_come_back(files):
    loader = linac.loader(files, ["id", "x"], 10, shuffle=False)
    for batch in loader:
        view = batch["x"][1:, 0].reshape(-1)  # a view of a view holds the slot
        expected = batch["id"][1:].copy()
        del batch
        assert np.array_equal(view, expected)
    assert loader._stream._held <= 1


def test_tensorflow(files):
    import tensorflow as tf

    for batch in linac.loader(files, ["id", "p"], 64).tensorflow():
        assert isinstance(batch["id"], tf.Tensor) and batch["p"].values.shape == (batch["p"].offsets[-1], 3)
    view = linac.loader(files, "id", 64)
    array = next(iter(view))["id"]
    tensor = view.tensorflow()._convert(array)
    array[:] = 7
    assert (tensor.numpy() == 7).all()  # one memory


@pytest.mark.parametrize("library", ["torch", "jax"])
def test_other_libraries(files, library):
    pytest.importorskip(library)
    loader = linac.loader(files, ["id", "hits"], 64)
    seen = np.concatenate([np.array(batch["id"]) for batch in getattr(loader, library)()])
    assert len(set(seen)) == len(seen) == EVENTS // 64 * 64
    assert np.array_equal(np.array(next(iter(getattr(loader, library)().epoch(0)))["id"]), seen[:64])


# --- Attacks ---


def process_of(loader):
    next(iter(loader))
    return loader._stream._process


def gone(pid):
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        try:
            with open(f"/proc/{pid}/stat") as file:
                if file.read().rpartition(")")[2].split()[0] == "Z":
                    return True
        except OSError:
            return True
        time.sleep(0.02)
    return False


def test_the_program_dies(files):
    loader = linac.loader(files, "id", 10)
    process = process_of(loader)
    os.kill(process.pid, signal.SIGKILL)
    with pytest.raises(linac.LinacError, match="ended by signal 9") as caught:
        for _ in loader.epoch(*loader._stream.position):
            pass
    assert caught.value.exit_status == 137
    assert len(list(loader)) == 100  # another one


def test_a_file_that_changes(tmp_path, files):
    pa.feather.write_feather(pa.table({"id": np.arange(1000.0)}), "a.arrow")
    loader = linac.loader("a.arrow", "id", 10, prefetch=1)
    next(iter(loader))
    pa.feather.write_feather(pa.table({"id": np.arange(2000.0)}), "a.arrow")
    with pytest.raises(linac.LinacError, match="a.arrow") as caught:
        for _ in loader.epoch(*loader._stream.position):
            pass
    assert caught.value.exit_status == 3


def test_the_loop_dies(files):
    """Its process, a forgotten loader, a closed one: the program ends with them."""
    script = ("import os, sys, linac\nloader = linac.loader(sys.argv[1], 'id', 10)\nnext(iter(loader))\n"
              "print(loader._stream._process.pid, flush=True)\nos.kill(os.getpid(), 9)")  # fmt: skip
    killed = subprocess.run([sys.executable, "-c", script, files], capture_output=True, text=True)
    assert killed.returncode == -9 and gone(int(killed.stdout))
    for end in (linac._loader.Loader.close, lambda loader: None):
        loader = linac.loader(files, "id", 10)
        held = next(iter(loader))["id"]  # does not keep it alive
        pid = process_of(loader).pid
        end(loader)
        del loader
        gc.collect()
        assert gone(pid) and len(set(held)) == 10


def test_ctrl_c(files, ctrl_c):
    loader = linac.loader(files, "id", 10, seed=1)
    expected, seen = ids(loader), []
    with pytest.raises(KeyboardInterrupt):
        for batch in loader.epoch(0):
            seen.append(batch["id"].copy())
            if len(seen) == 3:
                signal.raise_signal(signal.SIGINT)
    assert np.array_equal(np.array(seen + [batch["id"].copy() for batch in loader.epoch(0, 3)]), expected)


def test_forks(files):
    loader = linac.loader(files, "id", 10)
    held = next(iter(loader))["id"]
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            next(iter(loader))
        except linac.LinacError as error:
            status = 0 if "num_workers=0" in str(error) else 2
        del held, loader
        gc.collect()
        os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert len(list(loader.epoch(1))) == 100 and len(held) == 10


def test_two_loops_at_once(files):
    loader = linac.loader(files, "id", 10)
    pairs = [(a["id"].copy(), b["id"].copy()) for a, b in zip(loader.epoch(0), loader.epoch(0), strict=True)]
    assert all(np.array_equal(a, b) for a, b in pairs) and len(pairs) == 100


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ({"columns": []}, "no column"), ({"columns": ["id", "id"]}, "twice"), ({"columns": "ids"}, "id"), ({"columns": "--help"}, "--help"),
        ({"columns": {"x": (2,)}}, "x"), ({"columns": {"x": ("a", 1)}}, "wanted is NAME"), ({"columns": {"x": ["a", "id"]}}, "'a'"), ({"batch": 0}, "batch"), ({"batch": 4000}, "batch"),
        ({"rank": 2, "world_size": 2}, "ranks are 0 to 1"), ({"slots": 1}, "slots"), ({"threads": 0}, "threads"), ({"prefetch": 999}, "prefetch"),
        ({"filter": "id >"}, "id >"), ({"filter": "id > 5000"}, "holds for none"), ({"define": {"id": "x"}}, "id"), ({"files": "none.h5"}, "none.h5"),
        ({"files": 3}, "names no files"), ({"files": "pipe.h5"}, "pipe.h5"), ({"files": "/dev/null"}, "/dev/null"), ({"window": 1, "columns": "p"}, "p:ROWSx3"),
        ({"window": 1, "columns": "kind"}, "name its classes"), ({"window": 1, "shuffle": False}, "in-order"), ({"classes": {"kind": ["jet"]}, "columns": "kind"}, "tau"),
        ({"steps_per_epoch": 10**6}, "steps"),
    ],
)  # fmt: skip
def test_refused(files, words, text):
    os.mkfifo("pipe.h5")
    with pytest.raises(linac.LinacError, match=r"^(?s:.)*" + text):
        next(iter(linac.loader(**({"files": files, "columns": "id", "batch": 10} | words))))


def test_refused_places(files):
    loader = linac.loader(files, "id", 10)
    with pytest.raises(linac.LinacError, match="steps 0 to 99"):
        next(loader.epoch(0, 100))
    with pytest.raises(linac.LinacError, match="count from 0"):
        loader.epoch(-1)
