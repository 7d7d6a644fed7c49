"""What a job makes of its events, against awkward, pandas and xxhash: transforms_test.py FOLDER

The same columns, order of lists, selection and split; and a training on events that linac selects and computes has the
bits of one on a file that pyarrow wrote with these. LINAC names the program. Exit status 1 where they differ.
"""

import json
import os
import pathlib
import shutil
import struct
import subprocess
import sys
import zipfile

from lib import runs
from lib.checks import expect, failures
from lib.runs import LINAC, ROOT

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
sys.modules["sklearn"] = None  # Keras imports it for wrappers that nothing here uses: 1.6 s of the processor

import awkward as ak
import h5py
import keras
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import xxhash

EVENTS = 3000
folder = pathlib.Path(sys.argv[1]).resolve()


def linac(*arguments):
    done = subprocess.run([LINAC, *map(str, arguments)], text=True, capture_output=True)
    if done.returncode != 0:
        sys.exit(f"linac {' '.join(map(str, arguments))}: {done.stderr}")
    return done.stdout


def made_events(random):
    counts = random.integers(0, 7, EVENTS)
    total = int(counts.sum())
    lists = lambda values: ak.unflatten(values, counts)
    return {
        "run": random.integers(350_000, 350_004, EVENTS),
        "event": random.permutation(EVENTS) + 2**40,
        "met": random.exponential(50, EVENTS),
        "phi_a": random.uniform(-np.pi, np.pi, EVENTS).astype("f4"),
        "phi_b": random.uniform(-np.pi, np.pi, EVENTS),
        "good": random.random(EVENTS) < 0.8,
        "label": random.integers(0, 2, EVENTS).astype("i4"),
        "jets_pt": lists(np.round(random.exponential(40, total)).astype("f4")),  # many are equal
        "jets_eta": lists(random.normal(0, 2, total)),
    }


def write(path, columns):
    arrow = {name: ak.to_arrow(values, extensionarray=False) if isinstance(values, ak.Array) else pa.array(values)
             for name, values in columns.items()}
    pq.write_table(pa.table(arrow), path, row_group_size=700)


DEFINE = {
    "dphi": "atan2(sin(phi_a - phi_b), cos(phi_a - phi_b))",
    "mt": "sqrt(2 * met * max(met, 20) * (1 - cos(dphi)))",
    "ht": "sum(jets_pt * (abs(jets_eta) < 2.5))",
    "lead": "where(len(jets_pt) > 0, max(jets_pt), -1)",
    "far": "where(any(abs(jets_eta) > 3) && good, hypot(met, ht), met ** 2 / 4)",
}
RULE = {"columns": ["jets_pt", "jets_eta"], "filter": "abs(jets_eta) < 3.5 || jets_pt > 100", "sort": "-jets_pt", "first": 4}


def ordered(e):
    """The lists after RULE."""
    keep = (np.abs(e["jets_eta"]) < 3.5) | (e["jets_pt"] > 100)
    pt, eta = e["jets_pt"][keep], e["jets_eta"][keep]
    order = ak.argsort(-pt, axis=1, stable=True)
    return pt[order][:, :4], eta[order][:, :4]


def computed(e):
    pt, eta = ordered(e)
    a, b = e["phi_a"].astype("f8"), e["phi_b"]
    dphi = np.arctan2(np.sin(a - b), np.cos(a - b))
    ht = ak.sum(ak.values_astype(pt, "float64") * (np.abs(eta) < 2.5), axis=1).to_numpy()
    far = ak.any(np.abs(eta) > 3, axis=1).to_numpy() & e["good"]
    return {
        "dphi": dphi,
        "mt": np.sqrt(2 * e["met"] * np.maximum(e["met"], 20) * (1 - np.cos(dphi))),
        "ht": ht,
        "lead": ak.fill_none(ak.max(pt, axis=1), -1).to_numpy(),
        "far": np.where(far, np.hypot(e["met"], ht), e["met"] ** 2 / 4),
    }


