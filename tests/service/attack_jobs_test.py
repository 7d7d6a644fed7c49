#!/usr/bin/env python3
"""What people who do not trust each other may try by jobs, artefacts and files of the host, against `linac serve` as it is delivered.

Each test is an attack that worked once; all of them meet the same service, so they cost seconds. LINAC names the program.
    attack_jobs_test.py [WORD...]      those with one of these words in their name
"""

import errno
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

from lib.ports import free_port
from lib.runs import LINAC, ROOT
from lib.server_process import Service
from attack_jobs_world import CALLS, TRAIN, TRY, Person, Skipped, carry_out, newcomer, plug_in, sandbox_or_skip

SCALING = ROOT / "data" / "topology-scaling.json"


def fences_listening(service: Service) -> bool:
    return not any("Landlock" in line for line in service.lines)


# Point by point.

def places_of_artifacts_lead_nowhere_else(service, admin, member, folder) -> None:
    outside = service.folder / "stolen"
    for number, location in enumerate([
            "mlflow-artifacts:/../stolen", "mlflow-artifacts:/a/../../stolen", f"mlflow-artifacts:/{outside}", f"mlflow-artifacts://{outside}",
            "mlflow-artifacts:/..", "mlflow-artifacts:/%2e%2e/stolen", "mlflow-artifacts:/a//../../../stolen",
            "mlflow-artifacts:/./../stolen", "mlflow-artifacts:/0/run/artifacts/link", "mlflow-artifacts:/x\\..\\..\\stolen", str(outside), f"file://{outside}",
            "../stolen"]):
        status, answer = member.ask("POST", "/api/2.0/mlflow/experiments/create", {"name": f"elsewhere-{number}", "artifact_location": location})
        assert status == 400, (location, status, answer)
    status, answer = member.ask("POST", "/api/2.0/mlflow/experiments/create", {"name": "calo", "artifact_location": "mlflow-artifacts:/calo/2026"})
    assert status == 200, answer
    run = member.submit(plug_in(folder, "calo", "open('kept', 'w')"), experiment="calo")
    member.ended(run)
    assert (service.folder / "artifacts" / "calo" / "2026" / run / "artifacts" / "kept").exists() and not outside.exists()


def locations_of_an_older_database_lead_nowhere_else(service, admin, member, folder) -> None:
    """What was written before it was looked at: the run's files lie beside its log."""
    import sqlite3
    outside = folder / "older-outside"
    for name, location in (("older", f"mlflow-artifacts:/../{outside.name}"), ("older-host", f"mlflow-artifacts:/{outside}")):
        status, answer = member.ask("POST", "/api/2.0/mlflow/experiments/create", {"name": name})
        assert status == 200, answer
        with sqlite3.connect(service.folder / "books.db", timeout=20) as books:
            books.execute("UPDATE experiments SET artifact_location = ? WHERE id = ?", (location, answer["experiment_id"]))
        books.close()
        run = member.submit(plug_in(folder, name, "print('ran')"), experiment=name)
        member.ended(run)
        assert "ran" in member.log(run), member.log(run)
        assert not outside.exists() and not (service.folder / outside.name).exists() and (service.folder / "runs" / run / "outputs").is_dir(), location


def what_lies_in_a_folder_of_an_attempt_is_not_started(service, admin, member, folder) -> None:
    """The folder is there before the job's turn comes, with a command of somebody else's."""
    first = member.submit(plug_in(folder, "slow", "import time; time.sleep(3600)"))
    run = member.submit(plug_in(folder, "mine", "print('my own job')"))
    planted = service.folder / "runs" / run / "attempt-1"
    planted.mkdir(parents=True)
    command = {"argv": ["/bin/sh", "-c", f"id > {folder}/taken-over"], "directory": "/", "log": f"{folder}/planted.log", "account": "", "environment": [],
               "memory_mb": 0, "cores": [], "gpus": [], "stop_grace_s": 1}
    (planted / "command.json").write_text(json.dumps(command))
    status, answer = member.ask("POST", f"/api/v1/runs/{first}/cancel", {})
    assert status == 200, answer
    member.ended(first)
    member.ended(run)
    assert not (folder / "taken-over").exists(), (folder / "taken-over").read_text()
    assert "my own job" in member.log(run), member.log(run)


