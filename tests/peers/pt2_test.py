#!/usr/bin/env python3
"""linac train, predict and evaluate on programs of torch.export beside PyTorch: the same steps from the same weights, the same outputs,
the same bits on any number of workers and after a resume; the file that is written; files that are refused.

usage: pt2_test.py FOLDER PROGRAMS RUN_PT2
PROGRAMS is what make_pt2.py has written (tests/peers/pt2), RUN_PT2 the program that computes a .pt2 by PyTorch's own C++ reader. Where
bench/peers/setup.sh has installed PyTorch (or $LINAC_TORCH_PYTHON is a Python that has it), programs are exported anew, and what linac
writes is loaded by torch.export.load."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import zipfile

import h5py
import numpy as np
import onnx
import onnxruntime

from lib.checks import expect, failures
from lib.runs import ROOT, linac
from lib.skips import skipped

TORCH = os.environ.get("LINAC_TORCH_PYTHON", str(ROOT / "build" / "bench-peers" / "bin" / "python"))
DTYPES = {5: "i8", 7: "f4", 12: "?"}  # PyTorch's numbers of them in the file
LOAD = """
import sys, numpy, torch
program = torch.export.load(sys.argv[1], extra_files={})
inputs = dict(numpy.load(sys.argv[2]))
module = program.module()
with torch.no_grad():
    output = module(**{key[3:]: torch.from_numpy(values) for key, values in inputs.items() if key.startswith("in/")})