def padded(lists, rows):
    return ak.to_numpy(ak.fill_none(ak.pad_none(lists, rows, clip=True), 0)).astype("f4")


def values_agree(events):
    """A model that hands on its inputs, and a linac.json that says what these are."""
    jets = {"jets_pt": (4, 1), "jets_eta": (4, 1)}
    inputs = [keras.Input((1,), name=name) for name in DEFINE] + [keras.Input(shape, name=name) for name, shape in jets.items()]
    outputs = [keras.layers.Activation("linear", name=f"{i.name}_out")(i) for i in inputs]
    keras.Model(inputs, outputs).save(folder / "identity.keras")
    notes = {"inputs": [{"column": i.name, "shape": list(i.shape[1:]), "offset": [], "factor": []} for i in inputs],
             "transform": {"define": DEFINE, "lists": [RULE], "filter": "met > 1e9"}}  # a filter is no part of a model
    with zipfile.ZipFile(folder / "identity.keras", "a") as archive:
        archive.writestr("linac.json", json.dumps(notes))
    linac("predict", "--model", folder / "identity.keras", "--data", folder / "events.parquet", "--out", folder / "out.h5")
    wanted = {name: values.astype("f4") for name, values in computed(events).items()}
    pt, eta = ordered(events)
    wanted |= {"jets_pt": padded(pt, 4), "jets_eta": padded(eta, 4)}
    with h5py.File(folder / "out.h5") as out:
        for name, values in wanted.items():
            found = out[f"{name}_out"][:].reshape(values.shape)
            same = np.mean(found == values)
            # Two libraries' sines and sums differ in the last bit of float64, and so rarely in float32.
            close = np.allclose(found, values, rtol=2e-7, atol=1e-12)
            expect(close and same > (0.999 if name in ("dphi", "mt", "ht", "far") else 0.9999999), f"{name}: {same:.5%} of the values have the same bits")


JOB = """
name: selection
model: {kind: keras, file: MODEL}
data:
  train: [FILES]
  inputs: [{name: x, columns: [ht, mt, met]}]
  targets: [{column: label}]
  define: DEFINE
  filter: "(good && met > 20.5 || len(jets_pt) >= 3) && !(abs(dphi) < 0.4)"
  split: {key: [run, event], validation: 0.2, test: 0.1}
train: {epochs: 1, batch: 16, fit: {loss: binary_crossentropy, class_balance: weights}}
"""