def links_that_a_job_leaves_lead_nowhere(service, admin, member, folder) -> None:
    secret = folder / "secret-of-the-host"
    secret.mkdir(exist_ok=True)
    (secret / "keys").write_text("keys\n")
    run = member.submit(plug_in(folder, "links", f"import os\nos.symlink({str(secret)!r}, 'models')\nos.symlink({str(secret)!r}, 'images')\nos.mkfifo('metrics.jsonl')\n"
                                                 f"os.path.exists('run.json') and os.unlink('run.json')\nos.symlink({str(secret / 'keys')!r}, 'run.json')"))
    member.ended(run)
    for path in ("models/keys", "run.json", "metrics.jsonl"):
        status, _ = member.ask("GET", f"/api/v1/runs/{run}/files/{path}")
        assert status in (400, 404), (path, status)
    status, _ = member.ask("PUT", f"/api/v1/runs/{run}/files/models/new", b"new")
    assert status in (400, 404) and not (secret / "new").exists(), status


def a_job_sees_its_own_run_and_nothing_of_the_service(service, admin, member, folder) -> None:
    sandbox_or_skip(service)
    other = admin.submit(plug_in(folder, "others", "open('result', 'w').write('secret of another')"))
    admin.ended(other)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(folder / "agent"))
    listener.listen()
    abstract = socket.socket(socket.AF_UNIX)
    abstract.bind(f"\0linac-attack-{os.getpid()}")
    abstract.listen()
    traces = [pathlib.Path(place, "linac-attack") for place in ("/etc", "/usr", ROOT)]
    for trace in traces:
        if trace.exists():
            trace.unlink()
    victim = folder / "victim"
    victim.write_text("as it was\n")
    script = TRY + CALLS + f"""
data, pid = {str(service.folder)!r}, {service.process.pid}
def within(path):
    return sorted(str(p) for p in pathlib.Path(path).rglob('*'))
tries('database', lambda: open(data + '/books.db', 'rb').read(16).hex())
tries('data', lambda: [p for p in within(data) if {member.name!r} not in p and os.environ['LINAC_RUN'] not in p and p != data + '/runs' and 'caches' not in p and not os.path.isdir(p)])
tries('other run', lambda: within(data + '/runs/{other}') + glob.glob(data + '/artifacts/*/{other}/*/*'))
tries('attempt', lambda: open(os.environ['LINAC_ATTEMPT'] + '/command.json').read())
tries('forged end', lambda: open(os.environ['LINAC_ATTEMPT'] + '/exit.json', 'w').write('{{}}'))
tries('signal', lambda: os.kill(pid, 0) or 'sent')
tries('environment', lambda: open(f'/proc/{{pid}}/environ', 'rb').read().decode())
tries('memory', lambda: open(f'/proc/{{pid}}/mem', 'rb').fileno())
tries('root of the service', lambda: os.listdir(f'/proc/{{pid}}/root'))
tries('processes', lambda: len([p for p in os.listdir('/proc') if p.isdigit()]))
tries('login', lambda: os.listdir(os.path.expanduser('~/.config/linac')))
tries('dots at home', lambda: [n for n in os.listdir(os.path.expanduser('~')) if n.startswith('.')])
tries('outside', lambda: open({str(victim)!r}, 'w').write('changed'))
tries('host', lambda: [open(p, 'w').close() for p in {[str(trace) for trace in traces]!r}])
def agent():
    s = socket.socket(socket.AF_UNIX); s.connect({str(folder / 'agent')!r}); return 'reached'
tries('socket', agent)
def abstract():
    s = socket.socket(socket.AF_UNIX); s.connect('\\0linac-attack-{os.getpid()}'); return 'reached'
tries('abstract socket', abstract)
def listens(port):
    s = socket.socket(); s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1); s.bind(('127.0.0.1', port)); s.listen(); return s.getsockname()[1]
tries('port of another', lambda: listens({free_port()}))
tries('any port', lambda: listens(0))
tries('shadow', lambda: open('/etc/shadow').read()[:10])
for name in ('sys/kernel/core_pattern', 'sys/kernel/modprobe', 'sys/vm/drop_caches', 'irq/default_smp_affinity'):
    if os.path.exists('/proc/' + name):
        tries('/proc/' + name, lambda: os.close(os.open('/proc/' + name, os.O_WRONLY)))
tries('clone3', lambda: call(libc.syscall, 435, 0, 0))
tries('capabilities', lambda: [l.split()[1] for l in open('/proc/self/status') if l.startswith(('CapEff', 'CapPrm', 'CapInh', 'CapAmb'))])
tries('descriptors', lambda: sorted(os.readlink(f'/proc/self/fd/{{n}}') for n in os.listdir('/proc/self/fd') if int(n) > 2 and os.path.exists(f'/proc/self/fd/{{n}}')))
tries('terminal', lambda: os.open('/dev/tty', os.O_RDWR))
tries('secrets', lambda: [k for k in os.environ if 'SECRET' in k])
tries('umask', lambda: os.umask(0o22))
tries('own', lambda: open('own', 'w').write('x') and open({str(TRAIN)!r}, 'rb').read(4).decode())
print('FOUND ' + json.dumps(found), flush=True)
"""
    run = member.submit(plug_in(folder, "spy", script))
    member.ended(run)
    listener.close()
    abstract.close()
    log = member.log(run)
    assert "FOUND " in log, log
    found = json.loads(next(line for line in log.splitlines() if line.startswith("FOUND "))[6:])
    for name in ("database", "attempt", "forged end", "signal", "environment", "memory", "root of the service", "login", "host", "socket", "terminal"):
        assert str(found[name]).startswith("no: "), (name, found[name])
    assert found["data"] == [] and found["other run"] == [] and found["dots at home"] == [] and found["descriptors"] == [], found
    assert str(found["shadow"]).startswith("no: ") or found["shadow"] == "", found["shadow"]
    assert all(str(what).startswith("no: ") for name, what in found.items() if name.startswith("/proc/")), found
    assert set(found["calls"]) == {errno.EPERM} and found["clone3"] == errno.ENOSYS, found
    assert isinstance(found["any port"], int), found
    if fences_listening(service):
        assert found["port of another"] == found["abstract socket"] == "no: PermissionError", found
    assert found["processes"] < 20 and found["secrets"] == [] and found["umask"] == 0o22, found
    assert all(int(mask, 16) == 0 for mask in found["capabilities"]), found["capabilities"]
    assert found["own"] == "PAR1", found
    assert victim.read_text() == "as it was\n"
    assert not any(trace.exists() for trace in traces)


