"""A module of PyTorch in fit(): exported, trained with the same bits on any number of workers, and back as a module; as PyTorch trains it;
what is refused."""

import numpy as np
import pytest
from conftest import small_events

import linac
from linac import _words

torch = pytest.importorskip("torch")
nn = torch.nn


def net(*more):
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(4, 8), nn.ReLU(), *more, nn.Linear(8, 2))


class Two(nn.Module):
    """Kinds [3], momenta [3, 2], of which some may be missing."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(2)
        self.kinds, self.momenta, self.out = nn.Embedding(6, 4), nn.Linear(2, 4), nn.Linear(4, 1)

    def forward(self, kinds, momenta, scale=None):
        x = (self.kinds(kinds) + self.momenta(momenta)).mean(1)
        return self.out(x if scale is None else x * scale)


def same(a, b):
    one, other = a.model.state_dict(), b.model.state_dict()
    return list(one) == list(other) and all(torch.equal(one[name], other[name]) for name in one)


def test_fit_predict_and_workers(tmp_path):
    x, y = small_events()
    model = net(nn.BatchNorm1d(8), nn.Dropout(0.1)).eval()
    before = {name: weight.clone() for name, weight in model.state_dict().items()}
    words = {"loss": nn.CrossEntropyLoss(), "optimizer": torch.optim.Adam(model.parameters(), lr=0.01), "metrics": ["accuracy"], "epochs": 3, "batch_size": 24}
    words |= {"replicas": 3, "seed": 7, "validation_split": 0.25}
    runs = [linac.fit(model, torch.from_numpy(x), y, workers=workers, **words) for workers in (1, 2, 3)]
    assert all(same(run.wait(), runs[0]) for run in runs)
    assert all(torch.equal(before[name], weight) for name, weight in model.state_dict().items()) and not model.training
    history = runs[0].history
    assert history["val_accuracy"].iloc[-1] > 0.8 and history["loss"].iloc[-1] < history["loss"].iloc[0]
    trained = runs[0].model
    assert type(trained) is type(model) and trained.training is False and not torch.equal(trained[0].weight, model[0].weight)
    with torch.no_grad():
        wanted = trained(torch.from_numpy(x).float()).numpy()
    assert np.abs(linac.predict(runs[0], x) - wanted).max() < 1e-5
    # Another kernel has no module; the program is one, with the same names of weights.
    again = linac.Run(runs[0].folder)
    model.load_state_dict(again.model.state_dict())
    assert same(again, runs[0]) and torch.equal(model[0].weight, trained[0].weight)
    assert linac.fit(tmp_path / runs[0].folder / "models" / "model.pt2", {"input": x}, y, loss="sparse_categorical_crossentropy",
                     settings={"train.fit.from_logits": True}).wait().status == "succeeded"  # fmt: skip


@pytest.mark.parametrize("kind", ["SGD", "Adam", "AdamW", "RMSprop"])
def test_as_pytorch(kind):
    """A step after the other on all events: within rounding. Epsilon is small, as it counts otherwise (docs/guide/python.md)."""
    x, y = small_events(64)
    more = {"SGD": {"momentum": 0.9, "nesterov": True}, "AdamW": {"weight_decay": 0.1, "eps": 1e-12}}.get(kind, {"eps": 1e-12})
    ours, theirs = net(), net()
    y = np.eye(2)[y]
    run = linac.fit(ours, x, y, loss=nn.CrossEntropyLoss(label_smoothing=0.1), optimizer=getattr(torch.optim, kind)(ours.parameters(), lr=0.01, **more), epochs=5, batch_size=64, replicas=1)
    optimizer, loss = getattr(torch.optim, kind)(theirs.parameters(), lr=0.01, **more), nn.CrossEntropyLoss(label_smoothing=0.1)
    for _ in range(5):
        optimizer.zero_grad()
        loss(theirs(torch.from_numpy(x).float()), torch.from_numpy(y).float()).backward()
        optimizer.step()
    for name, weight in run.wait().model.state_dict().items():
        assert torch.allclose(weight, theirs.state_dict()[name], atol=1e-6), name


def test_several_inputs():
    """Whole numbers for an Embedding; lists of several lengths, padded with zeros; an argument that may be left out."""
    ak = pytest.importorskip("awkward")
    random = np.random.default_rng(3)
    kinds, momenta, y = random.integers(0, 6, (96, 3)), random.normal(size=(96, 3, 2)), random.normal(size=96)
    words = {"loss": nn.MSELoss(), "optimizer": "adam", "seed": 7}
    run = linac.fit(Two(), {"kinds": kinds, "momenta": momenta}, y, **words)
    with torch.no_grad():
        wanted = run.wait().model(torch.from_numpy(kinds), torch.from_numpy(momenta).float()).numpy()
    assert np.abs(linac.predict(run, [kinds, momenta]) - wanted).max() < 1e-5
    assert same(run, linac.fit(Two(), [kinds, momenta], y, **words).wait())
    short = [row[: 1 + i % 3].tolist() for i, row in enumerate(momenta)]
    padded = np.zeros_like(momenta)
    for i, row in enumerate(short):
        padded[i, : len(row)] = row
    one = linac.fit(Two(), {"kinds": kinds, "momenta": ak.to_regular(ak.Array(short), axis=2)}, y, **words)
    assert same(one.wait(), linac.fit(Two(), {"kinds": kinds, "momenta": padded}, y, **words).wait())
    assert len(linac.fit(Two(), {"kinds": kinds, "momenta": momenta, "scale": y[:, None]}, y, **words).wait().history) == 1
    with pytest.raises(linac.LinacError, match=r"'scale' is a number for each event.*\[events, 1\]"):
        linac.fit(Two(), {"kinds": kinds, "momenta": momenta, "scale": y}, y, **words)


class Branch(nn.Module):
    def forward(self, x):
        return x if x.sum() > 0 else -x


class Fixed(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 2)

    def forward(self, x):
        return self.layer(x.reshape(64, 4))


def weighted(model):
    return [{"params": model[0].parameters()}, {"params": model[2].parameters(), "lr": 1.0}]


def test_refused(monkeypatch):
    x, y = small_events(64)
    model = net()
    loss, adam = nn.CrossEntropyLoss(), torch.optim.Adam
    for wrong, words, said in (
        (model, {}, "says nothing of its loss"), (model, {"loss": nn.NLLLoss()}, "NLLLoss has no name"), (model, {"loss": lambda a, b: 0}, "<lambda> has no name"),
        (model, {"loss": "crossentropie"}, "crossentropie"), (model, {"loss": loss, "optimizer": "adan"}, "adan"), (model, {"loss": loss, "metrics": ["akkuracy"]}, "akkuracy"),
        (model, {"loss": nn.CrossEntropyLoss(weight=torch.ones(2))}, "weight.*class_weight"), (model, {"loss": nn.MSELoss(reduction="sum")}, "reduction"),
        (model, {"loss": nn.CrossEntropyLoss(label_smoothing=0.1)}, "numpy.eye"),
        (model, {"loss": loss, "optimizer": adam(model.parameters(), weight_decay=0.1)}, "AdamW"), (model, {"loss": loss, "optimizer": adam(net().parameters())}, "not over"),
        (model, {"loss": loss, "optimizer": adam(weighted(model))}, "2 groups"), (model, {"loss": loss, "optimizer": torch.optim.LBFGS(model.parameters())}, "LBFGS"),
        (model, {"loss": loss, "optimizer": adam(model.parameters(), maximize=True)}, "maximize"), (model, {"loss": loss, "metrics": [3]}, "metrics"),
        (Branch(), {"loss": loss}, "torch.export cannot write Branch"), (Fixed(), {"loss": loss}, "torch.export cannot write Fixed"),
    ):  # fmt: skip
        with pytest.raises(linac.LinacError, match=said):
            linac.fit(wrong, x, y, **words)
    with pytest.raises(linac.LinacError, match="no arguments with names"):
        linac.fit(type("Any", (nn.Module,), {"forward": lambda self, *x: x[0]})(), x, y, loss=loss)
    with pytest.raises(linac.LinacError, match="as examples"):
        linac.fit(model, "events.arrow", "y", loss=loss)
    with pytest.raises(linac.LinacError, match="torch.export cannot write Sequential"):
        linac.fit(model, {"a": x, "b": x}, y, loss=loss)
    monkeypatch.setattr(torch, "__version__", "2.6.0+cpu")
    with pytest.raises(linac.LinacError, match="PyTorch 2.6.0.* install PyTorch 2.11, or .*TorchScript"):
        linac.fit(model, x, y, loss=loss)


def test_other_words():
    """Of what is trained by none of the tests above."""
    model = net()
    named = {kind: _words.optimizer_settings(getattr(torch.optim, kind)(model.parameters()), model)["train.optimizer"]["name"] for kind in _words._OPTIMIZERS}
    assert named == {kind: kind.lower() for kind in _words._OPTIMIZERS}
    assert _words.loss_settings(nn.BCEWithLogitsLoss(), False) == {"train.fit.loss": ["binary_crossentropy"], "train.fit.from_logits": True}
    assert _words.loss_settings(nn.CrossEntropyLoss(), False)["train.fit.loss"] == ["categorical_crossentropy"]
    with pytest.raises(linac.LinacError, match="delta = 2.0"):
        _words.loss_settings(nn.HuberLoss(delta=2.0), False)
