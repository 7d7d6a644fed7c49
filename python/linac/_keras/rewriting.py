"""What was called on symbolic tensors, called again with weights as layers."""

import numbers
from collections.abc import Sequence
from typing import Any, NoReturn

import keras
import numpy as np
from keras import ops

from linac._keras.graph import TraceError, calls_before, described, mask_of, takes
from linac._keras.trace import Trace
from linac._keras.weight import TracedWeight

# Operations of keras.ops whose tensors go together element by element, with numpy's broadcasting.
_ELEMENTWISE = set(
    "Add Subtract Multiply Divide TrueDivide Power Maximum Minimum NotEqual Equal Greater GreaterEqual Less LessEqual "
    "LogicalAnd LogicalOr Arctan2 Mod Where".split()
)
_REDUCTIONS = set("Sum Mean Max Min Prod Any All Var Std Norm".split())


class Rewriting:
    """Calls again what was called, with weights as layers. A weight has no batch axis where a layer uses it, and one of one
    event where linac has it: `lone` tensors are those with that axis in front."""

    def __init__(self, trace: Trace, inputs: "Sequence[Any]") -> None:
        self.trace, self.anchor = trace, inputs[0]
        self.tensors = {id(x): x for x in inputs}  # new, by the id of the old
        self.lone: "set[int]" = set()  # ids of old tensors
        self.weights: "dict[int, Any]" = {}  # layers, by the id of the variable
        self.kept: "list[Any]" = []  # constants, whose ids must not be used again

    def run(self, outputs: "Sequence[Any]") -> "list[Any]":
        for node in calls_before(outputs):
            if not node.is_input:
                self.call_again(node)
        for x in outputs:
            if id(x) in self.lone or id(x) not in self.tensors:
                raise TraceError("[linac.keras] an output of the model is a weight, the same for all events")
        return [self.tensors[id(x)] for x in outputs]

    def call_again(self, node: Any) -> None:
        operation, args, kwargs = node.operation, node.arguments.args, node.arguments.kwargs
        lone = [x for x in keras.tree.flatten((args, kwargs)) if self.is_lone(x)]
        try:
            if isinstance(operation, keras.layers.Layer):
                outputs = self.call_layer(operation, args, kwargs, lone)
            elif lone:
                outputs = self.call_with_weights(node, operation, args, kwargs)
            else:
                outputs = self.call_operation(node, operation, args, kwargs)
        except TraceError:
            raise
        except Exception as error:
            self.refuse(operation, f"{type(error).__name__}: {str(error).strip()[:400]}")
        for old, new in zip(node.outputs, keras.tree.flatten(outputs), strict=True):
            self.tensors[id(old)] = new
            if not isinstance(new._keras_history.operation, keras.layers.Layer):
                new._keras_history.operation.name = operation.name  # another one took its place

    def refuse(self, operation: Any, why: str) -> NoReturn:
        owner = self.trace.owners.get(id(operation))
        where = f"layer {described(owner)}, " if owner is not None else ""
        raise TraceError(f"[linac.keras] {where}operation {type(operation).__name__}: {why}")

    def is_lone(self, x: Any) -> bool:
        is_constant = isinstance(x, (np.ndarray, keras.Variable)) or (ops.is_tensor(x) and not keras.utils.is_keras_tensor(x))
        return id(x) in self.lone or id(x) in self.trace.variables or (is_constant and len(x.shape) > 0)

    def new(self, x: Any) -> Any:
        """A tensor that stands for an old one, or a number."""
        if keras.utils.is_keras_tensor(x):
            return self.weight(self.trace.variables[id(x)]) if id(x) in self.trace.variables else self.tensors[id(x)]
        if isinstance(x, keras.Variable):
            return self.weight(x)
        if isinstance(x, (np.ndarray, np.generic)) or ops.is_tensor(x):
            value = np.asarray(ops.convert_to_numpy(x) if ops.is_tensor(x) else x)
            return self.constant(x, value) if value.ndim else value.item()
        return x

    def weight(self, variable: Any) -> Any:
        return self.layer_of(
            variable, ops.convert_to_numpy(variable), variable.name, variable.trainable,
            value_regularizer=variable.regularizer, value_constraint=variable.constraint,
        )  # fmt: skip

    def constant(self, x: Any, value: Any) -> Any:
        self.kept.append(x)
        return self.layer_of(x, value, "constant", False)

    def layer_of(self, key: Any, value: Any, name: str, trainable: bool, **settings: Any) -> Any:
        if id(key) not in self.weights:
            shape = value.shape or (1,)
            layer = TracedWeight(shape, name=name, trainable=trainable, **settings)
            self.weights[id(key)] = layer(self.anchor)
            layer.set_weights([value.astype("float32").reshape(shape)])
        return self.weights[id(key)]

    def filled(self, arguments: Any) -> Any:
        return keras.tree.map_structure(self.new, arguments)

    def call_layer(self, layer: Any, args: Any, kwargs: Any, lone: "list[Any]") -> Any:
        if lone:
            self.refuse(layer, f"the layer '{layer.name}' is called with a weight or a constant; use keras.ops on it")
        args, given, kwargs = self.filled(args), keras.tree.flatten(args), self.filled(kwargs)
        mask = mask_of(given[0]) if given and keras.utils.is_keras_tensor(given[0]) else None
        # A mask that went through operations is not found by itself when the file is read.
        if mask is not None and mask_of(self.tensors[id(given[0])]) is None and takes(layer, "mask"):
            kwargs.setdefault("mask", self.tensors[id(mask)])
        return layer(*args, **kwargs)

    def call_operation(self, node: Any, operation: Any, args: Any, kwargs: Any) -> Any:
        if type(operation).__name__ == "GetItem":
            key = args[1] if len(args) > 1 else kwargs["key"]
            return operation(self.new(args[0]), key)
        if type(operation).__name__ == "Reshape":
            sizes = node.outputs[0].shape
            if sizes and None not in sizes[1:]:
                return ops.reshape(self.new(args[0]), (-1, *sizes[1:]))
        if type(operation).__name__ in _ELEMENTWISE:
            args = [np.asarray(x) if isinstance(x, (list, tuple)) else x for x in args]
            if any(map(self.is_lone, args)):
                return self.elementwise(operation, args)
        return operation(*self.filled(args), **self.filled(kwargs))

    def call_with_weights(self, node: Any, operation: Any, args: Any, kwargs: Any) -> Any:
        name = type(operation).__name__
        tensors = [x for x in keras.tree.flatten((args, kwargs)) if self.is_lone(x) or keras.utils.is_keras_tensor(x)]
        all_lone = all(map(self.is_lone, tensors))
        if name in _ELEMENTWISE:
            result = self.elementwise(operation, [*args, *kwargs.values()])
        elif name in ("Matmul", "Dot"):
            result = self.matmul(operation, *args, *kwargs.values())
        elif name == "Tensordot" and operation.axes in (1, [-1, 0], (-1, 0), [[-1], [0]], ((-1,), (0,))):
            result = self.matmul(operation, *args, *kwargs.values())
        elif name == "Einsum":
            result = self.einsum(operation, args, kwargs, all_lone)
        elif all_lone:
            result = self.of_weights(node, operation, args, kwargs)
        else:
            self.refuse(operation, "takes weights (or constants) or events, not both; add them, or multiply with them")
        if all_lone:
            self.lone.update(id(x) for x in node.outputs)
            if len(node.outputs[0].shape) == 0 and len(result.shape) == 1:
                result = ops.expand_dims(result, 1)  # a number is a list of one
        return result

    def fit(self, operation: Any, x: Any, rank: int) -> Any:
        """A weight with as many axes as what it meets, the batch axis counted."""
        if not keras.utils.is_keras_tensor(x):
            return x
        while len(x.shape) < rank:
            x = ops.expand_dims(x, 1)
        if len(x.shape) == rank + 1 and x.shape[1] == 1:
            x = ops.squeeze(x, 1)
        if len(x.shape) != rank:
            self.refuse(operation, f"a weight of shape {tuple(x.shape[1:])} does not fit {rank - 1} axes of an event")
        return x

    def elementwise(self, operation: Any, args: "Sequence[Any]") -> Any:
        events = [x for x in args if keras.utils.is_keras_tensor(x) and not self.is_lone(x)]
        new = [self.new(x) for x in args]
        if events:
            rank = max(len(x.shape) for x in events)
        else:
            rank = max(len(x.shape) for x in new if keras.utils.is_keras_tensor(x))
        return operation(*[self.fit(operation, y, rank) if self.is_lone(x) else y for x, y in zip(args, new)])

    def matmul(self, operation: Any, a: Any, b: Any) -> Any:
        x, y = self.new(a), self.new(b)
        if self.is_lone(a) and self.is_lone(b):
            rank = max(len(x.shape), len(y.shape))
            if len(a.shape) < 2 or len(b.shape) < 2:
                self.refuse(operation, "multiplies weights of one axis; use ops.sum(a * b, axis=-1)")
            return ops.matmul(self.fit(operation, x, rank), self.fit(operation, y, rank))
        rank = len((b if self.is_lone(a) else a).shape)
        if self.is_lone(a):
            if len(a.shape) < 2 or rank < 3:
                self.refuse(operation, "a weight on the left needs two axes, and an event behind it two as well")
            return ops.matmul(self.fit(operation, x, rank), y)
        if len(b.shape) == 1:
            return ops.sum(x * self.fit(operation, y, rank), axis=-1)
        if type(operation).__name__ != "Matmul" and len(b.shape) > 2:
            self.refuse(operation, "a weight needs one or two axes; use ops.einsum")
        if rank == 2:  # a row of numbers an event
            return ops.squeeze(ops.matmul(ops.expand_dims(x, 1), self.fit(operation, y, 3)), 1)
        return ops.matmul(x, self.fit(operation, y, rank))

    def einsum(self, operation: Any, args: Any, kwargs: Any, all_lone: bool) -> Any:
        terms, _, result = operation.subscripts.replace(" ", "").partition("->")
        terms = terms.split(",")
        free = next(letter for letter in "zyxwvutsrqponmlkjihgfedcba" if letter not in operation.subscripts)
        if not result or "." in operation.subscripts:
            self.refuse(operation, f"'{operation.subscripts}': write it with '->' and without an ellipsis")
        others = (letter for letter in "ZYXWVUTSRQPONMLKJIHGFEDCBA" if letter not in operation.subscripts)
        written = [
            (free if all_lone else next(others)) + term if self.is_lone(x) else term for term, x in zip(terms, args, strict=True)
        ]
        return ops.einsum(",".join(written) + "->" + (free if all_lone else "") + result, *map(self.new, args), **kwargs)

    def of_weights(self, node: Any, operation: Any, args: Any, kwargs: Any) -> Any:
        """An operation on weights alone: one axis more in front."""
        name, old = type(operation).__name__, keras.tree.flatten((args, kwargs))[0]
        sizes = tuple(node.outputs[0].shape)
        if name == "Reshape":
            return ops.reshape(self.new(args[0]), (-1, *(sizes or (1,))))
        if name == "GetItem":
            key = args[1] if len(args) > 1 else kwargs["key"]
            return ops.get_item(self.new(args[0]), (slice(None), *(key if isinstance(key, (tuple, list)) else (key,))))
        settings = {key: value for key, value in operation.get_config().items() if key != "name"}
        rank = len(old.shape)
        for key in ("axis", "axis1", "axis2", "axes"):
            if key in settings:
                settings[key] = self.shifted(operation, settings[key], rank, old.shape)
        return type(operation)(**settings)(*self.filled(args), **self.filled(kwargs))

    def shifted(self, operation: Any, axis: Any, rank: int, shape: "Sequence[int]") -> Any:
        name = type(operation).__name__
        if axis is None and name in _REDUCTIONS:
            return list(range(1, max(rank, 1) + 1))
        if axis is None and name == "Squeeze":
            return [i + 1 for i, size in enumerate(shape) if size == 1]
        if axis is None and name == "Transpose":
            axis = list(range(rank))[::-1]
        if isinstance(axis, (list, tuple)):
            shifted = [self.shifted(operation, one, rank, shape) for one in axis]
            return [0, *shifted] if name == "Transpose" else shifted
        if not isinstance(axis, numbers.Integral):
            self.refuse(operation, f"axis = {axis} of a weight")
        if name == "Transpose" and axis < 0:
            axis += rank
        return axis + 1 if axis >= 0 else axis
