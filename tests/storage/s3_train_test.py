#!/usr/bin/env python3
"""The classifier trains from s3:// on a real server with 1 and 2 workers to the bits of a run from the disk, though every third connection
fails; its data cross the link once. A model and predictions go to the store and come back. Exit 77 where versitygw is not installed."""

import pathlib
import sys
import tempfile
import threading

from lib import runs
from lib.checks import check
from lib.relay import FaultyRelay
from lib.runs import linac, tensors
from lib.servers.versitygw import Versitygw

JOB = {"job": "examples/topology.yaml", **runs.SMALL_CLASSIFIER, "train.replicas": 2, "train.batch": 10, "train.epochs": 1, "train.steps_per_epoch": 3}
DATA = {"data.train": "topology-train.parquet", "data.test": "topology-test.parquet", "data.scaling": "topology-scaling.json"}


def main() -> None:
    if not Versitygw.available():
        print("no versitygw: tests/servers/get.sh versitygw")
        sys.exit(77)
    with tempfile.TemporaryDirectory(prefix="linac-s3-") as folder, Versitygw() as store:
        root = pathlib.Path(folder)
        train, test = ((runs.ROOT / "data" / name).read_bytes() for name in ("topology-train.parquet", "topology-test.parquet"))
        store.put("events/topology-train.parquet", train)
        # As somebody may lay it there behind the server's back: it has no ETag then, only a date.
        bucket = store.folder / "data" / store.BUCKET / "events"
        (bucket / "topology-test.parquet").write_bytes(test)
        size = len(train) + len(test)
        runs.run(disk := root / "disk", JOB, "--workers", "1")
        urls = {"data.train": "[s3://test/events/topology-tr*.parquet]", "data.test": "[s3://test/events/topology-test.parquet]"}
        for workers, every in ((2, 0), (1, 3), (2, 3)):
            with FaultyRelay(store.port, every) as relay:
                environment = {**store.environment, "AWS_ENDPOINT_URL": relay.url, "LINAC_CACHE": str(root / f"cache-{workers}-{every}")}
                runs.run(out := root / f"s3-{workers}-{every}", JOB | urls, "--workers", str(workers), **environment)
                share = relay.bytes_out / size
            check(tensors(disk) == tensors(out), f"{workers} worker(s) from s3://, {relay.faults} faults: all numbers of the checkpoint are the same")
            check((relay.faults > 0) == (every > 0), "there were faults where there should be")
            check(len(tensors(out)) > 10, "there are numbers to compare")
            check(share < (1.5 if every else 1.01), f"bytes fetched over the size of the data: {share:.3f} (with what was cut, and all answers)")
            text = "".join(path.read_text(errors="replace") for path in out.rglob("*") if path.suffix in (".yaml", ".json", ".jsonl", ".log"))
            check(store.secret not in text and store.id not in text, "no key is in the run's folder")

        environment = {**store.environment, "LINAC_CACHE": str(root / "cache")}
        threads = [threading.Thread(target=linac, args=("data", "info", "s3://test/events/topology-test.parquet"), kwargs=environment)
                   for _ in range(2)]
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]
        linac("export", disk, "--out", "s3://test/out/model.onnx", **environment)
        model = disk / "models" / "model.keras"
        (bucket / "model.keras").write_bytes(model.read_bytes())
        for source, out in ((model, root / "a.h5"), ("s3://test/events/model.keras", "s3://test/out/b.h5")):
            linac("predict", "--model", source, "--data", "s3://test/events/topology-test.parquet", "--out", out, **environment)
        written = store.folder / "data" / store.BUCKET / "out" / "b.h5"
        check(written.stat().st_size > 0 and (written.parent / "model.onnx").stat().st_size > 0, "outputs are in the bucket")
        check(not (runs.ROOT / "s3:").exists(), "no folder s3: is made here")
        said = linac("evaluate", "--model", model, "--data", "s3://test/events/topology-test.parquet", "--out", "s3://test/report", status=2, **environment)
        check("file system" in said, "a report's folder at s3:// is refused with a way out")
        said = linac("data", "info", "s3://test/events/none.parquet", status=3, **environment)
        check("s3://test/events/none.parquet" in said and store.secret not in said, "a missing object is named")


if __name__ == "__main__":
    main()
