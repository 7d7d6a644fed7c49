"""The 3DGAN once more, in TensorFlow, written from the published layer lists: what linac's own is compared with.

Two forms that share no computation: Keras models (build_generator, build_discriminator) and plain TensorFlow functions
of given weights (run_generator, run_discriminator), which take the dropout masks as arguments and return the batch
statistics. Layers carry linac's names. An image is (batch, x, y, z, channel); D sees it raised to `power`.
"""

import math
import os
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")  # plain Eigen kernels
sys.modules["sklearn"] = None  # Keras imports it for wrappers that nothing here uses: 1.6 s of the processor

import keras  # noqa: E402
import tensorflow as tf  # noqa: E402
from keras import layers  # noqa: E402

SHAPE = (51, 51, 25, 1)
LATENT = 256
POWER = 0.85
BN_EPSILON = 1e-6
BN_MOMENTUM = 0.99
LEAKY_SLOPE = 0.3
DROPOUT_RATE = 0.2
LOSS_WEIGHTS = {"generation": 3.0, "auxiliary": 0.1, "angle": 25.0, "ecal": 0.1}
EMPTY_IMAGE_ANGLE = 100.0
EPSILON = 1e-7  # of Keras's losses and of the angle's projection

# number, zero padding, filters, kernel, batch normalisation
GENERATOR_BLOCKS = [
    (1, None, 8, (6, 6, 8), True),
    (2, (2, 2, 1), 6, (4, 4, 6), True),
    (3, (2, 2, 1), 6, (4, 4, 6), True),
    (4, (2, 2, 1), 6, (4, 4, 6), True),
    (5, (1, 1, 0), 6, (3, 3, 5), True),
    (6, (1, 1, 0), 6, (3, 3, 3), False),
    (7, None, 1, (2, 2, 2), False),
]
DISCRIMINATOR_BLOCKS = [
    (1, None, 16, (5, 6, 6), False),
    (2, (0, 0, 1), 8, (5, 6, 6), True),
    (3, (0, 0, 1), 8, (5, 6, 6), True),
    (4, None, 8, (5, 6, 6), True),
]


def use_threads(count):
    """Call before the first computation."""
    tf.config.threading.set_intra_op_parallelism_threads(count)
    tf.config.threading.set_inter_op_parallelism_threads(1)


def use_float(name):
    """"float64" makes a reference to measure others by. TensorFlow's float32 is none here: it sums the 10^5 cells of a
    batch statistic one after the other (1e-4), and the gradients through five normalisations magnify that to 1e-1."""
    keras.config.set_floatx(name)
    keras.config.set_dtype_policy(name)


def constant(value):
    """A tensor of the float type in use."""
    return tf.cast(tf.convert_to_tensor(value), keras.config.floatx())


def build_generator():
    """Keras model: latent (256) -> image (51, 51, 25, 1)."""
    latent = keras.Input((LATENT,), name="latent")
    x = layers.Dense(5184, kernel_initializer="glorot_normal", name="dense")(latent)
    x = layers.Reshape((9, 9, 8, 8), name="reshape")(x)
    x = layers.UpSampling3D((6, 6, 6), name="upsample")(x)
    for number, padding, filters, kernel, normalized in GENERATOR_BLOCKS:
        initializer = "he_uniform" if number < 7 else "glorot_normal"
        if padding:
            x = layers.ZeroPadding3D(padding, name=f"pad_{number}")(x)
        x = layers.Conv3D(filters, kernel, kernel_initializer=initializer, name=f"conv_{number}")(x)
        x = layers.Activation("relu", name=f"relu_{number}")(x)
        if normalized:
            x = layers.BatchNormalization(epsilon=BN_EPSILON, momentum=BN_MOMENTUM, name=f"bn_{number}")(x)
    assert tuple(x.shape[1:]) == SHAPE
    return keras.Model(latent, x, name="generator")


