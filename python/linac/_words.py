"""Losses, optimizers and metrics as settings of a job: texts, and PyTorch's instances. What the program computes otherwise than PyTorch is
refused, with the way out."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from linac import _torch, models
from linac._columns import as_numpy, is_table, refused

_LOSSES = {
    "CrossEntropyLoss": "categorical_crossentropy", "BCELoss": "binary_crossentropy", "BCEWithLogitsLoss": "binary_crossentropy",
    "MSELoss": "mean_squared_error", "L1Loss": "mean_absolute_error", "HuberLoss": "huber", "SmoothL1Loss": "huber",
}  # fmt: skip
_OF_LOGITS = ("CrossEntropyLoss", "BCEWithLogitsLoss")
# What of a loss has to be as PyTorch has it by itself, and what to do instead.
_LOSS_DEFAULTS: "dict[str, tuple[Any, str]]" = {
    "reduction": ("mean", "the mean over the events is what is minimised"), "weight": (None, "give fit() class_weight, or sample_weight"),
    "pos_weight": (None, "give fit() sample_weight"), "ignore_index": (-100, "leave such events out, or give them sample_weight 0"),
    "delta": (1.0, "scale the targets"), "beta": (1.0, "scale the targets"),
}  # fmt: skip


def settings_of(model: Any, y: Any, loss: Any, optimizer: Any, metrics: "Iterable[str]") -> dict[str, Any]:
    """Of what was given to fit(); nothing of what was not."""
    if loss is None and isinstance(model, models.Model) and not model.is_of_showers:
        loss = "sparse_categorical_crossentropy" if _are_class_numbers(y) else "categorical_crossentropy"
    if loss is None and _torch.is_module(model):
        raise refused("fit", "a module of PyTorch says nothing of its loss", "give loss=torch.nn.CrossEntropyLoss(), or another, or a text")
    settings = {} if loss is None else loss_settings(loss, _are_class_numbers(y))
    if optimizer is not None:
        settings |= optimizer_settings(optimizer, model)
    names = [metrics] if isinstance(metrics, str) else list(metrics)
    if not all(isinstance(name, str) for name in names):
        raise refused("fit", f"metrics are {names}", "give texts (docs/reference/settings.md, train.fit.metrics)")
    return settings | ({"train.fit.metrics": names} if names else {})


def _are_class_numbers(y: Any) -> bool:
    """As PyTorch's cross-entropy tells them from probabilities: whole numbers, one an event."""
    if is_table(y) or not hasattr(y, "__array__") and not isinstance(y, (list, tuple)):
        return False
    values = as_numpy("y", y)
    return bool(values.dtype.kind in "iuOUS" and (values.ndim == 1 or values.ndim == 2 and values.shape[1] == 1))


def loss_settings(loss: Any, class_numbers: bool) -> dict[str, Any]:
    """`loss`: a text of Keras's names, a list or dict of such for several outputs, or one of PyTorch's loss modules. class_numbers: y are numbers
    of classes, and no probabilities."""
    if isinstance(loss, str) or isinstance(loss, (list, tuple)) and all(isinstance(one, str) for one in loss):
        return {"train.fit.loss": [loss] if isinstance(loss, str) else list(loss)}
    name = type(loss).__name__
    if not type(loss).__module__.startswith("torch.nn") or name not in _LOSSES:
        raise refused("fit", f"the loss {getattr(loss, '__name__', name)} has no name in a job",
                      f"give {', '.join(_LOSSES)} of torch.nn, or a text (docs/reference/settings.md, train.fit.loss)")  # fmt: skip
    for attribute, (wanted, way_out) in _LOSS_DEFAULTS.items():
        given = getattr(loss, attribute, wanted)
        if (given is not None) if wanted is None else given != wanted:
            raise refused("fit", f"{name}: {attribute} = {given} is not what the program computes", way_out)
    word = _LOSSES[name]
    settings: dict[str, Any] = {"train.fit.loss": [f"sparse_{word}" if name == "CrossEntropyLoss" and class_numbers else word]}
    if name in _OF_LOGITS:
        settings["train.fit.from_logits"] = True
    if smoothing := getattr(loss, "label_smoothing", 0.0):
        if class_numbers:  # Keras's sparse loss has none
            raise refused("fit", f"{name}: label_smoothing = {smoothing} is of probabilities, and y are numbers of classes", "give numpy.eye(CLASSES)[y]")
        settings["train.fit.label_smoothing"] = float(smoothing)
    return settings


