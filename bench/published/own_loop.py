#!/usr/bin/env python3
"""linac's loop against one of one's own: the published classifier of high-level features as a built-in model, as a plug-in's model for the same loop,
and with the plug-in's own loop (bench/published/own_loop), from the same weights in the latter two.

  bench/published/own_loop.py     goes on where it stopped; wants a build in build/release, which is installed into a folder of its own"""

import functools
import pathlib

import records
from lib import runs
from records import HERE, ROOT, WORK

EPOCHS, BATCH = 12, 15


@functools.cache
def plugins() -> pathlib.Path:
    """Built once."""
    prefix, folder = WORK / "installed", WORK / "plugins"
    if not (folder / "own_loop.so").exists():
        for words in (["cmake", "--install", ROOT / "build/release", "--prefix", prefix], ["cmake", "-G", "Ninja", "-S", HERE / "own_loop", "-B", folder, f"-DCMAKE_PREFIX_PATH={prefix}"],
                      ["cmake", "--build", folder]):
            records.measured(words)
    return folder


def run(case: dict, number: int) -> dict:
    job = records.classifier("hlf", 1, epochs=EPOCHS, replicas=2, batch=BATCH)
    if case["loop"] == "own":
        job["train"].pop("fit"), job["data"].pop("targets"), job["data"].pop("classes")
    if case["model"] == "plug-in":
        job["model"] = {"kind": "custom", "file": str(plugins() / ("own_loop.so" if case["loop"] == "own" else "own_model.so"))}
    out = WORK / "own-loop"
    record = records.train(out, job)
    weights = next((out / "models").glob("*.safetensors"), None)  # of a plug-in; the names in it are of model or loop
    return {**record, **({"values": records.digest_of(runs.tensors_in(weights.read_bytes()), names=False)} if weights else {}),
            "test_loss": repr(records.epochs_of(out)[-1]["test"]["loss"])}


STUDY = records.Study("own-loop", [{"model": "built in", "loop": "linac's"}, {"model": "plug-in", "loop": "linac's"}, {"model": "plug-in", "loop": "own"}], 5, run)

if __name__ == "__main__":
    records.main(STUDY)
