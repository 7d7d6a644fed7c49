"""The ways each peer can compute the step, the plainest first; bench/README.md says what they are. Imports no library."""

MODES = {
    "torch": (
        "eager",
        "eager-channels-last",
        "eager-channels-last-folded",
        "compile",
        "compile-channels-last",
        "compile-channels-last-folded",
    ),
    "tensorflow": ("graph", "graph-folded", "xla-folded"),
}

# Of recurrent_layer.py: a mode names its library.
RECURRENT_MODES = ("torch:padded", "torch:packed", "keras:graph", "keras:jit")

# Of model_step.py. The models of keras_models.py and torch_models.py with the events of a step; images are those with
# convolutions, for which PyTorch has a second layout.
MODEL_BATCHES = {
    "dense": 256,
    "cnn2d": 64,
    "resnet": 64,
    "cnn3d": 32,
    "transformer": 64,
    "deepsets": 256,
    "separable": 64,
    "lstm": 64,
    "gru": 64,
    "lstm_dropout": 64,
    "gru_relu": 64,
}
MODEL_IMAGES = ("cnn2d", "resnet", "cnn3d", "separable")
MODEL_MODES = (
    "keras:graph",
    "keras:jit",
    "torch:eager",
    "torch:eager-channels-last",
    "torch:compile",
    "torch:compile-channels-last",
)


def model_modes(model):
    return tuple(mode for mode in MODEL_MODES if model in MODEL_IMAGES or not mode.endswith("channels-last"))