def optimizer_settings(optimizer: Any, model: Any) -> dict[str, Any]:
    """`optimizer`: a text of Keras's names, or one of PyTorch's over all weights of `model` with one group of settings."""
    if isinstance(optimizer, str):
        return {"train.optimizer.name": optimizer.lower()}
    name = type(optimizer).__name__
    if not type(optimizer).__module__.startswith("torch.optim") or name not in _OPTIMIZERS:
        raise refused("fit", f"the optimizer {name} has no name in a job",
                      f"give {', '.join(_OPTIMIZERS)} of torch.optim, or a text (docs/reference/settings.md, train.optimizer)")  # fmt: skip
    if len(optimizer.param_groups) != 1:
        raise refused("fit", f"{name} has {len(optimizer.param_groups)} groups of weights", "give it one: all weights have one learning rate")
    group = optimizer.param_groups[0]
    own = {id(weight) for weight in model.parameters() if weight.requires_grad}
    if {id(weight) for weight in group["params"]} != own:
        raise refused("fit", f"{name} is not over the weights of the model", "give it model.parameters(); freeze others by requires_grad_(False)")
    if group.get("maximize"):
        raise refused("fit", f"{name}: maximize", "change the sign of the loss")
    return _OPTIMIZERS[name](name, group)


def _no_decay(name: str, group: "Mapping[str, Any]") -> None:
    """What is added to the gradient is another decay than that of the program, which shrinks the weights apart from it (Loshchilov and Hutter,
    "Decoupled weight decay regularization", 2019)."""
    if group.get("weight_decay"):
        raise refused("fit", f"{name}: weight_decay = {group['weight_decay']} is added to the gradient",
                      "take AdamW, or settings={'train.optimizer.weight_decay': ...}, which shrinks the weights")  # fmt: skip


def _sgd(name: str, group: "Mapping[str, Any]") -> dict[str, Any]:
    _no_decay(name, group)
    if group["dampening"]:
        raise refused("fit", f"SGD: dampening = {group['dampening']}", "leave it at 0")
    return _named("sgd", lr=group["lr"], momentum=group["momentum"], nesterov=bool(group["nesterov"]))


def _adam(name: str, group: "Mapping[str, Any]") -> dict[str, Any]:
    decoupled = name == "AdamW" or bool(group.get("decoupled_weight_decay"))
    if not decoupled:
        _no_decay(name, group)
    beta_1, beta_2 = group["betas"]
    words = {"lr": group["lr"], "beta_1": beta_1, "beta_2": beta_2, "epsilon": group["eps"], "amsgrad": bool(group["amsgrad"])}
    return _named("adamw", **words, weight_decay=group["weight_decay"]) if decoupled else _named("adam", **words)


def _adamax(name: str, group: "Mapping[str, Any]") -> dict[str, Any]:
    _no_decay(name, group)
    beta_1, beta_2 = group["betas"]
    return _named("adamax", lr=group["lr"], beta_1=beta_1, beta_2=beta_2, epsilon=group["eps"])


def _rmsprop(name: str, group: "Mapping[str, Any]") -> dict[str, Any]:
    """PyTorch adds epsilon to the root, the program its square under the root; so does adagrad."""
    _no_decay(name, group)
    words = {"lr": group["lr"], "rho": group["alpha"], "momentum": group["momentum"], "centered": bool(group["centered"])}
    return _named("rmsprop", **words, epsilon=group["eps"] ** 2)


def _adagrad(name: str, group: "Mapping[str, Any]") -> dict[str, Any]:
    _no_decay(name, group)
    if group["lr_decay"]:
        raise refused("fit", f"Adagrad: lr_decay = {group['lr_decay']}", "leave it at 0, or take settings={'train.schedule.decay': ...}")
    return _named("adagrad", lr=group["lr"], initial_accumulator_value=group["initial_accumulator_value"], epsilon=group["eps"] ** 2)


def _adadelta(name: str, group: "Mapping[str, Any]") -> dict[str, Any]:
    _no_decay(name, group)
    return _named("adadelta", lr=group["lr"], rho=group["rho"], epsilon=group["eps"])


def _named(name: str, **words: Any) -> dict[str, Any]:
    number = {key: value if isinstance(value, bool) else float(value) for key, value in words.items()}
    return {"train.optimizer": {"name": name, **number}}


_OPTIMIZERS: "dict[str, Callable[[str, Mapping[str, Any]], dict[str, Any]]]" = {
    "SGD": _sgd, "Adam": _adam, "AdamW": _adam, "Adamax": _adamax, "RMSprop": _rmsprop, "Adagrad": _adagrad, "Adadelta": _adadelta,
}  # fmt: skip
