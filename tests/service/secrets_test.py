#!/usr/bin/env python3
"""Secrets of users at the service as it is delivered: jobs read with them what others cannot, and nobody reads them.

secrets_test.py [WORD...]: those with one of these words in their name. LINAC names the program. On SQLite;
catalog/secrets_test.cpp has both databases."""

import base64
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback

from attack_jobs_test import Person, Skipped, newcomer, plug_in
from attack_world import call
from lib.checks import wait_for
from lib.runs import LINAC, ROOT
from lib.server_process import Service
from lib.servers.versitygw import Versitygw
from lib.skips import skipped

VALUE = "correct-horse/battery+staple"
PROXY = "-----BEGIN CERTIFICATE-----\nMIIsecretproxy\n-----END CERTIFICATE-----\n"


def put(person: Person, name: str, value: str = VALUE, **more):
    return person.ask("PUT", f"/api/v1/secrets/{name}", {"value": value, **more})


def names(person: Person) -> list[str]:
    return [one["name"] for one in person.get("/api/v1/secrets")["secrets"]]


def linac(person: Person, *words: str, given: bytes | None = None) -> subprocess.CompletedProcess:
    environment = {**os.environ, "LINAC_SERVER": person.service.url, "LINAC_TOKEN": person.token}
    return subprocess.run([LINAC, *words], input=given, capture_output=True, env=environment, timeout=20, stdin=None if given is not None else subprocess.DEVNULL)


def holding(folder: pathlib.Path, *values: str) -> list[str]:
    """Files below `folder` with one of the values in them, as it is, in hexadecimal digits or in base64."""
    forms = [form for value in values for form in (value.encode(), value.encode().hex().encode(), base64.b64encode(value.encode())[:-4])]
    found = []
    for file in folder.rglob("*"):
        try:
            if file.is_file() and not file.is_symlink() and any(form in file.read_bytes() for form in forms):
                found.append(str(file))
        except OSError:
            continue
    return found


def told(service: Service, admin: Person) -> str:
    """All that a service has printed and its audit log."""
    return "".join(service.lines) + json.dumps(admin.get("/api/v1/audit?limit=10000"))


def nobody_reads_or_changes_anothers(service, admin, ann, bob, folder) -> None:
    assert put(ann, "ANNS_KEY")[0] == 200
    for other in (bob, admin):
        assert "ANNS_KEY" not in names(other)
        status, answer = other.ask("DELETE", "/api/v1/secrets/ANNS_KEY")
        assert status == 404, (status, answer)
        assert put(other, "ANNS_KEY", "the-others-own")[0] == 200  # which is another one
        assert other.ask("DELETE", "/api/v1/secrets/ANNS_KEY")[0] == 200
        for path in ("/api/v1/users/ann/secrets", "/api/v1/secrets/ANNS_KEY", "/api/v1/secrets?user=ann", "/api/v1/secrets/ann/ANNS_KEY"):
            status, answer = other.ask("GET", path)
            assert status in (400, 404, 405) or answer == {"secrets": []}, (path, status, answer)
        status, answer = other.ask("POST", "/api/v1/jobs", {"job": (ROOT / "examples/topology.yaml").read_text(), "folder": str(ROOT / "examples"),
                                                            "directory": str(ROOT), "set": ["secrets=[ANNS_KEY]"], "cores": 1})
        assert status == 422 and "no secret ANNS_KEY" in answer["detail"] and "linac secrets set" in answer["detail"], (status, answer)
    assert call(service, "GET", "/api/v1/secrets").status == 401
    assert bob.ask("POST", "/api/v1/secrets/rotate-key", {})[0] == 403
    status, made = admin.ask("POST", "/api/v1/users/ann/tokens", {"scope": "viewer"})
    reader = Person(service, "ann", made["secret"])
    assert put(reader, "ANNS_KEY", "altered")[0] == 403 and reader.ask("GET", "/api/v1/secrets")[0] == 403
    found = ann.get("/api/v1/secrets")["secrets"]
    assert [one["name"] for one in found] == ["ANNS_KEY"] and found[0]["bytes"] == len(VALUE) and "value" not in found[0], found
    assert VALUE not in told(service, admin)
    entries = {(e["user"], e["action"], e["object"]) for e in admin.get("/api/v1/audit?limit=10000")["entries"]}
    assert ("ann", "secret.set", "ANNS_KEY") in entries and ("bob", "secret.remove", "ANNS_KEY") in entries, entries
    assert holding(service.folder, VALUE) == []
    assert ann.ask("DELETE", "/api/v1/secrets/ANNS_KEY")[0] == 200


