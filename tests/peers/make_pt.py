#!/usr/bin/env python3
"""TorchScript modules for pt_test.py: make_pt.py FOLDER. Wants PyTorch, of the version in deps/wheels.txt; tests/peers/pt holds what it
writes, so that the test runs without. *-script.pt and *-trace.pt: models that linac writes as ONNX; broken-*.pt: that it does not."""

import pathlib
import sys
import zipfile

import torch
import torch._sources
from torch import nn

with_path = torch._sources.get_source_lines_and_file


def without_path(*arguments, **options):
    """Lines of Python without the folders of this machine."""
    lines, first, file = with_path(*arguments, **options)
    return lines, first, file and pathlib.Path(file).name


torch._sources.get_source_lines_and_file = without_path


class Dense(nn.Module):
    """Layers in a loop, a branch by a setting, weights that are shared, a constant, places that are written in."""

    def __init__(self, deep: bool = True):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(4, 4), nn.Linear(4, 4)])
        self.out, self.deep, self.drop = nn.Linear(8, 3), deep, nn.Dropout(0.2)
        self.register_buffer("order", torch.tensor([3, 1, 0, 2]))

    def forward(self, features):
        x = features[:, self.order]
        kept = [x]
        if self.deep:
            for layer in self.layers:
                x = torch.tanh(layer(x)) + 0.5
                kept.append(x)
        if x.dim() != 2 or x.size(0) < 1:
            raise ValueError("not (events, 4)")
        for i in range(2):
            x = x * torch.tensor([1.0, 2.0, 3.0, 4.0 + i])
        x = torch.tanh((x - 1).mul_(2).add_(1))
        return self.out(self.drop(torch.cat([x, kept[-2]], 1)))


class Convolutions(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.normal, self.second = nn.Conv2d(1, 4, 3, padding=1), nn.BatchNorm2d(4), nn.Conv2d(4, 3, 3)
        self.pool, self.drop = nn.MaxPool2d(2), nn.Dropout(0.3)

    def forward(self, image):
        x = self.pool(torch.relu(self.normal(self.first(image))))
        x = self.drop(self.second(x))
        return x.view(x.size(0), 3, -1).mean(2)


class Particles(nn.Module):
    """A block of a transformer, and two outputs."""

    def __init__(self):
        super().__init__()
        self.momenta = nn.Linear(3, 8)
        self.block = nn.TransformerEncoderLayer(8, 2, 16, activation="gelu", batch_first=True)
        self.out = nn.Linear(16, 3)

    def forward(self, momenta):
        x = self.block(self.momenta(momenta))
        n = x.shape[0]
        return self.out(x.reshape(n, -1, 2, 8).mean(1).reshape(n, 16))


class Fixed(nn.Module):
    """A trace of two events has the 2 in it."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 3)

    def forward(self, features):
        return self.layer(features).view(int(features.shape[0]), 3)


class Branch(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 3)

    def forward(self, features):
        x = self.layer(features)
        if bool(x.sum() > 0):
            x = x + 1
        return x


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer, self.out = nn.GRU(4, 5, batch_first=True), nn.Linear(5, 3)

    def forward(self, features):
        return self.out(self.layer(features.unsqueeze(1))[0][:, -1])


def save_trace(model: nn.Module, example: torch.Tensor, path: pathlib.Path) -> None:
    """Without the stacks of Python, which are files of this machine."""
    torch.jit.trace(model, example, check_trace=False).save(path)
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist() if not name.endswith(".debug_pkl")}
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(zipfile.ZipInfo(name), content)


def main() -> None:
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(1)
    features, momenta = torch.zeros(2, 4), torch.zeros(2, 6, 3)
    torch.manual_seed(3)
    for name, kind in (("dense", Dense), ("convolutions", Convolutions), ("particles", Particles)):
        torch.jit.script(kind()).save(folder / f"{name}-script.pt")
    for name, kind, example in (("dense", Dense, features), ("particles", Particles, momenta)):
        save_trace(kind().eval(), example, folder / f"{name}-trace.pt")
    torch.manual_seed(5)
    save_trace(Fixed(), features, folder / "broken-events.pt")
    save_trace(Fixed(), features[:1], folder / "broken-one.pt")
    save_trace(Dense(), features, folder / "broken-training.pt")
    torch.jit.script(Branch()).save(folder / "broken-branch.pt")
    torch.jit.script(Recurrent()).save(folder / "broken-gru.pt")


if __name__ == "__main__":
    main()
