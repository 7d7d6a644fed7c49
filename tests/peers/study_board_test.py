"""TensorBoard's HPARAMS tab shows a study of linac: all trials, their settings, states and values. In TensorBoard's own code, as its server asks it."""

import json
import pathlib
import subprocess
import sys
import tempfile
import types

# TensorBoard then reads with its own code instead of loading TensorFlow, which takes a minute on a small machine.
sys.modules["tensorboard.compat.notf"] = types.ModuleType("notf")

from tensorboard import context  # noqa: E402
from tensorboard.backend.event_processing import data_provider, plugin_event_multiplexer  # noqa: E402
from tensorboard.plugins import base_plugin  # noqa: E402
from tensorboard.plugins.hparams import api_pb2, backend_context, get_experiment, list_session_groups  # noqa: E402

from lib import runs
from lib.checks import check

STUDY = """search:
  rate: {kind: log, low: 1.0e-4, high: 0.1}
  layers: {kind: integer, low: 1, high: 8}
  how: {kind: categorical, choices: [adam, sgd]}
  momentum: {low: 0, high: 1, when: {how: [sgd]}}
objective: {metric: auc}
budget: {trials: 40}
"""


def linac(*words: object) -> str:
    return subprocess.run([runs.LINAC, *map(str, words)], env=runs.environment(), check=True, capture_output=True, text=True, timeout=60).stdout


def tell(folder: pathlib.Path) -> list[dict]:
    (folder / "study.yaml").write_text(STUDY)
    study = folder / "study"
    linac("study", "new", folder / "study.yaml", "--out", study)
    for number in range(1, 13):
        linac("study", "ask", study)
        if number == 12:
            continue  # it runs
        for step in (1, 2):
            linac("study", "report", study, number, step, 0.5 + 0.01 * number + 0.1 * step)
        linac("study", "tell", study, number, *(["--state", "failed", "--reason", "the host went"] if number == 10 else ["nan"] if number == 11 else [0.7 + 0.01 * number]))
    linac("study", "export", study, "--as", "tensorboard", "--to", folder / "board")
    return json.loads(linac("study", "show", study, "--json"))


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        trials = {f"{one['trial']:04}": one for one in tell(folder)}
        told_columns = [path.relative_to(folder / "board") for path in (folder / "board").rglob("*tfevents*") if b"_hparams_/experiment" in path.read_bytes()]
        check([len(path.parts) for path in told_columns] == [1], "the study's own file has the columns, and no trial's")
        multiplexer = plugin_event_multiplexer.EventMultiplexer(tensor_size_guidance={"scalars": 100, "hparams": 100})
        multiplexer.AddRunsFromDirectory(str(folder / "board"))
        multiplexer.Reload()
        board = backend_context.Context(base_plugin.TBContext(multiplexer=multiplexer, data_provider=data_provider.MultiplexerDataProvider(multiplexer, str(folder / "board"))))
        asked = context.RequestContext()
        experiment = get_experiment.Handler(asked, board, "", api_pb2.GetExperimentRequest()).run()
        check({info.name for info in experiment.hparam_infos} == {"rate", "layers", "how", "momentum"}, "the parameters are columns")
        check([metric.name.tag for metric in experiment.metric_infos] == ["objective/auc"], "and so is the objective")
        wanted = api_pb2.ListSessionGroupsRequest(allowed_statuses=[0, 1, 2, 3], start_index=0, slice_size=100, col_params=[{"hparam": info.name} for info in experiment.hparam_infos])
        groups = list_session_groups.Handler(asked, board, "", wanted).run().session_groups
        sessions = {group.sessions[0].name: group for group in groups}
        check(set(sessions) == set(trials), "a session a trial")
        states = {"complete": api_pb2.STATUS_SUCCESS, "failed": api_pb2.STATUS_FAILURE, "infeasible": api_pb2.STATUS_FAILURE, "running": api_pb2.STATUS_UNKNOWN}
        for number, trial in trials.items():
            group = sessions[number]
            values = {name: getattr(value, value.WhichOneof("kind")) for name, value in group.hparams.items() if value.WhichOneof("kind") != "null_value"}
            assert values == trial["point"], (values, trial["point"])
            assert group.sessions[0].status == states[trial["state"]], (number, trial["state"], group.sessions[0].status)
            told = [value.value for value in group.metric_values]
            assert len(told) == len(trial["values"]) * (trial["state"] == "complete") and all(abs(one - other) < 1e-6 for one, other in zip(told, trial["values"])), (number, told)
        check(True, "points to the bit, states and values")


if __name__ == "__main__":
    main()
