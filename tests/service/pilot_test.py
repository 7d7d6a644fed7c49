#!/usr/bin/env python3
"""Jobs carried out by agents (`linac agent`), by real processes: shared among them, drained, lost, cut off, killed; and what agents, users and
services that mean no good may try. LINAC names the program.

    pilot_test.py [WORD...]      those with one of these words in their name
"""

import contextlib
import hashlib
import http.server
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import traceback

from attack_world import People, call, good
from lib.checks import wait_for
from lib.pilot_process import Agent, in_parallel
from lib.ports import free_port
from lib.relay import CutRelay
from lib.runs import LINAC, ROOT
from lib.server_process import Service
from lib.service_client import JOB, SHORT_LISTS, STEPS, Client

LEASE_S, LONG_LEASE_S = 4, 60  # a busy machine keeps an agent from renewing a short one
ABSOLUTE = ["--set", f"data.train=[{ROOT}/data/topology-train.parquet]", "--set", "data.test=[]", "--set", f"data.scaling={ROOT}/data/topology-scaling.json",
            "--set", "checkpoint.best_by=loss", "--set", "workers=1", "--set", "train.threads=1"]
SHORT = [*ABSOLUTE, *SHORT_LISTS, "--set", "train.epochs=1", "--set", f"train.steps_per_epoch={STEPS}"]
LONG = [*ABSOLUTE, "--set", "train.epochs=100000", "--set", "train.steps_per_epoch=10"]
PILOTS = ["--on", "pilots", "--cores", "1"]
SMALL = ("--slots", "cores=1,gpus=0")


class World:
    """A service, its admin's verbs, and tokens of agents: the admin's own, and one for everybody's jobs."""

    def __init__(self, service: Service, config: str):
        self.service, self.config = service, config
        self.client = Client(service, config)
        self.people = People(service)
        self.token = self.people.token("admin", scope="agent")
        self.shared = self.people.token("admin", scope="shared-agent")

    def agent(self, *options: str, **more) -> Agent:
        return Agent(self.service.url, self.token, *SMALL, *options, **more)

    def client_of(self, token: str) -> Client:
        client = Client(self.service, self.config)
        client.environment["LINAC_TOKEN"] = token
        return client

    def agents(self) -> list[dict]:
        return self.client.json("agents", "list")["agents"]

    def steps_of(self, run: str) -> list[int]:
        return self.client.curve(run)


def states(run: dict) -> list[str]:
    return [change["to"] for change in run["transitions"]]


