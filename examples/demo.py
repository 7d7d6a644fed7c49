#!/usr/bin/env python3
"""What `make demo` does with the built program: trains a generator of showers from nothing with two workers of which one is killed
on the way, trains the same with one worker that nobody disturbs, compares what both left bit by bit, judges the showers, and
draws them beside Geant4's and the 3DGAN's.

  examples/demo.py FOLDER [arguments of linac train, e.g. --set train.epochs=5]
"""

import hashlib
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

LINAC, JOB = "build/linac-compute", "examples/cell-chain.yaml"
TRAIN, TEST = "data/showers-train.h5", "data/showers-test.h5"
OTHER = "3DGAN=models/3dgan-clic.keras"
STEPS_MIN = 8  # a shorter run is over before the lost worker has been replaced


def shown(*command: str) -> list[str]:
    print("\n$", *command, flush=True)
    return list(command)


def lines(out: pathlib.Path) -> list[dict]:
    """Of the run's metrics.jsonl, whose last line may be half written."""
    path = out / "metrics.jsonl"
    text = path.read_text() if path.exists() else ""
    return [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n")]


def steps_done(out: pathlib.Path) -> int:
    return max((line["global_step"] for line in lines(out) if line["kind"] == "step"), default=0)


def views(out: pathlib.Path) -> list[dict]:
    return [line for line in lines(out) if line["kind"] == "view"]


def planned(out: pathlib.Path) -> tuple[int, int]:
    """Steps of the run and of an epoch, from its log and its job."""
    an_epoch = int(re.search(r"(\d+) steps an epoch", (out / "log.txt").read_text())[1])
    job = (out / "job.yaml").read_text()
    epochs, most = (int(re.search(rf"^  {key}: (\d+)", job, re.MULTILINE)[1]) for key in ("epochs", "max_steps"))
    return min(epochs * an_epoch, most or sys.maxsize), an_epoch


def is_child(pid: int, parent: int) -> bool:
    try:
        return int(pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1]) == parent
    except OSError:
        return False


def wait_for(condition, training: subprocess.Popen) -> bool:
    """False if the training ends before."""
    while not condition():
        if training.poll() is not None:
            return condition()
        time.sleep(0.02)
    return True


def lose_a_worker(training: subprocess.Popen, out: pathlib.Path) -> dict:
    """Kills the worker of rank 1 in the middle of the run and watches the others. Returns what there is to tell."""
    if not wait_for(lambda: views(out), training):
        return {}
    steps, an_epoch = planned(out)
    if steps < STEPS_MIN:
        return {"why_not": f"a run of {steps} steps is too short for it"}
    at = 3 * steps // 4
    at += {0: 1, an_epoch - 1: 2}.get(at % an_epoch, 0)  # not at the border of an epoch
    wait_for(lambda: steps_done(out) >= at, training)
    members = views(out)[-1]["members"]
    victim = next((member["pid"] for member in members if member["rank"] == 1), 0)
    if training.poll() is not None or not is_child(victim, training.pid):
        return {"why_not": "there was no second worker any more"}
    step, begin = steps_done(out), time.time()
    os.kill(victim, signal.SIGKILL)
    wait_for(lambda: steps_done(out) > step, training)
    return {"pid": victim, "workers": len(members), "step": step, "of": steps, "begin": begin, "again_s": time.time() - begin}


def tell(lost: dict, out: pathlib.Path) -> None:
    if "pid" not in lost:
        print(f"\nNo worker was killed: {lost.get('why_not', 'the training had ended before')}.")
        return
    begin = lost["begin"]
    alone = next(view for view in views(out) if view["time"] >= begin)
    joined = next((view for view in views(out) if view["time"] > alone["time"] and len(view["members"]) == lost["workers"]), None)
    survivor = alone["members"][0]
    replicas = survivor["replicas"]
    clock = time.strftime("%H:%M:%S", time.localtime(begin))
    print(f"""
What happened on the way
  {clock}  process {lost['pid']}, one of {lost['workers']} workers, was killed (kill -9) in step {lost['step'] + 1} of {lost['of']}.
  +{alone['time'] - begin:5.1f} s  Process {survivor['pid']} goes on alone, with {replicas} replicas, from what it has in memory. No checkpoint was read.
  +{lost['again_s']:5.1f} s  Step {lost['step'] + 1} is done, from its beginning.""")
    if joined:
        known = {member["pid"] for member in alone["members"]}
        newcomer = next(member["pid"] for member in joined["members"] if member["pid"] not in known)
        print(f"  +{joined['time'] - begin:5.1f} s  Process {newcomer}, which the launcher started in its place, takes part "
              f"from step {joined['global_step'] + 1} on.")
    else:
        print("            The run was over before the launcher's next worker could take part.")


