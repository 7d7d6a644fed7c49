"""The functions that bench/tune.py minimises, each with its space and its least value.

A space is the list of parameters that linac's `tune_ask` reads; a function takes the values of those that are active, by
name. Branin and Hartmann: Dixon and Szego, "The global optimization problem: an introduction", 1978. Rosenbrock: The
Computer Journal 3, 1960. Ackley: "A connectionist machine for genetic hillclimbing", 1987; shifted, or the middle of the
space would be its least. `network` is made up: what a search of a network's settings looks like."""

import math


def numbers(count: int, low: float, high: float) -> list[dict]:
    return [{"name": f"x{i}", "kind": "uniform", "low": low, "high": high} for i in range(count)]


def vector(point: dict) -> list[float]:
    return [point[f"x{i}"] for i in range(len(point))]


def branin(point: dict) -> float:
    x, y = vector(point)
    return (y - 5.1 / (4 * math.pi**2) * x**2 + 5 / math.pi * x - 6) ** 2 + 10 * (1 - 1 / (8 * math.pi)) * math.cos(x) + 10


HARTMANN_SCALES = (1.0, 1.2, 3.0, 3.2)
HARTMANN_WIDTHS = ((10, 3, 17, 3.5, 1.7, 8), (0.05, 10, 17, 0.1, 8, 14), (3, 3.5, 1.7, 10, 17, 8), (17, 8, 0.05, 10, 0.1, 14))
HARTMANN_PLACES = ((0.1312, 0.1696, 0.5569, 0.0124, 0.8283, 0.5886), (0.2329, 0.4135, 0.8307, 0.3736, 0.1004, 0.9991),
                   (0.2348, 0.1451, 0.3522, 0.2883, 0.3047, 0.6650), (0.4047, 0.8828, 0.8732, 0.5743, 0.1091, 0.0381))  # fmt: skip


def hartmann6(point: dict) -> float:
    x = vector(point)
    return -sum(scale * math.exp(-sum(a * (v - p) ** 2 for a, v, p in zip(widths, x, places)))
                for scale, widths, places in zip(HARTMANN_SCALES, HARTMANN_WIDTHS, HARTMANN_PLACES))


def rosenbrock4(point: dict) -> float:
    x = vector(point)
    return sum(100 * (x[i + 1] - x[i] ** 2) ** 2 + (1 - x[i]) ** 2 for i in range(3))


ACKLEY_SHIFT = (7.1, -13.3, 4.7, 18.2, -9.6)


def ackley5(point: dict) -> float:
    x = [value - shift for value, shift in zip(vector(point), ACKLEY_SHIFT)]
    return (20 + math.e - 20 * math.exp(-0.2 * math.sqrt(sum(v * v for v in x) / 5))
            - math.exp(sum(math.cos(2 * math.pi * v) for v in x) / 5))


NETWORK = [
    {"name": "kind", "kind": "categorical", "choices": ["dense", "convolution", "trees"]},
    {"name": "rate", "kind": "log", "low": 1e-5, "high": 1e-1},
    {"name": "optimizer", "kind": "categorical", "choices": ["sgd", "adam", "rmsprop"], "when": {"kind": ["dense", "convolution"]}},
    {"name": "layers", "kind": "integer", "low": 1, "high": 8, "when": {"kind": ["dense", "convolution"]}},
    {"name": "width", "kind": "integer", "low": 8, "high": 1024, "log": True, "when": {"kind": ["dense", "convolution"]}},
    {"name": "dropout", "kind": "uniform", "low": 0.0, "high": 0.6, "when": {"kind": ["dense"]}},
    {"name": "kernel", "kind": "integer", "low": 1, "high": 9, "step": 2, "when": {"kind": ["convolution"]}},
    {"name": "depth", "kind": "integer", "low": 2, "high": 12, "when": {"kind": ["trees"]}},
    {"name": "subsample", "kind": "uniform", "low": 0.2, "high": 1.0, "when": {"kind": ["trees"]}},
]


def network(point: dict) -> float:
    rate, kind = math.log10(point["rate"]), point["kind"]
    if kind == "trees":
        return 0.4 + 0.3 * (rate + 1.5) ** 2 + 0.02 * (point["depth"] - 6) ** 2 + (point["subsample"] - 0.8) ** 2
    best_rate, extra = {"sgd": (-1.6, 0.15), "adam": (-3.0, 0.0), "rmsprop": (-3.3, 0.05)}[point["optimizer"]]
    capacity = math.log2(point["width"]) + 0.8 * point["layers"]
    common = extra + 0.4 * (rate - best_rate + 0.1 * (point["layers"] - 4)) ** 2 + 0.03 * (point["layers"] - 4) ** 2
    if kind == "dense":
        return 0.2 + common + 0.06 * (capacity - 10) ** 2 + 2 * (point["dropout"] - 0.1) ** 2
    return common + 0.06 * (capacity - 9.2) ** 2 + 0.02 * (point["kernel"] - 5) ** 2


# name: (space, function, least value)
FUNCTIONS = {
    "branin": ([{"name": "x0", "kind": "uniform", "low": -5, "high": 10}, {"name": "x1", "kind": "uniform", "low": 0, "high": 15}], branin, 0.39788735772973816),
    "hartmann6": (numbers(6, 0, 1), hartmann6, -3.3223680114155147),
    "rosenbrock4": (numbers(4, -5, 10), rosenbrock4, 0.0),
    "ackley5": (numbers(5, -32.768, 32.768), ackley5, 0.0),
    "network": (NETWORK, network, 0.0),
}
