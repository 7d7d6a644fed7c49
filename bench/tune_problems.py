"""The problems of several objectives that bench/tune_objectives.py compares samplers on, each with its space and a reference
for the hypervolume.

ZDT1 to 3: Zitzler, Deb and Thiele, "Comparison of multiobjective evolutionary algorithms", Evol. Comput. 8, 2000. DTLZ2: Deb,
Thiele, Laumanns and Zitzler, "Scalable multi-objective optimization test problems", CEC 2002. `network` is made up: what a
search of a network's settings looks like, by its error and its cost."""

import math

from tune_functions import FUNCTIONS, numbers, vector


def zdt(shape):
    def values(point: dict) -> list[float]:
        x = vector(point)
        g = 1 + 9 * sum(x[1:]) / (len(x) - 1)
        return [x[0], g * shape(x[0], x[0] / g)]

    return values


def dtlz2(point: dict) -> list[float]:
    x = vector(point)
    g = sum((v - 0.5) ** 2 for v in x[2:])
    a, b = (math.pi / 2 * v for v in x[:2])
    return [(1 + g) * math.cos(a) * math.cos(b), (1 + g) * math.cos(a) * math.sin(b), (1 + g) * math.sin(a)]


def network(point: dict) -> list[float]:
    size = 16 * point["depth"] if point["kind"] == "trees" else point["width"] * point["layers"]
    return [FUNCTIONS["network"][1](point), math.log10(size)]


# name: (space, function, reference)
PROBLEMS = {
    "zdt1": (numbers(10, 0, 1), zdt(lambda x, share: 1 - math.sqrt(share)), [1.1, 6.0]),
    "zdt2": (numbers(10, 0, 1), zdt(lambda x, share: 1 - share**2), [1.1, 6.0]),
    "zdt3": (numbers(10, 0, 1), zdt(lambda x, share: 1 - math.sqrt(share) - share * math.sin(10 * math.pi * x)), [1.1, 6.0]),
    "dtlz2": (numbers(7, 0, 1), dtlz2, [1.5, 1.5, 1.5]),
    "network": (FUNCTIONS["network"][0], network, [3.0, 4.0]),
}
