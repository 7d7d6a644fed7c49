"""fit() and its Run: what is handed over and what comes back, the same bits whatever happens, and attacks."""

import os
import pathlib
import signal
import subprocess
import sys
import threading
import time

import awkward as ak
import keras
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pytest
from conftest import small_events, small_model
from keras import layers, ops

import linac

LONG = {"epochs": 8, "batch_size": 24, "seed": 7}  # a second or more: one can come between


def same(a, b):
    """Bit by bit."""
    return [x.tobytes() for x in a.model.get_weights()] == [x.tobytes() for x in b.model.get_weights()]


def until(condition, limit_s=120):
    deadline = time.monotonic() + limit_s
    while not condition():
        assert time.monotonic() < deadline, "has not come about"
        time.sleep(0.02)


# --- What comes back ---


def test_history_and_model(trained):
    assert trained.status == "succeeded" and trained.error is None
    history = trained.history
    assert list(history.index) == [0, 1, 2] and {"loss", "accuracy", "val_loss", "val_accuracy"} <= set(history.columns)
    assert history["loss"].iloc[-1] < history["loss"].iloc[0]
    x, y = small_events()
    wanted = trained.model.predict(x.astype(np.float32), verbose=0)
    assert np.abs(linac.predict(trained, x) - wanted).max() < 1e-5
    assert np.abs(linac.predict(trained.model, x.astype(">f4")) - wanted).max() < 1e-5
    assert linac.predict(str(trained.folder) + "@last", pd.DataFrame(x)[[0, 1, 2, 3]].set_axis(["a", "b", "c", "d"], axis=1)).shape == (1200, 2)
    scores = linac.evaluate(trained, x, y, bootstraps=0).scores
    assert scores["accuracy"] == pytest.approx((wanted.argmax(axis=1) == y).mean(), abs=2e-3)
    assert linac.export(trained, "small.onnx").stat().st_size > 100
    assert "epoch 3/3" in trained.log() and trained.report()["status"] == "succeeded"


def test_pictures(trained):
    page = trained._repr_html_()
    assert page.count("<polyline") == 4 and "accuracy" in page and "<script" not in page
    trained.plot().save("curves.svg")
    assert open("curves.svg").read().startswith("<svg")


def test_watch_in_a_terminal(trained, capsys):
    trained.watch()
    assert [line.split(":")[0] for line in capsys.readouterr().out.splitlines()] == ["epoch 1", "epoch 2", "epoch 3"]


def test_watch_in_a_notebook(trained, monkeypatch):
    """As IPython shows something and changes it in its place."""
    import types

    shown = []

    class Handle:
        def update(self, what):
            shown.append(what._repr_html_())

    display = types.ModuleType("IPython.display")
    display.display = lambda what, display_id: shown.append(what._repr_html_()) or Handle()
    shell = types.ModuleType("IPython")
    shell.get_ipython, shell.display = lambda: object(), display
    monkeypatch.setitem(sys.modules, "IPython", shell)
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    trained.watch()
    assert len(shown) == 2 and all("<svg" in page for page in shown)


# --- What is handed over ---


def test_lists_of_several_lengths():
    """A jagged array as it is; the same, padded by hand, gives the same."""
    random = np.random.default_rng(2)
    lists = [random.normal(size=(random.integers(1, 6), 3)).tolist() for _ in range(200)]
    jagged, y = ak.to_regular(ak.Array(lists), axis=2), np.array([len(one) % 2 for one in lists])
    particles = keras.Input((None, 3), name="particles")
    model = keras.Model(particles, layers.Dense(1, activation="sigmoid")(layers.GRU(4)(layers.Masking()(particles))))
    model.compile("adam", "binary_crossentropy")
    run = linac.fit(model, jagged, y).wait()
    padded = np.zeros((200, 5, 3))
    for row, one in zip(padded, lists, strict=True):
        row[: len(one)] = one
    assert np.abs(linac.predict(run, jagged) - run.model.predict(padded, verbose=0)).max() < 1e-5
    assert same(run, linac.fit(model, padded, y).wait())


