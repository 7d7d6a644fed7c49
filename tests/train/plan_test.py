#!/usr/bin/env python3
"""`linac plan`: measures, plans, writes the job, learns from what came of it; and what it refuses. No figure of time is compared with a
clock: bench/plan.py does that."""

import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from lib.checks import check  # noqa: E402
from lib.runs import LINAC, ROOT, environment, linac  # noqa: E402

JOB = f"""# why this job
name: planned
model: {{kind: inclusive_classifier, variant: gru}}
data:
  train: [{ROOT}/data/topology-train.parquet]   # here
  test: [{ROOT}/data/topology-test.parquet]
  inputs:
    - {{name: GRU_input, column: GRU_input, scaling: standard}}
    - {{name: HLF_input, column: HLF_input, scaling: min_max}}
  targets: [{{column: encoded_label}}]
  scaling: {ROOT}/data/topology-scaling.json
train: {{epochs: 3, replicas: 4, batch: 30, fit: {{loss: categorical_crossentropy, metrics: [accuracy]}}}}
workers: 1   # a guess

# the end
"""
BOOK = """
machines:
- {name: own/big, cloud: own, device: cpu, cores: 8, memory_gib: 64, busy_w: 400, link_gbit_s: 10, date: "2026-11", source: "a test"}
- {name: own/small, cloud: own, device: cpu, cores: 2, memory_gib: 0.01, busy_w: 100, date: "2026-11", source: "a test"}
prices:
- {machine: own/big, usd_per_hour: 8, date: "2026-11", source: "a test"}
- {machine: own/big, market: spot, usd_per_hour: 2, date: "2026-11", source: "a test"}
- {machine: own/small, usd_per_hour: 1, date: "2026-11", source: "a test"}
"""


def plan(*words: object, status: int = 0, **variables: str) -> str:
    return linac("plan", *words, status=status, **variables)


def as_json(*words: object, **variables: str) -> dict:
    text = plan(*words, "--json", **variables)
    return json.loads(text[text.index("{"):])


def row(document: dict, name: str) -> dict:
    return next(one for one in document["rows"] if one["name"] == name)


def measuring(folder: pathlib.Path, job: pathlib.Path) -> pathlib.Path:
    measured = folder / "measured.json"
    plan(job, "--probe-only", measured, "--probe-seconds", 6, "--batch", "15,60")
    found = json.loads(measured.read_text())
    check(found["steps_seen"] >= 2 and found["wave_s"] > 0, "steps were measured")
    check(found["test_s"] > 0 and found["between_s"] > 0 and found["end_s"] > 0, "so were test, checkpoint and end")
    check(found["start_of_several_s"] > 0 and found["pair_s"] > 0 and found["pair_cpu_s"] > 0, "and two workers")
    check(0 <= found["taken"] <= 1, "and what other work took")
    check((found["steps"], found["epochs"], found["replicas_of_job"]) == (18, 3, 4), "and the job is told")
    check((found["batch"], found["precision"], found["events"]) == (30, "fp32", 720), "with its batch and precision")
    check([at["batch"] for at in found["at_batches"]] == [60] and found["at_batches"][0]["wave_s"] > 0, "and its steps at the furthest batch")
    return measured


