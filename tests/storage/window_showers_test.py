#!/usr/bin/env python3
"""data.shuffle_window with showers: TFRecord files, some of them GZIP, of an object store come a window ahead and go afterwards. 1, 2 and 3 workers
write the same checkpoint, and so does a run that is killed in the midst of an epoch and goes on with an empty cache. Exit 77 where versitygw is
not installed."""

import gzip
import os
import pathlib
import subprocess
import sys
import tempfile

from lib import runs
from lib.checks import check
from lib.servers.versitygw import Versitygw

FILES = 6
# A step costs the same for one event a replica as for sixteen. What is read ahead of it lies in the cache as well.
JOB = runs.SMALL_NETWORKS | {"train.replicas": 3, "train.batch": 2, "train.epochs": 2, "train.steps_per_epoch": 3, "data.min_sum": 60,
                             "data.train": "[s3://test/showers/*]", "data.prefetch": 1, "data.test": "[]", "checkpoint.best_by": "loss", "data.shuffle_window": 1,
                             "checkpoint.every_steps": 1}


def records(path: pathlib.Path) -> list[bytes]:
    """With their frames."""
    content, found, at = path.read_bytes(), [], 0
    while at < len(content):
        size = 16 + int.from_bytes(content[at:at + 8], "little")
        found.append(content[at:at + size])
        at += size
    return found


def kept(cache: pathlib.Path) -> int:
    """Bytes of the showers in it."""
    return sum(path.stat().st_size for path in (cache / "tables").glob("*.tfrecord"))


def put_files(store: Versitygw, root: pathlib.Path) -> int:
    """Returns the bytes that the cache takes for all."""
    subprocess.run([runs.LINAC, "data", "convert", "data/showers-train.h5", str(root / "all.tfrecord")], cwd=runs.ROOT, check=True, capture_output=True)
    all_of_them = records(root / "all.tfrecord")
    for number in range(FILES):
        content = b"".join(all_of_them[number::FILES][:12])
        store.put(f"showers/{number}.tfrecord", gzip.compress(content, 1) if number % 3 == 0 else content)
    environment = {**os.environ, **store.environment, "LINAC_CACHE": str(root / "all")}
    subprocess.run([runs.LINAC, "data", "info", "s3://test/showers/*"], cwd=runs.ROOT, env=environment, check=True, capture_output=True)
    return kept(root / "all")


def main() -> None:
    if not Versitygw.available():
        print("no versitygw: tests/servers/get.sh versitygw")
        sys.exit(77)
    with tempfile.TemporaryDirectory(prefix="linac-window-") as folder, Versitygw() as store:
        root = pathlib.Path(folder)
        size = put_files(store, root)

        def environment(cache: str) -> dict:
            return {**store.environment, "LINAC_CACHE": str(root / cache), "LINAC_CACHE_SIZE": str(int(0.6 * size))}

        for workers in (1, 2, 3):
            runs.run(root / f"run-{workers}", JOB, "--workers", str(workers), **environment(f"cache-{workers}"))
        one = runs.newest_checkpoint(root / "run-1").read_bytes()
        for workers in (2, 3):
            check(runs.newest_checkpoint(root / f"run-{workers}").read_bytes() == one, f"{workers} workers write the checkpoint of one")
        left = kept(root / "cache-1")
        check(0 < left < 0.65 * size, f"{left / size:.2f} of the set are left in a cache that is too small for all")

        process = runs.start(killed := root / "killed", JOB, "--workers", "2", **environment("cache-2"))
        runs.wait_for_steps(killed, process, 4)
        runs.kill_tree(process)
        said = runs.run(killed, JOB, "--resume", "--workers", "1", **environment("cache-new"))
        check("resuming from" in said and "epoch 2" in said, "killed in the midst of the second epoch")
        check(runs.newest_checkpoint(killed).read_bytes() == one, "gone on with an empty cache: the same checkpoint")
        check(b"trained_on" in one, "it says what energies were seen")


if __name__ == "__main__":
    main()
