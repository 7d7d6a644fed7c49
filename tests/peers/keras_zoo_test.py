"""Small Keras models of every layer, computed by Keras and by linac: keras_zoo_test.py RUN_KERAS FOLDER [--long | MODEL...]

Keras makes each model, gives it weights and inputs, and computes outputs and gradients. RUN_KERAS (run_keras.cpp) reads
the same file, computes the same, and writes the model back, which Keras loads and computes again. Names that end in
"training" are computed so, batch statistics included; Keras then drops what RUN_KERAS has dropped, and varies images by
the numbers that RUN_KERAS has drawn. Exit status 1 beyond the limits. With models: only those, by name or as a
file; without, those of the short test, and with --long the rest.
"""

import contextlib
import os
import pathlib
import shutil
import subprocess
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("KERAS_BACKEND", "tensorflow")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
sys.modules["sklearn"] = None  # Keras imports it for wrappers that nothing here uses: 1.6 s of the processor

import h5py
import keras
import numpy as np
import tensorflow as tf
from keras.src import backend
from keras import layers as L
from keras import ops

import traced_models
from lib.skips import skipped

LIMIT = 1e-5  # largest difference of an output, relative to the largest of the array (or to 1)
GRADIENT_LIMIT = 2e-5  # of a gradient, likewise: sums of many terms
EVENTS = 5


def sequential(shape, *chain):
    x = inputs = keras.Input(shape)
    for layer in chain:
        x = layer(x)
    return keras.Model(inputs, x)


def joined(shapes, layer):
    inputs = [keras.Input(shape) for shape in shapes]
    return keras.Model(inputs, layer(inputs))


def masked_joined(layer):
    """Two sequences with masks of their own, joined."""
    a, b = keras.Input((6, 4)), keras.Input((6, 4))
    x = layer([L.Masking()(a), L.Masking()(b)])
    return keras.Model([a, b], L.GRU(3)(x))


def shared():
    a, b = keras.Input((6,)), keras.Input((6,))
    dense = L.Dense(4, activation="tanh")
    return keras.Model([a, b], L.Concatenate()([dense(a), dense(b), dense(L.Dense(6)(a))]))


def nested(times):
    inner = keras.Sequential([keras.Input((6,)), L.Dense(5, activation="relu"), L.Dense(6)], name="inner")
    x = inputs = keras.Input((6,))
    for _ in range(times):
        x = inner(x)
    return keras.Model(inputs, L.Dense(2)(x))


def nested_functional():
    a, b = keras.Input((4,)), keras.Input((4,))
    inner = keras.Model([a, b], [L.Dense(3)(L.Add()([a, b])), L.Dense(2)(a)], name="two")
    x, y = keras.Input((4,)), keras.Input((4,))
    first, second = inner([x, y])
    deep = keras.Model([x, y], L.Concatenate()([second, first]), name="deep")
    z, w = keras.Input((4,)), keras.Input((4,))
    return keras.Model([z, w], L.Dense(2)(deep([w, z])))


def several_outputs():
    x = keras.Input((6,))
    hidden = L.Dense(8, activation="relu")(x)
    return keras.Model(x, [L.Dense(3, activation="softmax")(hidden), L.Dense(1)(hidden), hidden])


def attention(masked=False, **call):
    q, v = keras.Input((5, 6)), keras.Input((7, 4))
    queries, values = (L.Masking()(q), L.Masking()(v)) if masked else (q, v)
    return keras.Model([q, v], L.MultiHeadAttention(2, 3, value_dim=4)(queries, values, **call))


def attention_with_key():
    q, v, k = keras.Input((5, 6)), keras.Input((7, 4)), keras.Input((7, 3))
    return keras.Model([q, v, k], L.MultiHeadAttention(2, 3, use_bias=False, output_shape=5)(q, v, k))


def attention_dropped(masked):
    q, v = keras.Input((5, 6)), keras.Input((7, 4))
    queries, values = (L.Masking()(q), L.Masking()(v)) if masked else (q, v)
    return keras.Model([q, v], L.MultiHeadAttention(2, 3, dropout=0.4)(queries, values))


def norm_of_steps(**settings):
    norm = L.BatchNormalization(**settings)
    return sequential((7, 4), L.Masking(), L.Dense(3), norm, L.Dense(3), L.GlobalAveragePooling1D())


def norm_of_all_steps():
    """Steps behind the mask count again, so their gradient reaches the moments."""
    x = L.BatchNormalization(momentum=0.3)(L.Dense(3)(L.Masking()(inputs := keras.Input((7, 4)))))
    return keras.Model(inputs, L.Dense(2)(L.Flatten()(x)))


def transformer(masked=True):
    x = inputs = keras.Input((8, 6))
    x = L.Masking()(x) if masked else x
    x = L.LayerNormalization()(L.Add()([x, L.MultiHeadAttention(2, 3)(x, x)]))
    x = L.LayerNormalization()(L.Add()([x, L.Dense(6)(L.Dense(12, activation="gelu")(x))]))
    return keras.Model(inputs, L.Dense(3, activation="softmax")(L.GlobalAveragePooling1D()(x)))


def residual():
    """Convolutions, normalisations and activations in the order of residual networks."""
    x = inputs = keras.Input((9, 8, 3))
    x = L.ReLU()(L.BatchNormalization()(L.Conv2D(20, 3, padding="same", use_bias=False)(x)))
    y = L.Activation("relu")(L.BatchNormalization()(L.Conv2D(20, (2, 4), padding="same")(x)))
    y = L.BatchNormalization()(L.Conv2D(20, 3, padding="same", use_bias=False)(y))
    x = L.LeakyReLU(negative_slope=0.1)(L.Add()([x, y]))
    x = L.AveragePooling2D(2)(L.Conv2D(5, 3, activation="relu")(L.ZeroPadding2D(((1, 0), (0, 2)))(x)))
    return keras.Model(inputs, L.Dense(3)(L.Flatten()(x)))


