#!/usr/bin/env python3
"""The training step of linac on a GPU beside PyTorch's, in turns: steps.py WORK OUT 3dgan|classifier [--rehearse]

PyTorch eager and torch.compile, each in fp32, TF32 and bf16; linac's own kernels are fp32 (docs/internals/kernels.md). A round has each once; a
peer that does not start, or fails, is told and left out of the rounds. After each round the page and its numbers are written anew, so what the
limit of time cuts off has what was there. --rehearse: on the processor, a round, writes nothing into bench/results."""

import concurrent.futures
import contextlib
import datetime
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))
from compare import describe_host  # noqa: E402
from contenders import Failure, Peer, TooSlow  # noqa: E402
from errors import QUOTED  # noqa: E402
from store import store  # noqa: E402

ROUNDS, STEPS = 5, 20  # a round has so many steps of each
READY_S, REHEARSED_READY_S = 150, 400  # for the compilations of torch.compile, all peers at once; a rehearsal has few cores
ANSWER_S, LINAC_S = 60, 120  # of a step of PyTorch, and of a round of linac, its start included
BATCH = {"3dgan": 16, "classifier": 64}
TITLE = {"3dgan": "The 3DGAN's training step on a GPU", "classifier": "The Inclusive Classifier's training step on a GPU"}
# What is in one side's step alone.
NOTE = {"3dgan": "linac brings weights and showers to the GPU for each update and takes the gradients back, as in a training; PyTorch's stay there. No update of weights.",
        "classifier": "linac brings weights and events to the GPU and updates the weights on the processor, as in a training; PyTorch's stay there, and Adam is fused."}


class Linac:
    def __init__(self, what: str, work: pathlib.Path, device: str, batch: int, steps: int):
        self.label, self.program = "linac, fp32", work / "bin/linac-compute"
        if not self.program.exists():
            raise Failure("left out: no linac-compute, which was not built")
        if what == "3dgan":
            self.command = ["bench", "step", "--batch", batch, "--device", device, "--repeat", steps, "--json"]
            return
        model = work / "classifier/models/model.keras"
        if not model.exists():  # a run of one step leaves the model
            self.call("train", "examples/topology.yaml", "--out", work / "classifier", "--set", "train.max_steps=1", "--set", "workers=1", "--set", "train.batch=2")
        self.command = ["bench", "models", model, "--batch", batch, "--device", device, "--seconds", 0.05 * steps, "--json"]

    def call(self, *words: object) -> str:
        done = subprocess.run([self.program, *map(str, words)], cwd=ROOT, capture_output=True, text=True, timeout=LINAC_S)
        if done.returncode != 0:
            raise Failure(f"linac failed: {(done.stderr or done.stdout)[-1000:].strip()}")
        return done.stdout

    def measure(self) -> list[float]:
        """Least and median of a step, s."""
        found = json.loads(self.call(*self.command))
        step = (found[0] if isinstance(found, list) else found)["step"]["wall_s"]
        return [step["min"], step["median"]]


class Torch:
    def __init__(self, what: str, python: str, mode: str, precision: str, device: str, batch: int, steps: int):
        self.label, self.steps = f"PyTorch {mode}, {precision}", steps
        self.peer = Peer("torch" if what == "3dgan" else "torch classifier", mode, ["step"], python, precision, batch, 1 if device == "cuda" else 2, device)

    def measure(self) -> list[float]:
        walls = [self.peer.ask("go step", ANSWER_S)["wall_s"] for _ in range(self.steps)]
        return [min(walls), statistics.median(walls)]


def told(contender: str, failure: BaseException) -> None:
    """The exception of a traceback, or the last line, and all of it behind."""
    lines = ["no answer in time"] if isinstance(failure, (TooSlow, subprocess.TimeoutExpired)) else str(failure).splitlines()
    raised = [line for line in lines if re.match(r"[\w.]+(Error|Exception)\b", line)]
    print(f"{contender} failed: {(raised or lines)[-1]}", *(QUOTED + line for line in lines[:-1]), sep="\n", flush=True)


