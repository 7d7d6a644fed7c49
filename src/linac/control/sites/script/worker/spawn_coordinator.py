"""The runner of rank 0 tells the others when to start, to stop and to end."""

import os
import queue
import socket
import threading
import time

from spawn_link import Link, Stranger, beat, hang_up, say, say_bytes
from spawn_script import GRACE_S

HERE = os.path.dirname(os.path.abspath(__file__))
DONE, LOST, FAILED = 0, 6, 70
STRANGERS_MAX = 256  # links that have not proved yet who they are
LOSSES_MAX = 100     # workers that were taken away; failures are bounded by the launch
PAUSE_MAX_S = 30.0


class Coordinator:
    """Within the runner of rank 0, on threads of its own."""

    def __init__(self, job, meet):
        self.job, self.events, self.members, self.hellos, self.hosts = job, queue.Queue(), {}, {}, {}
        self.strangers, self.lock = [], threading.Lock()  # the first has been there longest
        port = 0 if meet == "file" else int(meet.rsplit(":", 1)[1])
        family = socket.AF_INET6 if socket.has_ipv6 and not job.address.startswith("127.") else socket.AF_INET
        try:
            self.listener = self._listen(family, job, port)
        except OSError:
            self.listener = self._listen(socket.AF_INET, job, port)
        self.port = self.listener.getsockname()[1]
        if meet == "file":
            path = os.path.join(HERE, "meet")
            with open(path + ".part", "w") as file:
                file.write("%s %d\n" % (job.address, self.port))
            os.rename(path + ".part", path)
        self.patience = float(os.environ.get("LINAC_SPAWN_PATIENCE", "600"))
        threading.Thread(target=self._accept, daemon=True).start()
        threading.Thread(target=self._run, daemon=True).start()

    @staticmethod
    def _listen(family, job, port):
        listener = socket.socket(family, socket.SOCK_STREAM)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        listener.bind(("127.0.0.1" if job.address.startswith("127.") else "", port))
        listener.listen(1024)
        return listener

    def _accept(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                time.sleep(0.1)  # too many files are open, perhaps
                continue
            with self.lock:
                self.strangers.append(connection)
                late = self.strangers.pop(0) if len(self.strangers) > STRANGERS_MAX else None
            if late is not None:
                hang_up(late)  # a worker says who it is at once; its thread closes it
            try:
                threading.Thread(target=self._greet, args=(connection,), daemon=True).start()
            except RuntimeError:  # as many threads run as may
                self._is_no_stranger(connection)
                connection.close()

    def _is_no_stranger(self, connection):
        with self.lock:
            if connection in self.strangers:
                self.strangers.remove(connection)

    def _greet(self, connection):
        try:
            link = Link(connection, self.job.key, "coordinator")
            hello = link.receive()
            caller = connection.getpeername()[0]
        except (Stranger, OSError, ValueError):
            hello = None
        finally:
            self._is_no_stranger(connection)
        if hello is None or not 0 <= hello.get("rank", -1) < len(self.job.tasks):
            connection.close()
            return
        self.hosts[hello["rank"]] = self.job.address if caller in ("127.0.0.1", "::1", "::ffff:127.0.0.1") else caller.replace("::ffff:", "")
        threading.Thread(target=beat, args=(link,), daemon=True).start()
        self.events.put(("joined", hello["rank"], link, hello))
        while True:
            message = link.receive()
            if message is None:
                break
            if message["do"] == "log":
                say_bytes(message["text"].encode(errors="surrogateescape"))
            elif message["do"] != "beat":
                self.events.put(("said", hello["rank"], link, message))
        link.close()
        self.events.put(("left", hello["rank"], link, {}))

    def _next(self, until=None):
        """One event of a link that counts, after it was taken into account; None when it is late."""
        while True:
            try:
                what, rank, link, message = self.events.get(timeout=None if until is None else max(0.0, until - time.monotonic()))
            except queue.Empty:
                return None
            if what == "joined":
                former = self.members.get(rank)
                self.members[rank], self.hellos[rank] = link, message
                if former is None:
                    return what, rank, message
                former.close()
                return "left", rank, {}  # another one in its place: what it did is lost
            if self.members.get(rank) is link:
                if what == "left":
                    del self.members[rank]
                elif message["do"] == "ended" and message["generation"] == self.hellos[rank].get("runs"):
                    self.hellos[rank].update(place=message["place"], runs=None)
                return what, rank, message

    def _all(self, **message):
        for link in list(self.members.values()):
            link.send(**message)

    def _place(self, rank):
        host, port = self.hellos[rank]["place"].rsplit(":", 1)
        host = host or self.hosts[rank]
        return "%s:%s" % ("[%s]" % host if ":" in host else host, port)

    def _gather(self):
        """What stands in the way, "" once all are there."""
        until = time.monotonic() + self.patience
        missing = lambda: [rank for rank in range(len(self.job.tasks)) if rank not in self.members]
        while missing():
            if self._next(until) is None:
                return LOST, "%s not there within %d s" % (self.job.name(missing()[0]), self.patience)
        for rank, hello in sorted(self.hellos.items()):
            if hello["problem"]:
                return FAILED, "%s: %s" % (self.job.name(rank), hello["problem"])
        return DONE, ""

    def _train(self, generation):
        """(done, why, whether it counts, whether there is no hope)"""
        for hello in self.hellos.values():
            hello["runs"] = generation
        self._all(do="start", generation=generation, places=[self._place(rank) for rank in range(len(self.job.tasks))])
        left = set(range(self.job.trainers))
        while left:
            what, rank, message = self._next()
            if what == "left":
                return False, "%s is lost" % self.job.name(rank), False, False
            if what != "said" or message["generation"] != generation:
                continue
            if message["stopped"]:
                return False, "%s was told to stop" % self.job.name(rank), False, False
            if message["status"] != 0:
                return False, message["why"], True, message["starved"]
            if rank >= self.job.trainers:
                return False, "%s has ended before the others" % self.job.name(rank), True, False
            left.discard(rank)
        return True, "", False, False

    def _settle(self, generation):
        """All have stopped, or are given up."""
        self._all(do="stop", generation=generation)
        until = time.monotonic() + GRACE_S + 10
        running = lambda: [rank for rank in self.members if self.hellos[rank].get("runs") == generation]
        while running():
            if self._next(until) is None:
                for rank in running():
                    self.members.pop(rank).close()

    def _finish(self, status, why):
        """The others first: this process ends with its own runner."""
        for rank, link in list(self.members.items()):
            if rank != 0:
                link.send(do="finish", status=status, why=why)
        until = time.monotonic() + 10
        while any(rank != 0 for rank in self.members) and self._next(until) is not None:
            pass
        self._all(do="finish", status=status, why=why)

    def _run(self):
        failures = losses = generation = 0
        while True:
            status, why = self._gather()
            if status != DONE:
                return self._finish(status, why)
            generation += 1
            done, why, counts, hopeless = self._train(generation)
            if done:
                self._settle(generation)
                return self._finish(DONE, "")
            self._settle(generation)
            failures, losses = failures + counts, losses + (not counts)
            if hopeless or failures > self.job.job["restarts"] or losses > LOSSES_MAX:
                return self._finish(FAILED, why)
            say("%s; all stop, %s" % (why, "and begin again, %d of %d times" % (failures, self.job.job["restarts"]) if counts else
                                      "to begin again with it"))
            if counts:
                time.sleep(min(2.0 ** (failures - 1), PAUSE_MAX_S))