def mask_by_operations():
    """As in the Inclusive Classifier of the field: the mask is computed by keras.ops and handed over by name."""
    x, h = keras.Input((9, 4)), keras.Input((3,))
    mask = ops.any(ops.not_equal(x, 0.0), axis=-1)
    particles = L.GRU(5)(L.Masking()(x), mask=mask)
    joined_ = L.Concatenate()([L.Dropout(0.2)(particles), h])
    return keras.Model([x, h], L.Dense(3, activation="softmax")(L.Dense(4, activation="relu")(joined_)))


def operations():
    a, b = keras.Input((4, 3)), keras.Input((4, 3))
    x = a * 2.0 - b / 3.0 + 0.5
    x = ops.tanh(x) + ops.exp(-ops.square(b)) * ops.sqrt(ops.abs(a) + 1.0)
    x = ops.maximum(x, ops.minimum(a, b)) - ops.sigmoid(a)
    y = ops.sum(x, axis=-1, keepdims=True) + ops.mean(x, axis=2, keepdims=True)
    return keras.Model([a, b], [y, ops.max(x, axis=1), ops.log(ops.abs(x) + 1.0)])


def elementary():
    a = keras.Input((4, 3))
    x = ops.sin(a) + ops.cos(a) * ops.expm1(a) - ops.log1p(ops.abs(a)) + ops.rsqrt(ops.square(a) + 1.0)
    x = x + ops.relu(a) - ops.silu(a) * ops.softplus(a) + ops.power(ops.abs(a) + 0.5, 1.5)
    x = ops.clip(x, -2.0, 2.0) + ops.sign(a) + ops.floor(a) - ops.ceil(a)
    return keras.Model(a, [x, ops.min(x, axis=1), ops.prod(ops.clip(x, 0.5, 1.5), axis=[1, 2])])


def choices():
    a, b = keras.Input((4, 3)), keras.Input((4, 3))
    between = ops.logical_and(ops.greater(a, b), ops.less(a, 1.0))
    either = ops.logical_not(ops.logical_or(ops.greater_equal(a, 0.5), ops.less_equal(b, -0.5)))
    x = ops.where(between, a, b * 2.0) + ops.cast(either, "float32") * ops.divide(a, 3.0)
    counted = ops.cast(ops.all(ops.equal(a, ops.maximum(a, b)), axis=-1), "float32")
    return keras.Model([a, b], [x, counted, x + ops.ones_like(a)])


def moved():
    a = keras.Input((4, 3))
    x = ops.transpose(ops.expand_dims(a, axis=-1), (0, 2, 1, 3))
    return keras.Model(a, [ops.squeeze(x, axis=-1), ops.matmul(a, ops.transpose(a, (0, 2, 1)))])


def taken_apart():
    a = keras.Input((4, 6))
    first, second, third = ops.split(a, 3, axis=-1)
    head, tail = ops.split(a, [3], axis=1)
    steps = ops.unstack(a, axis=1)
    values, places = ops.top_k(a, 2)
    largest = values * 2.0 + ops.cast(places, "float32")
    return keras.Model(a, [first * third, L.Dense(2)(second), head, tail, steps[0] - steps[3], largest])


def states(layer, masked=True):
    """All that the layer returns."""
    inputs = keras.Input((7, 4))
    return keras.Model(inputs, list(layer(L.Masking()(inputs) if masked else inputs)))


def decoder(encoder, layer, masked=False, named=False):
    """The states of one layer are what another begins with. Masks of its sequence count if they are given by name, and are handed on in
    any case."""
    a, b = keras.Input((7, 4)), keras.Input((6, 4))
    _, *begin = encoder(L.Masking()(a) if masked else a)
    given = {"mask": ops.any(ops.not_equal(b, 0.0), axis=-1)} if named else {}
    x = layer(L.Masking()(b) if masked else b, initial_state=begin, **given)
    return keras.Model([a, b], L.GlobalAveragePooling1D()(L.Dense(3)(x)) if masked else L.Dense(3)(x))


def unmerged(**settings):
    inputs = keras.Input((7, 4))
    both = L.Bidirectional(L.GRU(3, **settings), merge_mode=None)(L.Masking()(inputs))
    return keras.Model(inputs, [L.GlobalAveragePooling1D()(x) for x in both] if settings else list(both))


def attention_scores(**settings):
    q, v = keras.Input((5, 6)), keras.Input((7, 4))
    made = L.MultiHeadAttention(2, 3, **settings)(L.Masking()(q), L.Masking()(v), return_attention_scores=True)
    return keras.Model([q, v], list(made))


def more_functions():
    a, b = keras.Input((4, 3)), keras.Input((4, 3))
    x = ops.tan(ops.tanh(a)) + ops.sinh(b) * ops.cosh(a) - ops.arctan(b) + ops.arcsinh(a)
    x = x + ops.arcsin(ops.tanh(b) * 0.9) * ops.arccos(ops.tanh(a) * 0.9) + ops.log10(ops.abs(a) + 0.1)
    x = x + ops.reciprocal(ops.abs(b) + 0.5) + ops.round(a) * ops.erf(b) + ops.arctan2(a, b) + ops.mod(a, 0.7)
    y = ops.selu(a) + ops.elu(b, 0.7) + ops.leaky_relu(a, 0.3) + ops.gelu(b) + ops.gelu(a, approximate=False)
    moments = ops.var(x, axis=-1, keepdims=True) + ops.std(y, axis=[1, 2], keepdims=True)
    return keras.Model([a, b], [x, y, moments, ops.norm(x + y, axis=1), ops.logsumexp(30 * x, axis=1)])


