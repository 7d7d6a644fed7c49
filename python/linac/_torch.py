"""A module of PyTorch as a program that linac trains (torch.export), and the trained weights back in a copy of the module.

What is exported is a copy, too: the module that was given keeps its weights and its mode."""

import copy
import inspect
import pathlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from linac._columns import Column, arrow, columns_of, is_array, is_table, refused
from linac._program import LinacError

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]

# Of the PyTorch whose LibTorch the program has (deps/wheels.txt), and of those whose files it reads as well.
_TORCH_MIN = (2, 8)


def is_module(model: object) -> bool:
    """Without an import of torch, which takes seconds."""
    return any(base.__module__ == "torch.nn.modules.module" and base.__name__ == "Module" for base in type(model).__mro__)


def inputs_of(module: Any, x: Any) -> list[str]:
    """The arguments of forward() that `x` gives: all that have no default, and of a dict or a table those that it names."""
    given = set(columns_of(x)) if is_table(x) else set()
    many = isinstance(x, (list, tuple)) and bool(x) and all(map(is_array, x))
    names: list[str] = []
    for name, one in inspect.signature(module.forward).parameters.items():
        if one.kind in (one.VAR_POSITIONAL, one.VAR_KEYWORD):
            continue
        if one.default is one.empty or name in given or many and len(names) < len(x):
            names.append(name)
    if not names:
        raise refused("model", f"forward() of {type(module).__name__} has no arguments with names", "give it one for each input")
    return names


def add_shapes(inputs: "list[dict[str, Any]]", *tables: "Sequence[Column]") -> None:
    """Adds to each of data.inputs what the program needs of a model of PyTorch: the shape of an event. Lists of several lengths are padded by
    the program with zeros, up to the longest of all tables."""
    for one in inputs:
        of_tables = [_shape_of_input(one, columns) for columns in tables]
        if not of_tables[0]:
            raise refused("fit", f"'{one['name']}' is a number for each event, and a module is handed [events, values]", "give it as [events, 1]")
        one["shape"] = [max(sizes) for sizes in zip(*of_tables, strict=True)]


def _shape_of_input(one: "Mapping[str, Any]", columns: "Sequence[Column]") -> list[int]:
    each = [shape_of(column) for column in columns if column.name in one.get("columns", [one.get("column")])]
    return each[0] if len(each) == 1 else [sum(shape[0] if shape else 1 for shape in each)]


def shape_of(column: Column) -> list[int]:
    """Of an event; of lists the longest."""
    pa = arrow()
    kind, shape, depth = column.type, [], 0
    while pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        shape.append(kind.list_size if pa.types.is_fixed_size_list(kind) else _longest(column, depth))
        kind, depth = kind.value_type, depth + 1
    return shape


def _longest(column: Column, depth: int) -> int:
    import pyarrow.compute as compute

    values = column.block(0, column.events)
    for _ in range(depth):
        values = values.flatten()
    return max(1, int(compute.max(compute.list_value_length(values)).as_py() or 0))


def export(module: Any, path: pathlib.Path, inputs: "list[dict[str, Any]]", columns: "Sequence[Column]") -> None:
    """Writes the program of `module` for any number of events, in the mode that it has; one that is in evaluation mode as a whole is exported for
    training. Examples are the first two events. Raises LinacError where torch.export cannot, with what it says."""
    import torch

    version = tuple(int(part) for part in torch.__version__.split("+")[0].split(".")[:2])
    if version < _TORCH_MIN:
        raise refused("model", f"PyTorch {torch.__version__} writes programs in another form than the program reads",
                      "install PyTorch 2.11, or give the path of a TorchScript file (torch.jit.script(model).save('model.pt'))")  # fmt: skip
    twin = copy.deepcopy(module).cpu()
    if not twin.training:
        twin.train()
    examples = {one["name"]: _example(one, columns) for one in inputs}
    try:
        program = _exported(torch, twin, examples, whole_numbers=True)
        torch.export.save(program, path)
    except LinacError:
        raise
    except Exception as error:  # of dynamo, of the module's own code, of the disk
        raise refused("model", f"torch.export cannot write {type(module).__name__} ({_first_lines(error)})",
                      "see docs/guide/training.md, \"Models of PyTorch\"") from error  # fmt: skip


def _exported(torch: Any, module: Any, examples: "dict[str, Array]", whole_numbers: bool) -> Any:
    """Whole numbers stay such where the module takes them (an Embedding), and else become floats, as the program reads them."""
    tensors = {}
    for name, values in examples.items():
        whole = whole_numbers and values.dtype.kind in "iu"
        tensors[name] = torch.from_numpy(values.astype("int64" if whole else "float32"))
    events = torch.export.Dim("events")
    try:
        return torch.export.export(module, (), kwargs=tensors, dynamic_shapes={name: {0: events} for name in tensors})
    except Exception:
        if whole_numbers and any(values.dtype.kind in "iu" for values in examples.values()):
            return _exported(torch, module, examples, whole_numbers=False)
        raise


def _example(one: "Mapping[str, Any]", columns: "Sequence[Column]") -> "Array":
    """[2, ...] of one of data.inputs; an only event twice."""
    import numpy as np

    named = {column.name: column for column in columns}
    parts: "list[Array]" = []
    for name in one.get("columns", [one.get("column")]):
        column = named[name]
        events = [column.block(i % column.events, i % column.events + 1).to_pylist()[0] for i in range(2)]
        shape = shape_of(column)
        parts.append(np.stack([_padded(event, shape) for event in events]))
    if len(parts) == 1:
        return parts[0]
    joined: Array = np.concatenate([part.reshape(2, -1) for part in parts], axis=1)
    return joined


def _padded(event: Any, shape: list[int]) -> "Array":
    import numpy as np

    if not shape:
        value: "Array" = np.asarray(event)
        return value
    rows = [_padded(row, shape[1:]) for row in event]
    array: "Array" = np.zeros(shape, rows[0].dtype if rows else np.float32)
    for i, row in enumerate(rows):
        array[i] = row
    return array


def _first_lines(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {' '.join(lines[:4])[:500]}"


def trained(module: Any, path: pathlib.Path) -> Any:
    """The module with the weights of the file: a copy of `module`, or, where it is not at hand, the program itself as a module."""
    import torch

    program = torch.export.load(path)
    if module is None:
        return program.module()
    twin = copy.deepcopy(module).cpu()
    twin.load_state_dict(program.state_dict)
    return twin
