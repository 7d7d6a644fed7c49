"""A model, with losses and metrics of one's own as outputs, as a file of layers of Keras and operations of keras.ops."""

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import keras
import numpy as np
from keras import ops

from linac._keras.graph import TraceError, graph_of, name_of, node_of, unique_names
from linac._keras.rewriting import Rewriting
from linac._keras.trace import Trace

Loss = Callable[..., Any]
Targets = Mapping[str, Sequence[int]]


def save(
    model: Any, path: "str | os.PathLike[str]", loss: "Loss | None" = None, metrics: "Mapping[str, Loss] | None" = None, targets: "Targets | None" = None
) -> None:  # fmt: skip
    """Writes `model` to `path` (NAME.keras) as layers of Keras and operations of keras.ops. The model itself stays as it
    is. A compiled model keeps its loss, metrics and optimizer, but not the optimizer's state. With a `loss`, or one of
    its own that it was compiled with, or layers that call add_loss, the file holds with_losses(...); losses of Keras stay
    those of the model's outputs then, unless `loss` takes their place."""
    loss = loss or _own_loss_of(model)
    functional, added = _trace(model)
    if loss or metrics or added:
        whole = _with_losses(model, functional, added, loss, metrics, targets)
    else:
        whole = _compiled_as(model, functional)
    with unique_names(whole) as functional:
        functional.save(path)


def traced(model: Any) -> Any:
    """The functional model that `save` writes. It shares its weights with `model`, but for those of layers that were
    taken apart, which are copies."""
    functional, added = _trace(model)
    if added:
        raise TraceError("[linac.keras] layers of the model call add_loss: take with_losses() or save()")
    return _compiled_as(model, functional)


def with_losses(model: Any, loss: "Loss | None" = None, metrics: "Mapping[str, Loss] | None" = None, targets: "Targets | None" = None) -> Any:
    """The functional model with losses and metrics as outputs: "loss", and "metric_NAME" for each NAME of `metrics`. The
    targets are inputs, and read the columns of their names.

    loss(y_true, y_pred), or loss(y_pred) where `targets` is {}, and so each metric: of one event each, or the mean over
    the batch as the last thing that is computed. What layers give to add_loss is added to it, and is enough. With several
    outputs y_pred is a dict by their names, with several targets y_true by theirs.
    targets: {column: shape of an event}; without it one for each output, of its shape, called OUTPUT_true."""
    return _with_losses(model, *_trace(model), loss, metrics, targets)


def _compiled_as(model: Any, functional: Any) -> Any:
    if getattr(model, "compiled", False):
        functional.compile_from_config(model.get_compile_config())
    return functional


def _alone(tensors: "Mapping[str, Any]") -> Any:
    return next(iter(tensors.values())) if len(tensors) == 1 else tensors


def _with_losses(
    model: Any, functional: Any, added: "list[Any]", loss: "Loss | None", metrics: "Mapping[str, Loss] | None", targets: "Targets | None"
) -> Any:  # fmt: skip
    outputs = dict(zip(functional.output_names, functional.outputs, strict=True))
    if targets is None:
        targets = {f"{name}_true": tensor.shape[1:] for name, tensor in outputs.items()} if loss or metrics else {}
    wanted = {name: keras.Input(tuple(shape), name=name) for name, shape in targets.items()}
    given = ([_alone(wanted)] if wanted else []) + [_alone(outputs)]
    trace = Trace()
    with trace.taking_calls():
        values = {f"metric_{name}": _of_events(name, function(*given)) for name, function in (metrics or {}).items()}
        parts = ([loss(*given)] if loss else []) + added
        kept = {} if loss else _compiled_by_output(model, outputs)
        if not parts and not kept.get("loss"):
            raise TraceError("[linac.keras] no loss: give `loss`, a function of y_true and y_pred that computes with keras.ops")
        if parts:
            total = _of_events("loss", parts[0])
            for part in parts[1:]:
                total = ops.add(total, _of_events("add_loss", part))
            values["loss"] = total
        values = {name: keras.layers.Activation("linear", name=name)(value) for name, value in values.items()}
    inputs = [*functional.inputs, *wanted.values()]
    rewritten = Rewriting(trace, inputs).run([*functional.outputs, *values.values()])
    with unique_names(rewritten):
        whole = keras.Model(inputs, rewritten, name=functional.name)
    if getattr(model, "compiled", False):
        whole.compile(optimizer=keras.optimizers.deserialize(model.get_compile_config()["optimizer"]), **kept)
    return whole


