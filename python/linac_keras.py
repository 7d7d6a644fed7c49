"""Keras models with Lambda layers, layers and losses of one's own, saved so that linac can train them.

    import linac_keras
    linac_keras.save(model, "model.keras")

linac runs no Python. `save` calls each Lambda, and each layer, model or operation of a class that is not Keras's, on
symbolic tensors, and writes down which layers of Keras and which operations of keras.ops it consists of: an ordinary
functional model. A weight of such a layer becomes a layer TracedWeight. To load the file in Keras, before or after
linac has trained it, import this module first, which makes TracedWeight known:

    import linac_keras
    model = keras.models.load_model("model.keras")

A loss of one's own becomes an output of the model, as its metrics do, and the targets inputs. The job says
`train.fit.loss: output`; the model that linac writes is without them again:

    def likelihood(y_true, y_pred):
        mean, log_variance = y_pred[:, :1], y_pred[:, 1:]
        return ops.mean(0.5 * (log_variance + ops.square(y_true - mean) * ops.exp(-log_variance)))

    linac_keras.save(model, "model.keras", loss=likelihood, targets={"true_energy": (1,)})

What depends on values at the time of the call, or is computed by anything but keras.ops, cannot be written down, and is
refused with the name of the layer and of the function. Needs Keras 3 and NumPy.
"""

import contextlib
import inspect
import numbers

import keras
import numpy as np
from keras import ops

__all__ = ["TracedWeight", "save", "traced", "with_losses"]

# Operations of keras.ops whose tensors go together element by element, with numpy's broadcasting.
_ELEMENTWISE = set(
    "Add Subtract Multiply Divide TrueDivide Power Maximum Minimum NotEqual Equal Greater GreaterEqual Less LessEqual "
    "LogicalAnd LogicalOr Arctan2 Mod Where".split()
)
_REDUCTIONS = set("Sum Mean Max Min Prod Any All Var Std Norm".split())


@keras.saving.register_keras_serializable(package="linac_keras")
class TracedWeight(keras.layers.Layer):
    """A weight by itself, with a batch axis of one in front. What it is called with only ties it to the model."""

    def __init__(self, shape, value_regularizer=None, value_constraint=None, **kwargs):
        super().__init__(**kwargs)
        self.weight_shape = tuple(shape)
        self.value_regularizer = keras.regularizers.get(value_regularizer)
        self.value_constraint = keras.constraints.get(value_constraint)

    def build(self, input_shape):
        self.value = self.add_weight(
            name="value", shape=self.weight_shape, initializer="zeros", regularizer=self.value_regularizer,
            constraint=self.value_constraint,
        )  # fmt: skip

    def call(self, inputs):
        return ops.expand_dims(self.value, 0)

    def compute_output_shape(self, input_shape):
        return (1, *self.weight_shape)

    def get_config(self):
        return {
            **super().get_config(),
            "shape": list(self.weight_shape),
            "value_regularizer": keras.regularizers.serialize(self.value_regularizer),
            "value_constraint": keras.constraints.serialize(self.value_constraint),
        }


class TraceError(ValueError):
    """What cannot be written as layers of Keras and operations of keras.ops."""


def save(model, path, loss=None, metrics=None, targets=None):
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
    with _unique_names(whole) as functional:
        functional.save(path)


def traced(model):
    """The functional model that `save` writes. It shares its weights with `model`, but for those of layers that were
    taken apart, which are copies."""
    functional, added = _trace(model)
    if added:
        raise TraceError("[linac_keras] layers of the model call add_loss: take with_losses() or save()")
    return _compiled_as(model, functional)


