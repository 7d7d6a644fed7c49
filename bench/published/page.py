#!/usr/bin/env python3
"""The tables of docs/internals/published-studies.md, from the stored runs and theirs.json.

  bench/published/page.py             puts the tables there
  bench/published/page.py --check     fails if others stand there

A median of rounds has its least and most in brackets."""

import argparse
import json
import re
import statistics
import sys

from records import HERE, ROOT, stored

PAGE = ROOT / "docs/internals/published-studies.md"


def runs_of(study: str) -> list[dict]:
    return stored(study) or sys.exit(f"no run of {study} is stored: bench/published/run.py {study}")


def theirs() -> list[dict]:
    return json.loads((HERE / "theirs.json").read_text())["runs"]


def by_case(study: str) -> list[tuple[dict, list[dict]]]:
    """In the order of the first round."""
    found: dict[str, list[dict]] = {}
    for run in sorted(runs_of(study), key=lambda run: run["round"]):
        found.setdefault(json.dumps(run["case"]), []).append(run)
    return [(json.loads(case), runs) for case, runs in found.items()]


def table(*head: str) -> list[str]:
    return ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]


def row(*cells: object) -> str:
    return "| " + " | ".join(map(str, cells)) + " |"


def shown(value: float, digits: int) -> str:
    return f"{float(f'{value:.{digits}g}'):.{max(digits, 9)}g}"


def spread(values: list[float], digits: int = 3, factor: float = 1) -> str:
    """Median (least to most)."""
    middle, least, most = (shown(factor * value, digits) for value in (statistics.median(values), min(values), max(values)))
    return middle if least == most else f"{middle} ({least} to {most})"


def loss_of(run: dict) -> float:
    return run["epochs"][-1]["test"]["g"]


def physics(runs: list[dict]) -> list[str]:
    """Loss of the generator on the test showers and figures of validate."""
    return [spread([loss_of(run) for run in runs]), *(spread([run["figures"][name][0] for run in runs], 2, factor) for name, factor in
                                                      (("response.mean", 100), ("profile.z", 100), ("profile.x", 100), ("fpd", 1)))]


PHYSICS = ("G on test", "response, % off", "profile z, % off", "profile x, % off", "fpd")