def _compiled_by_output(model: Any, outputs: "Mapping[str, Any]") -> "dict[str, dict[str, Any]]":
    """Keras's losses, their weights and metrics that the model was compiled with, by output; nothing without losses."""
    config = keras.saving.deserialize_keras_object(model.get_compile_config()) if getattr(model, "compiled", False) else {}
    if not config.get("loss"):
        return {}
    kept: "dict[str, dict[str, Any]]" = {}
    for key in ("loss", "loss_weights", "metrics", "weighted_metrics"):
        value = config.get(key)
        if not value:
            continue
        if len(outputs) > 1 and isinstance(value, (list, tuple)):
            value = dict(zip(outputs, value, strict=True))
        elif not isinstance(value, dict):
            value = dict.fromkeys(outputs, value)
        kept[key] = {name: one for name, one in value.items() if one is not None}
    return kept


def _of_events(name: str, value: Any) -> Any:
    """(N, 1) of a loss or a metric. A mean over all events, and sums and multiples of such, are no output; what they are
    the means of is."""
    if not keras.utils.is_keras_tensor(value):
        raise TraceError(f"[linac.keras] {name}: does not come from the model or the targets by keras.ops")
    if len(value.shape) == 0:
        return _before_mean(name, value)
    if value.shape[0] is not None:
        raise TraceError(f"[linac.keras] {name}: has shape {value.shape}, without the axis of the events in front")
    if len(value.shape) > 1:
        value = ops.mean(value, axis=list(range(1, len(value.shape))))
    return ops.expand_dims(value, -1)


def _before_mean(name: str, value: Any) -> Any:
    node = node_of(value)
    kind, args = type(node.operation).__name__, node.arguments.args
    is_number = [not keras.utils.is_keras_tensor(x) and np.ndim(x) == 0 for x in args]
    if kind == "Mean":
        over = node.operation.axis
        if over is None or sorted(np.atleast_1d(over)) == list(range(len(args[0].shape))):
            return _of_events(name, args[0])
    by_number = {"Multiply": any(is_number), "Divide": is_number[-1], "TrueDivide": is_number[-1]}  # what leaves a mean one
    if kind in ("Negative", "Add", "Subtract") or by_number.get(kind, False):
        return node.operation(*(x if number else _before_mean(name, x) for x, number in zip(args, is_number, strict=True)))
    raise TraceError(
        f"[linac.keras] {name}: is one number for all events, and not their mean, because of ops.{kind}; end with ops.mean(...), "
        "or keep the axis of the events"
    )


def _own_loss_of(model: Any) -> "Loss | None":
    """The loss that a model of one output was compiled with, if it is no class or function of Keras."""
    config = getattr(model, "_compile_config", None)
    loss = config.config.get("loss") if config is not None else None
    is_own = callable(loss) and not getattr(loss, "__module__", type(loss).__module__).startswith("keras")
    is_own = is_own and not type(loss).__module__.startswith("keras")
    return loss if is_own else None


def _trace(model: Any) -> "tuple[Any, list[Any]]":
    """The model as a functional one that is not compiled, and what its layers gave to add_loss, as tensors of it."""
    if graph_of(model) is None:
        raise TraceError(
            f"[linac.keras] '{model.name}' ({type(model).__name__}) is not a functional model, or not built; make it one: "
            "x = keras.Input(shape); model = keras.Model(x, model(x))"
        )
    trace = Trace()
    inputs = [keras.Input(batch_shape=x.shape, dtype=x.dtype, name=name_of(x)) for x in model.inputs]
    with trace.taking_calls():
        outputs = keras.tree.flatten(trace.run_graph(model, inputs))
    rewritten = Rewriting(trace, inputs).run([*outputs, *trace.added])
    outputs, added = rewritten[: len(outputs)], rewritten[len(outputs) :]
    # The constructor asks for unique names, and so does the file.
    with unique_names(rewritten):
        functional = keras.Model(inputs, outputs if len(outputs) > 1 else outputs[0], name=model.name)
    return functional, added
