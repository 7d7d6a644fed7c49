#!/usr/bin/env python3
"""Four hosts (network namespaces) that train from one web server (nginx) behind a link of 1 Gbit/s, each with a cache of its own: what leaves
the server, and how long until the first step, where they share what they fetch and where each fetches all (data.share=false). In turns.

  bench/share.py [--rounds 5] [--hosts 4] [--megabytes 320] [--rate 1gbit] [--orders memory,windows] [--name share] [--python PYTHON]

In memory order all is fetched before the first step; in windows of one file an epoch is read while it trains, and a second one again, for
the caches hold three windows. All hosts have the cores of this machine together, so at a high rate it is what they compute that is waited
for. PYTHON has pyarrow (build/peers). Root, for namespaces.
Writes bench/results/DATE-NAME.md."""

import argparse
import hashlib
import json
import os
import pathlib
import resource
import secrets
import statistics
import subprocess
import sys
import tempfile
import time

import network
from lib import hosts, runs
from lib.checks import wait_for
from store import store

WORDS = {"memory": "memory order", "windows": "windows, two epochs"}
FILES, PORT, HTTP_PORT, BATCH = 8, 29500, 8080, 32
MAKE = """import sys, pyarrow as pa, pyarrow.parquet as pq
table, wanted = pq.read_table(sys.argv[1]), float(sys.argv[3])
rows = 0
with pq.ParquetWriter(sys.argv[2], table.schema, compression="NONE", use_dictionary=False) as out:
    while rows * table.nbytes < wanted * table.num_rows: out.write_table(table, row_group_size=360); rows += table.num_rows
print(rows)"""
NGINX = """daemon off; master_process off; pid {folder}/nginx.pid; error_log {folder}/nginx.log;
events {{ worker_connections 256; }}
http {{ access_log off; sendfile on; client_body_temp_path {folder}/t1; proxy_temp_path {folder}/t2; fastcgi_temp_path {folder}/t3;
uwsgi_temp_path {folder}/t4; scgi_temp_path {folder}/t5; server {{ listen {address}:{port}; root {files}; }} }}
"""


def sent(host: hosts.Host) -> int:
    """Bytes that have left it, heads of packets with them."""
    said = subprocess.run(["ip", "-n", host.namespace, "-j", "-s", "link", "show", "eth0"], check=True, capture_output=True, text=True).stdout
    return json.loads(said)[0]["stats64"]["tx"]["bytes"]


def cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def train(net: hosts.Network, names: str, out: pathlib.Path, settings: dict, cache: dict) -> dict:
    """Seconds until the first step and in all, and what has left the server."""
    before, used, begin = sent(net["s"]), cpu_s(), time.monotonic()
    key, workers, first = secrets.token_hex(32), [], None
    for rank, name in enumerate(names):
        environment = {**runs.placed(rank, len(names), PORT, net["a"].address), "LOCAL_RANK": "0", "LOCAL_WORLD_SIZE": "1", "LINAC_RUN_KEY": key,
                       "LINAC_CACHE": f"{out}-cache-{name}", **cache}
        with open(f"{out}-{name}.log", "wb") as log:
            workers.append(net[name].popen(runs.arguments(out, settings), cwd=runs.ROOT, stdout=log, stderr=log, env=runs.environment(**environment)))
    while any(worker.poll() is None for worker in workers):
        if first is None and runs.steps_so_far(out) > 0:
            first = time.monotonic() - begin
        time.sleep(0.01)
    if any(worker.returncode for worker in workers):
        sys.exit(pathlib.Path(f"{out}-a.log").read_text()[-3000:])
    return {"first_step_s": first, "wall_s": time.monotonic() - begin, "bytes": sent(net["s"]) - before, "cpu_s": cpu_s() - used,
            "digest": hashlib.sha256(b"".join(content for _, content in sorted(runs.tensors(out).items()))).hexdigest()}


