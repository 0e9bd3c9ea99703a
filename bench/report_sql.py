# SPDX-License-Identifier: LGPL-2.1-or-later
"""PostgreSQL and SQLite: tables with the ratios to the stock policy.  The papers name these programs, and have no
figures."""

from report import MIB, median, print_table, ratio, spread


def summarize(repetitions):
    keys = [key for key, value in repetitions[0].items() if isinstance(value, (int, float))]
    result = {key: median([r[key] for r in repetitions]) for key in keys}
    result["spread"] = {key: spread([r[key] for r in repetitions]) for key in keys}
    result["disk_mib"], result["spread"]["disk_mib"] = result["disk_bytes"] / MIB, result["spread"]["disk_bytes"]
    result["cache_mib"] = median([r["memory"]["file"] for r in repetitions]) / MIB
    return result


def with_spread(summary, key, digits):
    text = f"{summary[key]:.{digits}f}"
    return f"{text} ±{summary['spread'][key]:.1%}" if summary["spread"].get(key) else text


def print_result(load, summaries, repetitions):
    stock = summaries["stock"]
    print(f"\n{load.TITLE}: {load.describe()}\nMedians of {repetitions} interleaved repetitions, ± half the range:")
    print_table(
        ("policy", *(title for _, title, _ in load.COLUMNS), *(f"{title}/stock" for _, title in load.RATIOS)),
        [(name, *(with_spread(r, key, digits) for key, _, digits in load.COLUMNS),
          *(ratio(r[key], stock[key]) for key, _ in load.RATIOS)) for name, r in summaries.items()])
