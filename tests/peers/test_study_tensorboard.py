#!/usr/bin/env python3
"""The HPARAMS tab of a real TensorBoard shows a study: its backend lists all trials with their points, values and ends."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import types

# TensorBoard then reads with its own code instead of loading TensorFlow, which takes a minute on a small machine.
sys.modules["tensorboard.compat.notf"] = types.ModuleType("notf")

from tensorboard.backend.event_processing import data_provider, plugin_event_multiplexer  # noqa: E402
from tensorboard.context import RequestContext  # noqa: E402
from tensorboard.plugins import base_plugin  # noqa: E402
from tensorboard.plugins.hparams import api_pb2, backend_context, get_experiment, list_session_groups  # noqa: E402

LINAC = os.environ["LINAC"]
ROOT = pathlib.Path(__file__).resolve().parents[2]
STUDY = """
search:
  lr: {kind: log, low: 1.0e-4, high: 1.0e-1}
  units: {kind: integer, low: 8, high: 64}
  kind: {kind: categorical, choices: [dense, gru]}
  cells: {kind: integer, low: 1, high: 9, when: {kind: [gru]}}
objective: {metric: auc, direction: maximize}
sampler: {name: random}
budget: {trials: 8}
"""


def linac(*words: object, status: int = 0) -> str:
    done = subprocess.run([LINAC, *map(str, words)], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120)
    assert done.returncode == status, f"{words}: {done.returncode}\n{done.stdout}"
    return done.stdout


def shown(folder: pathlib.Path) -> tuple:
    """What the tab asks its backend for: the experiment, and a group for each trial."""
    multiplexer = plugin_event_multiplexer.EventMultiplexer()
    multiplexer.AddRunsFromDirectory(str(folder))
    multiplexer.Reload()
    context = backend_context.Context(base_plugin.TBContext(data_provider=data_provider.MultiplexerDataProvider(multiplexer, str(folder))))
    ctx = RequestContext()
    experiment = get_experiment.Handler(ctx, context, "", api_pb2.GetExperimentRequest()).run()
    request = api_pb2.ListSessionGroupsRequest(start_index=0, slice_size=100,
                                               allowed_statuses=[api_pb2.STATUS_UNKNOWN, api_pb2.STATUS_SUCCESS, api_pb2.STATUS_FAILURE, api_pb2.STATUS_RUNNING])
    for info in experiment.metric_infos:
        request.col_params.add(metric=info.name)
    return experiment, list_session_groups.Handler(ctx, context, "", request).run().session_groups


def value_of(value):
    return getattr(value, value.WhichOneof("kind"))


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="linac-hparams-") as folder:
        root = pathlib.Path(folder)
        (root / "space.yaml").write_text(STUDY)
        study, events = root / "study", root / "events"
        linac("study", "new", root / "space.yaml", "--out", study)
        points, states = {}, ["complete"] * 5 + ["failed", "infeasible", "running"]
        for number, state in enumerate(states, 1):
            asked = json.loads(linac("study", "ask", study))
            points[asked["trial"]] = asked["point"]
            if state == "running":
                continue
            if number == 1:
                linac("study", "report", study, number, 3, 0.4)
            linac("study", "tell", study, number, *([f"{0.5 + number / 100}"] if state == "complete" else ["--state", state]))
        for _ in range(2):  # anew, not beside what was there
            linac("study", "report", study, "--out", root / "page.html", "--tensorboard", events)
        experiment, groups = shown(events)
        assert {info.name for info in experiment.hparam_infos} == {"lr", "units", "kind", "cells"}, experiment
        assert [info.name.tag for info in experiment.metric_infos] == ["auc"], experiment
        sessions = {int(pathlib.Path(session.name).name): (group, session) for group in groups for session in group.sessions}
        assert sorted(sessions) == sorted(points) and len(points) == 8, f"{sorted(sessions)} of {sorted(points)}"
        ends = {"complete": api_pb2.STATUS_SUCCESS, "running": api_pb2.STATUS_UNKNOWN}  # a session without an end
        for number, point in points.items():
            group, session = sessions[number]
            found = {name: value_of(value) for name, value in group.hparams.items() if value.WhichOneof("kind") != "null_value"}
            assert found == point, f"trial {number}: {found}, not {point}"
            state = states[number - 1]
            assert session.status == ends.get(state, api_pb2.STATUS_FAILURE), f"trial {number}: {state} is shown as {session.status}"
            values = [metric.value for metric in session.metric_values]
            assert (abs(values[0] - (0.5 + number / 100)) < 1e-6) if state == "complete" else not values, f"trial {number}: {values}"
        (events / "notes.txt").write_text("mine")
        assert "notes.txt" in linac("study", "report", study, "--out", root / "page.html", "--tensorboard", events, status=4)
        assert (events / "notes.txt").read_text() == "mine" and (events / "0001").is_dir(), "nothing of others is removed"
        print(f"hparams: {len(sessions)} trials, as told")


if __name__ == "__main__":
    main()