def digest(path: pathlib.Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def whole(steps: list[int]) -> bool:
    return steps == list(range(1, len(steps) + 1))


def of_tag(tag: str) -> list[str]:
    """Only agents of this tag take the job, so tests meet at one service without meeting each other's agents."""
    return [*PILOTS, "--tags", tag]


def two_agents_share_the_jobs_and_train_the_same_bits(world: World) -> None:
    client = world.client
    with tempfile.TemporaryDirectory() as folder, world.agent("--name", "twin", "--tags", "twins") as one, world.agent("--name", "twin", "--tags", "twins") as two:
        runs = [client.submit(*SHORT, *of_tag("twins"), "--name", f"shared-{number}")[0] for number in range(4)]
        alone = subprocess.run([LINAC, "train", JOB, *SHORT, "--out", f"{folder}/alone"], cwd=ROOT, capture_output=True, text=True, timeout=120)
        assert alone.returncode == 0, alone.stderr
        for run in runs:
            found = client.wait(run, "SUCCEEDED")
            assert states(found).count("STARTING") == 1 and world.steps_of(run) == list(range(1, STEPS + 1)), found
            files = {entry["path"]: entry["bytes"] for entry in client.json("artifacts", "list", run, "--all")}
            assert {"job.yaml", "run.json", "metrics.jsonl", "models/model.keras", "checkpoints/best.safetensors"} <= set(files), files
            assert not any(name.startswith(("private", "views")) for name in files), files
        assert "epoch 1/1" in client.run("logs", runs[0])
        for name in ("models/model.keras", *(f"checkpoints/{path.name}" for path in pathlib.Path(folder, "alone/checkpoints").glob("*.safetensors"))):
            client.run("artifacts", "get", runs[0], name, f"{folder}/fetched")
            assert digest(pathlib.Path(folder, "fetched")) == digest(pathlib.Path(folder, "alone", name)), name
        twins = [agent for agent in world.agents() if agent["name"] == "twin"]
        assert len({agent["id"] for agent in twins}) == 2 and all(agent["cores"] == 1 for agent in twins), twins
        took = [len([line for line in agent.said().splitlines() if "handed in" in line]) for agent in (one, two)]
        assert sum(took) == len(runs) and min(took) > 0, took
        assert one.drain() == 0 and two.drain() == 0
        assert not list((one.folder / "work").iterdir()) and not list((two.folder / "work").iterdir())


def a_drained_agent_gives_its_job_back(world: World) -> None:
    client = world.client
    with world.agent("--name", "drained", "--tags", "drain") as first:
        [run] = client.submit(*LONG, *of_tag("drain"), "--name", "given-back")
        client.wait_for_steps(run, 25)
        assert first.drain() == 0
    reasons = [change["reason"] for change in client.wait(run, "RECOVERING")["transitions"]]
    assert "interrupted, with a checkpoint" in reasons, reasons
    before = len(world.steps_of(run))
    with world.agent("--name", "second", "--tags", "drain", "--once") as second:
        client.wait_for_steps(run, before + 10)
        client.run("cancel", run)
        client.wait(run, "CANCELLED")
        assert second.ends() == 0  # it has had its job
    assert whole(world.steps_of(run)) and "resum" in client.run("logs", run).lower()


def a_job_goes_on_elsewhere_when_its_agent_is_cut_off(world: World) -> None:
    client = world.client
    with CutRelay(int(world.service.url.rsplit(":", 1)[1])) as relay:
        with Agent(relay.url, world.token, *SMALL, "--name", "cut", "--tags", "cut") as cut:
            [run] = client.submit(*LONG, *of_tag("cut"), "--name", "cut-off")
            client.wait_for_steps(run, 25)
            wait_for(lambda: any(entry["path"].startswith("checkpoints/step-") for entry in client.json("artifacts", "list", run, "--all")),
                     "a checkpoint", 20, 0.2)
            relay.cut()
            with world.agent("--name", "other", "--tags", "cut") as other:
                # Not by its state, which may be another one a moment later.
                wait_for(lambda: "RECOVERING" in [change["to"] for change in client.state(run)["transitions"]], lambda: client.state(run), 60, 0.2)
                reasons = [change["reason"] for change in client.state(run)["transitions"]]
                assert any("agent cut on" in reason and "was not heard of" in reason for reason in reasons), reasons
                other.waits_for("begun")
                client.wait_for_steps(run, len(world.steps_of(run)) + 10)
                assert cut.processes(), "it went on while the service was away"
                relay.mend()
                cut.waits_for("nobody waits for it any more")
                wait_for(lambda: not cut.processes() and not list((cut.folder / "work").iterdir()), cut.processes, 5, 0.1)
                steps = len(world.steps_of(run))
                client.wait_for_steps(run, steps + 10)
                client.run("cancel", run)
                client.wait(run, "CANCELLED")
            assert cut.drain() == 0
    assert whole(world.steps_of(run)), world.steps_of(run)


def a_killed_agent_is_followed_by_another_in_its_folder(world: World) -> None:
    client = world.client
    with tempfile.TemporaryDirectory(prefix="linac-agent-") as folder:
        with world.agent("--name", "killed", "--tags", "kill", folder=folder) as first:
            [run] = client.submit(*LONG, *of_tag("kill"), "--name", "inherited")
            client.wait_for_steps(run, 15)
            second = world.agent("--name", "too-early", folder=folder).start()
            assert second.ends() == 2 and "another agent works there" in second.said(), second.said()
            first.kill()
            with world.agent("--name", "heir", "--tags", "kill", folder=folder) as heir:
                heir.waits_for("was begun here before")
                heir.waits_for("handed in")
                client.wait_for_steps(run, len(world.steps_of(run)) + 10)
                reasons = [change["reason"] for change in client.state(run)["transitions"]]
                assert "interrupted, with a checkpoint" in reasons, reasons
                client.run("cancel", run)
                client.wait(run, "CANCELLED")
    assert whole(world.steps_of(run))


def jobs_that_no_agent_could_run_are_refused(world: World) -> None:
    output = world.client.run("submit", JOB, "--on", "pilots", status=2)
    assert "relative path" in output and "URL" in output, output
    assert "tags" in world.client.run("submit", JOB, "--tags", "a", status=2)
    [run] = world.client.submit(*SHORT, *of_tag("nowhere"), "--set", "data.train=[/no/such.parquet]")
    with world.agent("--tags", "nowhere", "--once") as agent:
        found = world.client.wait(run, "FAILED_PRECHECKS")
        assert "/no/such.parquet" in found["reason"], found["reason"]
        assert agent.ends() == 0


def an_agent_takes_no_more_than_fits(world: World) -> None:
    client = world.client
    [long] = client.submit(*SHORT, *of_tag("fits"), "--time", "2h")
    [large] = client.submit(*SHORT, "--on", "pilots", "--tags", "fits", "--cores", "2")
    [other] = client.submit(*SHORT, *of_tag("fits,gpu"))
    [fits] = client.submit(*SHORT, *of_tag("fits"), "--time", "10m")
    with world.agent("--tags", "fits", "--time", "1h", "--idle-exit", "5s") as agent:
        client.wait(fits, "SUCCEEDED")
        assert agent.ends() == 0 and "none for long" in agent.said()
    for run in (long, large, other):
        assert client.state(run)["state"] == "PENDING"
        client.run("cancel", run)


# --- what should not be possible

ROOM = {"name": "a", "host": "h", "cores": 4, "memory_mb": 1 << 20, "gpus": 0, "cores_free": 4, "memory_mb_free": 1 << 20, "gpus_free": 0, "wait_s": 0}


def agent_id(word: str) -> str:
    return hashlib.md5(word.encode()).hexdigest()


def work_for(world: World, token: str, who: str, wait_s: int = 0, **more):
    answer = call(world.service, "POST", f"/api/v1/agents/{agent_id(who)}/work", {**ROOM, "wait_s": wait_s, **more}, token)
    return good(answer).json()["work"]


class Hostile:
    """Speaks for a lease as no agent of ours would."""

    def __init__(self, world: World, token: str, work: dict):
        self.world, self.token, self.work = world, token, work

    def say(self, method: str, what: str, body=None, lease: str | None = None, attempt: str | None = None):
        return call(self.world.service, method, f"/api/v1/leases/{attempt or self.work['attempt']}/{what}", body, self.token,
                    {"Linac-Lease": lease or self.work["lease"]})


def tokens_of_agents_open_nothing_else(world: World) -> None:
    people, service = world.people, world.service
    paths = good(call(service, "GET", "/openapi.json")).json()["paths"]
    some_run = world.client.submit(*SHORT, *of_tag("nobody"))[0]
    opened, asked = [], 0
    for path, methods in paths.items():
        for method, route in methods.items():
            if route.get("security") == [] or "/leases/" in path or path.endswith("/work") or "mpu" in path:
                continue
            named = path.replace("{id}", some_run).replace("{name}", "ann").replace("{path}", "job.yaml").replace("{model}", "m")
            answer = call(service, method.upper(), named, {} if method != "get" else None, world.shared)
            asked += 1
            if answer.status not in (403, 404, 405, 411):
                opened.append((method, path, answer.status))
    assert asked > 80 and not opened, opened
    # Whoever may less than that makes no such token, and readers and members are no agents.
    viewer = people.token("ann", scope="viewer")
    of_admin = people.token("admin", scope="member")
    for token, user, scope in ((viewer, "ann", "agent"), (people.ann, "ann", "shared-agent"), (of_admin, "admin", "shared-agent"), (world.token, "admin", "agent")):
        status = call(service, "POST", f"/api/v1/users/{user}/tokens", {"scope": scope}, token).status
        assert status == 403, (user, scope, status)
    for token in (viewer, people.ann, of_admin):
        assert call(service, "POST", f"/api/v1/agents/{agent_id('x')}/work", ROOM, token).status == 403
    world.client.run("cancel", some_run)


def a_users_agent_never_gets_anothers_job_or_secrets(world: World) -> None:
    people, service = world.people, world.service
    good(call(service, "PUT", "/api/v1/secrets/AWS_SECRET_ACCESS_KEY", {"value": "bobs-very-own-secret"}, people.bob))
    bob = world.client_of(people.bob)
    [run] = bob.submit(*SHORT, *of_tag("secret"), "--secrets", "AWS_SECRET_ACCESS_KEY")
    anns, bobs = people.token("ann", scope="agent"), people.token("bob", scope="agent")
    assert work_for(world, anns, "ann's", 1, tags=["secret"]) is None
    assert work_for(world, world.token, "an admin's for his own", 1, tags=["secret"]) is None
    assert work_for(world, world.shared, "one without a sandbox", 1, tags=["secret"], own=True) is None
    work = work_for(world, bobs, "bob's", 5, tags=["secret"])
    assert bytes.fromhex(work["secrets"][0]["value"]) == b"bobs-very-own-secret" and work["own"], work
    assert work_for(world, bobs, "bob's", tags=["secret"])["lease"] == work["lease"], "the same answer until it has begun"
    # An id that another user's agent has is not to be had; nor is his lease, with all that is known of it.
    assert call(service, "POST", f"/api/v1/agents/{agent_id(chr(98) + 'ob' + chr(39) + 's')}/work", ROOM, anns).status in (403, 404)
    thief = Hostile(world, anns, work)
    for what, body in (("begin", {}), ("renew", {}), ("end", {"exit": {}}), ("log?from=0", b"x"), ("lines?from=0", b"x")):
        assert thief.say("POST", what, body).status == 409, what
    assert thief.say("GET", "files").status == 409 and thief.say("GET", "files/job.yaml").status == 409
    owner = Hostile(world, bobs, work)
    assert owner.say("POST", "begin", {}).status == 200 and owner.say("POST", "begin", {}).status == 200
    bob.run("cancel", run)
    wait_for(lambda: owner.say("POST", "renew", {"use": {}}).json()["stop"], "it hears of its cancellation", 10, 0.1)
    exit = {"status": 75, "signal": 0, "stopped": True, "seconds": 1, "cpu_s": 1, "memory_peak_bytes": 1, "ended_ms": 1, "problem": ""}
    assert owner.say("POST", "end", {"exit": exit}).status == 200
    bob.wait(run, "CANCELLED")
    audit = good(call(service, "GET", "/api/v1/audit?limit=500", token=people.admin)).json()["entries"]
    assert any(entry["action"] == "pilots.hand" and run in entry["object"] and entry["user"] == "bob" for entry in audit)


def what_a_user_lost_the_right_to_ends(world: World) -> None:
    """Questions that wait meanwhile, and leases of jobs of others."""
    people, service = world.people, world.service
    bob = world.client_of(people.bob)
    change = lambda method, path, body=None: good(call(service, method, f"/api/v1/users/{path}", body, people.admin))  # noqa: E731
    token = lambda user, scope: change("POST", f"{user}/tokens", {"scope": scope}).json()  # noqa: E731
    people.user("eve", role="admin")
    ended, shared = token("bob", "agent"), token("eve", "shared-agent")["secret"]
    [run] = bob.submit(*SHORT, *of_tag("degraded"))
    agent = Hostile(world, shared, work_for(world, shared, "degraded", 5, tags=["degraded"]))
    assert agent.say("POST", "begin", {}).status == 200
    answers = {}

    def ask(who: str, secret: str) -> None:
        answers[who] = call(service, "POST", f"/api/v1/agents/{agent_id(who)}/work", {**ROOM, "wait_s": 20, "tags": [who]}, secret)

    questions = [threading.Thread(target=ask, args=words) for words in (("ended", ended["secret"]), ("lesser", shared))]
    for question in questions:
        question.start()
    wait_for(lambda: len([one for one in world.agents() if one["id"] in (agent_id("ended"), agent_id("lesser"))]) == 2, "two agents that ask", 10, 0.05)
    change("DELETE", f"bob/tokens/{ended['id']}")
    change("PATCH", "eve", {"role": "member"})
    runs = [bob.submit(*SHORT, *of_tag(who))[0] for who in ("ended", "lesser")]
    for question in questions:
        question.join()
    assert all(answer.status == 401 for answer in answers.values()), [answer.status for answer in answers.values()]
    for method, what, body in (("POST", "renew", {}), ("GET", "files", None), ("PUT", "files/models/x", b"x")):
        assert agent.say(method, what, body).status in (404, 409), what
    for one in (run, *runs):
        bob.run("cancel", one)


def a_lease_of_a_user_who_is_disabled_meanwhile_begins_nothing(world: World) -> None:
    """Between a lease and its beginning an agent makes ready; who has the right to begin is asked at both, and again if the lease is asked for again."""
    people, service = world.people, world.service
    dan = world.client_of(people.user("dan"))
    [run] = dan.submit(*SHORT, *of_tag("disabled"))
    agent = Hostile(world, world.shared, work_for(world, world.shared, "disabled", 5, tags=["disabled"]))
    good(call(service, "PATCH", "/api/v1/users/dan", {"disabled": True}, people.admin))
    begun = agent.say("POST", "begin", {})
    assert begun.status == 409, (begun.status, begun.body)
    again = call(service, "POST", f"/api/v1/agents/{agent_id('disabled')}/work", {**ROOM, "wait_s": 0, "tags": ["disabled"]}, world.shared)
    assert again.status == 409 or again.json()["work"] is None, again.body
    assert "disabled" in world.client.wait(run, "CANCELLED")["reason"]


def jobs_of_others_run_in_a_sandbox_without_the_agents_token(world: World) -> None:
    bob = world.client_of(world.people.bob)
    with tempfile.TemporaryDirectory() as home:
        token = pathlib.Path(home, "token")
        token.write_text(world.shared)
        token.chmod(0o600)
        for name in ("topology-train.parquet", "topology-scaling.json"):
            shutil.copy(ROOT / "data" / name, home)
        agent = Agent(world.service.url, "", *SMALL, "--tags", "others", "--token-file", str(token))
        agent.environment["HOME"] = home
        del agent.environment["LINAC_TOKEN"]
        with agent:
            agent.waits_for("for work")
            if "no sandbox here" in agent.said():
                return print("no sandbox here")
            [run] = bob.submit(*LONG, *of_tag("others"), "--set", f"data.train=[{home}/topology-train.parquet]", "--set",
                               f"data.scaling={home}/topology-scaling.json")
            bob.wait_for_steps(run, 15)
            outside = os.readlink("/proc/self/ns/mnt")
            within = [process for process in agent.processes() if os.readlink(f"/proc/{process}/ns/mnt") != outside]
            assert within
            for process in within:
                seen = pathlib.Path(f"/proc/{process}/root")
                assert (seen / home[1:] / "topology-scaling.json").read_bytes()
                with contextlib.suppress(PermissionError):  # a device in its place, on a mount without devices
                    assert not (seen / home[1:] / "token").read_bytes()
                assert not (seen / str(agent.folder)[1:] / "agent-id").exists()
            bob.run("cancel", run)
            bob.wait(run, "CANCELLED")
    assert whole(bob.curve(run))


def an_agent_that_cannot_work_leaves_jobs_to_others(world: World) -> None:
    for how, words in (("", "holds no id"), ("../../users", "holds no id"), (None, "agent-id")):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder, "agent-id")
            os.mkfifo(file, 0o600) if how is None else file.write_text(how)
            file.chmod(0o600)
            agent = world.agent(folder=folder).start()
            assert agent.ends(10) == 2 and words in agent.said(), agent.said()
    with world.agent("--name", "full", "--tags", "full") as agent:
        agent.waits_for("for work")
        (agent.folder / "work").rmdir()
        (agent.folder / "work").write_text("as good as a full disk")
        [run] = world.client.submit(*SHORT, *of_tag("full"))
        agent.waits_for("takes no more work for")
        time.sleep(2)
        audit = good(call(world.service, "GET", "/api/v1/audit?limit=500", token=world.people.admin)).json()["entries"]
        handed = [entry for entry in audit if entry["action"] == "pilots.hand" and run in entry["object"]]
        assert len(handed) <= 2, handed  # and not again and again
        world.client.run("cancel", run)


