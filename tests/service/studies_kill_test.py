"""A study at the service with a thousand trials, of eight runners that are processes of their own: runners and service are killed (kill -9) a hundred times
in all. Each trial is told once, none is lost, and all suggestions follow from the lines.

studies_kill_test.py [--trials 1000] [--kills 100] [--seed 1]"""

import argparse
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import time

from lib import paths
from lib.ports import free_port
from lib.server_process import Service
from studies_test import SPACE, Study, linac, loss

paths.add("python")
from linac import Client  # noqa: E402

RUNNERS = 8
LEASE_SECONDS = 2  # a lost runner's trial is given on after so long


def carry_out(url: str, log: str) -> None:
    """A runner: writes down each trial before it is told."""
    mine = Client(url).study("killed", seconds=LEASE_SECONDS)
    with open(log, "a", buffering=1) as file:
        for number, point, report in mine.trials():
            file.write(json.dumps({"begun": number}) + "\n")
            time.sleep(random.uniform(0.005, 0.04))
            try:
                report(1, loss(point))
                file.write(json.dumps([number, loss(point)]) + "\n")
                mine.tell(number, loss(point))
            except RuntimeError as error:  # it was away for longer than its lease, and another has the trial
                file.write(json.dumps(str(error)) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=1000)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    choices, killed, begin = random.Random(options.seed), {"service": 0, "runner": 0}, time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        service = Service("--requests-per-second", "100000", data=str(root / "data"), listen=f"127.0.0.1:{free_port()}")
        with service:
            token, environment = service.token, os.environ | {"LINAC_TOKEN": service.token}
            text = SPACE.replace("trials: TRIALS", f"trials: {options.trials}, attempts: 1000") + "sampler: {name: tpe}\npruner: {name: median}\n"
            study = Study(service, token, "killed", text)
            start = lambda i: subprocess.Popen([sys.executable, __file__, "--run", service.url, str(root / f"runner-{i}")], env=environment)  # noqa: E731
            runners = [start(i) for i in range(RUNNERS)]
            try:
                for _ in range(options.kills):
                    time.sleep(choices.uniform(0.05, 0.4))
                    if choices.random() < 0.5:
                        service.kill()
                        service.url = None
                        service.__enter__()
                        killed["service"] += 1
                    else:
                        i = choices.randrange(RUNNERS)
                        runners[i].kill()
                        runners[i].wait()
                        runners[i] = start(i)
                        killed["runner"] += 1
                for one in runners:
                    assert one.wait(timeout=120) == 0
            finally:
                for one in runners:
                    one.kill()
            before = study.get()["told"]
            lines = study.lines()
            told = {line["trial"]: line["values"][0] for line in lines if line["op"] == "tell"}
            assert len([line for line in lines if line["op"] == "tell"]) == len(told) == options.trials == before, (len(told), before)
            assert sorted(told) == list(range(1, options.trials + 1)) and study.ask()["done"]
            written = [json.loads(line) for log in sorted(root.glob("runner-*")) for line in log.read_text().splitlines()]
            carried = {(number, value) for number, value in (one for one in written if isinstance(one, list))}
            assert set(told.items()) <= carried, "what is told was measured by a runner"
            begun = [one["begun"] for one in written if isinstance(one, dict)]
            again = len(begun) - len(set(begun))
            assert set(begun) == set(told) and again > 0, "a trial of a runner that was killed is given again"
            assert f"all {options.trials} suggestions follow" in linac("study", "replay", "killed", "--server", service.url, LINAC_TOKEN=token)
    print(f"{options.trials} trials of {RUNNERS} runners in {time.monotonic() - begin:.0f} s: the service killed {killed['service']} times, runners {killed['runner']} times; "
          f"{again} trials were given again, each was told once, none is lost, all suggestions follow")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--run"]:
        carry_out(*sys.argv[2:])
    else:
        main()
