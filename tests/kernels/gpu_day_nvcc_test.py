"""`make gpu-day` with the real nvcc, rehearsed without a GPU: gpu_day_nvcc_test.py BUILD

The kernels compile without a warning, all programs link with them as a host without network links them
and come as far as the missing GPU, two workers have the bits of one, and a kernel that does not compile is told in nvcc's words. Skipped without
nvcc: tests/servers/get.sh nvcc."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from lib import skips  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOOLKIT = pathlib.Path(os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache"), "linac-servers/cuda/nvidia/cu13")
KERNELS = ROOT / "src/linac/model/kernels/cuda"


def day(folder: pathlib.Path, parts: str, *arguments: object, status: int) -> str:
    command = [sys.executable, ROOT / "bench/gpu_day/day.py", "--rehearse", "--out", folder / "out", "--work", folder / "work", "--brought", folder / "brought",
               "--parts", parts, "--python", "python-of-nobody", "--seconds", "build=600,bits=600", *arguments]
    done = subprocess.run(command, env={**os.environ, "CUDA_HOME": str(TOOLKIT)}, capture_output=True, text=True)
    log = folder / "out/logs/build.log"
    said = f"{done.stdout}{done.stderr}{log.read_text() if log.exists() else ''}"
    # PyTorch is missing here, and told: LibTorch alone is linked.
    assert done.returncode == 1 and "| host | failed | 0 | missing: no PyTorch with numpy" in done.stdout, said
    rest = [line for line in done.stdout.splitlines() if line.startswith("| ") and "| failed |" in line and not line.startswith("| host")]
    assert bool(rest) == bool(status), said
    return said


def main() -> None:
    build = pathlib.Path(sys.argv[1]).resolve()
    if not (TOOLKIT / "bin/nvcc").exists():
        skips.skip("no nvcc", "tests/servers/get.sh nvcc")
    with tempfile.TemporaryDirectory(prefix="linac-gpu-day-") as name:
        folder = pathlib.Path(name)
        subprocess.run([sys.executable, ROOT / "bench/gpu_day/bring.py", build, folder / "brought"], check=True)
        said = day(folder, "build,nn,devices,bits", status=0)
        count = len(list(KERNELS.glob("*.cu")))
        for words in (f"| build | passed | ", f"{count} files of kernels for sm_90, 4 programs", "| nn | left out", "[cuda] no GPU can be used", "| devices | left out",
                      "0 CUDA devices", "| bits | passed", "two workers: the same bits"):
            assert words in said, f"not told: {words}\n{said}"
        assert "warning" not in said, said

        shutil.copytree(KERNELS, folder / "kernels")
        for path in (folder / "kernels").glob("*.cu"):
            if path.name != "device.cu":
                path.unlink()
        text = (folder / "kernels/device.cu").read_text()
        assert "cudaGetDeviceCount(&count)" in text
        (folder / "kernels/device.cu").write_text(text.replace("cudaGetDeviceCount(&count)", "cudaGetDeviceCount(&counted)", 1))
        said = day(folder, "build,nn", "--kernels", folder / "kernels", status=1)
        for words in ("| build | failed | ", 'error: identifier "counted" is undefined', "| nn | left out | 0 | there is no nn_test"):
            assert words in said, f"not told: {words}\n{said}"
    print("the CUDA path compiles, links and starts")


main()
