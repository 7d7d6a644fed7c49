#!/usr/bin/env python3
"""Launches as tasks of PanDA: what linac makes beside what prun of panda-client makes for the same, field by field; submissions to a server that answers
as the public interface does, whose other side is asked by panda-client too; and what a job does, carried out here as runGen would. Exit 77 without
panda-client."""

import base64
import contextlib
import io
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.parse

os.environ["PANDA_BEHIND_REAL_LB"] = "1"  # it would look a host up when it is imported
try:
    from pandaclient import Client as panda
    from pandaclient import PrunScript, PsubUtils
except ImportError as error:
    print(f"{error}: skipped")
    sys.exit(77)

from lib import runs
from lib.checks import check
from lib.launches import Client, name_in
from lib.server_process import Service
from lib.servers.panda_server import Authority, PandaServer

DATA = runs.ROOT / "data"
JOB = {"job": "examples/topology.yaml", **runs.SMALL_CLASSIFIER, "train.replicas": 2, "train.batch": 10, "train.epochs": 1, "train.steps_per_epoch": 3}
RUCIO = {"data.train": "[rucio://user.me:showers,rucio://user.me:more]", "data.test": "[rucio://user.me:test]"}
NO_DATA = {"data.train": "[https://example.org/train.parquet]", "data.test": "[/cvmfs/example.org/test.parquet]"}
GRID = {"kind": "panda", "prefix": "user.me", "container": "docker://registry.invalid/linac:1", "cpus": 8, "memory": "16G", "time": "11h"}
SITES = {
    "grid": GRID,
    "long": GRID | {"prefix": "user." + "m" * 40},
    "more": GRID | {"sites": ["A", "B"], "excluded_sites": ["C"], "working_group": "phys-x", "architecture": "&nvidia", "files": 50, "secrets": ["AWS_ACCESS_KEY_ID"],
                    "agents": "https://linac.example.org"},
    "tar": {"kind": "panda", "prefix": "group.phys-x", "archive": "rucio://group.phys-x:linac.tar.gz", "vo": "wlcg", "sites": ["A"], "cpus": 1,
            "out": "s3://bucket/runs", "task": {"official": "true", "currentPriority": "900"}},
}
# What differs on purpose: words for people, the number of the system's version (used by --osMatching alone).
APART = {"cliParams", "osInfo"}


def planned(client: Client, *words: object) -> dict:
    return json.loads(client.linac(*words, "--dry-run"))


def words_of(site: str, settings: dict, *more: object) -> list:
    words = ["launch", settings["job"], "--on", site, *more]
    for key, value in settings.items():
        words += [] if key == "job" else ["--set", f"{key}={value}"]
    return words


def command_of(task: dict) -> str:
    return urllib.parse.unquote(next(item["value"] for item in task["jobParameters"] if "base64" in item["value"]))


def prun(task: dict, *words: str) -> dict:
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        return PrunScript.main(True, ["--exec", command_of(task), "--outDS", task["taskName"], *words], dry_mode=True)


def compare(what: str, ours: dict, theirs: dict, without: dict | None = None) -> None:
    """Every field, but those APART; `without`: items of jobParameters that only theirs has."""
    theirs = dict(theirs)
    theirs["jobParameters"] = [item for item in theirs["jobParameters"] if item != without]
    check(without is None or len(theirs["jobParameters"]) == len(ours["jobParameters"]), f"{what}: the sandbox alone is not there")
    for key in sorted((set(ours) | set(theirs)) - APART):
        check(key in ours and key in theirs and ours[key] == theirs[key], f"{what}: {key}: {ours.get(key, 'missing')} beside {theirs.get(key, 'missing')}")