def test_several_inputs_and_outputs():
    a, b = keras.Input((2,), name="a"), keras.Input((1,), name="b")
    joined = layers.Concatenate()([a, b])
    model = keras.Model([a, b], {"kind": layers.Dense(3, activation="softmax", name="kind")(joined), "size": layers.Dense(1, name="size")(joined)})
    model.compile("sgd", {"kind": "sparse_categorical_crossentropy", "size": "mse"})
    random = np.random.default_rng(3)
    x = {"a": random.normal(size=(96, 2)), "b": random.normal(size=96)}
    y = {"size": random.normal(size=96), "kind": random.integers(0, 3, 96)}
    run = linac.fit(model, x, y, validation_data=(x, y), sample_weight=np.ones(96)).wait()
    assert {"kind_loss", "size_loss", "val_size_loss"} <= set(run.history.columns)
    assert same(run, linac.fit(model, [x["a"], x["b"]], [y["kind"], y["size"]], validation_data=(x, y), sample_weight=np.ones(96)).wait())
    scores = linac.predict(run, x)
    assert scores["kind"].shape == (96, 3) and scores["size"].shape == (96, 1)
    for wrong in (x["a"], {"a": x["a"]}, [x["a"]]):
        with pytest.raises(linac.LinacError, match="a, b|'b'"):
            linac.fit(model, wrong, y)


def test_tables(model_file, trained):
    """A table of flat columns is joined to the one input, whoever made it."""
    x, y = small_events()
    frame = pd.DataFrame(x, columns=["pt", "η", "a b", "m"])
    frames = [frame, pa.Table.from_pandas(frame), dict(zip(frame.columns, x.T, strict=True)), ak.Array(dict(zip(frame.columns, x.T, strict=True)))]
    runs = [linac.fit(model_file, one, y, seed=7) for one in [*frames, x]]
    assert all(same(run.wait(), runs[-1].wait()) for run in runs[:-1])
    assert np.array_equal(linac.predict(runs[0], frame), linac.predict(runs[0], x))
    odd = frame.set_axis(["a,b", "a.b", "a/b", "*"], axis=1)
    assert same(linac.fit(model_file, odd, y, seed=7).wait(), runs[0])
    with pytest.raises(linac.LinacError, match="without commas"):
        linac.predict(runs[0], odd)


def test_classes_by_name(model_file):
    x, y = small_events(200)
    run = linac.fit(model_file, x, np.where(y == 1, "signal", "background"), settings={"data.classes": ["background", "signal"]}).wait()
    assert same(run, linac.fit(model_file, x, y).wait())


def test_files(model_file, tmp_path):
    x, y = small_events(200)
    pyarrow.feather.write_feather(pa.table({"jet": list(x), "label": y}), "events.arrow")
    run = linac.fit(model_file, "events.arrow", "label", validation_data="events.arrow")
    os.chdir("/")
    assert run.wait().history["val_loss"].notna().all()
    assert linac.predict(run, tmp_path / "events.arrow").shape == (200, 2)
    with pytest.raises(linac.LinacError, match="no name of a column"):
        linac.fit(model_file, [tmp_path / "events.arrow"], y, folder=tmp_path / "b")


def test_a_loss_of_ones_own():
    energy = keras.Input((4,), name="jet")
    model = keras.Model(energy, layers.Dense(1, name="energy")(energy))
    model.compile(keras.optimizers.Adam(0.05), loss=lambda y_true, y_pred: ops.mean(ops.square(y_true - y_pred) * 0.5))
    x, _ = small_events(200)
    run = linac.fit(model, x, x.sum(axis=1, keepdims=True), epochs=2).wait()
    assert run.history["loss"].iloc[1] < run.history["loss"].iloc[0]
    assert linac.predict(run, x).shape == (200, 1)
    import linac_keras

    assert linac_keras.save is linac.keras.save and linac.keras.TracedWeight.__module__ == "linac_keras"  # as files have it


def test_callbacks(model_file):
    from linac._callbacks import settings_of

    callbacks = keras.callbacks
    assert settings_of([callbacks.EarlyStopping("val_accuracy", patience=2, restore_best_weights=True), callbacks.TerminateOnNaN()]) == {
        "train.early_stopping": {"monitor": "accuracy", "mode": "auto", "min_delta": 0.0, "patience": 2, "start_from_epoch": 0, "restore_best": True}
    }
    x, y = small_events(200)
    given = [callbacks.EarlyStopping(patience=1, min_delta=10.0), callbacks.ReduceLROnPlateau(patience=1), callbacks.ModelCheckpoint("a.keras", save_best_only=True)]
    run = linac.fit(model_file, x, y, epochs=50, validation_split=0.5, callbacks=given).wait()
    assert len(run.history) < 5
    for refused in (callbacks.LearningRateScheduler(lambda epoch: 0.1), callbacks.EarlyStopping("loss"), type("Own", (callbacks.Callback,), {})()):
        with pytest.raises(linac.LinacError, match="callback"):
            settings_of([refused])


# --- The same bits ---

