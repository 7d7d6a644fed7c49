"""What goes into every package: the installed program, and for whoever looks around: examples, data, a model, licences."""

import argparse
import pathlib
import shutil
import subprocess

from elf import is_elf

ROOT = pathlib.Path(__file__).resolve().parent.parent
VERSION = (ROOT / "VERSION").read_text().strip()


def arguments(about: str, build: bool) -> argparse.Namespace:
    """`out`, a folder that is there, and `build` where a package is made of one."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    if build:
        parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "build/packages")
    options = parser.parse_args()
    options.out = options.out.resolve()
    options.out.mkdir(parents=True, exist_ok=True)
    return options


def install(build: pathlib.Path, prefix: pathlib.Path, component: str) -> None:
    subprocess.run(["cmake", "--install", build, "--prefix", prefix, "--component", component, "--strip"], check=True, stdout=subprocess.DEVNULL)
    for path in prefix.rglob("*.so*"):  # those of the wheels are files to CMake
        if is_elf(path):
            subprocess.run(["strip", "--strip-unneeded", path], check=True)


def add_examples(folder: pathlib.Path) -> None:
    for name in ("examples", "data", "models"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))


def add_licences(folder: pathlib.Path, libraries: list[pathlib.Path] = []) -> None:
    """linac's, those of the wheels, and of the Debian packages that `libraries` are from."""
    folder.mkdir(parents=True)
    shutil.copy(ROOT / "LICENSE", folder / "LICENSE")
    for found in sorted((ROOT / "deps/prefix").glob("*.dist-info/licenses")):
        shutil.copytree(found, folder / found.parent.name.split("-")[0])
    for package in sorted({package_of(path.resolve()) for path in libraries}):
        shutil.copy(f"/usr/share/doc/{package}/copyright", folder / f"{package}.copyright")


def package_of(path: pathlib.Path) -> str:
    """The Debian package that has the file, under its path or that from before /lib became a link."""
    names = [str(path), str(path).removeprefix("/usr")]
    done = subprocess.run(["dpkg-query", "--search", *names], capture_output=True, text=True)
    if not done.stdout:
        raise SystemExit(f"{path}: of no Debian package, so its licence is not known")
    return done.stdout.split(":")[0]
