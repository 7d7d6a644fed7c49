"""A disk that is really full: a file system of 64 MiB of its own, filled from outside while the service writes. What was acknowledged is
there afterwards, what was not is refused with the reason, and when there is room again the service goes on by itself.
Exit 77 where this user cannot mount one."""

import os
import pathlib
import subprocess
import sys
import tempfile

from attack_world import FILES, call, good
from lib.checks import wait_for
from lib.runs import LINAC
from lib.server_process import Service

SIZE_MB, KEPT_FREE = 64, "8M"
MLFLOW = "/api/2.0/mlflow"


def own_mounts() -> bool:
    """This process and what it starts see a mount of their own from here on."""
    if os.environ.get("LINAC_OWN_MOUNTS"):
        return True
    for words in (["unshare", "--mount"], ["unshare", "--user", "--map-root-user", "--mount"]):
        if subprocess.run([*words, "mount", "-t", "tmpfs", "none", "/mnt"], capture_output=True).returncode == 0:
            os.execvpe(words[0], [*words, sys.executable, *sys.argv], {**os.environ, "LINAC_OWN_MOUNTS": "1"})
    return False


def log(service: Service, run: str, step: int):
    return call(service, "POST", f"{MLFLOW}/runs/log-metric", {"run_id": run, "key": "m", "value": step, "timestamp": 1, "step": step}, service.token)


def becomes(service: Service, status: int) -> bytes:
    """What /readyz says then; it looks once a second."""
    def answered():
        answer = call(service, "GET", "/readyz")
        return answer if answer.status == status else None

    return wait_for(answered, f"/readyz says {status}", 20, 0.1).body


def fill(folder: pathlib.Path) -> pathlib.Path:
    filler = folder / "filler"
    with open(filler, "wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(1 << 16))
        except OSError:
            pass
    return filler


def check(folder: pathlib.Path) -> None:
    with Service("--keep-free", KEPT_FREE, data=str(folder / "data")) as service:
        run = good(call(service, "POST", f"{MLFLOW}/runs/create", {"experiment_id": "0"}, service.token)).json()["run"]["info"]["run_id"]
        good(log(service, run, 0))
        becomes(service, 200)
        filler = fill(folder)
        kept, refused, step = [0], 0, 1
        while refused < 20:
            answer = log(service, run, step)
            assert answer.status in (200, 503), (answer.status, answer.body)
            kept += [step] if answer.status == 200 else []
            refused += answer.status == 503
            assert answer.status == 200 or b"full" in answer.body, answer.body
            step += 1
        # More than sockets hold: the answer arrives although nobody reads the body to its end.
        file = call(service, "PUT", f"{FILES}/0/{run}/artifacts/x", bytes(32 << 20), service.token)
        job = call(service, "POST", "/api/v1/jobs", {"job": "name: x"}, service.token)
        for answer in (file, job):
            assert answer.status == 503 and b"keep-free" in answer.body, (answer.status, answer.body)
        assert b"disk" in becomes(service, 503)
        good(call(service, "GET", "/healthz"))
        good(call(service, "GET", f"{MLFLOW}/runs/get?run_id={run}", token=service.token))
        filler.unlink()
        becomes(service, 200)
        good(log(service, run, step))
        good(call(service, "PUT", f"{FILES}/0/{run}/artifacts/x", bytes(1 << 20), service.token))
        history = good(call(service, "GET", f"{MLFLOW}/metrics/get-history?run_id={run}&metric_key=m", token=service.token)).json()["metrics"]
        assert [point["step"] for point in history] == [*kept, step], (history, kept)
        print(f"{len(kept)} points kept, {refused} refused while the disk was full")
    done = subprocess.run([LINAC, "serve", "check", "--data", str(folder / "data")], capture_output=True, text=True)
    assert done.returncode == 0 and "sound" in done.stdout, (done.stdout, done.stderr)


def main() -> int:
    if not own_mounts():
        print("this user cannot mount a file system of his own: skipped")
        return 77
    with tempfile.TemporaryDirectory(prefix="linac-full-disk-") as name:
        folder = pathlib.Path(name)
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={SIZE_MB}m", "none", folder], check=True)
        try:
            check(folder)
        finally:
            subprocess.run(["umount", folder], check=True)
    print("ok")
    return 0


if __name__ == "__main__":
    sys.exit(main())