def markdown(result: dict) -> str:
    def spread(values: list[float], digits: int = 2) -> str:
        return f"{statistics.median(values):.{digits}f} ({min(values):.{digits}f} to {max(values):.{digits}f})"

    lines = ["# Each byte leaves the store once",
             f"{result['date']}, {result['cpu']}, {result['cores']} cores for all hosts, commit {result['commit']}; other programs took "
             f"{result['others_cores']:.2f} cores at the start. `{result['command']}`", "",
             f"{result['hosts']} hosts, a set of {result['set_bytes'] / 1e6:.0f} MB in {FILES} Parquet files behind a link of {result['rate']}; "
             f"median (minimum to maximum) of {len(result['rounds'])} rounds. Bytes are those of the server's link, with the heads of packets.", "",
             "| | each fetches all | shared | shared ÷ not, round by round |", "|---|---|---|---|"]
    for order in result["rounds"][0]:
        words = WORDS[order]
        for field, name, of, digits in (("bytes", "bytes ÷ the set", result["set_bytes"], 3), ("first_step_s", "until the first step, s", 1, 2),
                                        ("wall_s", "to the end, s", 1, 2), ("cpu_s", "CPU s of all hosts", 1, 2)):
            each, shared = ([one[order][way][field] / of for one in result["rounds"]] for way in ("each", "shared"))
            lines.append(f"| {words}: {name} | {spread(each, digits)} | {spread(shared, digits)} | {spread([b / a for a, b in zip(each, shared)], 3)} |")
    same = all(len({one[order][way]["digest"] for one in result["rounds"] for way in ("each", "shared")}) == 1 for order in result["rounds"][0])
    lines += ["", f"The weights of all runs of an order are {'the same bits' if same else '**not the same bits**'}."]
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--hosts", type=int, default=4)
    parser.add_argument("--megabytes", type=float, default=320)
    parser.add_argument("--rate", default="1gbit")
    parser.add_argument("--orders", default="memory,windows")
    parser.add_argument("--name", default="share", help="of the page")
    parser.add_argument("--python", default=str(runs.ROOT / "build/peers/bin/python"))
    options = parser.parse_args()
    result = {**network.provenance("bench/share.py"), "others_cores": network.busy_cores(), "hosts": options.hosts, "rate": options.rate, "rounds": []}
    result["command"] = result["command"].replace(options.python, "PYTHON")
    names = "abcdefgh"[:options.hosts]
    with tempfile.TemporaryDirectory(prefix="linac-share-") as name, hosts.Network(names + "s") as net:
        folder = pathlib.Path(name)
        (files := folder / "files").mkdir()
        folder.chmod(0o755)
        made = subprocess.run([options.python, "-c", MAKE, runs.ROOT / "data/topology-train.parquet", files / "0.parquet", str(1e6 * options.megabytes / FILES)],
                              check=True, capture_output=True, text=True).stdout
        for number in range(1, FILES):
            os.link(files / "0.parquet", files / f"{number}.parquet")
        result["set_bytes"], result["events"] = FILES * (files / "0.parquet").stat().st_size, FILES * int(made)
        (folder / "nginx.conf").write_text(NGINX.format(folder=folder, address=net["s"].address, port=HTTP_PORT, files=files))
        net["s"].limit_rate(options.rate)
        net["s"].popen(["nginx", "-c", folder / "nginx.conf", "-g", "user root;"], stderr=subprocess.DEVNULL)
        url = f"http://{net['s'].address}:{HTTP_PORT}"
        wait_for(lambda: net["a"].run(["curl", "-sfI", f"{url}/0.parquet"], stdout=subprocess.DEVNULL).returncode == 0, "nginx")
        common = {"job": "examples/topology.yaml", **runs.SMALL_CLASSIFIER, "train.replicas": options.hosts, "train.batch": BATCH,
                  "data.test": "[]", "checkpoint.best_by": "loss",
                  "data.train": "[" + ", ".join(f"{url}/{number}.parquet" for number in range(FILES)) + "]"}
        orders = {"memory": ({**common, "train.epochs": 1, "train.steps_per_epoch": 3}, {}),
                  "windows": ({**common, "train.epochs": 2, "data.shuffle_window": 1},
                              {"LINAC_CACHE_GIB": str(3.5 * result["set_bytes"] / FILES / 2**30)})}
        for number in range(options.rounds):
            found = {}
            for order in options.orders.split(","):
                settings, cache = orders[order]
                ways = {"each": {"data.share": "false"}, "shared": {}}
                found[order] = {}
                for way in list(ways) if number % 2 == 0 else list(reversed(ways)):
                    out = folder / f"{number}-{order}-{way}"
                    found[order][way] = train(net, names, out, {**settings, **ways[way]}, cache)
                    subprocess.run(f"rm -rf {out}*", shell=True, check=True)
                network.say(f"round {number + 1}, {order}: " + "; ".join(
                    f"{way} {one['bytes'] / result['set_bytes']:.2f} sets, first step {one['first_step_s']:.2f} s, all {one['wall_s']:.2f} s, "
                    f"{one['cpu_s']:.1f} CPU s" for way, one in found[order].items()))
            result["rounds"].append(found)
    store(result, options.name, markdown(result))


if __name__ == "__main__":
    main()
