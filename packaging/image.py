#!/usr/bin/env python3
"""An image for containers, made of Debian packages alone and without a daemon: linac-VERSION-oci.tar, an OCI archive.

  packaging/image.py [--out FOLDER]     after packaging/debian.py with the same FOLDER

  podman load < linac-VERSION-oci.tar                     # or skopeo copy oci-archive:...
  apptainer build linac.sif oci-archive://linac-VERSION-oci.tar

mmdebstrap makes the tree from the archive of packages that this machine uses, umoci the image. Runs as any user: nothing in it wants to be
written."""

import pathlib
import subprocess
import sys
import tempfile

import stage

# What a container never needs of a Debian system.
LEFT_OUT = ["/usr/share/man/*", "/usr/share/info/*", "/usr/share/locale/*", "/usr/share/doc/*", "/var/lib/apt/lists/*", "/var/cache/apt/*"]
KEPT = ["/usr/share/doc/*/copyright", "/usr/share/doc/linac/*"]
ENVIRONMENT = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8"}


def tree(package: pathlib.Path, to: pathlib.Path) -> None:
    words = ["mmdebstrap", "--quiet", "--variant=essential", "--include=" + str(package.resolve()), "--include=bubblewrap,openssh-client,xrootd-plugins"]
    words += [f"--dpkgopt=path-exclude={path}" for path in LEFT_OUT] + [f"--dpkgopt=path-include={path}" for path in KEPT]
    # apt reads the package from this machine, as its user in the new tree cannot.
    words += ["--hook-dir=/usr/share/mmdebstrap/hooks/file-mirror-automount", "--aptopt=APT::Sandbox::User \"root\"", "bookworm", str(to)]
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"mmdebstrap: exit status {done.returncode}\n{done.stderr[-4000:]}")


def image(root: pathlib.Path, folder: pathlib.Path, made: pathlib.Path) -> None:
    layout = folder / "layout"
    name = f"{layout}:{stage.VERSION}"

    def umoci(*words: object) -> None:
        subprocess.run(["umoci", "--log=error", *[str(word) for word in words]], check=True)

    umoci("init", "--layout", layout)
    umoci("new", "--image", name)
    umoci("insert", "--image", name, root, "/")
    config = [f"--config.env={key}={value}" for key, value in ENVIRONMENT.items()]
    umoci("config", "--image", name, "--config.entrypoint=linac", "--config.workingdir=/", *config)
    umoci("gc", "--layout", layout)
    subprocess.run(["tar", "--sort=name", "-C", layout, "-cf", made, "."], check=True)


def main() -> None:
    options = stage.arguments(__doc__, build=False)
    package = options.out / f"linac_{stage.VERSION}_amd64.deb"
    if not package.exists():
        sys.exit(f"{package}: not there; make deb")
    made = options.out / f"linac-{stage.VERSION}-oci.tar"
    with tempfile.TemporaryDirectory(dir=options.out, prefix="image.") as name:
        folder = pathlib.Path(name)
        folder.chmod(0o755)
        tree(package, folder / "root")
        image(folder / "root", folder, folder / made.name)
        (folder / made.name).rename(made)
    print(f"{made}: {made.stat().st_size / 1e6:.0f} MB")


if __name__ == "__main__":
    main()