def values_that_are_none(service, admin, ann, bob, folder) -> None:
    for name in ("LD_PRELOAD", "PATH", "LINAC_ATTEMPT", "PYTHONPATH", "a", "A%20B", "A%00B", "..%2Fjobs", "A" * 1000, "A%0ALD_PRELOAD"):
        status, answer = put(ann, name)
        assert status in (400, 404), (name, status, answer)
    for value in ("", "two\nlines", "zero\0byte", "x" * 20000):
        status, answer = put(ann, "KEY", value)
        assert status == 400 and "correct" not in json.dumps(answer), (value[:20], status, answer)
    assert put(ann, "KEY", "x" * 100_000, **{"as": "file"})[0] == 400
    assert put(ann, "KEY", **{"as": "vault"})[0] == 400 and put(ann, "KEY", value_base64="AAAA")[0] == 400
    assert ann.ask("PUT", "/api/v1/secrets/KEY", {"value_base64": "not base64!"})[0] == 400
    assert call(service, "PUT", "/api/v1/secrets/KEY", f'{{"value": "{VALUE}'.encode(), ann.token, {"Content-Type": "application/json"}).status == 400
    status = call(service, "PUT", "/api/v1/secrets/KEY", b"x" * 1000, ann.token, {"Content-Type": "application/json", "Content-Length": str(1 << 30)}).status
    assert status == 413, status
    assert VALUE not in told(service, admin) and names(ann) == []
    refused = None
    for i in range(10_000):
        status, answer = put(ann, f"KEY_{i}")
        if status != 200:
            refused = (i, status, answer)
            break
    assert refused and refused[:2] == (64, 429) and "remove one" in refused[2]["detail"], refused
    for name in names(ann):
        ann.ask("DELETE", f"/api/v1/secrets/{name}")


def the_verbs(service, admin, ann, bob, folder) -> None:
    def good(*words: str, given: bytes | None = None) -> str:
        done = linac(ann, *words, given=given)
        assert done.returncode == 0, (words, done.stdout, done.stderr)
        assert VALUE not in (done.stdout + done.stderr).decode()
        return done.stdout.decode()

    good("secrets", "set", "BEARER_TOKEN", given=VALUE.encode() + b"\n")
    (folder / "proxy").write_text(PROXY)
    assert "a file" in good("secrets", "set", "X509_USER_PROXY", "--file", str(folder / "proxy"))
    listed = {one["name"]: one for one in json.loads(good("secrets", "list", "--json"))["secrets"]}
    assert listed["BEARER_TOKEN"]["bytes"] == len(VALUE) and listed["BEARER_TOKEN"]["as"] == "env", listed
    assert listed["X509_USER_PROXY"]["bytes"] == len(PROXY) and listed["X509_USER_PROXY"]["as"] == "file", listed
    assert "never" in good("secrets", "list")
    os.mkfifo(folder / "pipe")
    for words, given, why in [(("--file", str(folder / "pipe")), None, "standard input"), (("--file", str(folder)), None, "is no file"),
                              (("--file", "/dev/zero"), None, "is no file"), (("--file", str(folder / "none")), None, "cannot be read"),
                              ((), b"", "empty"), ((), b"x" * 200_000, "more than"), ((), b"a\0b", "zero bytes"), ((VALUE,), b"", "")]:
        done = linac(ann, "secrets", "set", "KEY", *words, given=given)
        assert done.returncode == 2 and why in done.stderr.decode(), (words, done.returncode, done.stderr)
    done = linac(ann, "secrets", "set", "LD_PRELOAD", given=b"x")
    assert done.returncode == 2 and "change how programs run" in done.stderr.decode(), done.stderr
    for name in ("BEARER_TOKEN", "X509_USER_PROXY"):
        good("secrets", "remove", name)
    assert linac(ann, "secrets", "remove", "BEARER_TOKEN").returncode == 2


