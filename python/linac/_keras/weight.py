"""The layer that a weight of a layer of one's own becomes."""

from collections.abc import Sequence
from typing import Any

import keras
from keras import ops


@keras.saving.register_keras_serializable(package="linac_keras")
class TracedWeight(keras.layers.Layer):  # type: ignore[misc]
    """A weight by itself, with a batch axis of one in front. What it is called with only ties it to the model."""

    __module__ = "linac_keras"  # as files have it

    def __init__(self, shape: "Sequence[int]", value_regularizer: Any = None, value_constraint: Any = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.weight_shape = tuple(shape)
        self.value_regularizer = keras.regularizers.get(value_regularizer)
        self.value_constraint = keras.constraints.get(value_constraint)

    def build(self, input_shape: Any) -> None:
        self.value = self.add_weight(
            name="value", shape=self.weight_shape, initializer="zeros", regularizer=self.value_regularizer,
            constraint=self.value_constraint,
        )  # fmt: skip

    def call(self, inputs: Any) -> Any:
        return ops.expand_dims(self.value, 0)

    def compute_output_shape(self, input_shape: Any) -> "tuple[int, ...]":
        return (1, *self.weight_shape)

    def get_config(self) -> "dict[str, Any]":
        return {
            **super().get_config(),
            "shape": list(self.weight_shape),
            "value_regularizer": keras.regularizers.serialize(self.value_regularizer),
            "value_constraint": keras.constraints.serialize(self.value_constraint),
        }
