"""The 3DGAN's networks as ONNX, by onnxruntime: onnx_export_test.py GENERATOR.onnx DISCRIMINATOR.onnx VALUES.h5 ONNX.md

VALUES.h5 holds what linac itself computes with them, as for keras_export_test.py. The Python program in ONNX.md
(docs/reference/onnx.md) is run on the generator. Exit status 1 beyond the limits.
"""

import os
import pathlib
import re
import sys

import h5py
import numpy as np
import onnx
import onnxruntime

LIMIT = 1e-4  # largest absolute difference of an image's cells
HEAD_LIMIT = 1e-4  # of the discriminator's heads, relative to max(1, |value|)


def report(name, difference, limit):
    ok = bool(difference <= limit)  # False for NaN
    print(f"{'ok  ' if ok else 'FAIL'} {name}: largest difference {difference:.2e} (limit {limit:g})")
    return ok


def run(path, x):
    onnx.checker.check_model(onnx.load(path), full_check=True)
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(names, {session.get_inputs()[0].name: x}), strict=True))


def documented_program(text, generator):
    """Its showers: the energies of three."""
    (program,) = re.findall(r"```python\n(.*?)```", text, re.S)
    os.chdir(generator.parent)
    names = {}
    exec(program, names)
    return names["showers_gev"]


def main():
    if len(sys.argv) != 5:
        print(__doc__)
        return 2
    generator, discriminator, values, text = (pathlib.Path(path).resolve() for path in sys.argv[1:])
    with h5py.File(values) as file:
        values = {name: file[name][()] for name in ("latent", "image", "d_image", "d_generation", "d_auxiliary")}
    (images,) = run(generator, values["latent"]).values()
    ok = report("generator image", np.abs(images[..., 0] - values["image"]).max(), LIMIT)
    if not images.any():
        print("FAIL generator: every image is empty, the comparison shows nothing")
        ok = False
    heads = run(discriminator, values["d_image"][..., None])
    for name in ("generation", "auxiliary"):
        expected = values[f"d_{name}"]
        found = heads[name].reshape(expected.shape)
        difference = (np.abs(found - expected) / np.maximum(1, np.abs(expected))).max()
        ok = report(f"discriminator {name}", difference, HEAD_LIMIT) and ok
    showers = documented_program(text.read_text(), generator)
    energies = showers.sum(axis=(1, 2, 3))
    good = showers.shape == (3, *values["image"].shape[1:]) and bool((energies > 0).all())
    print(f"{'ok  ' if good else 'FAIL'} {text.name}: its program makes showers of {energies} GeV")
    return 0 if ok and good else 1


if __name__ == "__main__":
    sys.exit(main())