# What a job may do with its secrets, by one that does all it can to have them kept somewhere.
LEAKS = r"""
import json, os, pathlib, subprocess, sys
out = pathlib.Path(os.getcwd())
key, proxy = os.environ["MY_KEY"], pathlib.Path(os.environ["X509_USER_PROXY"])
print("environment", sorted(os.environ.items()))
print("proxy", proxy.read_text(), oct(proxy.stat().st_mode), flush=True)
sys.stdout.write(key[:9]); sys.stdout.flush()
import time; time.sleep(0.3)
print(key[9:], flush=True)
print("E [" + key + "] failed", file=sys.stderr)
print("other processes", [p for p in os.listdir("/proc") if p.isdigit() and key.encode() in open(f"/proc/{p}/cmdline", "rb").read()])
(out / "job.yaml").write_text(f"name: '{key}'\n'{key}': 1\n")
(out / "metrics.jsonl").write_text(json.dumps({"kind": "step", "global_step": 1, "lr": 0.1, "loss": {key: 1.5}}) + "\n")
(out / "run.json").write_text(json.dumps({"linac": key, "status": "failed", "error": {"message": "x" * 590 + key}, "host": {"name": key},
    "data": {"train": [{"url": "s3://" + key, "fingerprint": key, "events": 5}]}}))
print("end", flush=True)
"""


def what_a_job_prints_is_redacted(service, admin, ann, bob, folder) -> None:
    put(ann, "MY_KEY")
    put(ann, "X509_USER_PROXY", PROXY)
    run = ann.submit(plug_in(folder, "leaks", LEAKS), set=["secrets=[MY_KEY, X509_USER_PROXY]"])
    ended = ann.ended(run)
    log = ann.log(run)
    assert "('MY_KEY', '[secret MY_KEY]')" in log and "\n[secret MY_KEY]\n" in log and "proxy [secret X509_USER_PROXY]\n[secret" in log and "end" in log, log
    assert "0o100600" in log and "other processes []" in log, log
    secret_parts = (VALUE, VALUE[:9], "MIIsecretproxy")
    shown = [log, json.dumps(ended), json.dumps(ann.get(f"/api/v1/jobs/{run}")), json.dumps(ann.get(f"/api/v1/runs/{run}/curves")),
             "".join(service.lines), json.dumps(admin.get("/api/v1/audit?limit=10000")), json.dumps(ann.get("/api/v1/secrets"))]
    for text in shown:
        assert not any(part in text for part in secret_parts), text
    assert "[secret MY_KEY]" in json.dumps(ended) and ended["tags"]["linac.version"] == "[secret MY_KEY]", ended
    # What the job itself has made of them is in its own files; nothing else of the service has them.
    kept = holding(service.folder, VALUE, "MIIsecretproxy")
    assert all("/artifacts/" in name for name in kept), kept
    used = {one["name"]: one["used_ms"] for one in ann.get("/api/v1/secrets")["secrets"]}
    assert used["MY_KEY"] > 0 and used["X509_USER_PROXY"] > 0, used
    for name in ("MY_KEY", "X509_USER_PROXY"):
        ann.ask("DELETE", f"/api/v1/secrets/{name}")