def selection_agrees(events):
    x = keras.Input((3,), name="x")
    keras.Model(x, keras.layers.Dense(1, activation="sigmoid", name="label")(x)).save(folder / "small.keras")
    job = folder / "job.yaml"
    frame = pd.DataFrame({name: values for name, values in events.items() if not isinstance(values, ak.Array)})
    frame["dphi"] = computed(events)["dphi"]
    frame["jets"] = ak.num(events["jets_pt"]).to_numpy()
    passed = frame.query("(good and met > 20.5 or jets >= 3) and not abs(dphi) < 0.4")
    place = [(xxhash.xxh3_64_intdigest(struct.pack("<2d", *key)) >> 11) / 2**53 for key in zip(passed["run"], passed["event"])]
    part = np.select([np.array(place) >= 1 - 0.1, np.array(place) >= 1 - 0.1 - 0.2], ["test", "validation"], "train")
    for files in ("events.parquet", "half-*.parquet"):
        job.write_text(JOB.replace("MODEL", str(folder / "small.keras")).replace("FILES", str(folder / files)).replace("DEFINE", json.dumps(DEFINE)))
        said = json.loads(linac("data", "info", job, "--json"))
        for role, name in (("train", "train"), ("test", "validation")):
            got = sum(file["events"] for file in said[role])
            expect(got == int((part == name).sum()), f"{files}: {got} events in {name}, as pandas and xxhash have it")
        expect(sum(file["passed"] for file in said["train"]) == len(passed), f"{len(passed)} of {EVENTS} pass the filter")
        text = job.read_text()
        job.write_text(text.replace("  split:", '  train_filter: "met > 60"\n  split:'))
        alone = json.loads(linac("data", "info", job, "--json"))
        job.write_text(text)
        wanted = int(((part == "train") & (passed["met"] > 60)).sum())
        expect(sum(file["events"] for file in alone["train"]) == wanted and alone["test"] == said["test"], f"{files}: train_filter leaves {wanted} to train, and those that test")
        linac("data", "scaling", folder / files, "--job", job, "--column", "met", "--out", folder / "s.json")
        mean = json.loads((folder / "s.json").read_text())["met"]["mean"][0]
        wanted = passed["met"][part == "train"].mean()
        expect(abs(mean / wanted - 1) < 1e-6, f"{files}: their met has the mean {wanted:.8g}")
    linac("train", job, "--out", folder / "selected", "--workers", 1)
    for name in ("train", "validation", "test"):
        report = json.loads(linac("evaluate", "--model", folder / "selected", "--data", folder / "events.parquet", "--part", name,
                                  "--filter", "--bootstraps", 0, "--json"))
        expect(report["events"] == int((part == name).sum()), f"evaluate --part {name} --filter: {report['events']} events")
    report = json.loads(linac("evaluate", "--model", folder / "selected", "--validation-split", "--bootstraps", 0, "--json"))
    expect(report["events"] == int((part == "validation").sum()), "evaluate --validation-split: those that tested")
    fold = np.where(part == "test", 0, 1 + (4 * np.array(place) / (1 - 0.1)).astype(int))
    linac("train", job, "--out", folder / "fold", "--workers", 1, "--set", "data.split.validation=0", "--fold", "3/4")
    for words, wanted in ((["--validation-split"], fold == 3), (["--data", folder / "events.parquet", "--part", "test", "--filter"], part == "test")):
        report = json.loads(linac("evaluate", "--model", folder / "fold", *words, "--bootstraps", 0, "--json"))
        expect(report["events"] == int(wanted.sum()), f"evaluate {words[0]} of the third of four folds: {report['events']} events")
    folds_agree(job, fold)
    report = json.loads(linac("evaluate", "--model", folder / "selected", "--data", folder / "events.parquet", "--bootstraps", 0, "--json"))
    expect(report["events"] == EVENTS, "evaluate: all events, for none were selected")


def folds_agree(job, fold):
    """Several models: each figure's mean and spread, by default each on its own part."""
    for run, settings in (("fold-1", ["--fold", "1/4"]), ("fifth", ["--fold", "2/5"])):
        linac("train", job, "--out", folder / run, "--workers", 1, "--set", "data.split.validation=0", *settings)
    both = ["--model", folder / "fold", "--model", folder / "fold-1"]
    auc_of = lambda scores: next(score for score in scores if score["name"] == "auc_macro")
    own = [json.loads(linac("evaluate", "--model", folder / run, "--validation-split", "--bootstraps", 0, "--json"))
           for run in ("fold", "fold-1")]
    report = json.loads(linac("evaluate", *both, "--bootstraps", 0, "--json"))
    values = [auc_of(one["models"][0]["scores"])["value"] for one in own]
    found = auc_of(report["folds"]["scores"])
    expect(report["folds"]["events"] == [int((fold == k).sum()) for k in (3, 1)] and not report["folds"]["same_events"],
           "evaluate of two folds: each on the events that tested it")
    expect(abs(found["mean"] - np.mean(values)) < 1e-9 and abs(found["deviation"] - np.std(values, ddof=1)) < 1e-9,
           f"and the AUC {found['mean']:.4f} ± {found['deviation']:.4f} as numpy has it")
    expect([model["name"] for model in report["models"]] == ["fold 3/4", "fold 1/4"] and
           any("of 4 folds there is no 2, 4" in remark for remark in report["remarks"]), "named, and those that are missing")
    text = linac("evaluate", *both, "--data", folder / "events.parquet", "--part", "test", "--filter", "--bootstraps", 0)
    expect("all on the same events" in text and f"  {(fold == 0).sum()} events" in text, "with --data all on the same")
    for other, words in (("fifth", "fold 2/5"), ("selected", "no fold"), ("fold", "different folds")):
        done = subprocess.run([LINAC, "evaluate", "--model", folder / "fold", "--model", folder / other], text=True, capture_output=True)
        expect(done.returncode == 2 and words in done.stderr, f"a fold beside {other} is refused: {done.stderr.strip()}")


