#!/usr/bin/env python3
"""Jobs from submission to the catalog, by the real program: `linac serve` and its verbs, on SQLite and, for the main path, PostgreSQL.

Small trainings on data/topology-*: seconds each. LINAC names the program.
"""

import contextlib
import json
import os
import pathlib
import signal
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request

from lib.ports import free_port
from lib.runs import LINAC, ROOT
from lib.server_process import Service, databases
from lib.service_client import JOB, LONG, SHORT, STEPS, Client


@contextlib.contextmanager
def serving(*options: str, **more):
    with tempfile.TemporaryDirectory(prefix="linac-config-") as config, Service(*options, **more) as service:
        yield service, Client(service, config)


def test_from_submission_to_the_catalog(database: str | None) -> None:
    with serving(database=database) as (service, client):
        output = client.run("submit", JOB, *SHORT, "--name", "first", "--follow")
        assert "SUCCEEDED" in output and "epoch 1/1" in output, output
        run = client.state("first")
        if database is None:
            what_it_made_is_fetched_as_told(client, run, output)
        assert run["state"] == "SUCCEEDED", run
        assert [change["to"] for change in run["transitions"]][-3:] == ["STARTING", "RUNNING", "SUCCEEDED"], run["transitions"]
        assert run["metrics"]["loss"]["count"] == STEPS
        assert client.curve(run["id"]) == list(range(1, STEPS + 1))
        assert run["parameters"]["train.optimizer.lr"] and run["parameters"]["train.epochs"] == "1"
        assert run["tags"]["linac.version"] and run["inputs"][0]["digest"], run
        assert f"/#/runs/{run['id']}" in client.run("report", "first")
        files = {entry["path"] for entry in client.json("artifacts", "list", "first", "--all")}
        assert {"report/report.html", "report/report.json"} <= files, files
        assert {"job.yaml", "run.json", "metrics.jsonl"} <= files and any(name.startswith("models/") for name in files), files
        with tempfile.TemporaryDirectory() as folder:
            client.run("artifacts", "get", "first", "models", f"{folder}/models")
            assert any(pathlib.Path(folder, "models").iterdir())
            pathlib.Path(folder, "notes.md").write_text("good\n")
            client.run("artifacts", "put", "first", f"{folder}/notes.md", "notes/first.md")
            client.run("artifacts", "get", "first", "notes/first.md", f"{folder}/back.md")
            assert pathlib.Path(folder, "back.md").read_text() == "good\n"
            client.run("artifacts", "get", "first", "../../books.db", f"{folder}/x", status=2)
        assert run["id"] in client.run("list", "--filter", "params.`train.epochs` = '1' AND attributes.state = 'SUCCEEDED'")
        assert run["id"] not in client.run("list", "--state", "FAILED")
        assert "epoch 1/1" in client.run("logs", "first")


def what_it_made_is_fetched_as_told(client: Client, run: dict, output: str) -> None:
    commands = [shlex.split(line) for line in output.split("what it has made:\n")[1].splitlines()]
    assert [words[:3] for words in commands][-2:] == [["linac", "models", "register"], ["linac", "artifacts", "list"]], commands
    with tempfile.TemporaryDirectory() as folder:
        for words in commands:
            done = subprocess.run([LINAC, *words[1:]], cwd=folder, env=client.environment, capture_output=True, text=True, timeout=120)
            assert done.returncode == 0, (words, done.stdout + done.stderr)
        assert pathlib.Path(folder, "model.keras").stat().st_size > 10000, os.listdir(folder)
    [version] = client.json("models", "show", "first")
    assert version["run"] == run["id"] and "linac.test.auc" in version["tags"] or "linac.train.loss" in version["tags"], version
    with tempfile.TemporaryDirectory() as folder:
        client.run("artifacts", "get", run["id"][:6], "job.yaml", f"{folder}/job.yaml")
        source = client.send("GET", "/api/2.0/mlflow/model-versions/get-download-uri?name=first&version=1")["artifact_uri"].removeprefix("mlflow-artifacts:/")
        provenance = client.send("GET", f"/api/2.0/mlflow-artifacts/artifacts/{source}/linac-model.json")
        assert provenance["service_run"]["id"] == run["id"] and provenance["service_run"]["inputs"][0]["digest"] == run["inputs"][0]["digest"], provenance
        assert provenance["job"] == pathlib.Path(folder, "job.yaml").read_text()