KERNEL = """
import os, signal, sys
import numpy as np
import linac
x = np.random.default_rng(1).normal(size=(1200, 4))
run = linac.fit(sys.argv[1], x, (x.sum(axis=1) > 0).astype(np.int64), epochs=8, batch_size=24, seed=7, workers=2)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_workers_and_killed_kernels(model_file):
    x, y = small_events()
    one, three = (linac.fit(model_file, x, y, workers=workers, **LONG) for workers in (1, 3))
    assert same(one.wait(), three.wait())
    # The kernel dies, and the training does not.
    kernel = subprocess.run([sys.executable, "-c", KERNEL, model_file])
    assert kernel.returncode == -signal.SIGKILL
    again = linac.runs.last()
    assert again.folder not in (one.folder, three.folder) and same(again.wait(), one)
    # The training dies, too.
    lost = linac.fit(model_file, x, y, workers=2, **LONG)
    until(lambda: len(lost.history) > 1)
    os.killpg(lost._process(), signal.SIGKILL)
    until(lambda: lost.status == "lost")
    with pytest.raises(linac.LinacError, match="resume") as caught:
        lost.wait()
    assert caught.value.exit_status == 128 + signal.SIGKILL
    assert same(linac.Run(lost.folder).resume(workers=3).wait(), one)
    assert list(lost.history["loss"]) == list(one.history["loss"])


def test_ctrl_c_cancel_and_resume(model_file, ctrl_c):
    x, y = small_events()
    run = linac.fit(model_file, x, y, **(LONG | {"epochs": 500}))
    with pytest.raises(linac.LinacError, match="still works on it"):
        run.resume()
    until(lambda: len(run.history) > 0)
    with pytest.raises(TimeoutError):
        run.wait(timeout_s=0.1)
    threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        run.wait()
    assert run.status == "interrupted" and run.error.exit_status == 75 and run.wait() is run
    assert run.model.count_params() == small_model().count_params()  # of its newest checkpoint
    done = len(run.history)
    assert len(run.resume(epochs=done + 2).wait().history) == done + 2
    # One that is stopped still hears that it should end.
    run.resume(epochs=1000)
    until(lambda: run.status == "running")
    os.killpg(run._process(), signal.SIGSTOP)
    assert run.cancel().status == "interrupted"


# --- Attacks ---


def test_two_in_one_folder(model_file):
    x, y = small_events(200)
    run = linac.fit(model_file, x, y, folder="a").wait()
    before = sorted(run.folder.rglob("*"))
    with pytest.raises(linac.LinacError, match="already holds a run"):
        linac.fit(model_file, x, y, folder="a")
    assert sorted(run.folder.rglob("*")) == before
    # Both have found the folder empty.
    from linac._fit import _FolderFor

    with _FolderFor("b", "b") as first, _FolderFor("b", "b") as second:
        first.claim()
        with pytest.raises(linac.LinacError, match="already holds a run"):
            second.claim()


def test_killed_while_writing(model_file):
    """What lies there then is no run, and stands in nobody's way."""
    script = ("import os, sys, numpy as np, linac; from linac import _columns\n"
              "_columns.write = lambda path, columns: (open(path, 'w').write('half'), os.kill(os.getpid(), 9))\n"
              "linac.fit(sys.argv[1], np.zeros((9, 4)), np.zeros(9), folder='a')")  # fmt: skip
    assert subprocess.run([sys.executable, "-c", script, model_file]).returncode == -9
    with pytest.raises(linac.LinacError, match="there is no run"):
        linac.Run("a")
    with pytest.raises(linac.LinacError, match="no run"):
        linac.runs.last()
    x, y = small_events(200)
    assert linac.fit(model_file, x, y, folder="a").wait().status == "succeeded"


def test_what_the_program_refuses(model_file):
    """Its text and its status."""
    x, y = small_events(200)
    x[17, 2] = np.nan
    with pytest.raises(linac.LinacError, match="event 17") as caught:
        linac.fit(model_file, x, y, folder="a").wait()
    assert caught.value.exit_status == 3
    run = linac.Run("a")
    assert run.status == "failed" and run.error.exit_status == 3 and "event 17" in run._repr_html_()
    assert len(run.history) == 0
    with pytest.raises(linac.LinacError, match="epoks.*epochs") as caught:
        linac.fit(model_file, x, y, settings={"train.epoks": 3})
    assert caught.value.exit_status == 2
    with pytest.raises(linac.LinacError, match=r"\[") as caught:
        linac.check({"name": "a", "model": {"kind": "keras", "file": str(model_file)}, "data": {"train": ["nothing.h5"]}})
    assert caught.value.exit_status == 3


