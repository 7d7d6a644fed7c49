"""linac.keras by its former name, which model files have: Keras imports it to load a TracedWeight."""

from linac.keras import TracedWeight, TraceError, save, traced, with_losses

__all__ = ["TraceError", "TracedWeight", "save", "traced", "with_losses"]
