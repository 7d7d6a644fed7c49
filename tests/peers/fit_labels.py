"""A part of fit_test.py: targets that are texts, and a test on the last part of the training events. Keras trains on the same events
with their class numbers and its own validation_split; its TensorBoard callback says what the curves are called."""

import json
import pathlib
import subprocess
import types
import zipfile

import h5py
import keras
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from tensorboard.backend.event_processing import event_accumulator
from tensorboard.util import tensor_util

from lib.checks import expect

CLASSES = ["QCD", "W+jets", "ttbar"]  # sorted
SPLIT = 0.25
RATE = 0.02  # which a Keras file holds as 0.019999999552965164


def write_files(folder: pathlib.Path, data: dict, texts: list[str], number: int) -> list[str]:
    """The first events as Parquet, with the texts behind a dictionary; the others as HDF5, with texts of fixed length."""
    arrays = {name: data[name] for name in ("features", "list", "index")}
    first, last = folder / f"texts-{number}.parquet", folder / f"texts-{number}.h5"
    columns = {name: pa.array(values[:50].tolist()) for name, values in arrays.items()}
    pq.write_table(pa.table({**columns, "kind": pa.array(texts[:50]).dictionary_encode()}), first)
    with h5py.File(last, "w") as file:
        for name, values in arrays.items():
            file[name] = values[50:]
        file["kind"] = np.array([text.encode() for text in texts[50:]])
    return [str(first), str(last)]


def scalars(folder: pathlib.Path) -> dict:
    """{(run, tag): [(step, value), ...]} of what begins with epoch_."""
    found = {}
    for run in ("train", "validation"):
        events = event_accumulator.EventAccumulator(str(folder / run))
        events.Reload()
        for tag in events.Tags()["scalars"]:
            found[run, tag] = [(event.step, event.value) for event in events.Scalars(tag)]
        for tag in events.Tags()["tensors"]:
            found[run, tag] = [(event.step, float(tensor_util.make_ndarray(event.tensor_proto))) for event in events.Tensors(tag)]
    return {key: points for key, points in found.items() if key[1].startswith("epoch_")}


def command(fit: types.ModuleType, *words, cwd: pathlib.Path | None = None) -> subprocess.CompletedProcess:
    return subprocess.run([fit.LINAC, *map(str, words)], capture_output=True, text=True, cwd=cwd)


def beside_keras(fit: types.ModuleType, folder: pathlib.Path, data: dict, settings: dict, job: pathlib.Path, model: keras.Model) -> str:
    out = folder / "texts"
    text = fit.train(job, out, "--workers", "2")
    train = int(fit.EVENTS * (1 - SPLIT))
    history = model.fit([data["features"], data["list"]], data["index"], batch_size=train, epochs=fit.EPOCHS, shuffle=False, verbose=0,
                        validation_split=SPLIT, callbacks=[keras.callbacks.TensorBoard(folder / "keras-board", write_graph=False)]).history
    lines = fit.epochs(out)
    worst = max(fit.far([line[role][name] for line in lines], history[front + name])
                for role, front in (("train", ""), ("test", "val_")) for name in ("loss", "accuracy"))
    expect(len(lines) == fit.EPOCHS and worst < fit.TOLERANCE, f"texts and a split: losses and accuracies, val_ too, within {worst:.1e} of Keras's")
    report = fit.judged(out)
    expect(report["events"] == fit.EVENTS - train and report["parts"] == CLASSES, "the end of the training judges the events of the split, by their names")
    expect(abs(fit.value_of(report, "accuracy") - history["val_accuracy"][-1]) < 1e-6, "with Keras's val_accuracy")
    ours, theirs = scalars(out / "tensorboard"), scalars(folder / "keras-board")
    steps = lambda curves: {key: [step for step, _ in points] for key, points in curves.items()}
    expect(steps(ours) == steps(theirs) and len(ours) >= 5, f"TensorBoard: the curves of Keras's callback: {sorted(ours)}")
    far = max(fit.far([value for _, value in ours[key]], [value for _, value in theirs[key]]) for key in theirs)
    expect(far < fit.TOLERANCE, f"with its values, within {far:.1e}")
    expect(f"lr: {RATE}\n" in (out / "job.yaml").read_text(), "a rate of a Keras file is the number that was written")
    return text


