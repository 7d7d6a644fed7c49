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
