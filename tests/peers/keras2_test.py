"""Models as Keras 2 saves them, read by linac: keras2_test.py CONVERT_KERAS FOLDER [MODEL...]

tf_keras (Keras 2) makes each model, gives it weights and saves it as HDF5 file, as JSON with weights in both layouts,
and as .keras file. CONVERT_KERAS (convert_keras.cpp) reads each and writes a .keras file, which Keras 3 loads and
computes. Exit status 1 if Keras 3 and Keras 2 differ beyond the limit, or if linac reads what it should refuse. With
models: only those.
"""

import json
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
import tf_keras as keras2
from tf_keras import layers as L

LIMIT = 1e-5  # largest difference of an output, relative to the largest of the array (or to 1)
EVENTS = 5


def sequential(shape, *chain):
    return keras2.Sequential([keras2.Input(shape), *chain])


def functional(shapes, build):
    inputs = [keras2.Input(shape) for shape in shapes]
    return keras2.Model(inputs if len(inputs) > 1 else inputs[0], build(*inputs))


def shared():
    dense = L.Dense(4, activation="tanh")
    return functional([(6,), (6,)], lambda a, b: L.Concatenate()([dense(a), dense(b), dense(L.Dense(6)(a))]))


def nested(times, *first, **settings):
    inner = keras2.Sequential([*first, L.Dense(5, activation="relu", **settings), L.BatchNormalization(), L.Dense(6)])
    x = inputs = keras2.Input((6,))
    for _ in range(times):
        x = inner(x)
    return keras2.Model(inputs, L.Dense(2)(x))


def nested_functional():
    a, b = keras2.Input((4,)), keras2.Input((4,))
    joined = L.BatchNormalization()(L.Dense(3)(L.Add()([a, b])))
    inner = keras2.Model([a, b], [joined, L.Dense(2)(L.BatchNormalization()(a))], name="two")
    x, y = keras2.Input((4,)), keras2.Input((4,))
    first, second = inner([x, y])
    again = inner([y, x])
    deep = keras2.Model([x, y], L.Concatenate()([second, first, *again]), name="deep")
    return functional([(4,), (4,)], lambda z, w: L.Dense(2)(deep([w, z])))


def sequential_of_sequential():
    inner = keras2.Sequential([L.Dense(5, input_shape=(6,), activation="relu"), L.Dense(4)])
    return keras2.Sequential([inner, L.BatchNormalization(), L.Dense(2)])


def several_outputs():
    def build(x):
        hidden = L.Dense(8, activation="relu")(x)
        return [L.Dense(3, activation="softmax", name="kind")(hidden), L.Dense(1, name="mass")(hidden)]

    model = functional([(6,)], build)
    model.compile("adam", {"kind": "categorical_crossentropy", "mass": "mse"})
    return model


def compiled(loss):
    model = sequential((6,), L.Dense(8, activation="relu"), L.Dense(3, activation="softmax"))
    model.compile(keras2.optimizers.Adam(3e-4), loss, metrics=["accuracy"])
    return model


def attention(**call):
    return functional([(5, 6), (7, 4)], lambda q, v: L.MultiHeadAttention(2, 3, value_dim=4)(q, v, **call))


def attention_masked():
    return functional(
        [(5, 6), (7, 4)], lambda q, v: L.MultiHeadAttention(2, 3)(L.Masking()(q), L.Masking()(v), use_causal_mask=True)
    )


def transformer(inputs):
    x = L.Masking()(inputs)
    x = L.LayerNormalization()(L.Add()([x, L.MultiHeadAttention(2, 3)(x, x)]))
    x = L.LayerNormalization()(L.Add()([x, L.Dense(6)(L.Dense(12, activation="gelu")(x))]))
    return L.Dense(3, activation="softmax")(L.GlobalAveragePooling1D()(x))


def bidirectional_decoder():
    encoder = L.Bidirectional(L.LSTM(3, return_state=True))
    layer = L.Bidirectional(L.LSTM(3, return_sequences=True))
    return functional([(7, 4), (6, 4)], lambda a, b: layer(b, initial_state=encoder(L.Masking()(a))[1:]))


def decoder(cell, masked=False):
    """The states of one layer are what another begins with."""
    encoder, layer = cell(5, return_state=True), cell(5, return_sequences=True)

    def build(a, b):
        output, *states = encoder(L.Masking()(a))
        x = layer(L.Masking()(b) if masked else b, initial_state=states)
        return [L.Dense(2)(x), *states]

    return functional([(7, 4), (6, 4)], build)