def kept(fit: types.ModuleType, folder: pathlib.Path, files: list[str]) -> None:
    """Where the classes are found afterwards."""
    out = folder / "texts"
    run = json.loads((out / "run.json").read_text())
    expect(run["classes"] == [{"output": "out", "classes": CLASSES}], "run.json has the classes")
    header = next((out / "checkpoints").glob("step-*")).read_bytes()
    expect(b'\\"out\\":[\\"QCD\\",\\"W+jets\\",\\"ttbar\\"]' in header, "a checkpoint has them")
    with zipfile.ZipFile(out / "models" / "model.keras") as archive:
        notes = json.loads(archive.read("linac.json"))
    expect(notes["classes"] == CLASSES and notes["targets"][0]["classes"]["names"] == CLASSES, "the model has them")
    done = command(fit, "export", out, "--out", folder / "texts.onnx")
    expect(done.returncode == 0 and b'["QCD","W+jets","ttbar"]' in (folder / "texts.onnx").read_bytes(), "and so has its ONNX")
    done = command(fit, "predict", "--model", out, "--data", *files, "--out", folder / "texts-scores.h5")
    with h5py.File(folder / "texts-scores.h5") as scores:
        expect(done.returncode == 0 and list(scores["out"].attrs["classes"]) == CLASSES, "predictions name their classes")
    with h5py.File(folder / "events.h5") as events, h5py.File(folder / "texts-truth.h5", "w") as truth:
        truth["kind"] = [CLASSES[index] for index in events["index"]]
    for ending in ("h5", "parquet", "root"):
        scores = folder / f"texts-scores.{ending}"
        if ending != "h5":
            command(fit, "predict", "--model", out, "--data", *files, "--out", scores)
        done = command(fit, "evaluate", "--predictions", f"{scores}:out", "--targets", f"{folder}/texts-truth.h5:kind", "--bootstraps", "0", "--json")
        expect(done.returncode == 0 and json.loads(done.stdout)["parts"] == CLASSES, f"evaluate takes them from .{ending}: {done.stderr.strip()[-200:]}")
    done = command(fit, "evaluate", "--model", out / "models" / "model.keras", "--validation-split", "--json", cwd=folder)
    expect(json.loads(done.stdout)["events"] == fit.EVENTS * SPLIT, "from another folder the same events are found")
    done = command(fit, "data", "info", *files, "--json")
    counts = [file["texts"]["kind"] for file in json.loads(done.stdout)["files"]]
    expect(sum(sum(count.values()) for count in counts) == fit.EVENTS and list(counts[0]) == CLASSES, f"data info counts the texts: {counts}")


def same_bits(fit: types.ModuleType, folder: pathlib.Path, path: pathlib.Path, settings: dict) -> None:
    """Class numbers in place of texts, one worker, a resume: the same losses."""
    wanted = [{key: line[key] for key in ("train", "test")} for line in fit.epochs(folder / "texts")]
    losses = lambda out: [{key: line[key] for key in ("train", "test")} for line in fit.epochs(out)]
    fit.train(fit.job_of(folder, path, "index", settings), folder / "numbers", "--workers", "1")
    expect(losses(folder / "numbers") == wanted, "class numbers train to the same bits as texts")
    job, out = fit.job_of(folder, path, "kind", settings), folder / "texts-resumed"
    fit.train(job, out, "--workers", "1", "--set", "train.max_steps=2")
    fit.train(job, out, "--resume", "--workers", "2", keep=True)
    expect(losses(out) == wanted, "stopped and resumed on another number of workers: the same bits")
    same = [(folder / run / "models" / "model.keras").read_bytes() for run in ("texts", "texts-resumed")]
    expect(same[0] == same[1], "and the same model, byte for byte")


