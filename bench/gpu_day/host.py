"""What this host has of what the day wants, and how the rest is brought. Nothing is changed."""

import json
import os
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
ASK_TORCH = """import json, sys, torch, numpy
print(json.dumps({"version": torch.__version__, "cuda": torch.version.cuda, "file": torch.__file__}))"""
LIMIT_S = 120


def output(*command: object) -> str:
    """What it prints; an empty text where it fails or is not there."""
    try:
        return subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=LIMIT_S, check=True).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return ""


def find_nvcc() -> pathlib.Path | None:
    """Where cmake/cuda.cmake looks; CUDA_HOME, where it is set, has the last word."""
    home, on_path = os.environ.get("CUDA_HOME"), shutil.which("nvcc")
    places = [f"{home}/bin/nvcc"] if home else [on_path, ROOT / "deps/prefix/nvidia/cu13/bin/nvcc", "/usr/local/cuda/bin/nvcc"]
    return next((pathlib.Path(path).resolve() for path in places if path and os.access(path, os.X_OK)), None)


def look(brought: pathlib.Path, manifest: dict, python: str, rehearse: bool) -> tuple[dict, list[str], list[str]]:
    """What the parts need to know; what is there, in words; what is missing, each with its way out."""
    found, there, missing = {"python": python, "commit": manifest.get("commit", "")}, [], []

    def need(what: str, is_there: object, way_out: str) -> None:
        there.append(f"{what}: {is_there}") if is_there else missing.append(f"no {what}; {way_out}")

    gpus = [line.split(", ") for line in output("nvidia-smi", "--query-gpu=name,compute_cap,driver_version", "--format=csv,noheader").splitlines()]
    found["gpus"] = [gpu[0] for gpu in gpus]
    found["architectures"] = sorted({gpu[1].replace(".", "") for gpu in gpus if len(gpu) == 3}) or ["90"]
    if not rehearse or gpus:
        need("GPU", ", ".join(" ".join(gpu) for gpu in gpus), "nvidia-smi lists none: look at the driver, or at CUDA_VISIBLE_DEVICES; REHEARSE=1 goes without")
    need("g++", (output("g++", "--version").splitlines() or [""])[0], "it links the programs and nvcc calls it: the system's package g++")
    nvcc = find_nvcc()
    release = next((line for line in output(nvcc, "--version").splitlines() if "release" in line), "") if nvcc else ""
    found["nvcc"] = str(nvcc) if nvcc else ""
    need("nvcc", f"{nvcc}, {release}" if nvcc else "", "set CUDA_HOME to a toolkit of CUDA 13, or bring the wheels of deps/wheels-cuda.txt (LINAC_CUDA=1 deps/get.sh)")
    asked = output(python, "-c", ASK_TORCH)
    torch = json.loads(asked) if asked else {}
    if torch:
        site = pathlib.Path(torch["file"]).parents[1]
        found["torch"] = str(site / "torch/lib")
        wanted = manifest.get("torch", torch["version"].split("+")[0])
        if torch["version"].split("+")[0] != wanted:
            missing.append(f"PyTorch is {torch['version']}, and linac was compiled for {wanted}; take that one, or run make gpu-day-bring for this one")
        elif not torch["cuda"] and not rehearse:
            missing.append(f"PyTorch {torch['version']} is one without CUDA; take torch=={wanted} as PyPI has it")
        else:
            there.append(f"PyTorch: {torch['version']}, CUDA {torch['cuda']}, for {python}")
    else:
        site = ROOT / "deps/prefix" if rehearse else pathlib.Path("/nowhere")
        found["torch"] = str(site / "torch/lib") if (site / "torch/lib/libtorch_cpu.so").exists() else ""
        missing.append(f"no PyTorch with numpy for {python}; name an interpreter that has them: make gpu-day PYTHON=/folder/bin/python3")
    found["has_torch"] = bool(torch)
    folders = [site / "nvidia/cu13/lib", site / "nvidia/nccl/lib", *(nvcc.parents[1] / name for name in ("lib64", "lib") if nvcc)]
    found["libraries"] = [str(folder) for folder in folders if folder.exists()]
    found["cudart"] = next((str(path) for folder in folders for path in sorted(folder.glob("libcudart.so*"))), "")
    need("CUDA's runtime", found["cudart"], "libcudart.so.13 lies beside PyTorch (nvidia/cu13/lib) or nvcc (lib64)")
    if manifest:
        there.append(f"linac: objects of commit {manifest['commit']}")
        libc = os.confstr("CS_GNU_LIBC_VERSION").split()[1]
        if [int(part) for part in libc.split(".")] < [int(part) for part in manifest["glibc"].split(".")]:
            missing.append(f"the C library is {libc}, and what was brought wants {manifest['glibc']}; run make gpu-day-bring on an older system")
    else:
        missing.append(f"no {brought}: all of linac but its CUDA half; run make gpu-day-bring where there is a network, and carry the file along")
    disk = shutil.disk_usage(ROOT)
    there.append(f"{os.cpu_count()} cores, Python {sys.version.split()[0]}, {disk.free / 2**30:.1f} GiB free")
    return found, there, missing
