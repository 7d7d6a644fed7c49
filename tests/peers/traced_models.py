"""Models with Lambdas and layers of one's own, for keras_zoo_test.py: linac.keras takes them apart, and what it saves
computes the same. `refusals` are models that it must refuse, with what it has to say."""

import pathlib
import tempfile

import keras
import numpy as np
from keras import layers as L
from keras import ops

from lib import paths

paths.add("python")
import linac.keras  # noqa: E402


def kinematics(t):
    """Of px, py, pz, E: transverse momentum, angles, mass."""
    pt = ops.sqrt(ops.square(t[..., 0]) + ops.square(t[..., 1]) + 0.1)
    phi = ops.mod(ops.arctan2(t[:, :, 1], t[:, :, 0]) + 1.0, 2 * np.pi) - np.pi
    return ops.stack([ops.log10(pt), phi, ops.arcsinh(t[..., 2] / pt), ops.abs(t[..., 3])], axis=-1)


class Scaled(L.Layer):
    """Weights in the ways in which one uses them; a Dense inside; constants."""

    def __init__(self, units, **settings):
        super().__init__(**settings)
        self.units, self.inner = units, L.Dense(units, activation="tanh")

    def build(self, shape):
        self.w = self.add_weight(name="w", shape=(shape[-1], self.units), regularizer="l2", constraint="max_norm")
        self.rows = [self.add_weight(name=f"row_{i}", shape=(self.units,)) for i in range(2)]
        self.scale = self.add_weight(name="scale", shape=(), initializer="ones")
        self.fixed = self.add_weight(name="fixed", shape=(1, self.units), trainable=False)
        self.inner.build((*shape[:-1], self.units))

    def call(self, x, training=None):
        y = (ops.matmul(x, self.w) + self.rows[0]) * ops.exp(self.scale)
        y = self.inner(y, training=training) + self.fixed * np.linspace(0, 1, self.units, dtype="float32")
        return y + ops.where(self.rows[1] > 0, self.rows[1], y)


class Attention(L.Layer):
    """By einsum, as papers write it; hands its mask on."""

    def __init__(self, heads, size, **settings):
        super().__init__(**settings)
        self.heads, self.size, self.supports_masking = heads, size, True

    def build(self, shape):
        for name in ("query", "key", "value"):
            setattr(self, name, self.add_weight(name=name, shape=(shape[-1], self.heads, self.size)))
        self.out = self.add_weight(name="out", shape=(self.heads * self.size, shape[-1]))
        self.norm = L.LayerNormalization()
        self.norm.build(shape)

    def call(self, x, mask=None):
        q, k, v = (ops.einsum("bnf,fhd->bhnd", x, w) for w in (self.query, self.key, self.value))
        scores = ops.einsum("bhnd,bhmd->bhnm", q, k) / np.sqrt(self.size)
        if mask is not None:
            scores = ops.where(ops.expand_dims(ops.expand_dims(mask, 1), 1), scores, -1e9)
        y = ops.matmul(ops.softmax(scores, axis=-1), v)
        y = ops.reshape(ops.transpose(y, (0, 2, 1, 3)), (-1, x.shape[1], self.heads * self.size))
        return self.norm(x + ops.matmul(y, self.out))


class OfWeights(L.Layer):
    """What is computed of weights alone."""

    def build(self, shape):
        self.w = self.add_weight(name="w", shape=(3, shape[-1]))
        self.table = {"line": self.add_weight(name="line", shape=(2 * shape[-1],)), "one": self.add_weight(name="one", shape=())}

    def call(self, x):
        shares = ops.softmax(self.w, axis=0)
        line = ops.reshape(self.table["line"], (2, -1))
        both = ops.concatenate([shares, ops.exp(line)], axis=0)
        factor = ops.sum(both, axis=0) * ops.transpose(self.w)[:, 1] - ops.mean(self.w)
        x = x * factor / (1 + ops.square(self.table["one"])) 
        return x + ops.stack([self.table["line"][::2], line[0]])[1]

    def compute_output_shape(self, shape):
        return shape


@keras.saving.register_keras_serializable("zoo")
class Swish(keras.Operation):
    def call(self, x):
        return x * ops.sigmoid(x)

    def compute_output_spec(self, x):
        return keras.KerasTensor(x.shape, dtype=x.dtype)


