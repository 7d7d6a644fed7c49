"""Two builds of linac measured in turns, or one alone: what their benchmarks share."""

import argparse
import pathlib
import statistics
import sys

import network


def two_builds(parser: argparse.ArgumentParser) -> argparse.Namespace:
    """The options of a benchmark that only compares."""
    options = parser.parse_args()
    if not options.before:
        parser.error("--before is needed: this compares")
    return options


def arguments(description: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", help="without: `--after` is measured alone")
    parser.add_argument("--before-commit", help="of that build")
    parser.add_argument("--after", required=True)
    parser.add_argument("--rounds", type=int, default=5)
    return parser


def in_turns(script: str, options: argparse.Namespace, measure) -> dict:
    """`measure` takes a program and a number that no other call has, and returns figures by name. Who begins changes from round to round."""
    said = {which: path for which, path in (("before", options.before), ("after", options.after)) if path}
    if options.before and not options.before_commit:
        sys.exit("--before needs --before-commit: what was measured is told by its commit")
    builds = {which: str(pathlib.Path(path).resolve()) for which, path in said.items()}  # workers have other folders
    result = {**network.provenance(script), "before": options.before_commit, "others_cores": network.busy_cores(), "rounds": []}
    for which, path in said.items():  # where they lie on this machine is of no use to others
        result["command"] = result["command"].replace(path, f"{which.upper()}/bin/linac")
    for number in range(options.rounds):
        order = list(builds) if number % 2 == 0 else list(reversed(builds))
        found = {which: measure(builds[which], 2 * number + (which == "after")) for which in order}
        result["rounds"].append(found)
        network.say(f"round {number + 1}: " + "; ".join(f"{name} {' -> '.join(f'{found[which][name]:.4g}' for which in builds)}" for name in found["after"]))
    return result


def heading(title: str, result: dict) -> list[str]:
    return [f"# {title}",
            f"{result['date']}, {result['cpu']}, {result['cores']} cores, commit {result['commit']}"
            f"{', before: ' + result['before'] if result['before'] else ''}; other programs took "
            f"{result['others_cores']:.2f} cores at the start. `{result['command']}`", ""]


def builds_of(result: dict) -> list[str]:
    """"before" and "after", or the latter alone."""
    return [which for which in ("before", "after") if which in result["rounds"][0]]


def table(result: dict, digits: int) -> list[str]:
    """The builds and the ratio of two, as lines of Markdown. A machine whose speed drifts changes both of a round: the ratio round by round says
    more than that of medians where the two differ little, and its spread says what can be told at all."""
    builds = builds_of(result)
    both = len(builds) == 2
    heads = ["", *(builds if both else ["this build"]), *(["after / before, medians", "round by round (least to most)"] if both else [])]
    lines = [f"Median (minimum) of {len(result['rounds'])} rounds.", "", f"| {' | '.join(heads)} |".replace("|  |", "| |"), "|---" * len(heads) + "|"]
    for name, medians, cells in figures(result):
        ratio = [f"{medians[1] / medians[0]:.{digits}f}", round_by_round(result, name, digits)] if both else []
        lines.append(f"| {' | '.join([name, *cells, *ratio])} |")
    return lines


def round_by_round(result: dict, name: str, digits: int) -> str:
    ratios = [one["after"][name] / one["before"][name] for one in result["rounds"]]
    return f"{statistics.median(ratios):.{digits}f} ({min(ratios):.{digits}f} to {max(ratios):.{digits}f})"


def figures(result: dict) -> list[tuple[str, list[float], list[str]]]:
    """Of each figure its name, the medians of the builds, and these as text with the minimum."""
    rows = []
    for name in result["rounds"][0]["after"]:
        all_values = [[one[which][name] for one in result["rounds"]] for which in builds_of(result)]
        medians = [statistics.median(values) for values in all_values]
        rows.append((name, medians, [f"{median:.4g} ({min(values):.4g})" for median, values in zip(medians, all_values)]))
    return rows