def arrays():
    a, b = keras.Input((4, 5, 3)), keras.Input((1, 3, 6))
    parts = [a[:, 1:, 0], a[:, -2::-1, -1], a[..., 2, :][:, :3]]
    return keras.Model([a, b], [
        ops.stack(parts, axis=-1), ops.softmax(a, axis=2), ops.swapaxes(a, 1, -1), ops.reshape(a, (-1, 10, 6)), a[:, None, 1, ::2],
        ops.matmul(a, b), ops.einsum("nijk,nxkl->nlji", a, b), ops.einsum("bij,bkj->bik", parts[0], parts[1]),
    ])  # fmt: skip


def neighbours():
    """An EdgeConv, as ParticleNet has it: what is nearest is taken along the axis of the particles."""
    points, kinds = keras.Input((6, 3)), keras.Input((6,))
    inner = ops.matmul(points, ops.transpose(points, (0, 2, 1)))
    nearest = ops.top_k(inner, 4)[1][:, :, 1:]
    taken = ops.take_along_axis(ops.expand_dims(points, 1), ops.expand_dims(nearest, -1), axis=2)
    edges = ops.concatenate([taken, taken - ops.expand_dims(points, 2)], axis=-1)
    hot = ops.one_hot(ops.round(ops.abs(kinds)), 3)
    return keras.Model([points, kinds], [ops.mean(L.Dense(5, activation="relu")(edges), axis=2), ops.one_hot(nearest, 6), L.Concatenate()([points, hot])])


def rnn(cell, mask=True, **settings):
    chain = [L.Masking()] if mask else []
    return sequential((7, 4), *chain, cell(5, **settings))


def embedded(**settings):
    return sequential((7,), L.Embedding(11, 4, mask_zero=True), L.LSTM(3, **settings))


def bidirectional(cell, mask=True, merge="concat", **settings):
    chain = [L.Masking()] if mask else []
    return sequential((7, 4), *chain, L.Bidirectional(cell(3, **settings), merge_mode=merge))


def open_attention():
    x = L.Masking()(inputs := keras.Input((None, 6)))
    x = L.LayerNormalization()(L.Add()([x, L.MultiHeadAttention(2, 3)(x, x)]))
    return keras.Model(inputs, L.Dense(3)(L.GlobalAveragePooling1D()(x)))


def open_operations():
    x = L.Dense(5, activation="relu")(inputs := keras.Input((None, 4)))
    weights = ops.exp(x) / ops.sum(ops.exp(x), axis=1, keepdims=True)
    return keras.Model(inputs, [ops.max(x, axis=1), ops.mean(x * weights, axis=1), L.Softmax(axis=1)(x)])


def open_encoder_decoder():
    """Two lengths that know nothing of each other."""
    a, b = keras.Input((None, 4)), keras.Input((None, 3))
    _, *begin = L.LSTM(5, return_state=True)(L.Masking()(a))
    return keras.Model([a, b], L.Dense(2)(L.LSTM(5, return_sequences=True)(b, initial_state=begin)))


# Sizes that are left open; the events that are computed have SIZES of them.
OPEN = {
    "open_lstm": lambda: sequential((None, 4), L.Masking(), L.LSTM(5)),
    "open_gru": lambda: sequential((None, 4), L.GRU(5, return_sequences=True), L.Dense(2)),
    "open_bidirectional": lambda: sequential(
        (None, 4), L.Masking(), L.Bidirectional(L.GRU(3, return_sequences=True)), L.TimeDistributed(L.Dense(2))
    ),
    "open_conv1d": lambda: sequential(
        (None, 4), L.Conv1D(6, 3, padding="same"), L.UpSampling1D(3), L.Conv1D(2, 2, strides=2), L.GlobalMaxPooling1D()
    ),
    "open_embedding": lambda: sequential((None,), L.Embedding(11, 4, mask_zero=True), L.GRU(3)),
    "open_images": lambda: sequential(
        (None, None, 1), L.Conv2D(4, 3), L.BatchNormalization(), L.MaxPooling2D(2), L.GlobalAveragePooling2D(), L.Dense(2)
    ),
    "open_attention": open_attention,
    "open_operations": open_operations,
    "open_encoder_decoder": open_encoder_decoder,
}
SIZES = (9, 8)

def varied(*fills):
    chain = []
    for fill in fills:
        settings = {"fill_mode": fill, "fill_value": 0.3}
        chain += [L.RandomTranslation((-0.9, 0.6), 0.7, **settings), L.RandomZoom((-0.4, 0.8), (0.5, -0.2), **settings)]
        settings["interpolation"] = "nearest"
        chain += [L.RandomZoom(-0.7, **settings), L.RandomRotation(0.4, **settings)]
    return sequential((7, 6, 2), *chain, L.RandomRotation((-0.2, 0.5), fills[0]), L.Conv2D(2, 2))


def varied_values():
    return [L.RandomContrast((0.3, 0.8), value_range=(-1.5, 2)), L.RandomBrightness((-0.1, 0.2), value_range=(-1, 1))]


