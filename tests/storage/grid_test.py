#!/usr/bin/env python3
"""Data behind root:// and dav(s)://, a real XRootD server: the classifier trains with 1, 2 and 3 workers to the bits of a run from the disk, files
are copied there and back, a server that is away is said in seconds and one that comes back is waited for; the bearer token goes where it
should and nowhere else. Where Rucio is installed, a run's model and plots become a data set of it and come back. Exit 77 where XRootD cannot be started."""

import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

from lib import runs
from lib.checks import check
from lib.runs import linac, tensors
from lib.servers.rucio_server import Rucio
from lib.servers.xrootd import Xrootd
from lib.skips import skipped
from range_server import RangeServer, Ranges

TRAIN, TEST, SHOWERS = "topology-train.parquet", "topology-test.parquet", "showers-test.h5"
JOB = {"job": "examples/topology.yaml", **runs.SMALL_CLASSIFIER, "train.replicas": 3, "train.batch": 10, "train.epochs": 1, "train.steps_per_epoch": 3}


def trainings(root: pathlib.Path, store: Xrootd) -> None:
    for name in (TRAIN, TEST):
        shutil.copy(runs.ROOT / "data" / name, store.data / "test")
    runs.run(disk := root / "disk", JOB, "--workers", "1")
    for workers, base in ((1, store.root), (2, store.root), (3, store.root), (2, store.dav)):
        urls = {"data.train": f"['{base}/topology-tr*.parquet']", "data.test": f"['{base}/{TEST}']"}
        runs.run(out := root / f"{base[:3]}{workers}", JOB | urls, "--workers", str(workers), LINAC_CACHE=str(root / f"cache-{base[:3]}{workers}"))
        check(tensors(disk) == tensors(out) and len(tensors(out)) > 10, f"{workers} worker(s) from {base[:4]}: all numbers of the checkpoint are the same")


