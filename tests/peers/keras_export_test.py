"""Loads linac's exported networks with Keras: keras_export_test.py GENERATOR.keras DISCRIMINATOR.keras VALUES.h5

VALUES.h5 holds what linac itself computes with them (inference): latent [n,256] -> image [n,x,y,z], and
d_image [n,x,y,z] -> d_generation [n], d_auxiliary [n]. Exit status 1 beyond the limit.
"""

import sys

import h5py
import numpy as np

from lib import threedgan_reference as reference

LIMIT = 1e-4  # largest absolute difference of an image's cells
HEAD_LIMIT = 1e-4  # of the discriminator's heads, relative to max(1, |value|)
BATCH = 2


def predict(model, x):
    outputs = model.predict(x, batch_size=BATCH, verbose=0)
    return outputs if isinstance(outputs, list) else [outputs]


def report(name, difference, limit):
    ok = bool(difference <= limit)  # False for NaN
    print(f"{'ok  ' if ok else 'FAIL'} {name}: largest difference {difference:.2e} (limit {limit:g})")
    return ok


def main():
    if len(sys.argv) != 4:
        print(__doc__)
        return 2
    reference.use_threads(2)
    generator, discriminator = (reference.keras.models.load_model(path) for path in sys.argv[1:3])
    with h5py.File(sys.argv[3]) as file:
        values = {name: file[name][()] for name in ("latent", "image", "d_image", "d_generation", "d_auxiliary")}
    images = predict(generator, values["latent"])[0][..., 0]
    ok = report("generator image", np.abs(images - values["image"].reshape(images.shape)).max(), LIMIT)
    if not images.any():
        print("FAIL generator: every image is empty, the comparison shows nothing")
        ok = False
    heads = predict(discriminator, values["d_image"].reshape((-1,) + reference.SHAPE))
    for name, output in zip(("d_generation", "d_auxiliary"), heads, strict=True):
        expected = values[name].reshape(output.shape)
        difference = (np.abs(output - expected) / np.maximum(1, np.abs(output))).max()
        ok = report(f"discriminator {name}", difference, HEAD_LIMIT) and ok
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main())