def beside_prun(client: Client) -> None:
    # The sandbox: prun uploads the working folder, and dry_mode makes none; linac's job travels in the task.
    no_sandbox = {"type": "constant", "value": "-a None"}
    common = ["--containerImage", "docker://registry.invalid/linac:1", "--nCore", "8", "--memory", "2048", "--maxWalltime", "11", "--maxAttempt", "3"]
    ours = planned(client, *words_of("grid", JOB | NO_DATA, "--name", "one"))
    compare("a job with data of others", ours, prun(ours, *common, "--outputs", "run.tgz"), no_sandbox)

    ours = planned(client, *words_of("more", JOB | RUCIO, "--name", "data"))
    compare("data of Rucio", ours, prun(
        ours, *common, "--outputs", "run.tgz", "--inDS", "user.me:showers,user.me:more", "--secondaryDSs", "TEST#50#user.me:test", "--nFiles", "50", "--nFilesPerJob",
        "50", "--site", "A,B", "--excludedSite", "C", "--workingGroup", "phys-x", "--architecture", "&nvidia", "--useSecrets"), no_sandbox)

    ours = planned(client, *words_of("tar", JOB | NO_DATA, "--name", "tar"))
    theirs = prun(ours, "--tarBallViaDDM", "group.phys-x:linac.tar.gz", "--noBuild", "--vo", "wlcg", "--site", "A", "--official", "--priority", "900", "--maxAttempt",
                  "3")
    for item in theirs["jobParameters"]:  # dry_mode knows no name of the archive
        item["value"] = item["value"].replace("-a None", "-a linac.tar.gz")
    compare("an archive, and the run at a store", ours, theirs)

    ours = planned(client, "agents", "start", "--on", "more", "-n", "50", "--name", "agents")
    compare("agents", ours, prun(ours, *common, "--site", "A,B", "--excludedSite", "C", "--workingGroup", "phys-x", "--architecture", "&nvidia", "--useSecrets",
                                 "--nJobs", "50"), no_sandbox)
    for task in (ours, planned(client, *words_of("more", JOB | RUCIO, "--name", "x" * 90))):
        check(PsubUtils.checkTaskParam(task, False) == (0, None) and PsubUtils.check_invalid_char(task["taskName"]) is None, "panda-client's own checks have no word")
    check(client.variables["XDG_STATE_HOME"] not in json.dumps(ours), "and nothing of this host is in it")


def refused(client: Client) -> None:
    for settings, more, word in [
        (JOB | RUCIO, ["--on", "long", "--name", "x" * 90], "shorter --name"),
        (JOB, [], "topology-train.parquet: no job of a grid sees that"),
        (JOB | RUCIO | {"data.train": "[rucio://user.me:a,https://b/c.parquet]"}, [], "all of them or none"),
        (JOB | RUCIO | {"data.train": "['rucio://user.me:a?rse=X']"}, [], "leave ?rse= out"),
        (JOB | RUCIO | {"data.train": "['rucio://user.me:a\"b']"}, [], "PanDA takes no such name"),
        (JOB | RUCIO | {"data.scaling": "/dev/zero"}, [], "no file of at most 32 KiB"),
        (JOB | RUCIO, ["--out", "/scratch/me"], "has no folder that stays"),
    ]:
        words = words_of("grid", settings, *more) if "--on" not in more else words_of(more[1], settings, *more[2:])
        said = client.linac(*words, "--dry-run", status=2)
        check(word in said, f"refused: {said.strip()}")
    check("agents: empty" in client.linac("agents", "start", "--on", "grid", "--dry-run", status=2), "agents want a service")
    check("prun does that" in client.linac("spawn", "tests/sites/panda_test.py", "--on", "grid", "--dry-run", status=2), "scripts are prun's")


def far(client: Client, start: bool = False):
    """linac on another host, with the same credentials."""
    root = client.root / f"far{len(list(client.root.iterdir()))}"
    root.mkdir()
    there = Client(root, SITES, **{key: client.variables[key] for key in ("PANDA_URL_SSL", "X509_USER_PROXY", "X509_CERT_DIR")})
    return there.start if start else there.linac


