#!/usr/bin/env python3
"""Where the time of a step goes: the parts of run.json, of `linac report` and of TensorBoard, and the trace of some steps, which
changes no bit, is whole or not there, and is what Perfetto reads."""

import json
import os
import pathlib
import signal
import struct
import tempfile

from lib import runs
from lib.checks import check
from lib.elastic import AT_FULL_SIZE
from lib.runs import linac

PARTS = ("forward_s", "backward_s", "sum_s", "idle_s", "update_s")
CLOCK_S = 1e-6  # sums of some hundred differences of a clock of nanoseconds


def accounts(run: pathlib.Path) -> list[dict]:
    return json.loads((run / "run.json").read_text())["time_by_worker"]


def parts_agree(run: pathlib.Path, steps: int, networks: set[str], stopped: bool = False) -> None:
    """Of a run that was stopped, others than the writer have told of what they had done some steps before."""
    for rank, account in enumerate(accounts(run)):
        time, phases = account["steps"], account["phases"]
        told = 0 < time["steps"] <= steps if stopped and rank > 0 else time["steps"] == steps
        check(told and {one["network"] for one in time["networks"]} == networks, f"{time['steps']} of {steps} steps of {networks}")
        total = {part: sum(one[part] for one in time["networks"]) for part in PARTS}
        check(all(one[part] >= 0 for one in time["networks"] for part in PARTS), "no part is negative")
        check(total["forward_s"] > 0 and total["backward_s"] > 0, "there is a forward and a backward pass")
        check(abs(total["forward_s"] + total["backward_s"] - phases["compute"]["wall_s"]) < CLOCK_S, "together they are computing")
        check(total["sum_s"] + total["idle_s"] <= phases["communication"]["wall_s"] + CLOCK_S, "sum and idle are of the communication")
        check(abs(total["update_s"] - phases["update"]["wall_s"]) < CLOCK_S, "the update is the phase")
        check(time["input_s"] <= phases["input"]["wall_s"] + CLOCK_S, "the input is of the phase")
        check(sum(total.values()) + time["input_s"] <= time["wall_s"] + CLOCK_S, "the parts lie within the steps")


def shares_agree(run: pathlib.Path) -> dict:
    said = linac("report", run)
    check("a step takes" in said, "the report says what a step takes")
    report = json.loads((run / "report" / "report.json").read_text())
    step = report["step"]
    check(abs(sum(step["shares"].values()) - 1) < 1e-9, "the shares are 100 % together")
    for part, share in step["shares"].items():
        of_networks = [shares[part] for shares in step["networks"].values() if part in shares]
        check(not of_networks or abs(sum(of_networks) - share) < 1e-9, f"{part}: the networks' shares are all")
    check((run / "report" / "step.png").read_bytes().startswith(b"\x89PNG"), "there is a picture of it")
    return report


def scalars(run: pathlib.Path, front: str) -> dict[str, float]:
    """Those of TensorBoard's events whose tag begins so: Summary.Value has the tag as field 1 and simple_value as field 2."""
    found = {}
    for path in (run / "tensorboard").glob("events*"):
        content = path.read_bytes()
        at = 0
        while (at := content.find(front.encode(), at)) >= 0:
            end = at + content[at - 1]
            check(content[end] == 0x15, "a value behind the tag")
            found[content[at:end].decode()] = struct.unpack_from("<f", content, end + 1)[0]
            at = end
    return found


def spans_are_nested(trace: dict) -> dict[tuple, list[dict]]:
    """The spans by thread, as the trace event format wants them."""
    threads: dict[tuple, list[dict]] = {}
    for event in trace["traceEvents"]:
        assert event["ph"] in "XM" and isinstance(event["pid"], int) and isinstance(event["tid"], int) and event["name"], event
        if event["ph"] == "X":
            assert event["ts"] >= 0 and event["dur"] >= 0, event
            threads.setdefault((event["pid"], event["tid"]), []).append(event)
    for spans in threads.values():
        open_until = []  # nanoseconds
        for span in sorted(spans, key=lambda one: (round(1000 * one["ts"]), -round(1000 * one["dur"]))):
            begin, end = round(1000 * span["ts"]), round(1000 * span["ts"]) + round(1000 * span["dur"])
            while open_until and open_until[-1] <= begin:
                open_until.pop()
            assert not open_until or end <= open_until[-1], f"{span} reaches beyond what it is in"
            open_until.append(end)
    check(len(threads) > 0, f"{sum(map(len, threads.values()))} spans of {len(threads)} threads, one within another")
    return threads


def trace_of(run: pathlib.Path) -> dict:
    return json.loads((run / "trace.json").read_text())


def names(trace: dict, what: str) -> list[str]:
    return [event["args"]["name"] for event in trace["traceEvents"] if event["ph"] == "M" and event["name"] == what]