class Block(keras.Model):
    """A subclassed model with a chain of layers inside."""

    def __init__(self):
        super().__init__()
        self.chain = keras.Sequential([L.Dense(4), Scaled(4), L.Dropout(0.3)])

    def call(self, x, training=None):
        return x + Swish()(self.chain(x, training=training))


def functional(shape, *chain):
    x = inputs = keras.Input(shape)
    for layer in chain:
        x = layer(x)
    return keras.Model(inputs, x)


def lambdas():
    return functional(
        (7, 4), L.Dense(4), L.Lambda(kinematics), L.Lambda(lambda x, power: x**power, arguments={"power": 2}), L.Dense(3),
        L.Lambda(lambda x: x[:, ::-2, 1:] - ops.mean(x[:, :1, 1:], axis=1, keepdims=True)),
    )  # fmt: skip


def blocks():
    """A layer called twice, a subclassed model, and two layers of one name in models inside."""
    x = inputs = keras.Input((5, 4))
    scaled = Scaled(4)
    x = scaled(L.Dense(4, name="same")(OfWeights()(scaled(x))))
    x = keras.Sequential([keras.Input((5, 4)), L.Dense(4, name="same"), Attention(2, 3)], name="inner")(x)
    return keras.Model(inputs, Block()(x))


def masked():
    return functional((6, 4), L.Masking(), Attention(2, 3), L.Dense(3), L.GRU(3))


def rows():
    return functional((6,), Scaled(5), OfWeights(), L.Dense(2))


def saved(model):
    """As the file has it."""
    rng = np.random.default_rng(3)
    for weight in model.weights:
        if "seed" not in weight.path:
            weight.assign(rng.normal(0, 0.5, weight.shape))
    x = rng.normal(0, 1, (4, *model.inputs[0].shape[1:])).astype("float32")
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "model.keras"
        linac.keras.save(model, path)
        loaded = keras.models.load_model(path)
    expected, found = (np.asarray(one(x, training=False)) for one in (model, loaded))
    assert loaded.output_names == model.output_names, f"linac.keras.save: outputs {loaded.output_names}"
    assert np.abs(found - expected).max() <= 1e-6 * max(1, np.abs(expected).max()), "linac.keras.save: other numbers"
    assert sum(w.shape.num_elements() for w in model.trainable_weights) == sum(w.shape.num_elements() for w in loaded.trainable_weights)
    return loaded


MODELS = {
    f"traced_{make.__name__}": lambda make=make: saved(make()) for make in (lambdas, blocks, masked, rows)
}


def with_call(call, **weights):
    """A layer of that function."""

    class Mine(L.Layer):
        def build(self, shape):
            for name, size in weights.items():
                setattr(self, name, self.add_weight(name=name, shape=size))

        def compute_output_shape(self, shape):
            return shape

    Mine.call = call
    return functional((5, 4), Mine(name="mine"))


def by_value(x):
    if ops.max(x) > 0:
        return x
    return -x


REFUSED = {
    "NumPy": (lambda: with_call(lambda self, x: x + 0 * np.fft.fft(x)), "layer 'mine' (Mine)"),
    "a test of values": (lambda: functional((4,), L.Lambda(by_value, output_shape=(4,), name="sign")), "function by_value"),
    "another way in training": (lambda: with_call(lambda self, x, training=None: x * 2 if training else ops.exp(x)), "something else in training"),
    "a weight that is left": (lambda: with_call(lambda self, x: x, w=(4,)), "its weight 'w' does not reach"),
    "a weight for the batch": (lambda: with_call(lambda self, x: x + self.w, w=(3, 5, 4)), "does not fit"),
    "a weight beside events": (lambda: with_call(lambda self, x: ops.concatenate([x, x * 0 + self.w, self.w], axis=0), w=(5, 5, 4)), "not"),
    "random numbers": (lambda: with_call(lambda self, x: x + keras.random.normal((4,))), "draws random numbers"),
    "no model yet": (lambda: keras.Sequential([L.Dense(2)]), "is not a functional model"),
    "inside a wrapper": (lambda: functional((5, 4, 3), L.TimeDistributed(OfWeights())), "call that layer by itself"),
}


def refusals():
    """What went wrong, by name; "" where it is refused in the right words."""
    problems = {}
    for name, (make, words) in REFUSED.items():
        try:
            linac.keras.traced(make())
            problems[name] = "was not refused"
        except linac.keras.TraceError as error:
            problems[name] = "" if words in str(error) else str(error)
        except Exception as error:
            problems[name] = f"{type(error).__name__}: {error}"[:400]
    return problems
