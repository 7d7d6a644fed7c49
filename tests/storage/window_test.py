#!/usr/bin/env python3
"""data.shuffle_window: a training that holds a few files at a time has the bits of any number of workers, goes on at any step, begins before
its set is fetched, and lets files go where the cache is small; with train.steps_per_epoch also where a filter and a split hide how many events a
file gives. Wants pyarrow, which cuts the events into files."""

import pathlib
import subprocess
import tempfile

import pyarrow.parquet as pq

from lib import runs
from lib.checks import check
from lib.runs import tensors
from range_server import RangeServer

CUTS = [0, 100, 260, 380, 500, 620, 720]  # events of the files


def job(files: str, **settings: object) -> dict:
    return {"job": "examples/topology.yaml", **runs.SMALL_CLASSIFIER, "train.replicas": 2, "train.batch": 20, "data.train": f"[{files}]", "data.test": "[]", "checkpoint.best_by": "loss",
            "train.fit.metrics": "[accuracy]", "data.shuffle_window": 2, **settings}


def cut_into(folder: pathlib.Path, cuts: list[int] = CUTS) -> int:
    table = pq.read_table(runs.ROOT / "data" / "topology-train.parquet")
    for number, (begin, end) in enumerate(zip(cuts, cuts[1:])):
        pq.write_table(table.slice(begin, end - begin), folder / f"part-{number}.parquet")
    return sum(path.stat().st_size for path in folder.iterdir())


def exact(root: pathlib.Path, parts: pathlib.Path) -> None:
    files = f"{parts}/*.parquet"
    runs.run(one := root / "one", job(files, **{"train.epochs": 2}), "--workers", "1", LINAC_CACHE=str(root / "cache"))
    runs.run(two := root / "two", job(files, **{"train.epochs": 2}), "--workers", "2", LINAC_CACHE=str(root / "cache"))
    check(tensors(one) == tensors(two) and len(tensors(one)) > 10, "two workers end with the bits of one")
    runs.run(whole := root / "whole", job(files, **{"train.epochs": 2, "data.shuffle_window": 0}), "--workers", "1", LINAC_CACHE=str(root / "cache"))
    check(tensors(one) != tensors(whole), "another order is another training")

    halt = {"train.epochs": 2, "checkpoint.every_steps": 3}
    process = runs.start(killed := root / "killed", job(files, **halt), "--workers", "2", LINAC_CACHE=str(root / "other"))
    runs.wait_for_steps(killed, process, 13)
    runs.kill_tree(process)
    runs.run(killed, job(files, **halt), "--resume", "--workers", "1", LINAC_CACHE=str(root / "third"))
    check(tensors(killed) == tensors(one), "killed and gone on in the midst of a window, with an empty cache: the same bits")


def streamed(root: pathlib.Path, parts: pathlib.Path, size: int) -> None:
    with RangeServer(parts, bytes_per_s=300_000) as server:
        files = ", ".join(f"{server.url}/part-{i}.parquet" for i in range(len(CUTS) - 1))
        process = runs.start(out := root / "streamed", job(files, **{"train.epochs": 1, "data.shuffle_window": 1}), "--workers", "1",
                             LINAC_CACHE=str(root / "streamed-cache"), LINAC_CACHE_GIB=str(1.1 * size / 3 / 2**30))
        runs.wait_for_steps(out, process, 1)
        share = server.sent / size
        check(share < 0.95, f"the first step comes when {share:.2f} of the set are fetched")
        said, _ = process.communicate(timeout=120)
        check(process.returncode == 0, f"it ends well: {said[-500:] if process.returncode else ''}")
        left = sum(path.stat().st_size for path in (root / "streamed-cache" / "tables").glob("*.pack"))
        packed = sum(path.stat().st_size for path in (root / "cache" / "tables").glob("*.pack"))
        check(left < 0.8 * packed, f"{left / packed:.2f} of the set are left in a cache that is too small for all")
    runs.run(disk := root / "disk", job(f"{parts}/*.parquet", **{"train.epochs": 1, "data.shuffle_window": 1}), "--workers", "1",
             LINAC_CACHE=str(root / "cache"))
    check(tensors(disk) == tensors(out), "the bits of a training from the disk")


# An epoch is longer than the selected events, so it goes on in another order of the files.
SELECTED = {"train.replicas": 3, "train.batch": 10, "train.epochs": 2, "train.steps_per_epoch": 20, "checkpoint.every_steps": 3,
            "data.filter": "encoded_label[0] < 0.5", "data.split.key": "[HLF_input]", "data.split.validation": 0.1, "data.split.test": 0.1,
            "data.event_weight": "encoded_label[1] + 1"}


def selected(root: pathlib.Path, parts: pathlib.Path) -> None:
    settings = job(f"{parts}/*.parquet", **SELECTED)
    for workers in (1, 2, 3):
        runs.run(root / f"selected-{workers}", settings, "--workers", str(workers), LINAC_CACHE=str(root / "selected-cache"))
    one = runs.newest_checkpoint(root / "selected-1").read_bytes()
    for workers in (2, 3):
        check(runs.newest_checkpoint(root / f"selected-{workers}").read_bytes() == one, f"filtered: {workers} workers write the checkpoint of one")
    process = runs.start(killed := root / "selected-killed", settings, "--workers", "2", LINAC_CACHE=str(root / "selected-cache"))
    runs.wait_for_steps(killed, process, 33)
    runs.kill_tree(process)
    said = runs.run(killed, settings, "--resume", "--workers", "3", LINAC_CACHE=str(root / "selected-empty"))
    check("resuming from" in said and "epoch 2" in said, "killed in the midst of the second epoch")
    check(runs.newest_checkpoint(killed).read_bytes() == one, "filtered: gone on with an empty cache and another number of workers: the same checkpoint")
    said = subprocess.run([runs.LINAC, "check", settings["job"], *(word for key, value in settings.items() if key != "job" for word in ("--set", f"{key}={value}"))],
                          cwd=runs.ROOT, env=runs.environment(LINAC_CACHE=str(root / "selected-cache")), text=True, capture_output=True, timeout=60)
    check("2 files at a time, 6 in all" in said.stdout and "train.steps_per_epoch" in said.stdout, f"check says the order: {said.stderr}")


def refused(root: pathlib.Path, parts: pathlib.Path) -> None:
    files = f"{parts}/*.parquet"
    for key, value, way_out in (("data.filter", "encoded_label[0] > 0", "train.steps_per_epoch"), ("data.validation_split", "0.2", "data.split.validation"),
                                ("train.fit.class_balance", "weights", "class_weight"), ("data.split.test", "0.2", "train.steps_per_epoch")):
        said = runs.run(root / "refused", job(files, **{key: value}), "--workers", "1", status=2)
        check("data.shuffle_window" in said and way_out in said, f"{key} is refused with a word on why, and {way_out}")


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="linac-window-") as folder:
        root = pathlib.Path(folder)
        (parts := root / "parts").mkdir()
        size = cut_into(parts)
        exact(root, parts)
        streamed(root, parts, size)
        selected(root, parts)
        refused(root, parts)


if __name__ == "__main__":
    main()
