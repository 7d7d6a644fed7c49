"""A model run on symbolic tensors, layers that are not Keras's by their own code."""

import contextlib
import inspect
from collections.abc import Iterator, Sequence
from typing import Any

import keras

from linac._keras.graph import TraceError, calls_before, described, graph_of, holds_own, is_own, is_symbolic, mask_of, takes

_KERAS_ATTRIBUTES = set(vars(keras.layers.Layer()))


class _StandIn(keras.KerasTensor):  # type: ignore[misc]
    """Stands for a weight, and takes w[1:] as weights do."""

    def __getitem__(self, key: Any) -> Any:
        return super().__getitem__((key,) if isinstance(key, slice) else key)


class Trace:
    """Runs a model on symbolic tensors, and layers that are not Keras's by their own code."""

    def __init__(self) -> None:
        self.variables: "dict[int, Any]" = {}  # by the id of the tensor that stands for it
        self.stand_ins: "dict[int, _StandIn]" = {}  # by the id of the variable
        self.owners: "dict[int, Any]" = {}  # the layer, by the id of an operation that its code called
        self.named: "dict[int, Any]" = {}  # operations, by their id
        self.taken: "list[Any]" = []  # the layers whose code runs, and None where that calls a layer of Keras
        self.added: "list[Any]" = []  # what they gave to add_loss

    @contextlib.contextmanager
    def taking_calls(self) -> "Iterator[None]":
        """Calls of layers on symbolic tensors come by here."""
        plain_layer, plain_operation = keras.layers.Layer.__call__, keras.Operation.__call__
        plain_seed = keras.random.SeedGenerator.next

        def call_layer(layer: Any, *args: Any, **kwargs: Any) -> Any:
            if not is_symbolic(args, kwargs) or isinstance(layer, keras.layers.InputLayer):
                return plain_layer(layer, *args, **kwargs)
            if is_own(layer):
                return self.take_apart(layer, args, kwargs)
            if not holds_own(layer):
                with self.running(None):
                    return plain_layer(layer, *args, **kwargs)
            if graph_of(layer) is None:
                raise TraceError(
                    f"[linac.keras] layer {described(layer)} runs a layer inside that is not Keras's; "
                    "call that layer by itself"
                )
            return self.run_graph(layer, args[0])

        def call_operation(operation: Any, *args: Any, **kwargs: Any) -> Any:
            is_layer = isinstance(operation, keras.layers.Layer)
            if is_layer or not is_own(operation) or not is_symbolic(args, kwargs):
                return plain_operation(operation, *args, **kwargs)
            return self.take_apart(operation, args, kwargs)

        def draw(generator: Any, *args: Any, **kwargs: Any) -> Any:
            if self.taken and self.taken[-1] is not None:
                raise TraceError(
                    f"[linac.keras] layer {described(self.taken[-1])} draws random numbers, which would be the same for ever; "
                    "use a layer of Keras inside, such as GaussianNoise or Dropout"
                )
            return plain_seed(generator, *args, **kwargs)

        keras.layers.Layer.__call__, keras.Operation.__call__ = call_layer, call_operation
        keras.random.SeedGenerator.next = draw
        try:
            yield
        finally:
            keras.layers.Layer.__call__, keras.Operation.__call__ = plain_layer, plain_operation
            keras.random.SeedGenerator.next = plain_seed

    @contextlib.contextmanager
    def running(self, layer: Any) -> "Iterator[None]":
        self.taken.append(layer)
        try:
            yield
        finally:
            self.taken.pop()

    def run_graph(self, model: Any, inputs: Any) -> Any:
        return graph_of(model)._run_through_graph(keras.tree.flatten(inputs))

    def take_apart(self, layer: Any, args: "tuple[Any, ...]", kwargs: "dict[str, Any]") -> Any:
        given = [x for x in keras.tree.flatten((args, kwargs)) if keras.utils.is_keras_tensor(x)]
        mask = mask_of(given[0])
        if getattr(layer, "activity_regularizer", None) is not None:
            raise TraceError(f"[linac.keras] layer {described(layer)}: put its activity_regularizer on a layer of Keras")
        with self.standing_in(layer), self.adding_losses(layer) as added, self.running(layer):
            outputs = self.called(layer, args, dict(kwargs), mask)
            self.added += added
            again = self.called(layer, args, {**kwargs, "training": True}, mask) if takes(layer, "training") else outputs
        found = [x for x in keras.tree.flatten(outputs) if keras.utils.is_keras_tensor(x)]
        calls = calls_before(found, given)
        if not found or len(found) != len(keras.tree.flatten(outputs)) or not calls and found != given:
            raise TraceError(
                f"[linac.keras] layer {described(layer)}: what it returns does not come from its input by keras.ops"
            )
        other = calls_before(keras.tree.flatten(again), given)
        if [type(call.operation) for call in calls] != [type(call.operation) for call in other]:
            raise TraceError(
                f"[linac.keras] layer {described(layer)} computes something else in training; only layers of Keras "
                "(Dropout, BatchNormalization ...) may differ there"
            )
        self.check_weights(layer, calls)
        for call in calls:
            self.owners.setdefault(id(call.operation), layer)
            self.name_by(layer, call.operation, is_last=len(found) == 1 and call is calls[-1])
        if mask is not None and getattr(layer, "supports_masking", False):
            found[0]._keras_mask = layer.compute_mask(given[0], mask)
        return outputs

    def name_by(self, layer: Any, operation: Any, is_last: bool) -> None:
        """What the layer's code has just made is called by the layer; its result as the layer, which outputs are known by."""
        is_new = len(operation._inbound_nodes) == 1 and id(operation) not in self.named
        if is_new and not isinstance(operation, keras.layers.Layer):
            operation.name = layer.name if is_last else f"{layer.name}_{operation.name}"
            self.named[id(operation)] = operation

    def called(self, layer: Any, args: "tuple[Any, ...]", kwargs: "dict[str, Any]", mask: Any) -> Any:
        function, where = layer.call, f"layer {described(layer)}"
        if isinstance(layer, keras.layers.Lambda):
            function, kwargs = layer.function, {**layer.arguments, **kwargs}
            where += f", function {getattr(function, '__name__', function)}"
        names = inspect.signature(function).parameters
        if "training" in names:
            kwargs.setdefault("training", None)
        else:
            kwargs.pop("training", None)
        if "mask" in names and kwargs.get("mask") is None:
            kwargs["mask"] = mask
        elif "mask" not in names and kwargs.get("mask") is None:
            kwargs.pop("mask", None)
        try:
            return function(*args, **kwargs)
        except TraceError:
            raise
        except Exception as error:
            raise TraceError(
                f"[linac.keras] {where} cannot be written as operations of keras.ops: {_where(error, function)}"
                f"{type(error).__name__}: {str(error).strip()[:400]}. Use keras.ops on the tensors, ops.where in place of if, "
                "and sizes that are known"
            ) from error

    @contextlib.contextmanager
    def standing_in(self, layer: Any) -> "Iterator[None]":
        """The layer's variables are symbolic tensors for the while."""
        own = vars(layer)
        before = {
            key: value for key, value in own.items()
            if key not in _KERAS_ATTRIBUTES and _holds_variable(value)
        }  # fmt: skip
        own.update({key: self.in_place_of(value) for key, value in before.items()})
        try:
            yield
        finally:
            own.update(before)

    @contextlib.contextmanager
    def adding_losses(self, layer: Any) -> "Iterator[list[Any]]":
        """A list of what the layer's code gives to add_loss."""
        added: "list[Any]" = []
        vars(layer)["add_loss"] = lambda losses: added.extend(keras.tree.flatten(losses))
        try:
            yield added
        finally:
            del vars(layer)["add_loss"]

    def in_place_of(self, value: Any) -> Any:
        if isinstance(value, keras.Variable):
            return self.stand_in(value)
        if isinstance(value, dict):
            return {key: self.in_place_of(item) for key, item in value.items()}
        if isinstance(value, (list, tuple)):
            return [self.in_place_of(item) for item in value]
        return value

    def stand_in(self, variable: Any) -> "_StandIn":
        if id(variable) not in self.stand_ins:
            tensor = _StandIn(shape=tuple(variable.shape), dtype=variable.dtype, name=variable.name)
            self.stand_ins[id(variable)] = tensor
            self.variables[id(tensor)] = variable
        return self.stand_ins[id(variable)]

    def check_weights(self, layer: Any, calls: "Sequence[Any]") -> None:
        """A weight that was read in another way would stay as it is, without a word."""
        if not isinstance(layer, keras.layers.Layer):
            return
        read = {id(x) for call in calls for x in keras.tree.flatten((call.arguments.args, call.arguments.kwargs))}
        read |= {id(variable) for key, variable in self.variables.items() if key in read}
        read |= {id(weight) for call in calls for weight in getattr(call.operation, "weights", [])}
        for weight in layer.trainable_weights:
            if id(weight) not in read:
                raise TraceError(
                    f"[linac.keras] layer {described(layer)}: its weight '{weight.name}' does not reach the output by "
                    "keras.ops; keep it in an attribute of the layer and use keras.ops, or remove it"
                )


def _holds_variable(value: Any) -> bool:
    if isinstance(value, dict):
        return any(map(_holds_variable, value.values()))
    return any(map(_holds_variable, value)) if isinstance(value, (list, tuple)) else isinstance(value, keras.Variable)


def _where(error: BaseException, function: Any) -> str:
    """The line of the user's function at which it went wrong."""
    code, trace, found = getattr(inspect.unwrap(function), "__code__", None), error.__traceback__, ""
    while trace is not None:
        if code is not None and trace.tb_frame.f_code.co_filename == code.co_filename:
            found = f"{trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}: "
        trace = trace.tb_next
    return found
