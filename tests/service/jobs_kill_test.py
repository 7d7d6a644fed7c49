#!/usr/bin/env python3
"""A service that is killed again and again while it queues and runs jobs: what it acknowledged is there, and nothing runs twice.

The number of kills is the first argument (default 15). LINAC names the program.
"""

import pathlib
import random
import sys
import tempfile
import time

from lib.ports import free_port
from lib.server_process import Service
from lib.service_client import ENDED, JOB, SHORT, STEPS, Client


def main() -> int:
    kills = int(sys.argv[1]) if len(sys.argv) > 1 else 15
    chance = random.Random(8)
    acknowledged, problems = {}, []
    with tempfile.TemporaryDirectory(prefix="linac-kills-") as data, tempfile.TemporaryDirectory() as config:
        listen = f"127.0.0.1:{free_port()}"
        token = None
        for number in range(kills):
            with Service(data=data, listen=listen) as service:
                token = token or service.token
                service.token = token
                client = Client(service, config)
                [run] = [entry["id"] for entry in client.json("submit", JOB, *SHORT, "--name", f"job-{number}", "--key", f"key-{number}")["runs"]]
                acknowledged[f"job-{number}"] = run
                time.sleep(chance.uniform(0, 2))
                service.kill()
        with Service(data=data, listen=listen) as service:
            service.token = token
            client = Client(service, config)
            again = client.json("submit", JOB, *SHORT, "--name", "job-0", "--key", "key-0")["runs"][0]["id"]
            if again != acknowledged["job-0"]:
                problems.append("a repeated submission made another run")
            end = time.monotonic() + 60 + 20 * kills
            while client.json("status")["jobs"] and time.monotonic() < end:
                time.sleep(1)
            runs = {run["id"]: run for run in client.json("list", "--limit", "5000")["runs"]}
            if set(runs) != set(acknowledged.values()):
                problems.append(f"{len(runs)} runs for {len(acknowledged)} acknowledged submissions")
            for name, run in acknowledged.items():
                found = client.state(run)
                starts = [change["to"] for change in found["transitions"]].count("STARTING")
                if found["state"] not in ENDED or found["state"] != "SUCCEEDED":
                    problems.append(f"{name}: {found['state']} ({found['reason']})")
                elif starts != 1:
                    problems.append(f"{name}: started {starts} times")
                elif client.curve(run) != list(range(1, STEPS + 1)):
                    problems.append(f"{name}: steps {client.curve(run)}")
                attempts = sorted(path.name for path in (pathlib.Path(data) / "runs" / run).glob("attempt-*"))
                if attempts != ["attempt-1"]:
                    problems.append(f"{name}: {attempts}")
    print("\n".join(problems) or f"{kills} kills, {len(acknowledged)} jobs: none lost, none doubled")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