numpy.save(sys.argv[3], output.numpy())
"""

def far(a, b) -> float:
    a, b = np.asarray(a, "f8"), np.asarray(b, "f8")
    return float("inf") if a.shape != b.shape else float(np.max(np.abs(a - b), initial=0) / max(1.0, np.max(np.abs(b), initial=0)))


class Program:
    def __init__(self, folder: pathlib.Path, programs: pathlib.Path, name: str):
        self.folder, self.name, self.file, self.arrays = folder, name, programs / f"{name}.pt2", programs / f"{name}.npz"
        self.values = dict(np.load(self.arrays))
        self.inputs = {key[3:]: values for key, values in self.values.items() if key.startswith("in/")}
        self.events = folder / f"{name}.h5"
        with h5py.File(self.events, "w") as file:
            for key, values in self.inputs.items():
                file[key] = values
            file["target"] = self.values["target"]

    def job(self, what: str = "", settings: dict | None = None) -> pathlib.Path:
        inputs = [{"name": key, "shape": list(values.shape[1:])} for key, values in self.inputs.items()]
        settings = {"replicas": 1, "batch": len(self.values["target"]), "epochs": 2, "file": str(self.file)} | (settings or {})
        path = self.folder / f"{self.name}{what}.yaml"
        path.write_text(json.dumps({
            "name": self.name,
            "model": {"kind": "torchscript", "file": settings.pop("file")},
            "data": {"train": [str(self.events)], "inputs": inputs, "targets": [{"column": "target"}]},
            "train": {"optimizer": {"name": "sgd", "lr": 0.1},
                      "fit": {"loss": "categorical_crossentropy", "from_logits": True, "metrics": ["accuracy"]}} | settings}))
        return path

    def train(self, out: str, settings: dict | None = None, *arguments) -> pathlib.Path:
        run = self.folder / f"{self.name}-{out}"
        shutil.rmtree(run, ignore_errors=True)
        self.said = linac("train", self.job(f"-{out}", settings), "--out", run, *arguments)
        return run

    def predict(self, model: pathlib.Path) -> np.ndarray:
        scores = self.folder / "scores.h5"
        linac("predict", "--model", model, "--data", self.events, "--out", scores)
        with h5py.File(scores) as file:
            return file["output"][:]


def weights_in(path: pathlib.Path) -> dict:
    """The state_dict of a .pt2, read without PyTorch."""
    with zipfile.ZipFile(path) as archive:
        root = archive.namelist()[0].split("/")[0]
        config = json.loads(archive.read(f"{root}/data/weights/model_weights_config.json"))["config"]
        weights = {}
        for name, entry in config.items():
            meta = entry["tensor_meta"]
            flat = np.frombuffer(archive.read(f"{root}/data/weights/{entry['path_name']}"), DTYPES[meta["dtype"]])
            extents = lambda key: [each["as_int"] for each in meta[key]]
            weights[name] = np.lib.stride_tricks.as_strided(flat[meta["storage_offset"]["as_int"] :], extents("sizes"),
                                                            [flat.itemsize * stride for stride in extents("strides")])
        return weights


def checkpoint(run: pathlib.Path) -> bytes:
    return sorted((run / "checkpoints").glob("step-*.safetensors"))[-1].read_bytes()


def beside_pytorch(program: Program, run_pt2: str, tolerance: float = 2e-5) -> None:
    run = program.train("run")
    written = run / "models" / "model.pt2"
    weights = weights_in(written)
    differences = {name: far(weights[name], values) for name in weights if (values := program.values[f"after/weight/{name}"]).dtype == "f4"}
    expect(len(differences) > 0 and max(differences.values()) < tolerance,
           f"{program.name}: after two steps as PyTorch's: {max(differences, key=differences.get)} within {max(differences.values()):.1e}")
    if program.name != "frozen":  # its "if self.training" was decided by the export
        after = program.predicted = program.predict(run)
        expect(far(after, program.values["after/output"]) < tolerance, f"{program.name}: predicts as PyTorch in evaluation, within "
                                                                      f"{far(after, program.values['after/output']):.1e}")
    with zipfile.ZipFile(program.file) as before, zipfile.ZipFile(written) as behind:
        names = {name.split("/", 1)[1] for name in before.namelist()} - {".data/serialization_id"}
        expect({name.split("/", 1)[1] for name in behind.namelist()} == names | {"extra/linac.json"}, f"{program.name}: all members are there")
    if "dense" in program.name:
        loaded(program, written, after, run_pt2)


def loaded(program: Program, written: pathlib.Path, expected: np.ndarray, run_pt2: str) -> None:
    """By PyTorch's reader in C++ and, where it is installed, by Python's."""
    raw, out = program.folder / "input.f4", program.folder / "output.f4"
    (name, values), = program.inputs.items()
    raw.write_bytes(np.ascontiguousarray(values, "f4").tobytes())
    subprocess.run([run_pt2, written, raw, *map(str, values.shape), out], check=True)
    computed = np.frombuffer(out.read_bytes(), "f4").reshape(expected.shape)
    expect(far(computed, expected) < 1e-6, f"{program.name}: PyTorch's C++ computes the written file alike, within {far(computed, expected):.1e}")
    if not os.access(TORCH, os.X_OK):
        return
    result = program.folder / "output.npy"
    done = subprocess.run([TORCH, "-c", LOAD, written, program.arrays, result], capture_output=True, text=True)
    expect(done.returncode == 0, f"{program.name}: torch.export.load reads the written file {done.stderr[-300:]}")
    expect(far(np.load(result), expected) < 1e-6, f"{program.name}: and computes the same, within {far(np.load(result), expected):.1e}")


def starts_as_exported(program: Program) -> None:
    """Nothing learned yet: the program as it is in the file. In a prediction nothing is dropped."""
    found = program.predict(program.train("untrained", {"epochs": 1, "optimizer": {"name": "sgd", "lr": 1e-30}}))
    expect(far(found, program.values["before/output"]) < 1e-6, f"{program.name}: predicts as PyTorch, within "
                                                              f"{far(found, program.values['before/output']):.1e}")
    expect("was exported for evaluation" not in program.said, f"{program.name}: no warning")


def in_onnx(program: Program) -> None:
    """As ONNX beside what linac predicts with the same file."""
    run, file = program.folder / f"{program.name}-run", program.folder / f"{program.name}.onnx"
    linac("export", run, "--out", file)
    onnx.checker.check_model(str(file), full_check=True)
    session = onnxruntime.InferenceSession(str(file), providers=["CPUExecutionProvider"])
    expected = program.predicted
    for events in (1, 3, len(expected)):
        found = session.run(None, {key: values[:events] for key, values in program.inputs.items()})[0]
        expect(far(found, expected[:events]) < 1e-5, f"{program.name}: onnxruntime computes {events} events alike, within "
                                                    f"{far(found, expected[:events]):.1e}")
    expect("job" in session.get_modelmeta().custom_metadata_map, f"{program.name}: the job is in the file")


def operators(folder: pathlib.Path, programs: pathlib.Path) -> None:
    """Every operator of the table of src/linac/model/onnx/aten as ONNX, beside what PyTorch computed."""
    met = set()
    for name, arrays in (("operators", "operators"), ("operators-decomposed", "operators"), ("convolutions-decomposed", "convolutions")):
        values = dict(np.load(programs / f"{arrays}.npz"))
        inputs = {key[3:]: each for key, each in values.items() if key.startswith("in/")}
        expected = lambda i: values[f"out/{i}" if arrays == "operators" else "before/output"]
        file = folder / f"{name}.onnx"
        linac("export", programs / f"{name}.pt2", "--out", file)
        onnx.checker.check_model(str(file), full_check=True)
        found = onnxruntime.InferenceSession(str(file), providers=["CPUExecutionProvider"]).run(None, inputs)
        with zipfile.ZipFile(programs / f"{name}.pt2") as archive:
            program = json.loads(archive.read(next(member for member in archive.namelist() if member.endswith("models/model.json"))))
        made = {output["as_tensor"]["name"]: node["target"] for node in program["graph_module"]["graph"]["nodes"]
                for output in node["outputs"] if "as_tensor" in output}
        met |= {node["target"].removeprefix("torch.ops.aten.") for node in program["graph_module"]["graph"]["nodes"]}
        wanted = [spec["user_output"]["arg"]["as_tensor"]["name"] for spec in program["graph_module"]["signature"]["output_specs"]
                  if "user_output" in spec]
        wrong = [f"{i} {made[output]}: {far(found[i], expected(i)):.1e}" for i, output in enumerate(wanted) if not far(found[i], expected(i)) < 1e-5]
        expect(len(found) == len(wanted) > 0 and not wrong, f"{name}: {len(found)} outputs as PyTorch's, but {wrong}")
    table = set()
    for source in (ROOT / "src/linac/model/onnx/aten").glob("*.cpp"):
        table |= set(re.findall(r'^ *\{"([\w.]+\.\w+)", ', source.read_text(), re.M))
    table = {name.removeprefix("torch.ops.aten.") for name in table}
    expect(len(table) > 100 and not table - met, f"no operator of the table is untested: {sorted(table - met)}")


def exact(program: Program) -> None:
    settings = {"replicas": 3, "batch": 4, "epochs": 2, "optimizer": {"name": "adam", "lr": 0.01}}
    runs = [program.train("one", settings, "--workers", "1"), program.train("two", settings, "--workers", "2")]
    expect(checkpoint(runs[0]) == checkpoint(runs[1]), f"{program.name}: 1 and 2 workers write the same checkpoint")
    first, second = (weights_in(run / "models" / "model.pt2") for run in runs)
    expect(all(first[name].tobytes() == second[name].tobytes() for name in first), f"{program.name}: and the same model.pt2")
    stopped = program.train("stopped", settings | {"max_steps": 2})
    linac("train", program.job("-stopped", settings), "--out", stopped, "--resume", "--workers", "2")
    expect(checkpoint(stopped) == checkpoint(runs[0]), f"{program.name}: a resumed run writes the same checkpoint")


def used(program: Program) -> None:
    """evaluate, and training on."""
    run = program.folder / f"{program.name}-run"
    linac("evaluate", "--model", run, "--data", program.events, "--out", program.folder / "report", "--bootstraps", "0",
          "--task", "regression")
    expect((program.folder / "report" / "report.json").exists(), f"{program.name}: evaluate")
    program.train("again", {"file": str(run / "models" / "model.pt2")})
    first = json.loads((program.folder / f"{program.name}-again" / "metrics.jsonl").read_text().splitlines()[-1])
    expect(first is not None, f"{program.name}: what was trained is trained on")


def refused(program: Program, programs: pathlib.Path) -> None:
    """At the door. What is wrong inside of a file is told by program_file_test and exported_module_test."""
    folder = program.folder
    os.mkfifo(folder / "pipe.pt2")
    for file, words in (
        (folder / "pipe.pt2", "no regular file"),
        (programs / "broken-no-grad.pt2", "take it out of forward()"),
    ):
        said = linac("train", program.job("-bad", {"file": str(file)}), "--out", folder / "bad", status=2)
        expect(words in said and file.name in said, f"{file.name}: {said.strip().splitlines()[-1][-230:]}")


def main() -> None:
    folder, programs, run_pt2 = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), sys.argv[3]
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    if os.access(TORCH, os.X_OK):
        subprocess.run([TORCH, pathlib.Path(__file__).with_name("make_pt2.py"), folder / "fresh"], check=True)
        programs = folder / "fresh"
    else:
        skipped("torch.export", f"no PyTorch at {TORCH}, so programs are those of {programs}", "bench/peers/setup.sh")
    read = lambda name: Program(folder, programs, name)
    dense = read("dense")
    for program in (dense, read("convolutions"), read("frozen"), read("particles")):
        beside_pytorch(program, run_pt2)
        if program.name == "particles":
            in_onnx(program)
    operators(folder, programs)
    starts_as_exported(read("particles-dropout"))
    exact(read("convolutions-dropout"))
    evaluation = read("convolutions-evaluation")
    beside_pytorch(evaluation, run_pt2)
    expect("was exported for evaluation: the 2 layers" in evaluation.said, f"{evaluation.name}: a warning")
    used(dense)
    refused(dense, programs)
    if failures:
        sys.exit(f"{len(failures)} checks failed: {failures}")


if __name__ == "__main__":
    main()