WAITS = r"""
import os, pathlib, time
print("key", os.environ["MY_KEY"], flush=True)
end = time.monotonic() + 30
while not pathlib.Path("go").exists() and time.monotonic() < end:
    time.sleep(0.05)
print("later", os.environ["MY_KEY"], pathlib.Path(os.environ["X509_USER_PROXY"]).read_text(), flush=True)
"""


def secrets_are_those_of_the_moment_an_attempt_starts(service, admin, ann, bob, folder) -> None:
    put(ann, "MY_KEY", "the-first-value")
    put(ann, "X509_USER_PROXY", PROXY)
    job = plug_in(folder, "waits", WAITS)
    more = {"set": ["secrets=[MY_KEY, X509_USER_PROXY]"]}
    first = ann.submit(job, **more)
    wait_for(lambda: "key [secret MY_KEY]" in ann.log(first), "its log", 30, 0.05)
    second, third = ann.submit(job, **more), ann.submit(job, **more)  # there is one core
    put(ann, "MY_KEY", "the-second-value")
    go = lambda run: (service.folder / "artifacts/0" / run / "artifacts/go").touch()  # noqa: E731
    go(first)
    ann.ended(first)
    wait_for(lambda: "key" in ann.log(second), "its log", 30, 0.05)
    assert "second-value" not in ann.log(second)
    ann.ask("DELETE", "/api/v1/secrets/MY_KEY")
    go(second)
    ann.ended(second)
    for run in (first, second):
        assert "later [secret MY_KEY] [secret X509_USER_PROXY]" in ann.log(run), ann.log(run)
    refused = ann.ended(third)
    assert refused["state"] == "FAILED_PRECHECKS" and "no secret MY_KEY" in refused["reason"] and "linac secrets set MY_KEY" in refused["reason"], refused
    assert ann.log(third) == ""
    put(ann, "MY_KEY", "the-third-value")
    assert ann.ask("POST", f"/api/v1/runs/{third}/resume", {})[0] == 200
    wait_for(lambda: "key" in ann.log(third), "its log", 30, 0.05)
    go(third)
    ann.ended(third)
    kept = holding(service.folder, "the-first-value", "the-second-value", "the-third-value", "MIIsecretproxy")
    assert all("/artifacts/" in name for name in kept), kept
    for name in ("MY_KEY", "X509_USER_PROXY"):
        ann.ask("DELETE", f"/api/v1/secrets/{name}")