def a_hostile_agent_reaches_nothing_but_its_run(world: World) -> None:
    client, service = world.client, world.service
    [run] = client.submit(*SHORT, *of_tag("hostile"))
    work = work_for(world, world.token, "hostile", 5, tags=["hostile"])
    agent = Hostile(world, world.token, work)
    assert agent.say("PUT", "files/models/x", b"early").status == 409, "before it has begun"
    assert agent.say("POST", "begin", {}).status == 200
    outside = {path: path.read_bytes() for path in pathlib.Path(service.folder).glob("*.key")}
    for name in ("../../../x", "..%2f..%2fx", "models/../../x", "models/%2e%2e/%2e%2e/x", "/etc/passwd", "models//etc", "models\\..\\x", "private/key", "x",
                 "checkpoints/x.sh", "views/1", "models/a%00b"):
        for method in ("PUT", "GET", "DELETE"):
            status = agent.say(method, f"files/{name}", b"evil" if method == "PUT" else None).status
            assert status in (400, 404), (method, name, status)
    assert agent.say("PUT", "files/models/good", b"good").status == 200 and agent.say("GET", "files/models/good").body == b"good"
    for attempt in (f"{run}-2", f"{run}-0", "0" * 32 + "-1", run, "x", "..%2f..%2fx"):
        assert agent.say("POST", "renew", {}, attempt=attempt).status in (404, 409), attempt
        assert agent.say("PUT", "files/models/y", b"x", attempt=attempt).status in (404, 409), attempt
    assert agent.say("POST", "renew", {}, lease="0" * 32).status == 409
    with contextlib.suppress(ConnectionError):  # it need not read what it refuses
        assert agent.say("POST", "log?from=0", b"x" * (5 << 20)).status == 413
    assert agent.say("POST", "renew", {"use": {"cpu_s": "x" * (1 << 17)}}).status == 413
    for use in ({"cpu_s": "x"}, {"memory_bytes": []}):
        assert agent.say("POST", "renew", {"use": use}).status == 400, use
    for body in ({"exit": {}}, {"exit": {"status": "x"}}, {}):
        assert agent.say("POST", "end", body).status == 400, body
    # Pieces with gaps, twice, from before the beginning.
    for end, sent in ((0, (3, b"abc")), (3, (0, b"abc")), (3, (0, b"abc")), (5, (1, b"bcde")), (5, (-1, b"zz")), (5, (9, b"zz"))):
        assert agent.say("POST", f"log?from={sent[0]}", sent[1]).json()["end"] == end, sent
        assert agent.say("POST", f"lines?from={sent[0]}", sent[1]).json()["end"] == end, sent
    # A link in the run's folder, which only somebody on the service's host can make.
    [outputs] = pathlib.Path(service.folder).glob(f"artifacts/*/{run}/artifacts")
    (outputs / "images").symlink_to("/tmp")
    evil = pathlib.Path(f"/tmp/linac-evil-{run}")
    assert agent.say("PUT", f"files/images/{evil.name}", b"evil").status in (400, 409) and not evil.exists()
    (outputs / "images").unlink()
    client.run("cancel", run)
    # It does not obey; the lease runs out, and what it says then is not heard.
    client.wait(run, "CANCELLED", seconds=LEASE_S + 10)
    for method, what, body in (("POST", "renew", {}), ("PUT", "files/models/late", b"late"), ("POST", "log?from=5", b"late"), ("POST", "end", {"exit": {}})):
        assert agent.say(method, what, body).status == 409, what
    assert not (outputs / "models/late").exists()
    assert outside == {path: path.read_bytes() for path in outside}


