#!/usr/bin/env python3
"""The Python package, installed from its wheel into an environment of its own:

  python_test.py              the package alone, with the program that LINAC names: its tests in python/tests
  python_test.py --long       those of them that take minutes
  python_test.py --wheel BUILD   the wheel with the program, in an empty environment: installed without a network, beside another LibTorch, removed

To be run by the Python of the peers, whose packages the tests see."""

import pathlib
import shutil
import subprocess
import sys
import sysconfig
import tempfile

from lib import skips
from lib.checks import check
from lib.runs import ROOT, environment, output
from lib.servers.versitygw import Versitygw

PYTHON_TESTS = ROOT / "python/tests"
TORCH = ROOT / "build/bench-peers"
LONG = ("test_loader.py", "test_models.py", "test_remote.py", "test_sklearn.py")


class Environment:
    """A virtual environment, empty or with the packages of this one to be seen."""

    def __init__(self, folder: pathlib.Path, peers: bool):
        output(sys.executable, "-m", "venv", "--without-pip", folder)
        self.python = folder / "bin/python"
        self.site, = folder.glob("lib/python3*/site-packages")
        if peers:
            torch = TORCH.glob("lib/python3*/site-packages")  # behind the others, whose versions count
            (self.site / "peers.pth").write_text("\n".join([sysconfig.get_path("purelib"), *map(str, torch)]))
        self.files = self.all_files(folder)
        self.folder = folder

    def pip(self, *words: object) -> str:
        return output(sys.executable, "-m", "pip", "--python", self.python, *words, env=environment(PIP_NO_INDEX="1", PIP_DISABLE_PIP_VERSION_CHECK="1"))

    def all_files(self, folder: pathlib.Path) -> set[str]:
        return {str(path.relative_to(folder)) for path in folder.rglob("*")}

    def removed(self) -> None:
        self.pip("uninstall", "--yes", "linac")
        left = {name for name in self.all_files(self.folder) - self.files if "__pycache__" not in name}
        check(not left, f"what is uninstalled leaves nothing {sorted(left)[:5]}")


def tests_of_the_package(folder: pathlib.Path, long: bool) -> None:
    output(ROOT / "packaging/wheel.py", "--bare", "--out", folder)
    wheel, = folder.glob("*.whl")
    there = Environment(folder / "environment", peers=True)
    there.pip("install", wheel)
    variables = environment(LINAC_CACHE=str(folder / "cache"), **({"LINAC_LONG": "1"} if long else {}))
    variables.pop("PYTHONPATH", None)
    found = output(there.python, "-c", "import linac; print(linac.__file__)", cwd=folder, env=variables)
    check(found.startswith(str(there.site)), "the package is that of the wheel")
    words = [there.python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-W", "ignore", "--basetemp", folder / "tests"]
    words += [PYTHON_TESTS / name for name in LONG] if long else [PYTHON_TESTS, *(f"--ignore={PYTHON_TESTS / name}" for name in LONG)]
    done = subprocess.run([*map(str, words)], env=variables, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    print(done.stdout[-20000:])
    other_peers = (("torch", "tensors of torch"), ("jax", "tensors of jax")) if long else (("torch", "modules of PyTorch"), ("lightning", "Lightning's logger"))
    for package, what in other_peers:
        if subprocess.run([str(there.python), "-c", f"import {package}"], env=variables, cwd=folder, stderr=subprocess.DEVNULL).returncode != 0:
            skips.skipped(what, f"{package} is not installed", f"bench/peers/setup.sh build/bench-peers {package}")
    if long and not Versitygw.available():
        skips.skipped("events at a store", "versitygw is not installed", "tests/servers/get.sh versitygw")
    check(done.returncode == 0, "the tests of the package pass")
    there.removed()
    if long:
        return
    output(ROOT / "packaging/job_types.py", "--check")
    check(True, "the types of the job are those of its settings")
    if shutil.which("mypy") is None:
        skips.skipped("mypy", "it is not in PATH", "pip install mypy")
    else:
        check("Success" in output("mypy", "--config-file", "python/mypy.ini", "python/linac", cwd=ROOT), "mypy, strict, finds nothing")


def wheel_with_the_program(build: str, folder: pathlib.Path) -> None:
    if shutil.which("patchelf") is None:
        skips.skip("no patchelf", "deps/get.sh packaging")
    output(ROOT / "packaging/wheel.py", build, "--out", folder)
    wheel, = folder.glob("*.whl")
    there = Environment(folder / "environment", peers=False)
    there.pip("install", "--no-deps", wheel)
    # Libraries of the names that the program wants, with nothing in them, where the loader would look first, and a torch that is broken.
    planted = folder / "planted"
    planted.mkdir()
    for name in ("libtorch_cpu.so", "libc10.so", "libarrow.so.2600", "libparquet.so.2600"):
        output("cc", "-shared", "-fPIC", "-x", "c", "/dev/null", "-o", planted / name)
    (there.site / "torch.py").write_text("raise ImportError('another torch')\n")
    variables = {"LD_LIBRARY_PATH": str(planted), "LINAC_CACHE": str(folder / "cache")}
    kept = {name: value for name, value in environment(**variables).items() if name not in ("LINAC", "PYTHONPATH")}

    def run(*words: object) -> str:
        return output(*words, cwd=folder, env=kept)

    check("2.11" in run(there.python, "-m", "linac", "version"), "the program starts beside another LibTorch")
    data = f'data: {{train: [{ROOT}/data/topology-train.parquet], inputs: [{{name: hlf_input, column: HLF_input}}], targets: [{{column: encoded_label}}]}}'
    (folder / "job.yaml").write_text("model: {kind: inclusive_classifier, variant: hlf}\n" + data.replace("hlf_input", "HLF_input") + "\ntrain: {epochs: 1, fit: {loss: categorical_crossentropy}}\n")
    run(folder / "environment/bin/linac", "train", "job.yaml", "--out", "run", "--workers", "2")
    script = "import linac; run = linac.train('job.yaml', workers=2).wait(); print(run.status, linac.__version__)"
    check((ROOT / "VERSION").read_text().strip() in run(there.python, "-c", script), "trains, from a shell and from Python")
    (there.site / "torch.py").unlink()
    there.removed()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="linac-python-") as name:
        if sys.argv[1:2] == ["--wheel"]:
            wheel_with_the_program(sys.argv[2], pathlib.Path(name))
        else:
            tests_of_the_package(pathlib.Path(name), long=sys.argv[1:] == ["--long"])