def digests(run: pathlib.Path) -> dict[str, str]:
    """Of what a training leaves: its model and its last state, optimizer and history included."""
    last = max((run / "checkpoints").glob("step-*.safetensors"))
    return {str(path.relative_to(run)): hashlib.sha256(path.read_bytes()).hexdigest() for path in (run / "models/generator.chain", last)}


def same_bits(disturbed: pathlib.Path, alone: pathlib.Path) -> bool:
    one, other = digests(disturbed), digests(alone)
    print(f"\nThe same bits?  {disturbed}: two workers, one killed.  {alone}: one worker, nobody lost.  SHA-256:")
    for path in sorted({*one, *other}):
        left, right = one.get(path, "not there"), other.get(path, "not there")
        print(f"  {path:<38} {left[:16]}…  {right[:16]}…  {'the same' if left == right else 'NOT THE SAME'}")
    return one == other


def curves(out: pathlib.Path) -> None:
    """How far the showers are from Geant4's, epoch by epoch."""
    epochs = [line for line in lines(out) if line["kind"] == "epoch" and line["physics"]]
    if not epochs:
        return
    print(f"\nThe showers beside Geant4's, epoch by epoch ({out}/metrics.jsonl)")
    print("  epoch   loss   Fréchet distance   response off by   profile along the shower off by")
    for line in epochs:
        figures = line["physics"]
        print(f"  {line['epoch'] + 1:5d} {line['test']['loss']:6.0f} {figures['fpd']:18.1f} "
              f"{100 * abs(figures['response.mean']):15.1f} % {100 * figures['profile.z']:29.1f} %")


def train(out: pathlib.Path, words: list[str]) -> subprocess.Popen:
    return subprocess.Popen(shown(LINAC, "train", JOB, "--out", str(out), *words))


def waited_for(training: subprocess.Popen, meanwhile=lambda: None):
    """What `meanwhile` returns; ends this program where the training fails, and the training where this program ends."""
    try:
        told = meanwhile()
        status = training.wait()
    except BaseException:
        training.terminate()
        training.wait()
        raise
    if status != 0:
        sys.exit(status)
    return told


def main() -> None:
    folder, words = pathlib.Path(sys.argv[1]), sys.argv[2:]
    disturbed, alone, report = folder / "two-workers", folder / "one-worker", folder / "report"
    subprocess.run(shown(LINAC, "check", JOB, *words), check=True)
    training = train(disturbed, ["--workers", "2", *words])
    tell(waited_for(training, lambda: lose_a_worker(training, disturbed)), disturbed)
    print("\nThe same training again, by one worker that nobody disturbs.")
    waited_for(train(alone, ["--workers", "1", *words]))
    same = same_bits(disturbed, alone)
    curves(disturbed)
    subprocess.run(shown(LINAC, "validate", "--reference", TEST, "--reference-name", "Geant4", "--sample", str(disturbed),
                         "--sample-name", "cell_chain", "--beside", OTHER, "--train", TRAIN, "--out", str(report)), check=True)
    print(f"""
What to open
  {report}/shower-3.png    a single shower: Geant4, then cell_chain (trained just now), then the 3DGAN of models/
  {report}/report.html     the generated showers against Geant4: figures, pictures
  {disturbed}/images/losses.png""")
    if not same:
        sys.exit("The two trainings did not leave the same bits: that is a fault of linac; please tell it.")


if __name__ == "__main__":
    try:
        main()
    except subprocess.CalledProcessError as error:
        sys.exit(error.returncode)
    except KeyboardInterrupt:
        sys.exit(130)
