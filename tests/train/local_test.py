#!/usr/bin/env python3
"""Groups that train apart for a round of steps (train.sync.mode = local, easgd, and those that take turns): the same bits on any number of workers, also when workers
are lost and join, and after a resume; whole averages after each step are the exact sum; each event once an epoch.

  local_test.py [--long]     --long: the other kinds of models, branches, and a signal in the midst of a round
"""

import math
import os
import pathlib
import signal
import struct
import sys
import tempfile

from lib import runs
from lib.checks import check
from lib.elastic import CLASSIFIER, GAN, Run, same_end, same_losses, steady

JOB = {**CLASSIFIER, "train.epochs": 2, "checkpoint.keep": 3,
       "train.sync.mode": "local", "train.sync.groups": 4, "train.sync.every": 4, "data.validation_split": 0}
CHAIN = {"job": "examples/cell-chain.yaml", "model.hidden": 8, "model.layer_hidden": 8, "model.classes": 12, "train.replicas": 4, "train.batch": 1,
         "train.epochs": 1, "train.steps_per_epoch": 4, "data.min_sum": 92}
MODES = {
    "averaged moments": {"train.sync.moments": "average"},
    "bytes between groups": {"train.sync.exchange": "int8", "train.sync.moments": "reset"},
    "elastic averaging": {"train.sync.mode": "easgd"},
    "two bytes, exact at first": {"train.sync.exchange": "bf16", "train.sync.begin": 5},
    "downpour": {"train.sync.mode": "downpour", "train.sync.push": 0.5, "train.sync.exchange": "bf16"},
    "elastic averaging in turns": {"train.sync.mode": "eamsgd", "train.optimizer.name": "sgd", "train.optimizer.momentum": 0.9,
                                   "train.optimizer.lr": 0.01, "train.sync.exchange": "int8"},
    "gradient energy matching": {"train.sync.mode": "gem", "train.sync.max_staleness": 3},
    "turns by layer": {"train.sync.mode": "hybrid", "train.sync.push": 0.25, "train.sync.begin": 5, "train.sync.moments": "average"},
}


def trained(folder: pathlib.Path, name: str, settings: dict, *extra: str) -> pathlib.Path:
    runs.run(folder / name, settings, *extra)
    return folder / name


def rounds(out: pathlib.Path) -> list[dict]:
    return [line for line in runs.lines(out) if line["kind"] == "round"]


def told(out: pathlib.Path) -> None:
    lines, steps = rounds(out), [line["global_step"] for line in runs.lines(out) if line["kind"] == "step"]
    check(steps == list(range(1, len(steps) + 1)), f"each of {len(steps)} steps stands once in the record")
    check(sum(line["steps"] for line in lines) == len(steps) and [line["round"] for line in lines] == list(range(1, len(lines) + 1)),
          f"and belongs to one of {len(lines)} rounds")
    check(all(0 < line["drift"] < 10 and line["way"] > 0 for line in lines), "drift and way of each round are told")


def weights(out: pathlib.Path) -> list[float]:
    tensors = runs.tensors(out)
    return [value for name in sorted(tensors) if "/weights/" in name for value in struct.unpack(f"<{len(tensors[name]) // 4}f", tensors[name])]


def every_step_averaged(folder: pathlib.Path) -> None:
    """With plain gradient descent the mean of what groups make of a step is what all make of it together."""
    plain = {"train.optimizer.name": "sgd", "train.optimizer.momentum": 0, "train.epochs": 1}
    outer = {"train.sync.every": 1, "train.sync.outer.lr": 1, "train.sync.outer.momentum": 0, "train.sync.outer.nesterov": "false"}
    exact = weights(trained(folder, "exact", JOB | plain | {"train.sync.mode": "exact"}))
    local = weights(trained(folder, "each", JOB | plain | outer))
    apart = weights(trained(folder, "apart", JOB | plain | outer | {"train.sync.every": 4}))

    def distance(other: list[float]) -> float:
        return math.sqrt(sum((a - b) ** 2 for a, b in zip(exact, other)) / sum(a * a for a in exact))
    check(len(exact) == len(local) > 100 and distance(local) < 1e-6 < distance(apart),
          f"averaged after each step: {distance(local):.1e} from the exact weights; after four: {distance(apart):.1e}")


def killed(folder: pathlib.Path, calm: pathlib.Path, settings: dict, name: str) -> None:
    """Whoever is lost takes no group's optimiser along, and the others redo nothing of their own."""
    run = Run(folder / name, settings | {"train.epochs": 4}, 3, **steady(folder, step_ms=150))
    runs.wait_for_steps(run.out, run.launcher, 8)
    run.kill(run.members()[-1])
    runs.wait_for_steps(run.out, run.launcher, 16)
    run.kill(run.members()[0])
    run.join()
    run.end()
    same_end(calm, run.out, f"{name}: two workers of three lost, one joined")
    check(not any(line["anew"] for line in rounds(run.out)), f"{name}: and no group began anew")


def replayed(folder: pathlib.Path) -> None:
    """Where a group began anew, since nobody had what it kept, another run does so too, with nobody lost."""
    settings = JOB | {"train.epochs": 4, "train.sync.copies": "false"}
    run = Run(folder / "bereft", settings, 3, **steady(folder, step_ms=150))
    runs.wait_for_steps(run.out, run.launcher, 8)
    run.kill(run.members()[-1])
    run.end()
    anew = {line["round"]: line["anew"] for line in rounds(run.out) if line["anew"]}
    check(bool(anew), f"without copies a worker takes along what its groups kept, which begin anew: {anew}")
    again = trained(folder, "again", settings | {"train.sync.replay": str(run.out)}, "--workers", "1")
    buffers, others = runs.tensors(run.out), runs.tensors(again)
    check(same_losses(run.out, again) and len(buffers) > 10 and buffers == others,
          f"a run with a loss, and one worker that goes its way: the same losses, and the same bits in {len(buffers)} buffers")
    check({line["round"]: line["anew"] for line in rounds(again) if line["anew"]} == anew, "whose groups begin anew in the same rounds")


