"""How parts of `make gpu-day` end, on a host that is made up: a GPU, nvcc, a PyTorch and linac's programs that do what a case wants.

What its table must tell: a kernel that does not compile, nvcc or PyTorch that are missing, a part that hangs, a disk that is full, tests without
a GPU, each kind of error of a program. A part that fails takes no other along."""

import json
import os
import pathlib
import subprocess
import sys
import tarfile
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench/gpu_day"))
import bits  # noqa: E402
import errors  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
# A program of linac's: SAY_name is what it says and its exit status, "hang" for ever.
PROGRAM = r"""
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <unistd.h>
int main(int, char** arguments) {
  std::string name = std::strrchr(arguments[0], '/') + 1;
  if (name == "linac-compute") return std::puts(R"({"step": {"wall_s": {"min": 0.25, "median": 0.5}}})"), 0;
  const char* say = std::getenv(("SAY_" + name).c_str());
  if (say == nullptr) return std::puts("[       OK ] Cuda.One (1 ms)"), 0;
  std::puts(say), std::fflush(stdout);
  if (std::strstr(say, "hang")) pause();
  if (std::strstr(say, "crash")) std::abort();
  return std::strstr(say, "SKIPPED") ? 0 : 1;
}
"""
NVCC = """#!/bin/sh
[ "$1" != --version ] || { echo "Cuda compilation tools, release 13.0, V13.0.88"; exit; }
case "$*" in *"$BROKEN_KERNEL"*) [ -z "$BROKEN_KERNEL" ] || { echo "src/conv3d.cu(12): error: identifier \\"taps\\" is undefined"; exit 2; } ;; esac
for word; do out=$word; done
cp "$EMPTY_OBJECT" "$out"
"""
# An interpreter with PyTorch, which is also each of its peers.
PYTHON = """#!/bin/sh
[ "$1" != -c ] || { echo "{\\"version\\": \\"${TORCH:-2.11.0}+cu130\\", \\"cuda\\": \\"13.0\\", \\"file\\": \\"$SITE/torch/__init__.py\\"}"; exit; }
case "$*" in *"$BROKEN_MODE"*) [ -z "$BROKEN_MODE" ] || { printf "Traceback:\\n  File error: 1\\ntorch.OutOfMemoryError: CUDA out of memory.\\nSee elsewhere.\\n" >&2; exit 1; } ;; esac
echo ready
while read -r verb what; do echo '{"wall_s": 0.125}'; done
"""
SMI = "#!/bin/sh\necho NVIDIA Made-up, 9.0, 580.1\n"


def executable(path: pathlib.Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)


