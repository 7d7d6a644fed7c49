#!/usr/bin/env python3
"""data.shuffle_window in what happens to a run: HDF5 files of a web server, of which each is fetched when its window comes; a collapse in the midst of
an epoch, after which another order of the files begins there; a worker that joins in the midst of an epoch; `linac evaluate` on the events that
data.split.validation has kept; and what `linac data info` says of a job's order. Wants pyarrow, which cuts the events into files."""

import json
import pathlib
import subprocess
import sys
import tempfile

from lib import runs
from lib.checks import check, wait_for
from lib.elastic import Run, same_end, steady
from range_server import RangeServer
from window_test import CUTS, cut_into, job


def linac(root: pathlib.Path, *words: object) -> str:
    done = subprocess.run([runs.LINAC, *map(str, words)], cwd=runs.ROOT, env=runs.environment(LINAC_CACHE=str(root / "cache")), text=True,
                          capture_output=True, timeout=120)
    if done.returncode != 0:
        sys.exit(f"{words}: exit status {done.returncode}: {done.stderr}")
    return done.stdout


def remote_hdf5(root: pathlib.Path, parts: pathlib.Path) -> None:
    (served := root / "served").mkdir()
    for number in range(len(CUTS) - 1):
        linac(root, "data", "convert", parts / f"part-{number}.parquet", served / f"part-{number}.h5")
    settings = {"train.epochs": 2, "train.steps_per_epoch": 12}
    local = job(f"{served}/*.h5", **settings)
    runs.run(root / "hdf5", local, "--workers", "1", LINAC_CACHE=str(root / "cache"))
    with RangeServer(served) as server:
        files = ", ".join(f"{server.url}/part-{number}.h5" for number in range(len(CUTS) - 1))
        said = runs.run(root / "hdf5-http", job(files, **settings), "--workers", "2", LINAC_CACHE=str(root / "http-cache"))
        size = sum(path.stat().st_size for path in served.iterdir() if path.suffix == ".h5")
        check(server.sent < 1.1 * size, f"two workers fetch each file once: {server.sent / size:.2f} of the set")
    check(runs.tensors(root / "hdf5") == runs.tensors(root / "hdf5-http"), f"HDF5 of a web server in windows: the bits of the disk {said[-300:] if 'error' in said else ''}")


def collapse(root: pathlib.Path, parts: pathlib.Path) -> None:
    """A few events weigh so much that their loss or its gradient is not finite. The order of another seed may do without them for an epoch; the
    weights hardly change before, so a rollback helps."""
    import pyarrow.parquet as pq
    values = sorted(event.as_py()[0] for number in range(len(CUTS) - 1) for event in pq.read_table(parts / f"part-{number}.parquet").column("HLF_input"))
    heavy = values[-3]
    settings = job(f"{parts}/*.parquet", **{"data.event_weight": f'"1 + 3.3e38 * (HLF_input[0] >= {heavy})"', "train.epochs": 1, "train.steps_per_epoch": 10,
                                            "train.collapse.action": "rollback", "train.collapse.rollbacks": 30, "checkpoint.every_steps": 2,
                                            "train.optimizer": "{name: sgd, lr: 1e-40}"})
    said = runs.run(root / "collapse-1", settings, "--workers", "1", LINAC_CACHE=str(root / "cache"))
    back = [line for line in runs.lines(root / "collapse-1") if line["kind"] == "rollback"]
    check(len(back) >= 1 and any(line["global_step"] > 0 for line in back), f"it goes back into the midst of an epoch: {back} {said[-1500:] if not back else ''}")
    runs.run(root / "collapse-2", settings, "--workers", "2", LINAC_CACHE=str(root / "other-cache"))
    same_end(root / "collapse-1", root / "collapse-2", "collapsed in windows, with one worker and with two")