def a_hostile_service_does_not_leave_the_agents_folder(world: World) -> None:
    """A server that answers an agent with names that lead elsewhere, and with bodies without end."""
    asked = []

    class Evil(http.server.BaseHTTPRequestHandler):
        answers = iter(("label", "body", "file", "404"))

        def log_message(self, *_):
            pass

        def say(self, body: bytes, status: int = 200, endless: bool = False) -> None:
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(1 << 40 if endless else len(body)))
            self.end_headers()
            with contextlib.suppress(OSError):
                self.wfile.write(body)
                while endless:
                    self.wfile.write(b"x" * (1 << 20))

        def handle_any(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            asked.append(self.path)
            work = {"attempt": "a-1", "lease": "0" * 32, "user": "u", "own": True, "job": "", "environment": {}, "secrets": [], "grace_s": 1, "cores": 1,
                    "memory_mb": 0, "gpus": 0, "seconds_max": 0}
            if self.path.endswith("/work"):
                kind = next(self.answers, "none")
                if kind == "label":
                    work["attempt"] = "../../../evil"
                if kind == "body":
                    return self.say(b'{"', endless=True)
                if kind == "404":
                    return self.say(b"<html>not here</html>", 404)
                return self.say(json.dumps({"lease_ms": 1000, "work": work if kind in ("label", "file") else None}).encode())
            if self.path.endswith("/files"):
                return self.say(json.dumps({"files": [{"path": "../../../evil", "bytes": 4}]}).encode())
            return self.say(b'{"stop": false}')

        do_GET = do_POST = do_PUT = do_DELETE = handle_any

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Evil)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory() as above:
        folder = pathlib.Path(above, "a/b/c")
        with Agent(f"http://127.0.0.1:{server.server_address[1]}", "linac_x", *SMALL, folder=str(folder)) as agent:
            wait_for(lambda: any(path.endswith("/files") for path in asked), lambda: (asked, agent.said()), 20, 0.1)
            time.sleep(0.5)
            assert agent.process.poll() is None, agent.said()
            rss = int(pathlib.Path(f"/proc/{agent.process.pid}/statm").read_text().split()[1]) * 4096
            assert rss < 200 << 20, rss
            assert sorted(path.name for path in pathlib.Path(above).rglob("*evil*")) == []
            agent.kill()
    server.shutdown()


