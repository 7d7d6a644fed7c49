#!/usr/bin/env python3
"""The wheel of the package `linac` with the program and all its libraries, LibTorch and Arrow among them: linac-VERSION-py3-none-manylinux_2_34_x86_64.whl.

  packaging/wheel.py BUILD [--out FOLDER]     BUILD: build/release
  packaging/wheel.py --bare [--out FOLDER]    the package alone, which takes the program that LINAC or PATH names

The program is a process of its own with libraries of its own, so neither another LibTorch or Arrow of the environment nor another version of Python
matters to it. It wants glibc 2.34 and libgcc, as the archive does (archive.py)."""

import argparse
import base64
import hashlib
import pathlib
import shutil
import tempfile
import zipfile

import archive
import stage

PACKAGE = stage.ROOT / "python"
METADATA = """Metadata-Version: 2.1
Name: linac
Version: {version}
Summary: Trains networks of high-energy physics on any number of workers, with the same bits
License: Apache-2.0
Requires-Python: >=3.10
Requires-Dist: numpy
Requires-Dist: pandas
Requires-Dist: pyarrow
Provides-Extra: keras
Requires-Dist: keras>=3; extra == "keras"
Provides-Extra: awkward
Requires-Dist: awkward>=2.6; extra == "awkward"
Provides-Extra: torch
Requires-Dist: torch==2.11.*; extra == "torch"
Provides-Extra: lightning
Requires-Dist: lightning>=2; extra == "lightning"
Provides-Extra: showers
Requires-Dist: h5py; extra == "showers"
Provides-Extra: sklearn
Requires-Dist: keras>=3; extra == "sklearn"
Requires-Dist: scikit-learn>=1.6; extra == "sklearn"
"""
WHEEL = """Wheel-Version: 1.0
Generator: packaging/wheel.py
Root-Is-Purelib: {pure}
Tag: {tag}
"""
ENTRY_POINTS = """[console_scripts]
linac = linac.__main__:main
"""


def add_package(folder: pathlib.Path) -> None:
    shutil.copytree(PACKAGE / "linac", folder / "linac", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(PACKAGE / "linac_keras.py", folder)


def add_about(folder: pathlib.Path, tag: str, originals: list[pathlib.Path]) -> str:
    about = folder / f"linac-{stage.VERSION}.dist-info"
    stage.add_licences(about / "licenses", originals)
    (about / "METADATA").write_text(METADATA.format(version=stage.VERSION))
    (about / "WHEEL").write_text(WHEEL.format(tag=tag, pure=str(tag.endswith("any")).lower()))
    (about / "entry_points.txt").write_text(ENTRY_POINTS)
    return about.name


def pack(folder: pathlib.Path, about: str, wheel: pathlib.Path) -> None:
    """The files with their record, by name and with one date, so that the same sources make the same wheel."""
    date = (1980, 1, 1, 0, 0, 0)
    record = ""
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as file:
        # What is about the wheel comes last, where tools look for it without reading the rest.
        for path in sorted(folder.rglob("*"), key=lambda path: (about in path.parts, path)):
            if path.is_file():
                name, content = path.relative_to(folder).as_posix(), path.read_bytes()
                entry = zipfile.ZipInfo(name, date)
                entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, (0o100000 | path.stat().st_mode & 0o755) << 16
                file.writestr(entry, content)
                digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
                record += f"{name},sha256={digest},{len(content)}\n"
        entry = zipfile.ZipInfo(f"{about}/RECORD", date)
        entry.external_attr = 0o100644 << 16
        file.writestr(entry, record + f"{about}/RECORD,,\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path, nargs="?")
    parser.add_argument("--bare", action="store_true")
    parser.add_argument("--out", type=pathlib.Path, default=stage.ROOT / "build/packages")
    options = parser.parse_args()
    if options.bare == (options.build is not None):
        parser.error("either a build, or --bare")
    out = options.out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    tag = "py3-none-any" if options.bare else "py3-none-manylinux_{}_{}_x86_64".format(*archive.GLIBC)
    with tempfile.TemporaryDirectory(dir=out, prefix="wheel.") as name:
        folder = pathlib.Path(name) / "files"
        add_package(folder)
        originals = []
        if not options.bare:
            originals = archive.install_with_libraries(options.build, folder / "linac/program")
            shutil.rmtree(folder / "linac/program/lib/linac/python")  # this package
        about = add_about(folder, tag, originals)
        made = pathlib.Path(name) / f"linac-{stage.VERSION}-{tag}.whl"
        pack(folder, about, made)
        made.replace(out / made.name)
    print(f"{out / made.name}: {(out / made.name).stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
