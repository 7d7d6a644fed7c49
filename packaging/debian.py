#!/usr/bin/env python3
"""Debian packages: linac_VERSION_amd64.deb, the program, and linac-dev_VERSION_amd64.deb, what plug-ins are built with.

  packaging/debian.py BUILD [--out FOLDER]     BUILD: build/release

For the Debian on which it runs: what it depends on is found by dpkg-shlibdeps. LibTorch and Arrow, which Debian does not have, come along in
/usr/lib/linac."""

import pathlib
import shutil
import subprocess
import tempfile

import elf
import stage

ABOUT = {
    "linac": ("trains networks of high-energy physics on any number of machines",
              "Trains the 3DGAN, the Inclusive Classifier and any Keras model from HDF5, TFRecord,\n Parquet and ROOT files, on one machine or many, with the same result."),
    "linac-dev": ("what plug-ins of linac are built with", "The header of plug-ins, LibTorch's headers and a package for CMake."),
}


def depends(prefix: pathlib.Path, folder: pathlib.Path) -> str:
    """What dpkg-shlibdeps finds for the files in `prefix`; `folder` is for its own."""
    (folder / "debian").mkdir()
    (folder / "debian/control").write_text("Source: linac\nMaintainer: none <none@localhost>\n\nPackage: linac\nArchitecture: any\n")
    files = [path for path in prefix.rglob("*") if elf.is_elf(path)]
    own = sorted({path.parent for path in files})
    words = ["dpkg-shlibdeps", "-O", "--ignore-missing-info"] + [f"-l{path}" for path in own] + [f"-e{path}" for path in files]
    done = subprocess.run([str(word) for word in words], cwd=folder, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"dpkg-shlibdeps: {done.stderr[-2000:]}")
    return done.stdout.strip().removeprefix("shlibs:Depends=")


def build(name: str, prefix: pathlib.Path, relations: str, out: pathlib.Path) -> pathlib.Path:
    """`prefix` holds the tree of files, as below /."""
    short, long = ABOUT[name]
    size = sum(path.lstat().st_size for path in prefix.rglob("*") if path.is_file()) // 1024
    (prefix / "DEBIAN").mkdir()
    (prefix / "DEBIAN/control").write_text(
        f"Package: {name}\nVersion: {stage.VERSION}\nArchitecture: amd64\nMaintainer: linac maintainers <linac@localhost>\nInstalled-Size: {size}\n"
        f"Section: science\nPriority: optional\n{relations}Description: {short}\n {long}\n")
    made = out / f"{name}_{stage.VERSION}_amd64.deb"
    subprocess.run(["dpkg-deb", "--root-owner-group", "-Zzstd", "-z12", "--build", prefix, made], check=True, stdout=subprocess.DEVNULL)
    return made


def main() -> None:
    options = stage.arguments(__doc__, build=True)
    with tempfile.TemporaryDirectory(dir=options.out, prefix="debian.") as name:
        folder = pathlib.Path(name)
        folder.chmod(0o755)
        for package, component in (("linac", "runtime"), ("linac-dev", "development")):
            tree = folder / package
            tree.mkdir()
            stage.install(options.build, tree / "usr", component)
            share = tree / "usr/share"
            if package == "linac":
                relations = (f"Depends: {depends(tree, folder)}, ca-certificates, fonts-dejavu-core\n"
                             "Recommends: bubblewrap, xrootd-plugins\nSuggests: postgresql\n")
                stage.add_examples(share / "linac")
                stage.add_licences(share / "doc/linac")
                shutil.copy(stage.ROOT / "LICENSE", share / "doc/linac/copyright")
            else:
                relations = f"Depends: linac (= {stage.VERSION}), g++, cmake\n"
                (share / "doc/linac-dev").mkdir(parents=True)
                shutil.copy(stage.ROOT / "LICENSE", share / "doc/linac-dev/copyright")
            made = build(package, tree, relations, options.out)
            print(f"{made}: {made.stat().st_size / 1e6:.0f} MB")


if __name__ == "__main__":
    main()