def gan(root: pathlib.Path) -> None:
    job = runs.SMALL | {"train.epochs": 1, "data.test": "[]", "checkpoint.best_by": "loss"}
    plain, traced = root / "plain", root / "traced"
    runs.run(plain, job, "--workers", "1")
    said = runs.run(traced, job, "--workers", "2", "--trace", "2:3")
    check(runs.losses(plain) == runs.losses(traced), "every loss is that of a run without a trace")
    check(runs.newest_checkpoint(plain).read_bytes() == runs.newest_checkpoint(traced).read_bytes(), "and the checkpoint, byte for byte")
    check("a step of" in said and "trace.json" in said, "the terminal has a line on the step, and where the trace is")
    for run in (plain, traced):
        parts_agree(run, 3, {"generator", "discriminator"})
    check(not shares_agree(plain)["trace"] and shares_agree(traced)["trace"], "the report knows of the trace")
    told = scalars(traced, "profile/")
    whole = sum(value for tag, value in told.items() if tag.count("/") == 1)
    check(len(told) == 7 + 2 * 5 and abs(whole - 100) < 0.01, f"TensorBoard: 100 % in {len(told)} curves, {whole}")

    trace = trace_of(traced)
    threads = spans_are_nested(trace)
    check(len(names(trace, "process_name")) == 2, "a process row a worker")
    check({"training", "replicas", "input", "checkpoint writer"} <= set(names(trace, "thread_name")), "rows of all kinds of threads")
    found = {(pid, span["name"]) for (pid, _), spans in threads.items() for span in spans}
    for pid in (0, 1):
        for name in ("step 2", "step 3", "update d_real", "update g", "sum bucket 0", "exchange", "apply", "backward", "forward generator"):
            check((pid, name) in found, f"worker {pid}: {name}")
        check((pid, "step 1") not in found, "no step but those that are wanted")
    check({name for _, name in found if name.startswith("replica ")} == {f"replica {i}" for i in range(4)}, "each replica")
    check(any(name.startswith("gradient of ") for _, name in found) and (0, "writing a checkpoint") in found, "gradients and checkpoints")
    errors = [worker["clock_error_us"] for worker in trace["otherData"]["workers"]]
    check(errors[0] == 0 < errors[1], f"how well the clocks are known: {errors}")
    # All wait for the slowest: an update ends everywhere before the next one but one begins anywhere.
    ends = {(pid, span["name"]): span["ts"] + span["dur"] for (pid, _), spans in threads.items() for span in spans if span["name"].startswith("step ")}
    begins = {(pid, span["name"]): span["ts"] for (pid, _), spans in threads.items() for span in spans if span["name"].startswith("step ")}
    check(all(begins[a, "step 2"] < ends[b, "step 2"] + errors[1] for a in (0, 1) for b in (0, 1)), "the workers' steps lie beside each other")


def refused(root: pathlib.Path) -> None:
    for steps in ("0:3", "5:2", "x", "-1:3", "1:2:3", "", "1:99999999999999999999"):
        said = runs.run(root / "refused", AT_FULL_SIZE, f"--trace={steps}", status=2)
        check("names no steps" in said and not (root / "refused").exists(), f"--trace={steps} is refused")


def stopped_and_killed(root: pathlib.Path) -> None:
    run = root / "stopped"
    process = runs.start(run, AT_FULL_SIZE, "--workers", "2", "--trace", "3:1000000")
    runs.wait_for_steps(run, process, 8)
    process.send_signal(signal.SIGTERM)
    check(process.wait() == 75, "stopped by a signal")
    parts_agree(run, json.loads((run / "run.json").read_text())["global_step"], {"model"}, stopped=True)
    spans_are_nested(trace_of(run))
    steps = trace_of(run)["otherData"]
    check((steps["first_step"], steps["last_step"]) == (3, 1000000), "what was wanted is told, and what was done by then is there")

    # Nothing of a trace that was not finished; and one that is replaces whatever is in its place.
    (run / "trace.json").unlink()
    os.mkfifo(run / "trace.json")
    done = runs.steps_so_far(run)
    process = runs.start(run, AT_FULL_SIZE, "--workers", "2", "--resume", "--trace", f"{done + 2}:1000000")
    runs.wait_for_steps(run, process, done + 6)
    runs.kill_tree(process)
    check((run / "trace.json").is_fifo() and "a step takes" in linac("report", run), "a killed run leaves no trace, and a pipe in its place holds nobody up")
    late = runs.run(run, AT_FULL_SIZE | {"train.max_steps": done + 12}, "--workers", "2", "--resume", "--trace", "1:2")
    check("no trace: this start trains no step of 1:2" in late and (run / "trace.json").is_fifo(), "steps that are over are none to trace")
    runs.run(run, AT_FULL_SIZE | {"train.max_steps": done + 14}, "--workers", "1", "--resume", "--trace", f"{done + 13}")
    spans_are_nested(trace_of(run))
    late = runs.run(run, AT_FULL_SIZE | {"train.max_steps": done + 15}, "--workers", "1", "--resume", "--trace", "900000")
    check("no trace" in late, "steps that do not come neither")


def lost_worker(root: pathlib.Path) -> None:
    run = root / "lost"
    process = runs.start(run, AT_FULL_SIZE | {"train.max_steps": 60, "distribution.restarts": 0}, "--workers", "3", "--trace", "2:50")
    runs.wait_for_steps(run, process, 10)
    members = json.loads(sorted((run / "views").glob("*.json"))[-1].read_text())["members"]
    os.kill(members[-1]["pid"], signal.SIGKILL)
    check(process.wait() == 0, "the others go on without a worker that was lost")
    trace = trace_of(run)
    threads = spans_are_nested(trace)
    check(len(names(trace, "process_name")) == 2, "and have their trace")
    for pid in (0, 1):
        steps = [span["name"] for (of, _), spans in threads.items() for span in spans if of == pid and span["name"].startswith("step ")]
        check({f"step {i}" for i in range(2, 51)} <= set(steps), f"worker {pid}: of all steps, from before and after")


def chain(root: pathlib.Path) -> None:
    run = root / "chain"
    job = {"job": "examples/cell-chain.yaml", "train.epochs": 1, "train.steps_per_epoch": 2, "data.test": "[]", "checkpoint.best_by": "loss"}
    runs.run(run, job, "--workers", "1", "--trace", "2")
    parts_agree(run, 2, {one["network"] for one in accounts(run)[0]["steps"]["networks"]})
    spans_are_nested(trace_of(run))


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="linac-profile-") as folder:
        root = pathlib.Path(folder)
        refused(root)
        gan(root)
        stopped_and_killed(root)
        lost_worker(root)
        chain(root)
        print(json.dumps({"passed": True}))


main()
