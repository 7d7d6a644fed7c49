"""linac predict against Keras's own predict, on a classifier of particle lists: predict_test.py FOLDER

LINAC names the program. Exit status 1 where they differ or a bad call is not refused as it should be.
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
sys.modules["sklearn"] = None  # Keras imports it for wrappers that nothing here uses: 1.6 s of the processor

import awkward
import h5py
import keras
import numpy as np
import uproot
from keras import layers as L

import make_quantized
from lib.runs import LINAC

QUANTIZED = pathlib.Path(__file__).resolve().parent / "quantized"

EVENTS, PARTICLES = 301, 60
LIMIT = 1e-5


def classifier():
    particles, features = keras.Input((PARTICLES, 19), name="particles"), keras.Input((14,), name="hlf")
    x = L.Dropout(0.2)(L.GRU(50)(L.Masking()(particles)))
    hidden = L.Dense(25, activation="relu")(L.Concatenate()([x, features]))
    return keras.Model([particles, features], [L.Dense(3, activation="softmax", name="label")(hidden), L.Dense(1, name="mass")(hidden)])


def events(rng):
    particles = rng.normal(0, 1, (EVENTS, PARTICLES, 19)).astype("float32")
    for event, length in enumerate(rng.integers(0, PARTICLES + 1, EVENTS)):
        particles[event, length:] = 0
    return particles, rng.normal(0, 1, (EVENTS, 14)).astype("float32")


def linac(*arguments):
    return subprocess.run([LINAC, *map(str, arguments)], text=True, capture_output=True)


def refused(status, text, *arguments):
    done = linac(*arguments)
    ok = done.returncode == status and text in done.stderr
    print(f"{'ok  ' if ok else 'FAIL'} status {done.returncode}: {done.stderr.strip()[-300:]}")
    return ok


def of_any_length():
    """One way with a mask, and one that sees what pads."""
    particles, features = keras.Input((None, 19), name="particles"), keras.Input((14,), name="features")
    x = L.GRU(8)(L.Masking()(particles))
    y = L.GlobalAveragePooling1D()(L.Dense(4, activation="relu", bias_initializer="ones")(particles))
    return keras.Model([particles, features], L.Dense(1, activation="sigmoid", name="label")(L.Concatenate()([x, y, features])))


JOB = """
name: any_length
model: {kind: keras, file: FILE}
data: {train: [DATA], inputs: [{name: particles, shape: SHAPE}, {name: features}], targets: [{column: label}]}
train: {epochs: 1, replicas: 2, batch: 16, threads: 1, fit: {loss: [binary_crossentropy]}, optimizer: {name: adam}}
"""


def open_length(folder, particles, features):
    """A model that leaves the length open: predicted, trained and written back."""
    longest = int(np.flatnonzero(particles.any(axis=(0, 2)))[-1]) + 1
    file, data, run, out = folder / "open.keras", folder / "open.h5", folder / "run", folder / "open_scores.h5"
    model = of_any_length()
    model.save(file)
    with h5py.File(data, "w") as h5:
        h5["particles"] = np.concatenate([particles, np.zeros_like(particles)], axis=1)  # no event reaches the end
        h5["features"], h5["label"] = features, (features[:, :1] > 0).astype("float32")
    shutil.rmtree(run, ignore_errors=True)

    def scores(what, of, length, *arguments):
        done = linac(*arguments, "--out", out)
        with h5py.File(out) as found:
            worst = float(np.abs(found["label"][()] - of.predict([particles[:, :length], features], verbose=0)).max())
        good = done.returncode == 0 and worst <= LIMIT
        print(f"{'ok  ' if good else 'FAIL'} {what}, {length} particles: largest difference {worst:.1e} {done.stderr.strip()[-200:]}")
        return good, done.stderr

    ok, said = scores("any length", model, longest, "predict", "--model", file, "--data", data)
    ok = ok and f"particles (None, 19): ({longest}, 19), as long as the longest list" in said
    job = folder / "open.yaml"
    for shape, length in (("[]", longest), ("[20, 19]", 20)):
        job.write_text(JOB.replace("FILE", str(file)).replace("DATA", str(data)).replace("SHAPE", shape))
        checked = linac("check", job)
        good = checked.returncode == 0 and f"particles (None, 19): ({length}, 19)" in checked.stdout
        print(f"{'ok  ' if good else 'FAIL'} check says the length: {checked.stdout.count('particles')} {checked.stderr.strip()[-300:]}")
        ok = ok and good
    trained = linac("train", job, "--out", run)
    good = trained.returncode == 0 and "lose the last ones" in trained.stderr
    print(f"{'ok  ' if good else 'FAIL'} trained with 20 particles at most: {trained.stderr.strip()[-300:]}")
    written = keras.models.load_model(run / "models" / "model.keras")
    ok = ok and good and written.inputs[0].shape == (None, None, 19)
    ok = scores("trained", written, 20, "predict", "--model", run, "--data", data)[0] and ok
    exported = linac("export", run, "--out", folder / "open.onnx")
    good = exported.returncode == 0 and "the ONNX model takes (20, 19)" in exported.stderr
    print(f"{'ok  ' if good else 'FAIL'} ONNX has the size of the training: {exported.stderr.strip()[-200:]}")
    return refused(2, "takes (None, 19), not (20, 18)", "check", job, "--set", "data.inputs=[{name: particles, shape: [20, 18]}]") and ok and good


def quantized(folder):
    """Models of QKeras and HGQ predict as without rounding, which is said, and do not train."""
    data, ok = folder / "quantized.h5", True
    with h5py.File(data, "w") as file:
        file["x"], file["y"] = make_quantized.inputs(), np.zeros((make_quantized.EVENTS, 3), "f4")
    for name, most in (("qkeras.h5", 0.03), ("hgq.keras", 0.2)):
        model, out = QUANTIZED / name, folder / "quantized-scores.h5"
        done = linac("predict", "--model", model, "--data", data, "--out", out)
        with h5py.File(out) as file:
            scores = file["out"][:]
        theirs = np.load(QUANTIZED / f"{model.stem}-scores.npy")
        worst, rounded = np.abs(scores - theirs).max(), np.abs(scores - theirs).mean()
        good = done.returncode == 0 and 0 < worst < most and "without rounding: first (QDense" in done.stderr
        print(f"{'ok  ' if good else 'FAIL'} {name}: scores within {worst:.3f} of those of the program that made it, {rounded:.4f} on average")
        job = folder / "quantized.json"
        job.write_text(json.dumps({"name": "q", "model": {"kind": "keras", "file": str(model)},
                                   "data": {"train": [str(data)], "targets": [{"column": "y"}]}, "train": {"fit": {"loss": "mse"}}}))
        ok = refused(2, "a training without their rounding would train another model", "check", job) and good and ok
    return ok


def of_steps(folder):
    """A model at each step of a sequence."""
    steps, inner = np.random.default_rng(4).normal(size=(20, 5, 4)).astype("f4"), keras.Sequential([keras.Input((4,)), L.Dense(3, activation="tanh")])
    model = keras.Sequential([keras.Input((5, 4), name="x"), L.TimeDistributed(inner, name="out")])
    file, data, out = folder / "of_steps.keras", folder / "steps.h5", folder / "steps_scores.h5"
    model.save(file)
    with h5py.File(data, "w") as h5:
        h5["x"] = steps
    out.unlink(missing_ok=True)
    done = linac("predict", "--model", file, "--data", data, "--out", out)
    worst = 1.0
    if done.returncode == 0:
        with h5py.File(out) as scores:
            worst = float(np.abs(scores["out"][()] - model.predict(steps, verbose=0)).max())
    print(f"{'ok  ' if worst <= LIMIT else 'FAIL'} TimeDistributed of a model: largest difference {worst:.1e} {done.stderr.strip()[-200:]}")
    return worst <= LIMIT


def as_root(call, twin):
    """The ROOT file has what its twin in HDF5 has, event by event, in a tree that can be another one's friend."""
    out = twin.with_suffix(".root")
    done = linac(*call, "--out", out)
    with h5py.File(twin) as h5, uproot.open(out) as file:
        tree, events = file["scores"].arrays(), len(h5["mass"])
        columns = {"label": h5["label"][()], "mass": h5["mass"][()].ravel(), "file": h5["event_numbers/file"][()], "row": h5["event_numbers/row"][()]}
        good = (done.returncode == 0 and file["scores"].num_entries == events and sorted(tree.fields) == sorted(columns)
                and str(tree.type) == f"{events} * {{label: 3 * float32, mass: float32, file: int32, row: int64}}"
                and all(np.array_equal(awkward.to_numpy(tree[name]), values) for name, values in columns.items())
                and {name: str(file[name]) for name in h5.attrs} == dict(h5.attrs) and len(file.keys()) == len(h5.attrs) + 1
                and file.file.streamers["TTree"][20].name == "TTree")  # for readers that do not know the class
    print(f"{'ok  ' if good else 'FAIL'} the same as a ROOT file: {tree.type} {done.stderr.strip()[-200:]}")
    return good


