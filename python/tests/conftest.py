"""What the tests of the package share. They run from the installed package alone (tests/packaging/python_test.py), with the program that LINAC
names; a package that came with its own takes that."""

import os
import pathlib
import signal

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")

import numpy as np
import pytest


def small_model(name="jet"):
    """Two classes of four numbers."""
    import keras  # which takes seconds, and not every test wants it

    keras.utils.set_random_seed(1)
    layers = [keras.Input((4,), name=name), keras.layers.Dense(8, activation="relu"), keras.layers.Dense(2, activation="softmax", name="kind")]
    model = keras.Sequential(layers)
    model.compile(keras.optimizers.Adam(0.01), "sparse_categorical_crossentropy", metrics=["accuracy"])
    return model


def small_events(count=1200):
    """Floats of 64 bits, and classes that a model of this size can tell apart."""
    x = np.random.default_rng(1).normal(size=(count, 4))
    return x, (x.sum(axis=1) > 0).astype(np.int64)


@pytest.fixture(autouse=True)
def apart(tmp_path, monkeypatch):
    """Each test in a folder of its own, with a list of runs of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path


@pytest.fixture
def ctrl_c():
    """SIGINT is a KeyboardInterrupt, also where a shell has started the tests in the background, which ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="session")
def model_file(tmp_path_factory) -> pathlib.Path:
    path = tmp_path_factory.mktemp("model") / "small.keras"
    small_model().save(path)
    return path


@pytest.fixture(scope="session")
def trained(tmp_path_factory):
    """A run of three epochs that nobody changes."""
    import linac

    x, y = small_events()
    return linac.fit(small_model(), x, y, epochs=3, validation_split=0.25, folder=tmp_path_factory.mktemp("trained") / "run").wait()


@pytest.fixture(scope="session")
def service():
    """One of this host, with its admin's token."""
    from lib.server_process import Service

    with Service() as running:
        yield running
