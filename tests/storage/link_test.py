#!/usr/bin/env python3
"""`linac check` says how fast a job's events have to come and how fast a web server sends them: a warning with both numbers where it is too
slow, none where it is not, seconds for one that hardly sends, nothing asked for files of this host."""

import json
import pathlib
import subprocess
import sys
import tempfile
import time

from lib import runs
from lib.checks import check
from range_server import RangeServer

FILE = runs.ROOT / "data" / "topology-train.parquet"
SIZE, EVENTS = FILE.stat().st_size, 720
CONNECTIONS = 4
SETTINGS = ["--set", "data.test=[]", "--set", "checkpoint.best_by=loss", "--set", "train.fit.metrics=[accuracy]"]


def linac_check(cache: pathlib.Path, files: str, *words: str, **environment: str) -> tuple[str, str]:
    """What it said, and the log."""
    done = subprocess.run([runs.LINAC, "check", "examples/topology.yaml", "--set", f"data.train=[{files}]", *SETTINGS, *words], cwd=runs.ROOT, text=True,
                          env=runs.environment(LINAC_CACHE=str(cache), **environment), capture_output=True, timeout=120)
    if done.returncode != 0:
        sys.exit(f"{done.args}: exit status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout, done.stderr


def fast_then_slow(root: pathlib.Path) -> None:
    with RangeServer(FILE.parent) as server:
        url = f"{server.url}/{FILE.name}"
        text, log = linac_check(root / "cache", url, "--json", "--set", "train.replicas=1", "--set", "workers=1")
        facts = json.loads(text)
        data, place = facts["data"], facts["data"]["places"][0]
        check(facts["warnings"] == [] and "[check]" not in log, "a fast link is no warning")
        check(data["shared_by_hosts"] is True, "the store gives each byte once for all hosts")
        check(place["place"] == server.url and place["bytes_per_s"] > 5e6, f"it gave {place['bytes_per_s'] / 1e6:.0f} MB/s")
        check(0.5 * SIZE < data["bytes"] <= SIZE and abs(data["event_bytes"] * EVENTS - data["bytes"]) < 1, "the wanted columns are most of this file")
        needed = data["event_bytes"] * data["step_events"] / facts["step_s"]
        check(data["step_events"] == 30 and abs(data["needed_bytes_per_s"] / needed - 1) < 1e-6, f"wanted are {needed / 1e3:.0f} kB/s")

        server.bytes_per_s = int(min(needed / 20, 40_000))
        link = CONNECTIONS * server.bytes_per_s
        text, log = linac_check(root / "cache", url, "--json")
        facts = json.loads(text)
        place = facts["data"]["places"][0]
        check(0.5 < place["bytes_per_s"] / link < 1.3, f"four connections of {link / 1e3:.0f} kB/s in all gave {place['bytes_per_s'] / 1e3:.0f}")
        check(place["bytes_per_s"] < place["needed_bytes_per_s"] and len(facts["warnings"]) == 1, "which is too little")
        check(all(word in log for word in ("[check] " + server.url, "B/s", "linac data copy", "more workers")), "the warning names place, numbers and ways out")

        server.bytes_per_s = 2_000
        begin = time.monotonic()
        facts = json.loads(linac_check(root / "cache", url, "--json")[0])
        took = time.monotonic() - begin
        check(took < 20 and "nothing in" in facts["warnings"][0], f"one that hardly sends is left after a few seconds: {took:.1f} s in all")
    text, log = linac_check(root / "cache", url, "--set", "data.share=false")
    check("for each host (data.share: false)" in text, "and for each of them where they do not share")
    check("not measured: [http]" in text and "the job can run" in text and "[check]" not in log, "where the server is gone the copy in the cache does")


def in_each_epoch(root: pathlib.Path) -> None:
    """A window over a cache that is too small: each epoch reads anew."""
    with RangeServer(FILE.parent) as server:
        url = f"{server.url}/{FILE.name}"
        text, _ = linac_check(root / "window", url, "--set", "data.shuffle_window=1", "--json", LINAC_CACHE_SIZE="1MiB")
        data = json.loads(text)["data"]
        check(data["while_training"] and data["in_each_epoch"], "a set that is larger than the cache comes in each epoch")
        server.versions = False
        text, log = linac_check(root / "whole", url)
        check("not measured: its server names no version" in text and "for the first epoch" in text and "[check]" not in log, "what is fetched whole is not measured")


def here(root: pathlib.Path) -> None:
    text, log = linac_check(root / "cache", str(FILE), "--json")
    place = json.loads(text)["data"]["places"][0]
    check(place["place"] == "this host" and place["bytes_per_s"] is None and place["needed_bytes_per_s"] > 0, "of files of this host no link is measured")
    check("[check]" not in log, "which is no warning")


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="linac-link-") as folder:
        root = pathlib.Path(folder)
        here(root)
        fast_then_slow(root)
        in_each_epoch(root)


if __name__ == "__main__":
    main()
