"""The figures of `linac validate` beside independent ones: physics_test.py REFERENCE.h5 SAMPLE.h5

Observables are computed anew in NumPy from the images; Kolmogorov-Smirnov, Wasserstein and chi2 by SciPy, structural similarity
by scikit-image, the Frechet and kernel physics distances by NumPy and SciPy's matrix square root. Exit status 1 if one differs."""

import json
import pathlib
import subprocess
import sys
import tempfile

import h5py
import numpy as np
from scipy import linalg, stats
from skimage.metrics import structural_similarity

from lib.runs import LINAC

HIT_GEV = 1e-4  # the default of --threshold
BINS = 30
problems = []


def check(name, found, expected, relative, absolute=0.0):
    good = np.isfinite(found) and abs(found - expected) <= relative * abs(expected) + absolute
    if not good:
        problems.append(name)
    print(f"{'ok  ' if good else 'FAIL'} {name:28s} linac {found:.8g}  here {expected:.8g}")


def load(path):
    with h5py.File(path) as file:
        return file["ECAL"][:].astype(np.float64), file["energy"][:].astype(np.float64), file["theta"][:]


def moments(profile):
    position = np.arange(len(profile)) + 0.5
    mean = (profile * position).sum() / profile.sum()
    return mean, np.sqrt((profile * (position - mean) ** 2).sum() / profile.sum())


def radii(xy):
    """Radii that hold 50 and 90 %: each cell as 3 x 3 points, rings of 1/8 cell, linear within a ring."""
    x, y = np.meshgrid(np.arange(xy.shape[0]) + 0.5, np.arange(xy.shape[1]) + 0.5, indexing="ij")
    x0, y0 = (xy * x).sum() / xy.sum(), (xy * y).sum() / xy.sum()
    rings = np.zeros(1000)
    for dx in (-1, 0, 1):
        for dy in (-1, 0, 1):
            radius = np.hypot(x - x0 + dx / 3, y - y0 + dy / 3)
            np.add.at(rings, (radius * 8).astype(int), xy / 9)
    inside = np.concatenate([[0], np.cumsum(rings)])
    return [np.interp(part * inside[-1], inside, np.arange(len(inside)) / 8) for part in (0.5, 0.9)]


def angle(image):
    """The openlab definition with all layers alike."""
    x, y, z = (np.arange(n) + 0.5 for n in image.shape)
    layer = image.sum((0, 1))
    total = layer.sum()
    x_mean, y_mean = (image.sum((1, 2)) * x).sum() / total, (image.sum((0, 2)) * y).sum() / total
    z_mean = (layer * z).sum() / total
    filled = layer > 0
    x_z = (image.sum(1) * x[:, None]).sum(0)[filled] / layer[filled]
    y_z = (image.sum(0) * y[:, None]).sum(0)[filled] / layer[filled]
    depth = z[filled] - z_mean
    slope = (y_z - y_mean) / np.sqrt(np.maximum((x_z - x_mean) ** 2 + depth**2, 1e-7))
    return (np.pi / 2 - np.arctan(np.where(depth < 0, -slope, slope))).mean()


def observables(image, energy):
    z, x, y = image.sum((0, 1)), image.sum((1, 2)), image.sum((0, 2))
    total = z.sum()
    z_mean, z_width = moments(z)
    x_mean, x_width = moments(x)
    y_mean, y_width = moments(y)
    edges = np.linspace(0, len(z), 4)
    held = np.interp(edges, np.arange(len(z) + 1), np.concatenate([[0], np.cumsum(z)])) / total
    r50, r90 = radii(image.sum(2))
    return {
        "total": total, "response": total / energy, "depth.mean": z_mean, "depth.width": z_width, "depth.maximum": z.argmax(),
        "depth.first": held[1], "depth.middle": held[2] - held[1], "depth.last": 1 - held[2],
        "x.mean": x_mean, "x.width": x_width, "y.mean": y_mean, "y.width": y_width, "radius.50": r50, "radius.90": r90,
        "hits": (image > np.float32(HIT_GEV)).sum(), "cell.maximum": image.max(), "angle": angle(image),
    }


def table(images, energies):
    rows = [observables(image, energy) for image, energy in zip(images, energies)]
    return {name: np.array([row[name] for row in rows], dtype=np.float32).astype(np.float64) for name in rows[0]}


def histograms(reference, sample):
    ascending = np.sort(reference)
    last = len(ascending) - 1
    low, high = ascending[int(0.005 * last)], ascending[int(0.995 * last)]
    low, high = (low, high) if low < high else (low - 0.5, low + 0.5)
    return [np.bincount(np.clip((v - low) / (high - low) * BINS, 0, BINS - 1).astype(int), minlength=BINS) for v in (reference, sample)]