def build_discriminator():
    """Keras model of the learned part: image (51, 51, 25, 1) -> [generation (1), auxiliary (1)]."""
    image = keras.Input(SHAPE, name="image")
    x = image
    for number, padding, filters, kernel, normalized in DISCRIMINATOR_BLOCKS:
        if padding:
            x = layers.ZeroPadding3D(padding, name=f"pad_{number}")(x)
        x = layers.Conv3D(filters, kernel, padding="same" if number == 1 else "valid", name=f"conv_{number}")(x)
        x = layers.LeakyReLU(LEAKY_SLOPE, name=f"leaky_{number}")(x)
        if normalized:
            x = layers.BatchNormalization(epsilon=BN_EPSILON, momentum=BN_MOMENTUM, name=f"bn_{number}")(x)
        x = layers.Dropout(DROPOUT_RATE, name=f"drop_{number}")(x)
    x = layers.AveragePooling3D((2, 2, 2), name="pool")(x)
    x = layers.Flatten(name="flatten")(x)
    generation = layers.Dense(1, activation="sigmoid", name="generation")(x)
    auxiliary = layers.Dense(1, name="auxiliary")(x)
    return keras.Model(image, [generation, auxiliary], name="discriminator")


def weights_of(model):
    """{layer: {weight: tensor}} of a Keras model, e.g. ["conv_1"]["kernel"]."""
    return {
        layer.name: {variable.name: tf.convert_to_tensor(variable.value) for variable in layer.weights}
        for layer in model.layers
        if layer.weights
    }


def convolve(weights, name, x, padding="VALID"):
    y = tf.nn.conv3d(x, weights[name]["kernel"], strides=[1, 1, 1, 1, 1], padding=padding)
    return y + weights[name]["bias"]


def pad(x, padding):
    return tf.pad(x, [[0, 0]] + [[p, p] for p in padding] + [[0, 0]]) if padding else x


def normalize(weights, name, x, training, stats):
    """Batch normalisation over all axes but the channels; in training with the batch's mean and biased variance, which
    go into `stats`."""
    w = weights[name]
    if training:
        mean = tf.reduce_mean(x, axis=[0, 1, 2, 3])
        variance = tf.reduce_mean(tf.square(x - mean), axis=[0, 1, 2, 3])
        stats[name] = {"mean": mean, "variance": variance}
    else:
        mean, variance = w["moving_mean"], w["moving_variance"]
    return (x - mean) / tf.sqrt(variance + BN_EPSILON) * w["gamma"] + w["beta"]


def average_pairs(x):
    """Average pooling by 2 in each direction; TensorFlow's own has no float64."""
    for axis in (1, 2, 3):
        half = x.shape[axis] // 2
        pairs = tf.reshape(tf.gather(x, tf.range(2 * half), axis=axis), x.shape[:axis] + [half, 2] + x.shape[axis + 1 :])
        x = tf.reduce_mean(pairs, axis=axis + 1)
    return x


def run_generator(weights, latent, training):
    """Image (n, 51, 51, 25, 1) and, in training, {bn: {"mean", "variance"}}."""
    stats = {}
    x = latent @ weights["dense"]["kernel"] + weights["dense"]["bias"]
    x = tf.reshape(x, [-1, 9, 9, 8, 8])
    for axis in (1, 2, 3):
        x = tf.repeat(x, 6, axis=axis)
    for number, padding, _, _, normalized in GENERATOR_BLOCKS:
        x = tf.nn.relu(convolve(weights, f"conv_{number}", pad(x, padding)))
        if normalized:
            x = normalize(weights, f"bn_{number}", x, training, stats)
    return x, stats


def run_discriminator(weights, image, training, masks=None):
    """generation (n), auxiliary (n) and, in training, the batch statistics. `masks` holds for each dropout layer the
    factors of its input's elements, 0 or 1 / (1 - rate)."""
    stats = {}
    x = image
    for number, padding, _, _, normalized in DISCRIMINATOR_BLOCKS:
        x = convolve(weights, f"conv_{number}", pad(x, padding), "SAME" if number == 1 else "VALID")
        x = tf.where(x > 0, x, LEAKY_SLOPE * x)
        if normalized:
            x = normalize(weights, f"bn_{number}", x, training, stats)
        if masks is not None:
            x = x * masks[f"drop_{number}"]
    x = tf.reshape(average_pairs(x), [x.shape[0], -1])

    def head(name):
        return (x @ weights[name]["kernel"] + weights[name]["bias"])[:, 0]

    return tf.sigmoid(head("generation")), head("auxiliary"), stats


