# SPDX-License-Identifier: LGPL-2.1-or-later
"""The bars that the two loads of the demo have to clear, and how near the search comes to what is possible."""

from report import MIB

# Passes 2 and later of the search may read at most this part of what the stock policies read.
SEARCH_BAR = 0.42


def search_bounds(load, result):
    """The least part of the tree that a pass can read: what does not fit.  First with the whole limit for
    the page cache, then with what kernel memory (inodes, dentries) and anonymous memory left of it."""
    left = load.MEMORY_MAX - result["kernel_bytes"] - result["anon_bytes"]
    return {"whole_limit": max(0.0, 1 - load.MEMORY_MAX / load.tree_bytes),
            "without_kernel_and_anon": max(0.0, 1 - left / load.tree_bytes)}


def print_bound(load, result):
    bounds = search_bounds(load, result)
    part = result["disk_bytes"] / (load.tree_bytes * (load.PASSES - 1))
    whole, left = bounds["whole_limit"], bounds["without_kernel_and_anon"]
    print(f"\n  A pass reads {part:.3f} of the tree. No policy can read less than {whole:.3f} with all of "
          f"MemoryMax= for the page cache,\n  or than {left:.3f} with what "
          f"{result['kernel_bytes'] / MIB:.1f} MiB of kernel memory (inodes, dentries) leave of it.")


def search_bars(load, summaries):
    mru = summaries[load.POLICY]
    print_bound(load, mru)
    bars = []
    for other in ("stock", "mglru"):
        part = mru["disk_bytes"] / summaries[other]["disk_bytes"]
        time = mru["seconds"] / summaries[other]["seconds"]
        bars.append((part <= SEARCH_BAR,
                     f"search: mru reads {part:.3f} of the bytes of {other} (at most {SEARCH_BAR})"))
        bars.append((time < 1, f"search: mru takes {time:.3f} of the time of {other} (below 1)"))
    return bars


def file_search_bars(load, summaries):
    """The paper's, as the time is: half of stock's."""
    mru = summaries[load.POLICY]
    print_bound(load, mru)
    faster = summaries["stock"]["seconds"] / mru["seconds"]
    return [(faster >= 2, f"file search: mru is {faster:.2f} times as fast as stock (at least 2)")]


def kv_bars(load, summaries):
    lfu = summaries[load.POLICY]
    bars = []
    for other in ("stock", "mglru"):
        reads = lfu["disk_reads"] / summaries[other]["disk_reads"]
        speed = lfu["ops_per_second"] / summaries[other]["ops_per_second"]
        bars.append((reads < 1, f"kv: lfu makes {reads:.3f} of the disk reads of {other} (below 1)"))
        bars.append((speed > 1, f"kv: lfu does {speed:.3f} of the reads a second of {other} (above 1)"))
    return bars
