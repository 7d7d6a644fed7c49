"""The models of keras_models.py written as a user of PyTorch would: its own modules and attention, channels first.

A model takes what Keras's takes, but images as (batch, channel, cells...), and `lengths` of the events where steps are
masked. Where the last activation is a sigmoid or softmax it returns logits: PyTorch's losses want them.
"""

import torch
import torch.nn.functional as F
from torch import nn


def hidden(*sizes):
    return [module for a, b in zip(sizes, sizes[1:]) for module in (nn.Linear(a, b), nn.ReLU())]


def dense():
    return nn.Sequential(*hidden(28, 256, 256, 256), nn.Linear(256, 1))


def cnn2d():
    blocks = []
    for before, filters in ((3, 32), (32, 64), (64, 128)):
        blocks += [nn.Conv2d(before, filters, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)]
    return nn.Sequential(*blocks, nn.Flatten(), *hidden(4 * 4 * 128, 64), nn.Linear(64, 10))


class resnet(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = (nn.Conv2d(32, 32, 3, padding=1, bias=False) for _ in range(2))
        self.norms = nn.ModuleList([nn.BatchNorm2d(32, eps=1e-3, momentum=0.01) for _ in range(2)])
        self.out = nn.Linear(32, 10)

    def forward(self, x):
        y = F.relu(self.norms[0](self.first(x)))
        y = F.relu(x + self.norms[1](self.second(y)))
        return self.out(y.mean((2, 3)))


def cnn3d():
    blocks = []
    for before, filters in ((1, 8), (8, 16), (16, 32)):
        blocks += [nn.Conv3d(before, filters, 3, padding=1), nn.ReLU(), nn.MaxPool3d(2)]
    return nn.Sequential(*blocks, nn.AdaptiveAvgPool3d(1), nn.Flatten(), *hidden(32, 32), nn.Linear(32, 1))


class EncoderLayer(nn.Module):
    def __init__(self, size, heads, wide):
        super().__init__()
        self.heads = heads
        self.qkv, self.out = nn.Linear(size, 3 * size), nn.Linear(size, size)
        self.wide, self.narrow = nn.Linear(size, wide), nn.Linear(wide, size)
        self.norms = nn.ModuleList([nn.LayerNorm(size, eps=1e-6) for _ in range(2)])
        self.drop = nn.Dropout(0.1)

    def forward(self, x):
        q, k, v = self.qkv(x).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2)
        x = self.norms[0](x + self.drop(self.out(y)))
        return self.norms[1](x + self.drop(self.narrow(F.relu(self.wide(x)))))


class transformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(*[EncoderLayer(64, 4, 256) for _ in range(2)])
        self.out = nn.Linear(64, 10)

    def forward(self, x):
        return self.out(self.layers(x).mean(1))


class deepsets(nn.Module):
    def __init__(self):
        super().__init__()
        self.particle = nn.Sequential(*hidden(16, 64, 64, 64))
        self.event = nn.Sequential(*hidden(64, 64), nn.Linear(64, 1))

    def forward(self, x):
        return self.event(self.particle(x).sum(1))


def separable():
    blocks = [nn.Conv2d(3, 32, 3, padding=1), nn.ReLU()]
    for before, filters in ((32, 64), (64, 128)):
        blocks += [nn.Conv2d(before, before, 3, padding=1, groups=before, bias=False), nn.Conv2d(before, filters, 1)]
        blocks += [nn.ReLU(), nn.MaxPool2d(2)]
    return nn.Sequential(*blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(128, 10))


class Masked(nn.Module):
    """All steps are computed, the state is taken at each event's end: faster than packed sequences."""

    def __init__(self, kind):
        super().__init__()
        self.layer, self.out = kind(19, 64, batch_first=True), nn.Linear(64, 1)

    def forward(self, x, lengths):
        return self.out(self.layer(x)[0][torch.arange(len(x)), lengths - 1])


def lstm():
    return Masked(nn.LSTM)


def gru():
    return Masked(nn.GRU)


class lstm_dropout(nn.Module):
    """What is dropped of the state is dropped at all steps."""

    def __init__(self):
        super().__init__()
        self.cell, self.out = nn.LSTMCell(19, 64), nn.Linear(64, 1)

    def forward(self, x, lengths):
        h = c = x.new_zeros(len(x), 64)
        kept = F.dropout(torch.ones_like(h), 0.2, self.training)
        states = []
        for step in x.unbind(1):
            h, c = self.cell(step, (h * kept, c))
            states.append(h)
        return self.out(torch.stack(states, 1)[torch.arange(len(x)), lengths - 1])


class gru_relu(nn.Module):
    """PyTorch's GRU knows tanh alone: the input's products at once, the rest step by step."""

    def __init__(self):
        super().__init__()
        self.x, self.state, self.out = nn.Linear(19, 192), nn.Linear(64, 192), nn.Linear(64, 1)

    def forward(self, x):
        h = x.new_zeros(len(x), 64)
        for step in self.x(x).unbind(1):
            inner = self.state(h)
            gates = torch.sigmoid(step[:, :128] + inner[:, :128])
            z, r = gates.chunk(2, 1)
            h = torch.lerp(F.relu(step[:, 128:] + r * inner[:, 128:]), h, z)
        return self.out(h)
