"""linac evaluate against scikit-learn, on random predictions with ties and unequal classes: evaluate_test.py FOLDER

LINAC names the program. Exit status 1 where a number differs or a bad call is not refused as it should be.
"""

import json
import pathlib
import subprocess
import sys

import h5py
import numpy as np
from sklearn import metrics

from lib.runs import LINAC

EVENTS, LIMIT, BINS = 4001, 1e-6, 15
CLIP = float(np.finfo("float32").eps)  # of the log loss, as scikit-learn has it for float32
WORKING_POINTS = (50, 80, 90, 95)


def linac(*arguments):
    return subprocess.run([LINAC, "evaluate", *map(str, arguments)], text=True, capture_output=True)


class Checker:
    def __init__(self):
        self.worst, self.numbers, self.ok = 0.0, 0, True

    def same(self, what, ours, theirs):
        off = abs(ours - theirs) / max(1.0, abs(theirs))
        self.worst, self.numbers = max(self.worst, off), self.numbers + 1
        if not off <= LIMIT:
            print(f"FAIL {what}: linac {ours!r}, scikit-learn {theirs!r}")
            self.ok = False

    def done(self, what):
        print(f"{'ok  ' if self.ok else 'FAIL'} {what}: {self.numbers} numbers, largest difference {self.worst:.1e} (limit {LIMIT:g})")
        return self.ok


def probabilities(rng, classes, columns):
    """Coarse, so that events tie; but no two classes of one event: which of them is first is a matter of taste."""
    truth = rng.choice(len(classes), EVENTS, p=classes)
    logits = np.round(rng.normal(0, 1, (EVENTS, len(classes))), 1) + 0.01 * np.arange(len(classes))
    logits[np.arange(EVENTS), truth] += 1
    p = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    if columns > 1:  # certainties: a right one, and a class that is impossible and true
        p[0], p[1] = np.eye(len(classes))[truth[0]], np.arange(len(classes)) / np.arange(len(classes)).sum()
        truth[1] = 0
    return truth, (p if columns > 1 else np.round(p[:, 1:], 2)).astype("float32")


def write(path, **arrays):
    with h5py.File(path, "w") as h5:
        for name, values in arrays.items():
            h5[name] = values


def scores_of(report, model=0):
    return {(s["name"], s["part"]): s for s in report["models"][model]["scores"]}


def rejection(truth, score, percent, weight):
    """Linearly between thresholds, the lowest background where the signal efficiency stays the same."""
    fpr, tpr, _ = metrics.roc_curve(truth, score, drop_intermediate=False, sample_weight=weight)
    after = int(np.argmax(tpr >= percent / 100 - 1e-12))
    part = (percent / 100 - tpr[after - 1]) / (tpr[after] - tpr[after - 1])
    return 1 / (fpr[after - 1] + part * (fpr[after] - fpr[after - 1]))


def bins_of(score):
    return np.searchsorted(np.linspace(0, 1, BINS + 1)[1:-1], score)


def reliability(truth, score, weight):
    """scikit-learn's calibration_curve has no weights; without them this is what it gives."""
    sums = [np.bincount(bins_of(score), weight * values, BINS) for values in (np.ones(len(score)), truth, score)]
    return [(i, a / w, b / w) for i, (w, a, b) in enumerate(zip(*sums)) if w != 0]


def check_class(check, name, found, detail, truth, score, weight):
    check.same(f"auc of {name}", found["auc", name]["value"], metrics.roc_auc_score(truth, score, sample_weight=weight))
    check.same(f"ap of {name}", found["average_precision", name]["value"], metrics.average_precision_score(truth, score, sample_weight=weight))
    for percent in WORKING_POINTS:
        check.same(f"rejection of {name}", found[f"rejection_{percent}", name]["value"], rejection(truth, score, percent, weight))
    expected = reliability(truth, score, weight)
    filled = [i for i, events in enumerate(detail["reliability"]["events"]) if events]
    assert filled == [i for i, *_ in expected]
    for i, a, b in expected:
        check.same(f"reliability of {name}", detail["reliability"]["observed"][i], a)
        check.same(f"reliability of {name}", detail["reliability"]["predicted"][i], b)
    fpr, tpr, _ = metrics.roc_curve(truth, score, drop_intermediate=False, sample_weight=weight)
    theirs = {(round(x, 9), round(y, 9)) for x, y in zip(fpr, tpr)}
    ours = detail["roc"]
    check.same(f"points of {name}", sum((round(x, 9), round(y, 9)) in theirs for x, y in zip(ours["fpr"], ours["tpr"])), len(ours["fpr"]))
    area = metrics.auc(ours["fpr"], ours["tpr"])
    check.same(f"area below the points of {name}", float(abs(area - found["auc", name]["value"]) < 1e-4), 1.0)
    ratio = found["auc", name]["error"] / detail["auc_delong_error"]
    check.same(f"DeLong and bootstrap of {name} ({ratio:.2f})", float(0.85 < ratio < 1.15), 1.0)


