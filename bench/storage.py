#!/usr/bin/env python3
"""Events read from an object store (versitygw on the loopback interface): by linac, pyarrow, tf.data and MosaicML Streaming in turns, each in a
process of its own, per CPU second of that process. Cold: nothing of the data is on this host before. Warm: a further epoch, from whatever the
contender keeps.

  bench/storage.py [--rounds 5] [--showers 2400] [--events 24000] [--python PYTHON] [--mosaic PYTHON]

Showers: TFRecord with float lists, as `linac data convert` writes them; MosaicML: the same arrays as its own shards (MDS). Events: those of
data/topology-train.parquet, repeated; the classifier's columns, padded to 801 particles. PYTHON has TensorFlow, s3fs and pyarrow
(build/bench-peers), `--mosaic` one that has mosaicml-streaming; without it that peer is left out. tf.data has no s3:// of its own: s3fs fetches
its files first. A row of its own says what it takes with the files on the disk already; what S3 costs is not in it, so linac's cold figure is
not compared with it in the last row, the warm one is. What imports and the start of a process take counts for nobody; what is made once in a
first epoch (connections, threads, TensorFlow's graphs) counts for everybody, and the sets are large enough that it is little. Writes
bench/results/DATE-storage.md."""

import argparse
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile

import network
from lib.runs import ROOT
from lib.servers.versitygw import Versitygw
from store import store

LINAC = str(pathlib.Path(os.environ.get("LINAC", ROOT / "build" / "linac")).resolve())
PEERS = ROOT / "bench" / "peers" / "storage_peers.py"
SHARDS, BATCH = 4, 64
FROM_DISK = "tf.data, from the disk"
SHOWERS_JOB = """name: showers
model: {{kind: 3dgan}}
data: {{train: [{url}], min_sum: 0}}
train: {{replicas: 1, batch: {batch}, epochs: 1}}
"""