MODELS = {
    "dense": lambda: sequential((6,), L.Dense(4, activation="relu"), L.Dense(3)),
    "dense_of_steps": lambda: sequential((5, 6), L.Dense(4, use_bias=False)),
    "einsum_dense": lambda: sequential(
        (5, 6), L.EinsumDense("abc,cde->abde", output_shape=(None, 2, 3), bias_axes="de", activation="tanh")
    ),
    "einsum_dense_outer_bias": lambda: sequential((5, 6), L.EinsumDense("abc,cd->adb", (4, 5), bias_axes="d")),
    "conv1d": lambda: sequential((9, 4), L.Conv1D(6, 3, padding="same", activation="relu")),
    "conv1d_causal": lambda: sequential((9, 4), L.Conv1D(6, 3, padding="causal", dilation_rate=2)),
    "conv1d_strided": lambda: sequential((10, 4), L.Conv1D(6, 4, strides=3, padding="same")),
    "conv2d": lambda: sequential((9, 8, 4), L.Conv2D(6, (3, 2), strides=2, padding="same"), L.Conv2D(2, 2)),
    "conv2d_groups": lambda: sequential((7, 6, 4), L.Conv2D(6, 3, groups=2, dilation_rate=2)),
    "conv3d": lambda: sequential((6, 5, 4, 3), L.Conv3D(4, 3, padding="same"), L.Conv3D(2, (2, 3, 1), strides=2)),
    "conv1d_transpose": lambda: sequential((6, 4), L.Conv1DTranspose(3, 4, strides=3), L.Conv1DTranspose(2, 3)),
    "conv2d_transpose": lambda: sequential((5, 4, 3), L.Conv2DTranspose(4, 3, strides=2, padding="same")),
    "conv2d_transpose_small": lambda: sequential((5, 4, 3), L.Conv2DTranspose(4, 2, strides=3)),
    "conv2d_transpose_dilated": lambda: sequential((5, 4, 3), L.Conv2DTranspose(4, 3, dilation_rate=2)),
    "conv3d_transpose": lambda: sequential((3, 4, 2, 3), L.Conv3DTranspose(2, 3, strides=2, padding="same")),
    "depthwise1d": lambda: sequential((9, 4), L.DepthwiseConv1D(3, depth_multiplier=2, activation="tanh")),
    "depthwise2d": lambda: sequential((7, 6, 3), L.DepthwiseConv2D(3, strides=2, padding="same")),
    "separable1d": lambda: sequential((9, 4), L.SeparableConv1D(5, 3, depth_multiplier=2)),
    "separable2d": lambda: sequential((7, 6, 3), L.SeparableConv2D(5, 3, padding="same", activation="relu")),
    "average_pooling": lambda: sequential((9, 7, 3), L.AveragePooling2D(3, strides=2, padding="same")),
    "average_pooling1d": lambda: sequential((9, 3), L.AveragePooling1D(2), L.Dense(2)),
    "average_pooling3d": lambda: sequential((6, 5, 4, 2), L.AveragePooling3D((2, 3, 2), padding="same")),
    "max_pooling": lambda: sequential((9, 7, 3), L.Conv2D(4, 2), L.MaxPooling2D(3, strides=2, padding="same")),
    "max_pooling1d": lambda: sequential((9, 3), L.MaxPooling1D(2)),
    "max_pooling3d": lambda: sequential((6, 5, 4, 2), L.MaxPooling3D(2)),
    "max_pooling3d_between_training": lambda: sequential(
        (7, 6, 9, 2), L.Conv3D(4, 3, padding="same", activation="relu"), L.MaxPooling3D(2),
        L.BatchNormalization(), L.Conv3D(3, 2), L.LeakyReLU(0.2), L.MaxPooling3D((2, 1, 3)),
    ),
    "global_pooling": lambda: sequential((6, 5, 4), L.Conv2D(3, 2), L.GlobalAveragePooling2D(), L.Dense(2)),
    "global_max_pooling": lambda: sequential((6, 5, 4, 3), L.Conv3D(3, 2), L.GlobalMaxPooling3D(keepdims=True)),
    "global_pooling_masked": lambda: sequential((6, 4), L.Masking(), L.GlobalAveragePooling1D(), L.Dense(2)),
    "global_max_pooling2d": lambda: sequential((6, 5, 3), L.GlobalMaxPooling2D()),
    "global_average_pooling3d": lambda: sequential((4, 3, 5, 2), L.GlobalAveragePooling3D(keepdims=True)),
    "global_max_pooling1d": lambda: sequential((6, 4), L.GlobalMaxPooling1D()),
    "batch_norm": lambda: sequential((5, 4, 3), L.Conv2D(4, 2), L.BatchNormalization(), L.ReLU()),
    "batch_norm_training": lambda: sequential((5, 4, 3), L.Conv2D(4, 2), L.BatchNormalization(), L.ReLU()),
    "batch_norm_axis_training": lambda: sequential((5, 4, 3), L.BatchNormalization(axis=1, scale=False)),
    "batch_norm_features_training": lambda: sequential((6,), L.Dense(5), L.BatchNormalization(center=False)),
    "batch_norm_masked_training": norm_of_steps,
    "batch_norm_masked_axis_training": lambda: norm_of_steps(axis=1, momentum=0.5, center=False),
    "batch_norm_masked_plain_training": lambda: norm_of_steps(scale=False, center=False, epsilon=0.1),
    "batch_norm_all_steps_training": norm_of_all_steps,
    "batch_norm_masked": norm_of_steps,
    "layer_norm": lambda: sequential((5, 6), L.Dense(4), L.LayerNormalization(epsilon=1e-4)),
    "layer_norm_axes": lambda: sequential((5, 6), L.LayerNormalization(axis=[1, 2], center=False)),
    "rms_norm": lambda: sequential((5, 6), L.RMSNormalization()),
    "group_norm": lambda: sequential((5, 4, 6), L.GroupNormalization(groups=3)),
    "instance_norm": lambda: sequential((5, 4, 6), L.GroupNormalization(groups=-1, scale=False)),
    "unit_norm": lambda: sequential((5, 6), L.Dense(4), L.UnitNormalization()),
    "normalization": lambda: sequential((6,), adapted(L.Normalization()), L.Dense(2)),
    "normalization_constants": lambda: sequential((2,), L.Normalization(mean=[1.0, 2.0], variance=[2.0, 3.0])),
    "rules": lambda: sequential((5, 3), L.Dense(4, kernel_constraint="max_norm", activity_regularizer="l2"), L.ActivityRegularization(0.1, 0.2)),
    "rescaling": lambda: sequential((5, 3), L.Rescaling(2.5, offset=-1.0), L.Rescaling([1.0, 2.0, 3.0])),
    "flatten": lambda: sequential((3, 4, 2), L.Flatten(), L.Dense(2)),
    "reshape": lambda: sequential((3, 4, 2), L.Reshape((6, -1)), L.Dense(2), L.Permute((2, 1))),
    "repeat": lambda: sequential((6,), L.Dense(3), L.RepeatVector(4), L.SimpleRNN(2)),
    "up_sampling": lambda: sequential((3, 2), L.UpSampling1D(3), L.Conv1D(2, 2)),
    "up_sampling2d": lambda: sequential((3, 4, 2), L.UpSampling2D((2, 3)), L.Conv2D(2, 2)),
    "up_sampling2d_bilinear": lambda: sequential((3, 4, 2), L.UpSampling2D(2, interpolation="bilinear")),
    "up_sampling3d": lambda: sequential((3, 4, 2, 2), L.UpSampling3D(2), L.Conv3D(2, 2)),
    "padding": lambda: sequential((5, 3), L.ZeroPadding1D((1, 2)), L.Cropping1D((2, 1)), L.ZeroPadding1D(1)),
    "padding2d": lambda: sequential((5, 4, 3), L.ZeroPadding2D(((1, 2), (0, 3))), L.Cropping2D((1, 2))),
    "padding_of_negatives": lambda: sequential(
        (5, 4, 3), L.Conv2D(3, 2, activation="log_softmax"), L.ZeroPadding2D(1), L.MaxPooling2D(2, strides=1), L.Conv2D(2, 2, activation="softmax")
    ),
    "padding3d": lambda: sequential((5, 4, 3, 2), L.ZeroPadding3D(1), L.Cropping3D(((1, 2), (0, 1), (2, 0)))),
    "activations": lambda: sequential(
        (6,), *[layer for name in ACTIVATIONS for layer in (L.Dense(6), L.Activation(name))]
    ),
    "relu_layer": lambda: sequential((9,), L.ReLU(max_value=0.8, negative_slope=0.1, threshold=0.2)),
    "leaky_relu": lambda: sequential((9,), L.LeakyReLU(negative_slope=0.17), L.ELU(alpha=0.7)),
    "prelu": lambda: sequential((4, 5, 2), L.PReLU(shared_axes=[1, 2]), L.PReLU()),
    "softmax": lambda: sequential((4, 5), L.Softmax(axis=1), L.Softmax()),
    "dropouts": lambda: sequential(
        (4, 5), L.Dropout(0.3), L.SpatialDropout1D(0.2), L.GaussianDropout(0.1), L.GaussianNoise(0.1), L.AlphaDropout(0.2)
    ),
    "dropouts_of_images": lambda: sequential(
        (4, 5, 3, 2), L.SpatialDropout3D(0.2), L.Reshape((4, 15, 2)), L.SpatialDropout2D(0.3), L.Conv2D(2, 2)
    ),
    "center_crop": lambda: sequential((7, 8, 2), L.Conv2D(2, 2), L.CenterCrop(4, 5), L.CenterCrop(6, 3), L.Conv2D(2, 2)),
    "resizing": lambda: sequential(
        (6, 9, 2), L.Conv2D(2, 2), L.Resizing(9, 5), L.Resizing(4, 11), L.Resizing(7, 3, "nearest"), L.Resizing(4, 11, "nearest")
    ),
    "resizing_by_ratio": lambda: sequential(
        (7, 9, 2), L.Conv2D(2, 2), L.Resizing(5, 4, crop_to_aspect_ratio=True), L.Resizing(6, 9, pad_to_aspect_ratio=True, fill_value=0.4)
    ),
    "random_reflect_wrap_training": lambda: varied("reflect", "wrap"),
    "random_constant_nearest_training": lambda: varied("constant", "nearest"),
    "random_flip_and_dropout_training": lambda: sequential(
        (5, 4, 3), L.RandomFlip(), L.RandomFlip("horizontal"), L.Dropout(0.3), *varied_values(), L.RandomFlip("vertical"),
        L.RandomContrast(0.5, value_range=(-1, 1)), L.Conv2D(2, 2),
    ),
    "random_images": lambda: sequential(
        (5, 4, 3), L.RandomFlip(), L.RandomTranslation(0.5, 0.5), L.RandomRotation(0.5), L.RandomZoom(0.5), *varied_values(), L.Conv2D(2, 2)
    ),
    "dropout_training": lambda: sequential((4, 5), L.Dropout(0.3), L.Dense(3), L.Dropout(0.5)),
    "simple_rnn_dropout_training": lambda: rnn(L.SimpleRNN, dropout=0.3, recurrent_dropout=0.2),
    "gru_dropout_training": lambda: rnn(L.GRU, dropout=0.3, return_sequences=True),
    "gru_dropout_both_training": lambda: rnn(L.GRU, dropout=0.3, recurrent_dropout=0.2),
    "gru_dropout_state_training": lambda: rnn(L.GRU, mask=False, recurrent_dropout=0.4, go_backwards=True),
    "gru_dropout_before_training": lambda: rnn(L.GRU, dropout=0.2, recurrent_dropout=0.3, reset_after=False),
    "lstm_dropout_training": lambda: rnn(L.LSTM, dropout=0.3),
    "lstm_dropout_both_training": lambda: rnn(L.LSTM, dropout=0.3, recurrent_dropout=0.2, return_sequences=True),
    "bidirectional_dropout_training": lambda: bidirectional(L.GRU, dropout=0.3, recurrent_dropout=0.2),
    "stacked_dropout_training": lambda: sequential(
        (7, 4), L.Masking(), L.GRU(5, dropout=0.3, return_sequences=True), L.LSTM(4, recurrent_dropout=0.2), L.Dropout(0.4)
    ),
    "attention_dropout_training": lambda: attention_dropped(False),
    "attention_dropout_masked_training": lambda: attention_dropped(True),
    "add": lambda: joined([(4, 3), (4, 3), (4, 3)], L.Add()),
    "subtract": lambda: joined([(4, 3), (4, 3)], L.Subtract()),
    "multiply": lambda: joined([(4, 3), (4, 1)], L.Multiply()),
    "average": lambda: joined([(4, 3), (4, 3), (4, 3)], L.Average()),
    "maximum": lambda: joined([(4, 3), (4, 3)], L.Maximum()),
    "minimum": lambda: joined([(4, 3), (4, 3)], L.Minimum()),
    "concatenate": lambda: joined([(4, 3), (2, 3)], L.Concatenate(axis=1)),
    "dot": lambda: joined([(4, 3), (4, 5)], L.Dot(axes=1)),
    "dot_normalized": lambda: joined([(6,), (6,)], L.Dot(axes=-1, normalize=True)),
    "add_masked": lambda: masked_joined(L.Add()),
    "concatenate_masked": lambda: masked_joined(L.Concatenate()),
    "shared": shared,
    "nested": lambda: nested(1),
    "nested_shared": lambda: nested(3),
    "nested_functional": nested_functional,
    "several_outputs": several_outputs,
    "attention": attention,
    "attention_masked": lambda: attention(masked=True),
    "attention_causal": lambda: attention(use_causal_mask=True),
    "attention_with_key": attention_with_key,
    "transformer": transformer,
    "transformer_unmasked": lambda: transformer(masked=False),
    "residual": residual,
    "residual_training": residual,
    "simple_rnn": lambda: rnn(L.SimpleRNN, mask=False),
    "simple_rnn_masked": lambda: rnn(L.SimpleRNN, return_sequences=True),
    "gru": lambda: rnn(L.GRU, mask=False),
    "gru_masked": lambda: rnn(L.GRU),
    "gru_sequences": lambda: rnn(L.GRU, return_sequences=True),
    "gru_backwards": lambda: rnn(L.GRU, go_backwards=True, return_sequences=True),
    "gru_reset_before": lambda: rnn(L.GRU, reset_after=False),
    "gru_no_bias": lambda: rnn(L.GRU, use_bias=False),
    "gru_activations": lambda: rnn(L.GRU, activation="relu", recurrent_activation="hard_sigmoid"),
    "gru_linear_before": lambda: rnn(L.GRU, activation="linear", recurrent_activation="tanh", reset_after=False),
    "lstm_activations": lambda: rnn(L.LSTM, activation="relu", recurrent_activation="hard_sigmoid", return_sequences=True),
    "lstm": lambda: rnn(L.LSTM, mask=False),
    "lstm_masked": lambda: rnn(L.LSTM),
    "lstm_backwards": lambda: rnn(L.LSTM, go_backwards=True),
    "lstm_stacked": lambda: sequential((7, 4), L.Masking(), L.LSTM(5, return_sequences=True), L.LSTM(3)),
    "embedding": embedded,
    "simple_rnn_states": lambda: states(L.SimpleRNN(5, return_state=True)),
    "gru_states": lambda: states(L.GRU(5, return_state=True, return_sequences=True)),
    "gru_states_zeroed": lambda: states(L.GRU(5, return_state=True, return_sequences=True, zero_output_for_mask=True)),
    "lstm_states": lambda: states(L.LSTM(5, return_state=True, return_sequences=True)),
    "lstm_states_backwards": lambda: states(L.LSTM(5, return_state=True, go_backwards=True), masked=False),
    "lstm_states_dropout_training": lambda: states(L.LSTM(5, return_state=True, dropout=0.3, recurrent_dropout=0.2)),
    "lstm_encoder_decoder": lambda: decoder(L.LSTM(5, return_state=True), L.LSTM(5, return_sequences=True)),
    "lstm_encoder_decoder_masked": lambda: decoder(
        L.LSTM(5, return_state=True), L.LSTM(5, return_sequences=True), masked=True
    ),
    "gru_encoder_decoder": lambda: decoder(L.GRU(5, return_state=True), L.GRU(5, go_backwards=True), named=True),
    "gru_encoder_decoder_masked": lambda: decoder(
        L.GRU(5, return_state=True), L.GRU(5, return_sequences=True), masked=True, named=True
    ),
    "bidirectional_states": lambda: states(L.Bidirectional(L.LSTM(3, return_state=True, return_sequences=True))),
    "bidirectional_encoder_decoder": lambda: decoder(
        L.Bidirectional(L.LSTM(3, return_state=True)), L.Bidirectional(L.LSTM(3, return_sequences=True)), named=True
    ),
    "unmerged": unmerged,
    "unmerged_sequences": lambda: unmerged(return_sequences=True),
    "attention_scores": attention_scores,
    "attention_scores_dropout_training": lambda: attention_scores(dropout=0.4),
    "bidirectional": lambda: bidirectional(L.GRU),
    "bidirectional_sequences": lambda: bidirectional(L.LSTM, return_sequences=True),
    "bidirectional_sum": lambda: bidirectional(L.SimpleRNN, mask=False, merge="sum"),
    "bidirectional_ave": lambda: bidirectional(L.GRU, merge="ave", return_sequences=True),
    "time_distributed": lambda: sequential((4, 5, 3), L.TimeDistributed(L.Conv1D(2, 2)), L.TimeDistributed(L.Flatten())),
    "mask_by_operations": mask_by_operations,
    "operations": operations,
    "operations_elementary": elementary,
    "operations_choosing": choices,
    "operations_moving": moved,
    "operations_taking_apart": taken_apart,
    **OPEN,
    "operations_more": more_functions,
    "operations_on_arrays": arrays,
    "operations_of_neighbours": neighbours,
    **traced_models.MODELS,
}
ACTIVATIONS = [
    "linear", "relu", "sigmoid", "tanh", "softmax", "elu", "selu", "celu", "softplus", "softsign", "gelu", "silu", "mish",
    "hard_sigmoid", "hard_silu", "hard_tanh", "exponential", "leaky_relu", "relu6", "log_sigmoid", "log_softmax",
    "tanh_shrink", "soft_shrink", "hard_shrink",
]  # fmt: skip


