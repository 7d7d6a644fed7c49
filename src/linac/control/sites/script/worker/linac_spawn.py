"""One worker of `linac spawn`: starts the script with the environment that TensorFlow and PyTorch look for, beside the other workers.

The runner of rank 0 coordinates. All others call it, prove that they have the key of the launch, and say where they are. Once all are there it
tells them to start; when all scripts are done it tells them to end. When one of them fails or is lost, no script waits for it for ever: all are
stopped, and begin again together, a bounded number of times. What they print comes line by line with the name of its worker.

The launch's folder has job.yaml (JSON: what to start), script/ or else /script with the script, and perhaps entry.sh, requirements.txt and
private/environment. The place is told by
variables: RANK, LOCAL_RANK, LINAC_SPAWN_MEET (`file`, or HOST:PORT of rank 0), LINAC_SPAWN_ADDRESS (this worker's, if it is known), LINAC_SPAWN_OUT (where the
script works), LINAC_RUN_KEY or LINAC_RUN_KEY_FILE. Exit status: 0 done; 70 the script failed for good; 75 told to stop; 6 the others are gone.

For Python 3.6 and newer, without any package.
"""

import os
import queue
import signal
import socket
import subprocess
import sys
import threading
import time

from spawn_coordinator import LOST, Coordinator
from spawn_job import Job
from spawn_link import HANDSHAKE_S, Link, Stranger, beat, say, say_bytes
from spawn_script import Script, keep_orphans

HERE = os.path.dirname(os.path.abspath(__file__))
STOPPED = 75


class Runner:
    def __init__(self):
        self.job = Job()
        self.meet = os.environ["LINAC_SPAWN_MEET"]
        self.forward = bool(os.environ.get("LINAC_SPAWN_FORWARD"))
        self.events, self.link, self.script = queue.Queue(), None, None
        self.stopped = False
        self.patience = float(os.environ.get("LINAC_SPAWN_PATIENCE", "600"))

    def stop(self, *_):
        self.stopped = True

    def tell(self, line):
        say_bytes(line)
        if self.forward and self.link is not None:
            self.link.send(do="log", text=line.decode(errors="surrogateescape"))

    def where(self):
        if self.meet != "file":
            host, port = self.meet.rsplit(":", 1)
            return host, int(port)
        with open(os.path.join(HERE, "meet")) as file:
            host, port = file.read().split()
            return host, int(port)

    def connect(self, problem):
        """A link; None when told to stop, or nobody is there for too long."""
        until, pause = time.monotonic() + self.patience, 0.05
        while not self.stopped and time.monotonic() < until:
            try:
                link = Link(socket.create_connection(self.where(), timeout=HANDSHAKE_S), self.job.key, "member")
                if link.send(rank=self.job.rank, place=self.place(), problem=problem):
                    return link
            except Stranger as error:
                say("who answers at %s is no worker of this launch: %s" % (self.meet, error))
            except (OSError, ValueError):
                pass
            time.sleep(pause)
            pause = min(pause * 1.5, 2.0)
        return None

    def place(self):
        return "%s:%d" % (self.job.address, self.job.free_port())

    def hear(self, link):
        while True:
            message = link.receive()
            self.events.put((link, message))
            if message is None:
                return

    def run(self):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGUSR1):
            signal.signal(number, self.stop)
        keep_orphans()
        problem = self.job.prepare()
        if self.job.rank == 0:
            Coordinator(self.job, self.meet)
        while True:
            self.link = self.connect(problem)
            if self.link is None:
                return (STOPPED, "") if self.stopped else (LOST, "the first worker is not there within %d s" % self.patience)
            threading.Thread(target=beat, args=(self.link,), daemon=True).start()
            threading.Thread(target=self.hear, args=(self.link,), daemon=True).start()
            end = self.serve()
            self.link.close()
            if end is not None:
                return end
            say("%s has lost the first worker, and waits for it" % self.job.name(self.job.rank))

    def serve(self):
        """Until the end is told; None when the link is lost."""
        lost = False
        while True:
            try:
                link, message = self.events.get(timeout=0.05)
            except queue.Empty:
                link, message = self.link, {"do": "beat"}
            if message is None and link is self.link:
                lost = True
            elif message is not None and link is self.link:
                if message["do"] == "start" and self.script is None and not self.stopped:
                    self.start(message)
                elif message["do"] == "stop" and self.script is not None:
                    self.script.ask_to_stop()
                elif message["do"] == "finish" and self.script is None:
                    return message["status"], message["why"]
            if self.script is None:
                if self.stopped:
                    return STOPPED, ""
                if lost:
                    return None
                continue
            if self.stopped or lost:
                self.script.ask_to_stop()
            if not self.stopped:
                self.script.hurry()  # else the place says when it has to be gone
            end = self.script.ended()
            if end is not None:
                status, why, starved = end
                self.link.send(do="ended", generation=self.script.generation, status=status, why=why, starved=starved, stopped=self.stopped,
                               place=self.place())
                self.script = None

    def start(self, message):
        try:
            self.script = Script(self.job, message, self.tell)
        except (OSError, subprocess.SubprocessError) as error:
            self.link.send(do="ended", generation=message["generation"], status=127, stopped=False, starved=False, place=self.place(),
                           why="%s: %s cannot be started (%s)" % (self.job.name(self.job.rank), self.job.command()[0], error))


def main():
    runner = Runner()
    status, why = runner.run()
    if why and runner.job.rank == 0:
        say(why)
    for path in [os.environ.get("LINAC_SPAWN_TERMINATION")] + ([os.path.join(HERE, "why")] if runner.job.rank == 0 else []):
        if path and why:
            try:
                with open(path, "w") as file:
                    file.write(why.replace("\n", " ")[:2000] + "\n")
            except OSError:
                pass
    sys.stdout.flush()
    os._exit(status)  # its threads wait for others


if __name__ == "__main__":
    main()