def with_losses(model, loss=None, metrics=None, targets=None):
    """The functional model with losses and metrics as outputs: "loss", and "metric_NAME" for each NAME of `metrics`. The
    targets are inputs, and read the columns of their names.

    loss(y_true, y_pred), or loss(y_pred) where `targets` is {}, and so each metric: of one event each, or the mean over
    the batch as the last thing that is computed. What layers give to add_loss is added to it, and is enough. With several
    outputs y_pred is a dict by their names, with several targets y_true by theirs.
    targets: {column: shape of an event}; without it one for each output, of its shape, called OUTPUT_true."""
    return _with_losses(model, *_trace(model), loss, metrics, targets)


def _compiled_as(model, functional):
    if getattr(model, "compiled", False):
        functional.compile_from_config(model.get_compile_config())
    return functional


def _alone(tensors):
    return next(iter(tensors.values())) if len(tensors) == 1 else tensors


def _with_losses(model, functional, added, loss, metrics, targets):
    outputs = dict(zip(functional.output_names, functional.outputs, strict=True))
    if targets is None:
        targets = {f"{name}_true": tensor.shape[1:] for name, tensor in outputs.items()} if loss or metrics else {}
    wanted = {name: keras.Input(tuple(shape), name=name) for name, shape in targets.items()}
    given = ([_alone(wanted)] if wanted else []) + [_alone(outputs)]
    trace = _Trace()
    with trace.taking_calls():
        values = {f"metric_{name}": _of_events(name, function(*given)) for name, function in (metrics or {}).items()}
        parts = ([loss(*given)] if loss else []) + added
        kept = {} if loss else _compiled_by_output(model, outputs)
        if not parts and not kept.get("loss"):
            raise TraceError("[linac_keras] no loss: give `loss`, a function of y_true and y_pred that computes with keras.ops")
        if parts:
            total = _of_events("loss", parts[0])
            for part in parts[1:]:
                total = ops.add(total, _of_events("add_loss", part))
            values["loss"] = total
        values = {name: keras.layers.Activation("linear", name=name)(value) for name, value in values.items()}
    inputs = [*functional.inputs, *wanted.values()]
    rewritten = _Rewriting(trace, inputs).run([*functional.outputs, *values.values()])
    with _unique_names(rewritten):
        whole = keras.Model(inputs, rewritten, name=functional.name)
    if getattr(model, "compiled", False):
        whole.compile(optimizer=keras.optimizers.deserialize(model.get_compile_config()["optimizer"]), **kept)
    return whole


def _compiled_by_output(model, outputs):
    """Keras's losses, their weights and metrics that the model was compiled with, by output; nothing without losses."""
    config = keras.saving.deserialize_keras_object(model.get_compile_config()) if getattr(model, "compiled", False) else {}
    if not config.get("loss"):
        return {}
    kept = {}
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


def _of_events(name, value):
    """(N, 1) of a loss or a metric. A mean over all events, and sums and multiples of such, are no output; what they are
    the means of is."""
    if not keras.utils.is_keras_tensor(value):
        raise TraceError(f"[linac_keras] {name}: does not come from the model or the targets by keras.ops")
    if len(value.shape) == 0:
        return _before_mean(name, value)
    if value.shape[0] is not None:
        raise TraceError(f"[linac_keras] {name}: has shape {value.shape}, without the axis of the events in front")
    if len(value.shape) > 1:
        value = ops.mean(value, axis=list(range(1, len(value.shape))))
    return ops.expand_dims(value, -1)


def _before_mean(name, value):
    node = _node_of(value)
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
        f"[linac_keras] {name}: is one number for all events, and not their mean, because of ops.{kind}; end with ops.mean(...), "
        "or keep the axis of the events"
    )


def _own_loss_of(model):
    """The loss that a model of one output was compiled with, if it is no class or function of Keras."""
    config = getattr(model, "_compile_config", None)
    loss = config.config.get("loss") if config is not None else None
    is_own = callable(loss) and not getattr(loss, "__module__", type(loss).__module__).startswith("keras")
    is_own = is_own and not type(loss).__module__.startswith("keras")
    return loss if is_own else None