def test_runs_are_found_by_what_people_type() -> None:
    with serving() as (_, client):
        made = {}
        for name in ("calo", "calo", "topology", "it's"):
            answer = client.send("POST", "/api/2.0/mlflow/runs/create", {"experiment_id": "0", "run_name": name, "start_time": int(time.time() * 1000)})
            made.setdefault(name, []).append(answer["run"]["info"]["run_id"])
            time.sleep(0.01)
        client.send("POST", "/api/2.0/mlflow/runs/log-metric", {"run_id": made["calo"][1], "key": "test/auc", "value": 0.5, "timestamp": 1, "step": 1})
        assert client.json("status", "calo")["id"] == made["calo"][1], "the newest of a name"
        assert made["calo"][0][:8] in client.run("cancel", "calo", status=2), "nobody cancels one of several by chance"
        assert client.json("status", made["topology"][0][:12])["id"] == made["topology"][0], "the beginning of an id"
        assert client.json("status", "it's")["id"] == made["it's"][0]
        assert "did you mean 'topology'?" in client.run("status", "toplogy", status=2)
        for none in ("%", "____", "0000000000000000", "' OR '1'='1"):
            assert "no run" in client.run("status", none, status=2), none
        assert "did you mean RUNNING?" in client.run("list", "--state", "RUNING", status=2)
        assert made["calo"][0] in client.run("list", "--state", "running")
        told = subprocess.run([LINAC, "list", "--metrics", "test/acu", "--sort", "metrics.`test/auc` DESC"], env=client.environment, capture_output=True, text=True, timeout=60)
        assert told.returncode == 0, told
        assert "no metric 'test/acu'; did you mean test/auc?" in told.stderr and told.stderr.count("no metric") == 1, told
        assert "no metric 'lsos'" in subprocess.run([LINAC, "list", "--filter", "metrics.lsos < 1"], env=client.environment, capture_output=True, text=True, timeout=60).stderr
        server = client.environment.pop("LINAC_SERVER")
        for words in (("--server", server, "list"), ("list", "--server", server), (f"--server={server}", "models", "list"), ("models", "--server", server, "list"), ("artifacts", "--server", server, "list", "calo")):
            client.run(*words)


def test_refusals() -> None:
    with serving() as (service, client):
        assert "unknown key" in client.run("submit", JOB, "--set", "train.epoch=1", status=2)
        missing = client.run("submit", JOB, *SHORT, "--set", "data.train=[nowhere/*.parquet]", status=3)
        assert "nowhere" in missing, missing
        kept = client.json("list", "--state", "FAILED_PRECHECKS")["runs"]
        assert len(kept) == 1 and "nowhere" in kept[0]["reason"], kept
        assert "could never start" in client.run("submit", JOB, *SHORT, "--cores", "4000", status=2)
        assert "no run" in client.run("status", "no-such-run", status=2)
        stranger = Client(service, "/nonexistent")
        stranger.environment["LINAC_TOKEN"] = "linac_aaaa_bbbb"
        assert "linac login" in stranger.run("list", status=2)
        stranger.environment["LINAC_SERVER"] = "http://127.0.0.1:1"
        assert "linac serve" in stranger.run("list", status=4)
        token = client.environment.pop("LINAC_TOKEN")
        client.run("login", text=token + "\n")
        client.run("list")
        login = pathlib.Path(client.environment["XDG_CONFIG_HOME"], "linac/login.json")
        assert login.stat().st_mode & 0o777 == 0o600


def test_failing_job_says_why() -> None:
    with serving() as (service, client):
        [run] = client.submit(*SHORT, "--set", "train.batch=1000000")
        failed = client.wait(run, "FAILED_PRECHECKS")
        assert "global batch" in failed["reason"], failed["reason"]
        assert client.json("status")["jobs"] == []


