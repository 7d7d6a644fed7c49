#!/usr/bin/env python3
"""A run at an object store meets faults: two machines at once, wrong keys, a server that goes away and comes back, a kill in the midst of an
upload: run_faults_test.py claims|store. Exit 77 where versitygw is not installed."""

import json
import os
import pathlib
import sys
import tempfile
import time

import kept_runs
from kept_runs import CLAIM, JOB, Bucket, compare, files_of, on_disk
from lib import runs
from lib.checks import check, wait_for
from lib.relay import StallingRelay
from lib.servers.versitygw import Versitygw

LONG = JOB | {"train.epochs": 200}


def two_at_once(bucket: Bucket) -> None:
    first = bucket.start("m1", job=LONG)
    bucket.wait_for_checkpoint(first)
    said = bucket.train("m2", "--resume", status=2, job=LONG)
    check(str(first.pid) in said and "--take-over" in said, "a second machine is refused, and told who works there")
    said = bucket.train("m1", "--resume", status=2, job=LONG)
    check("another process of this host" in said, "so is a second process of the machine")
    second = bucket.start("m2", "--resume", "--take-over", job=LONG)
    check(first.wait(timeout=30) == 2, "who is taken over ends")
    check("taken over by" in bucket.said("m1") or "another process has written" in bucket.said("m1"), "and says why")
    wait_for(lambda: "resuming from" in bucket.said("m2") or second.poll() is not None, "the other one has the run")
    done = runs.steps_so_far(*bucket.copies("m2"))
    wait_for(lambda: runs.steps_so_far(*bucket.copies("m2")) > done + 1 or second.poll() is not None, "further steps")
    check(second.poll() is None, "the other one goes on")
    second.terminate()
    check(second.wait(timeout=30) == 75, "SIGTERM leaves a checkpoint")
    last = [line for line in bucket.said("m2").splitlines() if "stopped by a signal after step" in line][-1]
    step = int(last.split("after step ")[1].split()[0])
    check(f"--out {bucket.url} --resume" in last and f"checkpoints/step-{step:010}.safetensors" in bucket.named(), "which is at the store")
    check(not (bucket.folder / CLAIM).exists(), "the run is free")

    claim = {"token": "t", "host": "elsewhere", "since": "then", "process_numbers": "", "process": {"pid": 1, "start_ticks": 1, "boot": "b"}}
    few = LONG | {"train.max_steps": step + 3}
    bucket.store.put(f"runs/two/{CLAIM}", json.dumps(claim).encode())
    check("elsewhere" in bucket.train("m3", "--resume", status=2, job=few), "a claim of a machine that is not known stands")
    os.utime(bucket.folder / CLAIM, (time.time() - 200,) * 2)
    said = bucket.train("m3", "--resume", job=few)
    check("taken over from" in said and f"step-{step + 3:010}" in "".join(bucket.named()), "until nobody has renewed it for some minutes")


def wrong_keys(bucket: Bucket) -> None:
    said = bucket.train("w", status=4, AWS_SECRET_ACCESS_KEY="wrong")
    check("AWS_SECRET_ACCESS_KEY" in said and "epoch" not in said, "wrong keys end it before the training")
    check(not bucket.copies("w") and not bucket.folder.exists(), "and leave nothing")
    bucket.train("w", status=3, job=JOB | {"data.train": "[none.parquet]"})
    check(not (bucket.folder / CLAIM).exists(), "a job that cannot run leaves no claim")


def away_and_back(bucket: Bucket, disk: dict[str, bytes], away_s: float) -> None:
    process = bucket.start("s")
    bucket.wait_for_checkpoint(process)
    bucket.store.stop()
    time.sleep(away_s)
    bucket.store.start()
    check(process.wait(timeout=60) == 0, "it comes to its end")
    compare(files_of(bucket.folder), disk, f"a server that was away for {away_s} s: the same bits")
    warnings = [line for line in bucket.said("s").splitlines() if " W " in line and "lose the last ones" not in line]  # nor that lists are cut
    check(sum("the training goes on" in line for line in warnings) <= 1 and len(warnings) <= 2, "it is said once")


def refused_at_the_end(bucket: Bucket, disk: dict[str, bytes]) -> None:
    """The bucket goes while the run goes on: what is here stays, and is sent by a resume."""
    process = bucket.start("r")
    bucket.wait_for_checkpoint(process)
    kept = bucket.folder.parent.parent
    hidden = kept.with_name("hidden")
    kept.rename(hidden)
    check(process.wait(timeout=60) == 4 and "on this host sends it" in bucket.said("r"), "a store that refuses the rest is an error of the environment")
    hidden.rename(kept)
    bucket.train("r", "--resume")
    compare(files_of(bucket.folder), disk, "and a resume sends the rest")


def killed_while_sending(bucket: Bucket, disk: dict[str, bytes]) -> None:
    with StallingRelay(bucket.store.port, f"PUT /{bucket.store.BUCKET}/runs/cut/checkpoints/".encode()) as relay:
        process = bucket.start("k", AWS_ENDPOINT_URL=relay.url)
        check(relay.stalled.wait(60), "half of a checkpoint is on its way")
        check(process.poll() is None, "while the training goes on")
        time.sleep(0.2)
        runs.kill_tree(process)
    bucket.lose("k")
    time.sleep(0.2)
    check(not list(bucket.folder.glob("checkpoints/step-*")) and not bucket.checkpoints(), "nobody sees a part")
    bucket.train("l", "--resume")
    compare(files_of(bucket.folder), disk, "and it is begun anew")


def main(part: str) -> None:
    kept_runs.need_server()
    with tempfile.TemporaryDirectory(prefix="linac-kept-", ignore_cleanup_errors=True) as folder, Versitygw() as store:
        root = pathlib.Path(folder)
        if part == "claims":
            wrong_keys(Bucket(store, "keys", root))
            two_at_once(Bucket(store, "two", root))
            return
        disk = on_disk(root)
        away_and_back(Bucket(store, "away", root), disk, 2)
        refused_at_the_end(Bucket(store, "refused", root), disk)
        killed_while_sending(Bucket(store, "cut", root), disk)


if __name__ == "__main__":
    main(sys.argv[1])
