"""A trained run is judged: validate generates from it what generate writes, and its figures are the same either way. A
generator of one step fails a gate, and knows the energies of its training."""

import json
import pathlib
import subprocess
import sys
import tempfile

from lib.checks import expect, failures
from lib.runs import LINAC, SMALL_NETWORKS

TEST = "data/showers-test.h5"


def linac(*words):
    return subprocess.run([LINAC, *map(str, words)], capture_output=True, text=True, timeout=600)


def figures(folder):
    report = json.loads(pathlib.Path(folder, "report.json").read_text())
    return report, {figure["name"]: figure["value"] for figure in report["figures"] if figure["bin"] is None}


def main():
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        small = [f"{key}={value}" for key, value in SMALL_NETWORKS.items()]
        settings = [*small, "train.epochs=1", "train.max_steps=1", "train.replicas=1", "train.batch=1", "data.test=[]"]
        trained = linac("train", "examples/3dgan-from-nothing.yaml", "--workers", 1, "--out", root / "run", *[w for s in settings for w in ("--set", s)])
        expect(trained.returncode == 0, f"a run of one step: status {trained.returncode}")
        made = linac("generate", "--model", root / "run", "--like", TEST, "--seed", 1, "--out", root / "generated.h5")
        expect(made.returncode == 0, f"generate: status {made.returncode}")
        linac("export", root / "run", "--out", root / "exported.keras")
        for model in (root / "run", root / "run" / "models" / "generator.keras", root / "exported.keras"):
            far = linac("generate", "--model", model, "--energy", 500, "--theta", 1.57, "-n", 1, "--seed", 1, "--out", root / "far.h5")
            refused = far.returncode == 2 and "was trained on 10.17-99.72 GeV" in far.stderr and not (root / "far.h5").exists()
            expect(refused, f"{model.name} refuses energies far from those of its training: {far.stderr[-200:]}")
        gate = root / "gate.yaml"
        gate.write_text("showers: 60\nlimits: [{figure: fpd, floor: 5, cap: 1}]")
        for name, sample, more, status in (("run", root / "run", [], 0), ("file", root / "generated.h5", ["--gate", gate], 7)):
            judged = linac("validate", "--reference", TEST, "--sample", sample, "--seed", 1, "--no-classifiers", "--out", root / name, *more)
            expect(judged.returncode == status, f"validate the {name}: status {judged.returncode} {judged.stderr[-300:]}")
        report, of_run = figures(root / "run")
        _, of_file = figures(root / "file")
        expect(report["sample"]["events"] == 64 and any("time a shower" in fact for fact in report["facts"]), "the report tells the time a shower")
        worst = max(abs(of_run[name] - of_file[name]) / (abs(of_file[name]) + 1e-9) for name in of_file)
        expect(of_run.keys() == of_file.keys() and worst < 1e-3, f"the same figures from the run and from its file (worst {worst:.1e})")
    return 1 if failures else 0


sys.exit(main())