@pytest.mark.parametrize(
    "words",
    [
        {"batch_size": 30, "replicas": 4}, {"batch_size": 0}, {"replicas": -1}, {"validation_split": 0.5, "validation_data": (1, 2)}, {"validation_data": 3},
        {"validation_data": np.zeros(2)}, {"class_weight": {1: 2.0}}, {"settings": {"train.lr": float("nan")}}, {"settings": {"name.a": 3}},
        {"settings": {"name": object()}}, {"epochs": -3}, {"epochs": 10**30}, {"workers": 0}, {"folder": "/proc/nobody"}, {"folder": "s3://bucket/run"},
        {"folder": "file/run"}, {"sample_weight": np.ones(3)}, {"validation_split": 2.0}, {"seed": "seven"}, {"callbacks": [print]},
    ],
)  # fmt: skip
def test_refused(words, model_file):
    open("file", "w").close()
    x, y = small_events(200)
    with pytest.raises(linac.LinacError, match=r"\[\w+\] ."):
        linac.fit(model_file, x, y, **words)
    assert not list(pathlib.Path().rglob(".python-*"))


@pytest.mark.parametrize("model", [3, None, "nothing.keras", "/dev/null", "text.keras", "zip.keras", "pipe.keras", "pipe.pt2"])
def test_no_model(model):
    import zipfile

    os.mkfifo("pipe.keras")
    os.mkfifo("pipe.pt2")
    open("text.keras", "w").write("text")
    with zipfile.ZipFile("zip.keras", "w") as archive:
        archive.writestr("config.json", "{\"config\": {\"layers\": []}}")
    with pytest.raises(linac.LinacError):
        linac.fit(model, np.zeros((9, 4)), np.zeros(9))


def test_unbuilt_model():
    with pytest.raises(linac.LinacError, match="not built"):
        linac.fit(keras.Sequential([layers.Dense(1)]), np.zeros((9, 4)), np.zeros(9))


def test_odd_names():
    """Of inputs, folders and models; a relative folder, and another working folder afterwards."""
    x, y = small_events(200)
    os.mkdir("ordner ü")
    run = linac.fit(small_model("η jet"), x, y, folder="ordner ü/läuft 🙂", name="läuft 🙂 \"'{}#:")
    os.chdir("/")
    assert run.wait().status == "succeeded" and linac.runs.last().folder == run.folder
    assert linac.predict(run, x).shape == (200, 2)


def test_no_program(monkeypatch, model_file):
    from linac import _program

    monkeypatch.setattr(_program, "_OWN", _program._OWN / "nothing")
    monkeypatch.setenv("PATH", "/nothing")
    for named in ("/nothing/linac", "/dev/null", None):
        monkeypatch.setenv("LINAC", named) if named else monkeypatch.delenv("LINAC")
        with pytest.raises(linac.LinacError, match="no program") as caught:
            linac.fit(model_file, *small_events(200))
        assert caught.value.exit_status == 4


def test_a_program_without_libraries(monkeypatch, tmp_path):
    script = tmp_path / "linac"
    script.write_text("#!/bin/sh\necho 'linac: error while loading shared libraries: libc10.so: cannot open shared object file' >&2\nexit 127\n")
    script.chmod(0o755)
    monkeypatch.setenv("LINAC", str(script))
    with pytest.raises(linac.LinacError, match="does not find the libraries.*libc10.so.*install the wheel again"):
        linac.check({"name": "a"})


def test_module_as_program():
    done = subprocess.run([sys.executable, "-m", "linac", "train", "nothing.yaml"], capture_output=True, text=True)
    assert done.returncode == 2 and "nothing.yaml" in done.stderr
    assert linac.__version__ in subprocess.run([sys.executable, "-m", "linac", "version"], capture_output=True, text=True).stdout


def test_import_is_light():
    """What a script pays that only wants one of its functions."""
    heavy = "import sys, linac; linac.runs; print([m for m in ('numpy', 'pandas', 'pyarrow', 'keras', 'importlib.metadata') if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", heavy], capture_output=True, text=True).stdout == "[]\n"


def test_damaged_runs(trained, tmp_path):
    """Half a line, another program's file, a pipe: what can be read is."""
    import shutil

    shutil.copytree(trained.folder, "copy")
    with open("copy/metrics.jsonl", "a") as file:
        file.write('[1, "kind":"epoch"]\n{"kind":"epoch","epo')
    for name in ("start.json", "output.txt"):
        open(f"copy/python/{name}", "w").write("[3]")
    open("copy/.linac-claim", "w").write("{\"process\": [], \"host\": 3")
    run = linac.Run("copy")
    assert run.status == "succeeded" and len(run.history) == 3 and run._process() is None
    for name in ("run.json", "metrics.jsonl", "python/start.json"):
        os.remove(f"copy/{name}")
        os.mkfifo(f"copy/{name}")
    assert run.status == "failed" and run.error is not None and len(run.history) == 0
    os.remove("copy/python/output.txt")
    os.mkdir("copy/python/output.txt")
    with pytest.raises(linac.LinacError, match="cannot be begun"):
        run.resume()
