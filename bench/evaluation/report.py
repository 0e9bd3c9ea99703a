# SPDX-License-Identifier: LGPL-2.1-or-later
"""Figures side by side: medians of the repetitions, as a table and as the document that goes into the JSON.

A load says what is in its table: COLUMNS (key, title, digits) and RATIOS (key, title), of which ratios to the variant
BASE are shown; MORE_IS_BETTER has those of the keys of which more is better; PAPER has the papers' ratios by variant,
in the order of RATIOS, and PAPER_NOTE what they say that is no such ratio."""

import itertools
import pathlib
from statistics import median

MIB = 1 << 20

COMPLETION_NSEC = pathlib.Path("/sys/module/null_blk/parameters/completion_nsec")


def model(clock="laboratory"):
    disk = f"disk: null_blk, {int(COMPLETION_NSEC.read_text()) / 1000:.0f} us a request"
    if clock == "host":
        return f"the host's time, which is not repeatable; {disk}"
    return f"1 instruction = 1 ns (all processors in turn), {disk}"


def spread(values):
    """Half of the range, as a part of the median."""
    return (max(values) - min(values)) / 2 / median(values) if median(values) else 0.0


def is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def summarize(repetitions):
    """The medians of all numbers that each repetition has, and their spread.  One alone has none, but may bring that of
    its parts."""
    keys = [key for key in repetitions[0] if all(is_number(r.get(key)) for r in repetitions)]
    result = {key: median([r[key] for r in repetitions]) for key in keys}
    result["spread"] = {key: spread([r[key] for r in repetitions]) for key in keys}
    if len(repetitions) == 1:
        result["spread"] = dict(repetitions[0].get("spread", {}))
    if "disk_bytes" in result:
        result["disk_mib"] = result["disk_bytes"] / MIB
        if "disk_bytes" in result["spread"]:
            result["spread"]["disk_mib"] = result["spread"]["disk_bytes"]
    if all("file" in r.get("memory", {}) for r in repetitions):
        result["cache_mib"] = median([r["memory"]["file"] for r in repetitions]) / MIB
    return result


def print_table(heading, rows):
    widths = [max(len(row[i]) for row in [heading, *rows]) for i in range(len(heading))]
    for row in [heading, *rows]:
        cells = [row[0].ljust(widths[0])] + [cell.rjust(width) for cell, width in zip(row[1:], widths[1:])]
        print("  " + "  ".join(cells).rstrip())


def ratio(value, base):
    return f"{value / base:.2f}" if base else "-"


def with_spread(summary, key, digits):
    text = f"{summary[key]:.{digits}f}"
    return f"{text} ±{summary['spread'][key]:.1%}" if summary["spread"].get(key) else text


def paper_of(load, name):
    """The papers' ratios of a variant, None where there is none."""
    values = load.PAPER.get(name, ())
    return {key: value for (key, _), value in itertools.zip_longest(load.RATIOS, values)}


def print_result(load, summaries, repetitions):
    base_name = load.BASE if load.BASE in summaries else "stock"
    base = summaries[base_name]
    known = {key for key, _ in load.RATIOS for name in summaries if paper_of(load, name)[key]}
    heading = ["policy", *(title for _, title, _ in load.COLUMNS)]
    rows = [[name, *(with_spread(summary, key, digits) for key, _, digits in load.COLUMNS)]
            for name, summary in summaries.items()]
    for key, title in load.RATIOS:
        heading += [f"{title}/{base_name}", *["papers"] * (key in known)]
        for row in rows:
            row.append(ratio(summaries[row[0]][key], base[key]))
            if key in known:
                value = paper_of(load, row[0])[key]
                row.append(f"{value:.2f}" if value else "")
    print(f"\n{load.TITLE[0].upper()}{load.TITLE[1:]}: {load.describe()}")
    if repetitions > 1:
        print(f"Medians of {repetitions} interleaved repetitions, ± half the range:")
    print_table(heading, rows)
    if load.PAPER_NOTE:
        print(f"  Papers: {load.PAPER_NOTE}.")


def reporter(find_goals, *attributes):
    """What prints a load's results: it returns the document for the JSON and the goals that "find_goals", if there is
    one, finds.  "attributes" are those of the load that are in the document as well."""
    def report(load, results):
        results = load.compared(results)
        summaries = {name: summarize(repetitions) for name, repetitions in results.items()}
        print_result(load, summaries, len(results["stock"]))
        document = {
            "title": load.TITLE, "description": load.describe(), "memory_max": load.MEMORY_MAX,
            **{name: getattr(load, name) for name in attributes},
            "columns": load.COLUMNS, "base": load.BASE, "ratios": load.RATIOS, "more_is_better": load.MORE_IS_BETTER,
            "paper": {name: paper_of(load, name) for name in summaries},
            "paper_note": load.PAPER_NOTE, "medians": summaries, "repetitions": results}
        has_goals = find_goals and load.POLICY in (None, *results)
        return document, list(find_goals(load, summaries)) if has_goals else []
    return report


def print_goals(goals):
    print("\nGoals:")
    for good, text in goals:
        print(f"  {'reached' if good else 'MISSED '}  {text}")
    return all(good for good, _ in goals)
