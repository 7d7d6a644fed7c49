"""Compares one training step of linac with the TensorFlow reference: reference_test.py DUMP.h5

The dump holds what linac computed, all float32, every phase with the same weights (nothing is updated between them):
  generator/weights/LAYER/WEIGHT, discriminator/weights/LAYER/WEIGHT   in Keras's axes, moving statistics included
  phases/d_real, phases/d_fake, phases/g, each with
    image [n,x,y,z] (d_*: after the power) or latent [n,256] (g)
    label [n] (after flips), energy [n] (the target of auxiliary), angle [n], ecal [n]
    dropout/LAYER [n,x,y,z,c]           factors, 0 or 1 / (1 - rate)
    out/generation, out/auxiliary, out/angle, out/ecal [n]; out/image [n,x,y,z] (g)
    loss/generation, loss/auxiliary, loss/angle, loss/ecal, loss/total   scalars, means over the batch
    grad/LAYER/WEIGHT                   of the total, for the updated network: D in d_*, G in g
    stats/LAYER/mean, stats/LAYER/variance   of its batch normalisations
The reference computes in float64. A phase may be absent, but at least one must be there. Exit status 1 if any tensor is beyond the limit.
"""

import argparse
import sys

import h5py
import numpy as np

from lib import threedgan_reference as reference

LIMIT = 1e-4  # max|linac - reference| / max|reference|, per tensor
# A gradient tensor smaller than this part of its network's largest gradient is measured against that instead: a convolution's bias before a
# batch normalisation has a gradient of zero, which millions of cancelling terms reach only up to their rounding.
GRADIENT_FLOOR = 1e-2
# Percentage losses below this are rounding: `ecal` of a real image is compared with the sum of that image.
LOSS_FLOOR = 0.1
PHASES = ("d_real", "d_fake", "g")


def read_weights(file, network):
    tensors = {}
    for layer, group in file[f"{network}/weights"].items():
        tensors[layer] = {name: reference.constant(data[()]) for name, data in group.items()}
    return tensors


def same_shapes(tensors, model):
    wanted = {name: value.shape for name, value in flatten(reference.weights_of(model))}
    found = {name: value.shape for name, value in flatten(tensors)}
    for name in sorted(wanted.keys() | found.keys()):
        if wanted.get(name) != found.get(name):
            print(f"{model.name}: weight {name} is {found.get(name)}, the reference has {wanted.get(name)}")
    return wanted == found


def tensor(group, name):
    return reference.constant(group[name][()])


def flatten(tree, prefix=""):
    for name, value in tree.items():
        if isinstance(value, dict):
            yield from flatten(value, f"{prefix}{name}/")
        else:
            yield prefix + name, np.asarray(value)


def run_phase(phase, group, generator, discriminator):
    """What the reference computes from the inputs of the phase, by the dump's names."""
    given = tensor(group, "latent") if phase == "g" else tensor(group, "image")[..., None]
    targets = {
        "generation": tensor(group, "label"),
        "auxiliary": tensor(group, "energy"),
        "angle": tensor(group, "angle"),
        "ecal": tensor(group, "ecal"),
    }
    masks = {name: tensor(group["dropout"], name) for name in group["dropout"]}
    outputs, losses, gradients, stats = reference.step(phase, generator, discriminator, given, targets, masks)
    return dict(flatten({"out": outputs, "loss": losses, "grad": gradients, "stats": stats}))


def compare(phase, group, expected):
    """[(error, name, largest value)], the error infinite where something is missing or not finite."""
    largest_gradient = max(np.abs(value).max() for name, value in expected.items() if name.startswith("grad/"))
    rows = []
    for name, value in expected.items():
        scale = np.abs(value).max()
        if name.startswith("grad/"):
            scale = max(scale, GRADIENT_FLOOR * largest_gradient)
        if name.startswith("loss/"):
            scale = max(scale, LOSS_FLOOR)
        found = group[name][()] if name in group else None
        if found is None or found.size != value.size or not np.isfinite(found).all() or not np.isfinite(scale):
            rows.append((float("inf"), f"{phase}/{name}", scale))
            continue
        difference = np.abs(found.reshape(value.shape).astype(np.float64) - value).max()
        rows.append((difference / scale if scale > 0 else float(difference > 0) * np.inf, f"{phase}/{name}", scale))
    return rows


def check(path):
    """The rows of all phases; empty if the dump is not of this model."""
    rows = []
    with h5py.File(path) as file:
        generator, discriminator = read_weights(file, "generator"), read_weights(file, "discriminator")
        if not same_shapes(generator, reference.build_generator()):
            return []
        if not same_shapes(discriminator, reference.build_discriminator()):
            return []
        for phase in PHASES:
            if phase in file["phases"]:
                group = file["phases"][phase]
                rows += compare(phase, group, run_phase(phase, group, generator, discriminator))
    return rows


def main():
    parser = argparse.ArgumentParser(description="compare a dumped training step with the TensorFlow reference")
    parser.add_argument("dump")
    parser.add_argument("--float", default="float64", choices=("float32", "float64"), help="of the reference")
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()
    reference.use_threads(arguments.threads)
    reference.use_float(arguments.float)
    rows = check(arguments.dump)
    for error, name, scale in rows:
        print(f"{'ok  ' if error <= LIMIT else 'FAIL'} {error:9.2e}  {name:45s} largest {scale:.4g}")
    if not rows:
        print("FAIL: nothing to compare")
        return 1
    worst = max(rows)
    failed = sum(error > LIMIT for error, _, _ in rows)
    print(f"{len(rows)} tensors, {failed} beyond {LIMIT:g} (gradient floor {GRADIENT_FLOOR:g})")
    print(f"worst {worst[0]:.2e} {worst[1]}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
