# SPDX-License-Identifier: LGPL-2.1-or-later
"""The least that any policy could read: Belady's optimum of a sequence that "cachectl record --text" took down.

"cachectl simulate" has the same optimum, of the whole sequence.  Here it is known of each access whether it is a miss,
so that the warm-up does not count, and what is only written is no read of the disk."""

import collections
import heapq

PAGE = 4096

Optimum = collections.namedtuple("Optimum", "requests misses cold_misses reads")


class TraceError(Exception):
    """The trace is not what it should be; the text says why."""


def read_trace(path, device):
    """Yields (operation, page, thread) for each page of the device; a page is a file and a number."""
    with open(path, encoding="utf-8", errors="surrogateescape") as trace:
        for number, line in enumerate(trace, 1):
            words = line.split()
            if not words or words[0].startswith("#"):
                continue
            try:
                operation, file, where = words[:3]
                first, _, count = where.partition("+")
                first, count = int(first), int(count or 1)
            except ValueError:
                raise TraceError(f"{path}:{number}: not an access as \"cachectl record --text\" writes it") from None
            if not file.startswith(f"{device}/"):
                continue
            thread = next((word[len("thread="):] for word in words[3:] if word.startswith("thread=")), "")
            for page in range(first, first + count):
                yield operation, (file, page), thread


def next_uses(accesses):
    """For each access the number of the one that uses its page next; infinite if it is removed before."""
    never = float("inf")
    uses, last = [never] * len(accesses), {}
    for i in range(len(accesses) - 1, -1, -1):
        operation, page, _ = accesses[i]
        uses[i] = last.get(page, never)
        if operation == "d":
            last[page] = never
        elif operation != "a":
            last[page] = i
    return uses


def begin_of(accesses, thread):
    """The number of the first access by the thread."""
    for i, access in enumerate(accesses):
        if access[2] == thread:
            return i
    raise TraceError(f"no access by the thread {thread}: where does the measured part begin?")


def belady(accesses, capacity, thread=None, cold=False):
    """The optimum with so many pages.  "reads" are the misses of reads from the thread's first access on; without a
    thread, those of pages that were used before, or all of them if "cold" ones count."""
    if capacity < 1:
        raise TraceError("there is no cache to be simulated")
    uses = next_uses(accesses)
    begin = begin_of(accesses, thread) if thread else 0
    cached, heap, seen = {}, [], set()      # page: its next use; what is used last comes first in the heap
    requests = misses = reads = 0
    for i, (operation, page, _) in enumerate(accesses):
        if operation == "d":
            cached.pop(page, None)
            continue
        if operation == "a":
            continue
        requests += 1
        if page not in cached:
            misses += 1
            reads += operation == "r" and i >= begin and (cold or thread is not None or page in seen)
            while len(cached) >= capacity:
                use, old = heapq.heappop(heap)
                if cached.get(old) == -use:     # else it was used since, or is gone
                    del cached[old]
        seen.add(page)
        cached[page] = uses[i]
        heapq.heappush(heap, (-uses[i], page))
    return Optimum(requests, misses, len(seen), reads)


def limit_of(path, recorded):
    """What a load's "recorded" and the trace say: the row of the limit, with one of its figures for each size of the
    cache if the load has several."""
    accesses = list(read_trace(path, recorded["device"]))
    if not accesses:
        raise TraceError(f"{path}: nothing of the device {recorded['device']} was recorded")
    optimum = belady(accesses, recorded["cache_bytes"] // PAGE, recorded["thread"])
    figures = {key: belady(accesses, size // PAGE, cold=True).reads * PAGE / recorded["unit"]
               for key, size in recorded.get("caches", {}).items()}
    return {"disk_bytes": optimum.reads * PAGE, "disk_mib": optimum.reads * PAGE / (1 << 20),
            "cache_mib": recorded["cache_bytes"] / (1 << 20), "recorded_disk_bytes": recorded["disk_bytes"],
            **({"figures": figures} if figures else {}), **optimum._asdict()}
