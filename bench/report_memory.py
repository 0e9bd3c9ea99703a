# SPDX-License-Identifier: LGPL-2.1-or-later
"""The memory that policies take, for a byte that is cached: a table, and the bars."""

from report import print_table


def parts(result, stock):
    """Bytes for a cached byte: what the slice pays for the policy, and with the maps.  The kernel memory of what is
    cached (the inode, the tree of its pages) goes with the pages, and is there without a policy as well."""
    cached = result["memory"]["file"]
    plain = stock["memory"]["kernel"] / stock["memory"]["file"]
    slice_ = result["memory"]["kernel"] / cached - plain
    return {"slice": slice_, "buckets": result["bucket_bytes"] / cached, "maps": result["map_bytes"] / cached,
            "all": slice_ + result["map_bytes"] / cached}


def summarize(results):
    return {name: {**result, "parts": parts(result, results["stock"])} for name, result in results.items()}


def print_result(load, summaries):
    print(f"\n{load.TITLE.capitalize()}: {load.describe()}\n"
          "Of what is cached; a slice pays for the folio table and the policy's data, of which buckets are a part:")
    print_table(
        ("policy", "cached MiB", "kernel KiB", "slice pays", "of it buckets", "BPF maps KiB", "maps", "all"),
        [(name, f"{r['memory']['file'] / (1 << 20):.1f}", f"{r['memory']['kernel'] >> 10}",
          f"{r['parts']['slice']:.3%}", f"{r['parts']['buckets']:.3%}", f"{r['map_bytes'] >> 10}",
          f"{r['parts']['maps']:.3%}", f"{r['parts']['all']:.3%}") for name, r in summaries.items()])
    print(f"  The papers: {load.PAPER[0]:.1%} with nothing cached to {load.PAPER[1]:.1%}, maps not counted.")


def bars(load, summaries):
    return [(r["parts"]["slice"] <= load.GOAL,
             f"memory: {name} takes {r['parts']['slice']:.3%} of what is cached (at most the papers' {load.GOAL:.1%})")
            for name, r in summaries.items() if name != "stock"]


def report(load, results):
    summaries = summarize({name: result for name, (result,) in results.items()})
    print_result(load, summaries)
    document = {"description": load.describe(), "memory_max": load.MEMORY_MAX, "paper": load.PAPER,
                "results": summaries}
    return document, bars(load, summaries)