def _trace(model):
    """The model as a functional one that is not compiled, and what its layers gave to add_loss, as tensors of it."""
    if _graph_of(model) is None:
        raise TraceError(
            f"[linac_keras] '{model.name}' ({type(model).__name__}) is not a functional model, or not built; make it one: "
            "x = keras.Input(shape); model = keras.Model(x, model(x))"
        )
    trace = _Trace()
    inputs = [keras.Input(batch_shape=x.shape, dtype=x.dtype, name=_name_of(x)) for x in model.inputs]
    with trace.taking_calls():
        outputs = keras.tree.flatten(trace.run_graph(model, inputs))
    rewritten = _Rewriting(trace, inputs).run([*outputs, *trace.added])
    outputs, added = rewritten[: len(outputs)], rewritten[len(outputs) :]
    # The constructor asks for unique names, and so does the file.
    with _unique_names(rewritten):
        functional = keras.Model(inputs, outputs if len(outputs) > 1 else outputs[0], name=model.name)
    return functional, added


def _name_of(tensor):
    return tensor._keras_history.operation.name


def _graph_of(model):
    """What runs a functional or Sequential model by its graph; None for others."""
    graph = getattr(model, "_functional", None) or model
    return graph if hasattr(graph, "_run_through_graph") and getattr(graph, "outputs", None) else None


def _described(operation):
    return f"'{operation.name}' ({type(operation).__name__})"


def _is_own(operation):
    """Whether its code is not Keras's."""
    if isinstance(operation, (keras.layers.Lambda, TracedWeight)):
        return not isinstance(operation, TracedWeight)
    return type(operation).__module__.split(".")[0] != "keras"


def _holds_own(layer):
    return any(_is_own(inner) for inner in layer._flatten_layers(include_self=False))


def _node_of(tensor):
    """The call that made a symbolic tensor; None for one that stands for a weight."""
    history = getattr(tensor, "_keras_history", None)
    return history.operation._inbound_nodes[history.node_index] if history and history.operation else None


def _mask_of(tensor):
    return getattr(tensor, "_keras_mask", None)


def _calls_before(tensors, end=()):
    """The calls that lead to the tensors, what is read first; masks are read too. Not beyond the tensors of `end`."""
    ended, done, order = {id(tensor) for tensor in end}, set(), []
    stack = [(_node_of(tensor), False) for tensor in reversed(tensors) if id(tensor) not in ended]
    while stack:
        node, is_ready = stack.pop()
        if node is None or (id(node) in done and not is_ready):
            continue
        if is_ready:
            order.append(node)
            continue
        done.add(id(node))
        stack.append((node, True))
        read = [*node.input_tensors, *filter(keras.utils.is_keras_tensor, map(_mask_of, node.input_tensors))]
        stack.extend((_node_of(tensor), False) for tensor in reversed(read) if id(tensor) not in ended)
    return order


@contextlib.contextmanager
def _unique_names(model_or_outputs):
    """Operations of the same name are called otherwise for the while."""
    if isinstance(model_or_outputs, list):
        found = [node.operation for node in _calls_before(model_or_outputs)]
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


class _StandIn(keras.KerasTensor):
    """Stands for a weight, and takes w[1:] as weights do."""

    def __getitem__(self, key):
        return super().__getitem__((key,) if isinstance(key, slice) else key)


