"""What a worker of `linac spawn` starts, with which environment, and what has to be there before."""

import fcntl
import json
import os
import socket
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))


class Job:
    """What to start, and who this worker is."""

    def __init__(self):
        with open(os.path.join(HERE, "job.yaml")) as file:
            self.job = json.load(file)
        self.rank = int(os.environ["RANK"])
        self.local_rank = int(os.environ.get("LOCAL_RANK", "0"))
        self.local_world = int(os.environ.get("LOCAL_WORLD_SIZE", "1"))
        self.address = os.environ.get("LINAC_SPAWN_ADDRESS", "")  # "": that from which the first worker is called
        self.out = os.environ["LINAC_SPAWN_OUT"]
        self.scratch = os.environ.get("LINAC_SPAWN_SCRATCH") or HERE
        self.tasks = ([("chief", 0)] if self.job["chief"] else []) + [("worker", i) for i in range(self.job["workers"])]
        self.trainers = len(self.tasks)  # the others serve them, and never end by themselves
        self.tasks += [("ps", i) for i in range(self.job["ps"])]
        key = os.environ.get("LINAC_RUN_KEY")
        if not key:
            with open(os.environ["LINAC_RUN_KEY_FILE"]) as file:
                key = file.read()
        self.key = key.strip().encode()
        self.variables = {name: value for name, value in os.environ.items()
                          if not name.startswith("LINAC_SPAWN_") and name not in ("LINAC_RUN_KEY", "LINAC_RUN_KEY_FILE")}
        secret = os.path.join(HERE, "private", "environment")
        if os.path.exists(secret):
            with open(secret) as file:
                self.variables.update(json.load(file))

    def name(self, rank):
        kind, index = self.tasks[rank]
        return kind if kind == "chief" else "%s %d" % (kind, index)

    def free_port(self):
        if self.job["port"] > 0:
            return self.job["port"] + self.local_rank
        with socket.socket() as one:
            one.bind(("127.0.0.1" if self.address.startswith("127.") else "", 0))
            return one.getsockname()[1]

    def script(self):
        own = os.path.join(HERE, "script")
        return os.path.join(own if os.path.isdir(own) else "/script", "training-script.py")

    def command(self):
        entry = os.path.join(HERE, "entry.sh")
        start = ["bash", "-e", entry] if os.path.exists(entry) else [sys.executable, "-u", self.script()]
        return start + self.job["arguments"]

    def environment(self, places, generation):
        """`places`: HOST:PORT of each rank."""
        cluster = {}
        for (kind, _), place in zip(self.tasks, places):
            cluster.setdefault(kind, []).append(place)
        kind, index = self.tasks[self.rank]
        host, port = places[0].rsplit(":", 1)
        variables = dict(self.variables)
        variables.update({
            "TF_CONFIG": json.dumps({"cluster": cluster, "task": {"type": kind, "index": index}}),
            "WORKER_NUMBER": str(self.rank), "TOT_WORKERS": str(self.trainers),
            "RANK": str(self.rank), "WORLD_SIZE": str(self.trainers), "LOCAL_RANK": str(self.local_rank), "LOCAL_WORLD_SIZE": str(self.local_world),
            "MASTER_ADDR": host.strip("[]"), "MASTER_PORT": port, "PYTHONUNBUFFERED": "1",
            "LINAC_OUT": self.out, "LINAC_SCRIPT": self.script(), "LINAC_ATTEMPT": str(generation - 1), "LINAC_DATA": "\n".join(self.job["data"])})
        return variables

    def prepare(self):
        """What stands in the way of a start, "" for nothing."""
        try:
            os.makedirs(self.out, exist_ok=True)
            os.chdir(self.out)
        except OSError as error:
            return "%s: cannot be made (%s)" % (self.out, error.strerror)
        for path in self.job["data"]:
            if "://" not in path and not os.access(path, os.R_OK):
                return "%s: not there, or not to be read" % path
        return self.install() or self.check()

    def install(self):
        requirements = os.path.join(HERE, "requirements.txt")
        if not os.path.exists(requirements):
            return ""
        folder = os.path.join(self.scratch, "packages")
        before = self.variables.get("PYTHONPATH")
        self.variables["PYTHONPATH"] = folder + (":" + before if before else "")
        with open(folder + ".lock", "w") as lock:  # one for all workers that see this folder
            fcntl.flock(lock, fcntl.LOCK_EX)
            if os.path.exists(folder + ".done"):
                return ""
            done = subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input", "--upgrade", "--target",
                                   folder, "-r", requirements], env=self.variables, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            if done.returncode != 0:
                lines = done.stdout.decode(errors="replace").strip().splitlines() or [""]
                return "--pip: " + lines[-1]
            open(folder + ".done", "w").close()
        return ""

    def check(self):
        """Here, with what is really there."""
        with open(self.script(), "rb") as script:
            done = subprocess.run([sys.executable, os.path.join(HERE, "linac_check.py"), self.job["name"]], env=self.variables, stdin=script,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        bad = [line for line in done.stdout.decode(errors="replace").splitlines() if line.startswith("linac: bad script ")]
        return bad[0][len("linac: bad script "):] if bad else ""
