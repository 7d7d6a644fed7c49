#!/usr/bin/env python3
"""The picture of docs/guide/sites.md: the test loss against time for each way to train, from what bench/local.py left in bench/results.

  bench/local_picture.py SITES UNEVEN     names of bench/results/summaries.json, as 2026-11-30-local-sites; wants matplotlib;
                                          writes docs/images/local-curves.png"""

import json
import statistics
import sys

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot

from store import RESULTS, ROOT

EXACT = ("black", "dimgrey")
APART = ("tab:blue", "tab:orange", "tab:green", "tab:red", "tab:purple")


def curve(rounds: list) -> tuple[list[float], list[float]]:
    """Medians over rounds of the seconds behind each epoch, and of the loss there."""
    rounds = rounds if isinstance(rounds[0], list) else [rounds]
    epochs = list(zip(*rounds))
    return [statistics.median(one["s"] for one in epoch) for epoch in epochs], [statistics.median(one["loss"] for one in epoch) for epoch in epochs]


def draw(axes, case: dict, title: str) -> None:
    colours = {True: iter(EXACT), False: iter(APART)}
    for name, found in case["ways"].items():
        exact = name.startswith("exact")
        seconds, losses = curve(found["epochs"])
        axes.plot(seconds, losses, marker="o", markersize=3, color=next(colours[exact]), label=name)
        if exact:
            axes.axhline(losses[-1], color="lightgrey", linewidth=1, zorder=0)
    axes.set(title=title, xlabel="seconds of training", ylabel="test loss")
    axes.set_xlim(left=0)
    axes.grid(alpha=0.3)
    axes.legend(frameon=False, fontsize=8)


def main() -> None:
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    cases = json.loads((RESULTS / "summaries.json").read_text())
    figure, (sites, uneven) = pyplot.subplots(1, 2, figsize=(10, 4), dpi=110)
    draw(sites, cases[sys.argv[1]], "two sites, 100 Mbit/s, 25 ms")
    draw(uneven, cases[sys.argv[2]], "one host, a worker with a quarter of the speed")
    figure.tight_layout()
    figure.savefig(ROOT / "docs/images/local-curves.png", metadata={"Software": None})


main()