def test_cancel_resume_and_limit_of_time() -> None:
    with serving() as (service, client):
        [run] = client.submit(*LONG)
        client.wait_for_steps(run, 5)
        client.run("cancel", run, "--reason", "enough")
        cancelled = client.wait(run, "CANCELLED")
        assert "enough" in cancelled["reason"], cancelled["reason"]
        done = cancelled["metrics"]["loss"]["count"]
        client.run("resume", run)
        client.wait_for_steps(run, done + 5)
        client.run("cancel", run)
        client.wait(run, "CANCELLED")
        steps = client.curve(run)
        assert steps == list(range(1, len(steps) + 1)), "a resumed run tells each step once"

        [run] = client.submit(*LONG, "--time", "8s")
        stopped = client.wait(run, "FAILED")
        assert "limit of time" in stopped["reason"], stopped["reason"]
        assert any("checkpoint" in entry["path"] for entry in client.json("artifacts", "list", run, "--all"))


def test_killed_service_finds_its_runs() -> None:
    with tempfile.TemporaryDirectory(prefix="linac-killed-") as data:
        with serving(data=data) as (service, client):
            [run] = client.submit(*SHORT, "--set", "train.epochs=100")
            listen = service.url.removeprefix("http://")
            client.wait_for_steps(run, 5)
            service.kill()
            time.sleep(1)
            with Service(data=data, listen=listen):
                done = client.wait(run, "SUCCEEDED")
                assert [change["to"] for change in done["transitions"]].count("STARTING") == 1, done["transitions"]
                assert client.curve(run) == list(range(1, 100 * STEPS + 1)), len(client.curve(run))


def test_lost_worker_is_recovered() -> None:
    with serving() as (service, client):
        [run] = client.submit(*SHORT, "--set", "train.epochs=100", "--set", "checkpoint.every_steps=10")
        client.wait_for_steps(run, 15)
        process = json.loads((service.folder / "runs" / run / "attempt-1" / "process.json").read_text())
        os.kill(process["pid"], signal.SIGKILL)
        done = client.wait(run, "SUCCEEDED")
        assert "RECOVERING" in [change["to"] for change in done["transitions"]], done["transitions"]
        assert client.curve(run) == list(range(1, 100 * STEPS + 1)), len(client.curve(run))


def test_array_dependency_and_repeated_submission() -> None:
    with serving() as (service, client):
        runs = client.submit(*SHORT, "--array", "train.seed=1..3", "--experiment", "seeds", "--key", "once")
        assert len(runs) == 3
        assert client.submit(*SHORT, "--array", "train.seed=1..3", "--experiment", "seeds", "--key", "once") == runs
        [last] = client.submit(*SHORT, *(word for run in runs for word in ("--depends-on", run)))
        client.wait(last, "SUCCEEDED")
        finished = [client.state(run) for run in runs]
        assert {run["state"] for run in finished} == {"SUCCEEDED"}
        assert [run["parameters"]["train.seed"] for run in finished] == ["1", "2", "3"]
        assert [run["name"].split("-")[-1] for run in finished] == ["1 seed=1", "2 seed=2", "3 seed=3"], finished
        assert client.json("status", finished[1]["name"].split()[0])["id"] == runs[1], "a member's name without its settings"
        assert len({run["tags"]["linac.group"] for run in finished}) == 1
        begin = client.state(last)["started_ms"]
        assert begin >= max(run["ended_ms"] for run in finished)

        [failing] = client.submit(*SHORT, "--set", "train.batch=1000000")
        client.wait(failing, "FAILED_PRECHECKS")  # the data have fewer events: found before the first step
        assert "resume that one first" in client.run("submit", JOB, *SHORT, "--depends-on", failing, status=2)