class Host:
    def __init__(self, folder: pathlib.Path):
        self.folder, self.days = folder, 0
        executable(folder / "cuda/bin/nvcc", NVCC)
        executable(folder / "python", PYTHON)
        executable(folder / "bin/nvidia-smi", SMI)
        (folder / "site/torch/lib").mkdir(parents=True)
        (folder / "site/nvidia/cu13/lib").mkdir(parents=True)
        stage = folder / "stage"
        (stage / "objects").mkdir(parents=True)
        (folder / "program.cpp").write_text(PROGRAM)
        subprocess.run(["g++", "-c", folder / "program.cpp", "-o", stage / "objects/program.o"], check=True)
        subprocess.run(["g++", "-x", "c++", "-c", "/dev/null", "-o", folder / "empty.o"], check=True)
        subprocess.run(["g++", "-shared", folder / "empty.o", "-o", folder / "site/nvidia/cu13/lib/libcudart.so.13"], check=True)
        names = ("kernels_test", "nn_test", "devices_test", "linac-compute")
        torchs = {"nn_test": ["{torch}/libtorch_cpu.so"]}
        subprocess.run(["g++", "-shared", folder / "empty.o", "-o", folder / "site/torch/lib/libtorch_cpu.so"], check=True)
        programs = {name: ["{objects}/program.o", *torchs.get(name, [])] for name in names}
        manifest = {"commit": "abc", "torch": "2.11.0", "glibc": "2.17", "programs": programs}
        (stage / "manifest.json").write_text(json.dumps(manifest))
        with tarfile.open(folder / "brought.tar.xz", "w:xz", preset=0) as archive:
            archive.add(stage, arcname=".")

    def day(self, *arguments: object, status: int = 1, prepare=lambda out: None, until: str = "", **variables: str) -> str:
        """The table as it is printed. Ended by SIGTERM once `until` has been said."""
        self.days += 1
        out = self.folder / f"out{self.days}"
        prepare(out)
        environment = {**os.environ, "CUDA_HOME": str(self.folder / "cuda"), "PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}", "SITE": str(self.folder / "site"),
                       "EMPTY_OBJECT": str(self.folder / "empty.o"), "PYTHON": str(self.folder / "python"), **variables}
        command = [sys.executable, ROOT / "bench/gpu_day/day.py", "--out", out, "--work", self.folder / "work", "--brought", self.folder / "brought.tar.xz"]
        day = subprocess.Popen([*command, *arguments], env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        said = ""
        for line in day.stdout:
            said += line
            if until and until in line:
                day.terminate()
        assert day.wait() == status, f"{arguments} {variables}: exit status {day.returncode}, expected {status}\n{said}"
        assert "Traceback" not in said, said
        table = said.partition("# A day with a GPU")[2]
        written = out / "table.md"
        assert not written.is_file() or written.is_symlink() or written.read_text().partition("# A day with a GPU")[2].strip() in table, "table.md is another table"
        return table


def rows(table: str, *wanted: str) -> None:
    for words in wanted:
        assert words in table, f"not told: {words}\n{table}"


def full(*names: str):
    def prepare(out: pathlib.Path) -> None:
        for name in names:
            (out / name).parent.mkdir(parents=True, exist_ok=True)
            (out / name).symlink_to("/dev/full")

    return prepare


def test_days(host: Host) -> None:
    tests = ["--parts", "build,kernels,nn,devices"]
    rows(host.day(*tests, status=0), "| host | passed", "4 files of kernels for sm_90, 4 programs", "| kernels | passed", "| nn | passed", "| devices | passed")
    rows(host.day("--rehearse", "--parts", "build,3dgan,classifier", status=1, BROKEN_MODE="--mode compile", **{"PATH": os.environ["PATH"]}),
         "| 3dgan | failed", "| memory | 3dgan | PyTorch compile, fp32 failed: torch.OutOfMemoryError: CUDA out of memory. |", "CUDA out of memory.; linac, fp32 500.0 ms, PyTorch eager, fp32 125.0 ms", "| classifier | failed")
    broken = host.day("--rehearse", "--emulated", host.folder / "python", "--parts", "build,nn,3dgan", BROKEN_KERNEL="conv3d")
    rows(broken, "| build | failed", 'build: src/conv3d.cu(12): error: identifier "taps" is undefined', "| nn | left out | 0 | there is no nn_test", "| missing | 3dgan | linac, fp32 failed: left out: no linac-compute, which was not built |")
    assert "PyTorch eager, fp32" in (host.folder / f"out{host.days}/3dgan.md").read_text(), "PyTorch is not measured where linac is not built"
    rows(host.day("--parts", "build,kernels", CUDA_HOME=str(host.folder)), "| missing | host | no nvcc; set CUDA_HOME", "| host | failed")
    rows(host.day(*tests, PYTHON=sys.executable + "-of-nobody"), "no PyTorch with numpy for", "make gpu-day PYTHON=", "| missing | host | no PyTorch", "| kernels | passed", "| nn | left out", "| host | failed")
    rows(host.day("--parts", "build", TORCH="2.12.0"), "| missing | host | PyTorch is 2.12.0+cu130, and linac was compiled for 2.11.0")
    rows(host.day("--parts", "build,kernels,nn,devices", "--seconds", "kernels=1", SAY_kernels_test="[ RUN      ] Cuda.Waits hang"), "| kernels | failed | 1 |",
         "| time | kernels | not at its end after 1 s; its last word: [ RUN      ] Cuda.Waits hang", "| nn | passed", "| devices | passed")
    rows(host.day("--parts", "build,kernels,nn", prepare=full("logs/kernels.log")), "| kernels | passed", "| nn | passed", "| disk | logs/kernels.log |", "No space left on device")
    rows(host.day("--parts", "build,kernels", prepare=full("table.md", "logs/build.log")), "| kernels | passed", "| disk | table.md |")
    skipped = "cuda_test.cpp:1: Skipped\n[cuda] no GPU can be used\n\n[  SKIPPED ] Cuda.One (0 ms)"
    rows(host.day(*tests, SAY_nn_test=skipped, SAY_kernels_test="a.cpp:1: Failure\nout is far\n[  FAILED  ]", SAY_devices_test="crash"),
         "| load | nn | cuda_test.cpp:1: Skipped [cuda] no GPU can be used |", "| numbers | kernels | a.cpp:1: Failure out is far |", "| crash | devices | ended by SIGABRT |")
    rows(host.day(*tests, until="build: passed", SAY_kernels_test="hang"), "| build | passed", "| end | day | ended from outside before its end |")
    rows(host.day("--minutes", "0.3", status=0), "| build | left out | 0 | no time")
    archive = host.folder / "brought.tar.xz"
    archive.write_bytes(archive.read_bytes()[:900])
    rows(host.day(*tests), "cannot be unpacked", "| build | left out", "| nn | left out")
    archive.unlink()
    rows(host.day(*tests), "all of linac but its CUDA half; run make gpu-day-bring", "| build | left out")


def test_errors() -> None:
    said = {
        "disk": "ld: final link failed: No space left on device",
        "memory": "[cuda] memory: out of memory",
        "load": "nn_test: error while loading shared libraries: libcudart.so.13: cannot open shared object file",
        "kernel": "[cuda] waiting: an illegal memory access was encountered",
        "build": "ptxas error : Entry function 'conv' uses too much shared data",
        "numbers": "two workers: DIFFERS from one worker: other bits from step 1 on",
    }
    for kind, line in said.items():
        found = errors.errors_of(["round 1: 3 ms", line, line + " again"], 1)
        assert found == {kind: line}, f"{line}: {found}, expected {kind}"
    assert errors.errors_of(list(said.values()), 1) == said
    assert errors.errors_of(["last word", ""], 3) == {"end": "exit status 3: last word"}
    thrown = ["unknown file: Failure", 'C++ exception with description "[devices] GPU 0 (Made-up): [cuda] adding: unknown error" thrown in the test body.', "", "[  FAILED  ] A"]
    assert list(errors.errors_of(thrown, 1)) == ["kernel"]
    assert errors.errors_of(["PyTorch eager failed: it went away", f"{errors.QUOTED}ptxas error : no", "TOLD nothing"], 1) == {"end": "PyTorch eager failed: it went away"}
    assert list(errors.errors_of([], -9)) == ["memory"]


def test_bits() -> None:
    def steps(*totals: float) -> list[dict]:
        return [{"global_step": at + 1, "loss": {"g": {"total": 7.0}, "d_real": {"total": total}}} for at, total in enumerate(totals)]

    one = steps(10, 12)
    assert bits.compared(one, steps(10, 12), True) == ("the same bits", True)
    assert bits.compared(one, steps(10, 12), False) == ("the same losses, other weights", True)
    assert bits.compared(one, steps(10, 15), False) == ("other losses from step 2 on, by 2.0e-01 there and 2.0e-01 at the end", True)
    for far in (steps(10.5, 12), steps(float("nan"), 12), steps(float("inf"), 12), steps(10)):
        assert not bits.compared(one, far, False)[1], far


def main() -> None:
    test_bits()
    test_errors()
    with tempfile.TemporaryDirectory(prefix="linac-gpu-day-") as folder:
        test_days(Host(pathlib.Path(folder)))
    print("all days end as they must")


main()