def call(command: list, **environment: str) -> str:
    done = subprocess.run([str(word) for word in command], cwd=ROOT, env={**os.environ, **environment}, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode != 0:
        sys.exit(f"{command[:4]}: exit status {done.returncode}\n{done.stdout[-2000:]}{done.stderr[-4000:]}")
    return done.stdout


def make_showers(folder: pathlib.Path, count: int, shards: int = SHARDS) -> None:
    folder.mkdir()
    for shard in range(shards):
        made = folder / f"{shard}.h5"
        call([LINAC, "simulate", "-n", count // shards, "--energy", "10:100", "--theta", "1.05:2.09", "--seed", shard + 1, "--out", made])
        call([LINAC, "data", "convert", made, folder / f"showers-{shard}.tfrecord"])
        made.unlink()


def make_events(folder: pathlib.Path, count: int, python: str) -> None:
    folder.mkdir()
    code = ("import sys, pyarrow as pa, pyarrow.parquet as pq\n"
            "source, out, count, shards = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])\n"
            "table = pq.read_table(source)\n"
            "for shard in range(shards):\n"
            "    whole = pa.concat_tables([table] * (count // shards // len(table) + 1)).slice(0, count // shards)\n"
            "    pq.write_table(whole, f'{out}/events-{shard}.parquet', row_group_size=500)\n")
    call([python, "-c", code, ROOT / "data/topology-train.parquet", folder, count, SHARDS])


def figures_of_linac(found: dict) -> dict:
    """Cold: opened and read once. Warm: a later epoch."""
    first, later = found["epochs"][0], found["epochs"][1:]
    count = found["events_an_epoch"]
    return {"cold": count / (found["open"]["cpu_s"] + first["cpu_s"]), "warm": count / statistics.median(one["cpu_s"] for one in later),
            "cold_wall_s": found["open"]["wall_s"] + first["wall_s"], "peak_rss_mib": found["peak_rss_mib"]}


def linac(job: str, settings: list[str], folder: pathlib.Path, environment: dict) -> dict:
    cache = folder / "cache"
    shutil.rmtree(cache, ignore_errors=True)
    words = [LINAC, "bench", "input", job, "--epochs", 3, "--json"] + [word for setting in settings for word in ("--set", setting)]
    return figures_of_linac(json.loads(call(words, LINAC_CACHE=str(cache), **environment)))


def peer(python: str, name: str, what: str, where: str, environment: dict) -> dict:
    return json.loads(call([python, PEERS, name, what, where, str(BATCH)], **environment))


def markdown(result: dict) -> str:
    lines = ["# Events from an object store",
             f"{result['date']}, {result['cpu']}, {result['cores']} cores, commit {result['commit']}; other programs took {result['others_cores']:.2f} cores at the start. "
             f"`{result['command']}`", "",
             f"Per CPU second of the reading process; median (minimum to maximum) of {len(result['rounds'])} rounds in turns. Ratio: linac's median over that of the best peer; "
             f"cold without '{FROM_DISK}'.", ""]
    for what, title in (("showers", "Showers, TFRecord"), ("events", "Classifier's events, Parquet")):
        lines += [f"## {title}", "", "| | cold, 1/CPU s | warm, 1/CPU s | cold, s | peak, MiB |", "|---|---|---|---|---|"]
        medians = {}
        for name in result["rounds"][0][what]:
            cells = []
            for figure, form in (("cold", "{:.0f}"), ("warm", "{:.0f}"), ("cold_wall_s", "{:.2f}"), ("peak_rss_mib", "{:.0f}")):
                values = [one[what][name][figure] for one in result["rounds"]]
                medians[name, figure] = statistics.median(values)
                cells.append(f"{form.format(medians[name, figure])} ({form.format(min(values))} to {form.format(max(values))})")
            lines.append(f"| {name} | {' | '.join(cells)} |")
        ratios = [medians["linac", figure] / max(value for (name, kind), value in medians.items() if kind == figure and name not in ("linac", left_out))
                  for figure, left_out in (("cold", FROM_DISK), ("warm", None))]
        lines += [f"| linac / best peer | {ratios[0]:.2f} | {ratios[1]:.2f} | | |", ""]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--showers", type=int, default=2400)
    parser.add_argument("--events", type=int, default=24_000)
    parser.add_argument("--python", default=str(ROOT / "build/bench-peers/bin/python"))
    parser.add_argument("--mosaic")
    options = parser.parse_args()
    result = {**network.provenance("bench/storage.py"), "others_cores": network.busy_cores(), "rounds": []}
    for said, word in ((options.python, "PYTHON"), (options.mosaic, "MOSAIC")):
        if said:
            result["command"] = result["command"].replace(said, word)
    with tempfile.TemporaryDirectory(prefix="linac-storage-") as name, Versitygw() as gate:
        folder = pathlib.Path(name)
        make_showers(folder / "showers", options.showers)
        make_events(folder / "events", options.events, options.python)
        for what in ("showers", "events"):
            for file in sorted((folder / what).iterdir()):
                gate.put(f"{what}/{file.name}", file.read_bytes())
            if options.mosaic:
                call([options.mosaic, PEERS, "write_mds", what, folder / what, folder / f"mds-{what}"])
                for file in sorted((folder / f"mds-{what}").rglob("*")):
                    gate.put(f"mds-{what}/{file.name}", file.read_bytes())
        (folder / "showers.yaml").write_text(SHOWERS_JOB.format(url=f"s3://{gate.BUCKET}/showers/*", batch=BATCH))
        events = [f"data.train=[s3://{gate.BUCKET}/events/*]", "data.test=[]", "checkpoint.best_by=loss", "train.replicas=1", "workers=1", f"train.batch={BATCH}"]
        result["bytes"] = {what: sum(file.stat().st_size for file in (folder / what).iterdir()) for what in ("showers", "events")}
        environment = {**gate.environment, "S3_ENDPOINT_URL": gate.url}
        contenders = {
            "showers": {"linac": lambda: linac(folder / "showers.yaml", [], folder, environment),
                        "tf.data, by s3fs": lambda: peer(options.python, "tensorflow", "showers", f"s3://{gate.BUCKET}/showers", environment),
                        FROM_DISK: lambda: peer(options.python, "tensorflow", "showers", str(folder / "showers"), {})},
            "events": {"linac": lambda: linac("examples/topology.yaml", events, folder, environment),
                       "pyarrow": lambda: peer(options.python, "pyarrow", "events", f"{gate.BUCKET}/events", environment)}}
        if options.mosaic:
            for what, rows in contenders.items():
                rows["MosaicML Streaming"] = lambda what=what: peer(options.mosaic, "mosaic", what, f"s3://{gate.BUCKET}/mds-{what}", environment)
        for number in range(options.rounds):
            found = {}
            for what, rows in contenders.items():
                order = list(rows) if number % 2 == 0 else list(reversed(rows))
                done = {name: rows[name]() for name in order}
                found[what] = {name: done[name] for name in rows}
            result["rounds"].append(found)
            network.say(f"round {number + 1}: " + "; ".join(f"{what}: {name} {one['cold']:.0f}, {one['warm']:.0f}" for what, rows in found.items() for name, one in rows.items()))
    store(result, "storage", markdown(result))


if __name__ == "__main__":
    main()
