#!/usr/bin/env python3
"""The program brought to hosts that have none: once, by several launches at a time, whole or not at all; hosts on which it cannot run are refused.
The archives here are small ones whose linac is a script. Exit 77 where there is no sshd."""

import io
import os
import pathlib
import subprocess
import sys
import tarfile
import tempfile
import time

from lib import runs
from lib.checks import check
from lib.launches import SETTINGS, Client, name_in
from lib.servers.sshd import Sshd
from lib.skips import skipped

PROGRAM = """#!/bin/sh
case $1 in
--version) echo '{version}' ;;
version) echo >> {root}/tried ;;
train) echo >> {root}/starts ;;
esac
"""
# Greets; a host whose programs are others while there is a folder `other`; breaks off behind so many bytes that go there while there is `cut`.
SSH = """#!/bin/sh
echo 'linac: program there'
printf 'Welcome, no end of line'
for last; do :; done
case $last in *exec*sh*-c*)
  echo >> {root}/sent
  if [ -e {root}/cut ]; then head -c $(cat {root}/cut) | {ssh} "$@"; exit 255; fi ;;
esac
if [ -d {root}/other ]; then sed '1s|$|\\nPATH={root}/other:$PATH|' | {ssh} "$@"; exit $?; fi
exec {ssh} "$@"
"""


def archive(path: pathlib.Path, text: str, ballast: int = 0) -> str:
    with tarfile.open(path, "w:gz") as out:
        for name, content in {"linac-x/bin/linac": text.encode(), "linac-x/lib/large": os.urandom(ballast)}.items():
            member = tarfile.TarInfo(name)
            member.size, member.mode = len(content), 0o755
            out.addfile(member, io.BytesIO(content))
    return str(path)


def count(path: pathlib.Path) -> int:
    return path.stat().st_size if path.exists() else 0


def refused(client: Client, root: pathlib.Path) -> None:
    other = root / "other"
    for program, says, why in (("uname", "echo aarch64", "the host is aarch64 aarch64"), ("getconf", "echo glibc 2.28", "the host has glibc 2.28")):
        other.mkdir()
        (other / program).write_text(f"#!/bin/sh\n{says}\n")
        (other / program).chmod(0o755)
        said = client.launch("pair", SETTINGS, status=4)
        check(why in said and not (root / "sent").exists(), f"refused before anything is sent: {why}")
        check(why in client.linac("sites", "check", "pair", status=4), "check says so too")
        (other / program).unlink()
        other.rmdir()


def full_disk(client: Client, root: pathlib.Path) -> None:
    tiny = root / "tiny"
    tiny.mkdir(exist_ok=True)
    if os.geteuid() != 0 or subprocess.run(["mount", "-t", "tmpfs", "-o", "size=5m", "tmpfs", tiny], capture_output=True).returncode != 0:
        return skipped("a full disk", "this user may not mount")
    try:
        said = client.launch("full", SETTINGS, status=4)
        check("is the disk full" in said and not list((tiny / ".programs").glob("[!l]*")), "a full disk there is told, and nothing is left on it")
    finally:
        subprocess.run(["umount", tiny], check=True)


def main() -> None:
    if not Sshd.available():
        print("skipped: no sshd (tests/servers/get.sh sshd)")
        sys.exit(77)
    with tempfile.TemporaryDirectory(prefix="linac-program-", ignore_cleanup_errors=True) as folder, Sshd(["n01", "n02"]) as hosts:
        root = pathlib.Path(folder)
        (root / "ssh").write_text(SSH.format(root=root, ssh=" ".join(hosts.command)))
        (root / "ssh").chmod(0o755)
        version = subprocess.run([runs.LINAC, "--version"], capture_output=True, text=True, check=True).stdout.strip()
        good = archive(root / "good.tar.gz", PROGRAM.format(root=root, version=version), 3_000_000)
        pair = {"kind": "ssh", "folder": f"{root}/site", "ssh": [str(root / "ssh")], "hosts": ["n01", "n02"], "address": "127.0.0.1"}
        wrong = {"older": archive(root / "older.tar.gz", PROGRAM.format(root=root, version="linac 0.0.1")),
                 "broken": archive(root / "broken.tar.gz", "#!/bin/sh\necho version GLIBC_2.38 not found >&2; exit 1\n"),
                 "none": str(root / "nothing.tar.gz")}
        client = Client(root, {"pair": pair | {"archive": good}, "full": pair | {"archive": good, "folder": f"{root}/tiny"}} | {name: pair | {"archive": path} for name, path in wrong.items()})
        programs = root / "site" / ".programs"
        full_disk(client, root)
        (root / "sent").unlink(missing_ok=True)

        refused(client, root)
        check("will be brought there" in client.linac("sites", "check", "pair"), "check says that it will be brought")
        (root / "cut").write_text("1000000")
        client.launch("pair", SETTINGS, "--name", "cut", status=4)
        (root / "cut").unlink()
        check(not list(programs.glob("*/bin")) and not list(programs.glob("incoming.*")), "one that breaks off leaves nothing")
        killed = client.start(*["launch", SETTINGS["job"], "--on", "pair", "--name", "killed"])
        time.sleep(0.5)
        killed.kill()
        killed.communicate()

        several = [client.start("launch", SETTINGS["job"], "--on", "pair", "--workers", "2", "--name", f"a{i}", XDG_STATE_HOME=str(root / f"state{i}"))
                   for i in range(3)]
        said = [process.communicate(timeout=60)[0] for process in several]
        check([process.returncode for process in several] == [0, 0, 0], "several launches at once: " + "".join(said))
        check(len(list(programs.glob("*/bin/linac"))) == 1 and not list(programs.glob("incoming.*")), "it is there once")
        check(count(root / "tried") == 1, "and was put there once, by whichever came first")
        sent = count(root / "sent")
        name = name_in(client.launch("pair", SETTINGS))
        client.wait_for(name, "SUCCEEDED")
        check(count(root / "sent") == sent and count(root / "starts") >= 2, "later launches find it, and run it")
        check(oct(programs.stat().st_mode & 0o22) == "0o0", "nobody else can put another one there")

        check("it is not linac" in client.launch("older", SETTINGS, status=4), "another version is refused")
        check("GLIBC_2.38" in client.launch("broken", SETTINGS, status=4), "one that does not start there is refused, in its words")
        check("nothing.tar.gz" in client.launch("none", SETTINGS, status=2), "an archive that is not there is told")
        check(len(list(programs.iterdir())) == 2, "none of them is left there")


if __name__ == "__main__":
    main()
