#!/usr/bin/env python3
"""Hosts (network namespaces) with a cache each read a set at a web server that is a host too: each byte leaves it once, in memory order and in
windows, where the caches are too small as well. A host that is killed leaves the others their bits; so do two whose memory is damaged, one of
which is slow as well, and disks that alter what they keep. With data.share=false each host reads all.
The bounds have room for answers that are late on a busy machine; bench/share.py measures."""

import json
import os
import pathlib
import secrets
import signal
import subprocess
import sys
import tempfile

from lib import elastic, hosts, runs
from lib.checks import check, wait_for
from window_test import cut_into, job

PORT, HTTP_PORT, HOSTS = 29500, 8080, "abc"
CUTS = list(range(0, 721, 30))  # small files: a small cache holds some
IN_WINDOWS = {"train.epochs": 4, "data.shuffle_window": 4, "train.replicas": 3}


class Store:
    """The web server on host s; what it has sent."""

    def __init__(self, net: hosts.Network, root: pathlib.Path, folder: pathlib.Path):
        self.counted = root / "sent"
        self.counted.write_text("0" * 20)
        self.host, self.root = net["s"], root
        self.process = self.host.popen([sys.executable, "tests/storage/range_server.py", folder, self.host.address, HTTP_PORT, self.counted], cwd=runs.ROOT,
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.url = f"http://{self.host.address}:{HTTP_PORT}"
        wait_for(lambda: net["a"].run(["python3", "-c", f"import urllib.request; urllib.request.urlopen('{self.url}/')"],
                                      stderr=subprocess.DEVNULL).returncode == 0, "the web server")

    def sent(self) -> int:
        return int(self.counted.read_text())


class World:
    def __init__(self, net: hosts.Network, root: pathlib.Path, store: Store, files: str):
        self.net, self.root, self.store, self.files = net, root, store, files

    def start(self, name: str, names: str, settings: dict, on: dict[str, dict] | None = None, **variables: str) -> list[subprocess.Popen]:
        """A worker on each of these hosts, with empty caches; `on`: variables of some of them."""
        out, key = self.root / name, secrets.token_hex(32)
        workers = []
        for rank, host in enumerate(names):
            environment = {**runs.placed(rank, len(names), PORT, self.net[names[0]].address), "LINAC_CACHE": str(self.root / f"cache-{name}-{host}"),
                           "LINAC_RUN_KEY": key, "LOCAL_RANK": "0", "LOCAL_WORLD_SIZE": "1", **variables, **(on or {}).get(host, {})}
            with open(self.root / f"{name}-{host}.log", "ab") as log:
                workers.append(self.net[host].popen(runs.arguments(out, settings), cwd=runs.ROOT, stdout=log, stderr=log, env=runs.environment(**environment)))
        return workers

    def run(self, name: str, names: str, settings: dict, on: dict[str, dict] | None = None, **variables: str) -> int:
        """To the end; the bytes that the store has sent."""
        before = self.store.sent()
        status = [worker.wait(timeout=300) for worker in self.start(name, names, settings, on, **variables)]
        if any(status):
            print(*(self.log(name, host)[-3000:] for host in names), sep="\n---\n")
        check(not any(status), f"{name}: exit statuses {status}")
        return self.store.sent() - before

    def log(self, name: str, host: str) -> str:
        return (self.root / f"{name}-{host}.log").read_text()

    def same(self, one: str, other: str, what: str) -> None:
        ours, theirs = runs.tensors(self.root / one), runs.tensors(self.root / other)
        check(ours == theirs and len(ours) > 10, f"{what}: the same bits")


def whole_set(world: World) -> dict:
    return job(world.files, **{"train.epochs": 1, "data.shuffle_window": 0, "train.replicas": 3})


def in_memory_order(world: World, size: int) -> None:
    whole = whole_set(world)
    world.run("alone", "a", whole)
    each = world.run("each", HOSTS, {**whole, "data.share": "false"})
    check(each > 2.9 * size, f"not shared: three hosts fetch {each / size:.2f} times the set")
    shared = world.run("shared", HOSTS, whole)
    check(0.9 * size < shared <= 1.5 * size, f"shared: three hosts fetch {shared / size:.3f} times the set")
    check("came from stores and" in world.log("shared", "a"), "and each says where its bytes came from")
    world.same("shared", "alone", "shared")
    told = json.loads(runs.linac("report", world.root / "shared", "--json"))["reading"]
    check(0.9 * size < told["store_bytes"] <= shared and abs(told["worker_bytes"] - 2 * size) < 0.5 * size,
          f"the report tells {told['store_bytes'] / size:.2f} times the set from stores and {told['worker_bytes'] / size:.2f} from other workers")


def damaging(root: pathlib.Path, where: str, **more: str) -> dict[str, str]:
    """Variables of a worker whose memory or disk alters what it keeps for others."""
    library = root / "damaged_ranges.so"
    if not library.exists():
        subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", library, "tests/storage/damaged_ranges.c", "-ldl"], cwd=runs.ROOT, check=True)
    return {"LD_PRELOAD": str(library), "LINAC_TEST_DAMAGE": where, **more}


def damaged_memory(world: World) -> None:
    wrong = {"b": damaging(world.root, "memory"), "c": damaging(world.root, "memory", LINAC_TEST_ANSWER_MS="700")}
    world.run("damaged", HOSTS, whole_set(world), on=wrong)
    said = world.log("damaged", "a")
    for host in "bc":
        check(f"{world.net[host].address}:" in "".join(line for line in said.splitlines() if "are damaged: it is asked for no more" in line),
              f"what host {host} kept is damaged{' and comes late' if host == 'c' else ''}: it is named")
    world.same("damaged", "alone", "two of three hosts send wrong bytes")


def whole_files(world: World, folder: pathlib.Path) -> None:
    """HDF5 is fetched whole, into the cache."""
    runs.linac("data", "convert", "data/topology-train.parquet", folder / "whole.h5")
    size = (folder / "whole.h5").stat().st_size
    settings = job(f"{world.store.url}/whole.h5", **{"train.epochs": 1, "train.max_steps": 2, "data.shuffle_window": 0, "train.replicas": 3})
    shared = world.run("whole", HOSTS, settings)
    check(size < shared <= 1.5 * size, f"files that are fetched whole: three hosts fetch {shared / size:.3f} times the set")


def in_windows(world: World, size: int) -> None:
    # Four epochs in a cache that holds a window or two.
    windows = job(world.files, **IN_WINDOWS)
    small = {"LINAC_CACHE_GIB": str(1.1 * size / 3 / 2**30)}
    alone = world.run("windows-alone", "a", windows, **small)
    shared = world.run("windows-shared", HOSTS, windows, **small)
    check(alone > 2 * size and shared < 0.75 * alone,
          f"in windows, caches too small: one host fetches {alone / size:.2f} times the set in four epochs, three hosts {shared / size:.2f}")
    world.same("windows-shared", "windows-alone", "in windows")


def damaged_disk(world: World, size: int) -> None:
    """Of two hosts one has half of the set to keep at least. A quarter of the set fits into its memory, and some of the rest on its disk."""
    world.run("disk", "ab", job(world.files, **IN_WINDOWS), **damaging(world.root, "disk"), LINAC_CACHE_GIB=str(0.25 * size / 2**30))
    check(any("kept there for other workers are damaged" in world.log("disk", host) for host in "ab"), "a damaged disk is told of")
    world.same("disk", "windows-alone", "disks that alter what they keep")


def who_is_killed(world: World, size: int) -> None:
    windows = job(world.files, **IN_WINDOWS, **{"distribution.stall_timeout_s": 4})
    small = {"LINAC_CACHE_GIB": str(1.1 * size / 3 / 2**30), **elastic.steady(world.root)}
    workers = world.start("killed", HOSTS, windows, **small)
    runs.wait_for_steps(world.root / "killed", workers[0], 20)
    os.kill(workers[2].pid, signal.SIGKILL)
    status = [worker.wait(timeout=300) for worker in workers[:2]]
    check(status == [0, 0], f"one of three hosts is killed: the others end with {status}")
    world.same("killed", "windows-alone", "one of three hosts is killed")


def main() -> None:
    able, why = hosts.available()
    if not able:
        print(f"skipped: {why}")
        sys.exit(77)
    with tempfile.TemporaryDirectory(prefix="linac-share-") as folder, hosts.Network("abcs", seed=1) as net:
        root = pathlib.Path(folder)
        (parts := root / "parts").mkdir()
        size = cut_into(parts, CUTS)
        store = Store(net, root, parts)
        world = World(net, root, store, ", ".join(f"{store.url}/{path.name}" for path in sorted(parts.iterdir())))
        in_memory_order(world, size)
        damaged_memory(world)
        whole_files(world, parts)
        in_windows(world, size)
        damaged_disk(world, size)
        who_is_killed(world, size)


if __name__ == "__main__":
    main()