def refused(fit: types.ModuleType, folder: pathlib.Path, data: dict, path: pathlib.Path, settings: dict, texts: list[str]) -> None:
    def check(what: str, words: str, status: int, more: dict, target: str = "kind") -> None:
        done = command(fit, "check", fit.job_of(folder, path, target, {**settings, **more}))
        expect(done.returncode == status and words in done.stdout + done.stderr, f"{what}: {done.returncode}, {done.stderr.strip()[-300:]}")

    other = write_files(folder, data, [*texts[:-1], "top"], 2)
    check("said", "72 events train, the last 24 test", 0, {})
    check("a fourth class", "has 4 different texts ('QCD', 'W+jets', 'top', 'ttbar'), and the output 'out' tells 3 apart", 3, {"data.train": other})
    check("a class that only tests", "event 45: column 'kind' holds 'top', of which the training events before it have none", 3,
          {"data.train": write_files(folder, data, ["QCD"] * 70 + ["W+jets"] + ["ttbar"] * (fit.EVENTS - 72) + ["top"], 3),
           "train.fit.loss": "sparse_categorical_crossentropy", "model.file": str(folder / "four.keras")})
    check("an unknown class in the test files", "event 45: column 'kind' holds 'top', and the classes are 'QCD', 'W+jets', 'ttbar'", 3,
          {"data.validation_split": 0, "data.test": other})
    check("an unknown class beside those named", "holds 'QCD', and the classes are 'W+jets', 'ttbar', 'qcd' (is 'qcd' meant?)", 3,
          {"data.classes": ["W+jets", "ttbar", "qcd"]})
    check("too few named", "2 classes are named", 2, {"data.classes": ["QCD", "ttbar"]})
    check("no loss of classes", "texts are read where they name the classes of a target", 3, {"train.fit.loss": "mean_squared_error"})
    check("numbers that are out of range", "column 'index' holds 2, and binary_crossentropy takes", 3,
          {"train.fit.loss": "binary_crossentropy", "model.file": str(folder / "one.keras"), "train.fit.metrics": []}, "index")
    features, steps = keras.Input((4,), name="features"), keras.Input((None, 3), name="list")
    joined = keras.layers.Concatenate()([features, keras.layers.GlobalAveragePooling1D()(steps)])
    keras.Model([features, steps], keras.layers.Dense(3, activation="softmax", name="out")(joined)).save(folder / "open.keras")
    check("texts beside a length that is left open", "(7, 3), as long as the longest list", 0,
          {"train.fit.loss": "sparse_categorical_crossentropy", "model.file": str(folder / "open.keras")})
    check("nothing left to train on", "leaves no event to train on", 3, {"data.validation_split": 0.999})
    done = command(fit, "evaluate", "--model", folder / "one.keras", "--validation-split")
    expect(done.returncode == 2 and "was not trained with data.validation_split" in done.stderr, done.stderr.strip())
    done = command(fit, "evaluate", "--model", folder / "texts", "--data", *other)
    expect(done.returncode == 3 and "holds 'top', and the classes are" in done.stderr, f"evaluate: {done.stderr.strip()}")
    done = command(fit, "train", fit.job_of(folder, path, "kind", {**settings, "data.classes": ["ttbar", "QCD", "W+jets"]}), "--out", folder / "texts", "--resume")
    expect(done.returncode == 2 and "was made with" in done.stderr, "another order of the classes is another job")


def run(fit: types.ModuleType, folder: pathlib.Path, data: dict) -> None:
    keras.utils.set_random_seed(6)
    compiled = dict(optimizer=keras.optimizers.Adam(RATE), loss="sparse_categorical_crossentropy", metrics=["accuracy"])
    model, path = fit.classifier("softmax", 3, compiled=compiled, recurrent=False), folder / "texts.keras"
    model.save(path)
    fit.classifier("softmax", 4, recurrent=False).save(folder / "four.keras")
    fit.classifier("sigmoid", 1, recurrent=False).save(folder / "one.keras")
    texts = [CLASSES[number] for number in data["index"]]
    files = write_files(folder, data, texts, 1)
    settings = {"data.train": files, "data.validation_split": SPLIT, "train.batch": int(fit.EVENTS * (1 - SPLIT)) // 2}
    beside_keras(fit, folder, data, settings, fit.job_of(folder, path, "kind", settings), model)
    kept(fit, folder, files)
    same_bits(fit, folder, path, settings)
    refused(fit, folder, data, path, settings, texts)
