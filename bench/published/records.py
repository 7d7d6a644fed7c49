"""Runs that stay: each is a line of bench/results/published/STUDY.jsonl, and what has its line is not run again."""

import argparse
import dataclasses
import datetime
import hashlib
import json
import os
import pathlib
import resource
import subprocess
import sys
import time
from typing import Callable, Iterator

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from lib import runs
from lib.runs import LINAC, ROOT
from store import rounded

STORED = ROOT / "bench" / "results" / "published"
WORK = ROOT / "build" / "bench" / "published"  # showers, networks and runs: may be removed
PYTHON = ROOT / "build" / "peers" / "bin" / "python"  # with Keras
HERE = pathlib.Path(__file__).resolve().parent
OF_RUN = ("status", "linac", "libtorch", "isa", "build_type", "workers", "global_step", "seed", "replicas_side_by_side", "wall_s")
FIGURES = ("response.mean", "response.width", "profile.z", "profile.x", "profile.y", "ks.hits", "spectrum", "fpd")


def sources() -> str:
    """The last commit of what the program is made of."""
    return subprocess.run(["git", "-C", ROOT, "log", "-1", "--format=%h", "--", "src", "cmake"], capture_output=True, text=True).stdout.strip()


def file_of(study: str) -> pathlib.Path:
    return STORED / f"{study}.jsonl"


def stored(study: str) -> list[dict]:
    """Its runs, as they came; none where there is no file."""
    if not file_of(study).exists():
        return []
    found = []
    for number, line in enumerate(file_of(study).read_text().splitlines(), 1):
        try:
            found.append(json.loads(line))
            if not {"case", "round"} <= found[-1].keys():
                raise ValueError
        except (ValueError, AttributeError):
            sys.exit(f"{file_of(study)}:{number}: no run; take the line out, and it is run again")
    return found


@dataclasses.dataclass
class Study:
    name: str
    cases: list[dict]
    rounds: int
    run: Callable[[dict, int], dict]  # case and round: what is stored of it

    def missing(self, rounds: int) -> Iterator[tuple[dict, int]]:
        """The variants take turns: one of each a round, in the other order every second time."""
        for number in range(min(rounds, self.rounds)):
            for case in self.cases if number % 2 == 0 else self.cases[::-1]:
                if (case, number) not in [(one["case"], one["round"]) for one in stored(self.name)]:
                    yield case, number


def carry_out(study: Study, rounds: int) -> None:
    """What is missing of its first `rounds` rounds."""
    STORED.mkdir(parents=True, exist_ok=True)
    for case, number in study.missing(rounds):
        record = {"case": case, "round": number, "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%MZ"), "commit": sources(), **study.run(case, number)}
        with file_of(study.name).open("a") as file:
            file.write(json.dumps(tidy(record)) + "\n")
        print(f"[{study.name}] {case}, round {number + 1}: {record['wall_s']:.1f} s, {record['cpu_s']:.1f} of the processor", file=sys.stderr, flush=True)


def main(study: Study) -> None:
    argparse.ArgumentParser(description=sys.modules["__main__"].__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    carry_out(study, study.rounds)


def tidy(value):
    if isinstance(value, dict):
        return {name: tidy(inner) for name, inner in value.items()}
    return [tidy(inner) for inner in value] if isinstance(value, list) else rounded(value)


def machine_cpu_s() -> float:
    values = [int(word) for word in pathlib.Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]
    return (sum(values) - values[3] - values[4]) / os.sysconf("SC_CLK_TCK")


def own_cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def measured(words: list, environment: dict | None = None) -> tuple[str, dict]:
    """What it prints, and its time; `others_cores`: what other programs took meanwhile."""
    begin, machine, own = time.monotonic(), machine_cpu_s(), own_cpu_s()
    done = subprocess.run([str(word) for word in words], cwd=ROOT, capture_output=True, text=True, env=runs.environment(**(environment or {})))
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, words[:3]))}: exit status {done.returncode}\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    wall, cpu = time.monotonic() - begin, own_cpu_s() - own
    return done.stdout, {"wall_s": wall, "cpu_s": cpu, "others_cores": max(0.0, (machine_cpu_s() - machine - cpu) / wall)}


def digest_of(tensors: dict[str, bytes], names: bool = True) -> str:
    sum = hashlib.sha256()
    for name in sorted(tensors):
        sum.update((name.encode() + b"\0" if names else b"") + tensors[name])
    return sum.hexdigest()[:32]


