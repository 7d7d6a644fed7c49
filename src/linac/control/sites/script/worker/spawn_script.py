"""The script as a process."""

import ctypes
import os
import signal
import subprocess
import threading
import time

GRACE_S = 10.0       # of a script that has to stop because of another one
LINE_MAX = 64 << 10  # longer lines of a script are cut into such

libc = ctypes.CDLL(None)


def keep_orphans():
    """What a script leaves behind becomes a child of this process."""
    libc.prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER


def out_of_memory_kills():
    """So often the kernel has ended a process here for want of memory."""
    count = 0
    try:
        with open("/proc/self/cgroup") as file:
            groups = [line.strip().split(":", 2) for line in file]
    except OSError:
        return 0
    for number, controllers, path in groups:
        if number == "0":
            files = ["/sys/fs/cgroup" + path + "/memory.events", "/sys/fs/cgroup/memory.events"]
        elif "memory" in controllers.split(","):
            files = ["/sys/fs/cgroup/memory" + path + "/memory.oom_control", "/sys/fs/cgroup/memory/memory.oom_control"]
        else:
            continue
        for name in files:
            try:
                with open(name) as file:
                    count += sum(int(line.split()[1]) for line in file if line.startswith("oom_kill "))
                break
            except (OSError, ValueError):
                pass
    return count


def descendants():
    parents = {}
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open("/proc/%s/stat" % name) as file:
                parents[int(name)] = int(file.read().rsplit(")", 1)[1].split()[1])
        except (OSError, ValueError, IndexError):
            pass
    found, here = set(), {os.getpid()}
    while here:
        here = {one for one, parent in parents.items() if parent in here} - found
        found |= here
    return found


class Script:
    """The script as a process, with all that it starts. Made and asked by the main thread alone: it goes with that thread."""

    def __init__(self, job, message, tell):
        self.job, self.generation = job, message["generation"]
        self.prefix = ("[%s] " % job.name(job.rank)).encode()
        self.last, self.asked_at, self.tell = "", None, tell
        self.kills = out_of_memory_kills()

        def own_group():
            os.setpgid(0, 0)  # a signal to our group reaches us alone, and we hand it on
            libc.prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG

        self.process = subprocess.Popen(job.command(), env=job.environment(message["places"], self.generation), stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, close_fds=False, preexec_fn=own_group)
        self.pump = threading.Thread(target=self._pump, daemon=True)
        self.pump.start()

    def _pump(self):
        rest = b""
        while True:
            try:
                piece = os.read(self.process.stdout.fileno(), LINE_MAX)
            except (OSError, ValueError):
                piece = b""
            lines = (rest + piece.replace(b"\r", b"\n")).split(b"\n")
            rest = b"" if not piece else lines.pop()
            if len(rest) >= LINE_MAX:
                lines.append(rest)
                rest = b""
            for line in lines:
                if line.strip():
                    self.last = line[:500].decode(errors="replace").strip()
                    self.tell(self.prefix + line)
            if not piece:
                return

    def ask_to_stop(self):
        if self.asked_at is None:
            self.asked_at = time.monotonic()
            try:
                self.process.send_signal(signal.SIGTERM)
            except OSError:
                pass

    def hurry(self):
        """It had its time to stop."""
        if self.asked_at is not None and time.monotonic() > self.asked_at + GRACE_S:
            self._kill_rest()

    def _kill_rest(self):
        for one in descendants():
            try:
                os.kill(one, signal.SIGKILL)
            except OSError:
                pass

    def ended(self):
        """Nothing while it runs; else (status, why, out of memory)."""
        status = self.process.poll()
        if status is None:
            return None
        self._kill_rest()
        self.pump.join(5)
        try:
            while os.waitpid(-1, os.WNOHANG) != (0, 0):  # what it has left came to us
                pass
        except OSError:
            pass
        if status == 0:
            return 0, "", False
        starved = status == -signal.SIGKILL and out_of_memory_kills() > self.kills
        if starved:
            why = "out of memory: raise memory of the site, or let the script take less"
        elif status < 0:
            why = "ended by signal %d" % -status
        else:
            why = "exit status %d" % status
        return status, "%s: %s%s" % (self.job.name(self.job.rank), why, ": " + self.last if self.last and not starved else ""), starved
