#!/usr/bin/env python3
"""Jobs brought to hosts that ssh leads to: they end with the bits of a run here; whatever becomes of the client, a launch is started once; it
is cancelled on all hosts. Exit 77 where there is no sshd."""

import pathlib
import sys
import tempfile

from lib import launches, runs
from lib.checks import check
from lib.launches import Client, name_in
from lib.servers.sshd import Sshd

SETTINGS, LONG = launches.SETTINGS, launches.LONG

# An ssh that kills linac before its call number N.
DEADLY = """#!/bin/sh
echo >> {folder}/calls
if [ $(wc -l < {folder}/calls) = {number} ]; then kill -9 $PPID; exit 1; fi
exec {ssh} "$@"
"""


def main() -> None:
    if not Sshd.available():
        print("skipped: no sshd (tests/servers/get.sh sshd)")
        sys.exit(77)
    with tempfile.TemporaryDirectory(prefix="linac-hosts-", ignore_cleanup_errors=True) as folder, Sshd(["n01", "n02"]) as hosts:
        root = pathlib.Path(folder)
        pair = {"kind": "ssh", "folder": f"{root}/site", "program": runs.LINAC, "ssh": hosts.command, "hosts": ["n01", "n02"], "address": "127.0.0.1"}
        client = Client(root, {"pair": pair, "bare": pair | {"program": "/nowhere/linac"}})
        said = client.linac("sites", "check", "pair", "--job", "examples/topology.yaml")
        check("\nno" not in said and said.count("can be written") == 2, "both hosts can be used, says check")
        said = client.launch("bare", SETTINGS, status=4)
        check("/nowhere/linac" in said and "nothing was started" in said, "a launch to hosts without the program is refused")
        check("nothing was launched" in client.linac("status", "bare:") and not list((root / "site").glob("*/launch")), "and leaves nothing")
        said = client.launch("pair", SETTINGS, "--dry-run")
        check("RANK=1 WORLD_SIZE=2" in said and "n02" in said and not list((root / "site").glob("*/launch")),
              "a dry run shows what each host starts, and does nothing")

        # The second host is not told any more: two calls ask whether they are there, the third starts the first.
        deadly = root / "ssh"
        deadly.write_text(DEADLY.format(folder=root, number=4, ssh=" ".join(hosts.command)))
        deadly.chmod(0o755)
        (root / "deadly").mkdir()
        killed = Client(root / "deadly", {"pair": pair | {"ssh": [str(deadly)]}}, XDG_STATE_HOME=str(root / "state"))
        killed.launch("pair", SETTINGS, "--no-check", status=-9)
        said = client.launch("pair", SETTINGS)
        check("as it was launched before" in said, "a client that was killed in between goes on with its launch")
        name = name_in(said)
        client.linac("logs", "-f", name)
        check(client.standing(name)["state"] == "SUCCEEDED", "it comes to its end")
        check(len(client.linac("status", "pair:").splitlines()) == 2, "it is one launch")
        calm = root / "calm"
        runs.run(calm, SETTINGS, "--workers", "1")
        launches.same_bits(calm, root / "site" / name.split(":")[1], "two hosts")

        stopped = name_in(client.launch("pair", LONG))
        out = root / "site" / stopped.split(":")[1]
        launches.wait_for_steps(out, 6)
        launches.no_secret_is_told(client, root / "site")
        check(client.standing(stopped)["details"]["hosts"] == "2 of 2", "both hosts work")
        client.linac("cancel", stopped)
        check(client.wait_for(stopped, "CANCELLED", "FAILED", "LOST")["state"] == "CANCELLED", "cancelled, it stops on all hosts")
        check(runs.newest_checkpoint(out).is_file() and not launches.processes_with(str(out)), "with a checkpoint; no process is left")

        goes_on = name_in(client.launch("pair", LONG))
        launches.wait_for_steps(root / "site" / goes_on.split(":")[1], 6)
        hosts.stop("n02")
        standing = client.standing(goes_on)
        check(standing["state"] == "RUNNING" and "n02 does not answer" in standing["reason"], "a host that does not answer is told, and the others are believed")
        check("n02 does not answer" in client.linac("cancel", goes_on), "a cancel reaches those that do")
        check(client.wait_for(goes_on, "CANCELLED", "FAILED", "LOST")["state"] == "CANCELLED", "and the run stops on all")
        said = client.launch("pair", SETTINGS, status=4)
        check("n02" in said and not launches.processes_with(f"{root}/site"), "where one host cannot be reached, nothing is started on the others")
        client.linac("status", "pair:")
        hosts.stop("n01")
        check("SUCCEEDED" in client.linac("status", name) and "CANCELLED" in client.linac("status", goes_on), "what has ended is known without its hosts")


if __name__ == "__main__":
    main()