def an_agent_of_one_job_keeps_what_it_begins(world: World) -> None:
    """It takes no more work from then on, and what an agent has not begun when it says so is offered to others."""
    told = []

    class Slow(http.server.BaseHTTPRequestHandler):
        def log_message(self, *_):
            pass

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))) or b"{}")
            answer = {}
            if self.path.endswith("/work"):
                told.append("farewell" if body.get("draining") else "asked")
                work = {"attempt": "a-1", "lease": "0" * 32, "user": "u", "own": True, "job": "", "environment": {}, "secrets": [], "grace_s": 1, "cores": 1,
                        "memory_mb": 0, "gpus": 0, "seconds_max": 0}
                answer = {"lease_ms": 60000, "work": None if body.get("draining") else work}
            if self.path.endswith("/begin"):
                time.sleep(1.5)
                told.append("begun")
                answer = {"lease_ms": 60000}
            answer = json.dumps(answer).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Slow)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with Agent(f"http://127.0.0.1:{server.server_address[1]}", "linac_x", *SMALL, "--once") as agent:
        wait_for(lambda: {"farewell", "begun"} <= set(told), lambda: (told, agent.said()), 20, 0.05)
        agent.kill()
    server.shutdown()
    assert told.index("begun") < told.index("farewell"), told


def a_killed_service_finds_its_agents_again(world: World) -> None:
    """With a service of its own, as the others' must stay."""
    listen = f"127.0.0.1:{free_port()}"
    with tempfile.TemporaryDirectory(prefix="linac-killed-") as data, tempfile.TemporaryDirectory() as config:
        with Service("--lease", "20", data=data, listen=listen) as service:
            token = service.token
            client = Client(service, config)
            with Agent(service.url, token, *SMALL, "--name", "patient") as agent:
                [run] = client.submit(*LONG, *PILOTS, "--name", "outlives", "--set", "train.epochs=6")
                client.wait_for_steps(run, 5)
                service.kill()
                time.sleep(1.5)
                with Service("--lease", "20", data=data, listen=listen) as again:
                    again.token = token
                    found = client.wait(run, "SUCCEEDED", seconds=60)
                    assert states(found).count("STARTING") == 1 and client.curve(run) == list(range(1, 61)), found
                    assert agent.drain() == 0


