# SPDX-License-Identifier: LGPL-2.1-or-later
"""The demo's figures side by side, and the bars they have to clear."""

import pathlib

MIB = 1 << 20

COMPLETION_NSEC = pathlib.Path("/sys/module/null_blk/parameters/completion_nsec")

# Passes 2 and later of the search may read at most this part of what the stock policies read.
SEARCH_BAR = 0.42


def model():
    return ("1 instruction = 1 ns (all processors in turn), disk: null_blk, "
            f"{int(COMPLETION_NSEC.read_text()) / 1000:.0f} us a request")


def median(values):
    ordered = sorted(values)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


def spread(values):
    """Half of the range, as a part of the median."""
    return (max(values) - min(values)) / 2 / median(values) if median(values) else 0.0


def summarize_kv(repetitions):
    keys = ("disk_bytes", "disk_reads", "hit_ratio", "ops_per_second",
            "mean_us", "p50_us", "p99_us", "p999_us")
    result = {key: median([r[key] for r in repetitions]) for key in keys}
    result["spread"] = {key: spread([r[key] for r in repetitions])
                        for key in ("disk_reads", "ops_per_second")}
    return result


def print_table(heading, rows):
    widths = [max(len(row[i]) for row in [heading, *rows]) for i in range(len(heading))]
    for row in [heading, *rows]:
        cells = [row[0].ljust(widths[0])] + [cell.rjust(width) for cell, width in zip(row[1:], widths[1:])]
        print("  " + "  ".join(cells).rstrip())


def ratio(value, stock):
    return f"{value / stock:.2f}" if stock else "-"


def print_search(load, results):
    stock = results["stock"]
    print(f"\nFile search: {load.describe()}\nPasses 2 to {load.PASSES} together:")
    print_table(
        ("policy", "MiB from disk", "disk reads", "hit ratio", "seconds", "bytes/stock", "time/stock",
         "page cache MiB"),
        [(name, f"{r['disk_bytes'] / MIB:.1f}", str(r["disk_reads"]), f"{r['hit_ratio']:.3f}",
          f"{r['seconds']:.3f}", ratio(r["disk_bytes"], stock["disk_bytes"]),
          ratio(r["seconds"], stock["seconds"]), f"{r['memory']['file'] / MIB:.1f}")
         for name, r in results.items()])


def print_kv(load, summaries, repetitions):
    stock = summaries["stock"]
    print(f"\nKey-value reads: {load.describe()}\n"
          f"Medians of {repetitions} interleaved repetitions, ± half the range:")
    print_table(
        ("policy", "MiB from disk", "disk reads", "hit ratio", "reads/s", "P50 us", "P99 us", "disk/stock",
         "speed/stock"),
        [(name, f"{r['disk_bytes'] / MIB:.1f}", f"{r['disk_reads']:.0f} ±{r['spread']['disk_reads']:.1%}",
          f"{r['hit_ratio']:.3f}", f"{r['ops_per_second']:.0f} ±{r['spread']['ops_per_second']:.1%}",
          f"{r['p50_us']:.0f}", f"{r['p99_us']:.0f}", ratio(r["disk_reads"], stock["disk_reads"]),
          ratio(r["ops_per_second"], stock["ops_per_second"])) for name, r in summaries.items()])


def search_bounds(load, result):
    """The least part of the tree that a pass can read: what does not fit.  First with the whole limit for
    the page cache, then with what kernel memory (inodes, dentries) and anonymous memory left of it."""
    left = load.MEMORY_MAX - result["memory"]["kernel"] - result["memory"]["anon"]
    return {"whole_limit": max(0.0, 1 - load.MEMORY_MAX / load.tree_bytes),
            "without_kernel_and_anon": max(0.0, 1 - left / load.tree_bytes)}


def search_bars(load, results):
    mru = results[load.POLICY]
    bars = []
    for other in ("stock", "mglru"):
        part = mru["disk_bytes"] / results[other]["disk_bytes"]
        time = mru["seconds"] / results[other]["seconds"]
        bars.append((part <= SEARCH_BAR,
                     f"search: mru reads {part:.3f} of the bytes of {other} (at most {SEARCH_BAR})"))
        bars.append((time < 1, f"search: mru takes {time:.3f} of the time of {other} (below 1)"))
    return bars


def kv_bars(load, summaries):
    lfu = summaries[load.POLICY]
    bars = []
    for other in ("stock", "mglru"):
        reads = lfu["disk_reads"] / summaries[other]["disk_reads"]
        speed = lfu["ops_per_second"] / summaries[other]["ops_per_second"]
        bars.append((reads < 1, f"kv: lfu makes {reads:.3f} of the disk reads of {other} (below 1)"))
        bars.append((speed > 1, f"kv: lfu does {speed:.3f} of the reads a second of {other} (above 1)"))
    return bars


def print_bound(load, result):
    bounds = search_bounds(load, result)
    part = result["disk_bytes"] / (load.tree_bytes * (load.PASSES - 1))
    whole, left = bounds["whole_limit"], bounds["without_kernel_and_anon"]
    print(f"\n  A pass reads {part:.3f} of the tree. No policy can read less than {whole:.3f} with all of "
          f"MemoryMax= for the page cache,\n  or than {left:.3f} with what "
          f"{result['memory']['kernel'] / MIB:.1f} MiB of kernel memory (inodes, dentries) leave of it.")


def print_bars(bars):
    print("\nGoals:")
    for good, text in bars:
        print(f"  {'reached' if good else 'MISSED '}  {text}")
    return all(good for good, _ in bars)
