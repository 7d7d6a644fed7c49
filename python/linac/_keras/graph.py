"""What Keras knows of a symbolic tensor: the call that made it, its mask, and all calls that lead to it."""

import contextlib
import inspect
from collections.abc import Iterator, Sequence
from typing import Any

import keras

from linac._keras.weight import TracedWeight


class TraceError(ValueError):
    """What cannot be written as layers of Keras and operations of keras.ops."""


def name_of(tensor: Any) -> str:
    return str(tensor._keras_history.operation.name)


def graph_of(model: Any) -> Any:
    """What runs a functional or Sequential model by its graph; None for others."""
    graph = getattr(model, "_functional", None) or model
    return graph if hasattr(graph, "_run_through_graph") and getattr(graph, "outputs", None) else None


def described(operation: Any) -> str:
    return f"'{operation.name}' ({type(operation).__name__})"


def is_own(operation: Any) -> bool:
    """Whether its code is not Keras's."""
    if isinstance(operation, (keras.layers.Lambda, TracedWeight)):
        return not isinstance(operation, TracedWeight)
    return type(operation).__module__.split(".")[0] != "keras"


def holds_own(layer: Any) -> bool:
    return any(is_own(inner) for inner in layer._flatten_layers(include_self=False))


def node_of(tensor: Any) -> Any:
    """The call that made a symbolic tensor; None for one that stands for a weight."""
    history = getattr(tensor, "_keras_history", None)
    return history.operation._inbound_nodes[history.node_index] if history and history.operation else None


def mask_of(tensor: Any) -> Any:
    return getattr(tensor, "_keras_mask", None)


def calls_before(tensors: "Sequence[Any]", end: "Sequence[Any]" = ()) -> "list[Any]":
    """The calls that lead to the tensors, what is read first; masks are read too. Not beyond the tensors of `end`."""
    ended, done, order = {id(tensor) for tensor in end}, set(), []
    stack = [(node_of(tensor), False) for tensor in reversed(tensors) if id(tensor) not in ended]
    while stack:
        node, is_ready = stack.pop()
        if node is None or (id(node) in done and not is_ready):
            continue
        if is_ready:
            order.append(node)
            continue
        done.add(id(node))
        stack.append((node, True))
        read = [*node.input_tensors, *filter(keras.utils.is_keras_tensor, map(mask_of, node.input_tensors))]
        stack.extend((node_of(tensor), False) for tensor in reversed(read) if id(tensor) not in ended)
    return order


@contextlib.contextmanager
def unique_names(model_or_outputs: Any) -> "Iterator[Any]":
    """Operations of the same name are called otherwise for the while."""
    if isinstance(model_or_outputs, list):
        found = [node.operation for node in calls_before(model_or_outputs)]
    else:
        found = model_or_outputs.operations
    taken, before = set(), []
    for operation in {id(operation): operation for operation in found}.values():
        name, count = operation.name, 0
        while name in taken:
            count += 1
            name = f"{operation.name}_{count}"
        taken.add(name)
        if name != operation.name:
            before.append((operation, operation.name))
            operation.name = name
    try:
        yield model_or_outputs
    finally:
        for operation, name in before:
            operation.name = name


def takes(layer: Any, argument: str) -> bool:
    function = layer.function if isinstance(layer, keras.layers.Lambda) else layer.call
    return argument in inspect.signature(function).parameters


def is_symbolic(args: Any, kwargs: Any) -> bool:
    return any(keras.utils.is_keras_tensor(x) for x in keras.tree.flatten((args, kwargs)))