def a_job_of_an_account_of_its_own_is_kept_out_too(service, admin, member, folder) -> None:
    """No sandbox, but the rights of another account, and the same filter of calls."""
    if os.geteuid() != 0:
        raise Skipped("only root starts jobs as other accounts")
    other = admin.submit(plug_in(folder, "before", "open('result', 'w').write('secret of another')"))
    admin.ended(other)
    stranger = newcomer(admin, "nobodys", runs_as="nobody")
    os.chmod(folder, 0o755)
    script = TRY + CALLS + f"""
data, pid = {str(service.folder)!r}, {service.process.pid}
tries('database', lambda: open(data + '/books.db', 'rb').read(16).hex())
tries('data', lambda: os.listdir(data))
tries('log of another', lambda: open(data + '/runs/{other}/log.txt').read())
tries('result of another', lambda: open(data + '/artifacts/0/{other}/artifacts/result').read())
tries('own attempt', lambda: open(os.environ['LINAC_ATTEMPT'] + '/command.json').read())
tries('plants an attempt', lambda: os.mkdir(data + '/runs/' + os.environ['LINAC_RUN'] + '/attempt-2'))
tries('plants a place', lambda: os.mkdir(data + '/artifacts/0/mine'))
tries('signal', lambda: os.kill(pid, 0) or 'sent')
tries('environment', lambda: open(f'/proc/{{pid}}/environ', 'rb').read().decode())
tries('own', lambda: open('own', 'w').write('x'))
found['groups'] = os.getgroups()
print('FOUND ' + json.dumps(found), flush=True)
"""
    run = stranger.submit(plug_in(folder, "outsider", script))
    stranger.ended(run)
    log = stranger.log(run)
    assert "FOUND " in log, log
    found = json.loads(next(line for line in log.splitlines() if line.startswith("FOUND "))[6:])
    assert found.pop("own") == 1 and found.pop("groups") in ([], [65534]), found
    assert set(found.pop("calls")) == {errno.EPERM}, found
    assert all(str(what).startswith("no: ") for what in found.values()), found


def root_is_no_account_by_mistake(service, admin, member, folder) -> None:
    for method, path, name in (("POST", "/api/v1/users", {"name": "rooted"}), ("PATCH", f"/api/v1/users/{member.name}", {})):
        status, answer = admin.ask(method, path, name | {"account": "root"})
        assert status == 400 and "as_root" in answer["detail"], (status, answer)