def ecal(image, power=POWER):
    """Sum over the cells of the image before the power, (n)."""
    return tf.reduce_sum(tf.pow(image, 1.0 / power), axis=[1, 2, 3, 4])


def divide_where(numerator, denominator, otherwise):
    """numerator / denominator, `otherwise` where the denominator is zero; no NaN reaches the gradient."""
    there = denominator > 0
    return tf.where(there, numerator / tf.where(there, denominator, 1.0), otherwise)


def angle(image, power=POWER):
    """The shower's measured angle in rad, (n): from the barycentre of each layer seen from that of the image."""
    e = tf.pow(image[..., 0], 1.0 / power)
    x, y, z = (tf.range(size, dtype=e.dtype) + 0.5 for size in SHAPE[:3])
    total = tf.reduce_sum(e, axis=[1, 2, 3])
    x_mean = divide_where(tf.einsum("nxyz,x->n", e, x), total, 1.0)[:, None]
    y_mean = divide_where(tf.einsum("nxyz,y->n", e, y), total, 1.0)[:, None]
    z_mean = divide_where(tf.einsum("nxyz,z->n", e, z), total, 1.0)[:, None]
    layer = tf.reduce_sum(e, axis=[1, 2])
    x_layer = divide_where(tf.einsum("nxyz,x->nz", e, x), layer, 0.0)
    y_layer = divide_where(tf.einsum("nxyz,y->nz", e, y), layer, 0.0)

    projection = tf.sqrt(tf.maximum((x_layer - x_mean) ** 2 + (z - z_mean) ** 2, EPSILON))
    m = (y_layer - y_mean) / projection
    m = tf.where(z < z_mean, -m, m)
    layer_angle = math.pi / 2 - tf.atan(m)
    weight = tf.where(layer > 0, z[None, :], 0.0)
    return divide_where(
        tf.reduce_sum(weight * layer_angle, axis=1), tf.reduce_sum(weight, axis=1), EMPTY_IMAGE_ANGLE
    )


def losses(outputs, targets):
    """Means over the batch. Both arguments: {"generation", "auxiliary", "angle", "ecal"}, (n) each."""
    p = tf.clip_by_value(outputs["generation"], EPSILON, 1 - EPSILON)
    label = targets["generation"]

    def percentage(name):
        return tf.reduce_mean(100 * tf.abs(targets[name] - outputs[name]) / tf.maximum(tf.abs(targets[name]), EPSILON))

    parts = {
        "generation": -tf.reduce_mean(label * tf.math.log(p) + (1 - label) * tf.math.log(1 - p)),
        "auxiliary": percentage("auxiliary"),
        "angle": tf.reduce_mean(tf.abs(targets["angle"] - outputs["angle"])),
        "ecal": percentage("ecal"),
    }
    parts["total"] = tf.add_n([LOSS_WEIGHTS[name] * part for name, part in parts.items()])
    return parts


def step(phase, generator, discriminator, given, targets, masks):
    """One forward and backward pass. `phase` is "d_real" or "d_fake" (`given` is the image; gradients of D) or "g"
    (`given` is the latent vector; gradients of G through D, both in training mode). Returns outputs, losses, gradients
    {layer: {weight: tensor}} of the updated network's trainable weights and its batch statistics."""
    updated = generator if phase == "g" else discriminator
    watched = {
        (layer, name): tensor
        for layer, tensors in updated.items()
        for name, tensor in tensors.items()
        if not name.startswith("moving_")
    }
    with tf.GradientTape() as tape:
        tape.watch(list(watched.values()))
        image, stats = run_generator(generator, given, training=True) if phase == "g" else (given, {})
        generation, auxiliary, d_stats = run_discriminator(discriminator, image, True, masks)
        outputs = {"generation": generation, "auxiliary": auxiliary, "angle": angle(image), "ecal": ecal(image)}
        parts = losses(outputs, targets)
    found = tape.gradient(parts["total"], watched)
    gradients = {}
    for (layer, name), gradient in found.items():
        gradients.setdefault(layer, {})[name] = gradient
    if phase == "g":
        outputs["image"] = image[..., 0]
    return outputs, parts, gradients, stats if phase == "g" else d_stats