def the_cheaper_of_two_vendors_takes_the_job(world: World) -> None:
    """The dear one only what the cheap one cannot have, or has had to give back; the job says why."""
    client = world.client

    def reason_of(run: str, agent: str) -> str:
        reasons = lambda: [change["reason"] for change in client.state(run)["transitions"] if f"(agent {agent})" in change["reason"]]  # noqa: E731
        wait_for(reasons, lambda: client.state(run), 60, 0.2)
        return reasons()[-1]

    with (
        Agent(world.service.url, world.token, "--slots", "cores=2,gpus=0", "--name", "dear", "--tags", "vendors", "--machine", "gcp/n1-standard-32") as dear,
        Agent(world.service.url, world.token, "--slots", "cores=1,gpus=0", "--name", "cheap", "--tags", "vendors", "--price", "0.02") as cheap,
    ):
        wait_for(lambda: {agent["name"] for agent in world.agents()} >= {"dear", "cheap"}, world.agents, 30, 0.2)
        price = {agent["name"]: agent["price"] for agent in world.agents()}
        assert price["cheap"] == 0.02 and price["dear"] > 0.1, price
        assert "USD/H" in client.run("agents", "list")
        [small] = client.submit(*LONG, *of_tag("vendors"), "--name", "first")
        assert reason_of(small, "cheap").endswith("0.02 USD an hour, no agent is cheaper"), client.state(small)
        [second] = client.submit(*LONG, *of_tag("vendors"), "--name", "second")
        assert "cheaper: cheap (0.02) does not ask, or is full" in reason_of(second, "dear"), client.state(second)
        assert "cheaper: cheap" in client.run("status", second)
        client.run("cancel", second)
        client.wait(second, "CANCELLED")
        [large] = client.submit(*LONG, "--on", "pilots", "--cores", "2", "--tags", "vendors", "--name", "large")
        assert "cheap (0.04) is too small" in reason_of(large, "dear"), client.state(large)
        client.run("cancel", large)
        client.wait(large, "CANCELLED")
        # It goes away, with what it has.
        client.wait_for_steps(small, 25)
        assert cheap.drain() == 0
        assert "cheap (0.02) takes no more" in reason_of(small, "dear"), client.state(small)
        client.wait_for_steps(small, len(world.steps_of(small)) + 10)
        client.run("cancel", small)
        client.wait(small, "CANCELLED")
        assert whole(world.steps_of(small)) and dear.drain() == 0


