#!/usr/bin/env python3
"""Hosts (network namespaces) that share no folder: each sees a disk of its own where the run's folder lies. The host of rank 0 dies, and the
one that follows it goes on with the whole record. A host with an empty disk joins and gets it. Then all are lost but that one, which
resumes alone: the end is that of an undisturbed run."""

import pathlib
import secrets
import sys
import tempfile

from apart_host import Host, await_steps
from lib import elastic, hosts, runs
from lib.checks import check, wait_for

SETTINGS = {**elastic.CLASSIFIER, "train.batch": 2, "train.epochs": 8, "distribution.stall_timeout_s": 5, "train.early_stopping.patience": 40,
            "train.early_stopping.restore_best": "true"}
PORT = 29500


def steps_of_curves(out: pathlib.Path) -> dict[str, set[int]]:
    """The steps of each TensorBoard run's events, pictures left out: a host that comes late has none of before."""
    steps: dict[str, set[int]] = {}
    for path in (out / "tensorboard").rglob("events.*"):
        content, at = path.read_bytes(), 0
        found = steps.setdefault(str(path.parent.relative_to(out)), set())
        while at < len(content):
            size = int.from_bytes(content[at:at + 8], "little")
            event = content[at + 12:at + 12 + size]  # a TFRecord: length, checksum, Event, checksum
            at += size + 16
            if b"PNG" in event or event[9:10] != b"\x10":  # Event: field 1 the time, field 2 the step, a varint
                continue
            step = shift = 0
            for byte in event[10:]:
                step |= (byte & 0x7F) << shift
                shift += 7
                if byte < 0x80:
                    break
            found.add(step)
    return steps


def main() -> None:
    able, why = hosts.available()
    if not able:
        print(f"skipped: {why}")
        sys.exit(77)
    with tempfile.TemporaryDirectory(prefix="linac-apart-") as folder, hosts.Network("abcd", seed=1) as net:
        root = pathlib.Path(folder)
        runs.run(root / "calm", SETTINGS, "--workers", "2")
        calm = runs.losses(root / "calm")
        key = secrets.token_hex(32)
        a, b, c, d = (Host(net, name, root, key, SETTINGS) for name in "abcd")
        for rank, host in enumerate((a, b, c)):
            host.start(**runs.placed(rank, 3, PORT, net["a"].address))
        for host in (a, b, c):
            await_steps(host, 30)
        check(True, "each of three hosts keeps the record on its own disk")
        check(not (c.disk / "a" / "private").exists(), "a key of the environment is written nowhere")

        a.kill()
        done = b.record().steps()
        await_steps(b, done + 20)
        await_steps(c, done + 20)
        check(runs.losses(b.disk / "a")[:done] == calm[:done], "without the host of rank 0 the next one has the whole record")

        d.start("--join", b.address())
        wait_for(lambda: "the record of the run has come" in d.text(), "the record of a host with an empty disk", 60)
        await_steps(d, done + 30)
        check(runs.losses(d.disk / "a")[:done] == calm[:done], "a host with an empty disk joins, and has the record from the first step")
        wait_for(lambda: list((d.disk / "a" / "checkpoints").glob("step-*.safetensors")), "a checkpoint of its own", 30)
        b.kill()
        await_steps(d, d.record().steps() + 10)
        c.kill()
        status = d.process.wait(timeout=120)
        check(status == 9, f"the last one of two that cannot know of the other ends: exit status {status}")
        check(len(runs.losses(d.disk / "a")) < len(calm), "before the end")

        d.start("--resume")
        status = d.process.wait(timeout=300)
        if status != 0:
            print(d.text()[-8000:])
        check(status == 0, f"all hosts are lost but that one, which resumes: exit status {status}")
        elastic.same_end(root / "calm", d.disk / "a", "three hosts lost one by one")
        best = "checkpoints/best.safetensors"
        check((root / "calm" / best).read_bytes() == (d.disk / "a" / best).read_bytes(), "so is the best checkpoint")
        whole, kept = steps_of_curves(root / "calm"), steps_of_curves(d.disk / "a")
        check(max(map(len, whole.values())) > 300 and all(kept[run] >= steps for run, steps in whole.items()),
              "its curves go from the first step to the last")

        again(net, root, key, d)


def again(net: hosts.Network, root: pathlib.Path, key: str, holds: Host) -> None:
    """A run that is resumed on several hosts goes on from the folder that has come furthest; a new one overwrites no other."""
    (root / "again").mkdir()
    e = Host(net, "a", root / "again", key, SETTINGS)
    status = []
    for start in ((), ("--resume",)):
        for rank, host in enumerate((e, holds)):
            host.start(*start, **runs.placed(rank, 2, PORT + 1, net["a"].address))
        status.append([host.process.wait(timeout=120) for host in (e, holds)])
    check(status[0] == [2, 2] and "already holds a run" in holds.text(), f"a new run does not begin over another one: exit status {status[0]}")
    check(status[1] == [0, 0] and "the folder of rank 1 holds the latest state" in e.text(),
          f"a resumed one goes on from the host that has come furthest: exit status {status[1]}")
    elastic.same_end(root / "calm", e.disk / "a", "the host whose folder was empty")


main()
