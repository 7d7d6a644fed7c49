#!/usr/bin/env python3
"""`linac data copy` between paths, a web server and, where versitygw is installed, a real object store: killed and gone on, two at the same
time, a full disk, names that are none, a source that changes, a part that somebody has altered."""

import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile

from lib import runs
from lib.checks import check, wait_for
from lib.servers.versitygw import Versitygw
from lib.skips import skipped
from range_server import RangeServer

SEGMENT = 8 << 20


def start(root: pathlib.Path, *words: object, **environment: str) -> subprocess.Popen:
    environment = {"LINAC_CACHE": str(root / "cache"), "TMPDIR": str(root / "temporary"), **environment}
    return runs.started("data", "copy", *words, cwd=root, **environment)


def copy(root: pathlib.Path, *words: object, status: int = 0, **environment: str) -> str:
    process = start(root, *words, **environment)
    said, problems = process.communicate(timeout=120)
    if process.returncode != status:
        sys.exit(f"{words}: exit status {process.returncode}, expected {status}\n{said}{problems}")
    return problems if status else said


def rows(root: pathlib.Path, *words: object, **environment: str) -> list:
    return [(row["result"], row["sent"]) for row in json.loads(copy(root, *words, "--json", **environment))]


def left_behind(folder: pathlib.Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if "linac-part" in path.name)


def killed(root: pathlib.Path, content: bytes) -> None:
    (served := root / "served").mkdir()
    (served / "large.bin").write_bytes(content)
    with RangeServer(served, bytes_per_s=2_000_000) as server:
        url, out = f"{server.url}/large.bin", root / "large.bin"
        process = start(root, url, out)
        wait_for(lambda: server.sent > 4.2 * SEGMENT, "half of the file", 30)
        other = copy(root, url, out, status=2)
        check("another process is writing it" in other, "a second copy at the same time is refused")
        process.send_signal(signal.SIGKILL)
        process.communicate()
        check(not out.exists() and len(left_behind(root)) == 2, "kill -9: nothing under the name, a part and its journal beside it")
        server.bytes_per_s, before = 0, server.sent
        part = root / ".large.bin.linac-part"
        with open(part, "r+b") as file:
            file.write(b"somebody else's")
        (result, sent), = rows(root, url, out)
        check(result == "copied" and out.read_bytes() == content, "the same command goes on to the same bytes")
        check(sent < len(content) and server.sent - before < len(content) and left_behind(root) == [], f"{sent / len(content):.2f} of it was fetched again, also what was altered")
        before = server.sent
        check(rows(root, url, out) == [("was there", 0)] and server.sent - before < 1000, "a third call sends nothing")

        server.bytes_per_s = 2_000_000
        process = start(root, url, root / "again.bin")
        wait_for(lambda: server.sent > before + 0.5 * SEGMENT, "some of it", 30)
        process.send_signal(signal.SIGTERM)
        _, problems = process.communicate(timeout=60)
        check(process.returncode == 75 and "the same command goes on" in problems, "SIGTERM ends with status 75 and a word")
        changed = bytearray(content)
        changed[5] ^= 1
        server.bytes_per_s = 0
        (served / "large.bin").write_bytes(changed)
        check(rows(root, url, root / "again.bin") == [("copied", len(content))] and (root / "again.bin").read_bytes() == changed,
              "a part of another version is dropped")
        said = copy(root, url, out, status=2)
        check("--overwrite" in said and out.read_bytes() == content, "another content under the target's name stays")
        copy(root, url, out, "--overwrite")
        check(out.read_bytes() == changed, "with --overwrite it is replaced")


