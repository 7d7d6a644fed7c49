#!/usr/bin/env python3
"""The energy of runs, by meters that are made up: each machine counts once, through resumes and kills, in the record, the report and the
budget; and by a model where there is none. The counter of a machine rises by itself, and what a run says is held against it."""

import json
import os
import pathlib
import re
import subprocess
import tempfile
import threading
import time

from lib import runs
from lib.checks import check, wait_for
from lib.elastic import steady
from lib.ports import free_port
from lib.runs import linac
from lib.skips import skip

JOB = {"job": "examples/topology.yaml", **runs.SMALL_CLASSIFIER, "train.replicas": 2, "train.batch": 10, "train.epochs": 1, "data.test": "[]", "checkpoint.best_by": "loss"}
WATTS = 5000
KWH = 3.6e6


class Machine:
    """One with a counter of its processors, in a folder that stands for its /sys."""

    def __init__(self, root: pathlib.Path, name: str):
        self.sys, self.boot = root / f"sys-{name}", root / f"boot-{name}"
        self.zone = self.sys / "class/powercap/intel-rapl:0"
        self.zone.mkdir(parents=True)
        self.boot.write_text(f"{name * 8}-0000\n")
        (self.zone / "name").write_text("package-0\n")
        (self.zone / "max_energy_range_uj").write_text(f"{10**15}\n")
        self.begin = time.monotonic()
        self.over = threading.Event()
        self._set()
        self.thread = threading.Thread(target=self._rise, daemon=True)
        self.thread.start()

    @property
    def joules(self) -> float:
        """As who reads the counter sees them."""
        return 1e-6 * float((self.zone / "energy_uj").read_text())

    def _set(self) -> None:
        (self.zone / "new").write_text(f"{round(1e6 * WATTS * (time.monotonic() - self.begin))}\n")
        os.replace(self.zone / "new", self.zone / "energy_uj")

    def _rise(self) -> None:
        while not self.over.wait(0.02):
            self._set()

    def wrapped(self, *words: object) -> list[str]:
        mount = 'mount --bind "$1" /sys && mount --bind "$2" /proc/sys/kernel/random/boot_id && shift 2 && exec "$@"'
        return [*NAMESPACE, "sh", "-c", mount, "sh", *map(str, (self.sys, self.boot, *words))]

    def command(self, out: pathlib.Path, settings: dict, *extra: str) -> list[str]:
        return self.wrapped(*runs.arguments(out, settings, *extra))

    def run(self, out: pathlib.Path, settings: dict, *extra: str, status: int = 0) -> tuple[str, float]:
        """What it says, and the joules of the machine meanwhile."""
        before = self.joules
        said = runs.output(*self.command(out, settings, *extra), status=status, cwd=runs.ROOT, env=runs.environment())
        return said, self.joules - before


def namespace() -> list[str] | None:
    for words in (["unshare", "--mount"], ["unshare", "--user", "--map-root-user", "--mount"]):
        if subprocess.run([*words, "mount", "--bind", "/tmp", "/sys"], capture_output=True).returncode == 0:
            return words
    return None


NAMESPACE = namespace()


def energy_of(run: pathlib.Path) -> dict:
    return json.loads((run / "run.json").read_text())["energy"]


