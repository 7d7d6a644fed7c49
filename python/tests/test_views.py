"""What a notebook shows: pieces of HTML that are whole, small, and safe against whatever names and numbers they are given."""

import html.parser
import subprocess

import keras
import numpy as np
import pytest
from conftest import small_model

import linac
from linac._axes import finite, thinned
from linac._views import page, plan, report, study

HOSTILE = "<script>alert(1)</script>\"'&\0\u202e"
VOID = {"meta"}


class Whole(html.parser.HTMLParser):
    """Every element is closed by its own end, and none runs code or asks another host for something."""

    def __init__(self, text):
        super().__init__()
        self.open = []
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag, attributes):
        assert tag not in ("script", "iframe", "link", "object", "img")
        for name, value in attributes:
            assert not name.startswith("on") and (name not in ("href", "src") or value.startswith("data:image/png;base64,"))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def shown(what):
    text = what if isinstance(what, str) else what._repr_html_()
    Whole(text)
    return text


def test_showers(tmp_path):
    random = np.random.default_rng(1)
    cells = random.exponential(0.01, (12, 5, 7, 3)).astype(np.float32)
    view = linac.show({"ECAL": cells, "energy": np.linspace(10, 100, 12), "theta": np.full(12, 1.5)}, events=2)
    text = shown(view)
    assert text.count("<image") == 3 * 3 + 1 and "event 1, 18.18 GeV at 1.5 rad" in text and repr(view) == "12 showers of 5 × 7 × 3 cells"
    assert set(view._repr_mimebundle_()) == {"text/html", "text/plain"}
    view.save(tmp_path / "showers.html")
    assert (tmp_path / "showers.html").read_text().endswith("</html>")
    assert shown(linac.show(cells[0])).count("<image") == 3 + 1
    assert shown(linac.show(cells, events=1000)).count("<image") == 9 * 3 + 1


@pytest.mark.parametrize("value", [0.0, -1.0, np.nan, np.inf, 1e300, 5e-324])
def test_showers_of_odd_energies(value):
    text = shown(linac.show(np.full((2, 4, 4, 4), value)))
    assert "nan cells" not in text and 'width="nan"' not in text


def test_projections():
    """One cell at (1, 2, 0) of 4 x 5 x 3: where it is seen from each side."""
    from linac._views.showers import _SIDES, _side

    cells = np.zeros((4, 5, 3))
    cells[1, 2, 0] = 7.0
    sides = [_side(cells, *side) for side in _SIDES]
    assert [side.shape for side in sides] == [(4, 5), (3, 4), (3, 5)]
    assert [tuple(int(i) for i in np.argwhere(side == 7.0)[0]) for side in sides] == [(1, 2), (0, 1), (0, 2)]


def test_png_is_read_by_others(tmp_path):
    """Its pixels as another reader has them."""
    image = pytest.importorskip("PIL.Image")
    from linac._views.showers import _png

    pixels = np.random.default_rng(2).integers(0, 256, (5, 9, 4), dtype=np.uint8)
    (tmp_path / "a.png").write_bytes(_png(pixels))
    assert np.array_equal(np.asarray(image.open(tmp_path / "a.png")), pixels)


@pytest.mark.parametrize("wrong", [np.zeros((3, 4)), np.zeros((0, 2, 2, 2)), np.array("x"), {"energy": [1.0]}, 3, "nothing.h5", "."])
def test_what_has_no_view(wrong):
    with pytest.raises(linac.LinacError, match=";"):
        linac.show(wrong)


def test_files_that_are_none(tmp_path):
    for name in ("broken.keras", "broken.h5"):
        (tmp_path / name).write_bytes(b"no such file")
        with pytest.raises(linac.LinacError, match=name):
            linac.show(name)


def test_model(model_file, monkeypatch):
    model = small_model()
    text = shown(linac.show(model))
    assert "58 parameters" in text and "4×8, 8" in text and text.count("<svg") == 2
    assert shown(linac.show(model_file)).count("<tr>") == text.count("<tr>")
    model.layers[0].set_weights([np.full((4, 8), np.nan), np.zeros(8)])
    assert "32 not finite" in shown(linac.show(model))
    monkeypatch.setattr("linac._views.model._LAYERS_MAX", 1)
    assert "and 1 more" in shown(linac.show(model))
    assert "1 layers, 0 parameters" in shown(linac.show(keras.Sequential([keras.layers.Dense(2)])))  # that is not built


def test_study(tmp_path):
    (tmp_path / "space.yaml").write_text("search: {x: {low: 0, high: 1}}\nobjective: {metric: loss, direction: minimize}\nsampler: {name: random}\nbudget: {trials: 5}\n")
    program = str(linac.program())
    subprocess.run([program, "study", "new", "space.yaml", "--out", "mine"], check=True)
    assert "0 trials" in shown(linac.show("mine"))
    for number, value in ((1, "0.5"), (2, "0.25")):
        subprocess.run([program, "study", "ask", "mine"], check=True)
        subprocess.run([program, "study", "report", "mine", str(number), "1", "0.7"], check=True)
        subprocess.run([program, "study", "tell", "mine", str(number), value], check=True)
    subprocess.run([program, "study", "ask", "mine"], check=True)
    subprocess.run([program, "study", "report", "mine", "3", "1", "0.9"], check=True)
    text = shown(linac.show(tmp_path / "mine"))
    assert shown(linac.Study("mine")) == text == shown(linac.show(linac.Study("mine")))
    assert "3 trials, the best 2" in text and "trial 1: 0.5" in text and "trial 3, stopped at 0.9" in text and ">(0.9)<" in text