def adapted(layer):
    layer.adapt(np.random.default_rng(5).normal(1.5, 2.0, (100, 6)).astype("float32"))
    return layer


def fill_weights(model, rng):
    """Away from zeros and ones, so that no weight is without effect; variances stay positive."""
    for weight in model.weights:
        # Counts, and what a Normalization was adapted to: Keras reads its statistics once.
        if weight.path.endswith(("/count", "/mean", "/variance")) or "seed" in weight.path:
            continue
        value = rng.normal(0, 0.3, weight.shape) + np.asarray(weight)
        weight.assign(np.abs(value) + 0.1 if "variance" in weight.path else value)


def make_inputs(model, rng):
    """Sequences end early, in steps of zeros; what an Embedding reads are numbers of words."""
    words = any(isinstance(layer, L.Embedding) for layer in model.layers)
    inputs = []
    for tensor in model.inputs:
        shape = [size or SIZES[min(axis, 1)] for axis, size in enumerate(tensor.shape[1:])]
        x = rng.normal(0, 1, (EVENTS, *shape)).astype("float32")
        if words:
            x = rng.integers(0, 11, x.shape).astype("float32")
        elif x.ndim == 3:
            for event in range(EVENTS):
                x[event, x.shape[1] - event % x.shape[1] :] = 0
            x[1, 1] = 0  # and a hole
        inputs.append(x)
    return inputs


