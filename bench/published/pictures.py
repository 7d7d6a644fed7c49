#!/usr/bin/env python3
"""The pictures of docs/internals/published-studies.md, from the stored runs and theirs.json.

  bench/published/pictures.py     wants matplotlib; writes docs/images/published-{batch,layout,rate}.png"""

import statistics

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot

from page import ROOT, by_case, loss_of, theirs, their_batches

OURS, THEIRS = "tab:blue", "tab:orange"


def saved(figure, name: str) -> None:
    for axes in figure.axes:
        axes.grid(alpha=0.3)
        if axes.get_legend_handles_labels()[0]:
            axes.legend(frameon=False, fontsize=8)
    figure.tight_layout()
    figure.savefig(ROOT / f"docs/images/published-{name}.png", metadata={"Software": None})


def spread_line(axes, places: list[float], values: list[list[float]], **settings) -> None:
    middle = [statistics.median(one) for one in values]
    axes.errorbar(places, middle, [[m - min(one) for m, one in zip(middle, values)], [max(one) - m for m, one in zip(middle, values)]], marker="o", capsize=3, **settings)


def batch() -> None:
    figure, (time, loss) = pyplot.subplots(1, 2, figsize=(9, 3.6), dpi=110)
    ours = sorted(((case["batch"], runs) for case, runs in by_case("batch-size")), key=lambda one: one[0])
    sizes = [size for size, _ in ours]
    for axes, of_ours, of_theirs, title in ((time, lambda run: run["phases_cpu_s"]["compute"], lambda one: statistics.mean(one["epoch_s"][1:]), "time of an epoch"),
                                            (loss, loss_of, lambda one: one["generator_test_loss"][-1], "generator's loss on the test, after 5 epochs")):
        first = statistics.median(of_ours(run) for run in ours[0][1])
        spread_line(axes, [size / sizes[0] for size in sizes], [[of_ours(run) / first for run in runs] for _, runs in ours], color=OURS, label=f"linac, {sizes[0]} to {sizes[-1]} a replica")
        rows = their_batches()
        axes.plot([one["batch"] / rows[0]["batch"] for one in rows], [of_theirs(one) / of_theirs(rows[0]) for one in rows], marker="s", color=THEIRS,
                  label=f"32 V100, {rows[0]['batch']} to {rows[-1]['batch']} a GPU")
        axes.set_xlabel("batch, in units of the smallest")
        axes.set_ylabel(f"{title}\n(smallest batch: 1)", fontsize=9)
    saved(figure, "batch")


def layout() -> None:
    figure, (wall, cpu) = pyplot.subplots(1, 2, figsize=(9, 3.2), dpi=110)
    cases = sorted(by_case("layout"), key=lambda one: one[0]["workers"])
    for axes, name, title in ((wall, "wall_s", "s by the clock, machine busy"), (cpu, "cpu_s", "CPU s")):
        for place, (case, runs) in enumerate(cases):
            axes.plot([place] * len(runs), [run[name] for run in runs], "o", color=OURS, alpha=0.6)
        axes.set_xticks(range(len(cases)), [f"{case['workers']} x {case['replicas_a_worker']}" for case, _ in cases])
        axes.set_xlabel("workers x replicas")
        axes.set_ylabel(title)
        axes.set_ylim(0, 1.08 * max(run[name] for _, runs in cases for run in runs))
        axes.set_xlim(-0.5, len(cases) - 0.5)
    saved(figure, "layout")


def rate() -> None:
    figure, axes = pyplot.subplots(figsize=(6.5, 3.6), dpi=110)
    for case, runs in sorted(by_case("learning-rate"), key=lambda one: (one[0]["replicas"], one[0]["rate"])):
        epochs = range(1, len(runs[0]["epochs"]) + 1)
        values = [[100 * run["epochs"][epoch - 1]["test"]["accuracy"] for run in runs] for epoch in epochs]
        line, = axes.plot(epochs, [statistics.median(one) for one in values], marker=".", label=f"{case['replicas']} replica{'s' * (case['replicas'] > 1)}, {case['rate']}")
        axes.fill_between(epochs, [min(one) for one in values], [max(one) for one in values], color=line.get_color(), alpha=0.12)
    axes.set_xlabel("epoch")
    axes.set_ylabel("accuracy on the test, %")
    saved(figure, "rate")


if __name__ == "__main__":
    batch()
    layout()
    rate()
