#!/usr/bin/env python3
"""`linac data verify` of files of this host, of a web server and, where versitygw is installed, of a real object store: damaged ones among
sound ones, names that lead nowhere, what is no regular file, a file that changes meanwhile, stopped by a signal."""

import gzip
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from lib import runs
from lib.checks import check
from lib.servers.versitygw import Versitygw
from lib.skips import skipped
from range_server import RangeServer


def start(root: pathlib.Path, *words: object, **environment: str) -> subprocess.Popen:
    return runs.started("data", "verify", *words, cwd=root, **{"LINAC_CACHE": str(root / "cache"), **environment})


def verify(root: pathlib.Path, *words: object, status: int = 0, **environment: str) -> tuple[str, str]:
    process = start(root, *words, **environment)
    said, problems = process.communicate(timeout=120)
    if process.returncode != status:
        sys.exit(f"{words}: exit status {process.returncode}, expected {status}\n{said}{problems}")
    return said, problems


def results(root: pathlib.Path, *words: object, status: int = 0, **environment: str) -> dict[str, str]:
    said, _ = verify(root, *words, "--json", status=status, **environment)
    return {row["file"].rsplit("/")[-1]: row["result"] for row in json.loads(said)}


def make(folder: pathlib.Path) -> None:
    folder.mkdir()
    data = runs.ROOT / "data"
    shutil.copy(data / "showers-test.h5", folder / "a.h5")
    shutil.copy(data / "topology-test.parquet", folder / "b.parquet")
    subprocess.run([runs.LINAC, "data", "convert", data / "showers-test.h5", folder / "c.tfrecord"], check=True, capture_output=True,
                   env=runs.environment(LINAC_CACHE=str(folder.parent / "cache")))
    (folder / "d.tfrecord.gz").write_bytes(gzip.compress((folder / "c.tfrecord").read_bytes(), 1))
    for name in ("tree", "ntuple"):
        shutil.copy(runs.ROOT / "fuzz" / "corpus" / "root" / name, folder / f"{name}.root")


def damage(path: pathlib.Path, share: float) -> None:
    content = bytearray(path.read_bytes())
    content[int(share * len(content))] ^= 0x10
    path.write_bytes(content)


def by_path(root: pathlib.Path, sound: pathlib.Path) -> None:
    said, _ = verify(root, sound / "*")
    check(said.count(": sound: ") == 6, f"files of all formats are sound\n{said}")
    (bad := root / "bad").mkdir()
    for file in sound.iterdir():
        shutil.copy(file, bad)
    damage(bad / "c.tfrecord", 0.5)
    damage(bad / "d.tfrecord.gz", 0.5)
    said, problems = verify(root, bad / "c.tfrecord", sound / "a.h5", bad / "d.tfrecord.gz", root / "none", sound / "ntuple.root", status=3)
    check("c.tfrecord: damaged: record " in said and "d.tfrecord.gz: damaged: record " in said, "records are named")
    check("a.h5: sound" in said and "ntuple.root: sound" in said, "what is sound is said beside them")
    check("none: no such file" in problems and "(3 of 5 files failed)" in problems, f"and what is not there\n{problems}")
    found = results(root, bad / "*", status=3)
    check([name for name, result in found.items() if result != "sound"] == ["c.tfrecord", "d.tfrecord.gz"], f"as JSON too: {found}")
    os.mkfifo(root / "fifo")
    check("regular file" in verify(root, root / "fifo", status=3)[1], "a FIFO is no file, and nobody waits for it")
    check("--help" in verify(root, status=2)[1], "no name is an error")


def changing(root: pathlib.Path) -> None:
    path = root / "growing.tfrecord"
    path.write_bytes((root / "sound" / "c.tfrecord").read_bytes() * 8)
    process = start(root, path)
    end = time.monotonic() + 30
    while process.poll() is None and time.monotonic() < end:
        os.utime(path)
        time.sleep(0.002)
    said, problems = process.communicate()
    check(process.returncode == 3 and "changed while it was read" in said + problems, f"a file that changes is no sound one {said}{problems}")


def by_server(root: pathlib.Path, sound: pathlib.Path) -> None:
    names = ["a.h5", "b.parquet", "c.tfrecord", "d.tfrecord.gz", "tree.root", "ntuple.root"]
    with RangeServer(sound) as server:
        found = results(root, *(f"{server.url}/{name}" for name in names))
        check(set(found.values()) == {"sound"} and len(found) == 6, f"files of a web server: {found}")
    with RangeServer(root / "bad") as server:
        found = results(root, f"{server.url}/c.tfrecord", f"{server.url}/a.h5", f"{server.url}/none", status=3)
        check(found == {"c.tfrecord": "damaged", "a.h5": "sound", "none": "failed"}, f"a damaged and a missing one among them: {found}")
    with RangeServer(sound, bytes_per_s=2_000_000) as server:
        process = start(root, f"{server.url}/c.tfrecord", sound / "b.parquet")
        end = time.monotonic() + 40
        while server.sent < 4_000_000 and time.monotonic() < end:  # in the midst, on a busy machine as well
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        said, problems = process.communicate(timeout=60)
        check(process.returncode == 75 and "1 of 2 files not read to the end" in problems and "b.parquet: sound" in said, f"Ctrl-C {said}{problems}")
    said = verify(root, f"{server.url}/c.tfrecord", status=4)[1]
    check("connect" in said.lower(), f"a server that is gone is no damage {said}")


def by_store(root: pathlib.Path, sound: pathlib.Path) -> None:
    if not Versitygw.available():
        skipped("an object store", "no versitygw is installed", "tests/servers/get.sh versitygw")
        return
    with Versitygw() as store:
        keep = store.environment
        subprocess.run([runs.LINAC, "data", "copy", f"{root}/bad/", f"s3://{store.BUCKET}/bad/"], check=True, capture_output=True,
                       env=runs.environment(LINAC_CACHE=str(root / "cache"), **keep))
        found = results(root, f"s3://{store.BUCKET}/bad/*", status=3, **keep)
        check([name for name, result in found.items() if result == "damaged"] == ["c.tfrecord", "d.tfrecord.gz"] and len(found) == 6, f"a pattern of a store: {found}")


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="linac-verify-") as name:
        root = pathlib.Path(name).resolve()
        sound = root / "sound"
        make(sound)
        by_path(root, sound)
        changing(root)
        by_server(root, sound)
        by_store(root, sound)


main()
