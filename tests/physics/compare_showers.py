#!/usr/bin/env python3
"""Compares simulated showers with Geant4 showers of the same energies and angles, and checks the limits of docs/guide/physics/simulation.md.

    for seed in 1 2 3; do linac simulate --like geant4.h5 --seed $seed --out simulated-$seed.h5; done
    python3 tests/physics/compare_showers.py geant4.h5 simulated-*.h5

Several simulated files lower the simulation's own statistical uncertainty. Needs numpy and h5py. Exit status 1 when a limit is missed."""

import argparse
import sys

import h5py
import numpy as np

ENERGY_BINS = [(10, 100.01), (10, 40), (40, 70), (70, 100.01)]  # GeV
HIT_GEV = 1e-4
PROFILE_LIMIT, RESPONSE_LIMIT, WIDTH_LIMIT, RADIUS_LIMIT = 0.10, 0.03, 0.25, 0.20
READ_AT_ONCE = 200


def summarise(path: str, pitch_mm: float) -> dict[str, np.ndarray]:
    """Of each shower: primary energy, energy by layer, radius about the barycentre in the xy plane that holds 90 % of the energy, hit cells."""
    profile, radius90, hits = [], [], []
    with h5py.File(path) as file:
        images, energy = file["ECAL"], file["energy"][:].astype(float)
        cells = np.indices(images.shape[1:3]).reshape(2, -1)
        for first in range(0, len(energy), READ_AT_ONCE):
            image = images[first : first + READ_AT_ONCE].astype(float)
            profile.append(image.sum((1, 2)))
            hits.append((image > HIT_GEV).sum((1, 2, 3)))
            columns = image.sum(3).reshape(len(image), -1)
            share = columns / columns.sum(1, keepdims=True)
            x, y = share @ cells[0], share @ cells[1]
            radius = np.hypot(cells[0] - x[:, None], cells[1] - y[:, None])
            order = np.argsort(radius, axis=1)
            within = np.cumsum(np.take_along_axis(share, order, 1), axis=1)
            outermost = np.take_along_axis(order, (within >= 0.9).argmax(1)[:, None], 1)
            radius90.append(np.take_along_axis(radius, outermost, 1)[:, 0] * pitch_mm)
    return {"energy": energy, "profile": np.concatenate(profile), "radius90": np.concatenate(radius90), "hits": np.concatenate(hits)}


def main_layers(profile: np.ndarray) -> np.ndarray:
    """The fewest layers that hold 95 % of the energy."""
    order = np.argsort(-profile)
    held = np.cumsum(profile[order]) / profile.sum()
    return np.sort(order[: (held < 0.95).sum() + 1])


def compare(reference: dict, simulated: dict, low: float, high: float) -> bool:
    samples = []
    for sample in (reference, simulated):
        inside = (sample["energy"] >= low) & (sample["energy"] < high)
        samples.append({name: values[inside] for name, values in sample.items()})
    profiles = [sample["profile"].mean(0) for sample in samples]
    responses = [sample["profile"].sum(1) / sample["energy"] for sample in samples]
    radii = [sample["radius90"].mean() for sample in samples]
    hits = [sample["hits"].mean() for sample in samples]
    ratio = profiles[1] / profiles[0] - 1
    # Statistical, of the ratio.
    errors = np.sqrt(sum((sample["profile"].std(0) / profile) ** 2 / len(sample["energy"]) for sample, profile in zip(samples, profiles)))
    layers = main_layers(profiles[0])
    worst = layers[np.abs(ratio[layers]).argmax()]
    figures = {
        "response": (responses[0].mean() * 100, responses[1].mean() * 100, RESPONSE_LIMIT),
        "width": (responses[0].std() * 100, responses[1].std() * 100, WIDTH_LIMIT),
        "r90 mm": (*radii, RADIUS_LIMIT),
        "hits": (*hits, np.inf),
    }
    passed = abs(ratio[worst]) <= PROFILE_LIMIT
    print(f"{low:g}-{high:.0f} GeV, {len(responses[0])} and {len(responses[1])} showers")
    print(f"  profile     layers {layers[0] + 1}-{layers[-1] + 1}: at most {ratio[worst]:+.1%} +- {errors[worst]:.1%} (layer {worst + 1})")
    print("  all layers ", " ".join(f"{100 * r:+.0f}" for r in ratio), "%")
    for name, (wanted, found, limit) in figures.items():
        print(f"  {name:<10} {wanted:10.4g} {found:10.4g}  {found / wanted - 1:+.1%}")
        passed &= abs(found / wanted - 1) <= limit
    return passed


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("geant4")
    parser.add_argument("simulated", nargs="+")
    parser.add_argument("--pitch-mm", type=float, default=5.1)
    arguments = parser.parse_args()
    reference = summarise(arguments.geant4, arguments.pitch_mm)
    parts = [summarise(path, arguments.pitch_mm) for path in arguments.simulated]
    for path, part in zip(arguments.simulated, parts):
        if len(reference["energy"]) != len(part["energy"]) or not np.allclose(reference["energy"], part["energy"], rtol=1e-5):
            sys.exit(f"{path}: other energies than {arguments.geant4}; make it with `linac simulate --like`")
    simulated = {name: np.concatenate([part[name] for part in parts]) for name in reference}
    passed = [compare(reference, simulated, low, high) for low, high in ENERGY_BINS]
    print("all within the limits" if all(passed) else "a limit is missed")
    return 0 if all(passed) else 1


sys.exit(main())
