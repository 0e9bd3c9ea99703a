# SPDX-License-Identifier: LGPL-2.1-or-later
"""Two units beside each other: a table with the papers' ratios beside ours, and the bars."""

from report import median, print_table, ratio, spread

KEYS = ("ops_per_second", "passes_per_second")


def summarize(repetitions):
    keys = [key for key, value in repetitions[0].items() if isinstance(value, (int, float))]
    result = {key: median([r[key] for r in repetitions]) for key in keys}
    result["spread"] = {key: spread([r[key] for r in repetitions]) for key in KEYS}
    return result


def print_result(load, summaries, repetitions):
    stock = summaries["stock"]
    print(f"\n{load.TITLE.capitalize()}: {load.describe()}\n"
          f"Medians of {repetitions} interleaved repetitions, ± half the range:")
    rows = []
    for variant in load.VARIANTS:
        r = summaries.get(variant.name)
        if not r:
            continue
        paper = load.paper[variant.name]
        rows.append((variant.name, variant.kv or "stock", variant.search or "stock",
                     f"{r['ops_per_second']:.0f} ±{r['spread']['ops_per_second']:.1%}",
                     ratio(r["ops_per_second"], stock["ops_per_second"]), f"{paper[0]:.2f}",
                     f"{r['passes_per_second']:.3f} ±{r['spread']['passes_per_second']:.1%}",
                     ratio(r["passes_per_second"], stock["passes_per_second"]), f"{paper[1]:.2f}"))
    print_table(("", "store", "search", "operations/s", "/stock", "papers", "passes/s", "/stock", "papers"), rows)


def bars(load, summaries):
    if load.POLICY not in summaries:
        return []
    ours, stock = summaries[load.POLICY], summaries["stock"]
    result = []
    for key, goal, what in zip(KEYS, load.GOALS, ("operations", "passes of the search")):
        value = ours[key] / stock[key]
        result.append((value >= goal, f"isolation: {load.POLICY} does {value:.2f} of the {what} of stock "
                                      f"(at least {goal})"))
    return result


def report(load, results):
    summaries = {name: summarize(repetitions) for name, repetitions in results.items()}
    print_result(load, summaries, len(results["stock"]))
    document = {"description": load.describe(), "memory_max": load.MEMORY_MAX, "paper": load.paper,
                "medians": summaries, "repetitions": results}
    return document, bars(load, summaries)
