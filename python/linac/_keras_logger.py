"""Keras's callback for who keeps model.fit(): a run of a service that is logged."""

from typing import Any

import keras

from linac import _log


class Logger(keras.callbacks.Callback):  # type: ignore[misc]
    """model.fit(x, y, callbacks=[linac.keras.Logger("jets", experiment="calo")]): loss and metrics of each epoch under the names of linac's own runs
    (`loss`, `test/loss`), the learning rate, system figures, and at the end the model as models/model.keras. every_steps: also loss and metrics so
    far in the epoch, as `step/loss`, so often. All else as linac.log(), which never slows or ends the training."""

    def __init__(self, name: str = "", *, every_steps: int = 0, save_model: bool = True, **words: Any) -> None:
        super().__init__()
        self._words, self._every_steps, self._save_model = {"name": name} | words, every_steps, save_model
        self._steps = 0
        self.log: "_log.Log | None" = None

    def on_train_begin(self, logs: Any = None) -> None:
        parameters = {name: value for name, value in (self.params or {}).items() if name != "verbose" and value is not None}
        optimizer = getattr(self.model, "optimizer", None)
        if optimizer is not None:
            settings = optimizer.get_config()
            parameters |= {f"optimizer.{name}": value for name, value in settings.items() if isinstance(value, (bool, int, float, str))}
        parameters["weights"] = self.model.count_params() if self.model.built else 0
        given = self._words.get("parameters") or {}
        self.log = _log.log(**{**self._words, "name": self._words["name"] or self.model.name, "parameters": parameters | given})
        self._steps = 0

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        self._steps += 1
        if self.log is not None and self._every_steps and self._steps % self._every_steps == 0:
            self.log.metrics({f"step/{name}": value for name, value in (logs or {}).items()}, self._steps)

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        if self.log is None:
            return
        told = {f"test/{name.removeprefix('val_')}" if name.startswith("val_") else name: value for name, value in (logs or {}).items()}
        optimizer = getattr(self.model, "optimizer", None)
        if optimizer is not None and "learning_rate" not in told:
            told["learning_rate"] = float(keras.ops.convert_to_numpy(optimizer.learning_rate))
        self.log.metrics(told, epoch + 1)

    def on_train_end(self, logs: Any = None) -> None:
        if self.log is not None:
            if self._save_model:
                self.log.model(self.model)
            self.log.end()
