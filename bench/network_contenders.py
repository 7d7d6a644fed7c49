"""What bench/network.py measures on the hosts of a network (tests/lib/hosts.py): linac, started anew for each training, and PyTorch
DDP, whose processes stay and wait between their turns. Both give the same figures of a step, with times in seconds:

step_s          from its begin to its end, of all hosts together
compute_s       the same without communication
waiting_s       what a host waits at the ends of its updates, from its own last gradient to the sum: what communication was not hidden,
                and the hosts that were slower; mean over the hosts
waiting_least_s of the host that waits least, so that others' slowness is mostly not in it
exposed_s       from the last gradient of the last host to the sums of all, over the updates: what of the communication nothing hides, and
                nobody's slowness explains
"""

import json
import os
import pathlib
import re
import select
import statistics
import subprocess
import sys
import time

from lib import elastic, runs
from lib.runs import ROOT

UPDATES = 4
MANY_REPLICAS, MANY_REPLICAS_STEPS = 4, 2  # long steps: fewer of them
PHASES = ("input", "compute", "communication", "update")
SETTINGS = {"job": "examples/3dgan-from-nothing.yaml", "train.epochs": 1000000, "data.test": "[]", "checkpoint.every_epochs": 0,
            "checkpoint.every_minutes": 0, "checkpoint.best_by": "loss", "train.optimizer.lr": 1e-5, "distribution.balance": "false"}
ENOUGH_EVENTS = 288  # of data/showers-train.h5; the file is read as often as a step needs it


UPDATE = re.compile(r"\[train\] update (\S+) last gradient ([0-9.]+) sum ([0-9.]+)")


def exposed_s(updates: list[list[tuple[float, float]]]) -> float:
    """Of (last gradient, sum) of each update of each host, by one clock."""
    return sum(max(0.0, max(end for _, end in one) - max(ready for ready, _ in one)) for one in zip(*updates, strict=True))


def pinned(rank: int) -> list[str]:
    """Hosts share the machine's cores in the same way for everybody."""
    return ["taskset", "-c", str(rank % os.cpu_count())]


