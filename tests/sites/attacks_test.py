#!/usr/bin/env python3
"""Launches among strangers, colleagues and accidents: folders that others have made, numbers of processes that others have by now, greetings of
hosts, clients that are killed at any moment. What stands for linac at the place is a script that counts its starts."""

import fcntl
import json
import os
import pathlib
import random
import shutil
import subprocess
import tempfile
import time

from lib import runs
from lib.checks import check, wait_for
from lib.launches import Client, name_in
from lib.skips import skipped

SETTINGS = {"job": "examples/topology.yaml", "train.replicas": 2}
OTHER = SETTINGS | {"train.epochs": 7}
PROGRAM = """#!/bin/sh
case $1 in
--version) echo '{version}'; exit ;;
version) exit ;;
esac
echo >> {root}/starts
trap 'exit 75' TERM
n=0
while [ -e {root}/hold ] && [ $n -lt 600 ]; do sleep 0.05; n=$((n + 1)); done
"""
# Greets as the start-up files of shells do, in words that a script could say; leaves a process in the background that holds its streams
# while there is a file `behind`; refuses what would start the second host while there is a file `refuse`.
SSH = """#!/bin/sh
echo 'linac: submitted 1'
echo 'linac: host running'
printf 'Welcome, no end of line'
(while [ -e {root}/behind ]; do sleep 0.2; done) &
script=$(cat)
case $script in *lock-1*flock*log-1*) [ ! -e {root}/refuse ] || exit 255 ;; esac
printf '%s\\n' "$script" | sh -s
"""


class Place:
    def __init__(self, root: pathlib.Path):
        self.root, self.site = root, root / "site"
        version = subprocess.run([runs.LINAC, "--version"], capture_output=True, text=True, check=True).stdout.strip()
        for name, text in {"linac": PROGRAM, "ssh": SSH, "mute": "#!/bin/sh\necho This account is not available.\n"}.items():
            (root / name).write_text(text.format(root=root, version=version))
            (root / name).chmod(0o755)
        common = {"folder": str(self.site), "program": str(root / "linac")}
        hosts = common | {"kind": "ssh", "hosts": ["n01", "n02"], "ssh": [str(root / "ssh")]}
        self.client = Client(root, {"here": common | {"kind": "local"}, "slow": common | {"kind": "local", "setup": ["sleep 0.5"]}, "pair": hosts,
                                    "mute": hosts | {"ssh": [str(root / "mute")]}})

    def starts(self) -> int:
        return (self.root / "starts").stat().st_size if (self.root / "starts").exists() else 0

    def wait_for_starts(self, number: int) -> None:
        wait_for(lambda: self.starts() >= number, f"{number} programs are started", 10, 0.02)

    def kept(self, name: str) -> pathlib.Path:
        site, label = name.split(":")
        return self.root / "state" / "linac" / "launches" / site / f"{label}.json"


def folders_of_others(place: Place) -> None:
    mine = place.root / "mine"
    for made in ("run-link", "link", "stranger", "run-stranger"):
        mine.mkdir(exist_ok=True)
        run = place.site / made
        if made == "run-link":
            run.parent.mkdir(parents=True, exist_ok=True)
            run.symlink_to(mine)
        else:
            run.mkdir(parents=True)
        if made == "link":
            (run / "launch").symlink_to(mine)
        if "stranger" in made:
            if os.geteuid() != 0:
                skipped(f"a folder of another account {made}", "only root makes one")
                continue
            (run / "launch").mkdir()
            os.chown(run / "launch" if made == "stranger" else run, 65534, 65534)
        said = place.client.launch("here", SETTINGS, "--name", made, status=4)
        check("belongs to somebody else or is a link" in said and not list(mine.rglob("*")) and not list(run.glob("launch/*")), f"refused: {made}")
    said = place.client.launch("here", SETTINGS)
    check("as it was launched before" not in said, "the command without that name is not bound to it")
    former = os.umask(0)
    place.client.launch("here", SETTINGS, "--name", "open")
    os.umask(former)
    check((place.site / "open").stat().st_mode & 0o22 == 0, "without a umask, nobody else can put another launch there")


