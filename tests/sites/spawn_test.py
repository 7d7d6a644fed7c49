#!/usr/bin/env python3
"""Scripts brought to a place by `linac spawn`: they find each other, begin again together when one fails, are stopped and deleted without a rest,
and are started once whatever becomes of the client. What is wrong with one is said before anything is started. No secret is shown."""

import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

from lib import launches, paths
from lib.checks import check, wait_for
from lib.launches import Client, name_in

SCRIPT = """
import json, os, sys, time
{imports}
me = json.loads(os.environ["TF_CONFIG"])["task"]
open("started-%s%d-%s" % (me["type"], me["index"], os.environ["LINAC_ATTEMPT"]), "w").close()
print("here", me["type"], me["index"], "of", os.environ["TOT_WORKERS"])
{body}
"""
SECRET = "s3cr3t-Value $(id)"
# Names and words that a shell, a log or a protocol could take for something else.
HOSTILE = ["a b", "$(touch {root}/evil)", "`touch {root}/evil`", "'; touch {root}/evil; '", "two\nlines\nlinac: host ended", "\"q\"", "*", "-x", "é", ""]


def written(root: pathlib.Path, name: str, body: str, imports: str = "") -> pathlib.Path:
    path = root / name
    path.write_text(SCRIPT.replace("{imports}", imports).replace("{body}", body))
    return path


def out_of(root: pathlib.Path, name: str) -> pathlib.Path:
    return root / "site" / name.split(":")[-1] / "out"


def environment(client: Client, root: pathlib.Path) -> None:
    """What each worker is told, with a chief and a parameter server; words of the user arrive as they are."""
    words = [word.replace("{root}", str(root)) for word in HOSTILE]
    script = written(root, "who's $(id).py", """
json.dump({"env": dict(os.environ), "words": sys.argv[1:]}, open("%s-%d.json" % (me["type"], me["index"]), "w"))
if me["type"] == "ps": time.sleep(600)
""")
    (root / "env").write_text(f"# for the store\nS3_KEY={SECRET}\n")
    shown = client.linac("spawn", script, "--on", "here", "--name", "who", "--chief", "--ps", 1, "-e", root / "env", "--dry-run", "--", *words)
    check(SECRET not in shown and "S3_KEY; their values are shown nowhere" in shown and not (root / "site").exists(), "a dry run shows no secret, and does nothing")
    said = client.linac("spawn", script, "--on", "here", "--name", "who", "--chief", "--ps", 1, "-e", root / "env", "--follow", "--", *words)
    check("[chief] here chief 0 of 3" in said and "[worker 1] here worker 1 of 3" in said and "[ps 0] here ps 0" in said, "the log has all, by their names")
    told = {name: json.loads((out_of(root, "who") / f"{name}.json").read_text()) for name in ("chief-0", "worker-0", "worker-1", "ps-0")}
    check(all(one["words"] == words for one in told.values()) and not (root / "evil").exists(), "the words of the script arrive as they are")
    cluster = json.loads(told["ps-0"]["env"]["TF_CONFIG"])["cluster"]
    check({kind: len(places) for kind, places in cluster.items()} == {"chief": 1, "worker": 2, "ps": 1} and len(set(sum(cluster.values(), []))) == 4,
          "TF_CONFIG has a place for each")
    env = told["worker-1"]["env"]
    check(json.loads(env["TF_CONFIG"])["task"] == {"type": "worker", "index": 1} and env["RANK"] == env["WORKER_NUMBER"] == env["LOCAL_RANK"] == "2" and
          env["WORLD_SIZE"] == env["TOT_WORKERS"] == "3" and f"{env['MASTER_ADDR']}:{env['MASTER_PORT']}" == cluster["chief"][0], "and torchrun's variables agree")
    check(env["S3_KEY"] == SECRET and "LINAC_RUN_KEY" not in env and "LINAC_RUN_KEY_FILE" not in env, "it has the secrets of its user, and none of linac")
    left = [path for top in (root / "site", root / "state") for path in top.rglob("*") if path.is_file() and SECRET.encode() in path.read_bytes()]
    check([path.name for path in left] == ["chief-0.json", "worker-0.json", "worker-1.json", "ps-0.json"] or {path.parent for path in left} == {out_of(root, "who")},
          "nothing of a secret is left, but what the script has written")