def a_link_among_the_inputs_shows_nothing(service, admin, member, folder) -> None:
    sandbox_or_skip(service)
    (folder / "books.parquet").unlink(missing_ok=True)
    (folder / "books.parquet").symlink_to(service.folder / "books.db")
    job = plug_in(folder, "lens", TRY + f"tries('link', lambda: open({str(folder / 'books.parquet')!r}, 'rb').read(6).hex())\nprint('FOUND ' + json.dumps(found), flush=True)")
    for name in (str(folder / "books.parquet"), str(service.folder / "books.db"), str(service.folder)):
        status, answer = member.ask("POST", "/api/v1/jobs", {"job": job.replace(str(TRAIN), name), "cores": 1})
        assert status == 422 and "no file that this job may read" in answer["detail"], (status, answer)
        run = admin.submit(job.replace(str(TRAIN), name))  # of an admin it is found out later
        reason = admin.ended(run)["reason"]
        assert "no job is shown" in reason or '"link": "no: ' in admin.log(run), (reason, admin.log(run))


def writes_go_on(person: Person, during, most: float, least: int = 3) -> None:
    """While `during` is carried out, changes of others are acknowledged within `most` seconds."""
    status, answer = person.ask("POST", "/api/2.0/mlflow/runs/create", {"experiment_id": "0"})
    assert status == 200, answer
    run = answer["run"]["info"]["run_id"]
    thread = threading.Thread(target=during)
    thread.start()
    slowest, count = 0.0, 0
    while thread.is_alive() or count < least:
        begin = time.monotonic()
        status, answer = person.ask("POST", "/api/2.0/mlflow/runs/set-tag", {"run_id": run, "key": "k", "value": str(count)}, timeout=20)
        slowest, count = max(slowest, time.monotonic() - begin), count + 1
        assert status == 200, answer
        assert slowest < most, f"a write took {slowest:.1f} s"
        time.sleep(0.05)
    thread.join()


def laughs(levels: int = 14, each: int = 12) -> str:
    """Some lines that stand for each ** levels maps."""
    text = "a0: &a0 {}\n"
    for level in range(1, levels + 1):
        text += f"a{level}: &a{level} {{" + ", ".join(f"k{k}: *a{level - 1}" for k in range(each)) + "}\n"
    return text


def few_lines_of_yaml_do_not_stop_the_writes(service, admin, member, folder) -> None:
    answers = []

    def attack() -> None:
        status, answer = member.ask("POST", "/api/v1/ingest", {"key": "abc123"})
        assert status == 200, answer
        for text in (laughs(), "a: " + "[" * 100000, "? " * 100000, "&a [*a]\n", "a: " + "x" * 900000):
            answers.append(member.ask("POST", f"/api/v1/runs/{answer['id']}/facts", {"job": text})[0])
            answers.append(member.ask("POST", f"/api/v1/runs/{answer['id']}/facts", {"run": text})[0])
            answers.append(member.ask("POST", "/api/v1/jobs", {"job": "name: x\n" + text, "check_only": True})[0])
        answers.append(member.ask("POST", f"/api/v1/runs/{answer['id']}/facts", {"run": '{"data":' + "[" * 1000000 + "]" * 1000000 + "}"})[0])
        answers.append(member.ask("POST", "/api/v1/jobs", {"job": "name: x\n", "set": ["a" + ".a" * 100000 + "=1"], "check_only": True})[0])
        answers.append(member.ask("POST", "/api/v1/jobs", {"job": "name: x\n", "set": ["data.train=" + "[" * 50000], "check_only": True})[0])

    writes_go_on(admin, attack, 5)
    assert len(answers) == 18 and all(status in (200, 400, 413, 422) for status in answers), answers


def a_run_s_own_files_do_not_stop_the_writes(service, admin, member, folder) -> None:
    job = plug_in(folder, "bomb", f"import time\nopen('job.yaml', 'w').write({laughs()!r})\nopen('run.json', 'w').write('[' * 1000000)\ntime.sleep(0.5)")
    writes_go_on(admin, lambda: member.ended(member.submit(job)), 5)


