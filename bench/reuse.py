#!/usr/bin/env python3
"""How many showers of another calorimeter a cell_chain needs: gone on from a trained one (model.from) against from nothing.

  bench/reuse.py [--sources clic=models/cell_chain-clic.chain ...] [--sizes 100,250,500,1000] [--sizes-nothing ...] [--seeds 100:3,250:2]

The new calorimeter is examples/geometry/coarse-ecal.yaml, its showers those of `linac simulate`. Of the showers that a training is given four fifths
train, and the others say which epoch is the best. What comes out is judged by showers that no training has seen: nats a shower on 1,000, and
`linac validate` with the gate for fast simulation on 2,000 others. The trainings of one size differ in their showers and in their seed.

`--sources NAME=simulated:N` is a chain that is trained here, on N simulated showers of the CLIC calorimeter. Writes bench/results/DATE-reuse.md and,
with --picture, docs/images/reuse.png."""

import argparse
import json
import os
import pathlib
import resource
import shutil
import statistics
import subprocess
import sys

import network
import turns
from lib import runs
from store import store

ROOT = pathlib.Path(__file__).resolve().parents[1]
GEOMETRY = "examples/geometry/coarse-ecal.yaml"
NATS_SHOWERS, REFERENCE_SHOWERS = 1000, 2000
NOTHING = "nothing"
CLASSIFIERS = ("auc.observables", "auc.cells")
# Epochs by the number of showers, and the rates: chosen with 100 showers, by the held-out ones. Those that go on need fewer epochs; from nothing the best
# epoch of few showers is an early one, whatever follows.
EPOCHS = {"goes on": {100: 12, 250: 12, 500: 10, 1000: 8}, NOTHING: {100: 30, 250: 24, 500: 20, 1000: 14, 2000: 10, 4000: 7, 8000: 5}}
RATES = {"goes on": 3e-3, NOTHING: 5e-3}


