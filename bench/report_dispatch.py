# SPDX-License-Identifier: LGPL-2.1-or-later
"""Dispatch to user space beside policies in the kernel: a table, and the bar."""

from report import median, print_table, ratio, spread

KINDS = ("hit", "miss")


def summarize(repetitions):
    keys = [key for key, value in repetitions[0].items() if isinstance(value, (int, float))]
    result = {key: median([r[key] for r in repetitions]) for key in keys}
    result["spread"] = {f"{kind}_ns": spread([r[f"{kind}_ns"] for r in repetitions]) for kind in KINDS}
    return result


def print_result(load, summaries, repetitions):
    print(f"\n{load.TITLE.capitalize()}: {load.describe()}\n"
          f"Instructions of a read, medians of {repetitions} interleaved repetitions, ± half the range; with those of "
          "the program that reads the events:")
    rows = []
    for kind in KINDS:
        for name, r in summaries.items():
            rows.append((f"{kind}, {name}", f"{r[f'{kind}_ns']:.0f} ±{r['spread'][f'{kind}_ns']:.1%}",
                         ratio(r[f"{kind}_ns"], summaries["stock"][f"{kind}_ns"]), f"{r[f'{kind}_reader_ns']:.0f}",
                         f"{r[f'{kind}_events']:.2f}", f"{r[f'{kind}_lost']:.0f}"))
    print_table(("", "instructions", "/stock", "of the reader", "events a read", "events lost"), rows)
    paper = ", ".join(f"{name} {value:.1%}" for name, value in load.PAPER.items())
    print(f"  The papers' loss of operations by telling user space: {paper}.")


def bars(load, summaries):
    """That it costs more than the policy that decides in the kernel."""
    if load.POLICY not in summaries or load.IN_KERNEL not in summaries:
        return []
    result = []
    for kind in KINDS:
        value = summaries[load.POLICY][f"{kind}_ns"] / summaries[load.IN_KERNEL][f"{kind}_ns"]
        result.append((value > 1, f"dispatch: a {kind} takes {value:.3f} of the instructions under {load.IN_KERNEL} "
                                  "(above 1)"))
    return result


def report(load, results):
    summaries = {name: summarize(repetitions) for name, repetitions in results.items()}
    print_result(load, summaries, len(results["stock"]))
    document = {"description": load.describe(), "memory_max": load.MEMORY_MAX, "paper": load.PAPER,
                "medians": summaries, "repetitions": results}
    return document, bars(load, summaries)
