"""What bench/compare.py makes of its rounds: medians, ratios within a round, and the two files."""

import re
import statistics

from store import store

WORK_TITLES = {"step": "Training step", "generate": "Generator alone, inference"}


def label(contender):
    """One contender's name in the result, e.g. "torch eager, threads 1"."""
    return f"{contender.name} {contender.mode}".strip() + f", threads {contender.threads}"


def spread(values):
    return {"median": statistics.median(values), "min": min(values), "max": max(values)}


def summarize(contenders, rounds, batch):
    """Of each contender the spread over the rounds of what it measured, showers a second, and its peak of memory."""
    found = {}
    for contender in contenders:
        name = label(contender)
        entry = {"name": contender.name, "mode": contender.mode, "threads": contender.threads}
        entry |= {"peak_rss_mib": contender.peak_rss_mib, "libraries_rss_mib": contender.libraries_rss_mib}
        for work in contender.works:
            measured = [found_in[name][work] for found_in in rounds]
            entry[work] = {clock: spread([value[clock] for value in measured]) for clock in measured[0]}
            entry[work]["showers_per_cpu_s"] = batch / entry[work]["cpu_s"]["median"]
            entry[work]["showers_per_s"] = batch / entry[work]["wall_s"]["median"]
        found[name] = entry
    return found


def over_best_peer(contenders, found, work, threads, clock):
    """The fastest peer's time over linac's in one round; None where one of them is missing."""
    times = {"linac": [], "peers": []}
    for contender in contenders:
        if contender.threads == threads and work in contender.works:
            times["linac" if contender.name == "linac" else "peers"].append(found[label(contender)][work][clock])
    return min(times["peers"]) / times["linac"][0] if times["linac"] and times["peers"] else None


def ratios(contenders, rounds):
    """{work: {threads: {clock: spread of linac's speed over the fastest peer's}}}, and "speed_up": {label: {work: ...}},
    the wall time on one thread over that on several; every ratio is taken within a round."""
    counts = sorted({contender.threads for contender in contenders})
    result = {}
    for work in WORK_TITLES:
        for threads in counts:
            for clock in ("cpu_s", "wall_s"):
                values = [over_best_peer(contenders, found, work, threads, clock) for found in rounds]
                if None not in values:
                    result.setdefault(work, {}).setdefault(str(threads), {})[clock] = spread(values)
    result["speed_up"] = {}
    single = {(c.name, c.mode): label(c) for c in contenders if c.threads == 1}
    for contender in contenders:
        if contender.threads > 1:
            name, base = label(contender), single[contender.name, contender.mode]
            result["speed_up"][name] = {
                work: spread([found[base][work]["wall_s"] / found[name][work]["wall_s"] for found in rounds])
                for work in contender.works
            }
    return result


def text_of(values, digits=2):
    return f"{values['median']:.{digits}f} ({values['min']:.{digits}f}–{values['max']:.{digits}f})"


def work_table(result, work):
    """Lines of Markdown."""
    several = result["settings"]["threads"] > 1
    heads = ["", "wall s, median (min–max)", "CPU s", "showers per CPU second", "showers per second"]
    heads += ["speed-up over 1 thread"] * several + ["peak MiB (its libraries alone)"] * (work == "step")
    lines = ["", f"## {WORK_TITLES[work]}", "| " + " | ".join(heads) + " |", "|---" * len(heads) + "|"]
    if not result["linac_available"]:
        lines.append("| linac: not available " + "| " * (len(heads) - 1) + "|")
    for name, entry in result["contenders"].items():
        if work not in entry:
            continue
        cells = [name, text_of(entry[work]["wall_s"]), text_of(entry[work]["cpu_s"])]
        cells += [f"{entry[work]['showers_per_cpu_s']:.2f}", f"{entry[work]['showers_per_s']:.2f}"]
        if several:
            faster = result["ratios"]["speed_up"].get(name)
            cells.append(text_of(faster[work]) if faster else "")
        if work == "step":
            libraries = f" ({entry['libraries_rss_mib']:.0f})" if entry["libraries_rss_mib"] else ""
            cells.append(f"{entry['peak_rss_mib']:.0f}{libraries}")
        lines.append("| " + " | ".join(cells) + " |")
    for threads, clocks in result["ratios"].get(work, {}).items():
        lines += ["", f"linac over the faster peer, within a round, threads {threads}: **{text_of(clocks['cpu_s'])}** by CPU "
                  f"time, {text_of(clocks['wall_s'])} by the clock."]  # fmt: skip
    return lines


def tried_table(tried):
    """Lines of Markdown: the search for the fastest mode."""
    if not tried:
        return []
    lines = ["", "## Modes tried, once each", "| | step, CPU s | wall s | generate, CPU s | wall s |", "|---|---|---|---|---|"]
    for name, modes in tried.items():
        for mode, found in modes.items():
            times = [f"{found[work][clock]:.2f}" for work in WORK_TITLES for clock in ("cpu_s", "wall_s")] if found else []
            lines.append(f"| {name} {mode} | {' | '.join(times or ['over the limit', '', '', ''])} |")
    return lines


def markdown(result):
    host, settings = result["host"], result["settings"]
    lines = [
        f"# The 3DGAN's training step: {settings['precision']}, batch {settings['batch']}, threads {settings['threads']}",
        f"{result['date']}, {host['cpu']}, {host['cpus']} CPUs, {' '.join(host['flags'])}; load average at the start "
        + " ".join(f"{load:.2f}" for load in host["load_average"]) + ".",  # fmt: skip
        "",
        "; ".join(f"{name}: {version}" for name, version in result["versions"].items())
        + f". linac's program: sha256 {result['linac_sha256'][:12]}.",
        "",
        f"`{result['command']}`, {settings['repeat']} rounds.",
    ]
    for work in WORK_TITLES:
        lines += work_table(result, work)
    return "\n".join(lines + tried_table(result["modes_tried"])) + "\n"


def cpu_name(result):
    """ "intel-xeon" """
    cpu = re.sub(r"\((R|TM)\)|CPU|Processor|@.*", "", result["host"]["cpu"])
    return "-".join(re.findall(r"[a-z0-9]+", cpu.lower()))


def write(result, folder):
    """Writes all numbers, the page and its summary; the path of the page."""
    settings = result["settings"]
    name = f"{cpu_name(result)}-{settings['precision']}-b{settings['batch']}-t{settings['threads']}"
    return store(result, name, markdown(result), folder, raw_only=("rounds", "modes_tried"))