def files_that_do_not_answer_do_not_stop_the_reads(service, admin, member, folder) -> None:
    fifo, sock = folder / "fifo.parquet", folder / "socket.parquet"
    if not fifo.exists():
        os.mkfifo(fifo)
        socket.socket(socket.AF_UNIX).bind(str(sock))
    attempts = [str(fifo), "/dev/zero", "/dev/tty", str(sock), "/*/*/*/*/*/*/*/*", "/proc/*/task/*/fd/*/*", str(fifo), "/*/*/*/*/*/*/*.h5"]
    answers, slowest = [], [0.0]

    def ask(place: str) -> None:
        answers.append(member.ask("POST", "/api/v1/jobs", {"job": JOB_OF_FILES % place, "check_only": True}))

    threads = [threading.Thread(target=ask, args=(place,)) for place in attempts]
    for thread in threads:
        thread.start()
    begin = time.monotonic()
    while any(thread.is_alive() for thread in threads):
        assert time.monotonic() - begin < 50, "the checks do not come to an end"
        asked = time.monotonic()
        admin.get("/api/v1/queue")
        slowest[0] = max(slowest[0], time.monotonic() - asked)
        assert slowest[0] < 5, f"a read took {slowest[0]:.1f} s"
        time.sleep(0.02)
    assert len(answers) == len(attempts) and all(status in (200, 422) for status, _ in answers), answers
    assert sum("no file that this job may read" in answer.get("detail", "") for _, answer in answers) >= 5, answers


def what_the_host_has_is_not_told(service, admin, member, folder) -> None:
    """The same words whether something is not there, not for a job to read, or no file."""
    sandbox_or_skip(service)
    (folder / "way.parquet").symlink_to("/etc/shadow")
    os.mkfifo(folder / "pipe.parquet")

    def told(place: str, **more) -> str:
        status, answer = member.ask("POST", "/api/v1/jobs", {"job": JOB_OF_FILES % place, "check_only": True, **more})
        assert status == 422, (place, status, answer)
        return answer["detail"].replace(place, "PLACE")

    missing = told("/nowhere/x.parquet")
    for place in (service.folder / "books.db", service.folder / "none.db", service.folder, "/etc/shadow", "/etc/shado[w]", "/etc/shadox*", "/run", "/dev/null",
                  folder / "way.parquet", folder / "pipe.parquet", folder / "no*.parquet"):
        assert told(str(place)) == missing, (told(str(place)), missing)
    places = {"folder": "/usr", "directory": "/var/tmp"}
    missing = told("../../etc/nothing", **places)
    for place in ("../../etc/shadow", "../../etc/shado[w]", "../../dev/null"):
        assert told(place, **places) == missing, (told(place, **places), missing)
    status, answer = member.ask("POST", "/api/v1/jobs", {"job": JOB_OF_FILES % TRAIN, "check_only": True})
    assert status == 200, answer


JOB_OF_FILES = ("name: x\nworkers: 1\nmodel: {kind: custom, file: /bin/true}\n"
                "data: {train: ['%s'], inputs: [{name: HLF_input}], targets: [{column: encoded_label}], classes: [a, b, c]}\n"
                "train: {epochs: 1, batch: 30, fit: {loss: categorical_crossentropy}}\n")


# With a service of their own.

def a_disk_that_hangs_stops_neither_reads_nor_the_end() -> None:
    if not shutil.which("cc"):
        raise Skipped("no C compiler (cc) for a disk that hangs")
    with tempfile.TemporaryDirectory(prefix="linac-attack-") as name:
        folder = pathlib.Path(name)
        (folder / "hangs.c").write_text("""
            #define _GNU_SOURCE
            #include <dlfcn.h>
            #include <fcntl.h>
            #include <stdarg.h>
            #include <string.h>
            #include <unistd.h>
            static void look(const char* path) { if (path && strstr(path, "disk-that-hangs")) for (;;) pause(); }
            int open(const char* path, int flags, ...) {
              va_list list; va_start(list, flags); int mode = va_arg(list, int); va_end(list);
              look(path);
              return ((int (*)(const char*, int, ...))dlsym(RTLD_NEXT, "open"))(path, flags, mode);
            }
            int open64(const char* path, int flags, ...) {
              va_list list; va_start(list, flags); int mode = va_arg(list, int); va_end(list);
              look(path);
              return ((int (*)(const char*, int, ...))dlsym(RTLD_NEXT, "open64"))(path, flags, mode);
            }
            """)
        subprocess.run(["cc", "-shared", "-fPIC", "-o", folder / "hangs.so", folder / "hangs.c", "-ldl"], check=True)
        (folder / "disk-that-hangs").write_text("x")
        os.environ["LD_PRELOAD"] = str(folder / "hangs.so")
        try:
            service = Service().__enter__()
        finally:
            del os.environ["LD_PRELOAD"]
        try:
            admin = Person(service, "admin", service.token)
            os.mkfifo(folder / "fifo")
            waiting = [threading.Thread(target=quietly, args=(admin.ask, "POST", "/api/v1/jobs", {"job": JOB_OF_FILES % (folder / place), "check_only": True}),
                                        daemon=True) for place in ["disk-that-hangs"] * 5 + ["fifo"] * 5]
            for one in waiting:
                one.start()
            time.sleep(0.5)
            for _ in range(8):
                admin.get("/api/v1/queue")
            assert any(one.is_alive() for one in waiting), "reads wait for a disk that hangs"
            service.process.send_signal(signal.SIGTERM)
            service.process.wait(timeout=30)
        finally:
            service.__exit__()