def two_at_once(service, admin, ann, bob, folder) -> None:
    failures = []

    def sets(person: Person, i: int) -> None:
        status, answer = put(person, f"KEY_{i % 4}", f"value-number-{i}")
        if status != 200:
            failures.append(answer)

    def rotates() -> None:
        status, answer = admin.ask("POST", "/api/v1/secrets/rotate-key", {})
        if status != 200:
            failures.append(answer)

    threads = [threading.Thread(target=sets, args=(person, i)) for i in range(20) for person in (ann, bob)]
    threads += [threading.Thread(target=rotates) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures, failures
    for person in (ann, bob):
        found = [one for one in person.get("/api/v1/secrets")["secrets"] if one["name"].startswith("KEY_")]
        assert len(found) == 4 and all(one["readable"] for one in found), found
        for one in found:
            person.ask("DELETE", f"/api/v1/secrets/{one['name']}")
    assert len((service.folder / "private/secrets.key").read_text().splitlines()) == 1


def a_backup_has_no_secret_in_the_open(service, admin, ann, bob, folder) -> None:
    put(ann, "MY_KEY")
    put(ann, "X509_USER_PROXY", PROXY)
    run = ann.submit(plug_in(folder, "backed", WAITS), set=["secrets=[MY_KEY, X509_USER_PROXY]"])
    wait_for(lambda: "key" in ann.log(run), "its log", 30, 0.05)
    assert len(holding(service.folder, "MIIsecretproxy")) == 1  # the file that the job reads
    to = folder / "backup"
    subprocess.run([LINAC, "serve", "backup", "--data", service.folder, "--to", to], check=True, capture_output=True)
    # But what a job has written into its own files.
    assert all("/artifacts/" in name for name in holding(to, VALUE, "MIIsecretproxy")) and not list(to.rglob("secrets.key"))
    (service.folder / "artifacts/0" / run / "artifacts/go").touch()
    ann.ended(run)
    restored = folder / "restored"
    subprocess.run([LINAC, "serve", "restore", "--data", restored, "--from", to], check=True, capture_output=True)
    with Service("--slots", "cores=1", data=str(restored)) as again:
        there = Person(again, "ann", ann.token)
        assert not any(one["readable"] for one in there.get("/api/v1/secrets")["secrets"])
        status, answer = put(there, "ANOTHER_KEY")
        assert status >= 500 and "rotate-key --drop-unreadable" in json.dumps(answer), (status, answer)
        assert there.ask("DELETE", "/api/v1/secrets/MY_KEY")[0] == 200
        shutil.copytree(service.folder / "private", restored / "private", dirs_exist_ok=True)
        assert all(one["readable"] for one in there.get("/api/v1/secrets")["secrets"]) and put(there, "ANOTHER_KEY")[0] == 200


def a_service_that_is_killed_leaves_nothing() -> None:
    """Killed while an attempt with secrets runs, and its supervisor with it."""
    with tempfile.TemporaryDirectory(prefix="linac-secrets-") as name, tempfile.TemporaryDirectory(prefix="linac-data-") as data:
        folder = pathlib.Path(name)
        with Service("--slots", "cores=1", data=data) as service:
            admin = Person(service, "admin", service.token)
            put(admin, "MY_KEY")
            put(admin, "X509_USER_PROXY", PROXY)
            run = admin.submit(plug_in(folder, "killed", WAITS), set=["secrets=[MY_KEY, X509_USER_PROXY]"], attempts_max=1)
            wait_for(lambda: "key" in admin.log(run), "its log", 30, 0.05)
            service.kill()
            attempt = pathlib.Path(data) / "runs" / run / "attempt-1"
            os.kill(json.loads((attempt / "supervisor.json").read_text())["pid"], signal.SIGKILL)
            (pathlib.Path(data) / "artifacts/0" / run / "artifacts/go").touch()
        with Service("--slots", "cores=1", data=data) as service:
            admin = Person(service, "admin", admin.token)
            assert admin.ended(run)["state"] == "LOST"
            log = wait_for(lambda: (text := admin.log(run)).count("later") and text, "its log", 30, 0.05)
            assert "later [secret MY_KEY] [secret X509_USER_PROXY]" in log, log
            assert holding(pathlib.Path(data), VALUE, "MIIsecretproxy") == []


def a_job_trains_from_a_store_with_its_users_keys(service, admin, ann, bob, folder) -> None:
    if not Versitygw.available():
        raise Skipped("no versitygw is installed", "tests/servers/get.sh versitygw")
    with Versitygw() as store:
        for name in ("topology-train.parquet", "topology-test.parquet", "topology-scaling.json"):
            store.put(name, (ROOT / "data" / name).read_bytes())
        keys = ("AWS_ENDPOINT_URL", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_REGION")
        asked = ["data.train=[s3://test/topology-train.parquet]", "data.test=[s3://test/topology-test.parquet]", "train.epochs=1", "train.max_steps=3",
                 "checkpoint.every_epochs=0"]
        job = {"job": (ROOT / "examples/topology.yaml").read_text(), "folder": str(ROOT / "examples"), "directory": str(ROOT), "cores": 1}
        for name in keys:
            done = linac(ann, "secrets", "set", name, given=store.environment[name].encode())
            assert done.returncode == 0, done.stderr
        status, answer = ann.ask("POST", "/api/v1/jobs", job | {"set": [*asked, f"secrets=[{', '.join(keys)}]"]})
        assert status == 200, answer
        ended = ann.ended(answer["runs"][0]["id"], 120)
        assert ended["state"] == "SUCCEEDED", (ended["reason"], ann.log(ended["id"]))
        assert store.secret not in ann.log(ended["id"]) + json.dumps(ended)
        # Without keys of his own bob reads nothing there: neither by the store, nor from what ann's job has fetched.
        status, answer = bob.ask("POST", "/api/v1/jobs", job | {"set": [*asked, f"secrets=[{', '.join(keys)}]"]})
        assert status == 422 and "no secret AWS_ENDPOINT_URL, AWS_ACCESS_KEY_ID" in answer["detail"], answer
        put(bob, "AWS_ENDPOINT_URL", store.url)  # which is no secret
        status, answer = bob.ask("POST", "/api/v1/jobs", job | {"set": [*asked, "secrets=[AWS_ENDPOINT_URL]"]})
        assert status == 200, answer
        refused = bob.ended(answer["runs"][0]["id"], 120)
        assert refused["state"] in ("FAILED", "FAILED_PRECHECKS") and "test/topology" in refused["reason"], refused
        # The same job, here: from the environment, and refused where a key is missing.
        words = [LINAC, "train", ROOT / "examples/topology.yaml", "--out", folder / "local", *(word for one in asked for word in ("--set", one)),
                 "--set", f"secrets=[{', '.join(keys)}]"]
        environment = {**os.environ, **store.environment}
        environment.pop("AWS_SECRET_ACCESS_KEY")
        done = subprocess.run(words, capture_output=True, text=True, env=environment, cwd=ROOT)
        assert done.returncode == 2 and "AWS_SECRET_ACCESS_KEY is not in the environment" in done.stderr, (done.returncode, done.stderr)
        done = subprocess.run(words, capture_output=True, text=True, env={**os.environ, **store.environment}, cwd=ROOT)
        assert done.returncode == 0, done.stderr
        assert store.secret not in "".join(file.read_text(errors="replace") for file in (folder / "local").rglob("*") if file.is_file())
        for person in (ann, bob):
            for name in names(person):
                person.ask("DELETE", f"/api/v1/secrets/{name}")


def main() -> int:
    shared = [nobody_reads_or_changes_anothers, values_that_are_none, the_verbs, what_a_job_prints_is_redacted,
              secrets_are_those_of_the_moment_an_attempt_starts, two_at_once, a_backup_has_no_secret_in_the_open,
              a_job_trains_from_a_store_with_its_users_keys]
    failures = 0

    def carry_out(test, *arguments) -> None:
        nonlocal failures
        if sys.argv[1:] and not any(word in test.__name__ for word in sys.argv[1:]):
            return
        begin = time.monotonic()
        try:
            test(*arguments)
            print(f"ok    {test.__name__} ({time.monotonic() - begin:.1f} s)", flush=True)
        except Skipped as why:
            skipped(test.__name__, *why.args)
        except Exception:  # noqa: BLE001 - each attack is reported
            failures += 1
            print(f"FAIL  {test.__name__}", flush=True)
            traceback.print_exc()

    with Service("--slots", "cores=1") as service:
        admin = Person(service, "admin", service.token)
        trusted = any("sandbox" in line for line in service.lines)  # there is none: members' jobs do not run
        if trusted:
            skipped("jobs of members", "there is no sandbox, and those of admins are looked at")
        ann, bob = (newcomer(admin, name, "admin" if trusted else "member") for name in ("ann", "bob"))
        for test in shared:
            with tempfile.TemporaryDirectory(prefix="linac-secrets-") as name:
                carry_out(test, service, admin, ann, bob, pathlib.Path(name))
        if failures:
            print("".join(service.lines[-40:]))
    carry_out(a_service_that_is_killed_leaves_nothing)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