def leaves(model, prefix=""):
    """Layers with weights of their own by the names that linac gives them."""
    for layer in model.layers:
        if isinstance(layer, keras.Model):
            yield from leaves(layer, f"{prefix}{layer.name}_")
        elif layer.weights:
            yield prefix + layer.name, layer


def compute(model, inputs, cotangents, training):
    with tf.GradientTape() as tape:
        outputs = model(inputs if len(inputs) > 1 else inputs[0], training=training)
        outputs = outputs if isinstance(outputs, (list, tuple)) else [outputs]
        loss = sum(tf.reduce_sum(output * c) for output, c in zip(outputs, cotangents or outputs, strict=True))
    gradients = {}
    if cotangents and model.trainable_weights:
        weights = model.trainable_weights
        of_weight = {id(w): g for w, g in zip(weights, tape.gradient(loss, [w.value for w in weights]), strict=True)}
        for name, layer in leaves(model):
            for i, weight in enumerate(layer.weights):
                if weight.trainable:
                    gradient = of_weight[id(weight)]
                    dense = np.zeros(weight.shape, "float32") if gradient is None else tf.convert_to_tensor(gradient)
                    gradients[f"{name}/{i}"] = np.asarray(dense)
    return [np.asarray(output) for output in outputs], gradients


@contextlib.contextmanager
def drawing(draws):
    """Where it would draw, Keras multiplies by these in their order, or takes them for its uniform numbers."""

    def uniform(shape, minval=0.0, maxval=1.0, dtype=None, seed=None):
        low, high = np.float32(minval), np.float32(maxval)
        return tf.reshape(rest.pop(0) * (high - low) + low, shape)

    rest, drawn = list(draws), (backend.random.dropout, backend.random.uniform)
    backend.random.dropout = lambda inputs, rate, noise_shape=None, seed=None: inputs * rest.pop(0)
    backend.random.uniform = uniform
    try:
        yield
    finally:
        backend.random.dropout, backend.random.uniform = drawn
    assert not rest, f"{len(rest)} draws that Keras did not ask for"


