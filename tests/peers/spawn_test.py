#!/usr/bin/env python3
"""`linac spawn` with real frameworks, two workers on this host: TensorFlow's MultiWorkerMirroredStrategy finds its peers by TF_CONFIG, and PyTorch's
gloo by torchrun's variables; both get the mean that one process would. With the packages of LINAC_SPAWN_PYTHON, else of
bench/peers/setup.sh; a framework that is not there is left out by name, and without any the exit status is 77."""

import json
import os
import pathlib
import subprocess
import tempfile
import time

from lib.checks import check
from lib.launches import Client
from lib.runs import ROOT
from lib.skips import skip, skipped

PYTHON = os.environ.get("LINAC_SPAWN_PYTHON", str(ROOT / "build" / "bench-peers" / "bin" / "python"))

# One step of SGD on a line through nothing: the gradient of each worker is another one, and both take their mean.
TENSORFLOW = """
import json, os
import tensorflow as tf
strategy = tf.distribute.MultiWorkerMirroredStrategy()
rank = int(os.environ["WORKER_NUMBER"])
with strategy.scope():
    weight = tf.Variable(1.0)
def step():
    gradient = 2.0 * weight * float(rank + 1)
    mean = tf.distribute.get_replica_context().all_reduce(tf.distribute.ReduceOp.MEAN, gradient)
    return mean
mean = strategy.run(tf.function(step))
with open("mean-%d.json" % rank, "w") as file:
    json.dump({"replicas": strategy.num_replicas_in_sync, "mean": float(strategy.experimental_local_results(mean)[0])}, file)
"""
TORCH = """
import json, os
import torch
import torch.distributed as dist
dist.init_process_group("gloo")
weight = torch.tensor(1.0, requires_grad=True)
(weight ** 2 * (dist.get_rank() + 1)).backward()
dist.all_reduce(weight.grad)
with open("mean-%d.json" % dist.get_rank(), "w") as file:
    json.dump({"replicas": dist.get_world_size(), "mean": float(weight.grad) / dist.get_world_size()}, file)
dist.destroy_process_group()
"""


def has(package: str) -> bool:
    return os.path.exists(PYTHON) and subprocess.run([PYTHON, "-c", f"import importlib.util, sys; sys.exit(importlib.util.find_spec('{package}') is None)"]).returncode == 0


def main() -> None:
    frameworks = {name: text for name, text in {"tensorflow": TENSORFLOW, "torch": TORCH}.items() if has(name)}
    if not frameworks:
        skip("neither TensorFlow nor PyTorch", "bench/peers/setup.sh")
    for name in sorted({"tensorflow", "torch"} - frameworks.keys()):
        skipped(name, f"{PYTHON} has none", "bench/peers/setup.sh")
    with tempfile.TemporaryDirectory(prefix="linac-spawn-", ignore_cleanup_errors=True) as folder:
        root = pathlib.Path(folder)
        client = Client(root, {"here": {"kind": "local", "folder": f"{root}/site", "python": PYTHON, "environment": {"CUDA_VISIBLE_DEVICES": ""}}})
        for name, text in frameworks.items():
            begin = time.monotonic()
            (root / f"{name}.py").write_text(text)
            said = client.linac("spawn", root / f"{name}.py", "--on", "here", "-t", name, "-w", 2, "--restarts", 0, "--follow")
            means = [json.loads((root / "site" / name / "out" / f"mean-{rank}.json").read_text()) for rank in range(2)]
            check(means == [{"replicas": 2, "mean": 3.0}] * 2, f"{name}: two workers have the mean of both: {means}")
            check("SUCCEEDED" in said, "and come to their end")
            print(f"{name}: {time.monotonic() - begin:.1f} s")


if __name__ == "__main__":
    main()