def check_classifier(folder, classes, columns, target, weighted=False):
    """With weights as simulations have them: of very different sizes, and none for some events."""
    rng = np.random.default_rng(len(classes) + columns)
    truth, p = probabilities(rng, classes, columns)
    weight = np.where(rng.random(EVENTS) < 0.1, 0, rng.exponential(3, EVENTS)).astype("float32") if weighted else np.ones(EVENTS, "float32")
    weight64 = weight.astype("float64")
    names = [f"class {i}" for i in range(len(classes))]
    full = (p if columns > 1 else np.hstack([1 - p.astype("float64"), p])).astype("float64")
    write(folder / "predictions.h5", label=p)
    write(folder / "targets.h5", one_hot=np.eye(len(classes), dtype="int8")[truth], number=truth.astype("int64"), weight=weight,
          text=np.array([name.encode() for name in names])[truth])
    done = linac("--predictions", folder / "predictions.h5", "--targets", f"{folder}/targets.h5:{target}", "--out", folder / "report", "--bootstraps", 400,
                 *(("--weights", f"{folder}/targets.h5:weight") if weighted else ()))
    assert done.returncode == 0, done.stderr
    report = json.loads((folder / "report" / "report.json").read_text())
    found, model, check = scores_of(report), report["models"][0], Checker()
    by_name = linac("--predictions", folder / "predictions.h5", "--targets", f"{folder}/targets.h5:text", "--classes", ",".join(names),
                    "--out", folder / "by_name", "--bootstraps", 0, *(("--weights", f"{folder}/targets.h5:weight") if weighted else ()))
    assert by_name.returncode == 0, by_name.stderr
    same = json.loads((folder / "by_name" / "report.json").read_text())["models"][0]["confusion"] == model["confusion"]
    check.same("the truth as texts gives the same confusion", float(same), 1.0)
    decision = p.argmax(1) if columns > 1 else (p[:, 0] >= 0.5).astype(int)
    check.same("confusion", float(np.allclose(model["confusion"], metrics.confusion_matrix(truth, decision, sample_weight=weight64), rtol=1e-9, atol=0)), 1.0)
    check.same("accuracy", found["accuracy", None]["value"], metrics.accuracy_score(truth, decision, sample_weight=weight64))
    check.same("balanced accuracy", found["balanced_accuracy", None]["value"], metrics.balanced_accuracy_score(truth, decision, sample_weight=weight64))
    check.same("log loss", found["log_loss", None]["value"], metrics.log_loss(truth, np.clip(full, CLIP, 1 - CLIP) if columns == 1 else normalised(full), sample_weight=weight64))
    check.same("brier", found["brier", None]["value"], metrics.brier_score_loss(truth, full[:, 1], sample_weight=weight64) if columns == 1
               else float(np.average(((full - np.eye(len(classes))[truth]) ** 2).sum(1), weights=weight64)))
    for k in (2, 3, 5):
        if k < len(classes):
            check.same(f"top {k}", found[f"top_{k}", None]["value"], metrics.top_k_accuracy_score(truth, full, k=k, sample_weight=weight64))
    precision, recall, f1, _ = metrics.precision_recall_fscore_support(truth, decision, sample_weight=weight64)
    calibration = lambda hit, p: sum(w * abs(a - b) for w, a, b in ((weight64[bins_of(p) == i].sum(), a, b) for i, a, b in reliability(hit, p, weight64))) / weight64.sum()
    check.same("calibration", found["ece", None]["value"], calibration(truth == decision, full[np.arange(EVENTS), decision]))
    for i, name in enumerate(names):
        check.same("precision", found["precision", name]["value"], precision[i])
        check.same("recall", found["recall", name]["value"], recall[i])
        check.same("f1", found["f1", name]["value"], f1[i])
        check.same("support", report["support"][i], int((truth == i).sum()))
        check.same("calibration", found["ece", name]["value"], calibration(truth == i, full[:, i]))
        check_class(check, name, found, model["classes"][i], truth == i, full[:, i], weight64)
    if columns > 2:
        for average in ("macro", "weighted"):
            check.same(average, found[f"auc_{average}", None]["value"], metrics.roc_auc_score(truth, normalised(full, 0), multi_class="ovr", average=average, sample_weight=weight64))
    return check.done(f"{len(classes)} classes, {columns} columns, targets {target}{', weights' if weighted else ''}")


