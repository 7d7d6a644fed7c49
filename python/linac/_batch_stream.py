"""Batches of a process of the program, in memory that both have mapped: `linac data batches`, seen from here."""

import json
import math
import mmap
import os
import re
import struct
import subprocess
import tempfile
import warnings
import weakref
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from linac._program import LinacError, command, environment, failure

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]

_MESSAGE = struct.Struct("=IIII")  # epoch, step, slot, 0
_WARNING = re.compile(r"^\d\d:\d\d:\d\d W (.*)$", re.M)


class Ragged(NamedTuple):
    """Lists of several lengths. Event i has values[offsets[i]:offsets[i + 1]].

    values: float32 [rows of all events, ...]; offsets: int64 [events + 1]."""

    values: Any
    offsets: Any

    def padded(self, rows: "int | None" = None, value: float = 0.0) -> "Array":
        """[events, rows, ...], with `value` behind the end of a list; without `rows` as many as the longest has. Longer lists lose their last rows."""
        import numpy as np

        values, offsets = np.asarray(self.values), np.asarray(self.offsets)
        lengths = np.diff(offsets)
        rows = int(lengths.max(initial=0)) if rows is None else rows
        there = np.arange(rows) < lengths[:, None]
        made: Array = np.full((len(lengths), rows, *values.shape[1:]), value, values.dtype)
        made[there] = values[(offsets[:-1, None] + np.arange(rows))[there]]
        return made


class Column(NamedTuple):
    """Of a batch's memory: where it lies, in bytes. `offsets_at`: of lists of several lengths, else None; `shape` is then that of a row."""

    name: str
    shape: tuple[int, ...]
    at: int
    offsets_at: "int | None"
    classes: list[str]


class BatchStream:
    """A process that reads, from one epoch and step on. `words`: of `linac data batches`. One thread, in the process that made it.

    Raises LinacError with the text of what the program refuses, here and in next()."""

    def __init__(self, words: "Sequence[object]", slots: int, epoch: int, step: int) -> None:
        self.position = epoch, step  # of the next batch
        self._output = tempfile.TemporaryFile()
        memory = os.memfd_create("linac-batches")
        line = command("data", "batches", *words, "--slots", slots, "--epoch", epoch, "--step", step, "--memory", memory)
        try:
            # Ctrl-C is for the loop that reads, which may go on.
            self._process = subprocess.Popen(line, bufsize=0, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._output,
                                             pass_fds=[memory], env=environment(), start_new_session=True)  # fmt: skip
        except OSError as error:
            os.close(memory)
            raise LinacError(f"[linac] {line[0]} cannot be started ({error})", 4) from error
        assert self._process.stdin is not None and self._process.stdout is not None
        self._to, self._from = self._process.stdin.fileno(), self._process.stdout.fileno()
        self._pid, self._read, self._held = os.getpid(), b"", 0
        self._ends = weakref.finalize(self, _end, self._pid, self._process, self._output)
        try:
            header = json.loads(self._line())
            self.columns = [Column(one["name"], tuple(one["shape"]), one["at"], one["offsets_at"], one["classes"]) for one in header["columns"]]
            self.events: int = header["events"]
            self.batch: int = header["batch"]
            self.steps_per_epoch: int = header["steps_per_epoch"]
            size = header["slot_bytes"]
            self._slots = [mmap.mmap(memory, size, offset=number * size) for number in range(header["slots"])]
        except BaseException:
            self.close()
            raise
        finally:
            os.close(memory)
        for text in re.findall(_WARNING, self._said()):
            warnings.warn(text, stacklevel=4)

    def next(self) -> "dict[str, Array | Ragged]":
        """The batch at self.position. Its arrays lie in the memory of the stream as long as there is one of them: nothing is copied. Who keeps so
        many that the program would wait for memory gets copies."""
        epoch, step, number, _ = _MESSAGE.unpack(self._bytes(_MESSAGE.size))
        self.position = (epoch, step + 1) if step + 1 < self.steps_per_epoch else (epoch + 1, 0)
        if self._held + 2 >= len(self._slots):  # one more, and the program could not read ahead
            batch = {name: value.copy() if not isinstance(value, Ragged) else Ragged(value.values.copy(), value.offsets.copy())
                     for name, value in self._views(number, None).items()}  # fmt: skip
            self._free(number)
            return batch
        self._held += 1
        return self._views(number, weakref.ref(self))

    def _views(self, number: int, holder: "weakref.ref[BatchStream] | None") -> "dict[str, Array | Ragged]":
        """`holder`: is told when the last of the arrays is gone; arrays do not keep it alive."""
        import numpy as np

        whole = np.frombuffer(self._slots[number], np.uint8)
        if holder is not None:
            # All views have `whole` as their base, whoever makes them of one another.
            weakref.finalize(whole, _release, holder, number).atexit = False
        batch: dict[str, Array | Ragged] = {}
        for one in self.columns:
            if one.offsets_at is None:
                batch[one.name] = _view(whole, one.at, np.float32, (self.batch, *one.shape))
            else:
                offsets = _view(whole, one.offsets_at, np.int64, (self.batch + 1,))
                batch[one.name] = Ragged(_view(whole, one.at, np.float32, (int(offsets[-1]), *one.shape)), offsets)
        return batch

    def _free(self, number: int) -> None:
        if self._ends.alive and os.getpid() == self._pid:  # a fork has the arrays, but not the stream
            try:
                os.write(self._to, bytes([number]))
            except OSError:  # it has ended, which the next read tells
                pass

    def _bytes(self, count: int) -> bytes:
        while len(self._read) < count:
            self._read_more()
        found, self._read = self._read[:count], self._read[count:]
        return found

    def _line(self) -> bytes:
        while b"\n" not in self._read:
            self._read_more()
        line, _, self._read = self._read.partition(b"\n")
        return line

    def _read_more(self) -> None:
        if not self._ends.alive:
            raise LinacError("[loader] its batches were ended by close(); begin another epoch", 2)
        part = os.read(self._from, 1 << 16)
        if not part:
            raise self._failure()
        self._read += part

    def _failure(self) -> LinacError:
        status = self._process.wait()
        return failure(self._said(), status if status != 0 else None)

    def _said(self) -> str:
        self._output.seek(0)
        return self._output.read().decode("utf-8", errors="replace")

    def close(self) -> None:
        """Ends the process. Arrays of its batches stay as they are."""
        self._ends()


def _release(holder: "weakref.ref[BatchStream]", number: int) -> None:
    if (stream := holder()) is not None:
        stream._held -= 1
        stream._free(number)


def _view(whole: "Array", at: int, kind: Any, shape: tuple[int, ...]) -> "Array":
    import numpy as np

    view: Array = whole[at : at + math.prod(shape) * np.dtype(kind).itemsize].view(kind).reshape(shape)
    return view


def _end(pid: int, process: "subprocess.Popen[bytes]", output: Any) -> None:
    """Its input ends, and so does it."""
    if os.getpid() != pid:
        return
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            pipe.close()
    try:
        process.wait(timeout=10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    output.close()
