"""loader(): batches of event files for a training loop of one's own, read ahead, mixed and unpacked by a process of the program."""

import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from linac import _fit, _model
from linac._batch_stream import BatchStream, Ragged
from linac._columns import refused

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]

Batch = dict[str, Any]


def loader(
    files: Any,
    columns: "str | Sequence[str] | Mapping[str, int | Sequence[int | str] | None]",
    batch: int = 32,
    *,
    seed: int = 0,
    shuffle: bool = True,
    rank: int = 0,
    world_size: int = 1,
    steps_per_epoch: "int | None" = None,
    window: int = 0,
    define: "Mapping[str, str] | None" = None,
    filter: "str | None" = None,
    classes: "Mapping[str, Sequence[str]] | None" = None,
    prefetch: "int | None" = None,
    threads: int = 1,
    slots: int = 6,
) -> "Loader":
    """Batches of `columns` of event files as dicts of NumPy arrays of float32, in the order in which `linac train` takes them: drawn of all events by
    (seed, epoch), the same on every machine.

        for batch in linac.loader("s3://bucket/train-*.parquet", ["HLF_input", "label"], 256): ...

    files: paths, globs and addresses of HDF5, TFRecord, Parquet, Arrow and ROOT files.
    columns: names; or names with the shape of an event: () a number, (14,) a list of features, (801, 19) a list of rows, which is padded with zeros,
        or cut; ["pt", "eta"] the numbers of the files that are joined to a list; None, as with a name alone: as the first file has it. Lists of several lengths come as a Ragged of values and offsets. Of a column of
        texts the numbers of the classes, which `loader.classes` names.
    batch: events of a batch, [batch, ...]. What is left of an epoch's last one is skipped.
    rank, world_size: this loop reads every world_size-th batch, so `world_size` loops share each step of world_size * batch events.
    steps_per_epoch: fewer than the events make. window: so many files at a time are mixed, for sets that are larger than the disk.
    define: columns that are computed, by formulas of docs/guide/transforms.md. filter: such a formula, of the events that count.
    classes: of columns of texts; without, all texts of the files, sorted.
    prefetch: batches read ahead, by `threads` threads. slots: batches in the memory that the program shares with this process.

    Raises LinacError where the program refuses what is asked, here or when the first batch is wanted.
    """
    words: list[object] = ["--batch", batch, "--seed", seed, "--rank", rank, "--world", world_size, "--window", window, "--threads", threads]
    named = {columns: None} if isinstance(columns, str) else columns if isinstance(columns, Mapping) else dict.fromkeys(columns)
    if not _model.are_files(files):
        raise refused("loader", f"{type(files).__name__} names no files", "give paths or addresses")
    if not named or not all(isinstance(name, str) and name for name in named):
        raise refused("loader", "no column is named" if not named else f"{list(named)} are no names of columns", "give texts")
    if not isinstance(columns, (str, Mapping)) and len(named) != len(columns):
        raise refused("loader", "a column is named twice", "name each once")
    for name, shape in named.items():
        axes = [shape] if isinstance(shape, int) else shape or ()
        if axes and all(isinstance(one, str) for one in axes):
            words += [f"--column={name}", f"--joined={name}={json.dumps(list(axes), ensure_ascii=False)}"]
        else:
            words.append(f"--column={name}" if shape is None else f"--column={name}:{'x'.join(map(str, axes))}")
    words += [f"--define={name}={formula}" for name, formula in (define or {}).items()]
    words += [f"--classes={name}={json.dumps(list(texts), ensure_ascii=False)}" for name, texts in (classes or {}).items()]
    words += [] if steps_per_epoch is None else ["--steps", steps_per_epoch]
    words += [] if filter is None else [f"--filter={filter}"]
    words += [] if prefetch is None else ["--prefetch", prefetch]
    words += [] if shuffle else ["--in-order"]
    return Loader([*words, *_fit.files(files)], slots)