def test_ingest_of_a_run_made_without_the_service() -> None:
    with serving() as (service, client), tempfile.TemporaryDirectory() as folder:
        out = f"{folder}/run"
        train = ["train", JOB, *SHORT, "--out", out, "--set", "checkpoint.every_steps=5"]
        client.run(*train)
        first = client.json("ingest", out)
        assert first["fresh"] and first["points"] > STEPS and first["state"] == "SUCCEEDED", first
        again = client.json("ingest", out)
        assert again["run"] == first["run"] and not again["fresh"] and again["points"] == 0, again
        run = client.state(first["run"])
        assert client.curve(first["run"]) == list(range(1, STEPS + 1))
        assert run["parameters"]["train.epochs"] == "1" and run["inputs"], run


def test_a_run_is_tracked_and_a_service_that_is_away_gets_it_later() -> None:
    with serving() as (service, client), tempfile.TemporaryDirectory() as folder:
        client.run("train", JOB, *SHORT, "--out", f"{folder}/there", "--set", "name=there", "--track", "--experiment", "calo")
        [run] = client.json("list", "--experiment", "calo")["runs"]
        assert run["name"] == "there" and run["state"] == "SUCCEEDED", run
        assert client.curve(run["id"]) == list(range(1, STEPS + 1))
        assert client.json("ingest", f"{folder}/there")["points"] == 0

        away = ["--track", "--server", "http://127.0.0.1:9"]
        done = subprocess.run([LINAC, "train", JOB, *SHORT, "--workers", "2", "--out", f"{folder}/away", *away], cwd=ROOT, env=client.environment,
                              text=True, capture_output=True, timeout=300)
        assert done.returncode == 0 and f"linac ingest {folder}/away" in done.stderr, done.stderr
        late = client.json("ingest", f"{folder}/away")
        assert late["fresh"] and late["state"] == "SUCCEEDED" and client.curve(late["run"]) == list(range(1, STEPS + 1))


def test_a_backup_of_one_database_becomes_a_catalog_in_the_other() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        with serving() as (service, client):
            [run] = client.submit(*SHORT)
            client.wait(run, "SUCCEEDED")
            steps = client.curve(run)
            client.run("serve", "backup", "--data", str(service.folder), "--to", str(folder / "backup"))
            token = service.token
            shutil.copytree(service.folder / "private", folder / "private")  # which is in no backup
        for kind, database in databases():
            with database as server:
                data = str(folder / kind)
                where = ["--db", server.url] if server.url else []
                client.run("serve", "restore", "--from", str(folder / "backup"), "--data", data, *where)
                assert "not empty" in client.run("serve", "restore", "--from", str(folder / "backup"), "--data", data, *where, status=2)
                shutil.copytree(folder / "private", f"{data}/private")
                with Service(data=data, database=server.url) as restored:
                    restored.token = token
                    there = Client(restored, str(folder / "config"))
                    assert there.state(run)["state"] == "SUCCEEDED" and there.curve(run) == steps
                    there.run("artifacts", "get", run, "models/model.keras", str(folder / f"{kind}.keras"))
                    [after] = there.submit(*SHORT)
                    there.wait(after, "SUCCEEDED")
                    assert "exists already" in there.run("serve", "backup", "--data", data, *where, "--to", str(folder / "backup"), status=2)
                    there.run("serve", "backup", "--data", data, *where, "--to", str(folder / f"{kind}-again"))
                    assert json.loads((folder / f"{kind}-again" / "backup.json").read_text())["rows"]["runs"] == 2
        assert len({(folder / f"{kind}.keras").read_bytes() for kind, _ in databases()}) == 1


def test_one_service_works_in_a_folder() -> None:
    with tempfile.TemporaryDirectory() as folder:  # of those that begin at the same moment, where there is nothing yet
        words = [LINAC, "serve", "--data", f"{folder}/new", "--listen", "127.0.0.1:0"]
        begun = [subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) for _ in range(4)]
        while sum(one.poll() is None for one in begun) > 1:
            time.sleep(0.05)
        [serves] = [one for one in begun if one.poll() is None]
        assert any("linac serves" in line for line in serves.stdout)
        serves.terminate()
        for one in begun:
            said = one.communicate(timeout=30)[0]
            assert one is serves or one.returncode == 4 and "another service works in this folder" in said, (one.returncode, said)
    with serving() as (service, client):
        said = client.run("serve", "--data", str(service.folder), "--db", f"sqlite://{service.folder}/other.db", "--listen", "127.0.0.1:0", status=4)
        assert "another service works in this folder" in said, said


