#!/usr/bin/env python3
"""Scripts brought by `linac spawn` to hosts of ssh and to Slurm: the same as on this host (spawn_test.py), with the log of all in one. Exit 77 where
there is neither sshd nor Slurm."""

import pathlib
import sys
import tempfile
import time

from lib import launches
from lib.checks import check, wait_for
from lib.launches import Client, name_in
from lib.servers.slurm import Slurm
from lib.servers.sshd import Sshd
from lib.skips import skipped

SCRIPT = """
import json, os, socket, sys, time
me = json.loads(os.environ["TF_CONFIG"])
print("here", me["task"]["index"], os.environ["S3_KEY"] == "s3cr3t $(id)", sys.argv[1:])
# Each hears of the other at the place that it was told.
host, port = me["cluster"]["worker"][me["task"]["index"]].rsplit(":", 1)
server = socket.create_server(("", int(port)))
other = me["cluster"]["worker"][1 - me["task"]["index"]].rsplit(":", 1)
for _ in range(200):
    try:
        socket.create_connection((other[0], int(other[1])), timeout=1).sendall(b"hello")
        break
    except OSError:
        time.sleep(0.05)
open("output of %d $(id)" % me["task"]["index"], "w").write("written")
os.symlink("/etc/passwd", "link-%d-%s" % (me["task"]["index"], os.environ["LINAC_ATTEMPT"]))
print("heard", server.accept()[0].recv(5))
if os.environ["LINAC_ATTEMPT"] == "0" and me["task"]["index"] == 1:
    raise RuntimeError("boom")
if "--stay" in sys.argv:
    time.sleep(600)
"""


def spawned(client: Client, root: pathlib.Path, site: str) -> None:
    begin = time.monotonic()
    words = ("spawn", root / "train.py", "--on", site, "-w", 2, "-e", root / "env")
    said = client.linac(*words, "--name", "meet", "--follow", "--fetch", root / f"fetched-{site}", "--", "it's", "$(id)", "two\nlines")
    for rank in range(2):
        check(f"[worker {rank}] here {rank} True [\"it's\", '$(id)', 'two\\nlines']" in said and f"[worker {rank}] heard b'hello'" in said,
              f"{site}: worker {rank} has its words and meets the other: {said}")
    check("worker 1: exit status 1: RuntimeError: boom; all stop, and begin again, 1 of 2 times" in said and "SUCCEEDED" in said, f"{site}: after a failure all begin again")
    fetched = {path.relative_to(root / f"fetched-{site}").as_posix() for path in (root / f"fetched-{site}").rglob("output*")}
    both = {f"output of {rank} $(id)" for rank in range(2)}
    check(fetched == (both if site == "farm" else {f"{host}/{name}" for host in ("n01", "n02") for name in both}), f"{site}: what it has written is here: {fetched}")
    client.linac("spawn", "--on", site, "-t", "meet", "--fetch", root / f"again-{site}")
    check(len(list((root / f"again-{site}").rglob("output*"))) == len(fetched), f"{site}: and comes again when it is asked for")
    name = name_in(client.linac(*words, "--name", "stays", "--no-check", "--", "--stay"))
    wait_for(lambda: client.linac("logs", name).count("heard") >= 4, lambda: f"{site}: both work: {client.linac('logs', name)}", 30, 0.2)
    secret = [path for path in (root / site).rglob("*") if path.is_file() and b"s3cr3t" in path.read_bytes() and path.name != "training-script.py"]
    check(secret == [root / site / "stays/launch/private/environment"] and secret[0].stat().st_mode & 0o77 == 0, f"{site}: a secret is for its owner alone: {secret}")
    client.linac("spawn", "-d", "--name", "stays", "--on", site)
    check(not launches.processes_with(f"{root}/{site}/stays") and not (root / site / "stays/launch").exists(), f"{site}: deleted, nothing of it runs or lies there")
    (root / "syntax.py").write_text("if True print(1)\n")
    said = client.linac("spawn", root / "syntax.py", "--on", site, status=2)
    check("syntax.py:1: invalid syntax" in said, f"{site}: what is no Python is refused before")
    print(f"{site}: {time.monotonic() - begin:.1f} s")


def main() -> None:
    if not Sshd.available() and not Slurm.available():
        print("skipped: neither sshd nor Slurm (tests/servers/get.sh sshd slurm)")
        sys.exit(77)
    with tempfile.TemporaryDirectory(prefix="linac-spawn-", ignore_cleanup_errors=True) as folder:
        root = pathlib.Path(folder)
        (root / "train.py").write_text(SCRIPT)
        (root / "env").write_text("S3_KEY=s3cr3t $(id)\n")
        for name in ("pair-client", "farm-client"):
            (root / name).mkdir()
        if Sshd.available():
            with Sshd(["n01", "n02"]) as hosts:
                pair = {"kind": "ssh", "folder": f"{root}/pair", "ssh": hosts.command, "hosts": ["n01", "n02"], "address": "127.0.0.1", "python": sys.executable}
                spawned(Client(root / "pair-client", {"pair": pair}), root, "pair")
        else:
            skipped("ssh", "no sshd is installed", "tests/servers/get.sh sshd")
        if Slurm.available():
            with Slurm() as cluster:
                # A login node that greets, and is this host.
                (root / "login").write_text("#!/bin/sh\necho Welcome\nprintf 'no end of line'\nexec sh -s\n")
                (root / "login").chmod(0o755)
                farm = {"kind": "slurm", "folder": f"{root}/farm", "partition": "main", "workers_per_node": 2, "notice": "5s", "python": sys.executable}
                spawned(Client(root / "farm-client", {"farm": farm | {"login": "n01", "ssh": [str(root / "login")]}}, **cluster.environment), root, "farm")
        else:
            skipped("Slurm", "none is installed, or this user is not root", "tests/servers/get.sh slurm")


if __name__ == "__main__":
    main()