def submissions(client: Client, server: PandaServer) -> str:
    ready = words_of("grid", JOB | RUCIO)
    name = name_in(client.linac(*ready, "--name", "first"))
    number = max(server.tasks)
    check(name == "grid:first" and server.tasks[number]["taskName"] == "user.me.first/", "a launch is a task of its name")
    check(client.standing(name)["id"] == str(number), "known by its number")
    check("as it was launched before" in client.linac(*ready, "--name", "first") and len(server.tasks) == 1, "the same name is the first one")

    # From other hosts, whose records know nothing of it.
    far(client)(*ready, "--name", "first")
    check(len(server.tasks) == 1, "found by its name from another host")
    said = [linac(*ready, "--name", "first", "--set", "train.seed=7", status=2) for linac in (client.linac, far(client))]
    check("another launch has it" in said[0] and "is another launch" in said[1], f"another job of that name is refused at both: {said}")

    for trouble in ("cut", "500", "html", "no number", "slow"):
        server.next_answers = [trouble]
        before = len(server.tasks)
        client.linac(*ready, "--name", trouble.replace(" ", "-"))
        check(len(server.tasks) == before + 1, f"an answer that is {trouble}: submitted once")
    server.next_answers = ["refused"]
    said = client.linac(*ready, "--name", "refused", status=4)
    check("code 5: no permission" in said and "\x1b" not in said, "the server's words, and nothing that a terminal obeys")
    server.next_answers = ["500"] * 4
    said = client.linac(*ready, "--name", "later", status=4)
    check("the same `linac launch` goes on with it" in said, "nobody knows")
    client.linac(*ready, "--name", "later")

    # The client is killed while the server has the task and has not answered.
    server.next_answers = ["slow"]
    before = len(server.tasks)
    process = client.start(*ready)
    while len(server.tasks) == before:
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    found = name_in(client.linac(*ready))
    check(len(server.tasks) == before + 1 and client.standing(found)["id"] == str(max(server.tasks)), "a client that was killed is gone on with by its name")

    # Two hosts at once.
    before = len(server.tasks)
    server.next_answers = ["slow", "slow"]
    both = [far(client, start=True)(*ready, "--name", "both") for _ in range(2)]
    check(all(process.wait(timeout=60) == 0 for process in both) and len(server.tasks) == before + 1, "two at once are one")

    # Of that name there is one that is not shown.
    server.hidden = True
    check("does not show it" in far(client)(*ready, "--name", "first", status=4), "a duplicate that is not shown is an error")
    server.hidden = False
    return name


def standings(client: Client, server: PandaServer, name: str) -> None:
    number = int(client.standing(name)["id"])
    for status, state in [("registered", "PENDING"), ("pending", "PENDING"), ("scouting", "RUNNING"), ("running", "RUNNING"), ("done", "SUCCEEDED"),
                          ("finished", "FAILED"), ("exhausted", "FAILED"), ("broken", "FAILED"), ("aborted", "CANCELLED"), ("never heard", "PENDING")]:
        server.tasks[number]["status"] = status
        check((told := client.standing(name))["state"] == state, f"{status}: {told}")
    server.tasks[number] |= {"status": "pending", "errorDialog": "<a href='x'>no site</a> has memory &\x1b[31m"}
    check("no site has memory" in (told := client.standing(name))["reason"] and "\x1b" not in told["reason"], f"what it waits for is told: {told}")
    check("hands out no log while jobs run" in client.linac("logs", name), "and that there is no log yet")

    check("PanDA ends it" in client.linac("cancel", name) and server.commands == [("kill", number)], "cancelled")
    server.tasks[number]["status"] = "aborted"
    check("nothing of it runs" in client.linac("cancel", name) and len(server.commands) == 1, "once")
    check(client.standing(name)["state"] == "CANCELLED", "and it is told")
    server.tasks[number]["status"] = "failed"
    server.jobs[number] = [{"PandaID": 7, "jobStatus": "failed", "computingSite": "CERN", "pilotErrorDiag": "payload exceeded <b>memory</b>", "transExitCode": "0"}]
    said = client.linac("logs", name)
    check("job 7  failed  CERN  pilotErrorDiag: payload exceeded memory" in said and "rucio download user.me.first.log" in said, f"why it failed: {said}")
    client.linac("resume", name)
    check(server.commands[-1] == ("retry", number) and client.standing(name)["state"] == "RECOVERING", "resume is PanDA's retry")
    said = client.linac("resume", name, status=2)
    check("only what has ended" in said, "of one that has ended")
    check("grid" in client.linac("sites", "list") and "user.me.more: PanDA brings" not in client.linac("sites", "check", "grid"), "check without a job")
    said = client.linac("sites", "check", "grid", "--job", "examples/topology.yaml", status=4)
    check("answers" in said and "no job of a grid sees that" in said, f"check with a job: {said}")