def adapted():
    layer = L.Normalization()
    layer.adapt(np.random.default_rng(5).normal(1.5, 2.0, (100, 6)).astype("float32"))
    return layer


def masked(*chain):
    return sequential((7, 4), L.Masking(), *chain)


def renamed(change):
    """A small classifier whose description is altered after it was saved: as other versions of Keras 2 wrote it."""
    model = sequential((7, 4), L.GRU(5, reset_after=False), L.Dense(3, activation="softmax"))
    model.change = change
    return model


def as_in_tensorflow_1(config):
    """No InputLayer, the shape in the first layer; older names and no newer settings."""
    layers = config["config"]["layers"]
    shape = layers.pop(0)["config"]["batch_input_shape"]
    layers[0]["config"].update(batch_input_shape=shape, implementation=1)
    del layers[0]["config"]["reset_after"], layers[0]["config"]["time_major"]
    layers[1]["config"]["activation"] = "softmax_v2"
    for layer in layers:
        layer["config"]["kernel_initializer"] = {
            "class_name": "VarianceScaling",
            "config": {"scale": 1.0, "mode": "fan_avg", "distribution": "uniform", "seed": None, "dtype": "float32"},
        }


def as_a_list(config):
    as_in_tensorflow_1(config)
    config["config"] = config["config"]["layers"]


def many_layers():
    """Lists of names beyond 64 KB, which Keras splits."""
    x = inputs = keras2.Input((3,))
    for i in range(400):
        x = L.Activation("relu" if i % 50 else "tanh", name=f"a_rather_long_name_{'of_a_layer_' * 16}{i}")(x)
    return keras2.Model(inputs, L.Dense(2)(x))