def normalised(p, clip=CLIP):
    """Rows that add up to 1 in double precision, as scikit-learn wants them; the clipped certainties stay clipped."""
    p = np.clip(p, clip, 1 - clip)
    return p / p.sum(1, keepdims=True)


def check_regression(folder, weighted=False):
    rng = np.random.default_rng(9)
    truth = np.stack([rng.exponential(20, EVENTS) + 1000, rng.normal(0, 1, EVENTS)], 1).astype("float32")
    ours = (truth + rng.normal(0.1, 0.5, truth.shape)).astype("float32")
    other = (truth + rng.normal(0, 1, truth.shape)).astype("float32")
    write(folder / "a.h5", out=ours)
    write(folder / "b.h5", out=other)
    weight = rng.uniform(-0.2, 2, EVENTS).astype("float32")
    write(folder / "truth.h5", y=truth, weight=weight)
    weight = weight.astype("float64") if weighted else None
    done = linac("--predictions", folder / "a.h5", "--compare", folder / "b.h5", "--targets", f"{folder}/truth.h5:y", "--task", "regression", "--json", "--bootstraps", 20,
                 *(("--weights", f"{folder}/truth.h5:weight") if weighted else ()))
    assert done.returncode == 0, done.stderr
    report, check = json.loads(done.stdout), Checker()
    for model, values in ((0, ours), (1, other)):
        found = scores_of(report, model)
        for i in range(2):
            name, t, p = f"output {i}", truth[:, i].astype("float64"), values[:, i].astype("float64")
            spread = np.average((t - np.average(t, weights=weight)) ** 2, weights=weight)
            r2 = 1 - metrics.mean_squared_error(t, p, sample_weight=weight) / spread if weighted else metrics.r2_score(t, p)
            check.same("mse", found["mse", name]["value"], metrics.mean_squared_error(t, p, sample_weight=weight))
            check.same("mae", found["mae", name]["value"], metrics.mean_absolute_error(t, p, sample_weight=weight))
            check.same("r2", found["r2", name]["value"], r2)
            check.same("bias", found["bias", name]["value"], float(np.average(p - t, weights=weight)))
            check.same("resolution", found["resolution", name]["value"], float(np.sqrt(np.average((p - t - np.average(p - t, weights=weight)) ** 2, weights=weight))))
    return check.done(f"regression, two models{', weights' if weighted else ''}")


def check_below_zero(folder):
    """With weights below zero no average precision stands, which may be above 1; of one column either."""
    rng, ok = np.random.default_rng(12), True
    for columns in (3, 1):
        truth = rng.choice(max(columns, 2), EVENTS, p=[0.9, 0.07, 0.03] if columns > 1 else [0.1, 0.9])
        score = rng.uniform(0, 1, EVENTS) if columns == 1 else rng.dirichlet(np.ones(columns), EVENTS)
        likely = np.abs(truth - score) < 0.8 if columns == 1 else score[:, 0] > 0.1
        weight = np.where(likely & (rng.random(EVENTS) < 0.9), 1, -0.9)
        write(folder / "below.h5", p=score.reshape(EVENTS, columns).astype("f4"))
        write(folder / "below_t.h5", y=truth, weight=weight)
        done = linac("--predictions", folder / "below.h5", "--targets", f"{folder}/below_t.h5:y", "--weights", f"{folder}/below_t.h5:weight", "--json", "--bootstraps", 0)
        report = json.loads(done.stdout) if done.returncode == 0 else {"models": [{"scores": []}]}
        found = {part: one["value"] for (name, part), one in scores_of(report).items() if name == "average_precision"}
        good = len(found) > 0 and all(value is None for value in found.values()) and len(report["left_out"]) >= len(found)
        print(f"{'ok  ' if good else 'FAIL'} {columns} columns, weights below zero: average precision {found} {done.stderr.strip()[-200:]}")
        ok = ok and good
    return ok


