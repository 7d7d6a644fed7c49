#!/usr/bin/env python3
"""linac export on TorchScript: what onnxruntime computes of a trained model beside what linac predicts with it (LibTorch runs the
file), for any number of events; what is refused, by operator and line.

usage: pt_test.py FOLDER MODULES
MODULES is what make_pt.py has written (tests/peers/pt)."""

import json
import pathlib
import shutil
import sys
import zipfile

import h5py
import numpy as np
import onnx
import onnxruntime

from lib.checks import expect, failures
from lib.runs import linac

SHAPES = {"dense": ("features", (4,)), "convolutions": ("image", (1, 8, 8)), "particles": ("momenta", (6, 3)), "broken": ("features", (4,))}
EVENTS = 8


def far(a, b) -> float:
    return float("inf") if a.shape != b.shape else float(np.max(np.abs(a - b)) / max(1.0, np.max(np.abs(b))))


def job_of(folder: pathlib.Path, module: pathlib.Path) -> tuple[str, pathlib.Path, dict]:
    """The job, its events and what an input of them is."""
    name, shape = SHAPES[module.stem.split("-")[0]]
    random = np.random.default_rng(2)
    inputs = {name: random.normal(size=(EVENTS, *shape)).astype("f4")}
    events = folder / f"{module.stem}.h5"
    with h5py.File(events, "w") as file:
        file[name] = inputs[name]
        file["target"] = np.eye(3, dtype="f4")[random.integers(0, 3, EVENTS)]
    return json.dumps({
        "name": module.stem,
        "model": {"kind": "torchscript", "file": str(module)},
        "data": {"train": [str(events)], "inputs": [{"name": name, "shape": list(shape)}], "targets": [{"column": "target"}]},
        "train": {"replicas": 1, "batch": EVENTS, "epochs": 2, "optimizer": {"name": "sgd", "lr": 0.1},
                  "fit": {"loss": "categorical_crossentropy", "from_logits": True}}}), events, inputs


def in_onnx(folder: pathlib.Path, module: pathlib.Path) -> None:
    text, events, inputs = job_of(folder, module)
    run, job, file, scores = folder / module.stem, folder / "job.yaml", folder / f"{module.stem}.onnx", folder / "scores.h5"
    job.write_text(text)
    linac("train", job, "--out", run)
    linac("export", run, "--out", file)
    onnx.checker.check_model(str(file), full_check=True)
    session = onnxruntime.InferenceSession(str(file), providers=["CPUExecutionProvider"])
    linac("predict", "--model", run, "--data", events, "--out", scores)
    with h5py.File(scores) as predicted:
        expected = predicted["output"][:]
    differences = []
    for count in (1, 2, 5, EVENTS):
        found = session.run(None, {key: values[:count] for key, values in inputs.items()})[0]
        differences.append(far(found, expected[:count]))
    expect(max(differences) < 1e-5 and np.ptp(expected[:, 0]) > 0, f"{module.stem}: onnxruntime computes 1, 2, 5 and {EVENTS} events alike, "
                                                                  f"within {max(differences):.1e}")
    expect("job" in session.get_modelmeta().custom_metadata_map, f"{module.stem}: the job is in the file")


def refused(folder: pathlib.Path, module: pathlib.Path, words: tuple) -> None:
    """A file as linac would have written it behind a training."""
    file, out = folder / module.name, folder / "broken.onnx"
    shutil.copy(module, file)
    with zipfile.ZipFile(file, "a") as archive:
        archive.writestr(f"{archive.namelist()[0].split('/')[0]}/extra/linac.json", json.dumps({"job": job_of(folder, module)[0]}))
    said = linac("export", file, "--out", out, status=2)
    expect(all(word in said for word in words) and not out.exists(), f"{module.stem}: {said.strip()[-420:]}")


def main() -> None:
    folder, modules = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name in ("dense-script", "dense-trace", "convolutions-script", "particles-script", "particles-trace"):
        in_onnx(folder, modules / f"{name}.pt")
    refused(folder, modules / "broken-branch.pt", ("aten::Bool", "make_pt.py, line", "if bool(x.sum() > 0)", "torch.where()"))
    refused(folder, modules / "broken-gru.pt", ("aten.gru.input", "rnn.py, line", "run_decompositions()"))
    refused(folder, modules / "broken-training.pt", ("aten::dropout", "model.eval()", "torch.jit.script"))
    refused(folder, modules / "broken-events.pt", ("aten::view", "invalid for input of size", "x.shape[0]", ".pt2"))
    refused(folder, modules / "broken-one.pt", ("shape '[1, 3]' is invalid", "a trace keeps the number of events"))
    said = linac("export", modules / "dense-script.pt", "--out", folder / "foreign.onnx", status=2)
    expect("was not trained by linac" in said, f"a file without the shapes of its inputs: {said.strip()[-250:]}")
    if failures:
        sys.exit(f"{len(failures)} checks failed: {failures}")


if __name__ == "__main__":
    main()