MODELS = {
    "dense": lambda: sequential((6,), L.Dense(4, activation="relu"), L.Dense(3, use_bias=False)),
    "dense_without_input": lambda: keras2.Sequential([L.Dense(4, input_shape=(6,)), L.Dropout(0.2), L.Dense(3)]),
    "dense_built_by_call": lambda: built(keras2.Sequential([L.Dense(4), L.Dense(3)]), (6,)),
    "regularizers": lambda: sequential((6,), L.Dense(4, kernel_regularizer="l2", bias_regularizer="l1_l2"), L.Dense(3, trainable=False)),
    "activities": lambda: sequential((6,), L.Dense(4, activity_regularizer="l2"), L.ActivityRegularization(0.1)),
    "constraints": lambda: sequential((6,), L.Dense(4, kernel_constraint="max_norm", bias_constraint="non_neg"), L.Dense(3, kernel_constraint=keras2.constraints.MinMaxNorm(0.5, 1.5, 0.9, 1))),
    "regularizers_off": lambda: sequential((6,), L.Dense(4, kernel_initializer="he_uniform"), L.PReLU(), L.ELU(0.7)),
    "compiled_by_name": lambda: compiled("categorical_crossentropy"),
    "compiled_by_class": lambda: compiled(keras2.losses.CategoricalCrossentropy()),
    "several_outputs": several_outputs,
    "conv1d": lambda: sequential((9, 4), L.Conv1D(6, 3, padding="causal", activation="relu"), L.MaxPooling1D(2)),
    "conv2d": lambda: sequential((9, 8, 4), L.Conv2D(6, (3, 2), strides=2, padding="same"), L.BatchNormalization()),
    "conv2d_groups": lambda: sequential((7, 6, 4), L.Conv2D(6, 3, groups=2), L.LeakyReLU(0.17), L.Flatten()),
    "conv3d": lambda: sequential((6, 5, 4, 3), L.Conv3D(4, 3, padding="same"), L.ReLU(0.8, 0.1, 0.2), L.Flatten()),
    "conv2d_transpose": lambda: sequential((5, 4, 3), L.Conv2DTranspose(4, 3, strides=2, padding="same")),
    "depthwise": lambda: sequential((7, 6, 3), L.DepthwiseConv2D(3, strides=2), L.UpSampling2D(2)),
    "separable1d": lambda: sequential((9, 4), L.SeparableConv1D(5, 3, depth_multiplier=2), L.ZeroPadding1D(1)),
    "separable2d": lambda: sequential((7, 6, 3), L.SeparableConv2D(5, 3, activation="relu"), L.AveragePooling2D()),
    "images": lambda: sequential(
        (7, 6, 3), L.RandomFlip(), L.RandomTranslation(0.1, 0.1), L.RandomRotation(0.1), L.RandomZoom(0.1), L.RandomContrast(0.1),
        L.RandomBrightness(0.1), L.Resizing(9, 5), L.CenterCrop(4, 4), L.CenterCrop(6, 3), L.Conv2D(2, 2),
    ),
    "normalization": lambda: sequential((6,), adapted(), L.Dense(2), L.BatchNormalization(scale=False)),
    "layer_norm": lambda: sequential((5, 6), L.LayerNormalization(epsilon=1e-4), L.UnitNormalization()),
    "group_norm": lambda: sequential((5, 4, 6), L.GroupNormalization(groups=3)),
    "einsum_dense": lambda: sequential((5, 6), L.EinsumDense("abc,cde->abde", (None, 2, 3), bias_axes="de")),
    "embedding": lambda: keras2.Sequential([L.Embedding(11, 4, mask_zero=True, input_length=7), L.LSTM(3)]),
    "gru": lambda: masked(L.GRU(5)),
    "gru_reset_before": lambda: masked(L.GRU(5, reset_after=False, return_sequences=True)),
    "gru_no_bias": lambda: masked(L.GRU(5, use_bias=False, go_backwards=True)),
    "lstm": lambda: masked(L.LSTM(5, return_sequences=True), L.LSTM(3, unit_forget_bias=False)),
    "simple_rnn": lambda: masked(L.SimpleRNN(5)),
    "bidirectional": lambda: masked(L.Bidirectional(L.GRU(3, return_sequences=True), merge_mode="sum")),
    "bidirectional_lstm": lambda: masked(L.Bidirectional(L.LSTM(3))),
    "lstm_states": lambda: decoder(L.LSTM),
    "gru_states": lambda: decoder(L.GRU),
    "bidirectional_states": bidirectional_decoder,
    "attention_scores": lambda: attention(return_attention_scores=True),
    "time_distributed": lambda: sequential((4, 5, 3), L.TimeDistributed(L.Conv1D(2, 2)), L.TimeDistributed(L.Flatten())),
    "merging": lambda: functional(
        [(4, 3), (4, 3)], lambda a, b: [L.Subtract()([a, b]), L.Dot(1)([a, b]), L.Maximum()([L.Multiply()([a, b]), a])]
    ),
    "shared": shared,
    "nested": lambda: nested(1, keras2.Input((6,))),
    "nested_shared": lambda: nested(3, input_shape=(6,)),
    "nested_built_by_call": lambda: nested(2),
    "nested_functional": nested_functional,
    "sequential_of_sequential": sequential_of_sequential,
    "attention": attention,
    "attention_masked": attention_masked,
    "transformer": lambda: functional([(8, 6)], transformer),
    "many_layers": many_layers,
    "tensorflow_1": lambda: renamed(as_in_tensorflow_1),
    "sequential_as_a_list": lambda: renamed(as_a_list),
}

# Models that linac must not read, with a part of the reason.
REFUSED = {
    "function": (lambda: functional([(6,)], lambda x: L.Dense(2)(x * 2.0)), "TFOpLambda"),
    "slicing": (lambda: functional([(6,)], lambda x: L.Dense(2)(x[:, 2:])), "SlicingOpLambda"),
    "lambda": (lambda: sequential((6,), L.Lambda(lambda x: x + 1)), "(Lambda): this layer class is not supported; it is Python code"),
    "time_major": (lambda: sequential((7, 4), L.GRU(5, time_major=True)), "time_major"),
    "regularizer": (lambda: sequential((7, 4), L.TimeDistributed(L.Dense(4, activity_regularizer="l2"))), "inside another layer"),
    # They can be computed, but Keras 3 has no such function, and no masks beside initial states.
    "masked_decoder": (lambda: decoder(L.LSTM, masked=True), "Keras 3 does not do both"),
    "hard_sigmoid": (lambda: sequential((7, 4), L.GRU(5, recurrent_activation="hard_sigmoid")), "hard_sigmoid"),
}


def built(model, shape):
    model(np.zeros((1, *shape), "float32"))
    return model


def fill_weights(model, rng):
    """Away from zeros and ones, so that no weight is without effect; variances stay positive."""
    for weight in model.weights:
        name = weight.name
        if any(name.endswith(f"{last}:0") for last in ("count", "/mean", "/variance")) or name in ("mean:0", "variance:0"):
            continue
        value = rng.normal(0, 0.3, weight.shape) + weight.numpy()
        weight.assign(np.abs(value) + 0.1 if "variance" in name else value)


