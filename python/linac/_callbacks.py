"""Keras's callbacks as settings of a job. What the program does in any case needs none; what runs Python code has no setting."""

from collections.abc import Iterable
from typing import Any

from linac._columns import refused

# These the program does always (docs/start/from-keras.md).
_ALWAYS = {"TerminateOnNaN", "TensorBoard", "CSVLogger", "ProgbarLogger", "History", "BackupAndRestore"}


def settings_of(callbacks: "Iterable[Any]") -> dict[str, Any]:
    settings: dict[str, Any] = {}
    for callback in callbacks:
        name = type(callback).__name__
        if not type(callback).__module__.startswith("keras."):
            raise refused("fit", f"the callback {name} is Python code of your own, and the training runs none", "leave it out; run.watch() shows how far it is")
        if name == "EarlyStopping":
            settings["train.early_stopping"] = _watched(callback) | {
                "patience": callback.patience, "start_from_epoch": callback.start_from_epoch, "restore_best": bool(callback.restore_best_weights),
                **({} if callback.baseline is None else {"baseline": callback.baseline}),
            }  # fmt: skip
        elif name == "ReduceLROnPlateau":
            settings["train.schedule.plateau"] = _watched(callback) | {"patience": callback.patience, "factor": callback.factor, "cooldown": callback.cooldown}
            if callback.min_lr > 0:
                raise refused("fit", f"ReduceLROnPlateau: min_lr = {callback.min_lr}", "say it as settings={'train.schedule.plateau.factor_min': SHARE}")
        elif name == "ModelCheckpoint":
            if callback.save_best_only:
                settings["checkpoint.best_by"] = measure(callback.monitor)
        elif name not in _ALWAYS:
            raise refused("fit", f"the callback {name} has no setting", "see docs/start/from-keras.md, \"Callbacks\"")
    return settings


def measure(monitor: str) -> str:
    """Keras's word for a measure of the validation."""
    if not monitor.startswith("val_"):
        raise refused("fit", f"the callback watches '{monitor}', of the training", f"let it watch 'val_{monitor}'")
    return monitor.removeprefix("val_")


def _watched(callback: Any) -> dict[str, Any]:
    mode = getattr(callback, "mode", "auto")
    return {"monitor": measure(callback.monitor), "mode": mode, "min_delta": abs(float(callback.min_delta))}
