#!/usr/bin/env python3
"""Four hosts (network namespaces, 100 Mbit/s, 1 ms) train together. One is slow, and its replicas move. Another is cut off: the others go
on without it, it finds them again when the network heals. Then the host of rank 0 dies, at which all had met: the others go on. The end is
that of an undisturbed run, also where two hosts reach the others and not each other."""

import os
import pathlib
import signal
import subprocess
import sys
import tempfile

from lib import elastic, hosts, runs
from lib.checks import check, wait_for

SETTINGS = {**elastic.CLASSIFIER, "train.batch": 2, "train.epochs": 8, "distribution.stall_timeout_s": 5}
PORT = 29500


def start(net: hosts.Network, out: pathlib.Path, **more: str) -> list[subprocess.Popen]:
    """A worker on each host, as a launcher of several machines would start it; with `more` settings, their dots as two underscores."""
    settings = SETTINGS | {key.replace("__", "."): value for key, value in more.items()}
    members = list(net)
    workers = []
    for rank, host in enumerate(members):
        variables = runs.placed(rank, len(members), PORT, members[0].address) | elastic.steady(out.parent, step_ms=100)
        with open(f"{out}.{rank}.log", "wb") as log:
            workers.append(host.popen(runs.arguments(out, settings), cwd=runs.ROOT, env=runs.environment(**variables), stdout=log, stderr=log))
    return workers


def do_not_reach(net: hosts.Network, root: pathlib.Path, how: str) -> None:
    """Hosts b and c both reach a and d, and not each other."""
    out = root / f"apart-{how}"
    workers = start(net, out, distribution__balance="false")  # replicas that move make views too
    run = elastic.Record(out)
    wait_for(lambda: run.steps() >= 30, "the first steps")
    net.partition(["b", "c"], how)
    codes = [worker.wait(timeout=120) for worker in workers]
    net.heal()
    views = len(list((out / "views").glob("*.json")))
    texts = [pathlib.Path(f"{out}.{rank}.log").read_text() for rank in range(4)]
    if codes != [0, 0, 6, 0]:
        print(*[text[-3000:] for text in texts], sep="\n")
    check(codes == [0, 0, 6, 0] and views < 10, f"{how}: of two that do not reach each other one is excluded: {codes}, {views} views")
    check("excluded from the run" in texts[2], "and told why")
    elastic.same_end(root / "calm", out, f"two that do not reach each other ({how})")


# Takes what comes to port 53 and answers nothing; how much that was is in the file.
SILENT_SERVER = """import pathlib, socket, sys
server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
server.bind(("127.0.0.53", 53))
file = pathlib.Path(sys.argv[1])
file.write_text("")
while True:
    with open(file, "ab") as asked:
        asked.write(server.recv(4096) + b"\\n")
"""


def silent_name_server(host: hosts.Host, root: pathlib.Path) -> None:
    """Local workers ask it nothing; who asks it waits for seconds."""
    asked, resolver, out = root / "asked", root / "resolv.conf", root / "unnamed"
    resolver.write_text("nameserver 127.0.0.53\n")
    host.popen([sys.executable, "-c", SILENT_SERVER, asked])
    wait_for(asked.exists, "a name server")
    as_resolver = ["unshare", "--mount", "sh", "-c", f'mount --bind {resolver} /etc/resolv.conf && exec "$@"', "sh"]
    asks = host.run([*as_resolver, "timeout", "1", "getent", "hosts", "no-such-name"])
    check(asks.returncode == 124 and asked.stat().st_size > 0, "who asks the name server waits")
    asked.write_text("")
    settings = {**SETTINGS, "train.max_steps": 1, "data.test": "[]", "checkpoint.best_by": "loss"}
    ended = host.run([*as_resolver, *runs.arguments(out, settings, "--workers", "2")], cwd=runs.ROOT, env=runs.environment(), capture_output=True)
    check(ended.returncode == 0, f"two workers train beside it{ended.stderr.decode()[-1000:] if ended.returncode else ''}")
    check(asked.read_bytes() == b"", f"workers of one host ask no name server: {asked.read_bytes()[:200]!r}")


def main() -> None:
    able, why = hosts.available()
    if not able:
        print(f"skipped: {why}")
        sys.exit(77)
    with tempfile.TemporaryDirectory(prefix="linac-partition-") as folder, hosts.Network("abcd", rate="100mbit", seed=1) as net:
        root = pathlib.Path(folder)
        runs.run(root / "calm", SETTINGS, "--workers", "2")
        net.shape(delay_ms=1)
        out = root / "parted"
        workers = start(net, out)
        run = elastic.Record(out)
        wait_for(lambda: run.steps() >= 30, "the first steps")
        everybody = run.members()
        check(len(everybody) == 4, "four hosts train together")

        net["b"].limit_cores(0.02)
        wait_for(lambda: "replicas move from 2 2 2 2" in pathlib.Path(f"{out}.0.log").read_text(), "replicas move", 60)
        check(True, "replicas move from a slow host to the others")
        net["b"].limit_cores(None)

        net.partition(["abc", "d"])
        wait_for(lambda: len(run.members()) == 3, "the host that is cut off is excluded", 60)
        done = run.steps()
        wait_for(lambda: run.steps() > done + 10, "the three others go on", 60)
        check(everybody[3] not in run.members(), "a host that is cut off is excluded, and the others go on")
        net.heal()
        wait_for(lambda: everybody[3] in run.members(), "it joins again", 60)
        check(True, "when the network heals it joins again")

        os.kill(everybody[0], signal.SIGKILL)
        wait_for(lambda: everybody[0] not in run.members(), "the host of rank 0 is missed", 60)
        codes = [worker.wait(timeout=300) for worker in workers]
        if codes[1:] != [0, 0, 0]:
            print(*[pathlib.Path(f"{out}.{rank}.log").read_text()[-3000:] for rank in range(4)], sep="\n")
        check(codes[1:] == [0, 0, 0] and codes[0] != 0, f"without the host at which they had met the others end well: {codes}")
        elastic.same_end(root / "calm", out, "partition, healing, loss of the rendezvous host")
        silent_name_server(net["a"], root)
        do_not_reach(net, root, "unreachable")


main()