def names(root: pathlib.Path) -> None:
    (folder := root / "names").mkdir()
    for name in ("a", "b", "a b%20c", "new\nline"):
        (folder / name).write_text(name)
    os.mkfifo(root / "fifo")
    check("also an input" in copy(root, folder / "a", folder / "a", status=2), "a file onto itself is refused")
    (twin := root / "twin").mkdir()
    (twin / "a").write_text("twin")
    check("both would become" in copy(root, folder / "a", twin / "a", f"{root}/to/", status=2), "two sources of one name are refused")
    check("also an input" in copy(root, folder / "a", folder / "b", folder, status=2), "a target that is a source is refused")
    check("regular file" in copy(root, root / "fifo", root / "x", status=3), "a FIFO is no file")
    said = copy(root, folder / "a", root / "none", root / "there/", status=3)
    check("none: no such file" in said and not (root / "none").exists() and (root / "there/a").read_text() == "a", "what is missing is named, the other one is copied")
    check("last part" in copy(root, folder / "new\nline", f"{root}/to/", status=2), "a name with a newline is refused")
    check(rows(root, folder / "a b%20c", f"{root}/to/") == [("copied", 7)] and (root / "to" / "a b%20c").read_text() == "a b%20c", "spaces and percent signs are characters")
    os.mkfifo(root / ".pipe.linac-part")
    check("in the way" in copy(root, folder / "a", root / "pipe", status=4), "a FIFO in place of the part keeps nobody waiting")
    (root / "victim").write_text("victim")
    (root / ".link.linac-part").symlink_to(root / "victim")
    copy(root, folder / "a", root / "link", status=4)
    check((root / "victim").read_text() == "victim", "a link in place of the part is not followed")
    check("would be copied" in copy(root, folder / "a", root / "dry", "--dry-run") and not (root / "dry").exists(), "--dry-run writes nothing")


def full_disk(root: pathlib.Path, content: bytes) -> None:
    (disk := root / "disk").mkdir()
    (root / "source.bin").write_bytes(content)
    if subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={len(content) // 2}", "none", disk], capture_output=True).returncode != 0:
        skipped("a full disk", "this user may not mount")
        return
    try:
        (disk / "out.bin").write_text("former")
        said = copy(root, root / "source.bin", disk / "out.bin", "--overwrite", status=4)
        check("No space left" in said and (disk / "out.bin").read_text() == "former", "a full disk is said, and what was there stays")
        subprocess.run(["mount", "-o", f"remount,size={3 * len(content)}", disk], check=True)
        check(rows(root, root / "source.bin", disk / "out.bin", "--overwrite")[0][0] == "copied" and (disk / "out.bin").read_bytes() == content, "with room it goes on")
    finally:
        subprocess.run(["umount", "-l", disk], check=True)


def object_store(root: pathlib.Path, content: bytes) -> None:
    if not Versitygw.available():
        skipped("an object store", "no versitygw is installed", "tests/servers/get.sh versitygw")
        return
    with Versitygw() as store:
        keep = store.environment
        (source := root / "s3 source").mkdir()
        for name in ("one", "two", "three"):
            (source / name).write_bytes(content if name == "two" else name.encode())
        url = f"s3://{store.BUCKET}/some folder/"
        check([result for result, _ in rows(root, f"{source}/", url, **keep)] == ["copied"] * 3, "a folder goes into an object store")
        check([sent for _, sent in rows(root, f"{source}/", url, **keep)] == [0] * 3, "and is not sent again")
        check(rows(root, f"{url}t*", f"s3://{store.BUCKET}/other/", **keep) == [("copied", 5), ("copied", len(content))], "from store to store, by a pattern")
        check(rows(root, f"s3://{store.BUCKET}/other/two", root / "back", **keep) == [("copied", len(content))] and (root / "back").read_bytes() == content, "and back")
        (source / "one").write_text("another")
        check("--overwrite" in copy(root, source / "one", url, status=2, **keep), "an object of another content stays")
        text = copy(root, source / "one", f"s3://{store.BUCKET}/x", status=4, **keep | {"AWS_SECRET_ACCESS_KEY": "wrong-secret"})
        check("wrong-secret" not in text and store.id not in text, "keys are in no message")


def main() -> None:
    content = os.urandom(5 * SEGMENT + 12345)
    with tempfile.TemporaryDirectory(prefix="linac-copy-") as name:
        root = pathlib.Path(name)
        (root / "temporary").mkdir()
        killed(root, content)
        names(root)
        full_disk(root, content)
        object_store(root, content[:3 * SEGMENT])


main()