def make_inputs(model, rng):
    """Sequences end early, in steps of zeros; what an Embedding reads are numbers of words."""
    inputs = []
    for tensor in model.inputs:
        x = rng.normal(0, 1, (EVENTS, *tensor.shape[1:])).astype("float32")
        if any(isinstance(layer, L.Embedding) for layer in model.layers):
            x = rng.integers(0, 11, x.shape).astype("float32")
        elif x.ndim == 3:
            for event in range(EVENTS):
                x[event, x.shape[1] - event % x.shape[1] :] = 0
            x[1, 1] = 0  # and a hole
        inputs.append(x)
    return inputs


def compute(model, inputs):
    outputs = model(inputs if len(inputs) > 1 else inputs[0], training=False)
    return [np.asarray(output) for output in (outputs if isinstance(outputs, (list, tuple)) else [outputs])]


def as_bytes(attributes):
    """Lists of names as strings of one length, which is how older versions wrote them."""
    for name, value in attributes.items():
        if name.endswith("_names"):
            attributes[name] = np.array([str(text) for text in value], "S") if len(value) else np.array([])


def save(model, folder):
    """In every form; the names of the forms with what linac is to read."""
    model.save(folder / "model.h5")
    model.save_weights(folder / "weights.h5")  # the layout of Keras 2
    description = json.loads(model.to_json())
    change = getattr(model, "change", None)
    forms = {"h5": "model.h5", "json": "model.json+weights.h5"}
    if change is None:
        model.save_weights(folder / "model.weights.h5")  # the layout of Keras 3
        model.save(folder / "model.keras")
        forms |= {"json3": "model.json+model.weights.h5", "keras": "model.keras"}
    else:
        change(description)
        with h5py.File(folder / "model.h5", "r+") as file:
            config = json.loads(file.attrs["model_config"])
            change(config)
            file.attrs["model_config"] = json.dumps(config)
            file.attrs["keras_version"] = "2.2.4-tf"
            file.visititems(lambda _, group: as_bytes(group.attrs))
    (folder / "model.json").write_text(json.dumps(description))
    return {form: "+".join(str(folder / part) for part in path.split("+")) for form, path in forms.items()}


def difference(a, b):
    if a.shape != b.shape:
        return np.inf
    return float(np.abs(a - b).max() / max(1.0, np.abs(b).max()))


def check(form, to, model, inputs, expected):
    error = pathlib.Path(f"{to}.error")
    if error.exists():
        return error.read_text()
    converted = keras.models.load_model(to)
    for i, (found, right) in enumerate(zip(compute(converted, inputs), expected, strict=True)):
        if not difference(found, right) <= LIMIT:
            return f"output {i} differs by {difference(found, right):.2e}"
    if form == "h5" and model.optimizer is not None and not getattr(converted, "compiled", False):
        return "lost what it was compiled with"
    return ""


def main():
    if len(sys.argv) < 3:
        print(__doc__)
        return 2
    program, root = sys.argv[1], pathlib.Path(sys.argv[2])
    names = sys.argv[3:] or [*MODELS, *REFUSED]
    shutil.rmtree(root, ignore_errors=True)
    made, conversions = {}, []
    for name in names:
        keras2.backend.clear_session()
        keras2.utils.set_random_seed(1)
        folder = root / name
        folder.mkdir(parents=True)
        model = MODELS[name]() if name in MODELS else REFUSED[name][0]()
        rng = np.random.default_rng(len(name))
        if name in MODELS:
            fill_weights(model, rng)
            inputs = make_inputs(model, rng)
            made[name] = model, inputs, compute(model, inputs)
            forms = save(model, folder)
        else:
            model.save(folder / "model.h5")
            forms = {"h5": str(folder / "model.h5")}
        conversions += [(name, form, path, str(folder / f"{form}.read.keras")) for form, path in forms.items()]
    subprocess.run([program, *[text for _, _, *both in conversions for text in both]], check=True)
    failures = 0
    for name, form, _, to in conversions:
        try:
            if name in MODELS:
                problem = check(form, to, *made[name])
            else:
                error = pathlib.Path(f"{to}.error")
                reason = error.read_text() if error.exists() else "it was read"
                problem = "" if REFUSED[name][1] in reason else reason
        except Exception as error:
            problem = f"{type(error).__name__}: {error}"[:600]
        failures += bool(problem)
        print(f"{'FAIL' if problem else 'ok  '} {form:<5} {name} {problem}")
    print(f"{len(conversions) - failures} of {len(conversions)} files agree, of {len(names)} models")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
