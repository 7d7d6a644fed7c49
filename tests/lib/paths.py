"""Modules of the tree that are no part of the tests."""

import sys

from .runs import ROOT


def add(folder: str) -> None:
    """What lies in this folder of the tree can be imported from now on."""
    sys.path.insert(0, str(ROOT / folder))
