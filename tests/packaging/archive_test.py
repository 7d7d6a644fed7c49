#!/usr/bin/env python3
"""The archive of `make dist` on a system that is older than the one it was made on: archive_test.py BUILD. The system is Debian 11's GCC library
and this machine's C library, in which the versions of symbols that glibc 2.34 does not have yet are hidden, so that nothing of them can be found.
Nothing of linac's own libraries, no fonts, no certificates at Debian's place. Exit 77 without root, or where Debian's archive is not to be had."""

import os
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile

from lib import paths
from lib.checks import check
from lib.runs import ROOT, output

paths.add("packaging")
import elf  # noqa: E402

HIDDEN = {"GLIBC_2.35", "GLIBC_2.36", "GLIBC_2.37", "GLIBC_2.38"}
C_LIBRARY = ("ld-linux-x86-64.so.2", "libc.so.6", "libm.so.6", "libmvec.so.1", "libdl.so.2", "libpthread.so.0", "librt.so.1", "libresolv.so.2", "libutil.so.1",
             "libanl.so.1", "libnss_dns.so.2", "libnss_files.so.2")
MACHINE = pathlib.Path("/lib/x86_64-linux-gnu")


def elf_hash(name: bytes) -> int:
    """System V ABI, figure 5-13."""
    value = 0
    for byte in name:
        value = (value << 4) + byte
        high = value & 0xF0000000
        value = (value ^ (high >> 24)) & ~high & 0xFFFFFFFF
    return value


def hide(path: pathlib.Path) -> None:
    """Other names for the hidden versions, in what the file gives and in what it wants."""
    data = path.read_bytes()
    for version in HIDDEN:
        old, new = version.encode(), version.replace("_2", "_9").encode()
        data = data.replace(b"\0" + old + b"\0", b"\0" + new + b"\0")
        data = data.replace(struct.pack("<I", elf_hash(old)), struct.pack("<I", elf_hash(new)))
    path.write_bytes(data)


def old_system(root: pathlib.Path) -> None:
    words = ["mmdebstrap", "--quiet", "--variant=extract", "--include=libgcc-s1", "bullseye", str(root)]
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode != 0:
        print(f"Debian 11's packages are not to be had here: {done.stderr[-300:]}")
        sys.exit(77)
    root.chmod(0o755)
    for name in C_LIBRARY:
        (root / "lib/x86_64-linux-gnu" / name).unlink(missing_ok=True)
        shutil.copy((MACHINE / name).resolve(), root / "lib/x86_64-linux-gnu" / name)
        hide(root / "lib/x86_64-linux-gnu" / name)
    (root / "lib64/ld-linux-x86-64.so.2").unlink()
    (root / "lib64/ld-linux-x86-64.so.2").symlink_to("../lib/x86_64-linux-gnu/ld-linux-x86-64.so.2")
    for folder in ("proc", "dev", "tmp", "etc/pki/tls/certs"):
        (root / folder).mkdir(parents=True, exist_ok=True)
    shutil.copy("/etc/ssl/certs/ca-certificates.crt", root / "etc/pki/tls/certs/ca-bundle.crt")


class Inside:
    """Commands in the old system, in namespaces of their own, with the archive's folder as theirs."""

    def __init__(self, root: pathlib.Path, program: str):
        self.root, self.program = root, program

    def run(self, *words: str, status: int = 0) -> str:
        command = ["bwrap", "--bind", str(self.root), "/", "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/dev/shm", "--unshare-all", "--die-with-parent",
                   "--chdir", f"/opt/{self.program}", "--clearenv"]
        for key, value in {"PATH": "/", "HOME": "/tmp", "LINAC_CACHE": "/tmp/cache", "LD_BIND_NOW": "1"}.items():
            command += ["--setenv", key, value]
        return output(*command, "--", f"/opt/{self.program}/bin/linac", *words, status=status)


def main(build: str) -> None:
    if os.geteuid() != 0:
        print("this test wants root, for a file system of its own")
        sys.exit(77)
    if missing := [tool for tool in ("patchelf", "pigz", "mmdebstrap", "bwrap") if shutil.which(tool) is None]:
        print(f"no {', '.join(missing)}: deps/get.sh packaging")
        sys.exit(77)
    with tempfile.TemporaryDirectory(prefix="linac-archive-") as name:
        folder = pathlib.Path(name)
        subprocess.run([ROOT / "packaging/archive.py", build, "--out", folder], check=True)
        archive, = folder.glob("*.tar.gz")
        old_system(root := folder / "root")
        (root / "opt").mkdir(exist_ok=True)
        subprocess.run(["tar", "-xf", archive, "-C", root / "opt"], check=True)
        where, = (root / "opt").iterdir()
        hidden = [path for path in (root / "lib/x86_64-linux-gnu").glob("libc.so.6") if any(version in HIDDEN for _, version in elf.wanted(path))]
        check(not hidden and b"GLIBC_2.36" not in (root / "lib/x86_64-linux-gnu/libc.so.6").read_bytes(), "the C library of this system knows no glibc 2.36")
        outside = [path for path in where.rglob("*") if elf.is_elf(path) and not path.name.startswith("ld-") and "/" in elf.output("patchelf", "--print-rpath", path).replace("$ORIGIN", "")
                   and not elf.output("patchelf", "--print-rpath", path).startswith("$ORIGIN")]
        check(not outside, f"no library looks for others outside of the archive {outside}")
        inside = Inside(root, where.name)
        check("linac" in inside.run("version"), "the program starts")
        inside.run("check", "examples/topology.yaml")
        inside.run("train", "examples/topology.yaml", "--out", "/tmp/a", "--workers", "2", "--set", "train.epochs=1", "--set", "train.steps_per_epoch=3")
        inside.run("report", "/tmp/a")
        inside.run("validate", "--reference", "data/showers-test.h5", "--sample", "data/showers-train.h5", "--out", "/tmp/validation")
        pictures = sorted((root / "tmp/validation").glob("*.png"))
        check(bool(pictures), "trains on two workers, and draws")
        said = inside.run("data", "info", "root://127.0.0.1:1//nothing.root", status=4)
        check("XRootD's client cannot be loaded" not in said, "XRootD's client is there")
        if keep := os.environ.get("LINAC_KEEP_PICTURES"):
            shutil.copytree(root / "tmp/validation", keep, dirs_exist_ok=True)


if __name__ == "__main__":
    main(sys.argv[1])