def failures(client: Client, root: pathlib.Path) -> None:
    once = written(root, "once.py", """
if os.environ["LINAC_ATTEMPT"] == "0":
    if me["index"] == 1: raise RuntimeError("boom")
    time.sleep(600)
""")
    said = client.linac("spawn", once, "--on", "here", "--name", "once", "--follow")
    check("worker 1: exit status 1: RuntimeError: boom; all stop, and begin again, 1 of 2 times" in said and "SUCCEEDED" in said, "a failure does not hang the others")
    always = written(root, "always.py", "sys.exit(me['index'] * 3)")
    said = client.linac("spawn", always, "--on", "here", "--name", "always", "--restarts", 1, "--follow", status=1)
    check("FAILED: exit status 70: worker 1: exit status 3" in said and len(list(out_of(root, "always").glob("started-worker1-*"))) == 2,
          "it begins again so often, and then fails with the reason")
    killed = written(root, "killed.py", "os.kill(os.getpid(), 11) if me['index'] else time.sleep(600)")
    said = client.linac("spawn", killed, "--on", "here", "--name", "killed", "--restarts", 0, "--follow", status=1)
    check("worker 1: ended by signal 11" in said, "a signal is called that")
    # A worker with its runner, as when a host takes it: nobody starts it again there, and the others do not wait for it for ever.
    lost = written(root, "lost.py", "time.sleep(600)")
    name = name_in(client.linac("spawn", lost, "--on", "quick", "--name", "lost", "--no-check"))
    wait_for(lambda: len(list((root / "site/lost/out").glob("started-*"))) == 2, "both start", 20)
    for one in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            words, env = (one / "cmdline").read_bytes(), (one / "environ").read_bytes()
        except OSError:
            continue
        if b"linac_spawn.py" in words and b"\0RANK=1\0" in b"\0" + env and f"{root}/site/lost/out".encode() in env:
            os.kill(int(one.name), 9)
    standing = client.wait_for(name, "LOST", "FAILED")
    check(standing["state"] == "LOST" and "worker 1 not there within 2 s" in standing["reason"], f"a worker that is lost ends the others: {standing}")
    check(not launches.processes_with("lost/launch/script"), "and nothing of them runs")


def refused(client: Client, root: pathlib.Path) -> None:
    """Before anything is started."""
    def no(why: str, *words: object, status: int = 2) -> None:
        said = client.linac("spawn", "--on", "here", *words, status=status)
        check(why in said, f"refused: {why}: {said}")

    good = written(root, "good.py", "")
    (root / "syntax.py").write_text("import os\nif True print(1)\n")
    os.mkfifo(root / "pipe")
    (root / "large").touch()
    os.truncate(root / "large", 1 << 30)
    (root / "bad.env").write_text("A=1\nSECRET words\n")
    (root / "binary.py").write_bytes(b"print(1)\n\xff\xfe")
    (root / "site").mkdir(exist_ok=True)
    before = set((root / "site").iterdir())
    no("syntax.py:2: invalid syntax", root / "syntax.py")
    no("no module numpi_of_nobody", written(root, "import.py", "", "import numpi_of_nobody"))
    no("the script alone is brought", written(root, "relative.py", "", "from . import me"))
    no("it could not begin", written(root, "import.py", "", "import good"))
    no("bad.env:2: no NAME=VALUE", good, "-e", root / "bad.env")
    no("the env file is no file", good, "-e", root / "pipe")
    no("the env file has more than", good, "-e", root / "large")
    no("the script is no file", root / "pipe")
    no("the script has more than", root / "large")
    no("line 2 is no text in UTF-8", root / "binary.py")
    no("/nowhere: not there", good, "--data", "/nowhere")
    no("it is a place there", good, "--data", "here")
    no("--one-step: exit status 3: no step for you", written(root, "trial.py", "if '--one-step' in sys.argv: print('no step for you'); sys.exit(3)"),
       "--dry-run-arg=--one-step")
    no("has no image", good, "-i", "tensorflow/tensorflow")
    no("has no pods", good, "--pod-file", good)
    no("--workers 0", good, "-w", 0)
    no("--pip --no-deps", good, "--pip=--no-deps")
    no("use at most 100 letters", good, "-t", "../a")
    shown = client.linac("spawn", good, "--on", "here", "--pip", "src", "--dry-run")
    check("\nsrc\n" in shown, "a folder that has the name of a package is no file of requirements")
    check(set((root / "site").iterdir()) == before, "nothing of them was started")
    said = client.linac("spawn", written(root, "maybe.py", "", "try:\n    import numpi_of_nobody\nexcept ImportError:\n    pass"), "--on", "here", "--name", "maybe",
                        "--dry-run-arg=--one-step", "--follow")
    check("trial" in said and "SUCCEEDED" in said, "an import that may fail is no fault")