def weights_of(run):
    with zipfile.ZipFile(run / "models" / "model.keras") as archive:
        return archive.read("model.weights.h5")


def training_agrees():
    """examples/topology.yaml with a selection, and on a file that has it already."""
    for name in ("train", "test"):
        table = pq.read_table(ROOT / "data" / f"topology-{name}.parquet")
        hlf = ak.from_arrow(table["HLF_input"])
        rows = ak.from_arrow(table["GRU_input"])
        rows = rows[rows[:, :, 5] > 2]
        rows = rows[ak.argsort(-rows[:, :, 5], axis=1, stable=True)][:, :50]
        keep = ((hlf[:, 0] > 60) & (ak.num(rows) > 5)).to_numpy()
        write(folder / f"made-{name}.parquet", {
            "GRU_input": ak.values_astype(rows[keep], "float32"),
            "HLF_input": ak.values_astype(np.sqrt(np.abs(ak.values_astype(hlf[keep], "float64"))), "float32"),
            "encoded_label": ak.from_arrow(table["encoded_label"])[keep],
            "weight": np.where(hlf[keep][:, 1].to_numpy() > 30, 2.0, 0.5).astype("f4"),
        })
        print(f"     {name}: {keep.sum()} of {len(keep)} events")
    job = ROOT / "examples" / "topology.yaml"
    common = ["--set", "model.particles=50", "--set", "train.max_steps=10", "--set", "train.batch=12"]
    rule = "{columns: GRU_input, filter: \"GRU_input[:, 5] > 2\", sort: \"-GRU_input[:, 5]\", first: 50}"
    transforms = ["data.filter=\"raw > 60 && len(GRU_input[:, 0]) > 5\"",
                  "data.define={raw: \"HLF_input[0] * HLF_input[0]\", HLF_input: \"sqrt(abs(HLF_input))\"}",
                  f"data.lists=[{rule}]", "data.event_weight=\"where(HLF_input[1] > sqrt(30), 2, 0.5)\""]
    here = [word for setting in transforms for word in ("--set", setting)]
    there = ["--set", f"data.train=[{folder}/made-train.parquet]", "--set", f"data.test=[{folder}/made-test.parquet]",
             "--set", "data.event_weight=weight"]
    for name, settings in (("made", there), ("here", here)):
        for workers in (1, 2):
            linac("train", job, "--out", folder / f"{name}{workers}", "--workers", workers, *common, *settings)
    wanted = weights_of(folder / "made1")
    for run in ("made2", "here1", "here2"):
        expect(weights_of(folder / run) == wanted, f"{run}: the weights of a training on the file that pyarrow wrote")
    losses = lambda run: [line.get("test") for line in runs.lines(folder / run)]
    expect(losses("here2") == losses("made2"), "and its test losses")


shutil.rmtree(folder, ignore_errors=True)
folder.mkdir(parents=True)
os.environ["LINAC_CACHE"] = str(folder / "cache")
events = made_events(np.random.default_rng(7))
write(folder / "events.parquet", events)
for i, half in enumerate((slice(EVENTS // 2, None), slice(0, EVENTS // 2))):
    write(folder / f"half-{i}.parquet", {name: values[half] for name, values in events.items()})
values_agree(events)
selection_agrees(events)
training_agrees()
sys.exit(1 if failures else 0)