def test_a_service_that_is_started_bare() -> None:
    """Descriptors 0 to 2 are closed: what it opens first is not taken for its output."""
    with tempfile.TemporaryDirectory() as folder:
        port = free_port()
        process = subprocess.Popen([LINAC, "serve", "--data", folder, "--listen", f"127.0.0.1:{port}", "--no-auth"], preexec_fn=lambda: os.closerange(0, 3))
        for _ in range(600):
            with contextlib.suppress(OSError), urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=10):
                break
            time.sleep(0.05)
        links = [os.readlink(f"/proc/{process.pid}/fd/{number}") for number in range(3)]
        process.terminate()
        assert process.wait(timeout=30) == 0 and links == ["/dev/null"] * 3, links
        subprocess.run([LINAC, "serve", "check", "--data", folder], check=True, stdout=subprocess.DEVNULL)


def test_quotas_and_prices() -> None:
    with tempfile.TemporaryDirectory() as folder:
        prices = pathlib.Path(folder) / "prices.yaml"
        prices.write_text("core: 3600\ncurrency: CHF\n")
        with serving("--price", str(prices)) as (service, client):
            client.send("PATCH", "/api/v1/users/admin", {"jobs_max": 1})
            [run] = client.submit(*LONG, "--cost", "2")
            assert "quota" in client.run("submit", JOB, *SHORT, status=4)
            ended = client.wait(run, "FAILED")
            assert "limit of cost" in ended["reason"], ended["reason"]
            assert ended["tags"]["linac.cost"].endswith(" CHF") and float(ended["tags"]["linac.cost"].split()[0]) >= 1.9, ended["tags"]
            [after] = client.submit(*SHORT)
            client.wait(after, "SUCCEEDED")


def test_a_used_up_budget_ends_a_job() -> None:
    with serving() as (service, client):
        [run] = client.submit(*LONG, "--attempts", "3", "--set", "budget.steps=2")
        ended = client.wait(run, "FAILED")
        assert ended["reason"].startswith("stopped by its budget, after a checkpoint (with more of it: linac resume RUN --set budget.KEY=N): [budget] budget.steps = 2 is used up after step 2"), ended["reason"]
        assert ended["metrics"]["loss"]["count"] == 2 and not any(change["reason"].startswith("attempt 2") for change in ended["transitions"]), ended["transitions"]
        assert "stopped by its budget" in client.run("status", run)
        for setting, word in (("train.epochs=3", "its budget alone"), ("budget.steps=-1", "0 or more"), ("budget.stepz=3", "budget.stepz"), ("budget.money=3", "budget.price"),
                              ("budget", "budget")):
            assert word in client.run("resume", run, "--set", setting, status=2), setting
        assert client.state(run)["state"] == "FAILED", "what is refused changes nothing"
        client.run("resume", run, "--set", "budget.steps=4")
        ended = client.wait(run, "FAILED")
        assert "budget.steps = 4 is used up after step 4" in ended["reason"] and ended["metrics"]["loss"]["count"] == 4, ended["reason"]


def main() -> int:
    tests = [(name, test) for name, test in sorted(globals().items()) if name.startswith("test_")]
    chosen = sys.argv[1:]
    failures = 0
    for name, test in tests:
        if chosen and not any(word in name for word in chosen):
            continue
        cases = list(databases()) if name == "test_from_submission_to_the_catalog" else [("sqlite", None)]
        for kind, database in cases:
            begin = time.monotonic()
            try:
                if database is None:
                    test()
                else:
                    with database as server:
                        test(server.url)
                print(f"ok    {name} ({kind}, {time.monotonic() - begin:.1f} s)", flush=True)
            except Exception as error:  # noqa: BLE001 - each test is reported
                failures += 1
                print(f"FAIL  {name} ({kind}): {type(error).__name__}: {error}", flush=True)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