def batch_size() -> list[str]:
    lines = table("events a replica", "steps an epoch", "CPU s an epoch", *PHYSICS)
    for case, runs in sorted(by_case("batch-size"), key=lambda one: one[0]["batch"]):
        lines.append(row(case["batch"], runs[0]["run"]["global_step"] // 5, spread([run["phases_cpu_s"]["compute"] / 5 for run in runs]), *physics(runs)))
    return lines


def their_batches() -> list[dict]:
    chosen = [one for one in theirs() if one["replicas"] == 32 and one["workers"] == 4 and one["prefetch"] and one["nodes"] is None]
    return sorted(chosen, key=lambda one: one["batch"])


def their_batch_size() -> list[str]:
    lines = table("events a GPU, 32 GPUs", "s an epoch", "G on test after five epochs")
    for one in their_batches():
        lines.append(row(one["batch"], spread(one["epoch_s"][1:], 4), f"{one['generator_test_loss'][-1]:.3g}"))
    return lines


def layout() -> list[str]:
    lines = table("workers x replicas", "runs", "s, with the start", "deviation", "CPU s", "deviation", "CPU s of computing", "deviation", "digests")
    for case, runs in sorted(by_case("layout"), key=lambda one: one[0]["workers"]):
        cells: list[str] = []
        for of in (lambda run: run["wall_s"], lambda run: run["cpu_s"], lambda run: run["phases_cpu_s"]["compute"]):
            values = [of(run) for run in runs]
            deviation = f"{100 * statistics.stdev(values) / statistics.mean(values):.1f} %" if len(values) > 1 else ""
            cells += [spread(values), deviation]
        lines.append(row(f"{case['workers']} x {case['replicas_a_worker']}", len(runs), *cells, len({run["weights"] for run in runs})))
    together = {run["weights"] for run in runs_of("layout")}
    return [*lines, "", f"Different digests of all {len(runs_of('layout'))} runs together: {len(together)}."]


def their_layout() -> list[str]:
    lines = table("workers x GPUs", "hosts", "s an epoch, epochs 2 to 5", "first step, s")
    for one in sorted(theirs(), key=lambda one: (one["workers"] or 0, one["nodes"] or 0)):
        if (one["replicas"], one["batch"], one["prefetch"]) == (32, 96, True):
            lines.append(row(f"{one['workers']} x {32 // one['workers']}", one["nodes"] or "not said", spread(one["epoch_s"][1:], 4), one["first_step_s"]))
    return lines


def their_repeats() -> list[str]:
    lines = table("GPUs", "events a GPU", "s an epoch, the one run and the other", "G on test after five epochs")
    for replicas, batch in ((32, 32), (32, 96), (128, 96)):
        runs = [one for one in theirs() if (one["replicas"], one["batch"], one["workers"], one["prefetch"]) == (replicas, batch, replicas // 8, True)]
        if len(runs) > 1:
            lines.append(row(replicas, batch, ", ".join(f"{statistics.mean(one['epoch_s'][1:]):.1f}" for one in runs), ", ".join(f"{one['generator_test_loss'][-1]:.3g}" for one in runs)))
    return lines


def own_loop() -> list[str]:
    lines = table("network", "loop", "CPU s of computing", "CPU s in all", "test loss", "accuracy", "digest of the weights")
    for case, runs in by_case("own-loop"):
        test = runs[0]["epochs"][-1]["test"]
        lines.append(row(case["model"], case["loop"], spread([run["phases_cpu_s"]["compute"] for run in runs]), spread([run["cpu_s"] for run in runs]), f"{test['loss']:.6g}", f"{test['accuracy']:.4g}",
                         ", ".join(sorted({f"`{run['values'][:16]}`" for run in runs if "values" in run}))))
    return lines


def reading() -> list[str]:
    seconds = {tuple(case.values()): [run["reading_s"] for run in runs] for case, runs in by_case("reading")}
    median = {values: statistics.median(found) for values, found in seconds.items()}
    automatic = ("auto",) * 3
    fixed = {values: found for values, found in median.items() if values != automatic}
    steps, reads = (sorted({values[place] for values in fixed}) for place in (1, 2))
    lines = table("files side by side", *(f"{ahead} ahead, {ranges} range{'s' * (ranges > 1)}" for ahead in steps for ranges in reads))
    for files in sorted({values[0] for values in fixed}):
        lines.append(row(files, *(f"{fixed[(files, ahead, ranges)]:.2f}" for ahead in steps for ranges in reads)))
    best, worst, found = min(fixed.values()), max(fixed.values()), runs_of("reading")[-1]
    ahead = next(run["ahead"] for run in runs_of("reading") if run["case"]["files"] == "auto")
    return [*lines, "", f"`auto`: {spread(seconds[automatic])} s; of the grid the best {best:.2f}, the worst {worst:.2f}: {100 * best / median[automatic]:.0f} % of the best.",
            f"In its first round it ended at {ahead['files']} files, {ahead['steps']} batches and {ahead['reads']} ranges. {found['events']} events; {len(seconds[automatic])} rounds, medians."]


def their_reading() -> list[str]:
    lines = table("GPUs", "without prefetch, s an epoch", "with", "ratio")
    for replicas in (2, 4, 8, 16, 32, 64, 128):
        both = {one["prefetch"]: statistics.mean(one["epoch_s"][1:]) for one in theirs() if (one["replicas"], one["batch"], one["nodes"], one["cache"]) == (replicas, 96, None, False)}
        lines.append(row(replicas, f"{both[False]:.4g}", f"{both[True]:.4g}", f"{both[False] / both[True]:.2f}"))
    return lines


def workers() -> list[str]:
    lines = table("workers", *PHYSICS, "digest of the last checkpoint")
    for case, runs in sorted(by_case("workers"), key=lambda one: one[0]["workers"]):
        lines.append(row(case["workers"], *physics(runs), f"`{runs[0]['weights']}`"))
    return lines


def replicas() -> list[str]:
    lines = table("replicas", "events a step", "rate", *PHYSICS)
    for case, runs in sorted(by_case("replicas"), key=lambda one: (one[0]["replicas"], one[0]["rate"] != "none")):
        lines.append(row(case["replicas"], 8 * case["replicas"], {"none": "as it is", "linear": "times the replicas"}[case["rate"]], *physics(runs)))
    return lines


def their_replicas() -> list[str]:
    lines = table("GPUs", "events a step", "G on test after five epochs: runs that are stored")
    for count in (4, 8, 16, 32, 64, 128):
        found = [one["generator_test_loss"][-1] for one in theirs() if (one["replicas"], one["batch"], one["device"]) == (count, 96, "gpu-v100") and len(one["generator_test_loss"]) == 5]
        lines.append(row(count, 96 * count, ", ".join(f"{value:.3g}" for value in sorted(found))))
    return lines


def learning_rate() -> list[str]:
    lines = table("replicas", "rate", "accuracy after 6 epochs", "after 12", "AUC after 6", "after 12", "loss after 12")
    for case, runs in sorted(by_case("learning-rate"), key=lambda one: (one[0]["replicas"], one[0]["rate"])):
        cells = [spread([run["epochs"][epoch - 1]["test"][name] for run in runs], 3, factor) for name, factor in (("accuracy", 100), ("auc", 1)) for epoch in (6, 12)]
        lines.append(row(case["replicas"], case["rate"], *cells, spread([run["epochs"][11]["test"]["loss"] for run in runs])))
    return lines


def first_epoch() -> list[str]:
    lines = table("model", "collisions", "first epoch, s", "waits for input, s", "later ones, s", "wait, s", "first / later")
    for case, runs in by_case("first-epoch"):
        first = [run["epochs"][0] for run in runs]
        later = [epoch for run in runs for epoch in run["epochs"][1:]]
        ratio = [run["epochs"][0]["seconds"] / statistics.median(epoch["seconds"] for epoch in run["epochs"][1:]) for run in runs]
        lines.append(row({"hlf": "features", "gru": "particles"}[case["model"]], {"disk": "on this disk", "store": "over the link"}[case["place"]],
                         *(spread([epoch[name] for epoch in epochs], 2) for epochs in (first, later) for name in ("seconds", "input_s")), spread(ratio, 2)))
    return lines


def their_first_epoch() -> list[str]:
    lines = table("device", "replicas", "first step, s", "first epoch, s", "later ones, s", "first / later")
    for one in sorted(theirs(), key=lambda one: (one["device"], one["replicas"])):
        if one["batch"] in (96, 128) and one["nodes"] is None and (one["prefetch"] or one["cache"]):
            later = statistics.mean(one["epoch_s"][1:])
            lines.append(row(one["device"], one["replicas"], one["first_step_s"], f"{one['epoch_s'][0]:.1f}", f"{later:.1f}", f"{one['epoch_s'][0] / later:.2f}"))
    return lines


TABLES = {part.__name__.replace("_", "-"): part for part in (
    batch_size, their_batch_size, layout, their_layout, their_repeats, own_loop, reading, their_reading, workers, replicas, their_replicas, learning_rate, first_epoch, their_first_epoch)}


def filled(text: str) -> str:
    """The page with its tables made anew."""
    for name, made in TABLES.items():
        between = re.compile(rf"(<!-- {name} begins -->\n).*?(<!-- {name} ends -->)", re.DOTALL)
        if len(between.findall(text)) != 1:
            sys.exit(f"{PAGE.name}: wants one place for the table {name}")
        text = between.sub(lambda found: found[1] + "\n".join(made()) + "\n" + found[2], text)
    return text


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="writes nothing")
    check = parser.parse_args().check
    text = PAGE.read_text()
    wanted = filled(text)
    if not check:
        PAGE.write_text(wanted)
    elif wanted != text:
        sys.exit(f"{PAGE}: not the tables of the stored runs; make them anew: bench/published/page.py")


if __name__ == "__main__":
    main()
