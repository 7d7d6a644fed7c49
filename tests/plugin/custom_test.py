#!/usr/bin/env python3
"""Plug-ins as their authors meet them: linac is installed into an empty folder, the two of examples/custom_model/ are built against
it, and trained. On one worker, on several, and stopped and resumed they write the same checkpoints, byte for byte; mistakes are named."""

import json
import os
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile

from lib import runs
from lib.checks import check

EXAMPLES = runs.ROOT / "examples" / "custom_model"


def stands_alone(prefix: pathlib.Path, plugins: pathlib.Path) -> None:
    """Nothing that runs is looked for in the tree of the sources, nor in the build's."""
    for program in (prefix / "bin" / "linac", prefix / "bin" / "linac-compute", plugins / "deep_sets.so"):
        loaded = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
        check(str(runs.ROOT) not in loaded and "not found" not in loaded, f"{program.name} stands alone\n{loaded if str(runs.ROOT) in loaded else ''}".strip())
    torch = [line for line in loaded.splitlines() if "libtorch_cpu" in line]
    check(len(torch) == 1 and str(prefix / "lib") in torch[0], f"a plug-in is linked with the installed LibTorch: {torch}")


def build(folder: pathlib.Path, cmake_build: str) -> pathlib.Path:
    """Returns the folder of the plug-ins; the installed program is folder/prefix/bin/linac."""
    prefix, plugins, showers = folder / "prefix", folder / "plugins", folder / "showers"
    environment = dict(os.environ)
    if shutil.which("ccache"):  # as in every build of linac, whose headers and options these are
        environment |= {"CMAKE_CXX_COMPILER_LAUNCHER": "ccache", "CCACHE_BASEDIR": str(folder), "CCACHE_NOHASHDIR": "1", "CCACHE_DEPEND": "1"}
    # An author's copies: with everything below one folder ccache knows a compilation again in any other checkout.
    sources = {source.name: shutil.copytree(source, folder / source.name) for source in (EXAMPLES, runs.ROOT / "examples/fast_simulation")}
    for command in (["cmake", "--install", cmake_build, "--prefix", prefix],
                    ["cmake", "-G", "Ninja", "-S", sources["custom_model"], "-B", plugins, f"-DCMAKE_PREFIX_PATH={prefix}"],
                    ["cmake", "--build", plugins],
                    ["cmake", "-G", "Ninja", "-S", sources["fast_simulation"], "-B", showers, f"-DCMAKE_PREFIX_PATH={prefix}"],
                    ["cmake", "--build", showers],
                    [showers / "fast_simulation", runs.ROOT / "models/cell_chain-clic.chain", "1", "1"]):
        done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL, env=environment)
        check(done.returncode == 0, f"{' '.join(map(str, command[:2]))}\n{done.stdout[-3000:] + done.stderr[-3000:] if done.returncode else ''}".strip())
    headers = sorted(str(path.relative_to(prefix)) for path in (prefix / "include").rglob("*.h"))
    check(headers == ["include/linac/fastsim/showers.h", "include/linac/plugin/plugin.h"], f"two headers are installed: {headers}")
    stands_alone(prefix, plugins)
    return plugins


class Linac:
    def __init__(self, program: pathlib.Path):
        self.program = program

    def __call__(self, *arguments: object) -> subprocess.CompletedProcess:
        return subprocess.run([self.program, *map(str, arguments)], cwd=runs.ROOT, capture_output=True, text=True, timeout=300)

    def train(self, job: pathlib.Path, out: pathlib.Path, *arguments: object) -> None:
        done = self("train", job, "--out", out, *arguments)
        check(done.returncode == 0, f"train {job.name} into {out.name}\n{done.stdout[-2000:] + done.stderr[-2000:] if done.returncode else ''}".strip())

    def refuses(self, job: pathlib.Path, *arguments: object, saying: str, status: int = 2) -> None:
        done = self("check", job, *arguments)
        check(done.returncode == status and saying in done.stderr, f"refused with {done.returncode}: {done.stderr.strip()}")


def same(one: pathlib.Path, other: pathlib.Path) -> None:
    a, b = runs.newest_checkpoint(one), runs.newest_checkpoint(other)
    check(a.name == b.name and a.read_bytes() == b.read_bytes(), f"{other.name}: {a.name} is the same as {one.name}'s, byte for byte")


def tensors(path: pathlib.Path) -> dict:
    data = path.read_bytes()
    size, = struct.unpack("<Q", data[:8])
    return {name: entry["shape"] for name, entry in json.loads(data[8:8 + size]).items() if name != "__metadata__"}


def epochs(run: pathlib.Path) -> list:
    return [line for line in runs.lines(run) if line["kind"] == "epoch"]


def judged_auc(report: dict) -> float:
    areas = [score["value"] for score in report["models"][0]["scores"] if score["name"] == "auc" and score["part"]]
    return sum(areas) / len(areas)


