#!/usr/bin/env python3
"""Programs of torch.export for pt2_test.py, and what PyTorch computes with them: make_pt2.py FOLDER. Wants PyTorch, of the version
in deps/wheels.txt, and NumPy; tests/peers/pt2 holds what it writes, so that the test runs without.

NAME.pt2: the program. NAME.npz: "in/ARGUMENT", "target", "before/output" and "after/output" (evaluation mode, before and after two
steps of SGD on all events), "after/weight/NAME". broken-*.pt2: programs that linac refuses."""

import pathlib
import sys
import zipfile

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
    """Weights that are shared, one that is frozen, a buffer of our own that forward() changes, others that it does not, a constant."""

    def __init__(self):
        super().__init__()
        self.inner, self.out = nn.Linear(4, 4), nn.Linear(4, 3)
        self.out.bias.requires_grad_(False)
        self.tied = nn.Linear(4, 4, bias=False)
        self.tied.weight = self.inner.weight
        self.register_buffer("aside", torch.tensor([1.0, 2.0, 3.0, 4.0]), persistent=False)
        self.register_buffer("largest", torch.zeros(4))
        self.register_buffer("order", torch.tensor([3, 1, 0, 2]))

    def forward(self, features):
        if self.training:
            self.largest.mul_(0.5).add_(features.detach().amax(0), alpha=0.5)
        x = torch.tanh(self.inner(features[:, self.order] - 0.1 * self.largest))
        return self.out(torch.tanh(self.tied(x) / self.aside + torch.tensor([0.1, 0.2, 0.3, 0.4])))


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


