"""log(): a run of a service for who keeps the training loop. What is said goes over a queue to a thread that writes it to the disk (the spool), and
from there by another to the service. So the loop never waits for disk or network, and is never ended by them; what could not be sent is sent later, by
the next log or linac.send_logs()."""

import atexit
import collections
import contextlib
import logging
import numbers
import os
import pathlib
import secrets
import shutil
import sys
import threading
import time
from collections.abc import Mapping
from typing import Any

from linac import _exits, _spool, _system
from linac._columns import refused
from linac._service import Service, ServiceError
from linac._service_study import number

_WAITING_MAX = 200_000  # points that the disk has not taken yet
_SPOOL_BYTES_MAX = 4 << 30
_GATHER_S = 0.5  # of points to a batch
_SEND_S = (1.0, 60.0)  # between looks for what is new, and the longest pause while the service is away
_SYSTEM_S = 10.0
_END_S = 5.0
_logger = logging.getLogger("linac")


class Log:
    """A run that is logged. All calls return at once, may come from any thread, and raise nothing that the disk or the service does: that is a
    warning of the logger "linac", once for each reason. In a process that was forked from the one that began it they do nothing.

    Without `with` and without end() it ends with the process: failed by an exception or by sys.exit() of another status than 0, which the tag
    linac.exit_status says, else succeeded. `raise SystemExit(3)` is not heard: that wants the `with`.

        with linac.log("my-run", experiment="calo", parameters={"lr": 1e-3}) as log:
            for step, batch in enumerate(batches):
                log(step, loss=train(batch))
            log.file("model.pt", "models/model.pt")
    """

    def __init__(
        self, name: str, experiment: str, parameters: "Mapping[str, Any]", server: "str | None", token: "str | None", spool: "str | os.PathLike[str] | None", system: bool
    ) -> None:  # fmt: skip
        self.key, self._pid, self._told, self._token = secrets.token_hex(16), os.getpid(), set[str](), token
        self._waiting: "collections.deque[tuple[str, int, int, float]]" = collections.deque()
        self._dropped, self._step, self._begun_s, self._system = 0, 0, time.monotonic(), system
        self._wake, self._ending, self._written, self._sent = threading.Event(), threading.Event(), threading.Event(), threading.Event()
        self._service: "Service | None" = None
        self._sender: "_spool.Sender | None" = None
        self._ended, self._arrived, self._until_s, self._exit_status = False, False, 0.0, 0
        try:
            self._service = Service(server, token, timeout_s=20.0)
        except ServiceError as error:
            self._tell(f"nothing is sent: {error}")
        self.folder = (pathlib.Path(spool) if spool is not None else _spool.folder()) / self.key
        self._about: "dict[str, Any]" = {
            "key": self.key, "name": _spool.name_of(name), "experiment": _spool.name_of(experiment) if experiment else "", "started_ms": int(time.time() * 1000),
            "server": self._service.url if self._service else (server or ""), "source": _spool.text_of(sys.argv[0] or "python"),
            "parameters": {},
        }  # fmt: skip
        self._lock: "_spool.Lock | None" = None
        try:
            (self.folder / "files").mkdir(parents=True, mode=0o700)
            self._lock = _spool.Lock.of(self.folder)
        except OSError as error:
            self._tell(f"nothing is kept: {self.folder} cannot be written ({error.strerror})")
        self.parameters(parameters)
        self._threads = [threading.Thread(target=run, name=f"linac-{run.__name__.strip('_')}", daemon=True) for run in (self._write_on, self._send_on)]
        for thread in self._threads:
            thread.start()
        atexit.register(self._at_exit)
        _exits.watch()

    def __repr__(self) -> str:
        return f"linac.Log({self.run or self.key}): {'ended' if self._ended else 'goes on'}"

    @property
    def run(self) -> str:
        """The id of the run at the service; empty until that knows it."""
        return self._sender.run if self._sender is not None else ""

    @property
    def dropped(self) -> int:
        """Points that were lost, as the disk took none for too long."""
        return self._dropped

    def __call__(self, step: "int | None" = None, **metrics: Any) -> None:
        self.metrics(metrics, step)

    def metrics(self, metrics: "Mapping[str, Any]", step: "int | None" = None) -> None:
        """Numbers, or tensors of one; NaN and infinities are values. step: without, one more than the last."""
        if os.getpid() != self._pid or self._ended:
            return
        _exits.went_on()
        self._step = self._step + 1 if step is None else int(step)
        now = int(time.time() * 1000)
        for name, value in metrics.items():
            try:
                self._put(_spool.name_of(name), self._step, now, _float(value))
            except (TypeError, ValueError, OverflowError, RuntimeError) as error:
                self._tell(f"'{name}' is no number ({error}), and left out")

    def _put(self, name: str, step: int, time_ms: int, value: float) -> None:
        if len(self._waiting) >= _WAITING_MAX:
            self._dropped += 1
            return
        self._waiting.append((name, step, time_ms, value))
        self._wake.set()

    def parameters(self, parameters: "Mapping[str, Any]") -> None:
        """More of them. The first value of a name is the one that stays."""
        if os.getpid() != self._pid or self._ended:
            return
        self._about["parameters"] = {_spool.name_of(key): _spool.text_of(value) for key, value in parameters.items()} | self._about["parameters"]
        try:
            _spool.write(self.folder / "run.json", self._about)
        except OSError as error:
            self._tell(f"parameters are not kept: {self.folder} cannot be written ({error.strerror})")

    def file(self, path: "str | os.PathLike[str]", name: "str | None" = None) -> None:
        """A file for the run's folder, as `name` there. It is copied at once, as the loop may change it."""
        if os.getpid() != self._pid or self._ended:
            return
        target = pathlib.PurePosixPath(name or pathlib.Path(path).name)
        if target.is_absolute() or ".." in target.parts or any(not c.isprintable() or c == "\\" for c in str(target)):
            self._tell(f"{str(target)!r} is no name for a file of a run, and left out")
            return
        place = self.folder / "files" / target
        part = place.with_name(place.name + ".part")
        try:
            if not os.path.isfile(path):
                raise OSError(0, "it is no file")
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, part)
            part.replace(place)
        except OSError as error:
            _remove(part)
            self._tell(f"the file {os.fspath(path)} is left out ({error.strerror or error})")

    def model(self, model: Any, name: "str | None" = None) -> None:
        """A Keras model (models/model.keras), or a module of PyTorch, of which the weights (models/model.pt, a state_dict)."""
        from linac import _model, _torch

        if os.getpid() != self._pid or self._ended:
            return
        file = name or ("models/model.keras" if _model.is_keras(model) else "models/model.pt")
        part = self.folder / f"saving-{secrets.token_hex(4)}{pathlib.PurePosixPath(file).suffix}"
        try:
            if _model.is_keras(model):
                model.save(part)
            elif _torch.is_module(model):
                import torch

                torch.save(model.state_dict(), part)
            else:
                raise refused("log", f"{type(model).__name__} is no model", "save it, and give log.file() the path")
            self.file(part, file)
        except Exception as error:  # of Keras, of PyTorch, of the disk: the loop goes on
            self._tell(f"the model is left out ({error})")
        finally:
            _remove(part)

    def end(self, status: str = "succeeded", wait_s: float = _END_S) -> bool:
        """succeeded, failed or cancelled. Waits so long for the rest to be sent; whether all was. What was not is sent by the next log that finds the
        service, or by linac.send_logs()."""
        if os.getpid() != self._pid:
            return False
        if not self._ended:
            self._ended = True
            atexit.unregister(self._at_exit)
            self._status = {"succeeded": "FINISHED", "failed": "FAILED", "cancelled": "KILLED"}.get(status, "FAILED")
            self._until_s = time.monotonic() + wait_s
            self._ending.set()
            self._wake.set()
            self._written.wait(max(wait_s, 2.0))
            self._sent.wait(wait_s)
            if self._dropped:
                self._tell(f"{self._dropped} points were lost, as {self.folder} could not be written")
        return self._arrived and not self._dropped

    def __enter__(self) -> "Log":
        return self

    def __exit__(self, kind: "type[BaseException] | None", *_: object) -> None:
        self.end("succeeded" if kind is None else "cancelled" if issubclass(kind, KeyboardInterrupt) else "failed")

    def _at_exit(self) -> None:
        self._exit_status = _exits.status()
        self.end("failed" if self._exit_status or hasattr(sys, "last_value") else "succeeded")

    def _tell(self, what: str) -> None:
        if what not in self._told and len(self._told) < 100:
            self._told.add(what)
            _logger.warning("[log] %s", what)

    # --- The thread of the disk ---

    def _write_on(self) -> None:
        meter, next_s = _system.Meter(), time.monotonic() + 1.0
        while not self._ending.is_set():
            self._wake.wait(max(0.05, next_s - time.monotonic()) if self._system else None)
            self._ending.wait(_GATHER_S)
            self._wake.clear()
            if self._system and time.monotonic() >= next_s:
                next_s = time.monotonic() + _SYSTEM_S
                now, second = int(time.time() * 1000), int(time.monotonic() - self._begun_s)
                for name, value in meter.read().items():
                    self._put(name, second, now, value)
            if not self._write_batches() and not self._ending.is_set():
                self._ending.wait(1.0)
                self._wake.set()
        while not self._write_batches() and time.monotonic() < self._until_s:
            time.sleep(0.1)
        try:
            _spool.write(self.folder / "end.json", {"status": self._status, "ended_ms": int(time.time() * 1000), "exit_status": self._exit_status})
        except OSError as error:
            self._tell(f"the end is not kept ({error.strerror})")
        self._dropped += len(self._waiting)
        self._written.set()

    def _write_batches(self) -> bool:
        """What waits, as lines of the spool; False where the disk takes none now."""
        while self._waiting:
            taken = [self._waiting.popleft() for _ in range(min(len(self._waiting), _spool.BATCH_POINTS_MAX))]
            batch: "dict[str, list[Any]]" = {}
            for name, step, time_ms, value in taken:
                if name not in batch and len(batch) == _spool.BATCH_NAMES_MAX:
                    if not self._write_line(batch, taken):
                        return False
                    batch = {}
                batch.setdefault(name, []).append([step, time_ms, number(value)])
            if not self._write_line(batch, taken):
                return False
        return True

    def _write_line(self, batch: "Mapping[str, Any]", taken: "list[tuple[str, int, int, float]]") -> bool:
        import json

        line = (json.dumps(batch) + "\n").encode()
        try:
            with open(self.folder / "points.jsonl", "ab", buffering=0) as file:
                size = os.fstat(file.fileno()).st_size
                if size + len(line) > _SPOOL_BYTES_MAX:
                    raise OSError(0, f"the spool has {_SPOOL_BYTES_MAX >> 30} GiB, and takes no more")
                try:
                    if file.write(line) != len(line):
                        raise OSError(0, "the disk is full")
                except OSError:
                    os.ftruncate(file.fileno(), size)  # half a line would be the beginning of the next
                    raise
            return True
        except OSError as error:
            self._tell(f"{self.folder} takes nothing now ({error.strerror or error})")
            self._waiting.extendleft(reversed(taken))
            return False

    # --- The thread of the network ---

    def _send_on(self) -> None:
        pause, others = _SEND_S[0], True
        if self._service is not None and self._lock is not None:
            self._sender, url = _spool.Sender(self.folder, self._service, self._tell), self._service.url
            while True:
                self._ending.wait(pause)
                if self._ending.is_set():
                    self._written.wait()
                try:
                    if self._sender.send():
                        self._arrived = True
                        break
                    pause = _SEND_S[0]
                    if others:  # it is there: what former processes have left for it goes, too
                        others = False
                        _spool.send_logs(url, self._token, self.folder.parent, lambda about: about.get("server") == url)
                except (ServiceError, OSError, KeyError, ValueError) as error:
                    self._tell(f"{error}; what is logged is kept in {self.folder.parent}, and sent later")
                    pause = min(2 * pause, _SEND_S[1])
                if self._ending.is_set():
                    if time.monotonic() + pause > self._until_s:
                        break
                    time.sleep(pause)
        if self._lock is not None:
            self._lock.release()
        self._sent.set()


def _remove(path: pathlib.Path) -> None:
    with contextlib.suppress(OSError):
        path.unlink()


def _float(value: Any) -> float:
    if isinstance(value, numbers.Real):
        return float(value)
    if hasattr(value, "item"):
        return float(value.item())
    return float(value)


def log(
    name: str = "", *, experiment: str = "", parameters: "Mapping[str, Any] | None" = None, server: "str | None" = None, token: "str | None" = None,
    spool: "str | os.PathLike[str] | None" = None, system: bool = True,
) -> Log:  # fmt: skip
    """Begins a run of a service that this process tells about: metrics, files, its model, how it ended. `server`, `token`: as of linac.Client.
    spool: where what is not sent yet lies; without, $XDG_STATE_HOME/linac/spool. system: also cores and memory of this process and of the host,
    every ten seconds. What former processes have left there for the same service is sent as well."""
    return Log(name or pathlib.Path(sys.argv[0] or "python").stem, experiment, parameters or {}, server, token, spool, system)
