#!/usr/bin/env python3
"""Programs of torch.export for test_pt2.py, and what PyTorch computes with them: make_pt2.py FOLDER. Wants PyTorch, of the version
in deps/wheels.txt, and NumPy; tests/peers/pt2 holds what it writes, so that the test runs without.

NAME.pt2: the program. NAME.npz: "in/ARGUMENT", "target", "before/output" and "after/output" (evaluation mode, before and after two
steps of SGD on all events), "after/weight/NAME". broken-*.pt2: programs that linac refuses."""

import pathlib
import sys

import numpy as np
import torch
from torch import nn

EVENTS, RATE, STEPS = 24, 0.1, 2


class Dense(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 3))

    def forward(self, features):
        return self.layers(features)


class Convolutions(nn.Module):
    def __init__(self, dropout: float = 0.0):
        super().__init__()
        self.first, self.normal, self.second = nn.Conv2d(1, 4, 3, padding=1), nn.BatchNorm2d(4), nn.Conv2d(4, 3, 3)
        self.dropout = nn.Dropout(dropout) if dropout else nn.Identity()
        self.register_buffer("scale", torch.tensor([0.5]))

    def forward(self, image):
        x = nn.functional.max_pool2d(torch.relu(self.normal(self.first(image * self.scale))), 2)
        return self.dropout(self.second(x)).mean((2, 3))


class Frozen(nn.Module):
    """A weight that is shared, one that is frozen, a buffer of our own that forward() changes."""

    def __init__(self):
        super().__init__()
        self.inner, self.out = nn.Linear(4, 4), nn.Linear(4, 3)
        self.out.bias.requires_grad_(False)
        self.register_buffer("largest", torch.zeros(4))
        self.register_buffer("order", torch.tensor([3, 1, 0, 2]))

    def forward(self, features):
        if self.training:
            self.largest.mul_(0.5).add_(features.detach().amax(0), alpha=0.5)
        x = torch.tanh(self.inner(features[:, self.order] - 0.1 * self.largest))
        return self.out(torch.tanh(nn.functional.linear(x, self.inner.weight)))


class Particles(nn.Module):
    """An embedding of kinds, a block of a transformer, a mean over the particles."""

    def __init__(self, dropout: float = 0.0):
        super().__init__()
        self.kinds, self.momenta = nn.Embedding(6, 8), nn.Linear(3, 8)
        self.block = nn.TransformerEncoderLayer(8, 2, 16, dropout=dropout, activation="gelu", batch_first=True)
        self.out = nn.Linear(8, 3)

    def forward(self, kinds, momenta):
        x = self.block(self.kinds(kinds) + self.momenta(momenta))
        return self.out(x.reshape(x.shape[0], -1, 2, 8).mean((1, 2)))


class WithoutGradient(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 3)

    def forward(self, features):
        with torch.no_grad():
            shift = features.mean(1, keepdim=True)
        return self.layer(features - shift)


def inputs_of(name: str, random: np.random.Generator) -> dict:
    if name.startswith("particles"):
        return {"kinds": random.integers(0, 6, (EVENTS, 6)), "momenta": random.normal(size=(EVENTS, 6, 3)).astype("f4")}
    if name.startswith("convolutions"):
        return {"image": random.normal(size=(EVENTS, 1, 8, 8)).astype("f4")}
    return {"features": random.normal(size=(EVENTS, 4)).astype("f4")}


def save(program, path: pathlib.Path) -> None:
    for node in program.graph.nodes:  # they name files of this machine
        node.meta.pop("stack_trace", None)
    torch.export.save(program, path)


def export(model: nn.Module, inputs: dict, **options):
    events = torch.export.Dim("events")
    return torch.export.export(model, (), {name: values[:2] for name, values in inputs.items()},
                               dynamic_shapes={name: {0: events} for name in inputs}, **options)


def write(folder: pathlib.Path, name: str, model: nn.Module, trained: bool = True) -> None:
    random = np.random.default_rng(7)
    arrays = inputs_of(name, random)
    target = np.eye(3, dtype="f4")[random.integers(0, 3, EVENTS)]
    inputs = {key: torch.from_numpy(values) for key, values in arrays.items()}
    model.train(trained)
    program = export(model, inputs)
    save(program, folder / f"{name}.pt2")
    found = {f"in/{key}": values for key, values in arrays.items()} | {"target": target}
    with torch.no_grad():
        found["before/output"] = model.eval()(**inputs).numpy()
    model.train(trained)
    optimizer = torch.optim.SGD([each for each in model.parameters() if each.requires_grad], RATE)
    for _ in range(STEPS):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(**inputs), torch.from_numpy(target)).backward()
        optimizer.step()
    with torch.no_grad():
        found["after/output"] = model.eval()(**inputs).numpy()
    for key, values in model.state_dict().items():
        found[f"after/weight/{key}"] = values.numpy()
    np.savez(folder / f"{name}.npz", **found)


def main() -> None:
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(1)
    for name, model, options in (
        ("dense", Dense, {}),
        ("convolutions", Convolutions, {}),
        ("convolutions-dropout", lambda: Convolutions(0.3), {}),
        ("convolutions-evaluation", lambda: Convolutions(0.3), {"trained": False}),
        ("frozen", Frozen, {}),
        ("particles", Particles, {}),
        ("particles-dropout", lambda: Particles(0.1), {}),
    ):
        torch.manual_seed(3)
        write(folder, name, model(), **options)
    torch.manual_seed(3)
    save(export(Convolutions(), {"image": torch.zeros(2, 1, 8, 8)}).run_decompositions(), folder / "convolutions-decomposed.pt2")
    features = {"features": torch.zeros(2, 4)}
    save(torch.export.export(Dense(), (), features), folder / "broken-events.pt2")
    save(export(WithoutGradient(), features), folder / "broken-no-grad.pt2")
    save(export(Dense().double(), {"features": torch.zeros(2, 4, dtype=torch.float64)}), folder / "broken-double.pt2")


if __name__ == "__main__":
    main()