def quietly(function, *arguments) -> None:
    try:
        function(*arguments)
    except Exception:  # noqa: BLE001 - the service has ended meanwhile
        pass


def without_a_sandbox_only_admins_jobs_run() -> None:
    with tempfile.TemporaryDirectory(prefix="linac-attack-") as name:
        folder = pathlib.Path(name)
        (folder / "bwrap").write_text("#!/bin/sh\necho 'bwrap: No permissions to create new namespace' >&2\nexit 1\n")
        (folder / "bwrap").chmod(0o755)
        before = os.environ["PATH"]
        os.environ["PATH"] = f"{folder}:{before}"
        try:
            with Service() as service:
                admin = Person(service, "admin", service.token)
                member = newcomer(admin, "mallory")
                said = "".join(service.lines)
                assert "No sandbox" in said and "No permissions" in said and "--trust-jobs" in said, said
                job = plug_in(folder, "anyone", "print('ran')")
                status, answer = member.ask("POST", "/api/v1/jobs", {"job": job})
                assert status == 403 and "sandbox" in answer["detail"], (status, answer)
                run = admin.submit(job)
                admin.ended(run)
                assert "ran" in admin.log(run)
            with Service("--trust-jobs") as service:
                admin = Person(service, "admin", service.token)
                member = newcomer(admin, "mallory")
                assert "--trust-jobs" in "".join(service.lines), service.lines
                run = member.submit(job)
                member.ended(run)
                assert "ran" in member.log(run)
        finally:
            os.environ["PATH"] = before


def a_service_without_privileges_has_the_same_sandbox() -> None:
    """The others meet a service of whoever runs the tests: root, often."""
    if os.geteuid() != 0 or not shutil.which("setpriv"):
        raise Skipped("only root starts a service as another account, by setpriv")
    with tempfile.TemporaryDirectory(prefix="linac-attack-") as name, tempfile.TemporaryDirectory(prefix="linac-nobody-") as data:
        os.chmod(name, 0o755)
        os.chown(data, 65534, 65534)
        service = Service(data=data)
        service.words = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", *service.words]
        if subprocess.run([*service.words[:4], LINAC, "version"], capture_output=True).returncode != 0:
            raise Skipped("the account 'nobody' cannot start the program where it lies")
        with service:
            admin = Person(service, "admin", service.token)
            a_job_sees_its_own_run_and_nothing_of_the_service(service, admin, newcomer(admin, "mallory", runs_as="nobody"), pathlib.Path(name))


def main() -> int:
    os.environ["LINAC_TEST_SECRET"] = "s3cret"
    shared = [places_of_artifacts_lead_nowhere_else, locations_of_an_older_database_lead_nowhere_else, what_lies_in_a_folder_of_an_attempt_is_not_started,
              links_that_a_job_leaves_lead_nowhere, a_job_sees_its_own_run_and_nothing_of_the_service,
              a_job_of_an_account_of_its_own_is_kept_out_too, root_is_no_account_by_mistake, a_link_among_the_inputs_shows_nothing,
              few_lines_of_yaml_do_not_stop_the_writes, a_run_s_own_files_do_not_stop_the_writes, files_that_do_not_answer_do_not_stop_the_reads, what_the_host_has_is_not_told]
    alone = [a_service_without_privileges_has_the_same_sandbox, without_a_sandbox_only_admins_jobs_run, a_disk_that_hangs_stops_neither_reads_nor_the_end]
    failures = 0
    with tempfile.TemporaryDirectory(prefix="linac-attack-") as name, Service("--slots", "cores=1") as service:
        admin = Person(service, "admin", service.token)
        member = newcomer(admin, "mallory")
        for test in shared:
            failures += carry_out(test, service, admin, member, pathlib.Path(name))
        if failures:
            print("".join(service.lines[-40:]))
    for test in alone:
        failures += carry_out(test)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