def main():
    if len(sys.argv) != 2:
        print(__doc__)
        return 2
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    keras.utils.set_random_seed(3)
    model, (particles, features) = classifier(), events(np.random.default_rng(3))
    file, data, out = folder / "classifier.keras", folder / "events.h5", folder / "scores.h5"
    model.save(file)
    with h5py.File(data, "w") as h5:
        h5["particles"], h5["features"] = particles, features
        h5["short"] = features[:-1]
    out.unlink(missing_ok=True)
    done = linac("predict", "--model", file, "--data", data, "--input", "hlf=features", "--batch", 64, "--out", out)
    print(done.stderr.strip())
    ok = done.returncode == 0
    expected = model.predict([particles, features], verbose=0)
    with h5py.File(out) as scores:
        for name, values in zip(("label", "mass"), expected, strict=True):
            worst = float(np.abs(scores[name][()] - values).max())
            good = worst <= LIMIT and np.ptp(values) > 0.01
            print(f"{'ok  ' if good else 'FAIL'} {name}: largest difference {worst:.1e} (limit {LIMIT:g})")
            ok = ok and good
        about = dict(scores.attrs)
    rows = json.loads(about.get("events", "[]"))
    call = ("predict", "--model", file, "--data", data, data, "--field", "hlf=features")  # as it was called
    again = linac(*call, "--out", folder / "twice.h5")
    with h5py.File(folder / "twice.h5") as twice:
        of_two = json.loads(twice.attrs["events"])
        numbered = (np.array_equal(twice["event_numbers/file"][()], np.repeat([0, 1], EVENTS))
                    and np.array_equal(twice["event_numbers/row"][()], np.tile(np.arange(EVENTS), 2)))
    good = (about["model"] == str(file) and len(about["model_fingerprint"]) == 32 and about["linac"] in linac("version").stdout
            and [(row["file"], row["first_row"], row["events"]) for row in rows] == [(str(data), 0, EVENTS)]
            and [row["first_row"] for row in of_two] == [0, EVENTS] and numbered and again.returncode == 0)
    print(f"{'ok  ' if good else 'FAIL'} the file says what it is of: {about}")
    ok = as_root(call, folder / "twice.h5") and ok and good
    with h5py.File(folder / "named.h5", "w") as named:
        named["a_name"], named["x"] = ["QCD", "top"], np.zeros((2, 3), "f4")
    info = linac("data", "info", folder / "named.h5")
    good = info.returncode == 0 and "hdf5, 2 events" in info.stdout and "x [2, 3]" in info.stdout
    print(f"{'ok  ' if good else 'FAIL'} data info lists columns of any type: {info.stdout.split()} {info.stderr.strip()}")
    ok = ok and good
    timed = linac("bench", "models", file, "--batch", 8, "--seconds", 0, "--json")
    found = json.loads(timed.stdout or "[{}]")[0]
    good = found.get("weights") == model.count_params() and all(found[part]["cpu_s"]["min"] > 0 for part in ("step", "predict"))
    print(f"{'ok  ' if good else 'FAIL'} bench models trains and predicts: {timed.stderr.strip()}")
    ok = ok and good
    call = ("predict", "--model", file, "--data", data, "--out", folder / "none.h5")
    ok = refused(3, "no data set 'hlf' (found: features", *call) and ok
    ok = refused(3, "read from the column of its name: --input INPUT=COLUMN names another", *call) and ok
    ok = refused(3, "holds 300 events", *call, "--input", "hlf=short") and ok
    ok = refused(3, "column 'particles' is stored as [60, 19], wanted is [14]", *call, "--input", "hlf=particles") and ok
    ok = refused(2, "no such input (it has: particles, hlf)", *call, "--input", "jets=features") and ok
    ok = refused(2, "is also an input", *call[:-1], data, "--input", "hlf=features") and ok
    ok = open_length(folder, particles, features) and ok
    ok = quantized(folder) and ok
    ok = of_steps(folder) and ok
    with h5py.File(data) as still:
        ok = "features" in still and ok
    return 0 if ok and not (folder / "none.h5").exists() else 1


if __name__ == "__main__":
    sys.exit(main())