def one_machine(root: pathlib.Path) -> None:
    machine, run = Machine(root, "a"), root / "one"
    settings = JOB | {"budget.co2_g_per_kwh": 400, "budget.watts": 77}
    said, joules = machine.run(run, settings | {"train.max_steps": 12}, "--workers", "2")
    first = energy_of(run)
    check(0.05 * joules < KWH * first["kwh"] <= joules, f"two workers of one machine: {first['kwh']} kWh of {joules / KWH}, once")
    check(len(first["told"]) == 2 and first["machines"] == 1 and "model_kwh" not in first, "both have told, of one machine")
    check(0 < first["idle_kwh"] <= first["kwh"], "what it draws when idle is told apart")
    check(abs(first["co2_kg"] - 0.4 * first["kwh"]) < 1e-9, "carbon dioxide is that of the kWh")
    check("RAPL: 1 package" in first["methods"][0] and "energy       " in said, "the method is in words, and the terminal has a line")

    _, more = machine.run(run, settings | {"train.max_steps": 20}, "--resume")
    second = energy_of(run)
    check(first["kwh"] < second["kwh"] <= first["kwh"] + more / KWH and len(second["told"]) == 4, "a resume goes on counting")
    text = linac("report", run)
    report = json.loads((run / "report/report.json").read_text())
    check(abs(report["energy"]["kwh"] - second["kwh"]) < 1e-9 and "energy: " in text, "the report has what the record has")
    page = (run / "report/report.html").read_text()
    check("of which idle" in page and "RAPL: 1 package" in page, "and so has its page")

    # A run that is killed has told each 10 s.
    killed = root / "killed"
    process = subprocess.Popen(machine.command(killed, settings | {"train.epochs": 1000}), cwd=runs.ROOT, env=runs.environment(**steady(root)),
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    told = lambda: (killed / "metrics.jsonl").is_file() and '"kind":"workers"' in (killed / "metrics.jsonl").read_text()
    wait_for(told, "the first account", 60)
    runs.kill_tree(process)
    done = runs.steps_so_far(killed)
    machine.run(killed, settings | {"train.max_steps": done + 2}, "--resume")
    both = energy_of(killed)
    before = min(both["told"], key=lambda one: one["from"])
    check(len(both["told"]) == 4 and before["seconds"] > 5 and before["joules"]["processors"] > 0.5 * WATTS * before["seconds"], "what was told before the kill counts")

    # The meter decides, not the model; also before the first step of a resume.
    run, long = root / "bounded", JOB | {"train.epochs": 50}
    said, _ = machine.run(run, long | {"budget.kwh": 50 / KWH, "budget.watts": 1e-6}, status=12)
    check("budget.kwh = " in said and "is used up after step" in said, "a budget of kWh ends by the meter")
    done = runs.steps_so_far(run)
    said, _ = machine.run(run, long | {"budget.co2_kg": 50 / KWH, "budget.watts": 1e-6, "budget.co2_g_per_kwh": 1000}, "--resume", status=12)
    check("budget.co2_kg = " in said and runs.steps_so_far(run) == done, "no step more, as the record knows what was used")
    machine.run(run, long | {"budget.kwh": 1000, "budget.watts": 1e9, "train.max_steps": done + 2}, "--resume")
    check(runs.steps_so_far(run) == done + 2, "with more of it the run goes on, whatever a model says")
    machine.over.set()


def study(root: pathlib.Path) -> None:
    """Two trials side by side on a machine; and limits of a study by its meter."""
    machine = Machine(root, "d")
    text = (runs.ROOT / "examples/topology.yaml").read_text().replace("epochs: 12", "epochs: 2").replace("workers: 2", "workers: 1")
    text = text.replace("  batch: 30", "  batch: 30\n  steps_per_epoch: 3").replace("  schedule: {drops: [{epoch: 9, factor: 0.3}]}\n", "")
    (file := root / "study.yaml").write_text(text + "search: {train.optimizer.lr: {kind: log, low: 1.0e-4, high: 1.0e-2}}\nobjective: {metric: loss}\n"
                                             "budget: {trials: 2}\nparallel: 2\n")
    before = machine.joules
    runs.output(*machine.wrapped(runs.LINAC, "tune", file, "--out", root / "study"), cwd=runs.ROOT, env=runs.environment())
    joules = machine.joules - before
    each = [energy_of(trial)["kwh"] for trial in sorted((root / "study/trials").iterdir())]
    page = (root / "study/report.html").read_text()
    told = float(re.search(r"([\d.e-]+) kWh", page)[1])
    check(len(each) == 2 and max(each) * 0.99 < told <= 1.01 * min(sum(each), joules / KWH), f"trials of {each} kWh, together {told} of {joules / KWH}")
    said = runs.output(*machine.wrapped(runs.LINAC, "tune", file, "--out", root / "bounded-study", "--parallel", 1, "--limit", f"kwh={1 / KWH}",
                                        "--limit", "watts=1e-6"), status=12, cwd=runs.ROOT, env=runs.environment())
    check("limits.kwh = " in said and "is used up" in said, "the limits of a study end it by the meter")
    machine.over.set()


def two_machines(root: pathlib.Path) -> None:
    machines, run, port = [Machine(root, name) for name in "bc"], root / "two", free_port()
    before = [machine.joules for machine in machines]
    processes = [subprocess.Popen(machine.command(run, JOB | {"train.max_steps": 12}), cwd=runs.ROOT, stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL, env=runs.environment(**runs.placed(rank, 2, port, local_rank=rank)))
                 for rank, machine in enumerate(machines)]
    check([process.wait(120) for process in processes] == [0, 0], "two workers on two machines")
    joules = sum(machine.joules - one for machine, one in zip(machines, before))
    energy = energy_of(run)
    check(energy["machines"] == 2, "both machines count")
    each = [one["joules"]["processors"] for one in energy["told"]]
    check(abs(KWH * energy["kwh"] - sum(each)) < 1e-3 and sum(each) <= joules, "and their energy is added")
    for machine in machines:
        machine.over.set()


def without_a_meter(root: pathlib.Path) -> None:
    run, nothing = root / "model", root / "nothing"
    runs.run(run, JOB | {"train.max_steps": 3, "budget.watts": 1000}, "--workers", "2")
    energy = energy_of(run)
    if "model_kwh" not in energy:
        check("RAPL" in energy["methods"][0], "this machine has a meter")
        return
    seconds = sum(one["seconds"] for one in energy["told"])
    check(abs(energy["kwh"] - seconds / 3600) < 1e-9 and energy["model_kwh"] == energy["kwh"], "the watts of each worker for its time")
    check("a model, 1000 W" in energy["methods"][0] and "idle_kwh" not in energy, "and it says so")
    check("by a model" in linac("report", run), "so does the report")
    runs.run(nothing, JOB | {"train.max_steps": 3})
    check("kwh" not in energy_of(nothing) and "not known" in energy_of(nothing)["methods"][0], "what nothing tells is not known")
    check("energy: " not in linac("report", nothing), "and not in the report")
    check("not known" in (nothing / "report/report.html").read_text(), "whose page says why")


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="linac-energy-") as folder:
        root = pathlib.Path(folder)
        without_a_meter(root)
        if NAMESPACE is None:
            skip("no mount of its own over /sys")
        one_machine(root)
        study(root)
        two_machines(root)


main()
