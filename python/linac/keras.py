"""linac_keras as a part of this package: models with layers and losses of one's own, saved so that linac can train them. And Logger, a callback for
who keeps model.fit()."""

from linac._keras_logger import Logger
from linac_keras import TracedWeight, TraceError, save, traced, with_losses

__all__ = ["Logger", "TraceError", "TracedWeight", "save", "traced", "with_losses"]
