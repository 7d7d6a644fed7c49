"""Faults for a run on several hosts, several a second and several at a time. Each has a beginning and mostly an end; which comes next,
whom it hits and how long it lasts follow from the dice. For use by one thread.

Two rules let the run go on. What takes longer than a moment (LONG) hits one host or worker at a time; and a worker is killed or told to leave
only where enough others are left in the view that are neither stopped nor cut off: two if all share a folder, else more than half of it.
And no more than LOSSES_MAX faults that cost a member follow each other without a step, since a run whose steps end its workers gives up."""

import collections
import ctypes
import heapq
import itertools
import math
import os
import pathlib
import queue
import random
import signal
import threading
import time

from fleet import Fleet, Worker
from lib import hosts
from stranger import Stranger

FAULTS_PER_S = 5.0
SHORT_S = (0.02, 0.5)  # evenly on a logarithmic scale
LONG_S, LONG_PART = (2.0, 8.5), 0.012
LOSSES_MAX = 3
WRITER_PART = 0.5  # of the faults hit who writes for all: the most senior member, or its host
CLONE_NEWNET = 0x40000000

# What may happen, and how often beside the others.
WEIGHTS = {"halt": 20, "cut": 12, "one-way cut": 14, "partial cut": 12, "stranger": 14, "slow link": 8, "slow host": 4, "kill": 3, "kill two": 1,
           "kill the coordinator and its successor": 1, "kill a newcomer": 2, "halt one, kill another": 1.5, "kill during a cut": 1.5, "leave": 2}
COSTLY = {"kill", "kill two", "kill the coordinator and its successor", "kill a newcomer", "halt one, kill another", "kill during a cut", "leave"}


class Visitor(threading.Thread):
    """A stranger on a host: connects to members and sends what it likes."""

    def __init__(self, host: hosts.Host, folder: pathlib.Path):
        super().__init__(daemon=True)
        self.namespace = str(hosts.NAMESPACES / host.namespace)
        self.stranger = Stranger(folder, 0, pathlib.Path(os.devnull), [])
        self.calls: queue.Queue = queue.Queue(maxsize=2)
        self.start()

    def run(self) -> None:
        with open(self.namespace) as namespace:  # this thread's sockets are those of the host from now on
            if ctypes.CDLL(None, use_errno=True).setns(namespace.fileno(), CLONE_NEWNET):
                raise OSError(ctypes.get_errno(), "setns")
        dice = random.Random()
        while (call := self.calls.get()) is not None:
            self.stranger.name, self.stranger.addresses = call
            try:
                dice.choice([self.stranger.plain, self.stranger.noise, self.stranger.records, self.stranger.greeting, self.stranger.come_and_go])()
            except OSError:
                pass  # the member does not take it, or is cut off

    def visit(self, name: str, addresses: list[tuple[str, int]]) -> bool:
        try:
            self.calls.put_nowait((name, addresses))
            return True
        except queue.Full:
            return False