def copies(root: pathlib.Path, store: Xrootd) -> None:
    content = (runs.ROOT / "data" / SHOWERS).read_bytes()
    for base in (store.root, store.dav):
        linac("data", "copy", f"data/{SHOWERS}", f"{base}/{base[:3]}/new/", LINAC_CACHE=str(root / "cache"))
        check((store.data / "test" / base[:3] / "new" / SHOWERS).read_bytes() == content, f"{base[:4]}: a copy is there, its folders were made")
        linac("data", "copy", f"{base}/{base[:3]}/new/*.h5", f"{root}/{base[:3]}/", LINAC_CACHE=str(root / "cache"))
        check((root / base[:3] / SHOWERS).read_bytes() == content, f"{base[:4]}: it comes back by a pattern")
        linac("data", "convert", f"{base}/{base[:3]}/new/{SHOWERS}", f"{base}/{base[:3]}.tfrecord", LINAC_CACHE=str(root / "cache"))
        check((store.data / "test" / f"{base[:3]}.tfrecord").stat().st_size > len(content) // 10, f"{base[:4]}: an output is written there")
    left = [path.name for path in store.data.rglob("*.part-*")]
    check(not left, f"nothing half written is left: {left}")


def away(root: pathlib.Path, store: Xrootd) -> None:
    store.stop()
    for base in (store.root, store.dav):
        begun = time.monotonic()
        said = linac("data", "info", f"{base}/{TEST}", status=4, LINAC_CACHE=str(root / "away"))
        check(f"{base}/{TEST}" in said and time.monotonic() - begun < 60, f"{base[:4]}: a server that is away is named after {time.monotonic() - begun:.0f} s")
    process = subprocess.Popen([runs.LINAC, "data", "info", f"{store.root}/{TEST}"], cwd=runs.ROOT, text=True, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, env=runs.environment(LINAC_CACHE=str(root / "back")))
    time.sleep(1)
    store.start()
    said, _ = process.communicate(timeout=60)
    check(process.returncode == 0 and "events" in said, "one that comes back within the attempts is read")


class Guarded(Ranges):
    """Wants a token, which the server remembers."""

    def do_GET(self) -> None:  # noqa: N802
        token = self.headers.get("Authorization", "")
        self.server.tokens.add(token)
        if self.server.elsewhere:
            self.send_response(302)
            self.send_header("Location", self.server.elsewhere + self.path)
            self.send_header("Content-Length", "0")
            self.end_headers()
        elif token != f"Bearer {self.server.wanted}":
            self.send_response(403)
            self.send_header("Content-Length", "0")
            self.end_headers()
        else:
            super().do_GET()


def tokens(root: pathlib.Path) -> None:
    class GuardedServer(RangeServer):
        def finish_request(self, request, address) -> None:
            Guarded(request, address, self, directory=str(runs.ROOT / "data"))

    with GuardedServer(runs.ROOT / "data") as server, GuardedServer(runs.ROOT / "data") as door, RangeServer(runs.ROOT / "data"):
        for one in (server, door):
            one.tokens, one.wanted, one.elsewhere = set(), "token-1", ""
        url = f"dav://127.0.0.1:{server.server_port}/{TEST}"
        (file := root / "token").write_text("token-1\n")
        linac("data", "info", url, BEARER_TOKEN="token-1", LINAC_CACHE=str(root / "token1"))
        linac("data", "info", url, BEARER_TOKEN_FILE=str(file), LINAC_CACHE=str(root / "token2"))
        said = linac("data", "info", url, status=3, BEARER_TOKEN="token-wrong", LINAC_CACHE=str(root / "token3"))
        check("BEARER_TOKEN" in said and "token-wrong" not in said, "a token that is refused is not told")
        server.tokens.clear()
        linac("data", "info", url.replace("dav://", "http://"), status=3, BEARER_TOKEN="token-1", LINAC_CACHE=str(root / "token4"))
        check(server.tokens == {""}, "http:// gets no token")
        (link := root / "link").symlink_to(file)
        linac("data", "info", url, status=3, BEARER_TOKEN_FILE=str(link), LINAC_CACHE=str(root / "token5"))
        check(server.tokens == {""}, "a link is no file of a token")
        server.tokens.clear()
        door.elsewhere = f"http://localhost:{server.server_port}"
        linac("data", "info", url.replace(str(server.server_port), str(door.server_port)), status=3, BEARER_TOKEN="token-1", LINAC_CACHE=str(root / "token6"))
        check(door.tokens == {"Bearer token-1"} and server.tokens == {""}, "a redirect to another host carries no token")


def outcome(*words: str, **environment: str) -> tuple[int, str]:
    done = subprocess.run(words, env=runs.environment(**environment), text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60)
    return done.returncode, done.stdout


def upload(root: pathlib.Path, store: Xrootd) -> None:
    run = root / "disk"
    with Rucio() as rucio:
        rucio.register({"elements": {"EOS": ["DISK", f"root://127.0.0.1:{store.port}//test/rucio/"]}, "data_sets": {},
                        "files": [{"scope": "user.root", "name": "other", "bytes": 1, "adler32": "00620062", "elements": ["EOS"]}]})
        words, there = ("artifacts", "upload", run, "--rse", "EOS", "--did"), store.data / "test" / "rucio"
        said = linac(*words, "user.root:topology.v1", **rucio.environment, LINAC_CACHE=str(root / "cache"))
        check("user.root:topology.v1" in said and "model.keras" in said, "what was sent is said")
        sent = sorted(path.name for path in there.rglob("*") if path.is_file())
        check("topology.v1.models.model.keras" in sent and "topology.v1.job.yaml" in sent, f"the model is there: {len(sent)} files")
        check(not [name for name in sent if "step-" in name or "key" in name.split(".")], "checkpoints and the workers' key are not")
        linac("data", "copy", "rucio://user.root:topology.v1", f"{root}/fetched/", **rucio.environment, LINAC_CACHE=str(root / "cache"))
        for name in ("models/model.keras", "job.yaml", "metrics.jsonl"):
            check((root / "fetched" / f"topology.v1.{name.replace('/', '.')}").read_bytes() == (run / name).read_bytes(), f"{name} comes back")
        status, listed = outcome(str(rucio.folder_of_programs() / "rucio"), "rule", "list", "--did", "user.root:topology.v1", **rucio.environment)
        check(status == 0 and "EOS" in listed and "OK" in listed, "Rucio's client sees a rule that is kept")

        said = linac(*words, "user.root:topology.v1", status=2, **rucio.environment, LINAC_CACHE=str(root / "cache"))
        check("is there already" in said, "a data set that exists is refused")
        said = linac(*words, "nobody:topology", status=3, **rucio.environment, LINAC_CACHE=str(root / "cache"))
        check("nobody:topology" in said, "a scope that Rucio refuses is named")
        said = linac(*words[:-2], "NONE", "--did", "user.root:new", status=3, **rucio.environment, LINAC_CACHE=str(root / "cache"))
        check("NONE" in said, "a storage element that is none is named")
        (rucio.folder / "wrong.cfg").write_text(rucio.config.read_text().replace(rucio.password, "wrong").replace("/token", "/no-token"))
        linac(*words, "user.root:other2", status=2, RUCIO_CONFIG=str(rucio.folder / "wrong.cfg"), LINAC_CACHE=str(root / "cache"))
        left = sorted(path.name for path in there.rglob("*") if path.is_file())
        check(left == sent, f"nothing of these stays: {set(left) - set(sent)}")
        linac("data", "info", "rucio://nobody:topology", status=3, **rucio.environment, LINAC_CACHE=str(root / "cache"))


def main() -> None:
    if not Xrootd.available():
        print("no XRootD: tests/servers/get.sh xrootd; it also takes root and a network namespace")
        sys.exit(77)
    Xrootd.enter()
    with tempfile.TemporaryDirectory(prefix="linac-grid-") as folder, Xrootd() as store:
        root = pathlib.Path(folder)
        trainings(root, store)
        copies(root, store)
        if Rucio.available():
            upload(root, store)
        else:
            skipped("the upload of a run", "no Rucio is installed", "tests/servers/get.sh rucio")
        tokens(root)
        away(root, store)


if __name__ == "__main__":
    main()
