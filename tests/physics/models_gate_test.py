"""The trained models of models/ against Geant4 showers: each keeps what its page says of it. models_gate_test.py FOLDER...

Of data/ there are few showers, and the models have seen them: they judge means, profiles, distances and classifiers as far as few showers
can, and this runs everywhere. A folder with showers-train-2.h5 has thousands of them, and its showers-test.h5 no training has seen: there
the models are held to the figures of their pages. A folder without showers is left out by name."""

import dataclasses
import json
import pathlib
import subprocess
import sys
import tempfile

from lib.checks import expect, failures
from lib.runs import LINAC
from lib.skips import skipped

PASSED, FAILED, UNDECIDED = 0, 7, 10


@dataclasses.dataclass
class Showers:
    """What a model is compared with, and for twins a reference that shares no shower with the training. Then the limits of figures: distances of
    observables in floors, AUC of classifiers, means and profiles of the 3DGAN, the share of twins."""
    reference: list[pathlib.Path]
    apart: list[pathlib.Path]
    training: list[pathlib.Path]
    floors: float
    auc_observables: float
    auc_cells: float
    response: float
    profile: float
    profile_of_a_bin: float
    twins: float


def showers_of(folder: pathlib.Path) -> Showers:
    train, more, test = (folder / f"showers-{name}.h5" for name in ("train", "train-2", "test"))
    if more.exists():
        return Showers([test], [test], [train, more], floors=3, auc_observables=0.65, auc_cells=0.75, response=0.02, profile=0.10, profile_of_a_bin=0.15,
                       twins=0.012)
    # All of these were in the training: the more of them are compared with, and twins are looked for among the others.
    return Showers([train], [train], [test], floors=2, auc_observables=0.60, auc_cells=0.65, response=0.02, profile=0.10, profile_of_a_bin=0.20, twins=0.03)


def validate(model, reference, training, out, seed=1, *options):
    """Exit status and figures, the showers drawn at the energies and angles of the reference."""
    command = [LINAC, "validate", "--reference", *reference, "--sample", model, *(["--train", *training] if training else []),
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


def judged(model, showers, out, *options):
    """Against all of the reference; twins of the training are looked for if the reference is apart from it."""
    return validate(model, showers.reference, showers.training if showers.reference == showers.apart else [], out, 1, *options)


def twins_of(model, showers, figures, out, draws):
    """The share of showers too near to one of the training: few of a sample, more or less, so the mean of several draws; of the first by its figures."""
    shares = values(figures, "memorised")
    for seed in range(1 + len(shares), draws + 1):
        shares += values(validate(model, showers.apart, showers.training, f"{out}-{seed}", seed, "--no-classifiers")[1], "memorised")
    return sum(shares) / len(shares)


def cell_chain(showers, out):
    model = "models/cell_chain-clic.chain"
    status, figures = judged(model, showers, out)
    failing = [figure["name"] for figure in figures if figure["passed"] is False]
    expect(status in (PASSED, UNDECIDED) and not failing, f"cell_chain: no figure fails the gate (status {status}, failing {failing})")
    at_most(worst_in_floors(figures), showers.floors, "cell_chain: the worst distance of an observable, in floors")
    at_most(values(figures, "auc.observables")[0], showers.auc_observables, "cell_chain: AUC of a classifier on observables")
    at_most(values(figures, "auc.cells")[0], showers.auc_cells, "cell_chain: AUC of a classifier on cells")
    at_most(twins_of(model, showers, figures, f"{out}-twins", 5), showers.twins, "cell_chain: showers too near to one of the training, mean of five draws")


PROFILES = ("profile.z", "profile.x", "profile.y", "profile.radial")


def threedgan(showers, out):
    """What the published 3DGAN reaches: mean profiles within some 10 %."""
    model = "models/3dgan-clic.keras"
    _, figures = judged(model, showers, out, "--no-classifiers")
    exact = [figure for figure in figures if figure["name"] in PROFILES or figure["name"] == "response.mean"]
    at_most(values(exact, "response.mean")[0], showers.response, "3dgan: mean response")
    at_most(max(values(exact, "profile.")), showers.profile, "3dgan: the worst mean profile")
    at_most(max(values(exact, "profile.", "energy_gev")), showers.profile_of_a_bin, "3dgan: the worst mean profile of a bin of energy")
    at_most(twins_of(model, showers, figures, f"{out}-twins", 1), showers.twins, "3dgan: showers too near to one of the training")


def main():
    for folder in map(pathlib.Path, sys.argv[1:]):
        if not all((folder / name).exists() for name in ("showers-train.h5", "showers-test.h5")):
            skipped(f"showers of {folder}", "they are not here")
            continue
        print(f"-- {folder}", flush=True)
        with tempfile.TemporaryDirectory() as scratch:
            cell_chain(showers_of(folder), pathlib.Path(scratch, "cell_chain"))
            threedgan(showers_of(folder), pathlib.Path(scratch, "3dgan"))
    print(f"{len(failures)} problems")
    return 1 if failures else 0


sys.exit(main())
