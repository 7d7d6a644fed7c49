"""Keras models with Lambda layers, layers and losses of one's own, saved so that linac can train them; and Logger, a callback for who keeps model.fit().

    import linac.keras
    linac.keras.save(model, "model.keras")

linac runs no Python. `save` calls each Lambda, and each layer, model or operation of a class that is not Keras's, on symbolic tensors, and writes
down which layers of Keras and which operations of keras.ops it consists of: an ordinary functional model. A weight of such a layer becomes a layer
TracedWeight. To load the file in Keras, before or after linac has trained it, import this module first, which makes TracedWeight known:

    import linac.keras
    model = keras.models.load_model("model.keras")

A loss of one's own becomes an output of the model, as its metrics do, and the targets inputs. The job says `train.fit.loss: output`; the model that
linac writes is without them again:

    def likelihood(y_true, y_pred):
        mean, log_variance = y_pred[:, :1], y_pred[:, 1:]
        return ops.mean(0.5 * (log_variance + ops.square(y_true - mean) * ops.exp(-log_variance)))

    linac.keras.save(model, "model.keras", loss=likelihood, targets={"true_energy": (1,)})

What depends on values at the time of the call, or is computed by anything but keras.ops, cannot be written down: a TraceError with the name of the
layer and of the function. Needs Keras 3 and NumPy."""

from linac._keras.graph import TraceError
from linac._keras.save import save, traced, with_losses
from linac._keras.weight import TracedWeight
from linac._keras_logger import Logger

__all__ = ["Logger", "TraceError", "TracedWeight", "save", "traced", "with_losses"]
