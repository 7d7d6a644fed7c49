"""A usual model's training step and prediction by Keras or PyTorch, measured on request.

Prints "ready" when the model is warm. For each line "go step SECONDS" or "go predict SECONDS" it runs that as often as
fits and prints a line of JSON: "runs", and "wall_s" and "cpu_s" (of all threads) of one run with median, min and max. At
"quit" it prints its version and number of trainable weights, and ends. What a step is: the loss and its gradients for a made-up batch, and Adam's update.

Modes: keras:graph (the step in a tf.function), keras:jit (compiled by XLA), torch:eager, torch:compile, and both with
images in channels_last.
"""

import argparse
import json
import os
import sys
import time
import zipfile

import numpy as np

import peer
from modes import MODEL_BATCHES, MODEL_MODES

WARM_UPS, LEAST_RUNS = 3, 5


def command_line():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mode", choices=MODEL_MODES, required=True)
    parser.add_argument("--model", choices=MODEL_BATCHES, required=True)
    parser.add_argument("--file", required=True, help="the model as a .keras file")
    parser.add_argument("--threads", type=int, default=1)
    return parser.parse_args()


def event_lengths(events, steps):
    """As `linac bench models` makes them up."""
    least = max(1, steps // 4)
    return least + np.arange(events) * 7919 % (steps - least + 1)


def made_up_batch(shape, classes, masked, events):
    rng = np.random.default_rng(1)
    x = rng.normal(0, 1, (events, *shape)).astype("float32")
    if masked:
        for event, length in enumerate(event_lengths(events, shape[0])):
            x[event, length:] = 0
    return x, rng.integers(0, max(2, classes), events)


def keras_works(options):
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
    import keras
    import tensorflow as tf

    tf.config.threading.set_intra_op_parallelism_threads(options.threads)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    model = keras.models.load_model(options.file)
    masked = any(isinstance(layer, keras.layers.Masking) for layer in model.layers)
    x, labels = made_up_batch(model.input_shape[1:], model.output_shape[-1], masked, MODEL_BATCHES[options.model])
    activation = getattr(model.layers[-1].activation, "__name__", "linear")
    loss_of = {"sigmoid": keras.losses.BinaryCrossentropy, "softmax": keras.losses.CategoricalCrossentropy}
    loss = loss_of.get(activation, keras.losses.MeanSquaredError)()
    y = np.eye(10)[labels] if activation == "softmax" else labels[:, None]
    x, y = tf.constant(x), tf.constant(y, tf.float32)
    optimizer = keras.optimizers.Adam(1e-4)
    optimizer.build(model.trainable_variables)
    jit = options.mode == "keras:jit"

    @tf.function(jit_compile=jit)
    def step(x, y):
        with tf.GradientTape() as tape:
            value = loss(y, model(x, training=True))
        optimizer.apply(tape.gradient(value, [variable.value for variable in model.trainable_variables]))
        return value

    @tf.function(jit_compile=jit)
    def predict(x):
        return model(x, training=False)

    works = {"step": lambda: step(x, y).numpy(), "predict": lambda: predict(x).numpy()}
    weights = sum(int(np.prod(variable.shape)) for variable in model.trainable_variables)
    return works, {"version": f"keras {keras.__version__}, tensorflow {tf.__version__}", "weights": weights}


def torch_works(options):
    import torch
    import torch.nn.functional as F

    import torch_models

    layers = json.loads(zipfile.ZipFile(options.file).read("config.json"))["config"]["layers"]
    torch.set_num_threads(options.threads)
    torch.set_flush_denormal(True)
    torch.manual_seed(1)
    model = getattr(torch_models, options.model)()
    shape = layers[0]["config"]["batch_shape"][1:]
    masked = any(layer["class_name"] == "Masking" for layer in layers)
    activation, classes = layers[-1]["config"]["activation"], layers[-1]["config"]["units"]
    x, labels = made_up_batch(shape, classes, masked, MODEL_BATCHES[options.model])
    inputs = [torch.from_numpy(x)]
    if len(shape) > 2:
        inputs[0] = inputs[0].movedim(-1, 1).contiguous()
    if options.mode.endswith("channels-last"):
        layout = torch.channels_last if len(shape) == 3 else torch.channels_last_3d
        model, inputs[0] = model.to(memory_format=layout), inputs[0].contiguous(memory_format=layout)
    if masked:
        inputs.append(torch.from_numpy(event_lengths(len(x), shape[0])))
    target = torch.from_numpy(labels) if activation == "softmax" else torch.from_numpy(labels[:, None].astype("float32"))
    loss_of = {"sigmoid": F.binary_cross_entropy_with_logits, "softmax": F.cross_entropy}.get(activation, F.mse_loss)
    optimizer = torch.optim.Adam(model.parameters(), 1e-4, fused=True)
    made = torch.compile if options.mode.startswith("torch:compile") else lambda function: function
    loss = made(lambda *given: loss_of(model(*given), target))
    scores = made(lambda *given: model(*given))

    def step():
        model.train()
        optimizer.zero_grad()
        value = loss(*inputs)
        value.backward()
        optimizer.step()
        return value.item()

    def predict():
        model.eval()
        with torch.inference_mode():
            return scores(*inputs)

    weights = sum(parameter.numel() for parameter in model.parameters())
    return {"step": step, "predict": predict}, {"version": f"torch {torch.__version__}", "weights": weights}


def spread(values):
    ordered = sorted(values)
    return {"median": ordered[len(ordered) // 2], "min": ordered[0], "max": ordered[-1]}


def measured(work, seconds):
    for _ in range(WARM_UPS):
        work()
    walls, cpus = [], []
    begin = wall = time.perf_counter()
    cpu = time.process_time()
    while wall - begin < seconds or len(walls) < LEAST_RUNS:
        work()
        wall_now, cpu_now = time.perf_counter(), time.process_time()
        walls.append(wall_now - wall)
        cpus.append(cpu_now - cpu)
        wall, cpu = wall_now, cpu_now
    return {"runs": len(walls), "wall_s": spread(walls), "cpu_s": spread(cpus)}


def main():
    options = command_line()
    works, last = (keras_works if options.mode.startswith("keras") else torch_works)(options)
    for work in works.values():
        work()
    peer.answer("ready")
    for line in sys.stdin:
        words = line.split()
        if words == ["quit"]:
            break
        if len(words) != 3 or words[0] != "go" or words[1] not in works:
            sys.exit(f'unknown request {line.strip()!r}: expected "go step|predict SECONDS" or "quit"')
        peer.answer(measured(works[words[1]], float(words[2])))
    peer.answer(last)


if __name__ == "__main__":
    main()