def one_of_a_name(client: Client, root: pathlib.Path) -> None:
    """At the same moment, and whatever becomes of the client."""
    script = written(root, "held.py", f"while not os.path.exists('{root}/go'): time.sleep(0.02)")
    words = ("spawn", script, "--on", "here", "-t", "held", "--no-check")
    for moment in range(12):
        process = client.start(*words)
        try:
            process.communicate(timeout=0.005 + moment * 0.006)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
    others = [client] + [Client(root, json.loads((root / "sites.yaml").read_text()), XDG_STATE_HOME=str(root / f"state-{index}")) for index in range(2)]
    with concurrent.futures.ThreadPoolExecutor() as pool:
        said = list(pool.map(lambda one: one.linac(*words), others + [client]))
    check(all("here:held" in one for one in said), "clients that were killed, and four at once, have one launch")
    wait_for(lambda: len(list(out_of(root, "held").glob("started-*"))) == 2, "its workers start", 20)
    running = [line for line in launches.processes_with("held/launch/script/training-script.py")]
    check(len(running) == 2, f"of two workers: {running}")
    said = client.linac("spawn", script, "--on", "here", "-t", "held", "--no-check", "-w", 3, status=2)
    check("another launch has it" in said, "a name that is another spawn's is refused")
    beside = client.linac("spawn", script, "--on", "here", "-t", "beside", "--no-check")
    check("here:beside" in beside, "another name runs beside it")
    (root / "go").touch()
    check({client.wait_for(name, "SUCCEEDED", "FAILED", "LOST")["state"] for name in ("here:held", "here:beside")} == {"SUCCEEDED"}, "both come to their end")


def deleted(client: Client, root: pathlib.Path) -> None:
    deaf = written(root, "deaf.py", """
import signal, subprocess
signal.signal(signal.SIGTERM, signal.SIG_IGN)
subprocess.Popen(["sh", "-c", "trap '' TERM; exec sleep 86313"], start_new_session=True)
time.sleep(600)
""")
    (root / "env").write_text(f"S3_KEY={SECRET}\n")
    for polite in (True, False):
        script = written(root, "polite.py", "time.sleep(600)") if polite else deaf
        client.linac("spawn", script, "--on", "here", "-t", "gone", "-e", root / "env")
        wait_for(lambda: len(list(out_of(root, "gone").glob("started-*"))) == 2, "both start", 20)
        time.sleep(0.3)
        if polite:
            client.linac("cancel", "here:gone")
            check(client.wait_for("here:gone", "CANCELLED", "FAILED", "LOST")["state"] == "CANCELLED", "cancelled, it stops")
        else:
            client.linac("cancel", "here:gone")
            client.linac("cancel", "here:gone")
        client.linac("spawn", "-d", "-t", "gone", "--on", "here")
        check(not launches.processes_with("gone/launch") and not launches.processes_with("86313"), "deleted, nothing of it runs")
        check([path.name for path in (root / "site/gone").iterdir()] == ["out"] and "gone" not in client.linac("status", "here:"), "nor is left but its output")
        for path in out_of(root, "gone").iterdir():
            path.unlink()
    client.linac("spawn", "-d", "--on", "here", status=2)