def newcomer(root: pathlib.Path, parts: pathlib.Path) -> None:
    steps = 60
    settings = job(f"{parts}/*.parquet", **{"train.replicas": 4, "train.batch": 10, "train.epochs": 2, "train.steps_per_epoch": steps, "checkpoint.keep": 2})
    runs.run(root / "calm", settings, "--workers", "2", LINAC_CACHE=str(root / "cache"))
    run = Run(root / "joined", settings, 2, **steady(root), LINAC_CACHE=str(root / "cache"))
    wait_for(lambda: run.steps() >= 5, "the first steps")
    run.join()
    check(run.end() == 0, "a run that somebody joins ends well")
    views = [line for line in runs.lines(root / "joined") if line["kind"] == "view"]
    check(len(views[-1]["members"]) == 3 or len(views) > 2, f"three workers trained: {len(views)} views")
    check(any(len(view["members"]) == 3 and view["global_step"] % steps > 0 for view in views), "the third from the midst of an epoch on")
    same_end(root / "calm", root / "joined", "joined in windows")


def judged(root: pathlib.Path, parts: pathlib.Path) -> None:
    settings = job(f"{parts}/*.parquet", **{"data.split.key": "[HLF_input]", "data.split.validation": 0.3, "train.epochs": 1, "train.steps_per_epoch": 8})
    runs.run(root / "split", settings, "--workers", "1", LINAC_CACHE=str(root / "cache"))
    events = sum(file["events"] for file in json.loads((root / "split" / "run.json").read_text())["data"]["test"])
    found = json.loads(linac(root, "evaluate", "--model", root / "split", "--validation-split", "--bootstraps", 0, "--json"))
    check(0 < events == found["events"], f"evaluate judges the {events} events that tested: {found['events']}")
    tested = [line for line in runs.lines(root / "split") if line["kind"] == "epoch"][-1]["test"]["accuracy"]
    accuracy = next(figure["value"] for figure in found["models"][0]["scores"] if figure["name"] == "accuracy")
    check(abs(accuracy - tested) < 1e-6, f"and finds the accuracy of the training's test: {accuracy} and {tested}")


def order_in_words(root: pathlib.Path, parts: pathlib.Path) -> None:
    text = (runs.ROOT / "examples" / "topology.yaml").read_text().replace("data/topology-train.parquet", f"{parts}/*.parquet")
    text = text.replace("accuracy, auc", "accuracy").replace("best_by: auc", "best_by: loss").replace("data/topology-test.parquet", "").replace("data/topology-scaling.json", str(runs.ROOT / "data" / "topology-scaling.json"))
    (exact := root / "exact.yaml").write_text(text)
    found = json.loads(linac(root, "data", "info", exact, "--json"))["order"]
    check(found["kind"] == "exact" and found["window"] == 0 and "data.shuffle_window" in found["why"], f"an exact order: {found}")
    check("order  exact" in linac(root, "data", "info", exact), "in words too")
    (windowed := root / "windowed.yaml").write_text(text.replace("data:\n", "data:\n  shuffle_window: 2\n  split: {key: [HLF_input], test: 0.2}\n", 1)
                                                    .replace("train:\n", "train:\n  steps_per_epoch: 4\n", 1))
    found = json.loads(linac(root, "data", "info", windowed, "--json"))["order"]
    check(found["kind"] == "windowed" and found["window"] == 2 and "train.steps_per_epoch" in found["why"], f"a windowed one: {found}")
    said = linac(root, "data", "info", windowed)
    check("order  windowed" in said and "2 files at a time" in said, f"in words too: {said}")
    check("0.2 of the events stay apart" in said and "0 of the events test" not in said, f"with split.test alone nothing is said of a test: {said}")


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="linac-window-cases-") as folder:
        root = pathlib.Path(folder)
        (parts := root / "parts").mkdir()
        cut_into(parts)
        order_in_words(root, parts)
        remote_hdf5(root, parts)
        collapse(root, parts)
        judged(root, parts)
        newcomer(root, parts)


if __name__ == "__main__":
    main()
