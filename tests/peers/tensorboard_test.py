#!/usr/bin/env python3
"""A short run, then TensorBoard's own reader on what it wrote, compared with the run's metrics.jsonl.

    tensorboard_test.py FOLDER

Checked: every step's losses and no others (so a resumed run has each step once), the epochs' of training and validation
as two runs with the same tags, pictures that are PNGs of the size they are said to have, and the hyper-parameters. Exit status 0 only if all holds.
"""

import json
import math
import pathlib
import shutil
import struct
import sys
import types

# TensorBoard then reads with its own code instead of loading TensorFlow, which takes a minute on a small machine.
sys.modules["tensorboard.compat.notf"] = types.ModuleType("notf")

from tensorboard.backend.event_processing import event_accumulator
from tensorboard.plugins.hparams import plugin_data_pb2

from lib import runs

LOSSES = ("d_real", "d_fake", "g")
FLOAT32_RELATIVE = 1e-6


def train(out):
    """Interrupted and resumed, so that the folder holds two event files."""
    shutil.rmtree(out, ignore_errors=True)
    settings = {**runs.SMALL, "train.replicas": 2, "train.max_steps": 5}
    runs.run(out, {**settings, "train.max_steps": 2})
    runs.run(out, settings, "--resume")


def load(folder):
    everything = {kind: 0 for kind in ("scalars", "images", "tensors", "histograms", "compressedHistograms", "audio")}
    events = event_accumulator.EventAccumulator(str(folder), size_guidance=everything)
    events.Reload()
    return events


def step_losses(metrics):
    """{loss: {global step: value}}; metrics.jsonl writes what is not finite as a string."""
    losses = {name: {} for name in LOSSES}
    for number, text in enumerate(metrics.read_text().splitlines(), 1):
        line = json.loads(text)
        if line["kind"] != "step":
            continue
        for name in LOSSES:
            step = line["global_step"]
            assert step not in losses[name], f"{metrics}:{number}: step {step} twice"
            losses[name][step] = float(line["loss"][name]["total"])
    return losses


def same(a, b):
    if math.isnan(a) or math.isnan(b):
        return math.isnan(a) and math.isnan(b)
    return a == b or abs(a - b) <= FLOAT32_RELATIVE * max(abs(a), abs(b))


def check_scalars(events, metrics):
    wanted = step_losses(metrics)
    assert wanted["g"], f"{metrics}: no steps"
    for name, values in wanted.items():
        found = events.Scalars(f"loss/{name}")
        steps = [scalar.step for scalar in found]
        assert steps == sorted(values), f"loss/{name}: steps {steps[:5]}... instead of {sorted(values)[:5]}..."
        for scalar in found:
            value = values[scalar.step]
            assert same(scalar.value, value), f"loss/{name}, step {scalar.step}: {scalar.value} instead of {value}"
    return len(wanted["g"])


def check_epochs(folder, metrics):
    """One chart of a measure has both: `tensorboard --logdir` makes a run of each folder, and a chart of each tag."""
    epochs = [line for line in map(json.loads, metrics.read_text().splitlines()) if line["kind"] == "epoch"]
    assert epochs, f"{metrics}: no epochs"
    for run, role in (("train", "train"), ("validation", "test")):
        events = load(folder / run)
        for name in LOSSES:
            found = [(event.step, event.value) for event in events.Scalars(f"epoch_{name}")]
            wanted = [(line["epoch"], line[role][name]["total"]) for line in epochs]
            assert len(found) == len(wanted), f"{run}: {found} instead of {wanted}"
            for (step, value), (epoch, expected) in zip(found, wanted):
                assert step == epoch and same(value, expected), f"{run}: {found} instead of {wanted}"
        rates = {event.step for event in events.Scalars("epoch_learning_rate")} if run == "train" else set()
        assert run != "train" or rates == {line["epoch"] for line in epochs}, f"rates of the epochs {rates}"
    assert not [tag for tag in load(folder).Tags()["scalars"] if tag.startswith(("test/", "epoch_"))], "a curve twice"
    return len(epochs)


def png_size(data):
    assert data[:8] == b"\x89PNG\r\n\x1a\n" and data[12:16] == b"IHDR", "not a PNG"
    assert data[-8:-4] == b"IEND", "a PNG without its end"
    return struct.unpack(">II", data[16:24])


def check_images(events):
    tags = events.Tags()["images"]
    assert tags, "no pictures"
    count = 0
    for tag in tags:
        for image in events.Images(tag):
            size = png_size(image.encoded_image_string)
            assert size == (image.width, image.height), f"{tag}: {size}, said to be {image.width} x {image.height}"
            count += 1
    return count


def check_hparams(events):
    contents = events.PluginTagToContent("hparams")

    def data(tag):
        assert tag in contents, f"no {tag} (found: {sorted(contents)})"
        return plugin_data_pb2.HParamsPluginData.FromString(contents[tag])

    experiment = data("_hparams_/experiment").experiment
    values = data("_hparams_/session_start_info").session_start_info.hparams
    assert values, "no hyper-parameters"
    assert {info.name for info in experiment.hparam_infos} == set(values), "infos and values name different settings"
    for name, value in values.items():
        assert value.WhichOneof("kind") in ("number_value", "string_value", "bool_value"), name
    assert data("_hparams_/session_end_info").session_end_info.status == 1, "the run did not end well"
    known = set(events.Tags()["scalars"])
    for metric in experiment.metric_infos:
        assert metric.name.tag in known, f"hparams: the metric {metric.name.tag} is no scalar of the run"
    return len(values)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    run = pathlib.Path(sys.argv[1])
    train(run)
    events = load(run / "tensorboard")
    steps = check_scalars(events, run / "metrics.jsonl")
    epochs = check_epochs(run / "tensorboard", run / "metrics.jsonl")
    images = check_images(events)
    hparams = check_hparams(events)
    print(f"tensorboard: {steps} steps and {epochs} epochs as in metrics.jsonl, {images} pictures, {hparams} hyper-parameters")


if __name__ == "__main__":
    main()