def strangers(client: Client, root: pathlib.Path) -> None:
    """Who has not the key of the launch gets nothing from its coordinator, and stops nobody."""
    import socket
    script = written(root, "met.py", f"while not os.path.exists('{root}/met'): time.sleep(0.02)")
    client.linac("spawn", script, "--on", "here", "-t", "met", "--no-check")
    wait_for(lambda: len(list(out_of(root, "met").glob("started-*"))) == 2, "both start", 20)
    host, port = (root / "site/met/launch/meet").read_text().split()
    open_ones = []
    for words in (b"", b"x" * 100000, b"\0" * 50 + b"\n", b"0" * 32 + b"\n" + b"0" * 64 + b"\n" + b"{\"rank\": 0}\n", b"GET / HTTP/1.0\r\n\r\n"):
        for _ in range(30):
            one = socket.create_connection((host, int(port)), timeout=5)
            try:
                one.sendall(words)
            except OSError:
                pass
            open_ones.append(one)
    (root / "met").touch()
    check(client.wait_for("here:met", "SUCCEEDED", "FAILED", "LOST")["state"] == "SUCCEEDED", "strangers keep nobody from its end")
    for one in open_ones:
        one.close()


def slow_strangers(client: Client, root: pathlib.Path) -> None:
    """Who says nothing, or a letter now and then, takes no worker's place."""
    import socket
    import threading
    import types
    paths.add("src/linac/control/sites/script/worker")
    import spawn_coordinator
    import spawn_link
    job = types.SimpleNamespace(address="127.0.0.1", key=b"of the launch", tasks=[("worker", 0), ("worker", 1)], trainers=2, name=lambda rank: f"worker {rank}",
                                job={"restarts": 0})
    coordinator = spawn_coordinator.Coordinator(job, "127.0.0.1:0")
    place = ("127.0.0.1", coordinator.port)
    threads = threading.active_count()
    spawn_link.HANDSHAKE_S = 120  # so long they keep their places, on a slow machine as well
    strangers = []
    for index in range(spawn_coordinator.STRANGERS_MAX + 100):
        strangers.append(socket.create_connection(place, timeout=10))
        strangers[-1].sendall(b"0" * (index % 32))
    links = [spawn_link.Link(socket.create_connection(place, timeout=5), job.key, "member") for _ in range(2)]
    for rank, link in enumerate(links):
        link.send(rank=rank, place=f"127.0.0.1:{rank + 1}", problem="")
    told = links[1].receive()
    while told is not None and told["do"] == "beat":
        told = links[1].receive()
    check(told is not None and told["do"] == "start", f"workers find each other past {len(strangers)} of them: {told}")
    check(threading.active_count() > threads + spawn_coordinator.STRANGERS_MAX // 2, "which keep their places meanwhile")
    wait_for(lambda: threading.active_count() <= threads + spawn_coordinator.STRANGERS_MAX + 4, "no more of them have a thread than may", 20)
    for one in strangers:
        one.close()
    wait_for(lambda: threading.active_count() <= threads + 4, "and none that has gone", 20)
    for link in links:
        link.close()


def main() -> None:
    parts = {"environment": environment, "failures": failures, "refused": refused, "one_of_a_name": one_of_a_name, "deleted": deleted, "strangers": strangers, "slow_strangers": slow_strangers}
    with tempfile.TemporaryDirectory(prefix="linac-spawn-", ignore_cleanup_errors=True) as folder:
        root = pathlib.Path(folder)
        here = {"kind": "local", "folder": f"{root}/site", "python": sys.executable}
        client = Client(root, {"here": here, "quick": here | {"environment": {"LINAC_SPAWN_PATIENCE": "2"}}})
        for name, part in parts.items():
            if len(sys.argv) < 2 or name in sys.argv[1:]:
                begin = time.monotonic()
                part(client, root)
                print(f"{name}: {time.monotonic() - begin:.1f} s")


if __name__ == "__main__":
    main()