class Operators(nn.Module):
    """Each operator that linac writes as ONNX gives an output."""

    def __init__(self):
        super().__init__()
        self.linear, self.free = nn.Linear(6, 5), nn.Linear(6, 5, bias=False)
        self.line, self.plane, self.volume = nn.Conv1d(4, 4, 3, 2, 1, groups=2), nn.Conv2d(2, 4, (3, 2), padding=(1, 0), dilation=2), nn.Conv3d(1, 2, 2)
        self.same = nn.ModuleList([nn.Conv1d(4, 3, 5, padding="same"), nn.Conv2d(2, 3, 3, padding="same"), nn.Conv3d(1, 2, 3, padding="valid")])
        self.normal, self.plain = nn.BatchNorm2d(2), nn.BatchNorm1d(4, affine=False)
        self.layer, self.bare = nn.LayerNorm(6), nn.LayerNorm((4, 6), elementwise_affine=False)
        self.slopes, self.slope = nn.PReLU(4), nn.PReLU()
        self.words = nn.Embedding(7, 3)
        self.register_buffer("places", torch.tensor([2, 0, 2]))
        self.register_buffer("diagonal", torch.eye(4).bool())
        self.register_buffer("mask", torch.tensor([True, False, True, True, False, True]))

    def arithmetic(self, x, p):
        y = x * 0.5 - 0.1
        yield from (x + y, x + 1, torch.add(x, y, alpha=2), x - y, torch.sub(x, 2, alpha=3), 1 - x, torch.rsub(x, y), x * y, x * 2, x / p, x / 3)
        yield from (torch.maximum(x, y), torch.minimum(x, y), p**1.5, p**y, 2**y, -x, x.abs(), y.exp(), p.log(), p.log1p(), p.sqrt(), p.rsqrt())
        yield from (p.reciprocal(), x.square(), x.sin(), x.cos(), x.erf(), x.floor(), x.ceil(), x.sign())
        yield from (x.clamp(-0.5, 0.5), x.clamp(max=0.2), x.clamp_min(0.1), x.clamp_max(0.3), torch.clamp(x, min=-0.2))
        yield from (x.mean((1, 2)), x.mean(1, keepdim=True), x.sum(-1), x.sum((1, 2)), x.amax(1), x.amin((1, 2), keepdim=True))
        yield from (x + x.mean() + x.sum() + x.max() + x.min(),)

    def truths(self, x, y):
        true = [x == y, x == 0, x != y, x != 0, x < y, x < 0.5, x <= y, x <= 0, x > y, x > 0, x >= y, x >= 0.5]
        true += [torch.logical_and(true[4], true[9]), torch.logical_or(true[4], true[9]), torch.logical_xor(true[4], true[9])]
        true += [true[4] & true[5], true[4] | true[9], torch.logical_not(true[4]), ~true[4]]
        yield from (each.float() for each in true)
        yield from (torch.where(true[4], x, y), torch.where(x > 0, x, 0.0), x.masked_fill(true[4], -2.0), x.masked_fill(self.mask, torch.tensor(3.0)))
        yield from ((x > 0).sum(1).float(), (x * 3).to(torch.int64).float() + (x > 0).to(x.dtype).type_as(x))

    def activations(self, x):
        f = nn.functional
        yield from (f.relu(x), f.relu6(x * 9), f.sigmoid(x), f.tanh(x), f.silu(x), f.mish(x), f.selu(x), f.hardsigmoid(x), f.hardswish(x))
        yield from (f.logsigmoid(x), f.gelu(x), f.gelu(x, approximate="tanh"), f.leaky_relu(x), f.leaky_relu(x, 0.3), f.elu(x), f.elu(x, 0.7))
        yield from (f.celu(x, 1.3), f.softplus(x), f.softplus(x, 2.0), f.hardtanh(x), f.hardtanh(x, -0.3, 0.6), self.slopes(x), self.slope(x))
        yield from (f.softmax(x, 1), f.softmax(x, -1), f.log_softmax(x, 2))

    def layers(self, x, image, volume, words):
        f = nn.functional
        yield from (self.linear(x), self.free(x), torch.bmm(x, x.transpose(1, 2)), x @ self.linear.weight.t())
        yield from (torch.mm(x[:, 0], self.free.weight.t()), torch.addmm(self.linear.bias, x[:, 1], self.free.weight.t()))
        yield from (self.line(x), self.plane(image), self.volume(volume), self.same[0](x), self.same[1](image), self.same[2](volume))
        yield from (self.normal(image), self.plain(x), self.layer(x), self.bare(x), self.words(words))
        yield from (f.max_pool1d(x, 2), f.max_pool2d(image, 3, 2, 1), f.max_pool2d(image, 3, 2, ceil_mode=True), f.max_pool3d(volume, 2))
        yield from (f.avg_pool1d(x, 3, 1, 1), f.avg_pool2d(image, 2, count_include_pad=False), f.avg_pool3d(volume, 2))
        yield from (f.adaptive_avg_pool1d(x, 1), f.adaptive_avg_pool2d(image, 1), f.adaptive_avg_pool3d(volume, 1))
        yield from (f.adaptive_max_pool1d(x, 1), f.adaptive_max_pool2d(image, 1))
        q = x.unflatten(2, (2, 3)).transpose(1, 2)
        yield from (f.scaled_dot_product_attention(q, q, q), f.scaled_dot_product_attention(q, q, q, attn_mask=self.mask[None, None, :4, None].expand(1, 1, 4, 4) | self.diagonal))
        yield from (f.scaled_dot_product_attention(q, q, q, attn_mask=torch.ones(4, 4), scale=0.2),)
        yield from (f.dropout(x, 0.3, self.training), f.alpha_dropout(x, 0.3, self.training), f.dropout1d(x, 0.3, self.training), f.feature_alpha_dropout(x, 0.3, self.training))

    def shapes(self, x, image):
        n = x.shape[0]
        yield from (x.view(n, 24), x.reshape(-1, 12), x.reshape(n, 2, -1), x.view(n * 4, 6).view(n, 4, 6), x.reshape(n, 4 * 6), x.flatten(1), x.flatten(), x.permute(0, 2, 1), x.transpose(-1, 1))
        yield from (x[:, :, 0].t().t(), x.unsqueeze(1), x.unsqueeze(-1).squeeze(-1), x.unsqueeze(1).squeeze(), x.unsqueeze(1).unsqueeze(1).squeeze((1, 2)))
        yield from (torch.cat([x, x], 1), torch.cat([x, (x > 0)], -1), torch.stack([x, x], 2), x[:, 1:3], x[:, :, ::2], x[:, -1], x[:, :, 2], x[..., None, 1:])
        yield from (*x.split(2, 1), *x.split([1, 5], 2), *x.chunk(3, 2), *x.unbind(1), x[:, :1].expand(-1, 4, 6), x[:, self.places], x.index_select(2, self.places))
        yield from (torch.zeros_like(x) + torch.ones_like(x), torch.full_like(x, 2.5), torch.zeros(n, 2), torch.ones(n, 3), torch.full((n, 2), 1.5))
        yield from (x.clone(), x.to(x), x.to("cpu"), x.to("cpu", torch.float32), x.permute(0, 2, 1).contiguous(), x.detach() * 1, image.sum((1, 2, 3)).view(n))
        yield torch.relu_(x * 1).add_(1).mul_(2) + torch.zeros(n + n, 4, 1)[:n]

    def forward(self, x, image, volume, words):
        p = x.abs() + 0.1
        outputs = (*self.arithmetic(x, p), *self.truths(x, x.transpose(1, 2).reshape(x.shape)), *self.activations(x))
        return tuple(each if each.dim() and each.shape[0] == x.shape[0] else each.reshape(x.shape[0], -1)
                     for each in (*outputs, *self.layers(x, image, volume, words), *self.shapes(x, image)))


