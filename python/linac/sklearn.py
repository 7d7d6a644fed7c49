"""Classifier and regressor for scikit-learn's pipelines, searches and scores: linac.fit() and linac.predict() behind fit(), predict() and
predict_proba().

    from linac.sklearn import LinacClassifier
    search = GridSearchCV(make_pipeline(StandardScaler(), LinacClassifier(epochs=30)), {"linacclassifier__hidden": [(32,), (64, 64)]})

Each fit and each prediction starts the program, a third of a second: events are given in one call, not one by one."""

import math
import os
import pathlib
import tempfile
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from linac._columns import refused

if TYPE_CHECKING:
    Array = np.ndarray[Any, Any]
    Model = Any | Callable[[int, int], Any]


class _Estimator(BaseEstimator):  # type: ignore[misc]
    """What both share."""

    def __init__(
        self,
        model: "Model" = None,
        *,
        hidden: "Sequence[int]" = (64, 64),
        activation: str = "relu",
        dropout: float = 0.0,
        optimizer: str = "adam",
        learning_rate: float = 1e-3,
        epochs: int = 50,
        batch_size: int = 32,
        replicas: "int | None" = None,
        workers: int = 1,
        validation_split: float = 0.0,
        random_state: Any = None,
        settings: "Mapping[str, Any] | None" = None,
    ) -> None:
        self.model = model
        self.hidden = hidden
        self.activation = activation
        self.dropout = dropout
        self.optimizer = optimizer
        self.learning_rate = learning_rate
        self.epochs = epochs
        self.batch_size = batch_size
        self.replicas = replicas
        self.workers = workers
        self.validation_split = validation_split
        self.random_state = random_state
        self.settings = settings

    @property
    def keras_model_(self) -> Any:
        """The trained network as a Keras model."""
        check_is_fitted(self)
        import keras

        with _file(self.model_) as path:
            return keras.saving.load_model(path)

    def _fit(self, x: "Array", y: "Array", outputs: int, end: str, loss: str, sample_weight: "Array | None") -> None:
        from linac._fit import fit

        random = check_random_state(self.random_state)
        batch = min(self.batch_size, len(x) - math.ceil(len(x) * self.validation_split))
        replicas = self.replicas if self.replicas is not None and batch % self.replicas == 0 else None
        with tempfile.TemporaryDirectory(prefix="linac-sklearn-") as folder:
            model = self._network(x.shape[1], outputs, end, loss, int(random.randint(2**31 - 1)))
            run = fit(model, x, y, epochs=self.epochs, batch_size=batch, replicas=replicas, workers=self.workers, validation_split=self.validation_split,
                      sample_weight=sample_weight, seed=int(random.randint(2**31 - 1)), folder=folder, name="fit", settings=self.settings)  # fmt: skip
            run.wait()
            self.model_ = run.model_file.read_bytes()
            self.history_ = {name: list(values) for name, values in run.history.items()}

    def _network(self, features: int, outputs: int, end: str, loss: str, seed: int) -> Any:
        model = self.model
        if isinstance(model, (str, os.PathLike)):
            return model
        import keras

        if model is None:
            model = self._layers(keras, features, outputs, end, seed)
        elif not isinstance(model, keras.Model):
            if not callable(model):
                raise refused("sklearn", f"model: {type(model).__name__} is no model", "give a Keras model, a function of (features, outputs), or none")
            model = model(features, outputs)
        if not model.compiled:
            optimizer = keras.optimizers.get({"class_name": self.optimizer, "config": {"learning_rate": self.learning_rate}})
            model.compile(optimizer, loss)
        return model

    def _layers(self, keras: Any, features: int, outputs: int, end: str, seed: int) -> Any:
        layers = [keras.Input((features,), name="x")]
        for number, units in enumerate([*self.hidden, outputs]):
            last = number == len(self.hidden)
            start = keras.initializers.GlorotUniform((seed + number) % 2**31)
            layers.append(keras.layers.Dense(units, end if last else self.activation, kernel_initializer=start))
            if not last and self.dropout:
                layers.append(keras.layers.Dropout(self.dropout))
        return keras.Sequential(layers)

    def _outputs(self, x: Any) -> "Array":
        """[events, outputs], float64."""
        from linac._verbs import predict

        check_is_fitted(self)
        x = validate_data(self, x, reset=False)
        with _file(self.model_) as path:
            found = predict(path, x)
        if isinstance(found, dict):
            raise refused("sklearn", f"the model has the outputs {', '.join(found)}", "give one with one output")
        outputs: Array = np.asarray(found, np.float64)
        return outputs