def are_random(draws):
    """Multipliers, or one number an event."""
    numbers, masks = [draw for draw in draws if draw.ndim == 1], [draw for draw in draws if draw.ndim > 1]
    dropped = all((mask > 1).any() for mask in masks) and (not masks or any((mask == 0).any() for mask in masks))
    return dropped and all(len(set(draw)) == EVENTS and 0 <= draw.min() <= draw.max() < 1 for draw in numbers)


def moving_statistics(model, before):
    """By layer and weight: the moving statistics after a step, those before it, and their momentum."""
    values = {id(w): value for w, value in zip(model.weights, before, strict=True)}
    return {
        f"{name}/{i}": (np.asarray(weight), values[id(weight)], layer.momentum)
        for name, layer in leaves(model) if isinstance(layer, L.BatchNormalization)
        for i, weight in enumerate(layer.weights) if not weight.trainable
    }  # fmt: skip


def make(folder, name):
    keras.utils.clear_session(free_memory=False)  # to collect would take longer than the model
    keras.utils.set_random_seed(1)
    rng = np.random.default_rng(len(name))
    if name in MODELS:
        model = MODELS[name]()
        fill_weights(model, rng)
    else:
        model = keras.models.load_model(name)
    training = name.endswith("training")
    inputs = make_inputs(model, rng)
    before = [np.asarray(w) for w in model.weights]
    outputs, _ = compute(model, inputs, None, training)
    cotangents = [rng.normal(0, 1, output.shape).astype("float32") for output in outputs]
    for weight, value in zip(model.weights, before, strict=True):
        weight.assign(value)  # moving statistics have moved
    model.save(folder / "model.keras")
    outputs, gradients = compute(model, inputs, cotangents, training)
    with h5py.File(folder / "given.h5", "w") as file:
        file["training"] = np.float32(training)
        for i, x in enumerate(inputs):
            file[f"input/{i}"] = x
        for i, c in enumerate(cotangents):
            file[f"cotangent/{i}"] = c
    statistics = moving_statistics(model, before) if training else {}
    for weight, value in zip(model.weights, before, strict=True):
        weight.assign(value)
    return inputs, outputs, gradients, training, statistics, cotangents, [x.shape for x in model.inputs]


