"""Lightning's logger for who keeps its Trainer: lightning.Trainer(logger=linac.lightning.Logger("jets", experiment="calo"))."""

from collections.abc import Mapping
from typing import Any

from linac import _log
from linac._columns import refused

try:
    from lightning.pytorch.loggers import Logger as _Base
    from lightning.pytorch.utilities import rank_zero_only
except ImportError:
    try:
        from pytorch_lightning.loggers import Logger as _Base
        from pytorch_lightning.utilities import rank_zero_only
    except ImportError as error:
        raise refused("linac", f"Lightning cannot be imported ({error})", "pip install lightning", 4) from error


class Logger(_Base):  # type: ignore[misc]
    """Metrics by their names and steps, hyper-parameters, system figures, and the best and last checkpoint as checkpoints/NAME. All else as
    linac.log(), which never slows or ends the training. With several processes the first one logs. The run begins with the first word on it."""

    def __init__(self, name: str = "lightning", *, save_checkpoints: bool = True, **words: Any) -> None:
        super().__init__()
        self._name, self._words, self._save_checkpoints = name, words, save_checkpoints
        self._log: "_log.Log | None" = None
        self._checkpoint: Any = None

    @property
    def name(self) -> str:
        return self._name

    @property
    def version(self) -> str:
        return self._log.key if self._log is not None else ""

    @property
    def experiment(self) -> "_log.Log":
        """What is logged; it begins the run."""
        if self._log is None:
            self._log = _log.log(self._name, **self._words)
        return self._log

    @rank_zero_only  # type: ignore[untyped-decorator]
    def log_hyperparams(self, params: Any, *_: Any, **__: Any) -> None:
        """A dict, or a namespace."""
        self.experiment.parameters(params if isinstance(params, Mapping) else vars(params))

    @rank_zero_only  # type: ignore[untyped-decorator]
    def log_metrics(self, metrics: "Mapping[str, float]", step: "int | None" = None) -> None:
        self.experiment.metrics(metrics, step)

    def after_save_checkpoint(self, checkpoint_callback: Any) -> None:
        self._checkpoint = checkpoint_callback

    @rank_zero_only  # type: ignore[untyped-decorator]
    def finalize(self, status: str) -> None:
        """Lightning says success, failed, finished or interrupted; a run that nobody logged is none."""
        if self._log is None:
            return
        for path in dict.fromkeys((getattr(self._checkpoint, "best_model_path", ""), getattr(self._checkpoint, "last_model_path", ""))):
            if path and self._save_checkpoints:
                self._log.file(path, "checkpoints/" + path.replace("\\", "/").rpartition("/")[2])
        self._log.end({"success": "succeeded", "finished": "succeeded", "interrupted": "cancelled"}.get(status, "failed"))
