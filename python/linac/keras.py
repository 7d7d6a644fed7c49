"""linac_keras as a part of this package: models with layers and losses of one's own, saved so that linac can train them."""

from linac_keras import TracedWeight, TraceError, save, traced, with_losses

__all__ = ["TraceError", "TracedWeight", "save", "traced", "with_losses"]
