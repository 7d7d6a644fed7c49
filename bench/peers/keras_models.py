"""The usual models of bench/models.py in Keras: keras_models.py FOLDER writes NAME.keras of each.

The losses are those that `linac bench models` takes: by the output's activation.
"""

import os
import sys
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")

import keras  # noqa: E402
from keras import layers as L  # noqa: E402

from modes import MODEL_BATCHES  # noqa: E402


def dense():
    """A classifier of events: 28 quantities, signal or background."""
    hidden = [L.Dense(256, activation="relu") for _ in range(3)]
    return keras.Sequential([keras.Input((28,)), *hidden, L.Dense(1, activation="sigmoid")])


def cnn2d():
    blocks = [keras.Input((32, 32, 3))]
    for filters in (32, 64, 128):
        blocks += [L.Conv2D(filters, 3, padding="same", activation="relu"), L.MaxPooling2D()]
    return keras.Sequential([*blocks, L.Flatten(), L.Dense(64, activation="relu"), L.Dense(10, activation="softmax")])


def resnet():
    x = inputs = keras.Input((32, 32, 32))
    y = L.Activation("relu")(L.BatchNormalization()(L.Conv2D(32, 3, padding="same", use_bias=False)(x)))
    y = L.BatchNormalization()(L.Conv2D(32, 3, padding="same", use_bias=False)(y))
    x = L.GlobalAveragePooling2D()(L.Activation("relu")(L.Add()([x, y])))
    return keras.Model(inputs, L.Dense(10, activation="softmax")(x))


def cnn3d():
    """A calorimeter's cells, regression of the energy."""
    blocks = [keras.Input((25, 25, 25, 1))]
    for filters in (8, 16, 32):
        blocks += [L.Conv3D(filters, 3, padding="same", activation="relu"), L.MaxPooling3D()]
    return keras.Sequential([*blocks, L.GlobalAveragePooling3D(), L.Dense(32, activation="relu"), L.Dense(1)])


def transformer():
    """Two encoder layers (Vaswani et al., arXiv:1706.03762), normalisation behind each sum."""
    x = inputs = keras.Input((64, 64))
    for _ in range(2):
        y = L.Dropout(0.1)(L.MultiHeadAttention(4, 16)(x, x))
        x = L.LayerNormalization(epsilon=1e-6)(L.Add()([x, y]))
        y = L.Dropout(0.1)(L.Dense(64)(L.Dense(256, activation="relu")(x)))
        x = L.LayerNormalization(epsilon=1e-6)(L.Add()([x, y]))
    return keras.Model(inputs, L.Dense(10, activation="softmax")(L.GlobalAveragePooling1D()(x)))


def deepsets():
    """The particles of an event in any order (Zaheer et al., arXiv:1703.06114)."""
    x = inputs = keras.Input((64, 16))
    for _ in range(3):
        x = L.TimeDistributed(L.Dense(64, activation="relu"))(x)
    x = L.Dense(64, activation="relu")(keras.ops.sum(x, axis=1))
    return keras.Model(inputs, L.Dense(1, activation="sigmoid")(x))


def separable():
    blocks = [keras.Input((32, 32, 3)), L.Conv2D(32, 3, padding="same", activation="relu")]
    for filters in (64, 128):
        blocks += [L.SeparableConv2D(filters, 3, padding="same", activation="relu"), L.MaxPooling2D()]
    return keras.Sequential([*blocks, L.GlobalAveragePooling2D(), L.Dense(10, activation="softmax")])


def recurrent(layer, masked=True):
    return keras.Sequential(
        [keras.Input((100, 19)), *[L.Masking()] * masked, layer, L.Dense(1, activation="sigmoid")]
    )  # fmt: skip


def lstm():
    return recurrent(L.LSTM(64))


def gru():
    return recurrent(L.GRU(64))


def lstm_dropout():
    return recurrent(L.LSTM(64, recurrent_dropout=0.2))


def gru_relu():
    return recurrent(L.GRU(64, activation="relu"), masked=False)


def start():
    """What `linac train` is started with: the quantities of the collisions in data/."""
    return keras.Sequential(
        [keras.Input((14,), name="HLF_input"), L.Dense(32, activation="relu"), L.Dense(3, activation="softmax")]
    )


def main():
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    keras.utils.set_random_seed(1)
    for name in (*MODEL_BATCHES, "start"):
        globals()[name]().save(folder / f"{name}.keras")


if __name__ == "__main__":
    main()
