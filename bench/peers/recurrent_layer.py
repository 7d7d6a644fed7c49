"""A masked GRU or LSTM layer, forward and backward, by PyTorch or Keras: see peer.py for how it is asked.

What a step is: the layer's last state for a batch of events of the given lengths, padded to --steps, and the gradients of
its weights. Modes: torch:padded (every step computed, the state taken at each event's end), torch:packed
(pack_padded_sequence), keras:graph (Masking and the layer in a tf.function), keras:jit (the same, compiled by XLA).
"""

import argparse
import os

import peer
from modes import RECURRENT_MODES


def command_line():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mode", choices=RECURRENT_MODES, required=True)
    parser.add_argument("--cell", choices=("gru", "lstm"), default="gru")
    parser.add_argument("--lengths", required=True, help="of the events, separated by commas")
    parser.add_argument("--steps", type=int, default=801)
    parser.add_argument("--features", type=int, default=19)
    parser.add_argument("--units", type=int, default=50)
    return parser.parse_args()


def made_up_events(options, lengths):
    import numpy as np

    rng = np.random.default_rng(1)
    x = rng.normal(0, 1, (len(lengths), options.steps, options.features)).astype("float32")
    for event, length in enumerate(lengths):
        x[event, length:] = 0
    return x, rng.normal(0, 1, (len(lengths), options.units)).astype("float32")


def torch_step(options, lengths):
    import torch

    torch.set_num_threads(1)
    libraries = peer.rss_mib()
    x, cotangent = (torch.from_numpy(array) for array in made_up_events(options, lengths))
    layer = {"gru": torch.nn.GRU, "lstm": torch.nn.LSTM}[options.cell](options.features, options.units, batch_first=True)
    ends = torch.tensor(lengths)

    def last_state():
        if options.mode == "torch:packed":
            packed = torch.nn.utils.rnn.pack_padded_sequence(x, ends, batch_first=True, enforce_sorted=False)
            state = layer(packed)[1]
            return (state[0] if options.cell == "lstm" else state)[0]
        return layer(x)[0][torch.arange(len(lengths)), ends - 1]

    def step():
        layer.zero_grad()
        (last_state() * cotangent).sum().backward()

    return step, f"torch {torch.__version__}", libraries


def keras_step(options, lengths):
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
    import keras
    import tensorflow as tf

    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    libraries = peer.rss_mib()
    x, cotangent = (tf.constant(array) for array in made_up_events(options, lengths))
    inputs = keras.Input((options.steps, options.features))
    layer = {"gru": keras.layers.GRU, "lstm": keras.layers.LSTM}[options.cell](options.units)
    model = keras.Model(inputs, layer(keras.layers.Masking()(inputs)))

    @tf.function(jit_compile=options.mode == "keras:jit")
    def step():
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(model(x, training=True) * cotangent)
        return tape.gradient(loss, [weight.value for weight in model.trainable_weights])

    return lambda: [gradient.numpy() for gradient in step()], f"keras {keras.__version__}, tensorflow {tf.__version__}", libraries


def main():
    options = command_line()
    lengths = [int(length) for length in options.lengths.split(",")]
    make = torch_step if options.mode.startswith("torch") else keras_step
    step, version, libraries = make(options, lengths)
    peer.serve({"step": step}, ["step"], version, libraries)


if __name__ == "__main__":
    main()