class Linac:
    name = "linac"

    def __init__(self, batch: int, steps: int, folder: pathlib.Path):
        self.batch, self.steps_wanted, self.folder, self.number = batch, steps, folder, 0

    def measure(self, members: list, replicas: int) -> dict:
        """Of the steps after the first one, in which connections are made and memory is taken."""
        self.number += 1
        self.steps = min(self.steps_wanted, MANY_REPLICAS_STEPS) if replicas >= MANY_REPLICAS else self.steps_wanted
        out = self.folder / f"linac-{self.number}"
        files = -(-len(members) * replicas * self.batch // ENOUGH_EVENTS)
        settings = {**SETTINGS, "train.replicas": replicas * len(members), "train.batch": self.batch, "train.max_steps": self.steps + 1,
                    "data.train": json.dumps(["data/showers-train.h5"] * files)}
        workers = []
        for rank, host in enumerate(members):
            variables = runs.placed(rank, len(members), 29600, members[0].address)
            with open(f"{out}.{rank}.log", "wb") as log:
                workers.append(host.popen([*pinned(rank), *runs.arguments(out, settings)], cwd=ROOT, env=runs.environment(**variables, LINAC_LOG_LEVEL="debug"),
                                          stdout=log, stderr=log))
        record, begin = elastic.Record(out), None
        while (done := record.steps()) <= self.steps:
            if begin is None and done >= 1:
                begin = time.monotonic()
            if any(worker.poll() for worker in workers):
                sys.exit(f"linac failed: {pathlib.Path(f'{out}.0.log').read_text()[-2000:]}")
            time.sleep(0.002)
        step_s = (time.monotonic() - begin) / self.steps
        for worker in workers:
            worker.wait(timeout=60)
        return {"step_s": step_s, **self.parts(out, step_s), "exposed_s": self.exposed(out, len(members))}

    def exposed(self, out: pathlib.Path, hosts: int) -> float:
        """Of a step after the first one."""
        logs = [pathlib.Path(f"{out}.{rank}.log").read_text() for rank in range(hosts)]
        updates = [[(float(ready), float(end)) for _, ready, end in UPDATE.findall(log)] for log in logs]
        if any(len(one) != UPDATES * (self.steps + 1) for one in updates):
            sys.exit(f"linac's logs have {[len(one) for one in updates]} updates of {UPDATES * (self.steps + 1)}")
        return exposed_s([one[UPDATES:] for one in updates]) / self.steps

    def parts(self, out: pathlib.Path, step_s: float) -> dict:
        """From what each worker has told of itself by the first such line of the record to the end; over all steps where there is none
        (a line is written at most every 10 s)."""
        told = [line["workers"] for line in runs.lines(out) if line["kind"] == "workers" and line["global_step"] <= self.steps]
        last = json.loads((out / "run.json").read_text())["time_by_worker"]
        first = {worker["rank"]: worker for worker in told[0]} if told else {}
        shares = []
        for rank, worker in enumerate(last):
            since = first.get(rank, {})
            wall = {name: worker["phases"][name]["wall_s"] - (since["phases"][name]["wall_s"] if since else 0) for name in PHASES}
            shares.append(wall["communication"] / sum(wall.values()))
        steps = self.steps + 1
        return {"compute_s": step_s * (1 - statistics.mean(shares)), "waiting_s": step_s * statistics.mean(shares),
                "waiting_least_s": step_s * min(shares), "without_first_step": bool(told),
                "exchange_s": statistics.mean(worker["exchange_s"] / steps for worker in last),
                "communication_cpu_s": statistics.mean(worker["phases"]["communication"]["cpu_s"] / steps for worker in last),
                "cpu_s": statistics.mean(sum(worker["phases"][name]["cpu_s"] for name in PHASES) / steps for worker in last),
                "sent_mb": min(worker["sent_bytes"] for worker in last) / steps / 1e6}

    def predicted_s(self, hosts: int, replicas: int, mb_per_s: float, latency_s: float) -> float:
        """What `linac bench scaling` says is not hidden of a step on such a link."""
        link = f"{mb_per_s * 8:.3f}mbit:{latency_s * 1e6:.1f}us"
        path = self.folder / "predicted.json"
        subprocess.run([runs.LINAC, "bench", "scaling", SETTINGS["job"], "--compute", "1", "--replicas-per-worker", str(replicas), "--set",
                        f"train.batch={self.batch}", "--predict", str(hosts), "--link", link, "--json", path], cwd=ROOT, check=True,
                       stdout=subprocess.DEVNULL)
        return json.loads(path.read_text())["predicted"]["hosts"][0]["exposed_s"]

    def close(self) -> None:
        pass


class Ddp:
    name = "PyTorch DDP"

    def __init__(self, members: list, python: pathlib.Path, batch: int, mode: str, folder: pathlib.Path):
        self.limit_s = 1800
        self.workers = []
        for rank, host in enumerate(members):
            variables = {**runs.placed(rank, len(members), 29700, members[0].address), "GLOO_SOCKET_IFNAME": "eth0",
                         "OMP_NUM_THREADS": "1", "OMP_WAIT_POLICY": "passive"}
            command = [*pinned(rank), python, ROOT / "bench/peers/torch_ddp.py", "--batch", batch, "--mode", mode]
            with open(folder / f"ddp.{rank}.log", "wb") as log:
                self.workers.append(host.popen(command, env=runs.environment(**variables), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                               stderr=log, bufsize=0))
        self.log = folder / "ddp.0.log"
        for worker in self.workers:
            while self.line(worker) != "ready":
                pass

    def line(self, worker: subprocess.Popen) -> str:
        if not select.select([worker.stdout], [], [], self.limit_s)[0]:
            sys.exit(f"PyTorch DDP: no answer in {self.limit_s} s")
        line = worker.stdout.readline().decode().strip()
        if not line:
            sys.exit(f"PyTorch DDP ended: {self.log.read_text()[-2000:]}")
        return line

    def ask(self, how: str, micro_batches: int) -> list[dict]:
        for worker in self.workers:
            worker.stdin.write(f"go {how} {micro_batches}\n".encode())
        return [json.loads(self.line(worker)) for worker in self.workers]

    def measure(self, members: list, replicas: int) -> dict:
        alone, together = self.ask("alone", replicas), self.ask("together", replicas)
        waiting = [sum(update["end"] - update["ready"] for update in host["updates"]) for host in together]
        updates = [[(update["ready"], update["end"]) for update in host["updates"]] for host in together]
        return {"step_s": max(host["end"] for host in together) - min(host["begin"] for host in together),
                "compute_s": statistics.mean(host["end"] - host["begin"] for host in alone),
                "waiting_s": statistics.mean(waiting), "waiting_least_s": min(waiting), "exposed_s": exposed_s(updates),
                "cpu_s": statistics.mean(host["cpu_s"] for host in together)}

    def close(self) -> None:
        for worker in self.workers:
            worker.stdin.close()
        for worker in self.workers:
            worker.wait(timeout=60)
