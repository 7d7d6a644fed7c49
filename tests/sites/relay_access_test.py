#!/usr/bin/env python3
"""A relay that stands open to a network, with a list of who may use it: runs of a user whom it lists train by it, launched and by hand; strangers,
who come without a pass, with that of another user or from elsewhere, are told why not. The list changes while it works."""

import contextlib
import pathlib
import secrets
import subprocess
import tempfile

from lib import elastic, launches, runs
from lib.checks import check, wait_for
from lib.launches import Client, name_in

BOTH = "one:1,two:1"
SETTINGS = launches.SETTINGS


class Relay:
    def __init__(self, root: pathlib.Path, lines: str):
        self.list, self.log = root / f"list-{secrets.token_hex(4)}", root / f"relay-{secrets.token_hex(4)}.log"
        self.list.write_text(lines)
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen([runs.LINAC, "relay", "--listen", "127.0.0.1:0", "--allow", self.list], stdout=subprocess.PIPE, stderr=log, text=True,
                                            env=runs.environment())
        self.address = self.process.stdout.readline().strip().removeprefix("LINAC_RELAY=")

    def changes(self, lines: str, said: str) -> None:
        before = self.log.read_text().count(said)
        self.list.write_text(lines)
        wait_for(lambda: self.log.read_text().count(said) > before, lambda: f"{self.log.read_text()}\nthe changed list is told: {said}", 20, 0.05)

    def end(self) -> str:
        self.process.terminate()
        self.process.wait(timeout=30)
        return self.log.read_text()


def keys(root: pathlib.Path) -> dict[str, str]:
    """By name the line of a user, whose key is ROOT/NAME.key."""
    users = {name: runs.linac("relay", "key", root / f"{name}.key").strip() for name in ("me", "stranger")}
    check(users["me"] == runs.linac("relay", "key", root / "me.key").strip() != users["stranger"], "a key is made once")
    check((root / "me.key").stat().st_mode & 0o77 == 0 and (root / "me.key").read_text().strip() not in users["me"], "it is secret, and its line is not")
    (root / "open.key").write_text(secrets.token_hex(32))
    (root / "open.key").chmod(0o644)
    check("chmod 600" in runs.linac("relay", "pass", root / "open.key", status=2, LINAC_RUN_KEY=secrets.token_hex(32)), "one that others can read is refused")
    check("makes one" in runs.linac("relay", "pass", root / "none.key", status=2, LINAC_RUN_KEY=secrets.token_hex(32)), "and one that is not there")
    check("LINAC_RUN_KEY" in runs.linac("relay", "pass", root / "me.key", status=2, LINAC_RUN_KEY="x"), "a pass is of a run")
    return users


def listed(client: Client, root: pathlib.Path, relay: Relay) -> None:
    name = name_in(client.launch(BOTH, SETTINGS, "--name", "mine", "--relay-key", root / "me.key"))
    standing = client.wait_for(name, "SUCCEEDED", "FAILED", "LOST")
    check(standing["state"] == "SUCCEEDED", f"a user who is listed trains by it: {standing}\n{client.linac('logs', name) if standing['state'] != 'SUCCEEDED' else ''}")
    launches.same_bits(root / "calm", root / "two" / "mine", "by a relay with a list")
    check("as it was launched before" in client.launch(BOTH, SETTINGS, "--name", "mine", "--relay-key", root / "me.key"), "the same launch is the same")


def turned_away(client: Client, relay: Relay, name: str, why: str, *words: object) -> None:
    launched = name_in(client.launch(BOTH, SETTINGS, "--name", name, "--wait", "3s", *words, LINAC_RELAY=relay.address))
    standing = client.wait_for(launched, "SUCCEEDED", "FAILED", "LOST")
    said = client.linac("logs", launched)
    check(standing["state"] != "SUCCEEDED" and why in said, f"{name} is refused, and told why: {said[-2000:]}")


def by_hand(root: pathlib.Path, relay: Relay) -> None:
    """The run itself is listed, and the user whose pass is shown."""
    key = secrets.token_hex(32)
    shown = runs.linac("relay", "pass", root / "me.key", LINAC_RUN_KEY=key).strip()
    line = runs.linac("relay", "pass", LINAC_RUN_KEY=key).strip()
    check(shown.startswith("LINAC_RELAY_PASS=") and line.startswith("run ") and key not in shown + line, "a pass tells nothing of the run's key")
    relay.changes(f"{line}\n", "read again")
    workers = [runs.start(root / f"hand-{group}", SETTINGS, LINAC_GROUPS=BOTH.replace("one", "a").replace("two", "b"), LINAC_GROUP=group, LINAC_RELAY=relay.address,
                          LINAC_RUN_KEY=key) for group in "ab"]
    check([worker.wait(timeout=120) for worker in workers] == [0, 0], "a run that is listed needs no pass")
    out = root / "hand-wrong"
    check(runs.start(out, SETTINGS, LINAC_GROUPS="a:1,b:1", LINAC_GROUP="a", LINAC_RELAY=relay.address, LINAC_RUN_KEY=key, LINAC_RELAY_PASS="x").wait(timeout=60) == 2,
          "what is no pass is refused at once")
    check("linac relay pass" in pathlib.Path(f"{out}.log").read_text(), "and what makes one is told")


def main() -> None:
    with contextlib.ExitStack() as stack:
        root = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="linac-access-", ignore_cleanup_errors=True)))
        users = keys(root)
        check("--allow" in runs.linac("relay", "--help") and "user KEY" in runs.linac("relay", "--help"), "the help has a list")
        (root / "wrong").write_text("network 10.0.0.0/8\nhost n01\n")
        check("wrong:2: 'host n01'" in runs.linac("relay", "--listen", "127.0.0.1:0", "--allow", root / "wrong", status=2), "a list with a wrong line is refused")
        relay = Relay(root, f"# who may\nnetwork 127.0.0.0/8\n{users['me']}  # me\n")
        stack.callback(relay.process.kill)
        elsewhere = Relay(root, "network 192.0.2.0/24\n")
        stack.callback(elsewhere.process.kill)
        sites = {name: {"kind": "local", "folder": f"{root}/{name}", "program": runs.LINAC} for name in ("one", "two")}
        client = Client(root, sites, LINAC_RELAY=relay.address)
        runs.run(root / "calm", SETTINGS, "--workers", "1")
        listed(client, root, relay)
        turned_away(client, relay, "no-pass", "shows no pass")
        turned_away(client, relay, "another-user", "does not list the user", "--relay-key", root / "stranger.key")
        turned_away(client, elsewhere, "another-network", "nobody from your address", "--relay-key", root / "me.key")
        relay.changes("nonsense\n", "the former list holds")
        name = name_in(client.launch(BOTH, launches.LONG, "--name", "cut", "--relay-key", root / "me.key", **elastic.steady(root)))
        launches.wait_for_steps(root / "one" / "cut", 6)
        check(True, "a list that is none changes nothing")
        relay.changes(f"{users['stranger']}\n", "read again")
        wait_for(lambda: "does not list the user" in client.linac("logs", name), "who is no longer listed is told, in the midst of a run", 60, 0.2)
        client.linac("cancel", name)
        by_hand(root, relay)
        check(int(relay.end().split(" of them not on the list")[0].split()[-1]) > 0, "it counts strangers")


if __name__ == "__main__":
    main()