class _Trace:
    """Runs a model on symbolic tensors, and layers that are not Keras's by their own code."""

    def __init__(self):
        self.variables = {}  # by the id of the tensor that stands for it
        self.stand_ins = {}  # by the id of the variable
        self.owners = {}  # the layer, by the id of an operation that its code called
        self.named = {}  # operations, by their id
        self.taken = []  # the layers whose code runs, and None where that calls a layer of Keras
        self.added = []  # what they gave to add_loss

    @contextlib.contextmanager
    def taking_calls(self):
        """Calls of layers on symbolic tensors come by here."""
        plain_layer, plain_operation = keras.layers.Layer.__call__, keras.Operation.__call__
        plain_seed = keras.random.SeedGenerator.next

        def call_layer(layer, *args, **kwargs):
            if not _is_symbolic(args, kwargs) or isinstance(layer, keras.layers.InputLayer):
                return plain_layer(layer, *args, **kwargs)
            if _is_own(layer):
                return self.take_apart(layer, args, kwargs)
            if not _holds_own(layer):
                with self.running(None):
                    return plain_layer(layer, *args, **kwargs)
            if _graph_of(layer) is None:
                raise TraceError(
                    f"[linac_keras] layer {_described(layer)} runs a layer inside that is not Keras's; "
                    "call that layer by itself"
                )
            return self.run_graph(layer, args[0])

        def call_operation(operation, *args, **kwargs):
            is_layer = isinstance(operation, keras.layers.Layer)
            if is_layer or not _is_own(operation) or not _is_symbolic(args, kwargs):
                return plain_operation(operation, *args, **kwargs)
            return self.take_apart(operation, args, kwargs)

        def draw(generator, *args, **kwargs):
            if self.taken and self.taken[-1] is not None:
                raise TraceError(
                    f"[linac_keras] layer {_described(self.taken[-1])} draws random numbers, which would be the same for ever; "
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
    def running(self, layer):
        self.taken.append(layer)
        try:
            yield
        finally:
            self.taken.pop()

    def run_graph(self, model, inputs):
        return _graph_of(model)._run_through_graph(keras.tree.flatten(inputs))

    def take_apart(self, layer, args, kwargs):
        given = [x for x in keras.tree.flatten((args, kwargs)) if keras.utils.is_keras_tensor(x)]
        mask = _mask_of(given[0])
        if getattr(layer, "activity_regularizer", None) is not None:
            raise TraceError(f"[linac_keras] layer {_described(layer)}: put its activity_regularizer on a layer of Keras")
        with self.standing_in(layer), self.adding_losses(layer) as added, self.running(layer):
            outputs = self.called(layer, args, dict(kwargs), mask)
            self.added += added
            again = self.called(layer, args, {**kwargs, "training": True}, mask) if _takes(layer, "training") else outputs
        found = [x for x in keras.tree.flatten(outputs) if keras.utils.is_keras_tensor(x)]
        calls = _calls_before(found, given)
        if not found or len(found) != len(keras.tree.flatten(outputs)) or not calls and found != given:
            raise TraceError(
                f"[linac_keras] layer {_described(layer)}: what it returns does not come from its input by keras.ops"
            )
        other = _calls_before(keras.tree.flatten(again), given)
        if [type(call.operation) for call in calls] != [type(call.operation) for call in other]:
            raise TraceError(
                f"[linac_keras] layer {_described(layer)} computes something else in training; only layers of Keras "
                "(Dropout, BatchNormalization ...) may differ there"
            )
        self.check_weights(layer, calls)
        for call in calls:
            self.owners.setdefault(id(call.operation), layer)
            self.name_by(layer, call.operation, is_last=len(found) == 1 and call is calls[-1])
        if mask is not None and getattr(layer, "supports_masking", False):
            found[0]._keras_mask = layer.compute_mask(given[0], mask)
        return outputs

    def name_by(self, layer, operation, is_last):
        """What the layer's code has just made is called by the layer; its result as the layer, which outputs are known by."""
        is_new = len(operation._inbound_nodes) == 1 and id(operation) not in self.named
        if is_new and not isinstance(operation, keras.layers.Layer):
            operation.name = layer.name if is_last else f"{layer.name}_{operation.name}"
            self.named[id(operation)] = operation

    def called(self, layer, args, kwargs, mask):
        function, described = layer.call, f"layer {_described(layer)}"
        if isinstance(layer, keras.layers.Lambda):
            function, kwargs = layer.function, {**layer.arguments, **kwargs}
            described += f", function {getattr(function, '__name__', function)}"
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
                f"[linac_keras] {described} cannot be written as operations of keras.ops: {_where(error, function)}"
                f"{type(error).__name__}: {str(error).strip()[:400]}. Use keras.ops on the tensors, ops.where in place of if, "
                "and sizes that are known"
            ) from error

    @contextlib.contextmanager
    def standing_in(self, layer):
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
    def adding_losses(self, layer):
        """A list of what the layer's code gives to add_loss."""
        added = []
        vars(layer)["add_loss"] = lambda losses: added.extend(keras.tree.flatten(losses))
        try:
            yield added
        finally:
            del vars(layer)["add_loss"]

    def in_place_of(self, value):
        if isinstance(value, keras.Variable):
            return self.stand_in(value)
        if isinstance(value, dict):
            return {key: self.in_place_of(item) for key, item in value.items()}
        if isinstance(value, (list, tuple)):
            return [self.in_place_of(item) for item in value]
        return value

    def stand_in(self, variable):
        if id(variable) not in self.stand_ins:
            tensor = _StandIn(shape=tuple(variable.shape), dtype=variable.dtype, name=variable.name)
            self.stand_ins[id(variable)] = tensor
            self.variables[id(tensor)] = variable
        return self.stand_ins[id(variable)]

    def check_weights(self, layer, calls):
        """A weight that was read in another way would stay as it is, without a word."""
        if not isinstance(layer, keras.layers.Layer):
            return
        read = {id(x) for call in calls for x in keras.tree.flatten((call.arguments.args, call.arguments.kwargs))}
        read |= {id(variable) for key, variable in self.variables.items() if key in read}
        read |= {id(weight) for call in calls for weight in getattr(call.operation, "weights", [])}
        for weight in layer.trainable_weights:
            if id(weight) not in read:
                raise TraceError(
                    f"[linac_keras] layer {_described(layer)}: its weight '{weight.name}' does not reach the output by "
                    "keras.ops; keep it in an attribute of the layer and use keras.ops, or remove it"
                )