def asked_by_panda_client(client: Client, server: PandaServer, name: str) -> None:
    """The server that linac was tried with is one for panda-client: both see the same tasks."""
    os.environ.update({key: client.variables[key] for key in ("X509_USER_PROXY", "X509_CERT_DIR")})
    panda.server_base_path_ssl = server.url + "/api/v1"
    number = int(client.standing(name)["id"])
    server.tasks[number]["status"] = "running"
    check(panda.getTaskStatus(number) == (0, "running"), "panda-client: status")
    status, tasks = panda.get_tasks_detailed_info_since(filters={"taskName": "user.me.first/"})
    check(status == 0 and [task["jediTaskID"] for task in tasks] == [number], "panda-client: by name")
    status, task = panda.getTaskParamsMap(number)
    check(status == 0 and task["taskName"] == "user.me.first/", "panda-client: parameters")
    check(panda.get_job_descriptions(number) == (0, server.jobs[number]), "panda-client: jobs")
    ours = server.requests[next(i for i, asked in enumerate(server.requests) if asked[1] == "/api/v1/task/submit")]
    check(panda.insertTaskParams(ours[2]["task_parameters"])[1][0] == 2, "panda-client: the same task is a duplicate")
    theirs = server.requests[-1]
    check(theirs == ours, "panda-client submits the same bytes' worth: method, path and body")
    check(panda.killTask(number)[1] == (True, 0), "panda-client: kill")


def credentials(client: Client, server: PandaServer, authority: Authority, root: pathlib.Path) -> None:
    ready = words_of("grid", JOB | RUCIO)
    oidc = {"X509_USER_PROXY": "/nowhere", "PANDA_AUTH": "oidc", "PANDA_AUTH_VO": "wlcg"}
    token = root / "token"
    token.write_text(PandaServer.TOKEN + "\n")
    check("SUCC" not in client.linac("status", "grid:first", OIDC_AUTH_TOKEN_FILE=token, **oidc), "by a token")
    (root / ".token").write_text(json.dumps({"id_token": PandaServer.TOKEN}))
    client.linac("status", "grid:first", PANDA_CONFIG_ROOT=root, **oidc)
    check("has expired" in client.linac("status", "grid:first", status=2, PANDA_AUTH_ID_TOKEN="a." + base64.urlsafe_b64encode(b'{"exp": 1000}').decode() + ".c", **oidc),
          "an old token is not sent")
    said = client.linac("status", "grid:first", status=4, PANDA_AUTH_ID_TOKEN="stolen.e30.token", **oidc)
    check("does not let you in (403" in said and "stolen" not in said, f"a wrong one is refused, and not printed: {said}")
    os.mkfifo(root / "fifo")
    check("no file with a token" in client.linac("status", "grid:first", status=2, OIDC_AUTH_TOKEN_FILE=root / "fifo", **oidc), "a FIFO does not hang it")
    check("no proxy in" in client.linac("status", "grid:first", status=2, X509_USER_PROXY=root / "fifo"), "nor as a proxy")
    check("voms-proxy-init" in client.linac(*ready, "--name", "b", status=4, X509_USER_PROXY="/nowhere"), "no proxy")
    check("is not trusted" in client.linac("status", "grid:first", status=4, X509_CERT_DIR=root), "a server of unknown authorities gets nothing")
    check("not checked gets no credentials" in client.linac("status", "grid:first", status=2, PANDA_VERIFY_HOST="off"), "nor one that is not checked")


