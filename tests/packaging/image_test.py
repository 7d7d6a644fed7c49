#!/usr/bin/env python3
"""The image of `make image`, from the Debian package of `make deb`: image_test.py BUILD. Unpacked as a runtime for containers does it, and entered
as a user who owns nothing. Exit 77 without root, or where Debian's packages are not to be had."""

import json
import os
import pathlib
import shutil
import sys
import tarfile
import tempfile

from lib.checks import check
from lib.runs import ROOT, output

LIMIT_MB = 600
NOBODY = 65534


def main(build: str) -> None:
    if os.geteuid() != 0:
        print("this test wants root, for a file system of its own")
        sys.exit(77)
    if missing := [tool for tool in ("dpkg-shlibdeps", "mmdebstrap", "umoci", "bwrap") if shutil.which(tool) is None]:
        print(f"no {', '.join(missing)}: deps/get.sh packaging")
        sys.exit(77)
    with tempfile.TemporaryDirectory(prefix="linac-image-") as name:
        folder = pathlib.Path(name)
        folder.chmod(0o755)
        output(ROOT / "packaging/debian.py", build, "--out", folder)
        package = next(folder.glob("linac_*.deb"))
        said = output("dpkg-deb", "--info", package)
        check("libhdf5" in said and "torch" not in said.split("Depends:")[1].split("\n")[0], "the package depends on Debian's libraries, and brings its own")
        output(ROOT / "packaging/image.py", "--out", folder)
        image = next(folder.glob("*-oci.tar"))
        check(image.stat().st_size < LIMIT_MB * 1e6, f"{image.stat().st_size / 1e6:.0f} MB, at most {LIMIT_MB}")
        (layout := folder / "layout").mkdir()
        with tarfile.open(image) as tar:
            tar.extractall(layout)
        tag = json.loads((layout / "index.json").read_text())["manifests"][0]["annotations"]["org.opencontainers.image.ref.name"]
        output("umoci", "unpack", "--image", f"{layout}:{tag}", folder / "bundle")
        (folder / "bundle").chmod(0o755)
        config = json.loads((folder / "bundle/config.json").read_text())
        check(config["process"]["args"][0] == "linac", "what it starts is linac")
        root = folder / "bundle/rootfs"
        (work := folder / "work").mkdir()
        os.chown(work, NOBODY, NOBODY)
        inside = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "bwrap", "--unshare-all", "--ro-bind", root, "/", "--proc", "/proc", "--dev", "/dev",
                  "--tmpfs", "/dev/shm", "--tmpfs", "/tmp", "--bind", work, "/mnt", "--clearenv", "--chdir", "/usr/share/linac"]
        for variable in config["process"]["env"]:
            key, value = variable.split("=", 1)
            inside += ["--setenv", key, value]
        inside += ["--setenv", "HOME", "/tmp", "linac"]
        check("linac" in output(*inside, "version"), "it starts, with nothing to write to")
        output(*inside, "train", "examples/topology.yaml", "--out", "/mnt/a", "--workers", "2", "--set", "train.epochs=1", "--set", "train.steps_per_epoch=3")
        output(*inside, "report", "/mnt/a")
        check((work / "a/models/model.keras").exists(), "and trains, as a user who owns nothing there")


if __name__ == "__main__":
    main(sys.argv[1])
