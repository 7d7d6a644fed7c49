#!/usr/bin/env python3
"""What one job may take of the host that all share: memory of all its processes together, their number, cores; and what it leaves behind.

Each test is an attack that worked once. LINAC names the program.
    attack_limits_test.py [WORD...]      those with one of these words in their name
"""

import json
import os
import pathlib
import signal
import sys
import tempfile
import time

from attack_jobs_world import TRY, Person, Skipped, carry_out, newcomer, plug_in, sandbox_or_skip
from lib.ports import free_port
from lib.server_process import Service

GROUPS = pathlib.Path("/sys/fs/cgroup")


def groups_or_skip(service: Service) -> None:
    said = [line for line in service.lines if "control group" in line]
    if not any(line.startswith("Each job has a control group") for line in said):
        raise Skipped("no control groups here: " + "".join(said).strip())


def groups_of(run: str) -> list[pathlib.Path]:
    return [path for depth in ("*", "*/*", "*/*/*", "*/*/*/*") for path in GROUPS.glob(f"{depth}/linac-{run}-*")]


def wait_until(what, seconds: float = 30):
    end = time.monotonic() + seconds
    while not (found := what()):
        assert time.monotonic() < end, what
        time.sleep(0.05)
    return found


def a_core_and_300_mb_are_no_more_than_that(service, admin, member, folder) -> None:
    """It allows itself all cores, has 750 MB in five processes, 600 MB in files that are in memory alone, and 1,500 processes."""
    sandbox_or_skip(service)
    groups_or_skip(service)
    script = TRY + f"""
import time
def child(work):
    pid = os.fork()
    if pid == 0:
        try:
            with open('/proc/self/oom_score_adj', 'w') as first:
                first.write('1000')  # of the job's processes this one goes first
            work()
        finally:
            os._exit(0)
    return pid
def keeps():
    kept = bytearray(150 << 20)
    time.sleep(1.5)
def memory():
    children = [child(keeps) for _ in range(5)]
    return sorted(os.waitpid(pid, 0)[1] for pid in children)
tries('memory', memory)
def fills(place):
    with open(place + '/filled', 'wb') as file:
        for _ in range(600):
            file.write(bytes(1 << 20))
def files(place):
    end = os.waitpid(child(lambda: fills(place)), 0)[1]
    os.unlink(place + '/filled')
    return end
for place in ('/tmp', '/dev/shm'):
    tries(place, lambda: files(place))
def processes():
    pids = []
    try:
        for _ in range(1500):
            pids.append(child(lambda: time.sleep(60)))
    except OSError:
        pass
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    return len(pids)
tries('processes', processes)
def leaves():
    left = []
    for file in pathlib.Path('/sys/fs/cgroup').rglob('cgroup.procs'):
        try:
            open(file, 'w').write('0')
            left.append(str(file))
        except OSError:
            pass
    return left
tries('leaves', leaves)
tries('cores', lambda: os.sched_setaffinity(0, range(os.cpu_count())))
print('FOUND ' + json.dumps(found), flush=True)
while not os.path.exists('go'):
    time.sleep(0.05)
"""
    run = member.submit(plug_in(folder, "greedy", script), memory_mb=300)
    log = wait_until(lambda: "FOUND " in (text := member.log(run)) and text, 60)
    found = json.loads(next(line for line in log.splitlines() if line.startswith("FOUND "))[6:])
    there = groups_of(run)
    quotas = [int(file.read_text().split()[0]) for path in there for file in (path / "cpu.cfs_quota_us", path / "cpu.max") if file.exists()]
    pathlib.Path(service.folder / "artifacts" / "0" / run / "artifacts" / "go").touch()
    member.ended(run)
    assert found["memory"].count(signal.SIGKILL) >= 3, found
    assert found["/tmp"] == found["/dev/shm"] == signal.SIGKILL, found
    assert 100 < found["processes"] < 512, found
    assert found["leaves"] == [], found
    assert there and quotas == [100_000], (there, quotas)
    assert not groups_of(run), groups_of(run)


def what_hides_ends_with_its_job_whoever_is_killed(service, admin, member, folder) -> None:
    """A process of another account that has left session, group and environment, when neither the service nor the job's supervisor can say any more
    whose it was."""
    if os.geteuid() != 0:
        raise Skipped("only root starts jobs as other accounts")
    groups_or_skip(service)
    os.chmod(folder, 0o755)
    stranger = newcomer(admin, "hiding", runs_as="nobody")
    script = """
import os, subprocess, time
subprocess.Popen(['/bin/sh', '-c', 'echo $$ > hidden; while :; do sleep 0.2; done'], env={}, start_new_session=True)
time.sleep(300)
"""
    run = stranger.submit(plug_in(folder, "hides", script))
    hidden = service.folder / "artifacts" / "0" / run / "artifacts" / "hidden"
    pid = int(wait_until(lambda: hidden.exists() and hidden.read_text()))
    attempt = service.folder / "runs" / run / "attempt-1"
    supervisor = json.loads((attempt / "supervisor.json").read_text())["pid"]
    os.kill(supervisor, signal.SIGKILL)
    service.kill()
    service.url = None
    service.__enter__()
    assert pathlib.Path(f"/proc/{pid}").exists()
    status, answer = stranger.ask("POST", f"/api/v1/runs/{run}/cancel", {})
    assert status == 200, answer
    stranger.ended(run, 60)
    wait_until(lambda: not pathlib.Path(f"/proc/{pid}").exists() and not groups_of(run))


def main() -> int:
    failures = 0
    with tempfile.TemporaryDirectory(prefix="linac-attack-") as name, Service("--slots", "cores=1", listen=f"127.0.0.1:{free_port()}") as service:
        admin = Person(service, "admin", service.token)
        member = newcomer(admin, "mallory")
        for test in (a_core_and_300_mb_are_no_more_than_that, what_hides_ends_with_its_job_whoever_is_killed):
            failures += carry_out(test, service, admin, member, pathlib.Path(name))
        if failures:
            print("".join(service.lines[-40:]))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
