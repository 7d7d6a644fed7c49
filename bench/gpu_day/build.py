#!/usr/bin/env python3
"""Compiles the CUDA kernels and links linac's programs with what was brought: build.py WORK KERNELS

WORK has brought/ (bring.py) and host.json (host.py); the programs go into WORK/bin. What fails is printed, and stops nothing else."""

import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]


def flags() -> list[str]:
    """Those of cmake/cuda.cmake."""
    text = (ROOT / "cmake/cuda.cmake").read_text()
    found = re.search(r"^set\(LINAC_NVCC_FLAGS (.+)\)$", text, re.MULTILINE)
    if not found:
        sys.exit("build.py: error: cmake/cuda.cmake has no line set(LINAC_NVCC_FLAGS ...)")
    return found[1].split()


def run(what: str, command: list[str]) -> bool:
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    # The compiler's words first: they are the error.
    print(f"{done.stdout}{what}: {'done' if done.returncode == 0 else f'failed with exit status {done.returncode}'}", flush=True)
    return done.returncode == 0


def compile_kernels(work: pathlib.Path, kernels: pathlib.Path, host: dict) -> list[str] | None:
    """The objects; None if one of them could not be compiled."""
    machines = [f"-gencode=arch=compute_{name},code=sm_{name}" for name in host["architectures"]]
    (work / "cuda").mkdir(exist_ok=True)
    sources = sorted(kernels.glob("*.cu"))
    objects = [str(work / "cuda" / f"{source.name}.o") for source in sources]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        done = pool.map(lambda source, out: run(source.name, [host["nvcc"], "-ccbin", "g++", *flags(), *machines, f"-I{ROOT / 'src'}", "-c", str(source), "-o", out]),
                        sources, objects)
        return objects if all(list(done)) else None


def link(work: pathlib.Path, name: str, arguments: list[str], kernels: list[str], host: dict) -> bool:
    if not host["torch"] and any("{torch}" in word for word in arguments):
        print(f"{name}: left out: no PyTorch to link it with", flush=True)
        return False
    places = {"objects": work / "brought/objects", "system": work / "brought/system", "torch": host["torch"]}
    search = [host["torch"], *host["libraries"], str(places["system"])]
    # RPATH, not RUNPATH: what is brought finds what it wants itself beside it, and no library of the host comes between.
    command = ["g++", "-o", str(work / "bin" / name), *kernels, *(word.format(**places) for word in arguments), *filter(None, [host["cudart"]] * bool(kernels)),
               "-lm", "-ldl", "-lpthread", "-Wl,--disable-new-dtags", "-Wl,--allow-shlib-undefined", "-Wl,-rpath," + ":".join(filter(None, search))]
    return run(name, command)


def main() -> None:
    work, kernels = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2])
    host, manifest = json.loads((work / "host.json").read_text()), json.loads((work / "brought/manifest.json").read_text())
    (work / "bin").mkdir(exist_ok=True)
    objects = compile_kernels(work, kernels, host) if host["nvcc"] else []
    if objects is None:
        sys.exit(1)
    if not host["nvcc"]:
        print("TOLD without nvcc the kernels are not compiled, and the programs have none")
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        done = list(pool.map(lambda item: link(work, *item, objects, host), manifest["programs"].items()))
    if not all(done):
        sys.exit(1)
    print(f"TOLD {len(objects)} files of kernels for sm_{', sm_'.join(host['architectures'])}, {len(done)} programs")


if __name__ == "__main__":
    main()
