#!/usr/bin/env python3
"""Bodies that are altered between an object store and linac, and look whole: one bit turned over, the bytes of another object, fewer bytes under
headers that call them all. What a format has checksums of is refused and named, and nothing of it stays in the cache; what is too short is asked for
again; and of a plain Parquet file it is held what cannot be noticed (docs/guide/data.md). Exit 77 where versitygw is not installed."""

import pathlib
import sys
import tempfile

import subprocess

from lib import runs
from lib.checks import check
from lib.faulty_proxy import FaultyProxy
from lib.servers.versitygw import Versitygw

EVENTS = "data/topology-test.parquet"
COLUMN = "HLF_input:14"
PLACES = (0.2, 0.5, 0.8)
# How `linac data convert` writes it; what names a damage.
CHECKED = {"events.tfrecord": "events.tfrecord", "events.tfrecord.gz": "events.tfrecord.gz", "events.h5": "events.h5", "events.parquet": "events.parquet"}


def linac(root: pathlib.Path, cache: str, *words: object, **variables: str) -> subprocess.CompletedProcess:
    return subprocess.run([runs.LINAC, *map(str, words)], cwd=runs.ROOT, env=runs.environment(LINAC_CACHE=str(root / cache), **variables), text=True,
                          capture_output=True, timeout=120)


def scaling(root: pathlib.Path, cache: str, url: object, **variables: str) -> tuple[int, str, bytes]:
    """Exit status, what it said, and the constants that it found in the values."""
    (out := root / "scaling.json").unlink(missing_ok=True)
    done = linac(root, cache, "data", "scaling", url, "--column", COLUMN, "--out", out, **variables)
    return done.returncode, done.stderr, out.read_bytes() if out.exists() else b""


def main() -> None:
    if not Versitygw.available():
        print("no versitygw: tests/servers/get.sh versitygw")
        sys.exit(77)
    with tempfile.TemporaryDirectory(prefix="linac-altered-") as folder, Versitygw() as store:
        root = pathlib.Path(folder)
        for name in CHECKED:
            done = linac(root, "cache", "data", "convert", EVENTS, root / name, "--columns", "HLF_input")
            check(done.returncode == 0, f"{name} is written {done.stderr[-300:] if done.returncode else ''}")
            store.put(f"train/{name}", (root / name).read_bytes())
        store.put("train/plain.parquet", (runs.ROOT / EVENTS).read_bytes())
        status, said, wanted = scaling(root, "cache", EVENTS)
        check(status == 0, f"the values of the disk {said if status else ''}")
        refused(root, store, wanted)
        asked_again(root, store, wanted)
        unnoticed(root, store, wanted)


def refused(root: pathlib.Path, store: Versitygw, wanted: bytes) -> None:
    """A bit that no value hangs on may be turned over; other values never come of it."""
    for name, word in CHECKED.items():
        stopped = 0
        for kind, place in [("flip", place) for place in PLACES] + [("other", 0.5)]:
            with FaultyProxy(store.port, 0, 1, altered=1, of="train/", alterations=(kind,)) as proxy:
                proxy.place = place
                cache = f"{name}-{kind}-{place}"
                status, said, values = scaling(root, cache, f"s3://test/train/{name}", **store.environment | {"AWS_ENDPOINT_URL": proxy.url})
            named = status == 3 and word in said and not values and not list((root / cache / "tables").glob("*.pack"))
            check(named or (kind == "flip" and status == 0 and values == wanted),
                  f"{name}, {kind} at {place}: {'refused, named and not packed' if named else 'the same values'} {'' if named or status == 0 else said[-500:]}")
            stopped += named
        check(stopped >= 2, f"{name}: {stopped} of {len(PLACES) + 1} are refused")
        status, said, values = scaling(root, cache, f"s3://test/train/{name}", **store.environment)
        check(status == 0 and values == wanted, f"{name}: read well afterwards {said[-300:] if status else ''}")


def asked_again(root: pathlib.Path, store: Versitygw, wanted: bytes) -> None:
    with FaultyProxy(store.port, 0, 1, altered=0.5, of="train/", alterations=("short",)) as proxy:
        status, said, values = scaling(root, "short", "s3://test/train/plain.parquet", **store.environment | {"AWS_ENDPOINT_URL": proxy.url})
        count = proxy.count["short"]
    check(status == 0 and values == wanted and count > 0, f"{count} answers that are too short are asked for again {said[-300:] if status else ''}")


def unnoticed(root: pathlib.Path, store: Versitygw, wanted: bytes) -> None:
    """What nobody can see: if this fails, docs/guide/data.md says too little good of it."""
    seen = set()
    for place in (0.3, 0.4, 0.5, 0.6, 0.7):
        with FaultyProxy(store.port, 0, 1, altered=1, of="train/", alterations=("flip",)) as proxy:
            proxy.place = place
            status, _, values = scaling(root, f"plain-{place}", "s3://test/train/plain.parquet", **store.environment | {"AWS_ENDPOINT_URL": proxy.url})
        seen.add("refused" if status == 3 else "other values" if values != wanted else "the same values")
    check(seen <= {"refused", "other values", "the same values"} and "other values" in seen, f"a bit of a plain Parquet file: {sorted(seen)}")


if __name__ == "__main__":
    main()
