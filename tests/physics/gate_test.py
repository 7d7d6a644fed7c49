"""The gate of examples/gates on Geant4 showers: Geant4 against Geant4 passes, and each kind of wrong sample fails for its own
reason. gate_test.py FOLDER: a folder with showers-train.h5 and showers-test.h5. Status 77, skipped, where there is none."""

import json
import pathlib
import subprocess
import sys
import tempfile

import h5py
import numpy as np

from lib.checks import expect, failures
from lib.runs import LINAC

GATE = "examples/gates/fast-simulation.yaml"
PASSED, FAILED, UNDECIDED, SKIPPED = 0, 7, 10, 77
ENOUGH = 500  # showers, which the gate wants on either side


def load(path, events=None):
    with h5py.File(path) as file:
        return {name: file[name][:events] for name in ("ECAL", "energy", "theta")}


def write(path, showers):
    with h5py.File(path, "w") as file:
        for name, values in showers.items():
            file[name] = values
    return path


def validate(reference, sample, train, out, *more):
    command = [LINAC, "validate", "--reference", reference, "--sample", sample, "--train", train, "--out", out,
               "--gate", GATE, "--no-classifiers", *more]
    process = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=600)
    report = pathlib.Path(out, "report.json")
    failing = set()
    if report.exists():
        figures = json.loads(report.read_text())["figures"]
        failing = {figure["name"] for figure in figures if figure["passed"] is False}
    return process, failing


def wrong_samples(showers, train):
    """name: (showers, figures that must fail, figures that must not)"""
    shift = 5 if len(showers["energy"]) >= ENOUGH else 10  # few showers know their mean response to 1 % only
    yield f"energies shifted by {shift} %", {**showers, "ECAL": showers["ECAL"] * np.float32(1 + shift / 100)}, {"response.mean"}, {
        "linearity", "ks.depth.mean", "ks.angle", "ks.radius.90", "duplicates", "memorised"}
    swapped = {**showers, "ECAL": np.ascontiguousarray(showers["ECAL"].swapaxes(1, 2)), "theta": showers["theta"]}
    yield "x and y swapped", swapped, {"profile.x", "profile.y"}, {
        "response.mean", "profile.z", "ks.depth.mean", "duplicates"}
    constant = {**showers, "ECAL": np.repeat(showers["ECAL"][:1], len(showers["energy"]), axis=0)}
    yield "one image for all", constant, {"ssim", "duplicates", "response.width", "linearity"}, set()
    few = np.arange(len(showers["energy"])) % 8
    copied = {name: values[few] for name, values in train.items()}
    yield "training showers repeated", copied, {"memorised", "duplicates"}, set()


def with_wide_response(showers, factor):
    """Each shower's response as far from the mean of its energy as before, times the factor."""
    response = showers["ECAL"].sum((1, 2, 3), dtype="f8") / showers["energy"]
    mean = np.polyval(np.polyfit(np.log(showers["energy"]), response, 1), np.log(showers["energy"]))
    scale = np.maximum(mean + factor * (response - mean), 0.05 * mean) / response
    return {**showers, "ECAL": showers["ECAL"] * scale.astype("f4")[:, None, None, None]}


def main():
    folder = pathlib.Path(sys.argv[1])
    if not (folder / "showers-train.h5").exists():
        print(f"skipped: no showers in {folder}")
        return SKIPPED
    train_all, test_all = load(folder / "showers-train.h5"), load(folder / "showers-test.h5")
    # Reference, sample and training set share no shower: the training file is cut in two.
    half = len(train_all["energy"]) // 2
    reference_showers = {name: values[:half] for name, values in train_all.items()}
    train_showers = {name: values[half:] for name, values in train_all.items()}
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        reference = write(scratch / "reference.h5", reference_showers)
        train = write(scratch / "train.h5", train_showers)
        good = write(scratch / "good.h5", test_all)
        process, failing = validate(reference, good, train, scratch / "good")
        enough = min(len(showers["energy"]) for showers in (reference_showers, test_all)) >= ENOUGH
        expect(process.returncode == (PASSED if enough else UNDECIDED) and not failing,
               f"Geant4 against Geant4 {'passes' if enough else 'are too few to judge'} (status {process.returncode}, failing {sorted(failing)})")
        if not enough:
            expect(f"wants {ENOUGH} on either side; give more" in process.stderr, "and the terminal says how many it wants")
        expect((scratch / "good" / "report.html").stat().st_size > 10_000, "there is a page")
        for name, showers, must_fail, must_hold in wrong_samples(test_all, train_showers):
            sample = write(scratch / "wrong.h5", showers)
            process, failing = validate(reference, sample, train, scratch / "wrong")
            # Of too few showers it says no more than that these figures would fail.
            expect(process.returncode == (FAILED if enough else UNDECIDED), f"{name}: status {process.returncode}")
            expect(must_fail <= failing, f"{name}: {sorted(must_fail)} fail (missing {sorted(must_fail - failing)})")
            expect(not must_hold & failing, f"{name}: {sorted(must_hold)} hold (failing {sorted(must_hold & failing)})")
            expect(any(figure in process.stderr for figure in must_fail), f"{name}: the terminal names the reason")
        process, _ = validate(reference, good, train, scratch / "json", "--json")
        expect(json.loads(process.stdout)["verdict"] == ("passed" if enough else "undecided"), "--json prints the report")
        # The same wrong width, whatever the number of showers: floors alone let it pass with few.
        for events in (64, 500, 2000):
            if min(len(reference_showers["energy"]), len(train_showers["energy"])) < events:
                continue
            few = write(scratch / "few.h5", {name: values[:events] for name, values in reference_showers.items()})
            others = {name: values[:events] for name, values in train_showers.items()}
            wide = write(scratch / "wide.h5", with_wide_response(others, 2.13))
            process, failing = validate(few, wide, train, scratch / "few")
            width = [figure for figure in json.loads((scratch / "few" / "report.json").read_text())["figures"]
                     if figure["name"] == "response.width" and figure["bin"] is None][0]
            told = f"{width['value']:.2f} +- {width['uncertainty']:.2f}, floor {width['floor']:.2f}"
            wanted = ("failed",) if events >= ENOUGH else ("failed", "undecided")
            statuses = (FAILED,) if events >= ENOUGH else (UNDECIDED,)
            expect(process.returncode in statuses and width["verdict"] in wanted,
                   f"{events} showers, a width off by 113 %: status {process.returncode}, {width['verdict']} ({told})")
    print(f"{len(failures)} problems")
    return 1 if failures else 0


sys.exit(main())