def prices_that_are_none_are_refused(world: World) -> None:
    for words, why in ((("--price", "-1"), "--price"), (("--price", "nan"), "--price"), (("--machine", "nowhere/x1"), "has no price"),
                       (("--spot",), "name it"), (("--price", "1", "--machine", "gcp/n1-standard-32"), "excludes")):
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run([LINAC, "agent", "--server", world.service.url, "--folder", folder, *words], capture_output=True, text=True, timeout=60,
                                  env={**os.environ, "LINAC_TOKEN": world.token})
        assert done.returncode in (1, 2, 4) and why in done.stderr, (words, done.returncode, done.stderr)
    told = {"name": "liar", "host": "h", "cores": 1, "memory_mb": 1, "gpus": 0, "cores_free": 1, "memory_mb_free": 1, "gpus_free": 0, "tags": ["liars"]}
    for price in (-1, 1e300, "cheap"):
        answer = call(world.service, "POST", f"/api/v1/agents/{'0' * 32}/work", told | {"price": price}, token=world.token)
        assert answer.status == 400, (price, answer)


TESTS = [two_agents_share_the_jobs_and_train_the_same_bits, a_drained_agent_gives_its_job_back, a_job_goes_on_elsewhere_when_its_agent_is_cut_off,
         a_killed_agent_is_followed_by_another_in_its_folder, jobs_that_no_agent_could_run_are_refused, an_agent_takes_no_more_than_fits,
         tokens_of_agents_open_nothing_else, a_users_agent_never_gets_anothers_job_or_secrets, a_hostile_agent_reaches_nothing_but_its_run,
         what_a_user_lost_the_right_to_ends, a_lease_of_a_user_who_is_disabled_meanwhile_begins_nothing,
         jobs_of_others_run_in_a_sandbox_without_the_agents_token, an_agent_that_cannot_work_leaves_jobs_to_others,
         a_hostile_service_does_not_leave_the_agents_folder, an_agent_of_one_job_keeps_what_it_begins,
         the_cheaper_of_two_vendors_takes_the_job, prices_that_are_none_are_refused, a_killed_service_finds_its_agents_again]