def resumed(folder: pathlib.Path, calm: pathlib.Path, settings: dict) -> None:
    out = trained(folder, "resumed", settings | {"train.epochs": 4, "train.max_steps": 13}, "--workers", "2")
    runs.run(out, settings | {"train.epochs": 4, "train.max_steps": 0}, "--workers", "1", "--resume")
    same_end(calm, out, "stopped behind a round, resumed by another number of workers")


def branched(folder: pathlib.Path, one: pathlib.Path) -> None:
    """Another rule goes on from a checkpoint, as a run of its own."""
    for name, settings in {"two groups": {"train.sync.groups": 2}, "all again": {"train.sync.mode": "exact"}}.items():
        out = folder / name
        text = runs.run(out, JOB | settings | {"train.epochs": 3}, "--branch", str(one), "--workers", "2")
        steps = [line["global_step"] for line in runs.lines(out) if line["kind"] == "step"]
        check(steps and steps[-1] == 27 and ("begins anew" in text) == (name == "two groups"), f"{name}: a branch goes on from step 18, to {steps[-1]}")
        check(bool(rounds(out)) == (name == "two groups"), f"{name}: {len(rounds(out))} rounds")


def broken_off(folder: pathlib.Path) -> None:
    """A signal does not wait for the end of a long round."""
    long = JOB | {"train.epochs": 4, "train.sync.every": 1000, "train.batch": 1}
    whole = trained(folder, "whole", long, "--workers", "1")
    out = folder / "stopped"
    process = runs.start(out, long, "--workers", "2")
    runs.wait_for_steps(out, process, 1)
    os.killpg(process.pid, signal.SIGTERM)
    check(process.wait(timeout=120) == 75, "SIGTERM: exit status 75")
    done = runs.steps_so_far(out)
    steps = runs.steps_so_far(whole)
    check(0 < done < steps and done % (steps // 4) == 0, f"at the begin of a round, behind step {done} of {steps}")
    runs.run(out, long, "--workers", "1", "--resume")
    same_end(whole, out, "stopped in the midst of a round and resumed")


def refused(folder: pathlib.Path) -> None:
    for setting, words in {
            "train.sync.groups=3": "train.replicas = 8 do not divide into train.sync.groups = 3",
            "train.sync.mode=gossip": "train.sync.mode",
            "train.sync.beta=0": "train.sync.beta must be above 0 and at most 1",
            "train.sync.outer.momentum=1": "train.sync.outer.momentum must be at least 0 and below 1",
            "train.sync.max_staleness=-1": "train.sync.max_staleness must not be negative",
            "train.sync.mode=eamsgd": "set train.optimizer to {name: sgd, momentum: 0.9, nesterov: true}",
            "train.sync.replay=nowhere": "there is no record nowhere/metrics.jsonl on this host",
    }.items():
        text = runs.linac("check", "examples/topology.yaml", "--set", "train.sync.mode=local", "--set", "train.replicas=8", "--set", setting, status=2)
        check(words in text, f"{setting} is refused: {text.strip().splitlines()[-1]}")


def short(folder: pathlib.Path) -> None:
    one = trained(folder, "one", JOB, "--workers", "1")
    told(one)
    same_end(one, trained(folder, "six", JOB, "--workers", "6"), "six workers as one")
    for mode, settings in MODES.items():
        pair = [trained(folder, f"{mode} {workers}", JOB | settings, "--workers", workers) for workers in ("1", "3")]
        same_end(*pair, mode)
        stale = [line["staleness_max"] for line in rounds(pair[0])]
        in_turns = settings.get("train.sync.mode", "local") not in ("local", "easgd")
        check(all(3 <= one <= 6 for one in stale) if in_turns else not any(stale), f"{mode}: turns of others between two of a group: {sorted(set(stale))}")
    every_step_averaged(folder)
    calm = trained(folder, "calm", JOB | {"train.epochs": 4}, "--workers", "1")
    killed(folder, calm, JOB, "killed")
    replayed(folder)
    resumed(folder, calm, JOB)
    refused(folder)


def long(folder: pathlib.Path) -> None:
    gan = {**GAN, "train.steps_per_epoch": 4, "train.sync.mode": "local", "train.sync.groups": 2, "train.sync.every": 2}
    same_end(*(trained(folder, f"gan {workers}", gan, "--workers", workers) for workers in ("1", "2")), "a GAN, whose steps look ahead")
    chain = CHAIN | {"train.sync.mode": "local", "train.sync.groups": 2, "train.sync.every": 3}
    same_end(*(trained(folder, f"chain {workers}", chain, "--workers", workers) for workers in ("1", "2")), "a cell_chain")
    elastic = JOB | MODES["elastic averaging"]
    calm = trained(folder, "calm", elastic | {"train.epochs": 4}, "--workers", "1")
    killed(folder, calm, elastic, "elastic")
    resumed(folder, calm, elastic)
    branched(folder, trained(folder, "one", JOB, "--workers", "2"))
    broken_off(folder)


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="linac-local-") as name:
        (long if "--long" in sys.argv else short)(pathlib.Path(name))


if __name__ == "__main__":
    main()
