#!/usr/bin/env python3
"""A generator and a discriminator as the 3DGAN has them, for images of 12x12x12 cells.

  bench/published/networks.py FOLDER SEED     a Python with Keras, as build/peers has; writes FOLDER/{generator,discriminator}-SEED.keras"""

import os
import pathlib
import sys

os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import keras

CELLS, LATENT = 12, 32
L = keras.layers


def generator() -> keras.Model:
    return keras.Sequential([
        keras.Input((LATENT,)), L.Dense(3 * 3 * 3 * 8), L.Reshape((3, 3, 3, 8)),
        L.UpSampling3D(2), L.Conv3D(8, 3, padding="same", activation="relu"), L.BatchNormalization(),
        L.UpSampling3D(2), L.Conv3D(6, 3, padding="same", activation="relu"), L.BatchNormalization(),
        L.Conv3D(1, 2, padding="same", activation="relu")])


def discriminator() -> keras.Model:
    image = keras.Input((CELLS, CELLS, CELLS, 1))
    x = image
    for filters in (8, 6):
        x = L.Dropout(0.2)(L.LeakyReLU(negative_slope=0.3)(L.Conv3D(filters, 3, padding="same")(x)))
        x = L.AveragePooling3D(2)(L.BatchNormalization()(x))
    x = L.Flatten()(x)
    return keras.Model(image, [L.Dense(1, activation="sigmoid", name="real")(x), L.Dense(1, name="energy")(x)])


def main() -> None:
    folder, seed = pathlib.Path(sys.argv[1]), int(sys.argv[2])
    keras.utils.set_random_seed(seed)
    generator().save(folder / f"generator-{seed}.keras")
    discriminator().save(folder / f"discriminator-{seed}.keras")


if __name__ == "__main__":
    main()