def linac(options, *words, status: tuple = (0,)) -> str:
    done = subprocess.run([*options.before, options.program, *map(str, words)], cwd=ROOT, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode not in status:
        sys.exit(f"{done.stdout}\n{' '.join(map(str, words))}: exit status {done.returncode}")
    return done.stdout


def cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def simulated(options, showers: int, seed: int, geometry: str | None = GEOMETRY) -> pathlib.Path:
    path = options.folder / f"{'coarse' if geometry else 'clic'}-{showers}-{seed}.h5"
    if not path.exists():
        linac(options, "simulate", "-n", showers, "--energy", "10:100", "--theta", "1.05:2.09", "--seed", seed, "--threads", 1, "--out", path,
              *(["--geometry", geometry] if geometry else []))
    return path


def train(options, out: pathlib.Path, data: pathlib.Path, test: pathlib.Path, *, epochs: int, rate: float, seed: int = 1, start=None,
          geometry: str | None = GEOMETRY, steps: int = 0) -> list[dict]:
    """The epochs' lines of the run's record."""
    settings = {"model.geometry": geometry or "examples/geometry/clic-ecal.yaml", "data.train": f"[{data}]", "data.test": f"[{test}]", "train.epochs": epochs,
                "train.replicas": 1, "train.batch": 4, "train.threads": 1, "train.seed": seed, "train.optimizer.lr": rate, "train.steps_per_epoch": steps,
                "validate.every_epochs": 0, "checkpoint.keep": 1, "workers": 1}
    if start:
        settings["model.from"] = start
    shutil.rmtree(out, ignore_errors=True)  # of one that was cut off
    linac(options, "train", "examples/cell-chain.yaml", "--out", out, "--workers", 1, *[word for key, value in settings.items() for word in ("--set", f"{key}={value}")])
    return [line for line in runs.lines(out) if line["kind"] == "epoch"]


def nats(options, model, tables_of: pathlib.Path, name: str) -> dict:
    """Of the model on showers that nobody has trained on. One step at a rate of nothing leaves it as it is; its tables are those of its own training."""
    epochs = train(options, options.folder / f"{name}-nats", tables_of, simulated(options, NATS_SHOWERS, 2), epochs=1, rate=1e-30, start=model, steps=1)
    return {part: epochs[-1]["test"][part] for part in ("loss", "hits", "energies", "layers")}


def judged(options, model: pathlib.Path, data: pathlib.Path, name: str) -> dict:
    """The gate's verdict, the classifiers' AUC and the worst distance of an observable in units of its floor."""
    out = options.folder / f"{name}-report"
    linac(options, "validate", "--reference", simulated(options, REFERENCE_SHOWERS, 1), "--sample", model, "--train", data, "--gate", "examples/gates/fast-simulation.yaml",
          "--seed", 1, "--out", out, status=(0, 7, 10))
    return figures(json.loads((out / "report.json").read_text()))


def figures(report: dict) -> dict:
    gated = [one for one in report["figures"] if one.get("limit") is not None]
    whole = {one["name"]: one for one in report["figures"] if not one.get("bin")}
    far = {name: one["value"] / one["floor"] for name, one in whole.items() if name.startswith(("ks.", "wasserstein.")) and one.get("floor")}
    worst = max(far, key=far.get)
    return {"verdict": report["verdict"], "gated": len(gated), "failed": sum(one["verdict"] == "failed" for one in gated),
            "uncertain": sum(one["verdict"] not in ("failed", "passed") for one in gated), "worst": far[worst], "worst_of": worst,
            **{name: [whole[name]["value"], whole[name]["uncertainty"]] for name in CLASSIFIERS if name in whole}}


def measure(options, source: str, showers: int, seed: int) -> dict:
    """One training and what came of it. `showers` 0: the source as it is, with tables of 100 showers."""
    name = f"{source}-{showers}-{seed}"
    out, start = options.folder / name, None if source == NOTHING else options.sources[source]
    given, number = showers or 100, 10 * (showers or 100) + 10 * seed
    data, held_out = simulated(options, given * 4 // 5, number + 1), simulated(options, given // 5, number + 2)
    before = cpu_s()
    epochs, rate = (1, 1e-30) if showers == 0 else (EPOCHS[NOTHING if source == NOTHING else "goes on"][showers], RATES[NOTHING if source == NOTHING else "goes on"])
    told = train(options, out, data, held_out, epochs=epochs, rate=rate, seed=seed, start=start, steps=1 if showers == 0 else 0)
    spent = cpu_s() - before
    losses = [line["test"]["loss"] for line in told]
    best = losses.index(min(losses))
    case = {"source": source, "showers": showers, "seed": seed, "epochs": epochs, "best_epoch": best + 1, "cpu_s": spent, "held_out": losses[best],
            "nats": nats(options, out, data, name)}
    if seed == 1 and (source != NOTHING or showers in options.judged_nothing):
        case["judged"] = judged(options, out, data, name)
    network.say(f"{name}: {json.dumps(case)}")
    return case


def chain_of_simulation(options, showers: int) -> pathlib.Path:
    """Trained from nothing on simulated showers of the CLIC calorimeter."""
    out = options.folder / f"simulated-clic-{showers}"
    if not (out / "models/generator.chain").exists():
        train(options, out, simulated(options, showers, 3, None), simulated(options, showers // 10, 4, None), epochs=max(2, 32000 // showers), rate=RATES[NOTHING],
              geometry=None)
    return out / "models/generator.chain"


def of(cases: list[dict], source: str, showers: int) -> list[dict]:
    return [case for case in cases if (case["source"], case["showers"]) == (source, showers)]


def spread(values: list[float]) -> str:
    return f"{statistics.mean(values):,.0f}" + (f" ± {statistics.stdev(values):.0f}" if len(values) > 1 else "")


def page(result: dict) -> str:
    cases, lines = result["cases"], turns.heading("A generator for another calorimeter", result)
    lines += [f"Nats a shower on {NATS_SHOWERS} showers, mean and standard deviation of the trainings; the gate and the classifiers of the first of them, "
              f"{REFERENCE_SHOWERS} showers against {REFERENCE_SHOWERS}.", "",
              "| goes on from | showers | trainings | nats | hits | energies | layers | fail, uncertain of all figures | worst, floors | AUC observables | AUC cells | CPU s |",
              "|---|---|---|---|---|---|---|---|---|---|---|---|"]
    for source, showers in sorted({(case["source"], case["showers"]) for case in cases}, key=lambda one: (one[0] == NOTHING, one)):
        found = of(cases, source, showers)
        parts = [spread([case["nats"][part] for case in found]) for part in ("loss", "hits", "energies")]
        layers = f"{statistics.mean(case['nats']['layers'] for case in found):.1f}"
        judged = next((case["judged"] for case in found if "judged" in case), None)
        told = ["", "", "", ""]
        if judged:
            told = [f"{judged['failed']}, {judged['uncertain']} of {judged['gated']}", f"{judged['worst']:.1f} ({judged['worst_of']})",
                    *(f"{judged[name][0]:.3f} ± {judged[name][1]:.3f}" for name in CLASSIFIERS)]
        seconds = f"{statistics.mean(case['cpu_s'] for case in found):.0f}"
        lines.append("| " + " | ".join([source, str(showers or "none, tables alone"), str(len(found)), *parts, layers, *told, seconds]) + " |")
    return "\n".join(lines) + "\n"


def draw(result: dict, path: pathlib.Path) -> None:
    import matplotlib
    matplotlib.use("Agg")
    from matplotlib import pyplot
    figure, axes = pyplot.subplots(figsize=(7, 4.2), dpi=120)
    for source in sorted({case["source"] for case in result["cases"]}, key=lambda name: name == NOTHING):
        sizes = sorted({case["showers"] for case in result["cases"] if case["source"] == source and case["showers"]})
        values = [[case["nats"]["loss"] for case in of(result["cases"], source, size)] for size in sizes]
        axes.errorbar(sizes, [statistics.mean(one) for one in values], [statistics.stdev(one) if len(one) > 1 else 0 for one in values], marker="o", capsize=3,
                      color="tab:gray" if source == NOTHING else None, label="from nothing" if source == NOTHING else f"goes on from: {source}")
    axes.set_xscale("log")
    ticks = sorted({case["showers"] for case in result["cases"] if case["showers"]})
    axes.set_xticks(ticks, [f"{tick:,}" for tick in ticks])
    axes.minorticks_off()
    axes.set_xlabel("showers of the new calorimeter")
    axes.set_ylabel(f"nats a shower, on {NATS_SHOWERS:,} others (less is better)")
    axes.grid(alpha=0.3)
    axes.legend(frameon=False)
    figure.tight_layout()
    figure.savefig(path, metadata={"Software": None})


def sizes(text: str) -> list[int]:
    return [int(word) for word in text.split(",") if word]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sources", nargs="+", default=["Geant4=models/cell_chain-clic.chain"], help="NAME=MODEL, or NAME=simulated:SHOWERS")
    parser.add_argument("--sizes", type=sizes, default=[100, 250, 500, 1000])
    parser.add_argument("--sizes-nothing", type=sizes, default=[100, 250, 500, 1000, 2000, 4000, 8000])
    parser.add_argument("--judged-nothing", type=sizes, default=[100, 1000, 2000, 4000, 8000], help="of the sizes from nothing, those that the gate judges")
    parser.add_argument("--seeds", default="100:3,250:2", help="SHOWERS:TRAININGS, of the others one")
    parser.add_argument("--program", default=str(ROOT / "build/release/bin/linac"))
    parser.add_argument("--before", default="", help="a command that begins another, e.g. nice -n 10")
    parser.add_argument("--folder", type=pathlib.Path, required=True, help="for showers, runs and reports; a case that is there is not measured again")
    parser.add_argument("--picture", type=pathlib.Path, help="a PNG to draw, by matplotlib")
    options = parser.parse_args()
    result = {**network.provenance("bench/reuse.py"), "before": None, "others_cores": network.busy_cores(), "cases": []}
    for word, said in ((options.program, "PROGRAM"), (str(options.folder), "FOLDER"), (options.before, "COMMAND"), (str(options.picture), "PICTURE")):
        result["command"] = result["command"].replace(word, said) if word else result["command"]
    options.before = options.before.split()
    options.folder = options.folder.resolve()
    options.folder.mkdir(parents=True, exist_ok=True)
    os.environ.pop("LINAC_TOKEN", None)
    options.sources = dict(word.split("=", 1) for word in options.sources)
    for name, model in options.sources.items():
        if model.startswith("simulated:"):
            options.sources[name] = chain_of_simulation(options, int(model.partition(":")[2]))
    trainings = {size: count for size, count in (sizes(pair.replace(":", ",")) for pair in options.seeds.split(",") if pair)}
    kept = options.folder / "cases.json"
    cases = json.loads(kept.read_text()) if kept.exists() else []
    wanted = [(source, size, 1) for source in options.sources for size in (0, *options.sizes)] + [(NOTHING, size, 1) for size in options.sizes_nothing]
    wanted += [(source, size, seed) for size, count in trainings.items() for seed in range(2, count + 1)
               for source in [*([*options.sources] if size in options.sizes else []), *([NOTHING] if size in options.sizes_nothing else [])]]
    for source, size, seed in sorted(wanted, key=lambda one: (one[2], one[1])):
        if not any(case["seed"] == seed for case in of(cases, source, size)):
            cases.append(measure(options, source, size, seed))
            kept.write_text(json.dumps(cases, indent=1))
    result["cases"] = [case for case in cases if (case["source"], case["showers"], case["seed"]) in wanted]
    store(result, "reuse", page(result))
    if options.picture:
        draw(result, options.picture)


if __name__ == "__main__":
    main()