def exact(linac: Linac, job: pathlib.Path, plugin: pathlib.Path, out: pathlib.Path, steps: int) -> pathlib.Path:
    """Three replicas, whose mean no processor computes exactly, on one and three workers, and stopped in between."""
    settings = ["--set", f"model.file={plugin}", "--set", "train.replicas=3", "--set", "train.epochs=3"]
    one, three, resumed = out / "one", out / "three", out / "resumed"
    linac.train(job, one, *settings, "--workers", "1")
    linac.train(job, three, *settings, "--workers", "3")
    same(one, three)
    linac.train(job, resumed, *settings, "--workers", "2", "--set", f"train.max_steps={steps}")
    linac.train(job, resumed, *settings, "--workers", "1", "--resume")
    same(one, resumed)
    return one


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="linac-custom-") as name:
        folder = pathlib.Path(name)
        plugins = build(folder, sys.argv[1])
        linac = Linac(folder / "prefix" / "bin" / "linac")

        deep_sets, wgan = EXAMPLES / "deep_sets.yaml", EXAMPLES / "wgan_gp.yaml"
        for job in (deep_sets, wgan):
            done = linac("check", job, "--explain", "--set", f"model.file={plugins / job.stem}.so")
            check(done.returncode == 0 and "the job can run" in done.stdout, f"check {job.name}\n{done.stderr}".strip())
        run = exact(linac, deep_sets, plugins / "deep_sets.so", folder / "deep_sets", 11)
        shapes = tensors(run / "models" / "model.safetensors")
        check(shapes["each.0.weight"] == [32, 19] and shapes["event.1.running_mean"] == [32] and "_digest" not in shapes,
              f"weights by torch's names: {sorted(shapes)}")
        last = epochs(run)[-1]["test"]
        check(last["auc"] > 0.85, f"deep sets after 3 epochs: AUC {last['auc']:.3f}")
        report = folder / "report"
        done = linac("evaluate", "--model", run, "--data", "data/topology-test.parquet", "--out", report)
        check(done.returncode == 0, f"evaluate the run\n{done.stderr if done.returncode else ''}".strip())
        judged = json.loads((report / "report.json").read_text())
        check(abs(judged_auc(judged) - last["auc"]) < 1e-6, f"evaluate finds the AUC of the training's last test: {judged_auc(judged):.6f}")

        run = exact(linac, wgan, plugins / "wgan_gp.so", folder / "wgan_gp", 5)
        check(set(epochs(run)[0]["train"]) == {"critic", "generator"} and epochs(run)[0]["train"]["critic"]["gradient_penalty"] > 0,
              f"losses by update: {epochs(run)[0]['train']}")
        check(len((run / "models" / "sample.csv").read_text().splitlines()) == 1000, "the loop's own file is handed over")
        long = folder / "wgan_gp" / "long"
        linac.train(wgan, long, "--set", f"model.file={plugins / 'wgan_gp.so'}", "--set", "train.epochs=25")
        first, end = (epochs(long)[i]["test"]["energy_distance"] for i in (0, -1))
        check(end < 0.5 * first, f"WGAN-GP: energy distance {first:.3f} after the first epoch, {end:.3f} after 25")

        def with_file(path: object) -> list:
            return ["--set", f"model.file={path}"]

        linac.refuses(deep_sets, *with_file(plugins / "deep_sets.so"), "--set", "model.options.widht=3", saying="did you mean 'width'?")
        linac.refuses(deep_sets, *with_file(plugins / "deep_sets.so"), "--set", "model.options.width=wide", saying="option width = wide is not an integer")
        linac.refuses(deep_sets, *with_file(plugins / "deep_sets.so"), "--set", "model.options.features=18", saying="GRU_input", status=3)
        linac.refuses(deep_sets, *with_file(folder / "absent.so"), saying="absent.so: cannot be loaded")
        linac.refuses(deep_sets, *with_file(runs.ROOT / "README.md"), saying="README.md: cannot be loaded")
        linac.refuses(wgan, *with_file(plugins / "wgan_gp.so"), "--set", "checkpoint.best_by=energy_distanze", saying="did you mean energy_distance?")
        for source, saying in (("int nothing;", "offers nothing"),
                               ("struct {int abi; const char* torch; int cxx11; const char* name; void *a, *b;} e = {99, \"2\", 1, \"X\", 0, 0};"
                                "void* linac_plugin() { return &e; }", "was built for version 99")):
            (folder / "other.c").write_text(source)
            subprocess.run([os.environ.get("CC", "cc"), "-shared", "-fPIC", "-o", folder / "other.so", folder / "other.c"], check=True)
            linac.refuses(deep_sets, *with_file(folder / "other.so"), saying=saying)
            (folder / "other.so").unlink()


main()
