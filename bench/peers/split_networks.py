"""Networks of bench/split.py by Keras, and the events that they are trained on.

  split_networks.py SHOWERS.h5 FOLDER     writes FOLDER/NAME.keras and NAME.json of each, and their data"""

import json
import os
import pathlib
import sys

os.environ.setdefault("KERAS_BACKEND", "tensorflow")
import h5py  # noqa: E402
import keras  # noqa: E402
import numpy  # noqa: E402
from keras import layers  # noqa: E402

IMAGE, EVENTS = (102, 102, 50, 1), 64


def normalized(x, filters, **settings):
    x = layers.Conv3D(filters, 3, padding="same", **settings)(x)
    return layers.ReLU()(layers.BatchNormalization()(x))


def discriminator():
    """That of the 3DGAN with one head (arXiv:1912.00792)."""
    image = x = keras.Input(IMAGE, name="image")
    for padding, filters, normal in ((None, 16, False), ((2, 2, 2), 8, True), ((2, 2, 2), 8, True), ((1, 1, 1), 8, True)):
        if padding:
            x = layers.ZeroPadding3D(padding)(x)
        x = layers.LeakyReLU()(layers.Conv3D(filters, 5, padding="valid" if padding else "same")(x))
        if normal:
            x = layers.BatchNormalization(epsilon=1e-6)(x)
        x = layers.Dropout(0.2)(x)
    x = layers.Flatten()(layers.AveragePooling3D(2)(x))
    return keras.Model(image, layers.Dense(1, name="energy")(x))


def cnn():
    image = keras.Input(IMAGE, name="image")
    x = layers.MaxPooling3D(2)(normalized(normalized(image, 8), 8))
    x = normalized(normalized(x, 16), 16, strides=2)
    return keras.Model(image, layers.Dense(1, name="energy")(layers.GlobalAveragePooling3D()(x)))


def unet():
    image = keras.Input(IMAGE, name="image")
    first = normalized(image, 8)
    second = normalized(layers.MaxPooling3D(2)(first), 16)
    x = normalized(layers.MaxPooling3D(2)(second), 32)
    x = layers.ZeroPadding3D(((0, 1), (0, 1), (0, 1)))(layers.UpSampling3D(2)(x))
    x = normalized(layers.Concatenate()([x, second]), 16)
    x = normalized(layers.Concatenate()([layers.UpSampling3D(2)(x), first]), 8)
    return keras.Model(image, layers.Conv3D(1, 1, name="cleaned", activation="relu")(x))


def resnet():
    return keras.applications.ResNet50(weights=None, input_shape=(64, 64, 3), classes=10)


def write(folder, name, model, data, target, loss):
    model.save(folder / f"{name}.keras")
    described = {"data": data, "loss": loss, "inputs": [{"name": model.layers[0].name, "column": "image"}],
                 "targets": [{"name": model.layers[-1].name, "column": target}]}
    (folder / f"{name}.json").write_text(json.dumps(described))


def main():
    folder = pathlib.Path(sys.argv[2])
    keras.utils.set_random_seed(7)
    with h5py.File(sys.argv[1]) as file:
        small, energy = file["ECAL"][:EVENTS], file["energy"][:EVENTS]
    image = (small / 8).repeat(2, axis=1).repeat(2, axis=2).repeat(2, axis=3)
    with h5py.File(folder / "showers.h5", "w") as file:
        file["image"], file["energy"], file["cleaned"] = image, energy, image[..., None]
    numbers = numpy.random.default_rng(7)
    with h5py.File(folder / "pictures.h5", "w") as file:
        file["image"] = numbers.normal(size=(64, 64, 64, 3)).astype("float32")
        file["label"] = numpy.eye(10, dtype="float32")[numbers.integers(0, 10, 64)]
    for name, make in (("discriminator", discriminator), ("cnn", cnn)):
        write(folder, name, make(), "showers.h5", "energy", "mean_absolute_error")
    write(folder, "unet", unet(), "showers.h5", "cleaned", "mean_squared_error")
    write(folder, "resnet", resnet(), "pictures.h5", "label", "categorical_crossentropy")


if __name__ == "__main__":
    main()
