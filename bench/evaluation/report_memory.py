# SPDX-License-Identifier: LGPL-2.1-or-later
"""The memory that policies take, for a byte that is cached, and the bars."""

import report as reports
from report import MIB


def figures(result, stock):
    """What the slice pays for the policy, and what the maps take.  The kernel memory of what is cached (the inode, the
    tree of its pages) goes with the pages, and is there without a policy as well."""
    cached, kernel = (result["memory"][key] for key in ("file", "kernel"))
    slice_ = 100 * (kernel / cached - stock["memory"]["kernel"] / stock["memory"]["file"])
    maps = 100 * result["map_bytes"] / cached
    return {"cached_mib": cached / MIB, "kernel_kib": kernel / 1024, "map_kib": result["map_bytes"] / 1024,
            "slice_percent": slice_, "bucket_percent": 100 * result["bucket_bytes"] / cached, "map_percent": maps,
            "all_percent": slice_ + maps}


def bars(load, summaries):
    return [(summary["slice_percent"] <= load.GOAL_PERCENT,
             f"memory: {name} takes {summary['slice_percent']:.3f} % of what is cached (at most the papers' "
             f"{load.GOAL_PERCENT} %)") for name, summary in summaries.items() if name != "stock"]


def report(load, results):
    results = {name: [{**result, **figures(result, stock)} for result, stock in zip(repetitions, results["stock"])]
               for name, repetitions in results.items()}
    document, _ = reports.reporter(bars)(load, results)
    return document, bars(load, document["medians"])
