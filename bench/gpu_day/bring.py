#!/usr/bin/env python3
"""All of linac but its CUDA half, as one archive that goes along with the tree to a host without network:
bring.py BUILD OUT.tar.xz (or a folder, for this host)

In it are the objects of BUILD (build/release), how each of PROGRAMS is linked from them (manifest.json), and the shared libraries that they
want of this machine. That host compiles the .cu files and links (build.py). It has PyTorch, nvcc, g++, and a C library as new as this one.
Tree and archive together are to stay below LIMIT_MIB."""

import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "packaging"))
import elf  # noqa: E402

PROGRAMS = {"kernels_test": "kernels_test", "nn_test": "nn_test", "devices_test": "devices_test", "linac_compute": "linac-compute"}  # target, file
LIMIT_MIB = 60
# Of the C library and of GCC, which are the host's, and of PyTorch.
HOSTS = re.compile(r"(ld-linux-x86-64|lib(c|m|dl|rt|pthread|resolv|util|nsl|anl|mvec|gcc_s|stdc\+\+|gomp|cupti|cudart|torch_cpu|c10))\.so[.\d]*")
TORCHS = re.compile(r"lib(torch_cpu|c10)\.so")


def needed(program: pathlib.Path) -> list[str]:
    return re.findall(r"\(NEEDED\).*\[(.+)\]", elf.output("readelf", "-d", program))


def link_of(build: pathlib.Path, target: str, file: str, stage: pathlib.Path) -> list[str]:
    """Arguments of its link, with {objects}, {system} and {torch} for where these lie; copies the objects."""
    words = shlex.split(elf.output("ninja", "-C", build, "-t", "commands", target).splitlines()[-1])
    arguments = []
    for word in words:
        if not word.endswith((".o", ".a")):
            continue
        path = (build / word).resolve()
        if re.fullmatch(r"lib(pthread|dl)\.a", path.name):  # empty since glibc 2.34
            continue
        name = path.relative_to(build) if path.is_relative_to(build) else pathlib.Path("others", path.name)
        (stage / "objects" / name).parent.mkdir(parents=True, exist_ok=True)
        if not (stage / "objects" / name).exists():
            shutil.copyfile(path, stage / "objects" / name)
        arguments.append(f"{{objects}}/{name}")
    for name in needed(build / "bin" / file):
        if TORCHS.fullmatch(name):
            arguments.append(f"{{torch}}/{name}")
        elif not HOSTS.fullmatch(name):
            arguments.append(f"{{system}}/{name}")
    return arguments


def collect(build: pathlib.Path, stage: pathlib.Path) -> None:
    programs, libraries = {}, {}
    for target, file in PROGRAMS.items():
        if not (build / "bin" / file).exists():
            sys.exit(f"bring.py: no {build}/bin/{file}; run make gpu-day-bring, which builds it")
        programs[file] = link_of(build, target, file, stage)
        libraries |= {name: place for name, place in elf.libraries(build / "bin" / file).items() if not HOSTS.fullmatch(name)}
    (stage / "system").mkdir()
    for name, place in libraries.items():
        if place is None:
            sys.exit(f"bring.py: {name} is not on this machine; run make build")
        shutil.copyfile(place, stage / "system" / name)
        subprocess.run(["strip", "--strip-unneeded", stage / "system" / name], check=True)
    torch = re.search(r"^torch==(\S+)$", (ROOT / "deps/wheels.txt").read_text(), re.MULTILINE)[1]
    git = subprocess.run(["git", "-C", ROOT, "rev-parse", "--short", "HEAD"], capture_output=True, text=True)
    manifest = {"commit": git.stdout.strip(), "torch": torch, "glibc": os.confstr("CS_GNU_LIBC_VERSION").split()[1], "programs": programs}
    (stage / "manifest.json").write_text(json.dumps(manifest, indent=1) + "\n")


def tree_bytes() -> int:
    listed = subprocess.run(["git", "-C", ROOT, "ls-files", "-z", "--cached", "--others", "--exclude-standard"], capture_output=True, text=True, check=True)
    return sum(path.stat().st_size for name in listed.stdout.split("\0") if name and (path := ROOT / name).is_file())


def main() -> None:
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    build, out = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
    if not out.name.endswith(".tar.xz"):
        out.mkdir(parents=True)
        return collect(build, out)
    with tempfile.TemporaryDirectory(dir=build, prefix="gpu-day.") as folder:
        stage = pathlib.Path(folder)
        collect(build, stage)
        with tarfile.open(f"{out}.new", "w:xz", preset=6) as archive:
            archive.add(stage, arcname=".", filter=lambda member: member.replace(uid=0, gid=0, uname="root", gname="root", deep=False))
    os.replace(f"{out}.new", out)
    tree, brought = tree_bytes() / 2**20, out.stat().st_size / 2**20
    print(f"{out}: {brought:.1f} MiB; the tree: {tree:.1f} MiB; together {tree + brought:.1f} of {LIMIT_MIB}")
    if tree + brought > LIMIT_MIB:
        sys.exit(f"bring.py: more than {LIMIT_MIB} MiB; what can stay behind?")


if __name__ == "__main__":
    main()