def markdown(what: str, result: dict) -> str:
    lines = [f"# {TITLE[what]}", f"{result['date']}, {', '.join(result['gpus']) or 'no GPU: a rehearsal'}, {result['cpu']}, {result['cores']} cores, commit {result['commit']}.", "",
             f"Batch {result['batch']}, {result['rounds']} rounds in turns, {result['steps']} steps in each. {NOTE[what]}", "",
             "| | a step, ms: least | median of the rounds | of linac's |", "|---|---|---|---|"]
    linac = result["step_s"].get("linac, fp32")
    for name, rounds in result["step_s"].items():
        median = statistics.median(median for _, median in rounds)
        share = f"{median / statistics.median(median for _, median in linac):.2f}" if linac else ""
        lines.append(f"| {name} | {1e3 * min(least for least, _ in rounds):.2f} | {1e3 * median:.2f} | {share} |")
    lines += [f"| {name} | failed | | |" for name in result["failed"]]
    return "\n".join(lines) + "\n"


def write(what: str, out: pathlib.Path, result: dict) -> str:
    text = markdown(what, result)
    (out / f"{what}.md").write_text(text)
    (out / f"{what}.json").write_text(json.dumps(result, indent=1) + "\n")
    return text


def contenders_of(what: str, work: pathlib.Path, host: dict, rehearse: bool, at_end: contextlib.ExitStack, failed: list[str]) -> list:
    """Those that are ready. All are started at once: torch.compile takes its time."""
    device, batch, steps = ("cpu", 1, 1) if rehearse else ("cuda", BATCH[what], STEPS)
    modes = [(mode, precision) for mode in ("eager", "compile") for precision in (("fp32",) if rehearse else ("fp32", "tf32", "bf16"))]
    ready = []
    try:
        ready.append(Linac(what, work, device, batch, steps))
        ready[0].measure()  # once before the rounds, as all peers
    except (Failure, subprocess.TimeoutExpired) as failure:
        ready = []
        failed.append("linac, fp32")
        told("linac, fp32", failure)
    peers = [Torch(what, host["python"], mode, precision, device, batch, steps) for mode, precision in modes if host["has_torch"]]
    for torch in peers:
        at_end.callback(torch.peer.kill)
    until = time.monotonic() + (REHEARSED_READY_S if rehearse else READY_S)

    def start(torch: Torch):
        try:
            torch.peer.wait_until_ready(max(1, until - time.monotonic()))
        except (Failure, TooSlow) as failure:
            return failure

    with concurrent.futures.ThreadPoolExecutor(max(1, len(peers))) as pool:
        for torch, failure in zip(peers, pool.map(start, peers)):
            if failure:
                torch.peer.kill()
                failed.append(torch.label)
                told(torch.label, failure)
            else:
                ready.append(torch)
    return ready


def main() -> None:
    work, out, what, *more = sys.argv[1:]
    work, out, rehearse = pathlib.Path(work), pathlib.Path(out), bool(more)
    host = json.loads((work / "host.json").read_text())
    failed: list[str] = []
    step_s: dict[str, list] = {}
    # The commit is that of what was brought: there may be no git here.
    result = {"date": datetime.date.today().isoformat(), "command": "make gpu-day", "commit": host["commit"], "gpus": host["gpus"],
              "cpu": describe_host()["cpu"], "cores": os.cpu_count(), "batch": 1 if rehearse else BATCH[what], "steps": 1 if rehearse else STEPS, "rounds": 0, "step_s": step_s, "failed": failed}
    with contextlib.ExitStack() as at_end:
        ready = contenders_of(what, work, host, rehearse, at_end, failed)
        for index in range(1 if rehearse else ROUNDS):
            for contender in list(ready):
                try:
                    found = contender.measure()
                    step_s.setdefault(contender.label, []).append(found)
                    print(f"round {index + 1}: {contender.label}: {1e3 * found[1]:.2f} ms", flush=True)
                except (Failure, TooSlow, subprocess.TimeoutExpired, OSError) as failure:
                    ready.remove(contender)
                    failed.append(contender.label)
                    told(contender.label, failure)
            result["rounds"] = index + 1
            text = write(what, out, result)
    if not host["has_torch"]:
        print("left out: no PyTorch to compare with", flush=True)
    if step_s and not rehearse:
        store(result, f"gpu-{what}", text)
    medians = {name: statistics.median(median for _, median in rounds) for name, rounds in step_s.items()}
    print("TOLD " + (", ".join(f"{name} {1e3 * value:.1f} ms" for name, value in medians.items()) or "nothing was measured"))
    sys.exit(1 if failed or not host["has_torch"] else 0)


if __name__ == "__main__":
    main()
