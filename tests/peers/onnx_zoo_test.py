"""Small Keras models of every layer as ONNX, evaluated by onnxruntime: onnx_zoo_test.py KERAS_TO_ONNX FOLDER [--long | MODEL...]

The models of keras_zoo_test.py: Keras makes each one, gives it weights and inputs, and computes the outputs.
KERAS_TO_ONNX (keras_to_onnx.cpp) writes the same file as ONNX, onnx checks it, and onnxruntime computes it for batches
of several sizes. Exit status 1 beyond the limit. With models: only those, by name or as a file;
without, those of the short test, and with --long the rest.
"""

import pathlib
import shutil
import subprocess
import sys

import numpy as np
import onnx
import onnxruntime

import keras_zoo_test as zoo
from keras_zoo_test import L, keras, ops

LIMIT = 1e-5  # largest difference of an output, relative to the largest of the array (or to 1)
BATCHES = (1, 3, zoo.EVENTS)


def residual():
    """Joins of images in the order of axes that convolutions want."""
    x = inputs = keras.Input((8, 7, 3))
    x = L.Conv2D(4, 3, padding="same", activation="relu")(x)
    y = L.BatchNormalization()(L.Conv2D(4, 3, padding="same", activation="softmax")(x))
    x = L.ReLU()(L.Add()([x, y]))
    x = L.Concatenate()([L.AveragePooling2D(2, padding="same")(x), L.MaxPooling2D(2, padding="same")(y)])
    x = L.PReLU()(L.Dropout(0.2)(L.UpSampling2D(2)(L.Cropping2D(((1, 0), (0, 1)))(L.ZeroPadding2D(1)(x)))))
    return keras.Model(inputs, [L.GlobalAveragePooling2D()(x), L.Flatten()(x), x, inputs * 1.0])


def generator():
    """The way of the 3DGAN's: the convolution behind the up-sampling is folded."""
    return zoo.sequential(
        (7,), L.Dense(48), L.Reshape((3, 2, 4, 2)), L.UpSampling3D((3, 2, 4)), L.Conv3D(4, (3, 2, 7), activation="relu"),
        L.BatchNormalization(), L.ZeroPadding3D((1, 1, 0)), L.Conv3D(3, (2, 3, 2)), L.ReLU(), L.Conv3D(1, 2),
    )  # fmt: skip


def sequences(cell, **settings):
    """Masked steps in the middle, at both ends, and everywhere."""
    return zoo.sequential((7, 4), L.Masking(), cell(5, return_sequences=True, **settings), L.Dense(2))


def types():
    """Numbers that are no floats, on their way and handed out."""
    a, b = keras.Input((4, 3)), keras.Input((4, 3))
    count = ops.sum(ops.cast(ops.greater(a, b), "int32"), axis=-1)
    return keras.Model(
        [a, b], [count, ops.greater(a, 0.3), ops.max(ops.cast(a * 5.0, "int32"), axis=1) * 2, ops.zeros_like(a)]
    )


def parts():
    """Parts in the order of axes that convolutions want, and numbers of the largest."""
    x = L.Conv2D(4, 2)(inputs := keras.Input((5, 4, 3)))
    left, right = ops.split(x, 2, axis=-1)
    return keras.Model(inputs, [left, right, ops.unstack(x, axis=2)[1], *ops.top_k(ops.relu(x), 3)])


MORE = {
    "parts": parts,
    "residual": residual,
    "generator": generator,
    "types": types,
    "conv_of_sequences": lambda: zoo.sequential(
        (9, 4), L.Conv1D(6, 3, activation="tanh"), L.BatchNormalization(), L.Conv1D(5, 2), L.Bidirectional(L.GRU(3))
    ),
    "lstm_masked_backwards": lambda: sequences(L.LSTM, go_backwards=True),
    "gru_masked_backwards": lambda: sequences(L.GRU, go_backwards=True),
    "simple_rnn_backwards": lambda: zoo.rnn(L.SimpleRNN, mask=False, go_backwards=True, return_sequences=True),
    "lstm_activations": lambda: sequences(L.LSTM, activation="softsign", recurrent_activation="hard_sigmoid"),
    "gru_elu": lambda: sequences(L.GRU, activation="elu", reset_after=False),
    "simple_rnn_linear": lambda: sequences(L.SimpleRNN, activation="linear"),
    "gru_leaky": lambda: sequences(L.GRU, activation="leaky_relu"),
    "gru_zeroed": lambda: zoo.rnn(L.GRU, zero_output_for_mask=True),
    "lstm_zeroed_sequences": lambda: sequences(L.LSTM, zero_output_for_mask=True, go_backwards=True),
    "bidirectional_masked": lambda: zoo.bidirectional(L.LSTM, merge="mul", return_sequences=True),
}
# Others of the kind hold the same operators in prediction.
LEFT_OUT = {"random_reflect_wrap_training", "random_constant_nearest_training", "random_flip_and_dropout_training", "traced_lambdas", "traced_masked"}
MODELS = {name: make for name, make in zoo.MODELS.items() if name not in LEFT_OUT} | MORE
# Of those with open sizes, which are free in ONNX too.
FREE = {"open_gru", "open_conv1d", "open_images", "open_operations", "open_attention"}
# The first event has no step that counts.
EMPTY = [name for name in MODELS if name.startswith(("gru", "lstm", "simple_rnn", "bidirectional"))]