def refused(status, text, *arguments):
    done = linac(*arguments)
    ok = done.returncode == status and text in done.stderr
    print(f"{'ok  ' if ok else 'FAIL'} status {done.returncode}: {done.stderr.strip()[-300:]}")
    return ok


def check_refusals(folder):
    p = np.full((10, 2), 0.5, "float32")
    write(folder / "p.h5", p=p, logits=p * 7, short=p[:-1], one=p[:, :1], three=np.full((10, 3), 1 / 3, "float32"))
    write(folder / "t.h5", y=np.arange(10) % 2, same=np.zeros(10), five=np.arange(10) % 5, soft=p, text=np.array(list("abacababab"), "S"), few=np.ones(9), nan=np.full(10, np.nan), below=np.arange(10) % 2 - 0.5)
    call = ("--targets", f"{folder}/t.h5:y", "--predictions", folder / "p.h5")
    of = lambda name: ("--field", name, "--predictions", folder / "p.h5", "--targets")
    ok = refused(2, "has 5 data sets (logits, one, p, short, three)", *call)
    ok = refused(3, "no data set 'none'", *call, "--field", "none") and ok
    ok = refused(3, "has 9 events, but the targets have 10", *call, "--field", "short") and ok
    ok = refused(3, "--logits applies a softmax, --task regression judges numbers", *call, "--field", "logits") and ok
    ok = refused(3, "not one of the class numbers 0 to 1", *of("p"), f"{folder}/t.h5:five") and ok
    weighted = lambda name: (*of("p"), f"{folder}/t.h5:y", "--weights", f"{folder}/t.h5:{name}")
    ok = refused(3, "one weight for each of the 10 events", *weighted("few")) and ok
    ok = refused(3, "event 0: column 'nan' holds nan", *weighted("nan")) and ok
    ok = refused(2, "the weights of the 5 events of 'class 0' add up to -2.5", *weighted("below")) and ok
    ok = refused(2, "'text' holds texts: name the classes", *of("p"), f"{folder}/t.h5:text") and ok
    ok = refused(3, "event 3: column 'text' holds 'c', and the classes are 'a', 'b'", *of("p"), f"{folder}/t.h5:text", "--classes", "a,b") and ok
    ok = refused(3, "not one-hot", *of("p"), f"{folder}/t.h5:soft") and ok
    ok = refused(2, "all 10 events are of 'class 0'", *of("one"), f"{folder}/t.h5:same") and ok
    ok = refused(3, "has 3 columns, but there are 2 classes", *call, "--field", "p", "--compare", f"{folder}/p.h5:three") and ok
    ok = refused(2, "3 classes are named", *call, "--field", "p", "--classes", "a,b,c") and ok
    return refused(2, "--names has 1 names, but there are 2", *call, "--field", "p", "--compare", f"{folder}/p.h5:one", "--names", "a") and ok


def main():
    if len(sys.argv) != 2:
        print(__doc__)
        return 2
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    ok = check_classifier(folder, [0.6, 0.3, 0.1], 3, "one_hot")
    ok = check_classifier(folder, [0.3, 0.2, 0.2, 0.1, 0.1, 0.05, 0.05], 7, "number") and ok
    ok = check_classifier(folder, [0.9, 0.1], 1, "number") and ok
    ok = check_classifier(folder, [0.7, 0.3], 2, "one_hot") and ok
    ok = check_classifier(folder, [0.6, 0.3, 0.1], 3, "one_hot", weighted=True) and ok
    ok = check_classifier(folder, [0.7, 0.3], 1, "number", weighted=True) and ok
    ok = check_regression(folder) and check_regression(folder, weighted=True) and ok
    ok = check_below_zero(folder) and ok
    return 0 if check_refusals(folder) and ok else 1


if __name__ == "__main__":
    sys.exit(main())
