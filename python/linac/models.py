"""The models that linac has itself, as objects that fit(), generate() and validate() take:

    showers = linac.simulate(2000, seed=1, energy=(10, 100), theta=(1.05, 2.09))     # or Geant4's
    run = linac.fit(linac.models.cell_chain(), showers, epochs=8, batch_size=4)
    new = linac.generate(run, 1000, seed=2, energy=(20, 90), theta=(1.1, 2.0))

Settings that are not given have the job's own defaults; docs/reference/settings.md says what each means. `start_from` is the job's model.from: what
the training goes on from, a run, its folder, a checkpoint or a model's file."""

import inspect
import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from linac._columns import refused

if TYPE_CHECKING:
    from linac import Run
    from linac._job import ModelLossWeights, ModelTransformer

    Start = Run | str | os.PathLike[str]
    Numbers = Sequence[int]

_PATHS = ("start_from", "file", "generator", "discriminator", "geometry")
KINDS: "dict[str, Callable[..., Model]]" = {}


class Model:
    """Settings of a job: `model`, with its kind, and what of `data` goes with it. `inputs` of labelled events by their names; none of showers."""

    def __init__(self, kind: str, settings: "Mapping[str, Any]", data: "Mapping[str, Any] | None" = None, inputs: "Sequence[str]" = ()) -> None:
        self.kind, self.data, self.inputs = kind, dict(data or {}), list(inputs)
        self.settings = {"from" if name == "start_from" else name: _plain(name, value) for name, value in settings.items() if value is not None}

    def __repr__(self) -> str:
        return f"linac.models: {self.kind}" + "".join(f", {name} = {value}" for name, value in self.settings.items())

    @property
    def name(self) -> str:
        return self.kind.replace("_", "-")

    @property
    def is_of_showers(self) -> bool:
        return not self.inputs

    @property
    def file(self) -> str:
        """What generate() reads: the file that it is, or what it starts from. Raises LinacError where it is not trained."""
        named = self.settings.get("file") or self.settings.get("from")
        if named is None:
            raise refused("model", f"a {self.kind} that nobody trained generates nothing", "linac.fit() it, or name its file: start_from=...")
        return str(named)


def threedgan(
    *, start_from: "Start | None" = None, file: "str | os.PathLike[str] | None" = None, generator: "str | os.PathLike[str] | None" = None,
    discriminator: "str | os.PathLike[str] | None" = None, latent: "int | None" = None, power: "float | None" = None,
    loss_weights: "ModelLossWeights | None" = None, generator_channels: "int | None" = None, generator_filters: "Numbers | None" = None,
    discriminator_filters: "Numbers | None" = None, dropout: "float | None" = None, leaky_slope: "float | None" = None,
    freeze_norms: "bool | None" = None,
) -> Model:  # fmt: skip
    """The 3DGAN: images of 51 x 51 x 25 cells by two networks that learn against each other (docs/guide/physics/3dgan.md)."""
    return Model("3dgan", dict(locals()))


def cell_chain(
    *, start_from: "Start | None" = None, file: "str | os.PathLike[str] | None" = None, geometry: "str | os.PathLike[str] | None" = None,
    entry: "Sequence[str] | None" = None, hidden: "int | None" = None, layer_hidden: "int | None" = None, classes: "int | None" = None,
    components: "int | None" = None, core_cells: "float | None" = None, ring_cells: "float | None" = None, halo_cells: "float | None" = None,
    memory: "float | None" = None,
) -> Model:  # fmt: skip
    """Showers cell by cell, by likelihood (docs/guide/physics/cell_chain.md). Wants x0, y0, shift_x and shift_y of each event beside the image:
    linac.simulate() has them. Cells count as they are: data.threshold is 0."""
    return Model("cell_chain", dict(locals()), {"threshold": 0})


def classifier(
    variant: str = "gru", *, particles: "int | None" = None, units: "int | None" = None, dense_units: "Numbers | None" = None,
    hlf_units: "Numbers | None" = None, transformer: "ModelTransformer | None" = None, dropout: "float | None" = None,
) -> Model:  # fmt: skip
    """The Inclusive Classifier of collision events, by `variant` gru, lstm, hlf, particles or transformer. Inputs: GRU_input [events, particles,
    19], or lists of several lengths, which are padded; HLF_input [events, 14]. Three classes."""
    settings = dict(locals())
    inputs = {"hlf": ["HLF_input"], "particles": ["GRU_input"], "transformer": ["GRU_input"]}
    return Model("inclusive_classifier", settings, inputs=inputs.get(variant, ["GRU_input", "HLF_input"]))


KINDS |= {"3dgan": threedgan, "cell_chain": cell_chain, "inclusive_classifier": classifier}


def settings_of(kind: str) -> list[str]:
    """The names that a kind takes, as the job has them."""
    return ["from" if name == "start_from" else name for name in inspect.signature(KINDS[kind]).parameters]


def _plain(name: str, value: Any) -> Any:
    """A path that holds wherever the job is read, the folder of a Run, a list of what is a sequence."""
    from linac import _model

    if name in _PATHS:
        return str(value.folder) if hasattr(value, "folder") else _model.local(value)
    return list(value) if isinstance(value, tuple) else value
