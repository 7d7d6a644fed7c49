#!/usr/bin/env python3
"""A run whose folder lies at an object store has the bits of one in a path: to its end, and killed on one machine and gone on with on another,
by other workers. Other verbs read it there. Exit 77 where versitygw is not installed."""

import json
import os
import pathlib
import signal
import tempfile
import time

import kept_runs
from kept_runs import JOB, Bucket, compare, files_of, on_disk
from lib import runs
from lib.checks import check
from lib.runs import linac
from lib.servers.versitygw import Versitygw


def to_the_end(bucket: Bucket, disk: dict[str, bytes]) -> None:
    said = bucket.train("a")
    compare(files_of(bucket.folder), disk, "all checkpoints and models have the bits of a run in a path, and their own names")
    check(runs.losses(bucket.folder) == runs.losses(bucket.root / "disk"), "so have all losses")
    check(bucket.manifest()["ended"] and set(bucket.named()) == {str(path.relative_to(bucket.folder)) for path in bucket.folder.rglob("*")
                                                                 if path.is_file() and path.name not in (kept_runs.MANIFEST,)},
          "nothing else is there than what the manifest names")
    names = {str(path.relative_to(bucket.folder)) for path in bucket.folder.rglob("*")}
    check(not any(name.startswith(("private", "views", ".")) for name in names), "neither keys nor addresses of workers are there")
    check({"evaluation/report.html", "evaluation/roc.png"} <= names and f"{bucket.url}/evaluation/report.html" in said, "what its test says of the model is")
    check(not bucket.copies("a"), "no copy stays here")
    check(f"run          {bucket.url}\n" in said and f"sending to {bucket.url}: all is there" in said, "people are told the address")


def killed_and_gone_on_with(bucket: Bucket, disk: dict[str, bytes]) -> None:
    process = bucket.start("b", "--workers", "2")
    bucket.wait_for_checkpoint(process)
    views = [line for line in runs.lines_so_far(bucket.copies("b")[0]) if line["kind"] == "view"]
    os.kill(views[-1]["members"][0]["pid"], signal.SIGKILL)
    former = set(bucket.checkpoints())
    end = time.monotonic() + 30
    while set(bucket.checkpoints()) == former and process.poll() is None and time.monotonic() < end:
        time.sleep(0.05)
    check(process.poll() is None and set(bucket.checkpoints()) > former, "after the loss of rank 0, what the other worker does goes there as well")
    keys = [path.read_bytes() for path in (bucket.root / "b").rglob("private/key")]
    runs.kill_tree(process)
    bucket.lose("b")
    check(kept_runs.same_steps(disk, bucket), "after kill -9 there are whole checkpoints, with the bits of a run in a path")
    check(len(bucket.checkpoints()) < 8, "and it is not at its end")
    # One that rank 0 was writing when it was lost is in no folder.
    lost = {name for name in disk if "/step-" in name and name < max(bucket.checkpoints())} - set(bucket.checkpoints())
    check(len(keys) == 1 and not any(keys[0] in path.read_bytes() for path in bucket.folder.rglob("*") if path.is_file()), "the workers' key is not there")
    bucket.train("c", status=2)
    job = JOB | {"job": f"{bucket.url}/job.yaml"}
    said = bucket.train("c", "--resume", job=job)
    check("fetched into" in said and "resuming from" in said, "it goes on where it was")
    compare(files_of(bucket.folder), disk, "another machine, with another number of workers, comes to the same bits from s3:// alone", lost)
    check(runs.losses(bucket.folder) == runs.losses(bucket.root / "disk"), "the record is whole")
    check(not (bucket.folder / "versions").exists() or not list((bucket.folder / "versions").iterdir()), "former versions are gone")


def read_there(bucket: Bucket) -> None:
    environment, data = bucket.environment("d"), runs.ROOT / "data" / "topology-test.parquet"
    linac("predict", "--model", bucket.url, "--data", data, "--out", bucket.root / "by-url.h5", **environment)
    linac("predict", "--model", bucket.root / "disk", "--data", data, "--out", bucket.root / "by-path.h5", **environment)
    sizes = [(bucket.root / f"by-{kind}.h5").stat().st_size for kind in ("url", "path")]
    check(sizes[0] > 10_000 and abs(sizes[0] - sizes[1]) < 4096, "predict takes it")
    linac("evaluate", "--model", bucket.url + "/", "--data", data, "--out", bucket.root / "evaluation", **environment)
    linac("report", bucket.url, "--out", bucket.root / "report", **environment)
    check(json.loads((bucket.root / "report" / "report.json").read_text()) != {}, "evaluate and report too")
    linac("export", bucket.url, "--out", f"s3://{bucket.store.BUCKET}/model.onnx", **environment)


def main() -> None:
    kept_runs.need_server()
    with tempfile.TemporaryDirectory(prefix="linac-kept-", ignore_cleanup_errors=True) as folder, Versitygw() as store:
        root = pathlib.Path(folder)
        disk = on_disk(root)
        check(len(disk) > 8, "there is something to compare")
        to_the_end(Bucket(store, "whole", root), disk)
        killed_and_gone_on_with(Bucket(store, "killed", root), disk)
        read_there(Bucket(store, "killed", root))


if __name__ == "__main__":
    main()
