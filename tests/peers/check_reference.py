"""The reference against itself: its TensorFlow functions against its Keras layers, Keras's losses and a plain loop, and
the comparison of a dump against a step computed by the Keras layers (which must pass) and one with an error in it (which
must not). No argument; exit status 1 on a failure."""

import math
import sys
import tempfile

import h5py
import numpy as np

import reference_test
from lib import threedgan_reference as reference

keras, tf = reference.keras, reference.tf
BATCH = 2
rng = np.random.default_rng(7)
failures = 0


def expect(name, error, limit):
    global failures
    ok = bool(error <= limit)
    failures += not ok
    print(f"{'ok  ' if ok else 'FAIL'} {name}: {error:.2e} (limit {limit:g})")


def relative(a, b):
    a, b = np.asarray(a, np.float64), np.asarray(b, np.float64)
    return np.abs(a - b).max() / max(np.abs(b).max(), 1e-30)


def sparse_images(count):
    """Something like showers after the power: few cells lit, layers that are empty."""
    images = rng.exponential(1.0, (count,) + reference.SHAPE) * (rng.random((count,) + reference.SHAPE) < 0.05)
    images[:, :, :, :3] = 0
    images[0, :, :, 20:] = 0
    return (images**reference.POWER).astype(np.float32)


def randomize(model):
    """Weights away from their initial values, where many errors cannot be seen (beta = 0, gamma = 1)."""
    for layer in model.layers:
        for variable in layer.weights:
            value = np.asarray(variable.value)
            if "variance" in variable.name or "gamma" in variable.name:
                variable.assign(value * rng.uniform(0.8, 1.2, value.shape))
            elif value.ndim == 1:
                variable.assign(value + rng.normal(0, 0.02, value.shape))


def random_masks():
    keep = 1 - reference.DROPOUT_RATE
    shapes = {layer.name: layer.output.shape[1:] for layer in reference.build_discriminator().layers}
    return {
        name: ((rng.random((BATCH,) + tuple(shape)) < keep) / keep).astype(np.float32)
        for name, shape in shapes.items()
        if name.startswith("drop_")
    }


def run_layers(layers, x, masks):
    """Keras layers one by one in training mode, with given dropout."""
    for layer in layers:
        if isinstance(layer, keras.layers.Dropout):
            x = x * masks[layer.name]
        elif isinstance(layer, keras.layers.AveragePooling3D):
            x = reference.average_pairs(x)  # there is no float64 kernel; check_inference has compared it in float32
        elif isinstance(layer, keras.layers.BatchNormalization):
            x = layer(x, training=True)
        else:
            x = layer(x)
    return x


def plain_angle(image):
    """The angle of one image (x, y, z) by loops."""
    e = image.astype(np.float64) ** (1 / reference.POWER)
    x, y, z = (np.arange(size) + 0.5 for size in e.shape)
    x_mean = (e.sum(axis=(1, 2)) * x).sum() / e.sum()
    y_mean = (e.sum(axis=(0, 2)) * y).sum() / e.sum()
    z_mean = (e.sum(axis=(0, 1)) * z).sum() / e.sum()
    above = below = 0.0
    for k in range(e.shape[2]):
        layer = e[:, :, k]
        if layer.sum() == 0:
            continue
        x_k, y_k = (layer.sum(axis=1) * x).sum() / layer.sum(), (layer.sum(axis=0) * y).sum() / layer.sum()
        m = (y_k - y_mean) / math.sqrt(max((x_k - x_mean) ** 2 + (z[k] - z_mean) ** 2, 1e-7))
        if z[k] < z_mean:
            m = -m
        above += z[k] * (math.pi / 2 - math.atan(m))
        below += z[k]
    return above / below


def check_inference(generator, discriminator):
    latent = rng.normal(size=(BATCH, reference.LATENT)).astype(np.float32)
    image = sparse_images(BATCH)
    found, _ = reference.run_generator(reference.weights_of(generator), latent, False)
    expect("generator, inference", relative(found, generator(latent, training=False)), 1e-5)
    generation, auxiliary, _ = reference.run_discriminator(reference.weights_of(discriminator), image, False)
    by_keras = discriminator(image, training=False)
    expect("discriminator generation, inference", relative(generation, by_keras[0][:, 0]), 1e-5)
    expect("discriminator auxiliary, inference", relative(auxiliary, by_keras[1][:, 0]), 1e-5)


def check_heads():
    images = sparse_images(4)
    expected = [plain_angle(image[..., 0]) for image in images]
    expect("angle against loops", relative(reference.angle(tf.constant(images)), expected), 1e-5)
    images[3] = 0
    expect("angle of an empty image", relative(reference.angle(tf.constant(images))[3], 100), 0)
    sums = (images.astype(np.float64) ** (1 / reference.POWER)).sum(axis=(1, 2, 3, 4))
    expect("ecal", relative(reference.ecal(tf.constant(images)), sums), 1e-5)
    with tf.GradientTape() as tape:
        variable = tf.Variable(images)
        total = tf.reduce_sum(reference.angle(variable)) + tf.reduce_sum(reference.ecal(variable))
    gradient = tape.gradient(total, variable).numpy()
    expect("gradient of the heads is finite", 0 if np.isfinite(gradient).all() else np.inf, 0)


