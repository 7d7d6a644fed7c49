"""linac evaluate takes what linac train takes: class numbers, logits, several labels, sequences, truth of any format, weights below zero.
Beside scikit-learn on Keras's own predictions: evaluate_model_test.py FOLDER

LINAC names the program. Exit status 1 where a number differs or a bad call is not refused as it should be.
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")

import h5py
import keras
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import uproot
from keras import layers as L
from lib.checks import expect, failures
from lib.runs import LINAC
from sklearn import metrics

EVENTS, STEPS, LIMIT = 600, 7, 1e-5
INPUT = ("--input", "x=x0,x1,x2,x3")
NONE = ("--bootstraps", "0")


def linac(*words) -> subprocess.CompletedProcess:
    return subprocess.run([LINAC, *map(str, words)], capture_output=True, text=True)


def evaluate(what: str, *words) -> dict:
    done = linac("evaluate", *words, "--json")
    expect(done.returncode == 0, f"{what}: exit status {done.returncode} {done.stderr.strip()[-300:]}")
    return json.loads(done.stdout) if done.returncode == 0 else {"models": [{"scores": []}], "remarks": [], "task": ""}


def refused(status: int, text: str, *words) -> None:
    done = linac("evaluate", *words)
    expect(done.returncode == status and text in done.stderr, f"status {done.returncode}, '{text}': {done.stderr.strip()[-350:]}")


def value(report: dict, name: str, part=None) -> float:
    return next((score["value"] for score in report["models"][0]["scores"] if (score["name"], score["part"]) == (name, part)), float("nan"))


def same(what: str, ours: float, theirs: float) -> None:
    expect(ours is not None and abs(ours - theirs) <= LIMIT * max(1, abs(theirs)), f"{what}: linac {ours}, scikit-learn {theirs}")


def made(folder: pathlib.Path) -> dict:
    rng = np.random.default_rng(3)
    x = rng.normal(size=(EVENTS, 4)).astype("f4")
    score = x[:, :3] + 0.7 * rng.normal(size=(EVENTS, 3))
    lengths = rng.integers(0, STEPS + 1, EVENTS)
    steps = rng.normal(size=(EVENTS, STEPS, 2)).astype("f4")
    tags = (steps.sum(2) + rng.normal(size=(EVENTS, STEPS)) > 0.8).astype("i4") + (steps[..., 0] > 0.5)
    data = {"x": x, "cls": score.argmax(1).astype("i4"), "labels": (score > 0.3).astype("f4"), "energy": score[:, 0].astype("f4"),
            "weight": np.where(rng.random(EVENTS) < 0.1, -1, 1).astype("f4"), "lengths": lengths, "steps": steps, "tags": tags}
    for event, length in enumerate(lengths):
        steps[event, length:] = 0
        tags[event, length:] = 0
    ragged = lambda values: [row[:length].tolist() for row, length in zip(values, lengths)]
    columns = {f"x{i}": x[:, i] for i in range(4)} | {name: data[name] for name in ("cls", "energy", "weight")}
    bad = {"below": np.where(np.arange(EVENTS) == 5, -1, data["cls"]), "above": np.where(np.arange(EVENTS) == 6, 3, data["cls"]),
           "half": np.where(np.arange(EVENTS) == 7, 0.5, data["cls"])}
    lists = {"labels": pa.array(data["labels"].tolist()), "one_hot": pa.array(np.eye(3)[data["cls"]].tolist()), "steps": pa.array(ragged(steps)),
             "tags": pa.array(ragged(tags))}
    pq.write_table(pa.table({**columns, **bad, **lists, "text": pa.array([f"c{c}" for c in data["cls"]])}), folder / "events.parquet")
    with uproot.recreate(folder / "events.root") as file:
        file["Events"] = {**columns, "labels": data["labels"]}
    with h5py.File(folder / "events.h5", "w") as file:
        for name in ("x", "cls", "labels", "energy", "steps", "tags"):
            file[name] = data[name]
        file["one_of"] = data["cls"][:, None]
    return data


def model(units: int, activation: str, **compiled) -> keras.Model:
    keras.utils.set_random_seed(2)
    built = keras.Sequential([keras.Input((4,), name="x"), L.Dense(units, activation=activation, name="out", kernel_initializer=one_to_one)])
    if compiled:
        built.compile(**compiled)
    return built


def one_to_one(shape, dtype=None):
    return np.eye(*shape).astype("f4") * 1.3


def sigmoid(x):
    return 1 / (1 + np.exp(-x.astype("f8")))


def classes(folder: pathlib.Path, data: dict) -> None:
    """Class numbers for a softmax, and what is none."""
    file, events = folder / "classes.keras", folder / "events.parquet"
    built = model(3, "softmax", loss="sparse_categorical_crossentropy")
    built.save(file)
    p = built.predict(data["x"], verbose=0)
    call = ("--model", file, "--data", events, *INPUT)
    report = evaluate("class numbers", *call, "--targets", "cls", *NONE)
    same("accuracy", value(report, "accuracy"), metrics.accuracy_score(data["cls"], p.argmax(1)))
    same("auc", value(report, "auc_macro"), np.mean([metrics.roc_auc_score(data["cls"] == c, p[:, c]) for c in range(3)]))
    expect(report["task"] == "classification" and not any("taken for" in remark for remark in report["remarks"]), "as the file was compiled")
    for column in ("one_hot", "text"):
        names = ("--classes", "c0,c1,c2") if column == "text" else ()
        other = evaluate(column, *call, "--targets", column, *names, *NONE)
        expect(other["models"][0]["confusion"] == report["models"][0]["confusion"], f"{column}: the same")
    built.save(folder / "classes.h5")
    other = evaluate("a file as of Keras 2", "--model", folder / "classes.h5", *call[2:], "--targets", "cls", *NONE)
    expect(other["models"][0]["confusion"] == report["models"][0]["confusion"] and len(other["remarks"]) == len(report["remarks"]), "the same")
    for column in ("cls", "one_of"):
        other = evaluate(column, "--model", file, "--data", folder / "events.h5", "--targets", column, *NONE)
        expect(other["models"][0]["confusion"] == report["models"][0]["confusion"], f"{column} of HDF5: the same")
    for column, event, number in (("below", 5, "-1"), ("above", 6, "3"), ("half", 7, "0.5")):
        refused(3, f"events.parquet: event {event}: column '{column}' holds {number}", *call, "--targets", column)
    refused(3, "--task labels judges several labels at once", *call, "--targets", "labels")


def logits(folder: pathlib.Path, data: dict) -> None:
    """The same model without its last activation is judged as with it."""
    events, cross = folder / "events.parquet", keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    expected = evaluate("probabilities", "--model", folder / "classes.keras", "--data", events, *INPUT, "--targets", "cls", *NONE)
    model(3, "linear", loss=cross).save(folder / "logits.keras")
    model(3, "linear").save(folder / "bare.keras")
    for name, more in (("logits", ()), ("bare", ("--logits",)), ("bare", ("--logits", "--task", "classes"))):
        report = evaluate(f"{name} {more}", "--model", folder / f"{name}.keras", "--data", events, *INPUT, "--targets", "cls", *NONE, *more)
        for score in ("accuracy", "log_loss", "auc_macro"):
            same(score, value(report, score), value(expected, score))
    refused(3, "'out' is taken for a regression, by its last activation, linear; --task says another", "--model", folder / "bare.keras", "--data", events,
            *INPUT, "--targets", "cls")
    refused(3, "no probability; --logits applies a softmax", "--model", folder / "bare.keras", "--data", events, *INPUT, "--targets", "cls", "--task", "classes")
    refused(2, "--logits is for classes and labels", "--model", folder / "bare.keras", "--data", events, *INPUT, "--targets", "cls", "--logits", "--task", "regression")
    linac("predict", "--model", folder / "bare.keras", "--data", events, "--field", "x=x0,x1,x2,x3", "--out", folder / "bare.h5")
    report = evaluate("a file of logits", "--predictions", folder / "bare.h5", "--targets", f"{events}:cls", "--logits", *NONE)
    same("log loss", value(report, "log_loss"), value(expected, "log_loss"))


def labels(folder: pathlib.Path, data: dict) -> None:
    file, events = folder / "labels.keras", folder / "events.parquet"
    model(3, "sigmoid", loss="binary_crossentropy").save(file)
    p, truth = sigmoid(data["x"][:, :3] * np.float32(1.3)).astype("f4").astype("f8"), data["labels"]
    call = ("--model", file, "--data", events, *INPUT, "--targets", "labels")
    report = evaluate("labels", *call, "--classes", "a,b,c", *NONE)
    expect(report["task"] == "labels" and report["support"] == truth.sum(0).astype(int).tolist(), f"support {report.get('support')}")
    same("exact match", value(report, "exact_match"), metrics.accuracy_score(truth, p >= 0.5))
    same("mean AUC", value(report, "auc_macro"), metrics.roc_auc_score(truth, p, average="macro"))
    for i, name in enumerate("abc"):
        t, s = truth[:, i], p[:, i]
        for score, expected in (("auc", metrics.roc_auc_score(t, s)), ("average_precision", metrics.average_precision_score(t, s)),
                                ("accuracy", metrics.accuracy_score(t, s >= 0.5)), ("precision", metrics.precision_score(t, s >= 0.5)),
                                ("f1", metrics.f1_score(t, s >= 0.5)), ("log_loss", metrics.log_loss(t, s)), ("brier", metrics.brier_score_loss(t, s))):
            same(f"{score} of {name}", value(report, score, name), expected)
        confusion = metrics.confusion_matrix(t, s >= 0.5).tolist()
        expect(report["models"][0]["confusion"][i] == confusion, f"confusion of {name}")
    model(3, "sigmoid").save(folder / "bare_labels.keras")
    assumed = evaluate("by the activation", *("--model", folder / "bare_labels.keras"), *call[2:], *NONE)
    expect(any("'out' is taken for labels, by its last activation, sigmoid" in remark for remark in assumed["remarks"]), f"{assumed['remarks']}")
    same("mean AUC", value(assumed, "auc_macro"), value(report, "auc_macro"))
    done = linac("evaluate", *call, "--out", folder / "report", "--bootstraps", "20")
    expect(done.returncode == 0 and "label 2" in done.stdout and (folder / "report" / "report.html").is_file(), f"a page of labels {done.stderr[-200:]}")


def regression(folder: pathlib.Path, data: dict) -> None:
    """A model that was compiled with a loss of numbers is no classifier, whatever its last activation."""
    model(1, "sigmoid", loss="mse").save(folder / "numbers.keras")
    call = ("--model", folder / "numbers.keras", "--data", folder / "events.root", *INPUT, "--targets", "energy")
    report = evaluate("numbers", *call, *NONE)
    p = sigmoid(data["x"][:, 0] * np.float32(1.3))
    expect(report["task"] == "regression", "is a regression")
    same("mse", value(report, "mse", "output"), metrics.mean_squared_error(data["energy"], p))
    refused(3, "takes whole numbers from 0 to 1", *call, "--task", "classes")


def sequences(folder: pathlib.Path, data: dict) -> None:
    """Each step that is there counts: behind a mask, and where zeros fill up lists."""
    there = np.arange(STEPS) < data["lengths"][:, None]
    keras.utils.set_random_seed(4)
    steps = keras.Input((STEPS, 2), name="steps")
    with h5py.File(folder / "hidden.h5", "w") as file:
        file["tags"], file["steps"] = data["tags"], np.where(there[..., None], data["steps"], np.float32(-9))
    for name, behind, hidden in (("masked", L.Masking()(steps), 0), ("hidden", L.Masking(-9.0)(steps), -9), ("plain", steps, 0)):
        for target, units, loss in (("tags", 3, "sparse_categorical_crossentropy"), ("energies", 1, "mse")):
            built = keras.Model(steps, L.Dense(units, activation="softmax" if units > 1 else "linear", name="out")(L.Dense(5, activation="tanh")(behind)))
            built.compile(loss=loss)
            built.save(folder / "steps.keras")
            p = built.predict(np.where(there[..., None], data["steps"], np.float32(hidden)), verbose=0)[there]
            for file in ("events.parquet", "hidden.h5" if hidden else "events.h5"):
                report = evaluate(f"{name}, {target}, {file}", "--model", folder / "steps.keras", "--data", folder / file, "--targets", "tags", *NONE)
                expect(report.get("events") == there.sum(), f"{report.get('events')} steps of {there.sum()}")
                if units > 1:
                    same("accuracy", value(report, "accuracy"), metrics.accuracy_score(data["tags"][there], p.argmax(1)))
                else:
                    same("mse", value(report, "mse", "output"), metrics.mean_squared_error(data["tags"][there], p[:, 0]))
                words = f"without {EVENTS * STEPS - there.sum()} that are masked or fill up lists"
                expect(any(words in remark for remark in report["remarks"]), f"{report['remarks']}")


def predicted_sequences(folder: pathlib.Path, data: dict) -> None:
    """Scores by step are judged as the model is: `linac predict` writes which steps are there."""
    keras.utils.set_random_seed(4)
    steps = keras.Input((STEPS, 2), name="steps")
    hidden = L.Dense(5, activation="tanh")(L.Masking()(steps))
    outputs = [L.Dense(3, activation="softmax", name="tags")(hidden), L.Dense(1, name="tags_steps")(hidden)]
    built = keras.Model(steps, outputs)
    built.save(folder / "two.keras")
    keras.Model(steps, outputs[0]).save(folder / "one.keras")
    there = np.arange(STEPS) < data["lengths"][:, None]
    weights = np.random.default_rng(2).uniform(0.5, 2, (EVENTS, STEPS)).astype("f4")
    with h5py.File(folder / "weights.h5", "w") as file:
        file["by_step"], file["by_event"], file["tags"], file["steps"] = weights, weights[:, 0], data["tags"], data["steps"]
    at, truth = folder / "weights.h5", ("--targets", f"{folder}/events.parquet:tags")
    of_model = {}
    for name in ("two.h5", "two.parquet", "two.root", "one.h5", "one.parquet", "one.root"):
        model, scores = folder / f"{name[:3]}.keras", folder / name
        done = linac("predict", "--model", model, "--data", folder / "events.parquet", "--out", scores)
        expect(done.returncode == 0, f"{name}: {done.stderr[-200:]}")
        for field in ("tags", "tags_steps") if model.stem == "two" else ("",):
            task = ("--task", "regression") if field == "tags_steps" else ()
            for weight in ("none", "by_step", "by_event") if name == "two.h5" else ("by_step",):
                call = (*(("--field", field) if field else ()), *task, *NONE)
                if (model, field, weight) not in of_model:
                    of_model[model, field, weight] = evaluate(f"the model, {field}, {weight}", "--model", model, "--data", at, "--targets", "tags", "--weights",
                                                              weight, *call)
                wanted = of_model[model, field, weight]
                report = evaluate(f"{name}, {field}, {weight}", "--predictions", scores, "--targets", f"{at}:tags",
                                  "--weights", weight if weight == "none" else f"{at}:{weight}", *call)
                expect({**report["models"][0], "name": ""} == {**wanted["models"][0], "name": ""} and report["models"][0]["scores"], "the same figures")
                expect(report.get("events") == wanted.get("events") == there.sum(), f"of {report.get('events')} steps")
                counts = [[remark for remark in one["remarks"] if "each step counts" in remark] for one in (report, wanted)]
                expect(counts[0] == counts[1] and len(counts[0]) == 1, f"which are told: {counts}")
    ragged = evaluate("lists of truth", "--predictions", folder / "one.h5", *truth, *NONE)
    whole = evaluate("padded truth", "--predictions", folder / "one.h5", "--targets", f"{at}:tags", *NONE)
    expect(ragged["models"] == whole["models"], "lists and padded lists of truth are the same")
    refused(2, "--compare is for scores of one row an event", "--predictions", folder / "one.h5", *truth, "--compare", folder / "one.h5")
    with h5py.File(folder / "fewer.h5", "w") as file:
        file["tags"] = data["tags"][:-1]
    refused(3, f"has {EVENTS} events, but {folder}/fewer.h5:tags has {EVENTS - 1}", "--predictions", folder / "one.h5", "--targets", f"{folder}/fewer.h5:tags")
    for why, words in (("half", "holds 0.5, wanted is 1"), ("short", "events of"), ("gone", "no data set 'tags_steps'"), ("no word", "the attribute 'steps'"),
                       ("empty", "has no step of any event"),
                       ("broken", f"the scores of 1 of {EVENTS} events are NaN")):
        other = folder / "spoilt.h5"
        shutil.copy(folder / "one.h5", other)
        with h5py.File(other, "r+") as file:
            mask = file["tags_steps"][:]
            if why != "broken" and why != "no word":
                del file["tags_steps"]
            if why == "half":
                mask[4, 2] = 0.5
                file["tags_steps"] = mask
            if why == "short":
                file["tags_steps"] = mask[:, 1:]
            if why == "no word":
                del file["tags"].attrs["steps"]
            if why == "empty":
                del file["tags"]
                file["tags"], file["tags_steps"] = np.zeros((0, STEPS, 3), "f4"), np.zeros((0, STEPS), "f4")
                file["tags"].attrs.create("steps", ["tags_steps"], dtype=h5py.string_dtype())
            if why == "broken":
                file["tags"][3, 0, 1] = np.nan
        refused(11 if why == "broken" else 3, words, "--predictions", f"{other}:tags", *truth)


def truth_of_any_format(folder: pathlib.Path, data: dict) -> None:
    linac("predict", "--model", folder / "classes.keras", "--data", folder / "events.parquet", "--field", "x=x0,x1,x2,x3", "--out", folder / "scores.h5")
    reports = []
    for file in ("events.parquet", "events.root", "events.h5"):
        weights = ("--weights", f"{folder}/events.root:weight") if file == "events.root" else ()
        reports.append(evaluate(file, "--predictions", folder / "scores.h5", "--targets", f"{folder / file}:cls", *weights, *NONE))
    expect(reports[0]["models"] == reports[2]["models"], "Parquet and HDF5: the same")
    same("weighted", value(reports[1], "accuracy"), metrics.accuracy_score(data["cls"], data["x"][:, :3].argmax(1), sample_weight=data["weight"]))
    other = evaluate("one-hot of Parquet", "--predictions", folder / "scores.h5", "--targets", f"{folder}/events.parquet:one_hot", *NONE)
    expect(other["models"] == reports[0]["models"], "one-hot: the same")
    texts = evaluate("texts of Parquet", "--predictions", folder / "scores.h5", "--targets", f"{folder}/events.parquet:text", "--classes", "c0,c1,c2", *NONE)
    expect(texts["models"][0]["confusion"] == reports[0]["models"][0]["confusion"], "texts: the same")
    truth = ("--targets", f"{folder}/events.h5:cls", *NONE)
    for name in ("scores.parquet", "scores.root"):
        linac("predict", "--model", folder / "classes.keras", "--data", folder / "events.parquet", "--field", "x=x0,x1,x2,x3", "--out", folder / name)
        of_column = evaluate(name, "--predictions", folder / name, *truth)
        expect({**of_column["models"][0], "name": ""} == {**reports[0]["models"][0], "name": ""}, f"predictions in {name}: the same")
    uneven = folder / "uneven.parquet"
    pq.write_table(pa.table({"p": [[0.5] * (1 + event % 2) for event in range(EVENTS)]}), uneven)
    refused(3, "is stored as a list of 1 value, wanted is [2]", "--predictions", uneven, *truth[:2])
    refused(2, "say which one: --targets", "--predictions", folder / "scores.h5", "--targets", folder / "events.parquet")
    refused(3, "event 7 is 0.5, not one of the class numbers 0 to 2", "--predictions", folder / "scores.h5", "--targets", f"{folder}/events.parquet:half")
    refused(3, "no column 'none'", "--predictions", folder / "scores.h5", "--targets", f"{folder}/events.root:none")


def weights_below_zero(folder: pathlib.Path, data: dict) -> None:
    """No share above 1, no limit that is none, and a word on what is left out."""
    call = ("--model", folder / "classes.keras", "--data", folder / "events.parquet", *INPUT, "--targets", "cls", "--weights", "weight")
    report = evaluate("weights below zero", *call)
    for score in report["models"][0]["scores"]:
        if not score["name"].startswith("rejection") and score["name"] not in ("log_loss", "brier"):
            expect(score["value"] is None or 0 <= score["value"] <= 1 and score["error"] <= 0.5, f"{score['name']} of {score['part']}: {score['value']} ± {score['error']}")
        elif score["value"] is not None and score["above_95"] is None:
            expect(score["value"] >= 0 and score["error"] < max(1, score["value"]), f"{score['name']}: {score['value']} ± {score['error']}")
    below = int((data["weight"] < 0).sum())
    weights = report["weights"]
    expect(weights["below_zero"] == below and abs(weights["effective_events"] - data["weight"].sum() ** 2 / EVENTS) < 1e-6, f"weights: {weights}")
    expect({"name": "average_precision", "part": "class 1"} in report["left_out"], f"left out: {report['left_out']}")
    expect(any(f"{below} of the {EVENTS} weights are below zero; left out" in remark and "average precision of class 0, class 1" in remark
               for remark in report["remarks"]), f"{report['remarks']}")
    same("AUC", value(report, "auc", "class 0"), auc(data["cls"] == 0, evaluate_scores(data), data["weight"]))
    positive = evaluate("no weights", *call[:-1], "none")
    expect(positive["weights"] is None and positive["left_out"] == [] and value(positive, "average_precision", "class 1") > 0, "without weights nothing is")


def evaluate_scores(data: dict) -> np.ndarray:
    z = np.exp(data["x"][:, :3].astype("f8") * np.float32(1.3))
    return (z / z.sum(1, keepdims=True))[:, 0]


def auc(truth, scores, weight) -> float:
    """By pairs: scikit-learn takes no weights below zero there."""
    p, n = scores[truth], scores[~truth]
    wins = (p[:, None] > n).astype("f8") + 0.5 * (p[:, None] == n)
    w = weight.astype("f8")
    return float((w[truth][:, None] * w[~truth] * wins).sum() / (w[truth].sum() * w[~truth].sum()))


def few_background(folder: pathlib.Path) -> None:
    rng = np.random.default_rng(1)
    truth = (np.arange(400) < 350).astype("i4")
    with h5py.File(folder / "few.h5", "w") as file:
        file["p"], file["y"] = np.clip(0.5 * truth + rng.uniform(0, 0.52, 400), 0, 1).astype("f4"), truth
    call = ("--predictions", f"{folder}/few.h5:p", "--targets", f"{folder}/few.h5:y")
    report = evaluate("50 background events", *call)
    half = next(score for score in report["models"][0]["scores"] if (score["name"], score["part"]) == ("rejection_50", "class 1"))
    expect(half["value"] is None and abs(half["above_95"] - 50 / 2.9957) < 0.01 and half["error"] is None, f"no event of 50 passes: {half}")
    expect("> 16.7 (95 %)" in linac("evaluate", *call).stdout, "the table says so")


def trained(folder: pathlib.Path, data: dict) -> None:
    """The command that a training prints says all."""
    model(3, "linear").save(folder / "fit.keras")
    events = str(folder / "events.parquet")
    for loss, target, task in (("sparse_categorical_crossentropy", "cls", "classification"), ("binary_crossentropy", "labels", "labels"),
                               ("mean_squared_error", "one_hot", "regression")):
        job = {"name": "fit", "model": {"kind": "keras", "file": str(folder / "fit.keras")},
               "data": {"train": [events], "test": [events], "inputs": [{"name": "x", "columns": ["x0", "x1", "x2", "x3"]}], "targets": [{"column": target}]},
               "train": {"epochs": 1, "replicas": 2, "batch": 16, "optimizer": {"name": "adam", "lr": 1e-6},
                         "fit": {"loss": [loss], "from_logits": task != "regression"}}}
        (folder / "job.yaml").write_text(json.dumps(job))
        shutil.rmtree(folder / f"run-{task}", ignore_errors=True)
        done = linac("train", folder / "job.yaml", "--out", folder / f"run-{task}")
        expect(done.returncode == 0, f"{loss}: {done.stderr[-300:]}")
        expect(f"the test files are training files, too: {events}" in done.stdout + done.stderr, "and is warned of its test file")
        at_end = json.loads((folder / f"run-{task}" / "evaluation" / "report.json").read_text())
        report = evaluate(loss, "--model", folder / f"run-{task}", "--data", events, *NONE)
        values = [[score["value"] for score in one["models"][0]["scores"]] for one in (at_end, report)]
        expect(report["task"] == task and at_end["task"] == task and at_end["replicas"] == 200, f"{loss}: {report['task']}, as judged at the end")
        expect(values[0] == values[1], "which has the same scores")


def trained_on_texts(folder: pathlib.Path) -> None:
    """Names of classes are those of the training, in its order; --classes names no class by another one's name."""
    run, events = folder / "run-texts", str(folder / "events.parquet")
    job = {"name": "texts", "model": {"kind": "keras", "file": str(folder / "fit.keras")},
           "data": {"train": [events], "inputs": [{"name": "x", "columns": ["x0", "x1", "x2", "x3"]}], "targets": [{"column": "text"}],
                    "classes": ["c2", "c0", "c1"]},
           "train": {"epochs": 1, "replicas": 1, "batch": 16, "optimizer": {"name": "sgd", "lr": 1e-6},
                     "fit": {"loss": ["sparse_categorical_crossentropy"], "from_logits": True}}}
    (folder / "texts.yaml").write_text(json.dumps(job))
    shutil.rmtree(run, ignore_errors=True)
    expect(linac("train", folder / "texts.yaml", "--out", run).returncode == 0, "texts train")
    expect(linac("predict", "--model", run, "--data", events, "--out", folder / "texts.h5").returncode == 0, "and predict")
    of_model, of_file = ("--model", run, "--data", events), ("--predictions", folder / "texts.h5", "--logits", "--targets", events + ":text")
    for call in (of_model, of_file):
        report = evaluate("as trained", *call, *NONE)
        expect(report["parts"] == ["c2", "c0", "c1"], str(report["parts"]))
        renamed = evaluate("the same order", *call, "--classes", "c2,c0,c1", *NONE)
        expect(renamed["models"] == report["models"] and renamed["parts"] == report["parts"], "which is judged alike")
        refused(2, "are known to be of c2,c0,c1, in this order", *call, "--classes", "c0,c1,c2")
    refused(2, "--classes has 'c0' twice", *of_file, "--classes", "c2,c0,c0")
    refused(2, "--names has 'a' twice", *of_file, "--compare", folder / "texts.h5", "--names", "a,a")
    (folder / "other").mkdir(exist_ok=True)
    shutil.copy(folder / "texts.h5", folder / "other" / "texts.h5")
    beside = evaluate("files of one name", *of_file, "--compare", folder / "other" / "texts.h5", *NONE)
    expect([one["name"] for one in beside["models"]] == [str(folder / "texts.h5"), str(folder / "other" / "texts.h5")], "are told apart")


def main() -> int:
    if len(sys.argv) != 2:
        print(__doc__)
        return 2
    folder = pathlib.Path(sys.argv[1]).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    data = made(folder)
    classes(folder, data)
    logits(folder, data)
    labels(folder, data)
    regression(folder, data)
    sequences(folder, data)
    predicted_sequences(folder, data)
    truth_of_any_format(folder, data)
    weights_below_zero(folder, data)
    few_background(folder)
    trained(folder, data)
    trained_on_texts(folder)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
