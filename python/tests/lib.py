"""The package tests/lib of the tree, for the tests of this folder."""

import pathlib

__path__ = [str(pathlib.Path(__file__).resolve().parents[2] / "tests" / "lib")]