def check_losses():
    outputs = {name: tf.constant(rng.uniform(0.1, 0.9, 8), tf.float32) for name in reference.LOSS_WEIGHTS}
    targets = {name: tf.constant(rng.uniform(0.1, 0.9, 8), tf.float32) for name in reference.LOSS_WEIGHTS}
    targets["generation"] = tf.constant([0, 1, 1, 0, 1, 0, 0, 1], tf.float32)
    found = reference.losses(outputs, targets)
    by_keras = {
        "generation": keras.losses.BinaryCrossentropy(),
        "auxiliary": keras.losses.MeanAbsolutePercentageError(),
        "angle": keras.losses.MeanAbsoluteError(),
        "ecal": keras.losses.MeanAbsolutePercentageError(),
    }
    for name, loss in by_keras.items():
        # Keras averages over the last axis first, so each value is a row of its own.
        expect(f"loss {name}", relative(found[name], loss(targets[name][:, None], outputs[name][:, None])), 1e-6)
    total = sum(weight * float(found[name]) for name, weight in reference.LOSS_WEIGHTS.items())
    expect("loss total", relative(found["total"], total), 1e-6)


def layers_step(phase, generator, discriminator, given, targets, masks):
    """reference.step by the Keras layers instead; no statistics of the batch but through the moving averages."""
    updated = generator if phase == "g" else discriminator
    before = reference.weights_of(updated)
    with tf.GradientTape() as tape:
        image = run_layers(generator.layers[1:], given, masks) if phase == "g" else given
        flat = run_layers(discriminator.layers[1:-2], image, masks)
        outputs = {name: discriminator.get_layer(name)(flat)[:, 0] for name in ("generation", "auxiliary")}
        outputs |= {"angle": reference.angle(image), "ecal": reference.ecal(image)}
        losses = reference.losses(outputs, targets)
    variables = {f"{layer.name}/{v.name}": v.value for layer in updated.layers for v in layer.trainable_variables}
    found = tape.gradient(losses["total"], variables)
    after = reference.weights_of(updated)
    if phase == "g":
        outputs["image"] = image[..., 0]
    stats = {}
    for layer in before:
        if layer.startswith("bn_"):
            stats[layer] = {
                name: (after[layer]["moving_" + name] - reference.BN_MOMENTUM * before[layer]["moving_" + name])
                / (1 - reference.BN_MOMENTUM)
                for name in ("mean", "variance")
            }
    return {"out": outputs, "loss": losses, "grad": found, "stats": stats}


def write_dump(path, generator, discriminator):
    """A dump as linac would write it, by the Keras layers."""
    with h5py.File(path, "w") as file:
        for model in (generator, discriminator):
            for name, value in reference_test.flatten(reference.weights_of(model)):
                file[f"{model.name}/weights/{name}"] = value
        for phase in reference_test.PHASES:
            group = file.create_group(f"phases/{phase}")
            images = sparse_images(BATCH)
            latent = rng.normal(size=(BATCH, reference.LATENT)).astype(np.float32)
            inputs = {"label": [1.0, 0.0], "energy": [0.4, 0.9], "angle": [1.4, 1.7], "ecal": [1500.0, 2500.0]}
            inputs = {name: np.array(value, np.float32) for name, value in inputs.items()}
            masks = random_masks()
            targets = {"generation": inputs["label"], "auxiliary": inputs["energy"]}
            targets |= {name: inputs[name] for name in ("angle", "ecal")}
            given = latent if phase == "g" else images
            found = layers_step(
                phase,
                generator,
                discriminator,
                reference.constant(given),
                {name: reference.constant(target) for name, target in targets.items()},
                {name: reference.constant(mask) for name, mask in masks.items()},
            )
            inputs["latent" if phase == "g" else "image"] = latent if phase == "g" else images[..., 0]
            for name, value in reference_test.flatten({**inputs, "dropout": masks, **found}):
                group[name] = value
            # The moving averages have moved; every phase is to start from the same weights.
            for model in (generator, discriminator):
                for layer in model.layers:
                    for variable in layer.weights:
                        variable.assign(file[f"{model.name}/weights/{layer.name}/{variable.name}"][()])


def check_dump(generator, discriminator):
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/dump.h5"
        write_dump(path, generator, discriminator)
        rows = reference_test.check(path)
        expect("dump by Keras layers", max(rows)[0], 1e-6)
        with h5py.File(path, "a") as file:
            file["phases/g/grad/conv_3/kernel"][0, 0, 0, 0, 0] += 1.0
            del file["phases/d_real/out/angle"]
        failed = {name for error, name, _ in reference_test.check(path) if error > 1e-3}
        wanted = {"g/grad/conv_3/kernel", "d_real/out/angle"}
        expect("errors put into a dump are found, and only those", 0 if failed == wanted else np.inf, 0)


def networks():
    generator, discriminator = reference.build_generator(), reference.build_discriminator()
    randomize(generator)
    randomize(discriminator)
    return generator, discriminator


def main():
    reference.use_threads(2)
    check_inference(*networks())
    check_heads()
    check_losses()
    reference.use_float("float64")
    check_dump(*networks())
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