def test_study_of_a_service(service):
    made = linac.Client(service.url, service.token).create_study(
        "shown", {"search": {"x": {"low": 0, "high": 1}}, "objective": {"metric": "loss"}, "sampler": {"name": "random"}, "budget": {"trials": 4}}
    )
    assert "0 trials" in shown(made) and made.best() is None
    for number, _, report in made.trials():
        report(1, 0.75)
        made.tell(number, float("nan") if number == 4 else number / 8)
    text = shown(linac.show(made))
    assert "4 trials, the best 1" in text and "trial 2: 0.25" in text and "infeasible" in text and made._repr_html_() == text
    assert made.best()["trial"] == 1 and made.state()["front"] == [made.best()]
    made.delete()
    assert made._repr_html_() is None and "shown" in repr(made)
    with pytest.raises(linac.ServiceError):
        linac.show(made)
    away = linac.Client("http://127.0.0.1:1", "none").study("mine")
    assert away._repr_html_() is None  # at once, although its calls wait an hour for a service


def test_study_of_many_trials_and_hostile_names():
    curve = [[step, "nan" if step % 3 else 1.0 / step] for step in range(1, 2000)]
    trials = [{"trial": i, "state": HOSTILE, "values": ["inf"] if i % 2 else [1e308, i], "point": {HOSTILE: HOSTILE, "x": None}, "curve": curve, "reason": HOSTILE} for i in range(1, 300)]
    text = shown(study.view(HOSTILE, trials, trials[:2]))
    assert len(text) < 200_000 and "and 269 more" in text


def interval(middle):
    return {"low": middle * 0.8, "middle": middle, "high": middle * 1.3}


def plan_of(rows):
    return {"title": HOSTILE, "deadline_s": 7200, "budget_usd": 30, "currency": {"code": "EUR", "usd": 1.25}, "rows": rows}


def test_plan():
    row = {"name": HOSTILE, "seconds": interval(3600.0), "money_usd": interval(10.0), "kwh": None, "memory_gib": 2.5, "front": True, "fits": False, "on_time": 0.1, "remarks": [HOSTILE]}
    text = shown(plan.html(plan_of([row, row | {"money_usd": None, "front": False}])))
    assert "8 (6.4 to 10.4) EUR" in text and "60 min" in text and "done in 2 h and for 30 USD" in text and "does not fit into memory; too late" in text
    assert text.count("<circle") == 1
    shown(plan.html(plan_of([])))
    busy = row | {"remarks": ["busy"], "fits": True, "on_time": 1}
    text = shown(plan.html(plan_of([busy, busy])))  # what all have is said once
    assert text.count("busy") == 1 and "<b>all</b>: busy" in text and "<th" in text and "remarks" not in text
    assert shown(plan.html(plan_of([busy, busy | {"remarks": ["busy", "slow"]}]))).count("slow") == 1
    assert "and 480 more" in shown(plan.html(plan_of([row | {"seconds": interval(10.0**i), "money_usd": interval(0.0)} for i in range(5)] * 100)))


def test_reports(trained):
    assert "succeeded" in shown(trained.report()) and "train_events" in shown(linac.check(trained))
    assert shown(linac.plan(trained, measured=trained.folder)).count("here") >= 1
    assert shown(trained) == shown(linac.show(trained.folder))
    figure = {"name": HOSTILE, "title": HOSTILE, "bin": {"energy_gev": [10.0, 50.0]}, "value": None, "uncertainty": 0.1, "floor": 0.5, "limit": 1.0, "passed": False, "verdict": "failed"}
    side = {"name": HOSTILE, "events": 3}
    free, open_one = figure | {"passed": None, "limit": None, "verdict": None}, figure | {"passed": None, "verdict": "undecided"}
    passed = figure | {"passed": True, "verdict": "passed"}
    judged = {"verdict": "failed", "reference": side, "sample": side, "figures": [free, passed, open_one, figure]}
    text = shown(report.html(judged, HOSTILE))
    assert text.index(">failed</td>") < text.index(">undecided</td>") < text.index(">passed</td>") and "energy_gev 10 to 50" in text and "and 1 more" in text
    assert shown(report.html(judged | {"verdict": None, "figures": [free] * 40}, None)).count("<tr>") == 31
    shown(report.html({HOSTILE: [HOSTILE], "a": {HOSTILE: {}}, "b": [{}]}, None))


def test_a_million_points():
    from linac._curves import Curves

    x = np.arange(1_000_000, dtype=float)
    line = list(zip(x, np.where(x == 765_432, 9.0, np.sin(x)), strict=True))
    text = shown(Curves("step", {HOSTILE: line, "b": [(0.0, float("inf")), (1.0, 1e308), (2.0, -1e308)]}))
    assert len(text) < 20_000 and "nan" not in text
    assert (765_432.0, 9.0) in thinned(line, 400) and finite([(0.0, float("nan"))]) == []


def test_words():
    assert page.words("a" * 1000).endswith("…") and page.words(float("nan")) == "nan" and page.words(None) == "–" and page.words("<") == "&lt;"
