#!/usr/bin/env python3
"""One archive with all libraries, to be unpacked anywhere: linac-VERSION-x86_64.tar.gz.

  packaging/archive.py BUILD [--out FOLDER]     BUILD: build/release

It wants Linux on x86-64 with glibc 2.34 (AlmaLinux 9) and libgcc: what belongs to the C library stays the host's. Libraries of Debian 12 that
want a newer one are told to do without (elf.forget), and get what they miss from glibc_shim.c. A symbol that neither has ends this with an
error."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

import elf
import stage

GLIBC = (2, 34)
# Of the C library, which goes with the kernel and the loader, and of GCC: these two must be the host's own.
HOSTS = re.compile(r"(ld-linux-x86-64|lib(c|m|dl|rt|pthread|resolv|util|nsl|anl|mvec|gcc_s))\.so\.\d+")
SHIM = "liblinac_glibc.so"
OLDER_DO = {"hypot", "hypotf"}  # their older versions set errno as well, and glibc 2.34 has them under the same names
# XRootD's client finds its ways to say who one is beside itself, by name.
XROOTD_PLUGINS = "libXrdSec*.so"
FONTS = ("DejaVuSans.ttf", "DejaVuSans-Bold.ttf")
FONTS_CONF = """<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
  <include ignore_missing="yes">/etc/fonts/fonts.conf</include>
  <dir prefix="relative">.</dir>
  <cachedir prefix="xdg">fontconfig</cachedir>
</fontconfig>
"""
README = """linac {version}, for Linux on x86-64 with glibc {glibc} or newer (AlmaLinux 9, Debian 12).

  bin/linac check examples/topology.yaml              # from this folder
  bin/linac train examples/topology.yaml --out runs/a

The folder may lie anywhere, also on a shared file system; put its bin/ into PATH.
"""


def bundle(prefix: pathlib.Path, system: pathlib.Path) -> list[pathlib.Path]:
    """Copies what the programs and libraries in `prefix` want of this machine into `system`. Returns the originals."""
    own = [path for path in prefix.rglob("*") if elf.is_elf(path)]
    names = {path.name for path in own}
    copied = {}
    system.mkdir(parents=True)
    todo = list(own) + sorted(pathlib.Path("/usr/lib/x86_64-linux-gnu").glob(XROOTD_PLUGINS))
    for plugin in todo[len(own):]:
        copied[plugin.name] = plugin
    for path in todo:
        for name, place in elf.libraries(path).items():
            if place is None:
                if name not in names:
                    sys.exit(f"{path}: wants {name}, which is not on this machine")
            elif name not in names and not HOSTS.fullmatch(name):
                copied.setdefault(name, place)
    for name, place in copied.items():
        shutil.copy(place, system / name)
        (system / name).chmod(0o755)
    return list(copied.values())


def loosen(prefix: pathlib.Path, system: pathlib.Path) -> None:
    """Every file finds its libraries by its own place, and takes an older C library."""
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-Wl,-soname," + SHIM, pathlib.Path(__file__).with_name("glibc_shim.c"), "-o", system / SHIM], check=True)
    given = {line.split()[-1] for line in elf.output("nm", "-D", "--defined-only", system / SHIM).splitlines()}
    for path in sorted(prefix.rglob("*")):
        if not elf.is_elf(path) or path.name == SHIM:
            continue
        to_system = os.path.relpath(system, path.parent)
        rpath = [word for word in elf.output("patchelf", "--print-rpath", path).strip().split(":") if word.startswith("$ORIGIN")]
        rpath.append("$ORIGIN" if to_system == "." else f"$ORIGIN/{to_system}")
        # One change at a time: patchelf 0.14 mixes up the strings of several. An RPATH comes before LD_LIBRARY_PATH, where another LibTorch may lie.
        subprocess.run(["patchelf", "--force-rpath", "--set-rpath", ":".join(dict.fromkeys(rpath)), path], check=True)
        beyond = elf.glibc_beyond(path, GLIBC)
        for name in beyond:
            if name not in given and name not in OLDER_DO:
                sys.exit(f"{path}: wants {name} of {beyond[name]}; give it in glibc_shim.c")
        if given.intersection(beyond):
            subprocess.run(["patchelf", "--add-needed", SHIM, path], check=True)
        if beyond:
            elf.forget(path, set(beyond.values()))


def install_with_libraries(build: pathlib.Path, prefix: pathlib.Path) -> list[pathlib.Path]:
    """The program, all that it wants of this machine and fonts, in a folder that may lie anywhere. Returns whose copies are in it."""
    stage.install(build, prefix, "runtime")
    system = prefix / "lib/linac/system"
    originals = bundle(prefix, system)
    loosen(prefix, system)
    fonts = prefix / "share/linac/fonts"
    fonts.mkdir(parents=True)
    for font in FONTS:
        shutil.copy(f"/usr/share/fonts/truetype/dejavu/{font}", fonts)
    (fonts / "fonts.conf").write_text(FONTS_CONF)
    return originals


def main() -> None:
    options = stage.arguments(__doc__, build=True)
    name = f"linac-{stage.VERSION}-x86_64"
    with tempfile.TemporaryDirectory(dir=options.out, prefix="archive.") as folder:
        prefix = pathlib.Path(folder) / name
        originals = install_with_libraries(options.build, prefix)
        stage.add_examples(prefix)
        stage.add_licences(prefix / "share/doc/linac", originals)
        (prefix / "README").write_text(README.format(version=stage.VERSION, glibc=".".join(map(str, GLIBC))))
        made = pathlib.Path(folder) / f"{name}.tar.gz"
        subprocess.run(["tar", "--sort=name", "--owner=0", "--group=0", "--numeric-owner", f"--mtime=@{source_date()}", "-C", folder,
                        "--use-compress-program=pigz -n -6", "-cf", made, name], check=True)
        made.rename(options.out / made.name)
    print(f"{options.out / made.name}: {(options.out / made.name).stat().st_size / 1e6:.0f} MB")


def source_date() -> int:
    """Of the last commit, so that the same sources make the same archive."""
    try:
        return int(elf.output("git", "-C", stage.ROOT, "log", "-1", "--format=%ct"))
    except (subprocess.CalledProcessError, FileNotFoundError):
        return int(time.time())


if __name__ == "__main__":
    main()