_KERAS_ATTRIBUTES = set(vars(keras.layers.Layer()))


def _takes(layer, argument):
    function = layer.function if isinstance(layer, keras.layers.Lambda) else layer.call
    return argument in inspect.signature(function).parameters


def _is_symbolic(args, kwargs):
    return any(keras.utils.is_keras_tensor(x) for x in keras.tree.flatten((args, kwargs)))


def _holds_variable(value):
    if isinstance(value, dict):
        return any(map(_holds_variable, value.values()))
    return any(map(_holds_variable, value)) if isinstance(value, (list, tuple)) else isinstance(value, keras.Variable)


def _where(error, function):
    """The line of the user's function at which it went wrong."""
    code, trace, found = getattr(inspect.unwrap(function), "__code__", None), error.__traceback__, ""
    while trace is not None:
        if code is not None and trace.tb_frame.f_code.co_filename == code.co_filename:
            found = f"{trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}: "
        trace = trace.tb_next
    return found


class _Rewriting:
    """Calls again what was called, with weights as layers. A weight has no batch axis where a layer uses it, and one of one
    event where linac has it: `lone` tensors are those with that axis in front."""

    def __init__(self, trace, inputs):
        self.trace, self.anchor = trace, inputs[0]
        self.tensors = {id(x): x for x in inputs}  # new, by the id of the old
        self.lone = set()  # ids of old tensors
        self.weights = {}  # layers, by the id of the variable
        self.kept = []  # constants, whose ids must not be used again

    def run(self, outputs):
        for node in _calls_before(outputs):
            if not node.is_input:
                self.call_again(node)
        for x in outputs:
            if id(x) in self.lone or id(x) not in self.tensors:
                raise TraceError("[linac_keras] an output of the model is a weight, the same for all events")
        return [self.tensors[id(x)] for x in outputs]

    def call_again(self, node):
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

    def refuse(self, operation, why):
        owner = self.trace.owners.get(id(operation))
        where = f"layer {_described(owner)}, " if owner is not None else ""
        raise TraceError(f"[linac_keras] {where}operation {type(operation).__name__}: {why}")

    def is_lone(self, x):
        is_constant = isinstance(x, (np.ndarray, keras.Variable)) or (ops.is_tensor(x) and not keras.utils.is_keras_tensor(x))
        return id(x) in self.lone or id(x) in self.trace.variables or (is_constant and len(x.shape) > 0)

    def new(self, x):
        """A tensor that stands for an old one, or a number."""
        if keras.utils.is_keras_tensor(x):
            return self.weight(self.trace.variables[id(x)]) if id(x) in self.trace.variables else self.tensors[id(x)]
        if isinstance(x, keras.Variable):
            return self.weight(x)
        if isinstance(x, (np.ndarray, np.generic)) or ops.is_tensor(x):
            value = np.asarray(ops.convert_to_numpy(x) if ops.is_tensor(x) else x)
            return self.constant(x, value) if value.ndim else value.item()
        return x

    def weight(self, variable):
        return self.layer_of(
            variable, ops.convert_to_numpy(variable), variable.name, variable.trainable,
            value_regularizer=variable.regularizer, value_constraint=variable.constraint,
        )  # fmt: skip

    def constant(self, x, value):
        self.kept.append(x)
        return self.layer_of(x, value, "constant", False)

    def layer_of(self, key, value, name, trainable, **settings):
        if id(key) not in self.weights:
            shape = value.shape or (1,)
            layer = TracedWeight(shape, name=name, trainable=trainable, **settings)
            self.weights[id(key)] = layer(self.anchor)
            layer.set_weights([value.astype("float32").reshape(shape)])
        return self.weights[id(key)]

    def filled(self, arguments):
        return keras.tree.map_structure(self.new, arguments)

    def call_layer(self, layer, args, kwargs, lone):
        if lone:
            self.refuse(layer, f"the layer '{layer.name}' is called with a weight or a constant; use keras.ops on it")
        args, given, kwargs = self.filled(args), keras.tree.flatten(args), self.filled(kwargs)
        mask = _mask_of(given[0]) if given and keras.utils.is_keras_tensor(given[0]) else None
        # A mask that went through operations is not found by itself when the file is read.
        if mask is not None and _mask_of(self.tensors[id(given[0])]) is None and _takes(layer, "mask"):
            kwargs.setdefault("mask", self.tensors[id(mask)])
        return layer(*args, **kwargs)

    def call_operation(self, node, operation, args, kwargs):
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
                return self.elementwise(node, operation, args)
        return operation(*self.filled(args), **self.filled(kwargs))

    def call_with_weights(self, node, operation, args, kwargs):
        name = type(operation).__name__
        tensors = [x for x in keras.tree.flatten((args, kwargs)) if self.is_lone(x) or keras.utils.is_keras_tensor(x)]
        all_lone = all(map(self.is_lone, tensors))
        if name in _ELEMENTWISE:
            result = self.elementwise(node, operation, [*args, *kwargs.values()])
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

    def fit(self, operation, x, rank):
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

    def elementwise(self, node, operation, args):
        events = [x for x in args if keras.utils.is_keras_tensor(x) and not self.is_lone(x)]
        new = [self.new(x) for x in args]
        if events:
            rank = max(len(x.shape) for x in events)
        else:
            rank = max(len(x.shape) for x in new if keras.utils.is_keras_tensor(x))
        return operation(*[self.fit(operation, y, rank) if self.is_lone(x) else y for x, y in zip(args, new)])

    def matmul(self, operation, a, b):
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

    def einsum(self, operation, args, kwargs, all_lone):
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

    def of_weights(self, node, operation, args, kwargs):
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

    def shifted(self, operation, axis, rank, shape):
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