def carried_out(client: Client, root: pathlib.Path) -> None:
    """What runGen does: the exec string unquoted, %IN and the other streams replaced by names with commas, run by a shell in the job's folder."""
    def job(name: str, settings: dict, program: object, files: dict, *more: object, site: str = "here", start: bool = False, **environment: str):
        Client(client.root, SITES | {"here": GRID | {"program": str(program)}, "few": GRID | {"program": str(program), "files": 2},
                                     "secret": GRID | {"program": str(program), "secrets": ["KEY_OF_MINE"]}})
        task = planned(client, *words_of(site, settings, "--name", name, *more))
        folder = root / name
        folder.mkdir()
        for listed in files.values():
            for file in listed:
                shutil.copy(DATA / file.partition("=")[2], folder / file.partition("=")[0])
        command = command_of(task)
        for stream, listed in files.items():
            command = command.replace(f"%{stream}", ",".join(file.partition("=")[0] for file in listed))
        (folder / "panda_secrets.json").write_text('{"OTHER": "a,b", "KEY_OF_MINE": "s3cr/t+x,=="}')
        process = subprocess.Popen(["/bin/sh", "-c", command], cwd=folder, env=runs.environment(**environment), text=True, stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT, start_new_session=True)
        return (process, folder) if start else (process.communicate(timeout=120)[0], process.returncode, folder)

    files = {"IN": ["user.me.1._01.a.parquet=topology-train.parquet"], "TEST": ["user.me.1._01.t.parquet=topology-test.parquet"]}
    said, status, folder = job("whole", JOB | RUCIO, runs.LINAC, files, "--workers", "2")
    check(status == 0, f"a job on a node: {said}")
    subprocess.run(["tar", "-xzf", "run.tgz"], cwd=folder, check=True)
    runs.run(root / "disk", JOB, "--workers", "1")
    check(runs.tensors(folder / "run") == runs.tensors(root / "disk"), "two workers of it end with the bits of one from the disk")
    said, status, _ = job("few", JOB | RUCIO, runs.LINAC, files | {"IN": [f"{i}.parquet=topology-train.parquet" for i in range(2)]}, site="few")
    check(status == 3 and "set files of the site higher" in said, "a data set of which it may have a part only is refused")

    secret = root / "print-key"
    secret.write_text('#!/bin/sh\necho "key is $KEY_OF_MINE"\nexit 9\n')
    secret.chmod(0o755)
    said, status, folder = job("secret", JOB | RUCIO, secret, files, site="secret")
    check("key is s3cr/t+x,==" in said and status == 9 and not (folder / "run.tgz").exists(), "secrets of PanDA, and the status of the program")

    long = JOB | RUCIO | {"train.epochs": 1000, "train.steps_per_epoch": 20, "checkpoint.every_steps": 5}
    process, folder = job("killed", long, runs.LINAC, files, start=True)
    out = folder / "run"
    for _ in range(600):
        if (out / "metrics.jsonl").exists() and sum(line["kind"] == "step" for line in runs.lines_so_far(out)) > 2:
            break
        time.sleep(0.1)
    os.killpg(process.pid, signal.SIGTERM)  # as a pilot does
    said = process.communicate(timeout=60)[0]
    check(json.loads((out / "run.json").read_text())["status"] == "interrupted" and list((out / "checkpoints").iterdir()), f"a pilot's SIGTERM: a checkpoint: {said}")


def agents_carried_out(root: pathlib.Path) -> None:
    """The jobs of `linac agents start`: agents of a real service, which take its work and end when there is no more."""
    with Service() as service:
        home = Client(root / "client", SITES | {"work": GRID | {"program": runs.LINAC, "agents": service.url, "idle": "2s"}})
        user = {"LINAC_SERVER": service.url, "LINAC_TOKEN": service.token}
        (root / "agent").mkdir()
        token = home.linac("agents", "token", **user).split()[-1]
        (root / "agent" / "panda_secrets.json").write_text(json.dumps({"LINAC_AGENT_TOKEN": token}))
        local = {"data.train": f"[{DATA}/topology-train.parquet]", "data.test": f"[{DATA}/topology-test.parquet]", "data.scaling": f"{DATA}/topology-scaling.json"}
        words = [word for key, value in (JOB | local).items() if key != "job" for word in ("--set", f"{key}={value}")]
        run = json.loads(home.linac("submit", runs.ROOT / JOB["job"], "--on", "pilots", "--cores", "1", *words, "--json", **user))["runs"][0]["id"]
        command = command_of(planned(home, "agents", "start", "--on", "work", "-n", "2"))
        done = subprocess.run(["/bin/sh", "-c", command], cwd=root / "agent", env=runs.environment(), capture_output=True, text=True, timeout=120)
        check(done.returncode == 0 and token not in done.stdout + done.stderr, f"an agent of a task: {done.stdout} {done.stderr}")
        check(json.loads(home.linac("status", run, "--json", **user))["state"] == "SUCCEEDED", "did the work that the service had")


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="linac-panda-") as folder:
        root = pathlib.Path(folder)
        os.chdir(root)
        authority = Authority(root)
        server = PandaServer(authority)
        (root / "client").mkdir()
        client = Client(root / "client", SITES, PANDA_URL_SSL=server.url + "/server/panda", X509_USER_PROXY=str(authority.proxy),
                        X509_CERT_DIR=str(authority.folder))
        for variable in ("PANDACACHE_URL", "PANDA_AUTH"):
            os.environ.pop(variable, None)
        panda.baseURLSSL = server.url + "/server/panda"
        beside_prun(client)
        refused(client)
        name = submissions(client, server)
        standings(client, server, name)
        asked_by_panda_client(client, server, name)
        credentials(client, server, authority, root)
        carried_out(client, root)
        agents_carried_out(root)
        server.close()


if __name__ == "__main__":
    main()