def planning(folder: pathlib.Path, job: pathlib.Path, measured: pathlib.Path) -> None:
    document = as_json(job, "--measured", measured, "--workers", "1,4")
    check([one["name"] for one in document["rows"]] != [], "here is a candidate")
    one = row(document, "here, 1 worker")
    facts = json.loads(measured.read_text())
    waves = -(-4 // facts["replicas"])
    check(abs(one["compute_s"]["middle"] / (waves * facts["wave_s"] + facts["fixed_s"]) - 1) < 0.3, "a step is that of the measurement")
    check(one["seconds"]["low"] < one["seconds"]["middle"] < one["seconds"]["high"], "each figure has its interval")
    twice = as_json(job, "--measured", measured, "--workers", "1,4", "--set", "train.epochs=300")
    check(row(twice, "here, 1 worker")["seconds"]["middle"] > 1.2 * one["seconds"]["middle"], "more epochs take longer, by the same measurement")
    own = folder / "split.json"
    plan(job, "--probe-only", own, "--probe-seconds", 2, "--set", "data.test=[]", "--set", "data.validation_split=0.5")
    check(json.loads(own.read_text())["steps"] == facts["steps"] // 2, "what is kept for the test is not trained")
    if facts["watts"] is None:  # no meter that can be read here
        check(one["kwh"] is None, "energy that nothing tells is not known")
    metered = folder / "metered.json"
    metered.write_text(json.dumps(facts | {"watts": 250}))
    of_meter = row(as_json(job, "--measured", metered, "--workers", "1"), "here, 1 worker")
    check(abs(of_meter["kwh"]["middle"] / (0.25 * of_meter["seconds"]["middle"] / 3600) - 1) < 0.05, "energy is the measured power times the hours")
    check(any("as it was measured: 250 W" in remark for remark in of_meter["remarks"]), "and says so")
    alone = folder / "alone.json"
    alone.write_text(json.dumps(facts | {"at_batches": []}))
    other = plan(job, "--measured", alone, "--set", "train.batch=31", status=2)
    check("of another model, batch or data" in other, "a measurement of another job is refused")
    plan(job, "--measured", measured, "--set", "train.fit.label_smoothing=0.1", status=2)

    book = folder / "book.yaml"
    book.write_text(BOOK)
    words = [job, "--measured", measured, "--prices", book, "--machine", "own/*", "--hosts", 2, "--spot", "--not-here"]
    document = as_json(*words, "--out", folder / "page")
    big = row(document, "own/big, 2 hosts of 1 worker")
    check(abs(big["money_usd"]["middle"] - 2 * 8 * (big["seconds"]["middle"]) / 3600) < 1e-9, "money is that of the hosts' hours")
    check(not row(document, "own/small, 1 worker")["fits"], "what does not fit in memory is told apart")
    check(any("not known" in remark for remark in row(document, "own/big, 1 worker, spot")["remarks"]), "a spot host whose life is not known says so")
    page = (folder / "page/plan.html").read_text()
    check("own/big, 2 hosts of 1 worker" in page and (folder / "page/worth.png").stat().st_size > 5000, "the page has rows and pictures")
    long = [*words, "--set", "train.epochs=100000", "--deadline", "1s"]
    late = plan(*long, status=12)
    check("nothing meets deadline and budget" in late, "a deadline that nobody meets has its own status")

    before = job.read_text()
    plan(*long, "--write", job, status=12)
    check(job.read_text() == before, "and the job stays as it was")
    plan(*words, "--budget", "100USD", "--by", "time", "--write", job)
    text = job.read_text()
    check("# why this job" in text and "# here" in text and "# the end" in text and "a guess" not in text, "the job keeps its comments")
    best = as_json(*words, "--budget", "100USD", "--by", "time")["rows"][0]
    check(f"workers: {best['hosts'] * best['workers_a_host']}\n" in text and "money: 100" in text, "it has the workers and the budget")
    plan(*words, "--budget", "100USD", "--by", "time", "--write", job)
    euros = folder / "euros.yaml"
    euros.write_text(job.read_text()[:job.read_text().index("budget:")])
    of_euros = [*words, "--budget", "100 EUR", "--by", "time"]
    of_euros[0] = euros
    text = plan(*of_euros, "--write", euros)
    document = as_json(*of_euros)
    rate = document["currency"]["usd"]
    check(document["currency"]["code"] == "EUR" and abs(document["budget_usd"] - 100 * rate) < 1e-9, "euros are taken by the price book's rate")
    check(" EUR (" in text and f"1 EUR = {rate:g} USD, of 20" in text, "money is told in euros, with the rate's date and source")
    check(f"budget: {{money: {100 * rate:g}, price: " in euros.read_text() and f"  # US dollars: 100 EUR at {rate:g}\n" in euros.read_text(), "the job gets dollars, and the sum that was meant")
    own_rate = folder / "rate.yaml"
    own_rate.write_text(BOOK + 'rates:\n- {currency: EUR, usd: 2, date: "2000-01", source: "a test"}\n- {currency: CHF, usd: 4, date: "2100", source: "a test"}\n')
    of_euros[of_euros.index(book)] = own_rate
    text = plan(*of_euros)
    check("1 EUR = 2 USD, of 2000-01, more than a year ago" in text, "an own book's rate comes first, and an old one is said to be old")
    dollars, francs = (as_json(*[own_rate if word == book else word for word in words], "--currency", code) for code in ("USD", "CHF"))
    check(dollars["rows"] == francs["rows"] and francs["currency"]["usd"] == 4, "another currency changes nothing but how it is told")
    check(job.read_text().count("\nplan:") == 1 and job.read_text().count("\nbudget:") == 1, "written twice, it has them once")


def others(folder: pathlib.Path, job: pathlib.Path, measured: pathlib.Path) -> None:
    """Other trainings beside the job's: batch, precision, replicas."""
    facts = json.loads(measured.read_text())
    two = facts | {"wave_s": 0.01, "fixed_s": 0, "scatter": 0.1, "at_batches": [{"batch": 60, "wave_s": 0.016, "fixed_s": 0, "step_cpu_s": 0.032, "memory_gib": 1}],
                   "step_cpu_s": 0.02, "pair_s": None}
    of_two = folder / "two.json"
    of_two.write_text(json.dumps(two))
    document = as_json(job, "--measured", of_two, "--batch", "15,30,45,60", "--workers", 1)
    step = {one["batch"]: one["step_s"] for one in document["rows"]}
    waves = step[30]["middle"] / 0.01
    check(all(abs(step[batch]["middle"] / waves / wanted - 1) < 1e-6 for batch, wanted in ((15, 0.007), (30, 0.01), (45, 0.013), (60, 0.016))), "batches lie on the line of two")
    width = {batch: one["high"] / one["low"] for batch, one in step.items()}
    check(abs(width[30] - width[60]) < 1e-9 and width[60] < width[45] < width[15], "what was measured is the surest, what lies beyond the least sure")
    check({one["batch"]: one["steps"] for one in document["rows"]} == {15: 36, 30: 18, 45: 12, 60: 9}, "each has the steps of its own epochs")
    check(as_json(job, "--measured", of_two, "--set", "train.batch=45", "--workers", 1)["rows"][0]["step_s"] == step[45], "--set plans the same from the same measurement")
    one_batch = folder / "one.json"
    one_batch.write_text(json.dumps(two | {"at_batches": []}))
    guess = as_json(job, "--measured", one_batch, "--batch", "30,60", "--workers", 1)
    guessed = row(guess, "here, 1 worker, batch 60")
    check(guessed["step_s"]["low"] <= step[60]["middle"] <= guessed["step_s"]["high"] and any("was not measured" in remark for remark in guessed["remarks"]), "one batch alone says how little it says")

    document = as_json(job, "--measured", of_two, "--replicas", "4,8", "--workers", 1)
    eight = row(document, "here, 1 worker, 8 replicas")
    check((eight["replicas"], eight["steps"]) == (8, 9) and eight["step_s"]["middle"] > 1.9 * row(document, "here, 1 worker")["step_s"]["middle"], "more replicas are fewer steps that take longer")
    check(any("8 x 30 = 240 events (the job's: 120)" in remark and "as it is (train.schedule.scale_with_replicas: none)" in remark for remark in eight["remarks"]), "the row says what is another training")
    check("note: another training" in plan(job, "--measured", of_two, "--replicas", "8", "--workers", 1), "and so does the text")
    few = as_json(job, "--measured", of_two, "--replicas", "4,64", "--workers", 1)
    check(len(few["rows"]) == 1 and any("left out, 64 replicas" in remark for remark in few["remarks"]), "what has too few events is left out, and said so")
    check("no job is left to plan" in plan(job, "--measured", of_two, "--replicas", "64", status=3), "or refused")

    unknown = as_json(job, "--measured", of_two, "--precision", "fp32,bf16", "--workers", 1)
    bf16 = row(unknown, "here, 1 worker, bf16")
    check(bf16["precision"] == "bf16" and any("bf16 was not measured" in remark for remark in bf16["remarks"]), "a precision that nobody measured says so")
    check(bf16["step_s"]["high"] / bf16["step_s"]["low"] > 3, "and is wide")
    probed = as_json(job, "--precision", "fp32,bf16", "--probe-seconds", 2, "--workers", 1)
    bf16 = row(probed, "here, 1 worker, bf16")
    check(bf16["step_s"]["middle"] != row(probed, "here, 1 worker")["step_s"]["middle"] and not any("not measured" in remark for remark in bf16["remarks"]), "one that the host can has a training of its own")

    text = job.read_text()
    plan(job, "--measured", of_two, "--batch", "60", "--replicas", "2", "--precision", "bf16", "--workers", 1, "--write", job)
    written = job.read_text()
    check("replicas: 2, batch: 60," in written and "precision: bf16, epochs: 3" in written and "# why this job" in written, "--write changes train where it stands")
    check('on: "here, 1 worker, batch 60, bf16, 2 replicas"' in written and "memory_gib: " in written and "jitter: [" in written, "and says what was planned")
    job.write_text(text)
    block = folder / "block.yaml"
    before, train = re.sub(r"train: \{epochs.*\n", "", JOB), "train:\n  # of two\n  epochs: 3\n  batch: '30'  # events\n  fit:\n    loss: categorical_crossentropy\n    metrics: [accuracy]\n"
    block.write_text(before + train)
    plan(block, "--measured", of_two, "--batch", "60", "--replicas", "4", "--workers", 1, "--write", block)
    check("  # of two\n  replicas: 4\n  epochs: 3\n  batch: 60  # events\n" in block.read_text(), "in a block, too")
    for words, said in ((["--precision", "fp8"], "fp8"), (["--batch", "0"], "--batch"), (["--replicas", "-1"], "--replicas"), (["--batch", ",".join(map(str, range(1, 70)))], "64 are the most")):
        check(said in plan(job, "--measured", of_two, *words, status=2), f"{words[0]} {words[1][:9]}: refused")


def learning(folder: pathlib.Path, job: pathlib.Path, measured: pathlib.Path) -> None:
    job.write_text(JOB)
    plan(job, "--measured", measured, "--write", job)
    out = folder / "runs/one"
    linac("train", job, "--out", out)
    report = json.loads(linac("report", out, "--json"))
    check([one["what"] for one in report["planned"]] == ["start", "a step", "jitter", "the run"], "the report has planned beside actual")
    check(report["planned"][2]["unit"] == "%" and report["actual"]["jitter"] > 0, "how far steps scatter, too")
    check("Planned and actual" in (out / "report/report.html").read_text(), "and so has its page")
    text = plan("calibration", folder / "runs", "--out", folder / "calibration")
    check("planned" in text and (folder / "calibration/calibration.png").exists(), "all runs together have a page")
    document = as_json(job, "--runs", folder / "runs")
    check(document["experience"]["step"]["runs"] == 1, "the next plan has learned from the run")
    lone = folder / "lone/one"
    linac("train", job, "--out", lone, "--set", "workers=1", "--set", "plan={}")
    document = as_json(job, "--runs", folder / "lone")
    check(str(lone) in document["facts"]["measured"], "a run of the same work replaces the measurement")
    study = folder / "study"
    (study / "trials").mkdir(parents=True)
    (study / "trials/0001").symlink_to(lone)
    document = as_json(job, "--runs", study)
    check(str(study / "trials/0001") in document["facts"]["measured"], "so does a trial of a study")
    check("no run there was planned" in plan("calibration", folder / "lone", status=2), "runs without a plan calibrate nothing")

    reached = as_json(job, "--measured", measured, "--runs", folder / "lone", "--goal", "test accuracy >= 0")
    check(reached["goal"]["steps"]["middle"] == 6 and reached["goal"]["steps"]["high"] > 6, "steps to a quality come from the curves, with their scatter")
    never = as_json(job, "--measured", measured, "--runs", folder / "lone", "--goal", "test accuracy > 2")
    check(any("is not known" in remark for remark in never["remarks"]), "a quality that nobody reached is said to be unknown")


def sites(folder: pathlib.Path, job: pathlib.Path, measured: pathlib.Path) -> None:
    file = folder / "sites.yaml"

    def with_plan(**settings: object) -> None:
        file.write_text(json.dumps({"near": {"kind": "local", "folder": str(folder / "launches"), "plan": settings}}))

    with_plan(hosts=2, price=3, spot_price=1, spot_life_h=0.01, link="1gbit:1ms", watts=100, co2_g_per_kwh=50, queue_s=[10, 20, 40], memory_gib=0.01)
    check("needs" in plan(job, "--measured", measured, "--on", "near", "--not-here", status=12, LINAC_SITES=str(file)), "a host without the memory is no place")
    with_plan(hosts=2, price=3, spot_price=1, spot_life_h=0.01, link="1gbit:1ms", watts=100, co2_g_per_kwh=50, queue_s=[10, 20, 40])
    document = as_json(job, "--measured", measured, "--on", "near", "--not-here", "--spot", LINAC_SITES=str(file))
    spot = row(document, "near, 2 hosts of 1 worker, spot")
    check(spot["preemptions"] > 0 and spot["checkpoint_minutes"] > 0, "spot hosts are taken away, and a checkpoint's interval is named")
    check(spot["played"] and not row(document, "near, 1 worker")["played"], "they are what the launcher's policy comes to")
    long = as_json(job, "--measured", measured, "--on", "near", "--not-here", "--spot", "--set", "train.epochs=3000000", "--deadline", "3000h", LINAC_SITES=str(file))
    late = row(long, "near, 1 worker, spot")
    check(late["preemptions"] > 100 and late["seconds"]["low"] > 0, "of many lives by means")
    check(abs(spot["queue_s"]["high"] / spot["queue_s"]["low"] - 4) < 0.01 and spot["co2_kg"]["middle"] > 0, "queue and carbon dioxide are the site's")
    for settings, words in (({"queue_s": [3, 2, 1]}, "plan.queue_s"), ({"hosts": 0}, "plan.hosts"), ({"price": -1}, "plan.price"), ({"link": "fast"}, "link"),
                            ({"pric": 1}, "pric"), ({"memory_gib": -1}, "plan.memory_gib"), ({"spot_gap_h": -1}, "plan.spot_gap_h"), ({"machine": "none/such"}, "price book has no 'none/such'")):
        with_plan(**settings)
        text = plan(job, "--measured", measured, "--on", "near", status=2, LINAC_SITES=str(file))
        check(words in text, f"{settings}: refused by its name")
    check("away" in plan(job, "--measured", measured, "--on", "away", status=2, LINAC_SITES=str(file)), "a site that is not there is named")


def refusing(folder: pathlib.Path, job: pathlib.Path, measured: pathlib.Path) -> None:
    damaged = folder / "damaged.json"
    damaged.write_text(measured.read_text()[:-40])
    check("damaged.json: no measurement" in plan(job, "--measured", damaged, status=2), "half a file is refused by its name")
    damaged.write_text(re.sub(r'"step_cpu_s": [^,]*', '"step_cpu_s": -1', measured.read_text()))
    check("'step_cpu_s' is no number" in plan(job, "--measured", damaged, status=2), "so is a negative time")
    for words in (["--goal", "auc"], ["--budget", "200EURO"], ["--budget", "\n1EUR\n"], ["--budget", "EUR"], ["--budget", "-3"], ["--budget", "nan"], ["--deadline", "soon"], ["--runs", folder / "nowhere"],
                  ["--machine", "no/*"]):
        text = plan(job, "--measured", measured, *words, status=2)
        check(str(words[0]) in text, f"{words}: named")
    check("no rate of exchange is known for 'XYZ'" in plan(job, "--measured", measured, "--budget", "200XYZ", status=2), "so is a currency without a rate")
    plan(status=2)
    one_line = folder / "flow.yaml"
    one_line.write_text("{" + ", ".join(f"{key}: 1" for key in ("name",)) + "}")
    plan(one_line, "--measured", measured, "--write", one_line, status=2)
    check(one_line.read_text() == "{name: 1}", "a job that cannot be written to stays as it is")


def stopping(folder: pathlib.Path, job: pathlib.Path) -> None:
    place = folder / "tmp"
    place.mkdir()
    process = subprocess.Popen([LINAC, "plan", job, "--probe-seconds", "600"], env=environment(TMPDIR=str(place)), stderr=subprocess.DEVNULL)
    begin = time.monotonic()
    while not list(place.glob("*/*/metrics.jsonl")) and time.monotonic() < begin + 60:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    check(process.wait(60) == 75, "Ctrl-C while it measures: status 75")
    check(list(place.iterdir()) == [], "and nothing is left behind")


def main() -> None:
    os.chdir(ROOT)
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        job = folder / "job.yaml"
        job.write_text(JOB)
        measured = measuring(folder, job)
        planning(folder, job, measured)
        job.write_text(JOB)
        others(folder, job, measured)
        learning(folder, job, measured)
        job.write_text(JOB)
        sites(folder, job, measured)
        refusing(folder, job, measured)
        stopping(folder, job)


if __name__ == "__main__":
    main()
