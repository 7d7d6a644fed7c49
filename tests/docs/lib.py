"""The package tests/lib, for the programs of this folder."""

import pathlib

__path__ = [str(pathlib.Path(__file__).resolve().parents[1] / "lib")]
