"""Starting linac and reading what its runs wrote."""

import json
import os
import pathlib
import signal
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
LINAC = os.environ.get("LINAC", str(ROOT / "build" / "linac"))

# Networks with a small part of the operations, for tests of what does not depend on their size.
SMALL_NETWORKS = {"model.generator_channels": 1, "model.generator_filters": "[2, 1, 2, 1, 1, 1]", "model.discriminator_filters": "[2, 1, 1, 1]"}

# The same for examples/topology.yaml: lists are cut to their first particles. It has all its weights, so workers exchange as much.
SMALL_CLASSIFIER = {"model.particles": 8}

# Few events pass min_sum, so that an epoch with its test losses takes seconds.
FEW_EVENTS = {
    "train.replicas": 4,
    "train.batch": 1,
    "train.epochs": 2,
    "train.steps_per_epoch": 3,
    "data.min_sum": 92,
    "checkpoint.every_steps": 1,
}
SMALL = FEW_EVENTS | SMALL_NETWORKS


def arguments(out: pathlib.Path, settings: dict, *extra: str) -> list[str]:
    """`settings` of the demo's job, or of another that its entry "job" names."""
    command = [LINAC, "train", settings.get("job", "examples/3dgan-from-nothing.yaml"), "--out", str(out), *extra]
    for key, value in settings.items():
        if key != "job":
            command += ["--set", f"{key}={value}"]
    return command


def environment(**variables: str) -> dict:
    """Without the variables by which a launcher would be recognised."""
    kept = {k: v for k, v in os.environ.items() if k not in ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT", "TF_CONFIG")}
    return {**kept, **variables}


def placed(rank: int, world_size: int, port: int, address: str = "127.0.0.1", local_rank: int = 0) -> dict:
    """The variables by which a launcher of several machines, or torchrun, tells a worker its place."""
    return {"RANK": str(rank), "WORLD_SIZE": str(world_size), "LOCAL_RANK": str(local_rank), "LOCAL_WORLD_SIZE": str(world_size),
            "MASTER_ADDR": address, "MASTER_PORT": str(port)}


def output(*words: object, status: int = 0, limit_s: float = 600, **settings) -> str:
    """What a command prints. Fails the test if its exit status is another one."""
    done = subprocess.run([*map(str, words)], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=limit_s, **settings)
    if done.returncode != status:
        print(done.stdout)
        sys.exit(f"{' '.join(done.args)}: exit status {done.returncode}, expected {status}")
    return done.stdout


def linac(*words: object, status: int = 0, cwd: object = ROOT, **variables: str) -> str:
    return output(LINAC, *words, status=status, cwd=cwd, env=environment(**variables))


def started(*words: object, cwd: object = ROOT, stderr: int = subprocess.PIPE, **variables: str) -> subprocess.Popen:
    """linac in a process group of its own; what it says is in pipes."""
    return subprocess.Popen([LINAC, *map(str, words)], cwd=cwd, env=environment(**variables), text=True, stdout=subprocess.PIPE, stderr=stderr,
                            start_new_session=True)


def run(out: pathlib.Path, settings: dict, *extra: str, status: int = 0, **variables: str) -> str:
    """Trains to the end."""
    return output(*arguments(out, settings, *extra), status=status, limit_s=900, cwd=ROOT, env=environment(**variables))


def start(out: pathlib.Path, settings: dict, *extra: str, **variables: str) -> subprocess.Popen:
    """Starts a run in a process group of its own, its output in OUT.log."""
    with open(f"{out}.log", "ab") as log:
        return subprocess.Popen(arguments(out, settings, *extra), cwd=ROOT, env=environment(**variables), stdout=log, stderr=log, start_new_session=True)


def kill_tree(process: subprocess.Popen) -> None:
    """kill -9 of the whole process tree, by the group that start() gave it."""
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def lines(out: pathlib.Path) -> list[dict]:
    path = out / "metrics.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def losses(out: pathlib.Path) -> list[dict]:
    """The loss of every step and the losses and physics figures of every epoch, without times."""
    kept = []
    for line in lines(out):
        if line["kind"] == "step":
            kept.append({key: line[key] for key in ("epoch", "step", "global_step", "lr", "loss")})
        elif line["kind"] == "epoch":
            kept.append({key: line[key] for key in ("epoch", "train", "test", "physics")})
    return kept


def newest_checkpoint(out: pathlib.Path) -> pathlib.Path:
    return sorted((out / "checkpoints").glob("step-*.safetensors"))[-1]


def tensors(out: pathlib.Path) -> dict[str, bytes]:
    """Of the newest checkpoint, without its notes and the digest of them: they have the job, and that where the data lie."""
    return tensors_in(newest_checkpoint(out).read_bytes())


def tensors_in(content: bytes) -> dict[str, bytes]:
    body = 8 + int.from_bytes(content[:8], "little")
    places = json.loads(content[8:body])
    return {name: content[body + place["data_offsets"][0]:body + place["data_offsets"][1]] for name, place in places.items()
            if name not in ("__metadata__", "_digest")}


def wait_for_steps(out: pathlib.Path, process: subprocess.Popen, steps: int, limit_s: float = 600) -> None:
    """Returns when the run has finished so many steps, or has ended."""
    deadline = time.monotonic() + limit_s
    while process.poll() is None and steps_so_far(out) < steps:
        if time.monotonic() > deadline:
            kill_tree(process)
            sys.exit(f"{out}: {steps} steps not reached in {limit_s} s")
        time.sleep(0.05)


def lines_so_far(out: pathlib.Path) -> list[dict]:
    """Like lines(), while the last line may be half written."""
    path = out / "metrics.jsonl"
    text = path.read_text() if path.exists() else ""
    return [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n")]


def steps_so_far(out: pathlib.Path) -> int:
    """Counted, not parsed: a test that waits for a step asks many times a second."""
    path = out / "metrics.jsonl"
    text = path.read_bytes() if path.exists() else b""
    return text.count(b'"kind":"step"', 0, text.rfind(b"\n") + 1)