class _file:
    """A model's bytes as a file, while one reads it."""

    def __init__(self, content: bytes) -> None:
        self._content = content

    def __enter__(self) -> pathlib.Path:
        self._folder = tempfile.TemporaryDirectory(prefix="linac-sklearn-")
        path = pathlib.Path(self._folder.name) / "model.keras"
        path.write_bytes(self._content)
        return path

    def __exit__(self, *_: object) -> None:
        self._folder.cleanup()


class LinacClassifier(ClassifierMixin, _Estimator):  # type: ignore[misc]
    """A network that tells classes apart, trained by linac.fit().

    model: a Keras model whose last layer is softmax over the classes (or one sigmoid for two), of which a copy is trained; its path; or a function of
        (features, outputs) that makes one. None: dense layers of `hidden` units with `activation`, and `dropout` behind each. One that is not
        compiled gets `optimizer` with `learning_rate`.
    epochs, batch_size, replicas, workers, validation_split, settings: of linac.fit(). batch_size is at most the number of events.
    class_weight: None, "balanced", or a dict by class. random_state: of the first weights and of the order of events.

    After fit(): classes_, and what the regressor has: n_features_in_, feature_names_in_ of a data frame, model_, history_, keras_model_."""

    def __init__(
        self,
        model: "Model" = None,
        *,
        hidden: "Sequence[int]" = (64, 64),
        activation: str = "relu",
        dropout: float = 0.0,
        optimizer: str = "adam",
        learning_rate: float = 1e-3,
        epochs: int = 50,
        batch_size: int = 32,
        replicas: "int | None" = None,
        workers: int = 1,
        validation_split: float = 0.0,
        class_weight: Any = None,
        random_state: Any = None,
        settings: "Mapping[str, Any] | None" = None,
    ) -> None:
        super().__init__(
            model, hidden=hidden, activation=activation, dropout=dropout, optimizer=optimizer, learning_rate=learning_rate, epochs=epochs,
            batch_size=batch_size, replicas=replicas, workers=workers, validation_split=validation_split, random_state=random_state, settings=settings,
        )  # fmt: skip
        self.class_weight = class_weight

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "LinacClassifier":
        """X: [events, features]; y: [events], numbers or texts; sample_weight: [events]."""
        X, y = validate_data(self, X, y)
        check_classification_targets(y)
        self.classes_, places = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(f"LinacClassifier tells classes apart, and y has one class, {self.classes_[0]!r}")
        if sample_weight is not None or self.class_weight is not None:
            sample_weight = _check_sample_weight(sample_weight, X)
            sample_weight = sample_weight * compute_sample_weight(self.class_weight, y)
        self._fit(X, places.astype(np.int64), len(self.classes_), "softmax", "sparse_categorical_crossentropy", sample_weight)
        return self

    def predict_proba(self, X: Any) -> "Array":
        """[events, classes], in the order of classes_."""
        scores = self._outputs(X)
        if scores.shape[1] == 1:
            scores = np.hstack([1 - scores, scores])
        proba: Array = scores / scores.sum(axis=1, keepdims=True)
        return proba

    def predict(self, X: Any) -> "Array":
        """[events], of the classes of y."""
        best = self.predict_proba(X).argmax(axis=1)  # which says so where fit() was not called
        classes: Array = self.classes_[best]
        return classes


class LinacRegressor(RegressorMixin, _Estimator):  # type: ignore[misc]
    """A network of one number an event, or several, trained by linac.fit() on the mean squared error, or as its model is compiled.

    Parameters as of LinacClassifier; the last layer is linear. After fit(): n_features_in_, feature_names_in_ of a data frame, model_ (the bytes of the
    trained .keras file), history_ (by measure, a value an epoch), keras_model_."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "LinacRegressor":
        """X: [events, features]; y: [events] or [events, values]; sample_weight: [events]."""
        X, y = validate_data(self, X, y, multi_output=True, y_numeric=True)
        if sample_weight is not None:
            sample_weight = _check_sample_weight(sample_weight, X)
        self._shape = y.shape[1:]
        self._fit(X, y.reshape(len(y), -1), math.prod(self._shape), "linear", "mean_squared_error", sample_weight)
        return self

    def predict(self, X: Any) -> "Array":
        """[events] or [events, values], as y was."""
        return self._outputs(X).reshape(-1, *self._shape)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags
