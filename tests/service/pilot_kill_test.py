#!/usr/bin/env python3
"""Short jobs at three agents, while agents and service are killed (kill -9) again and again: each job is done once, and none is lost.

    pilot_kill_test.py [--jobs 24] [--kills 4] [--seed 5]

LINAC names the program.
"""

import argparse
import collections
import random
import sys
import tempfile
import time

from attack_world import call, good
from lib.pilot_process import Agent
from lib.ports import free_port
from lib.server_process import Service
from lib.service_client import ENDED, STEPS, Client
from pilot_test import PILOTS, SHORT, SMALL

AGENTS, PART = 3, 50
LEASE = ("--lease", "8")


def submit(client: Client, jobs: int) -> list[str]:
    runs = []
    for first in range(1, jobs + 1, PART):  # a busy host takes too long to check them all at once
        runs += client.submit(*SHORT, *PILOTS, "--attempts", "100", "--array", f"train.seed={first}..{min(jobs, first + PART - 1)}")
    return runs


def states_of(service: Service) -> dict[str, str]:
    found = good(call(service, "GET", "/api/v1/runs?limit=5000", token=service.token)).json()["runs"]
    return {run["id"]: run["state"] for run in found}


def check(client: Client, run: str) -> tuple[str, int]:
    """What is wrong with it, and how many attempts it took."""
    found = client.state(run)
    words = [change["to"] for change in found["transitions"]]
    attempts = words.count("STARTING")
    if found["state"] != "SUCCEEDED" or words.count("SUCCEEDED") != 1:
        return f"{run}: {found['state']} ({found['reason']})", attempts
    if client.curve(run) != list(range(1, STEPS + 1)):
        return f"{run}: steps {client.curve(run)}", attempts
    return ("" if client.json("artifacts", "list", run, "models") else f"{run}: no model"), attempts


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--jobs", type=int, default=24)
    parser.add_argument("--kills", type=int, default=4)
    parser.add_argument("--seed", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=3, help="between kills, on average")
    options = parser.parse_args()
    chance = random.Random(options.seed)
    killed = collections.Counter()
    begin = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="linac-pilot-kills-") as folder, tempfile.TemporaryDirectory() as config:
        listen = f"127.0.0.1:{free_port()}"
        service = Service(*LEASE, data=f"{folder}/data", listen=listen).__enter__()
        token = service.token
        client = Client(service, config)
        runs = submit(client, options.jobs)
        of_agents = good(call(service, "POST", "/api/v1/users/admin/tokens", {"scope": "agent"}, token)).json()["secret"]
        agents = [Agent(service.url, of_agents, *SMALL, "--name", f"agent-{number}", folder=f"{folder}/agent-{number}").start() for number in range(AGENTS)]
        last = None
        while True:
            now = states_of(service)
            assert set(now) == set(runs), "runs were lost, or doubled"
            left = [run for run in runs if now[run] not in ENDED]
            if (len(left), sum(killed.values())) != last:
                last = (len(left), sum(killed.values()))
                print(f"{time.monotonic() - begin:6.1f} s: {len(left)} jobs left, {dict(killed)} killed", flush=True)
            if not left:
                break
            time.sleep(chance.uniform(0.2, 1.8) * options.seconds)
            if sum(killed.values()) >= options.kills:
                continue
            victim = chance.randrange(AGENTS + 1)
            if victim == AGENTS:
                killed["service"] += 1
                service.kill()
                service = Service(*LEASE, data=f"{folder}/data", listen=listen).__enter__()
                service.token = token
            else:
                killed["agents"] += 1
                agents[victim].kill()
                agents[victim].start()
        took = time.monotonic() - begin
        problems, attempts = [], collections.Counter()
        for run in runs:
            problem, number = check(client, run)
            attempts[number] += 1
            if problem:
                problems.append(problem)
        for agent in agents:
            if agent.drain() != 0:
                problems.append(f"an agent does not end well:\n{agent.said()[-2000:]}")
            agent.__exit__()
        service.__exit__()
    print("\n".join(problems) or f"{len(runs)} jobs at {AGENTS} agents, {dict(killed)} killed, in {took:.0f} s: each done once, none lost; "
          f"jobs by attempts: {dict(sorted(attempts.items()))}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
