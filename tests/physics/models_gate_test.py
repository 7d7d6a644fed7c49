"""The trained models of models/ against Geant4 showers that no training has seen: each keeps what its page says of it.
models_gate_test.py FOLDER: a folder with showers-train.h5, showers-train-2.h5 and showers-test.h5. Status 77, skipped, where
there is none."""

import json
import pathlib
import subprocess
import sys
import tempfile

from lib.checks import expect, failures
from lib.runs import LINAC

PASSED, FAILED, UNDECIDED, SKIPPED = 0, 7, 10, 77


def validate(model, folder, out, seed=1, *options):
    """Exit status and figures, the showers drawn at the energies and angles of the reference."""
    command = [LINAC, "validate", "--reference", folder / "showers-test.h5", "--sample", model,
               "--train", folder / "showers-train.h5", folder / "showers-train-2.h5",
               "--gate", "examples/gates/fast-simulation.yaml", "--seed", seed, "--out", out, *options]
    process = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=800)
    if process.returncode not in (PASSED, FAILED, UNDECIDED):
        raise SystemExit(f"linac validate: status {process.returncode}: {process.stderr[-2000:]}")
    return process.returncode, json.loads(pathlib.Path(out, "report.json").read_text())["figures"]


def values(figures, name, bins=None):
    """Of the figures whose name begins so: over all showers, or in the bins of this quantity."""
    return [figure["value"] for figure in figures
            if figure["name"].startswith(name) and (figure["bin"] is None if bins is None else bins in (figure["bin"] or {}))]


def worst_in_floors(figures):
    return max(figure["value"] / figure["floor"] for figure in figures
               if figure["name"].split(".")[0] in ("ks", "wasserstein") and figure["bin"] is None)


def at_most(value, limit, what):
    expect(value <= limit, f"{what}: {value:.3f} (at most {limit})")


def cell_chain(folder, out):
    status, figures = validate("models/cell_chain-clic.chain", folder, out)
    failing = [figure["name"] for figure in figures if figure["passed"] is False]
    expect(status in (PASSED, UNDECIDED) and not failing, f"cell_chain: no figure fails the gate (status {status}, failing {failing})")
    at_most(worst_in_floors(figures), 3, "cell_chain: the worst distance of an observable, in floors")
    at_most(values(figures, "auc.observables")[0], 0.65, "cell_chain: AUC of a classifier on observables")
    at_most(values(figures, "auc.cells")[0], 0.75, "cell_chain: AUC of a classifier on cells")
    # Some eight of 810, more or less three: the mean of several draws.
    twins = [values(figures, "memorised")[0]]
    for seed in range(2, 6):
        twins += values(validate("models/cell_chain-clic.chain", folder, f"{out}-{seed}", seed, "--no-classifiers")[1], "memorised")
    at_most(sum(twins) / len(twins), 0.012, "cell_chain: showers too near to one of the training, mean of five draws")


PROFILES = ("profile.z", "profile.x", "profile.y", "profile.radial")


def threedgan(folder, out):
    """What the published 3DGAN reaches: mean profiles within some 10 %."""
    _, figures = validate("models/3dgan-clic.keras", folder, out)
    exact = [figure for figure in figures if figure["name"] in PROFILES or figure["name"] == "response.mean"]
    at_most(values(exact, "response.mean")[0], 0.02, "3dgan: mean response")
    at_most(max(values(exact, "profile.")), 0.10, "3dgan: the worst mean profile")
    at_most(max(values(exact, "profile.", "energy_gev")), 0.15, "3dgan: the worst mean profile of a bin of energy")
    at_most(values(figures, "memorised")[0], 0.012, "3dgan: showers too near to one of the training")


def main():
    folder = pathlib.Path(sys.argv[1])
    if not all((folder / name).exists() for name in ("showers-train.h5", "showers-train-2.h5", "showers-test.h5")):
        print(f"skipped: no showers in {folder}")
        return SKIPPED
    with tempfile.TemporaryDirectory() as scratch:
        cell_chain(folder, pathlib.Path(scratch, "cell_chain"))
        threedgan(folder, pathlib.Path(scratch, "3dgan"))
    print(f"{len(failures)} problems")
    return 1 if failures else 0


sys.exit(main())