def check_distances(figures, reference, sample):
    for name in reference:
        a, b = reference[name], sample[name]
        p, q = histograms(a, b)
        filled = p + q > 0
        check(f"ks.{name}", figures[f"ks.{name}"], stats.ks_2samp(a, b).statistic, 1e-6, 1e-9)
        check(f"wasserstein.{name}", figures[f"wasserstein.{name}"], stats.wasserstein_distance(a, b) / a.std(ddof=1), 1e-4, 1e-7)
        chi2, _, ndf, _ = stats.chi2_contingency(np.array([p, q])[:, filled], correction=False)
        check(f"chi2.{name}", figures[f"chi2.{name}"], chi2 / ndf, 1e-3, 1e-9)
        p, q = p / p.sum(), q / q.sum()
        check(f"separation.{name}", figures[f"separation.{name}"], 0.5 * ((p - q)[filled] ** 2 / (p + q)[filled]).sum(), 1e-3, 1e-9)


def kernel(x, y):
    return (x @ y.T / x.shape[1] + 1) ** 4


def unbiased(k):
    return (k.sum() - np.trace(k)) / (len(k) * (len(k) - 1))


def check_features(figures, reference, sample):
    a, b = (np.stack(list(columns.values()), axis=1) for columns in (reference, sample))
    mean, deviation = a.mean(0), a.std(0)
    a, b = (a - mean) / deviation, (b - mean) / deviation
    ca, cb = np.cov(a.T), np.cov(b.T)
    root = linalg.sqrtm(ca @ cb).real
    check("fpd", figures["fpd"], ((a.mean(0) - b.mean(0)) ** 2).sum() + np.trace(ca + cb - 2 * root), 1e-3)
    check("kpd", figures["kpd"], abs(unbiased(kernel(a, a)) + unbiased(kernel(b, b)) - 2 * kernel(a, b).mean()), 1e-3, 1e-6)
    difference = np.corrcoef(a.T) - np.corrcoef(b.T)
    n = len(difference)
    check("correlation", figures["correlation"], np.sqrt((difference**2).sum() / (n * (n - 1))), 1e-3)


def mean_similarity(images, energies, angles, edges):
    """Successive showers of one bin of energy and angle, two by two."""
    waiting, found = {}, []
    for image, energy, theta in zip(images, energies, angles):
        bins = tuple(np.searchsorted(e[1:-1], v, side="right") for e, v in zip(edges, (energy, theta)))
        side = image.sum(0)
        picture = ((side / side.max()) ** 0.25).astype(np.float32)
        if bins in waiting:
            found.append(structural_similarity(picture, waiting.pop(bins), data_range=1.0))
        else:
            waiting[bins] = picture
    return np.mean(found)


def main():
    reference_path, sample_path = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        command = [LINAC, "validate", "--reference", reference_path, "--sample", sample_path, "--no-classifiers", "--out", folder]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        report = json.loads(pathlib.Path(folder, "report.json").read_text())
    figures = {figure["name"]: figure["value"] for figure in report["figures"] if figure["bin"] is None}
    a_images, a_energies, a_angles = load(reference_path)
    b_images, b_energies, b_angles = load(sample_path)
    a, b = table(a_images, a_energies), table(b_images, b_energies)
    check_distances(figures, a, b)
    check_features(figures, a, b)
    check("response.mean", figures["response.mean"], abs(b["response"].mean() / a["response"].mean() - 1), 1e-4)
    check("response.width", figures["response.width"], abs(b["response"].std(ddof=1) / a["response"].std(ddof=1) - 1), 1e-4)
    for name, axes in {"z": (1, 2), "x": (2, 3), "y": (1, 3)}.items():
        p, q = ((images.sum(axes) / energies[:, None]).mean(0) for images, energies in ((b_images, b_energies), (a_images, a_energies)))
        check(f"profile.{name}", figures[f"profile.{name}"], np.abs(p - q).sum() / q.sum(), 1e-4)
    edges = [np.linspace(values.min(), values.max(), 4) for values in (a_energies, a_angles)]
    similarity = [mean_similarity(*showers, edges) for showers in ((a_images, a_energies, a_angles), (b_images, b_energies, b_angles))]
    check("ssim", figures["ssim"], abs(similarity[1] - similarity[0]), 1e-3, 1e-6)
    print(f"{len(problems)} differ")
    return 1 if problems else 0


sys.exit(main())
