"""LinacClassifier and LinacRegressor as scikit-learn has them. Its own checks start the program hundreds of times: a few stand here, all of them
with LINAC_LONG=1."""

import os
import pickle

import numpy as np
import pytest
from conftest import small_events, small_model
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import estimator_checks_generator

import linac
from linac.sklearn import LinacClassifier, LinacRegressor

LONG = "LINAC_LONG" in os.environ
QUICK = {"random_state": 1, "epochs": 40, "batch_size": 8, "learning_rate": 0.02, "hidden": (16,)}
# Those that train nothing, or once.
SHORT = {
    "check_estimator_cloneable", "check_no_attributes_set_in_init", "check_parameters_default_constructible", "check_get_params_invariance", "check_set_params",
    "check_do_not_raise_errors_in_init_or_set_params", "check_estimators_unfitted", "check_mixin_order", "check_valid_tag_types", "check_estimator_repr",
    "check_estimators_nan_inf", "check_fit1d", "check_complex_data", "check_classifiers_one_label", "check_estimator_sparse_tag", "check_fit2d_1sample",
}  # fmt: skip
WEIGHTS_ARE_NO_REPEATS = "an event of weight 2 is in one batch, and two equal events are in several: the order of a training differs"


LEFT_OUT = {"check_sample_weight_equivalence_on_dense_data": WEIGHTS_ARE_NO_REPEATS}


def checks():
    for estimator in (LinacClassifier(**QUICK), LinacRegressor(**QUICK)):
        for _, check in estimator_checks_generator(estimator):
            name = getattr(check, "func", check).__name__
            if LONG or name in SHORT:
                reason = LEFT_OUT.get(name)
                marks = [pytest.mark.xfail(reason=reason)] if reason else []
                yield pytest.param(estimator, check, marks=marks, id=f"{type(estimator).__name__}-{name}")


@pytest.mark.parametrize(("estimator", "check"), checks())
def test_its_checks(estimator, check):
    check(estimator)


def test_classes_as_texts():
    x, y = small_events(400)
    names = np.where(y == 1, "signal", "background")
    model = LinacClassifier(**QUICK).fit(x, names)
    assert list(model.classes_) == ["background", "signal"] and model.score(x, names) > 0.9 and len(model.history_["loss"]) == 40
    proba = model.predict_proba(x)
    assert proba.shape == (400, 2) and np.allclose(proba.sum(axis=1), 1)
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.predict_proba(x), proba) and np.array_equal(clone(model).fit(x, names).predict_proba(x), proba)
    assert model.keras_model_.count_params() == 4 * 16 + 16 + 16 * 2 + 2


def test_weights():
    x, y = small_events(200)
    heavy = LinacClassifier(**QUICK).fit(x, y, sample_weight=np.where(y == 1, 100.0, 0.01)).predict(x)
    assert heavy.mean() > y.mean() + 0.2
    assert LinacClassifier(**QUICK, class_weight={0: 100.0, 1: 0.01}).fit(x, y).predict(x).mean() < y.mean() - 0.1


def test_regression():
    x, _ = small_events(400)
    y = np.stack([x.sum(axis=1), x[:, 0]], axis=1)
    model = LinacRegressor(**QUICK).fit(x, y)
    assert model.predict(x).shape == (400, 2) and model.score(x, y) > 0.9
    assert LinacRegressor(**QUICK).fit(x, y[:, 0]).predict(x).shape == (400,)


def test_pipeline_and_search():
    x, y = small_events(200)
    search = GridSearchCV(make_pipeline(StandardScaler(), LinacClassifier(**QUICK)), {"linacclassifier__epochs": [1, 40]}, cv=2).fit(1e4 * x, y)
    assert search.best_params_ == {"linacclassifier__epochs": 40} and search.best_score_ > 0.8


def test_keras_models(model_file):
    x, y = small_events(400)
    model = small_model()
    before = model.get_weights()[0].copy()
    for given in (model, str(model_file), lambda features, outputs: small_model()):
        assert LinacClassifier(given, epochs=5, random_state=1).fit(x, y).score(x, y) > 0.85
    assert np.array_equal(model.get_weights()[0], before)  # it stays as it is
    import keras

    one = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1, "sigmoid")])
    one.compile(keras.optimizers.Adam(0.05), "binary_crossentropy")
    assert LinacClassifier(one, epochs=10, random_state=1).fit(x, y).predict_proba(x).shape == (400, 2)


def test_refused():
    x, y = small_events(100)
    with pytest.raises(ValueError, match="one class"):
        LinacClassifier().fit(x, np.zeros(100))
    with pytest.raises(linac.LinacError, match="no model"):
        LinacClassifier(3).fit(x, y)
    with pytest.raises(linac.LinacError, match="epochs"):
        LinacClassifier(epochs=-1).fit(x, y)