def make_all(folders, make):
    """What `make` gives for each name. Dilated transposed convolutions are in oneDNN's kernels alone, which TensorFlow does not choose on
    every CPU: what it cannot compute here is left out of `folders`, and said."""
    made = {}
    for name, folder in list(folders.items()):
        folder.mkdir(parents=True)
        try:
            made[name] = make(folder, name)
        except tf.errors.InvalidArgumentError as error:
            if "Current CPU implementations do not yet support" not in str(error):
                raise
            skipped(f"a model {name}", "TensorFlow cannot compute it on this processor")
            del folders[name]
    return made


def difference(a, b):
    if a.shape != b.shape:
        return np.inf
    return 0.0 if a.size == 0 else float(np.abs(a - b).max() / max(1.0, np.abs(b).max()))


def check(folder, made, reload):
    inputs, outputs, gradients, training, statistics, cotangents, shapes = made
    if (folder / "error.txt").exists():
        return (folder / "error.txt").read_text().strip()
    with h5py.File(folder / "values.h5") as file:
        draws = [file[f"draw/{i}"][()] for i in range(len(file.get("draw", ())))]
        if bool(draws) != (training and ("dropout" in folder.name or "random" in folder.name)) or not are_random(draws):
            return f"drawn was {draws}"
        if draws:
            model = keras.models.load_model(folder / "model.keras")
            with drawing(draws):
                outputs, gradients = compute(model, inputs, cotangents, True)
        for name, (after, before, momentum) in statistics.items():
            worst = difference(momentum * before + (1 - momentum) * file[f"statistic/{name}"][()], after)
            if not worst <= LIMIT:
                return f"the moving statistic {name} differs by {worst:.2e}"
        for i, expected in enumerate(outputs):
            worst = difference(file[f"output/{i}"][()], expected)
            if not worst <= LIMIT:
                return f"output {i} differs by {worst:.2e}"
        for name, expected in gradients.items():
            worst = difference(file[f"gradient/{name}"][()], expected)
            if not worst <= GRADIENT_LIMIT:
                return f"the gradient of {name} differs by {worst:.2e}"
    if not reload:
        return ""
    written = keras.models.load_model(folder / "written.keras")
    if [x.shape for x in written.inputs] != shapes:
        return f"written back, the inputs are {[x.shape for x in written.inputs]}"
    with drawing(draws):
        again, _ = compute(written, inputs, None, training)
    for i, (found, expected) in enumerate(zip(again, outputs, strict=True)):
        worst = difference(found, expected)
        if not worst <= LIMIT:
            return f"written back, output {i} differs by {worst:.2e}"
    return ""


# Other settings of layers that a model of the short test has too: of `make test-long`.
LONG = set("""
    attention_causal attention_dropout_masked_training attention_scores_dropout_training
    batch_norm_axis_training batch_norm_masked_axis_training batch_norm_masked_plain_training
    bidirectional_ave bidirectional_dropout_training bidirectional_encoder_decoder
    bidirectional_sequences bidirectional_states bidirectional_sum concatenate_masked conv1d_strided
    conv2d_transpose_dilated conv2d_transpose_small dot_normalized einsum_dense_outer_bias
    gru_activations gru_dropout_before_training gru_dropout_state_training gru_encoder_decoder
    gru_encoder_decoder_masked gru_linear_before gru_no_bias gru_states_zeroed instance_norm
    layer_norm_axes lstm_activations lstm_backwards lstm_dropout_training lstm_encoder_decoder
    lstm_stacked lstm_states_backwards lstm_states_dropout_training nested normalization_constants
    open_attention open_bidirectional open_conv1d open_embedding open_gru open_images
    random_constant_nearest_training residual resizing_by_ratio simple_rnn_dropout_training
    simple_rnn_masked simple_rnn_states stacked_dropout_training traced_masked transformer_unmasked
    unmerged_sequences
""".split())


def chosen(words: list[str], models: dict) -> list[str]:
    """The models that the command line names: `--long`, some, or those of the short test."""
    if words == ["--long"]:
        return [name for name in models if name in LONG]
    return words or [name for name in models if name not in LONG]


def main():
    if len(sys.argv) < 3:
        print(__doc__)
        return 2
    program, root = sys.argv[1], pathlib.Path(sys.argv[2])
    names = chosen(sys.argv[3:], MODELS)
    shutil.rmtree(root, ignore_errors=True)
    folders = {name: root / pathlib.Path(name).stem for name in names}
    made = make_all(folders, make)
    failures = 0
    for kernels in ("aten", "linac"):  # LibTorch's layers, and linac's own where it has some
        subprocess.run([program, kernels, *map(str, folders.values())], check=True)
        problems = {}
        for name, folder in folders.items():
            try:
                problems[name] = check(folder, made[name], reload=kernels == "linac")
            except Exception as error:
                problems[name] = f"{type(error).__name__}: {error}"[:600]
            print(f"{'FAIL' if problems[name] else 'ok  '} {kernels:<5} {name} {problems[name]}")
        agreeing = sum(not problem for problem in problems.values())
        print(f"{agreeing} of {len(folders)} models agree, computed by {kernels}")
        failures += len(folders) - agreeing
    for name, problem in ({} if sys.argv[3:] else traced_models.refusals()).items():
        print(f"{'FAIL' if problem else 'ok  '} refused: {name} {problem}")
        failures += bool(problem)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