LEASES_END = (a_job_goes_on_elsewhere_when_its_agent_is_cut_off, a_hostile_agent_reaches_nothing_but_its_run)


def main() -> int:
    chosen = [test for test in TESTS if not sys.argv[1:] or any(word in test.__name__ for word in sys.argv[1:])]
    failed = []
    with (
        tempfile.TemporaryDirectory(prefix="linac-config-") as config,
        Service("--lease", str(LEASE_S)) as hasty_service,
        Service("--lease", str(LONG_LEASE_S)) as patient_service,
    ):
        hasty, patient = World(hasty_service, config), World(patient_service, config)

        def carry_out(test) -> None:
            world = hasty if test in LEASES_END else patient
            begin = time.monotonic()
            try:
                test(world)
                print(f"ok   {time.monotonic() - begin:5.1f} s  {test.__name__}", flush=True)
            except BaseException:  # noqa: BLE001
                failed.append(test.__name__)
                print(f"FAIL {time.monotonic() - begin:5.1f} s  {test.__name__}\n{traceback.format_exc()}", flush=True)

        # They mostly wait, for trainings that begin and leases that end.
        in_parallel(*(lambda test=test: carry_out(test) for test in chosen))
        if failed:
            print("".join([*hasty_service.lines[-40:], *patient_service.lines[-40:]]))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