class Loader:
    """Batches, epoch after epoch: each `for batch in loader` is the next one, also behind one that was left early. The program reads ahead across
    their ends. One thread at a time; a process that was forked off makes a loader of its own."""

    def __init__(self, words: "list[object]", slots: int) -> None:
        self._words, self._slots = words, slots
        self._pid = os.getpid()
        self._stream: BatchStream | None = None
        self._next = 0, 0  # the place of the next batch
        self._goes_on = True  # whether the next loop begins there, also in the midst of an epoch

    def __reduce__(self) -> "tuple[type[Loader], tuple[list[object], int], dict[str, int]]":
        return type(self), (self._words, self._slots), self.state_dict()

    def __setstate__(self, state: "dict[str, int]") -> None:
        self.load_state_dict(state)

    def __iter__(self) -> "Iterator[Batch]":
        epoch, step = self._next
        return self.epoch(epoch, step) if self._goes_on or step == 0 else self.epoch(epoch + 1)

    def epoch(self, epoch: int, step: int = 0) -> "Iterator[Batch]":
        """The batches of this epoch, from `step` on. What is read and kept is docs/guide/python-loops.md's."""
        self._check_process()
        if epoch < 0 or step < 0:
            raise refused("loader", f"epoch {epoch}, step {step}", "count from 0")
        stream, self._stream = self._stream, None  # another loop over this loader meanwhile has a stream of its own
        if stream is not None and stream.position != (epoch, step):
            stream.close()
            stream = None
        stream = stream or self._begun(epoch, step)
        self._next, self._goes_on = (epoch, step), False
        return self._batches(stream, epoch)

    def _batches(self, stream: BatchStream, epoch: int) -> "Iterator[Batch]":
        try:
            while stream.position[0] == epoch:
                batch = stream.next()
                self._next = stream.position
                yield batch
        except GeneratorExit:  # a loop was left: its place is kept, and the stream goes on from there
            self._keep(stream)
            raise
        except BaseException:
            stream.close()
            raise
        self._keep(stream)

    def _keep(self, stream: BatchStream) -> None:
        if self._stream is not None:
            self._stream.close()
        self._stream = stream

    def _begun(self, epoch: int, step: int) -> BatchStream:
        return BatchStream(self._words, self._slots, epoch, step)

    def _facts(self) -> BatchStream:
        self._check_process()
        if self._stream is None:
            self._stream = self._begun(*self._next)
        return self._stream

    def _check_process(self) -> None:
        torch = sys.modules.get("torch.utils.data")
        if os.getpid() != self._pid or (torch is not None and torch.get_worker_info() is not None):
            raise refused("loader", "is used in another process than the one that made it, as by workers of a torch DataLoader",
                          "iterate loader.torch() itself, or DataLoader(..., batch_size=None, num_workers=0): the program reads ahead without them")  # fmt: skip

    def __len__(self) -> int:
        """Steps of an epoch."""
        return self._facts().steps_per_epoch

    @property
    def events(self) -> "int | None":
        """Of all files; None where a window does not count them."""
        events = self._facts().events
        return events if events >= 0 else None

    @property
    def classes(self) -> "dict[str, list[str]]":
        """Of the columns of texts: the class of each number."""
        return {one.name: one.classes for one in self._facts().columns if one.classes}

    def state_dict(self) -> "dict[str, int]":
        """The place of the next batch, which load_state_dict() of a loader of the same words goes on from."""
        return {"epoch": self._next[0], "step": self._next[1]}

    def load_state_dict(self, state: "Mapping[str, int]") -> None:
        self._next, self._goes_on = (int(state["epoch"]), int(state["step"])), True

    def numpy(self) -> "Loader":
        return self

    def torch(self) -> "View":
        """The same as torch.Tensors, which lie in the same memory."""
        import torch

        return View(self, torch.from_numpy)

    def tensorflow(self) -> "View":
        """The same as tf.Tensors, which lie in the same memory."""
        from tensorflow.experimental import dlpack

        return View(self, lambda array: dlpack.from_dlpack(array.__dlpack__()))

    def jax(self) -> "View":
        """The same as jax.Arrays, which lie in the same memory where JAX computes on the processor."""
        from jax import dlpack

        return View(self, dlpack.from_dlpack)

    def close(self) -> None:
        """Ends the process that reads; the next batch begins another one."""
        if self._stream is not None:
            self._stream.close()
            self._stream = None


class View:
    """A Loader whose arrays are another library's."""

    def __init__(self, loader: Loader, convert: "Callable[[Array], Any]") -> None:
        self.loader, self._convert = loader, convert

    def __iter__(self) -> "Iterator[Batch]":
        return map(self._converted, iter(self.loader))

    def epoch(self, epoch: int, step: int = 0) -> "Iterator[Batch]":
        return map(self._converted, self.loader.epoch(epoch, step))

    def __len__(self) -> int:
        return len(self.loader)

    def _converted(self, batch: Batch) -> Batch:
        return {name: Ragged(*map(self._convert, value)) if isinstance(value, Ragged) else self._convert(value) for name, value in batch.items()}