class Faults:
    def __init__(self, fleet: Fleet, visitors: list[Visitor], dice: random.Random, per_s: float = FAULTS_PER_S):
        self.fleet, self.visitors, self.dice, self.per_s = fleet, visitors, dice, per_s
        self.net, self.names = fleet.net, [host.name for host in fleet.net]
        self.count: collections.Counter = collections.Counter()
        self.double = self.done_again = 0
        self.on_writer = 0  # that hit the most senior member, or its host
        self.resumed_at: int | None = None
        self.recoveries: list[float] = []
        self.next = time.monotonic()
        self.ends: list[tuple[float, int, object]] = []  # a heap
        self.numbers = itertools.count()
        self.stopped: set[int] = set()
        self.apart: collections.Counter = collections.Counter()  # hosts that are cut off, partly or whole
        self.active = 0  # that disturb the run
        self.long = False
        self.steps, self.step_at, self.losses = 0, time.monotonic(), 0
        self.disturbed_at = -1  # the step at which the latest fault came that disturbs
        self.pending: list[tuple[float, int]] = []  # kills, with the steps there were
        self.story = open(f"{fleet.log}.faults", "a", buffering=1)

    def watch(self) -> None:
        """What the run has done meanwhile."""
        steps, now = self.fleet.steps(), time.monotonic()
        if steps == self.steps:
            return
        if steps < self.steps and self.resumed_at is not None:
            self.done_again += self.steps - steps
            self.resumed_at = None
        self.recoveries += [now - begin for begin, at in self.pending if steps > at]
        self.pending = [(begin, at) for begin, at in self.pending if steps <= at]
        self.steps, self.step_at, self.losses = steps, now, 0

    def restarted(self) -> None:
        """The run is resumed, from a step that it had passed."""
        self.stopped.clear()
        self.pending.clear()
        self.resumed_at, self.step_at = self.steps, time.monotonic()

    def tick(self) -> None:
        now = time.monotonic()
        while self.ends and self.ends[0][0] <= now:
            heapq.heappop(self.ends)[2]()
        if now < self.next:
            return
        self.next = max(self.next, now - 1.0) + self.dice.expovariate(self.per_s)
        kinds = [kind for kind in WEIGHTS if not (kind in COSTLY and self.losses >= LOSSES_MAX)]
        for _ in range(10):
            kind = self.dice.choices(kinds, [WEIGHTS[kind] for kind in kinds])[0]
            if getattr(self, kind.replace(" ", "_").replace(",", "").replace("-", "_"))():
                return

    def calm(self) -> None:
        """Ends all that has not ended yet."""
        while self.ends:
            heapq.heappop(self.ends)[2]()
        self.net.heal()

    # --- of the network ---

    def cut(self) -> bool:
        host = self._host()
        others = [name for name in self.names if name != host]
        return self._cut("cut", [way for other in others for way in ((host, other), (other, host))], [host])

    def one_way_cut(self) -> bool:
        way = tuple(self._two_hosts())
        return self._cut("one-way cut", [way], [way[0]])

    def partial_cut(self) -> bool:
        one, other = self._two_hosts()
        return self._cut("partial cut", [(one, other), (other, one)], [one])

    def _cut(self, kind: str, ways: list[tuple[str, str]], cut_off: list[str]) -> bool:
        how = self.dice.choice(list(hosts.CUTS))
        if how != "drop" and self.losses >= LOSSES_MAX:
            how = "drop"
        seconds, long = self._duration()
        self.net.cut_all(ways, how)
        self.apart.update(cut_off)

        def end() -> None:
            self.apart.subtract(cut_off)
            self.net.heal(ways)
        self._begin(kind, f"{ways[0]} {how}", seconds, end, long, loses=long or how != "drop")
        return True

    def slow_link(self) -> bool:
        one, other = self._two_hosts()
        delay = self.dice.uniform(2, 40)
        shape = {"delay_ms": delay, "jitter_ms": self.dice.uniform(0, delay), "loss": self.dice.choice([0, 0, 0.01, 0.05]),
                 "stall_per_mb": self.dice.choice([0, 1]), "stall_ms": self.dice.uniform(0, 200)}
        self.net.shape(one, other, **shape)
        self._begin("slow link", f"{one} {other} {delay:.0f} ms", self.dice.uniform(0.1, 1.0), lambda: self.net.shape(one, other), disturbs=False)
        return True

    def slow_host(self) -> bool:
        host = self.net[self._host()]
        host.limit_rate(self.dice.choice(["10mbit", "50mbit", "200mbit"]))
        self._begin("slow host", host.name, self.dice.uniform(0.1, 1.0), lambda: host.limit_rate(None), disturbs=False)
        return True

    def stranger(self) -> bool:
        members = self.fleet.members()
        addresses = [(host, int(port)) for host, _, port in (member["address"].rpartition(":") for member in members)]
        if not addresses or not self.dice.choice(self.visitors).visit(self.fleet.view().name, addresses):
            return False
        self._begin("stranger", "", 0, lambda: None, disturbs=False)
        return True

    # --- of workers ---

    def halt(self, worker: Worker | None = None, seconds: float = 0) -> bool:
        victims = [worker for worker in self.fleet.living() if worker.pid not in self.stopped]
        if len(victims) < 2:
            return False
        worker = worker or self._one_of(victims)
        drawn, long = self._duration()
        os.kill(worker.pid, signal.SIGSTOP)
        self.stopped.add(worker.pid)

        def end() -> None:
            self.stopped.discard(worker.pid)
            if worker.pid in self.fleet.workers:  # else it was killed meanwhile, and its number may be another's
                os.kill(worker.pid, signal.SIGCONT)
        self._begin("halt", str(worker.pid), seconds or drawn, end, long and not seconds, loses=long)
        return True

    def kill(self) -> bool:
        spare = self._spare()
        if not spare:
            return False
        self._kill(self._one_of(spare))
        return True

    def kill_two(self) -> bool:
        spare = self._spare(2)
        if len(spare) < 2:
            return False
        for worker in self.dice.sample(spare, 2):
            self._kill(worker)
        return True

    def kill_the_coordinator_and_its_successor(self) -> bool:
        if len(self._spare(2)) < 2:
            return False
        first, second = self.fleet.living()[:2]
        self._kill(first)
        self._later(self.dice.uniform(0.0, 0.4), lambda: second.pid in self.fleet.workers and self._spare() and self._kill(second))
        return True

    def kill_a_newcomer(self) -> bool:
        """One that may be anywhere between its first instruction and its first step."""
        starting = [worker for worker in self.fleet.starting() if time.monotonic() - worker.began > 0.1]
        newcomer = self.dice.choice(starting) if starting else None
        if newcomer is None:
            newcomer = self.fleet.join()
            if newcomer is None:
                return False

        def strike() -> None:
            if newcomer.pid in self.fleet.workers and (newcomer not in self.fleet.living() or newcomer in self._spare()):
                self._kill(newcomer, "kill of a newcomer")
        self._later(self.dice.uniform(0.0, 2.5), strike)
        return True

    def halt_one_kill_another(self) -> bool:
        spare = self._spare(2)
        if len(spare) < 2:
            return False
        halted, killed = self.dice.sample(spare, 2)
        self.halt(halted, self.dice.uniform(0.2, 1.0))
        self._later(self.dice.uniform(0.0, 0.2), lambda: killed.pid in self.fleet.workers and self._spare() and self._kill(killed))
        return True

    def kill_during_a_cut(self) -> bool:
        if not self._spare():
            return False
        self.dice.choice([self.cut, self.one_way_cut, self.partial_cut])()

        def strike() -> None:
            if spare := self._spare():
                self._kill(self._one_of(spare))
        self._later(self.dice.uniform(0.0, 0.1), strike)
        return True

    def leave(self) -> bool:
        spare = [worker for worker in self._spare() if not worker.told_to_leave]
        if not spare:
            return False
        worker = self._one_of(spare)
        self.fleet.tell_to_leave(worker)
        self._begin("leave", str(worker.pid), 0, lambda: None, loses=True)
        return True

    # --- what they share ---

    def _one_of(self, workers: list[Worker]) -> Worker:
        writer = next(iter(self.fleet.living()), None)
        chosen = writer if writer in workers and self.dice.random() < WRITER_PART else self.dice.choice(workers)
        self.on_writer += chosen is writer
        return chosen

    def _host(self) -> str:
        writers = next((worker.host for worker in self.fleet.living()), None)
        chosen = writers if writers and self.dice.random() < WRITER_PART else self.dice.choice(self.names)
        self.on_writer += chosen == writers
        return chosen

    def _two_hosts(self) -> list[str]:
        first = self._host()
        pair = [first, self.dice.choice([name for name in self.names if name != first])]
        return pair if self.dice.random() < 0.5 else pair[::-1]

    def _duration(self) -> tuple[float, bool]:
        if not self.long and self.dice.random() < LONG_PART:
            return self.dice.uniform(*LONG_S), True
        return math.exp(self.dice.uniform(*map(math.log, SHORT_S))), False

    def _spare(self, number: int = 1) -> list[Worker]:
        """Members of whom so many may be lost now."""
        well = [worker for worker in self.fleet.living() if worker.pid not in self.stopped and self.apart[worker.host] <= 0 and not worker.told_to_leave]
        left = len(well) - number
        enough = 2 * left > len(self.fleet.members()) if self.fleet.apart else left >= 2
        return well if enough else []

    def _kill(self, worker: Worker, kind: str = "kill") -> None:
        self.pending.append((time.monotonic(), self.steps))
        self.fleet.kill(worker)
        self._begin(kind, str(worker.pid), 0, lambda: None, loses=True)

    def _begin(self, kind: str, what: str, seconds: float, end, long: bool = False, loses: bool = False, disturbs: bool = True) -> None:
        self.count[kind + (" (long)" if long else "")] += 1
        self.double += disturbs and (self.active > 0 or self.disturbed_at == self.steps)
        self.losses += loses
        self.long = self.long or long
        if disturbs:
            self.disturbed_at = self.steps
        self.active += disturbs
        print(f"{time.time():.3f} {kind} {what} {seconds:.3f} s, {self.steps} steps", file=self.story)

        def over() -> None:
            end()
            self.active -= disturbs
            if long:
                self.long = False
        self._later(seconds, over)

    def _later(self, seconds: float, what) -> None:
        heapq.heappush(self.ends, (time.monotonic() + seconds, next(self.numbers), what))