def epochs_of(out: pathlib.Path) -> list[dict]:
    return [line for line in runs.lines(out) if line["kind"] == "epoch"]


def train(out: pathlib.Path, job: dict, workers: int = 1, environment: dict | None = None) -> dict:
    """A training, and what is stored of it."""
    out.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(["rm", "-rf", out], check=True)
    out.with_suffix(".json").write_text(json.dumps(job))
    _, spent = measured([LINAC, "train", out.with_suffix(".json"), "--out", out, "--workers", workers], environment)
    record = json.loads((out / "run.json").read_text())
    phases: dict[str, float] = {}
    for worker in record["time_by_worker"]:
        for name, phase in worker["phases"].items():
            phases[name] = phases.get(name, 0) + phase["cpu_s"]
    return {**spent, "run": {name: record[name] for name in OF_RUN if name in record}, "phases_cpu_s": phases, "weights": digest_of(runs.tensors(out)),  # of the last checkpoint, with the optimizer
           
            "epochs": [{"seconds": line["seconds"], "input_s": line["input_s"], "test": test_of(line)} for line in epochs_of(out)]}


def test_of(line: dict) -> dict:
    """What the test of an epoch says: of the 3DGAN the totals alone."""
    return {name: value["total"] if isinstance(value, dict) else value for name, value in line.get("test", {}).items()}


def validated(out: pathlib.Path, reference: pathlib.Path) -> dict:
    """Figures of `linac validate` for the last checkpoint: value and uncertainty."""
    said, _ = measured([LINAC, "validate", "--reference", reference, "--sample", runs.newest_checkpoint(out), "--no-classifiers", "--bootstraps", 20, "--seed", 1,
                        "--out", out / "report", "--json"])
    return {figure["name"]: [figure["value"], figure["uncertainty"]] for figure in json.loads(said)["figures"] if figure["name"] in FIGURES and figure["bin"] is None}


def made(path: pathlib.Path, *words: object) -> pathlib.Path:
    """A file that a command makes, once."""
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        measured(list(words))
    return path


def showers(part: str) -> pathlib.Path:
    count, seed = {"train": (512, 1), "test": (256, 2)}[part]
    path = WORK / f"showers-{part}.h5"
    return made(path, LINAC, "simulate", "-n", count, "--energy", "10:100", "--theta", "1.05:2.09", "--geometry", HERE / "calorimeter.yaml", "--seed", seed, "--out", path)


def gan(seed: int, **train_settings: object) -> dict:
    """A job of a small 3DGAN: networks drawn by Keras, as many as seeds."""
    networks = {part: WORK / f"{part}-{seed}.keras" for part in ("generator", "discriminator")}
    made(networks["discriminator"], PYTHON, HERE / "networks.py", WORK, seed)
    return {"name": "published-3dgan", "model": {"kind": "3dgan", "latent": 32, "power": 0.85, **{part: str(path) for part, path in networks.items()}},
            "data": {"train": [str(showers("train"))], "test": [str(showers("test"))], "min_sum": 0},
            "train": {"seed": seed, "optimizer": {"name": "rmsprop", "lr": 1e-3}, **train_settings},
            "validate": {"every_epochs": 0}}


def classifier(variant: str, seed: int, **train_settings: object) -> dict:
    """A job of the classifier, on the collisions of data/."""
    inputs = [{"name": "HLF_input", "column": "HLF_input", "scaling": "min_max"}]
    if variant != "hlf":
        inputs.insert(0, {"name": "GRU_input", "column": "GRU_input", "scaling": "standard"})
    return {"name": "published-classifier", "model": {"kind": "inclusive_classifier", "variant": variant},
            "data": {"train": [str(ROOT / "data/topology-train.parquet")], "test": [str(ROOT / "data/topology-test.parquet")], "inputs": inputs,
                     "targets": [{"column": "encoded_label"}], "scaling": str(ROOT / "data/topology-scaling.json"), "classes": ["QCD", "ttbar", "W+jets"]},
            "train": {"seed": seed, "fit": {"loss": "categorical_crossentropy", "metrics": ["accuracy", "auc"]}, "optimizer": {"name": "adam", "lr": 5e-4}, **train_settings},
            "checkpoint": {"best_by": "loss"}}
