"""The README's block of Python, with a model and arrays in hand. tests/docs has those of the pages."""

import pathlib
import re

import numpy as np
import pytest
from conftest import small_events, small_model

import linac

ROOT = pathlib.Path(__file__).resolve().parents[2]


def blocks(page):
    return re.findall(r"^```python\n(.*?)^```$", (ROOT / page).read_text(), re.M | re.S)


def test_guide_page():
    x, y = small_events(400)
    names = {"linac": linac, "x": np.tile(x, 4), "y": y}
    of_torch, of_showers = blocks("docs/guide/python.md")
    exec(compile(of_showers, "python.md", "exec"), names)
    assert names["report"].page.exists() and names["new"]["ECAL"].shape[0] == 100
    pytest.importorskip("torch")
    exec(compile(of_torch, "python.md", "exec"), names)
    assert type(names["trained"]) is type(names["net"]) and "accuracy" in names["run"].history


def test_readme(tmp_path):
    x, y = small_events(400)
    names = {"model": small_model(), "x": x, "y": y}
    block, = blocks("README.md")
    assert len(block.splitlines()) == 5
    exec(compile(block, "README.md", "exec"), names)
    assert (tmp_path / "model.onnx").exists() and names["scores"].shape == (400, 2) and np.isfinite(names["scores"]).all()
