# SPDX-License-Identifier: LGPL-2.1-or-later
"""Reads beside other work: tables with the papers' figures beside ours, and the bars."""

from report import median, print_table, ratio, spread


def summarize(load, repetitions):
    keys = ["ops_per_second", "mean_us", "p50_us", "p99_us", "p999_us", "disk_reads", "disk_bytes", "get_misses",
            *load.FIGURES]
    result = {key: median([r[key] for r in repetitions]) for key in keys}
    result["spread"] = {key: spread([r[key] for r in repetitions]) for key in ("ops_per_second", "p99_us")}
    return result


def print_result(load, summaries, repetitions):
    stock = summaries["stock"]
    columns = load.COLUMNS
    print(f"\n{load.TITLE.capitalize()}: {load.describe()}\n"
          f"Medians of {repetitions} interleaved repetitions, ± half the range; below the papers' ratios:")
    rows = [[name,
             *(f"{r[key]:.{digits}f}" + (f" ±{r['spread'][key]:.1%}" if key in r["spread"] else "")
               for key, _, digits in columns),
             *(ratio(r[key], stock[key]) for key, _ in load.RATIOS)] for name, r in summaries.items()]
    rows += [[f"paper: {name}", *[""] * len(columns), *(f"{value:.2f}" if value else "" for value in values)]
             for name, values in load.PAPER.items()]
    print_table(["policy", *(title for _, title, _ in columns),
                 *(f"{title}/stock" for _, title in load.RATIOS)], rows)


def bars(load, summaries):
    """The paper's gains against stock, and an advantage over all else that was measured."""
    ours, stock = summaries[load.POLICY], summaries["stock"]
    result = []
    for (key, title), goal in zip(load.RATIOS, load.PAPER[load.POLICY]):
        if goal is None:
            continue
        value = ours[key] / stock[key]
        more = key in load.MORE_IS_BETTER
        result.append((value >= goal if more else value <= goal,
                       f"{load.POLICY}: {title} {value:.2f} of stock's (paper: {goal:.2f}; at "
                       f"{'least' if more else 'most'} that)"))
    for name, other in summaries.items():
        if name != load.POLICY:
            key, title = load.RATIOS[0]
            value = ours[key] / other[key]
            result.append((value > 1 if key in load.MORE_IS_BETTER else value < 1,
                           f"{load.POLICY}: {title} {value:.2f} of that under {name} (better)"))
    return result