def make(folder, name):
    """Saves the model; its inputs by name, and what Keras predicts."""
    keras.utils.clear_session(free_memory=False)  # to collect would take longer than the model
    keras.utils.set_random_seed(1)
    rng = np.random.default_rng(len(name))
    if name in MODELS:
        model = MODELS[name]()
        zoo.fill_weights(model, rng)
        model.save(folder / "model.keras")
    else:
        model = keras.models.load_model(name)
        shutil.copy(name, folder / "model.keras")  # as it is: another version of Keras may have written it
    inputs = zoo.make_inputs(model, rng)
    if name in EMPTY:
        inputs[0][0] = 0
    cases = [computed(model, inputs)]
    if name in zoo.OPEN:
        (folder / "shapes.txt").write_text("".join(" ".join(map(str, x.shape[1:])) + "\n" for x in inputs))
    if name in FREE:
        sizes = [[slice(None)] + [slice(None, n - 2) if free is None else slice(None) for n, free in zip(x.shape[1:], tensor.shape[1:])]
                 for x, tensor in zip(inputs, model.inputs, strict=True)]  # fmt: skip
        cases.append(computed(model, [x[tuple(size)] for x, size in zip(inputs, sizes, strict=True)]))
    return cases


def output_names(model):
    """As linac calls them: by the layer, and of a layer with several outputs by their numbers behind the first."""
    history = [tensor._keras_history for tensor in model.outputs]
    numbered = [f"_output_{at.tensor_index}" if at.tensor_index else "" for at in history]
    return [name + number for name, number in zip(model.output_names, numbered, strict=True)]


def computed(model, inputs):
    """Inputs and outputs by name."""
    outputs = model(inputs if len(inputs) > 1 else inputs[0], training=False)
    outputs = [np.asarray(y) for y in (outputs if isinstance(outputs, (list, tuple)) else [outputs])]
    names = [tensor._keras_history.operation.name for tensor in model.inputs]
    return dict(zip(names, inputs, strict=True)), dict(zip(output_names(model), outputs, strict=True))


def free_batch(ports):
    return all(port.type.tensor_type.shape.dim[0].dim_param == "batch" for port in ports)


def check(folder, cases):
    if (folder / "error.txt").exists():
        return (folder / "error.txt").read_text().strip()
    model = onnx.load(folder / "model.onnx")
    onnx.checker.check_model(model, full_check=True)
    if not free_batch([*model.graph.input, *model.graph.output]):
        return "an axis of the batch is not free"
    session = onnxruntime.InferenceSession(folder / "model.onnx", providers=["CPUExecutionProvider"])
    names = [port.name for port in session.get_outputs()]
    problems = [check_case(session, names, *case) for case in cases]
    return next(filter(None, problems), "")


def check_case(session, names, inputs, expected):
    if set(inputs) != {port.name for port in session.get_inputs()} or set(names) != set(expected):
        return f"inputs or outputs have other names: {names}"
    for count in BATCHES:
        found = session.run(names, {name: x[:count] for name, x in inputs.items()})
        for name, y in zip(names, found, strict=True):
            if y.dtype != expected[name].dtype:
                return f"output {name} is {y.dtype}, {expected[name].dtype} in Keras"
            worst = zoo.difference(y.astype("float64"), expected[name][:count].astype("float64"))
            if not worst <= LIMIT:
                return f"output {name} differs by {worst:.2e} in a batch of {count}"
    return ""


def main():
    if len(sys.argv) < 3:
        print(__doc__)
        return 2
    program, root = sys.argv[1], pathlib.Path(sys.argv[2])
    names = zoo.chosen(sys.argv[3:], MODELS)
    shutil.rmtree(root, ignore_errors=True)
    folders = {name: root / pathlib.Path(name).stem for name in names}
    made = zoo.make_all(folders, make)
    subprocess.run([program, *map(str, folders.values())], check=True)
    failures = 0
    for name, folder in folders.items():
        try:
            problem = check(folder, made[name])
        except Exception as error:
            problem = f"{type(error).__name__}: {error}"[:600]
        print(f"{'FAIL' if problem else 'ok  '} {name} {problem}")
        failures += bool(problem)
    print(f"{len(folders) - failures} of {len(folders)} models agree, computed by onnxruntime {onnxruntime.__version__}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