def numbers_of_others(place: Place) -> None:
    name = name_in(place.client.launch("here", SETTINGS))
    place.client.wait_for(name, "SUCCEEDED")
    launch = place.site / name.split(":")[1] / "launch"
    with subprocess.Popen(["sleep", "60"], start_new_session=True) as victim, open(launch / "lock-0", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # as what the launch has left behind would
        (launch / "pid-0").write_text(f"{victim.pid}\n")
        said = [place.client.linac("cancel", name) for _ in range(2)]
        check("not on the host that was asked" in said[-1] and victim.poll() is None, "a group that does not hold the lock is not ended")
        victim.kill()


def told_to_stop_early(place: Place) -> None:
    before = place.starts()
    name = name_in(place.client.launch("slow", SETTINGS))
    check("checkpoint" in place.client.linac("cancel", name), "told to stop while its setup goes on")
    check(place.client.wait_for(name, "CANCELLED", "LOST", "SUCCEEDED")["state"] == "CANCELLED" and place.starts() == before, "it begins no work")


def names_of_others(place: Place) -> None:
    place.client.launch("here", SETTINGS, "--name", "shared")
    place.kept("here:shared").unlink()
    said = place.client.launch("here", OTHER, "--name", "shared", status=4)
    check("another job is there already" in said, "a name that another client gave to another job is not taken for this one")
    place.kept("here:shared").unlink()
    place.client.launch("here", SETTINGS, "--name", "shared")


def hosts_that_talk(place: Place) -> None:
    before = place.starts()
    said = place.client.launch("mute", SETTINGS, "--name", "mute", status=4)
    check("This account is not available" in said, "a host that runs nothing, and ends well, has started nothing")
    (place.root / "hold").touch()
    (place.root / "behind").touch()
    name = name_in(place.client.launch("pair", SETTINGS, "--workers", "2"))
    check(True, "what ssh leaves in the background is not waited for")
    place.wait_for_starts(before + 2)
    check("Welcome" not in place.client.linac("logs", name), "a greeting is no part of the log, which has an end")
    # The client died before it knew; the next one does not reach the second host.
    kept = json.loads(place.kept(name).read_text())
    place.kept(name).write_text(json.dumps(kept | {"submitted": False}))
    (place.root / "refuse").touch()
    place.client.launch("pair", SETTINGS, "--workers", "2", status=4)
    (place.root / "refuse").unlink()
    said = place.client.launch("pair", SETTINGS, "--workers", "2")
    check(name_in(said) == name and place.starts() == before + 2, "what an earlier client has started goes on when a later one fails")
    check(place.client.standing(name)["details"]["hosts"] == "2 of 2", "on both hosts")
    (place.root / "behind").unlink()
    (place.root / "hold").unlink()
    check(place.client.wait_for(name, "SUCCEEDED", "LOST", "FAILED")["state"] == "SUCCEEDED", "to its end, whatever a greeting says")


def killed_clients(place: Place) -> None:
    chance = random.Random(1)
    for number in range(int(os.environ.get("LINAC_TEST_KILLS", "5"))):
        before = place.starts()
        client = place.client.start("launch", SETTINGS["job"], "--on", "here", "--set", f"train.replicas={number + 2}", "--name", f"killed-{number}")
        time.sleep(chance.uniform(0, 0.12))
        client.kill()
        client.communicate()
        place.client.launch("here", SETTINGS | {"train.replicas": number + 2}, "--name", f"killed-{number}")
        place.client.wait_for(f"here:killed-{number}", "SUCCEEDED", "LOST", "FAILED")
        if place.starts() != before + 1:
            check(False, f"killed at any moment, a client leaves one launch: {place.starts() - before}")
    check(True, "killed at any moment, a client leaves one launch")


def killed_resumes(place: Place) -> None:
    chance = random.Random(2)
    (place.root / "hold").touch()
    before = place.starts()
    name = name_in(place.client.launch("here", SETTINGS, "--name", "resumed"))
    place.wait_for_starts(before + 1)
    for _ in range(4):
        place.client.linac("cancel", name)
        place.client.wait_for(name, "CANCELLED")
        before = place.starts()
        client = place.client.start("resume", name)
        time.sleep(chance.uniform(0, 0.12))
        client.kill()
        client.communicate()
        place.client.start("resume", name).communicate(timeout=60)  # refused if it runs by then
        place.wait_for_starts(before + 1)
        if place.client.standing(name)["state"] != "RUNNING" or place.starts() != before + 1:
            check(False, f"killed at any moment, who resumes starts it once: {place.starts() - before}")
    check(True, "killed at any moment, who resumes starts it once")
    (place.root / "hold").unlink()
    place.client.wait_for(name, "SUCCEEDED")


def kept_files(place: Place) -> None:
    folder = place.kept("here:shared").parent
    shutil.copy(place.kept("here:shared"), folder.parent / "slow" / "shared.json")
    check("shared" not in place.client.linac("status", "slow:"), "a launch of another site is none of this one")
    with open(folder / "huge.json", "w") as huge:
        huge.truncate(1 << 40)
    os.mkfifo(folder / "pipe.json")
    (folder / "loop.json").symlink_to("loop.json")
    (folder / "deep.json").write_text("[" * 100000)
    check("shared" in place.client.linac("status", "here:"), "what is no launch is passed by")


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="linac-attacks-", ignore_cleanup_errors=True) as folder:
        place = Place(pathlib.Path(folder))
        for attack in (folders_of_others, numbers_of_others, told_to_stop_early, names_of_others, hosts_that_talk, killed_clients, killed_resumes, kept_files):
            begin = time.monotonic()
            attack(place)
            print(f"  {attack.__name__}: {time.monotonic() - begin:.1f} s")


if __name__ == "__main__":
    main()