def write_operators(folder: pathlib.Path) -> None:
    random = np.random.default_rng(11)
    arrays = {key: random.normal(size=(5, *shape)).astype("f4") for key, shape in
              (("x", (4, 6)), ("image", (2, 7, 6)), ("volume", (1, 4, 4, 4)))} | {"words": random.integers(0, 7, (5, 3))}
    inputs = {key: torch.from_numpy(values) for key, values in arrays.items()}
    model = Operators()
    with torch.no_grad():
        for _ in range(3):
            model(**inputs)  # running statistics
        expected = model.eval()(**inputs)
    program = export(model.train(), inputs)
    decomposed = export(model.eval(), inputs).run_decompositions()
    for each, name in ((program, "operators.pt2"), (decomposed, "operators-decomposed.pt2")):
        save(each, folder / name)
        with zipfile.ZipFile(folder / name) as archive:
            members = {member: archive.read(member) for member in archive.namelist()}
        with zipfile.ZipFile(folder / name, "w", zipfile.ZIP_DEFLATED) as archive:  # its graph is long
            for member, content in members.items():
                archive.writestr(zipfile.ZipInfo(member), content, zipfile.ZIP_DEFLATED)
    np.savez_compressed(folder / "operators.npz", **{f"in/{key}": values for key, values in arrays.items()},
                        **{f"out/{i}": each.numpy() for i, each in enumerate(expected)})


def inputs_of(name: str, random: np.random.Generator) -> dict:
    if name.startswith("particles"):
        return {"kinds": random.integers(0, 6, (EVENTS, 6)), "momenta": random.normal(size=(EVENTS, 6, 3)).astype("f4")}
    if name.startswith("convolutions"):
        return {"image": random.normal(size=(EVENTS, 1, 8, 8)).astype("f4")}
    return {"features": random.normal(size=(EVENTS, 4)).astype("f4")}


def save(program, path: pathlib.Path) -> None:
    for node in program.graph.nodes:  # names of files of this machine, and of modules
        for key in ("stack_trace", "nn_module_stack", "torch_fn", "source_fn_stack"):
            node.meta.pop(key, None)
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
    torch.manual_seed(3)
    write_operators(folder)
    features = {"features": torch.zeros(2, 4)}
    save(torch.export.export(Dense(), (), features), folder / "broken-events.pt2")
    save(export(WithoutGradient(), features), folder / "broken-no-grad.pt2")
    save(export(Dense().double(), {"features": torch.zeros(2, 4, dtype=torch.float64)}), folder / "broken-double.pt2")


if __name__ == "__main__":
    main()
