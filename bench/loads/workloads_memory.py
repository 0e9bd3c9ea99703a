# SPDX-License-Identifier: LGPL-2.1-or-later
"""What each policy costs in memory, for a byte that is cached: the papers' section 5.3.1."""

import json
import time

import guest
from workloads import MIB, POLICIES, STOCK, Load, Variant


def bpf_maps():
    """Bytes of all maps, by number."""
    return {one["id"]: (one.get("name", ""), one.get("bytes_memlock", 0))
            for one in json.loads(guest.run("bpftool", "--json", "map", "show"))}


class Memory(Load):
    """A slice whose memory is full of page cache, of a file twice as large, so that policies which remember what they
    evicted do.  What is charged to the slice as kernel memory is more than without a policy by the folio table and the
    policy's data; maps are charged to the daemon that made them, and do not depend on the slice's size."""

    TITLE = "memory of policies"
    VARIANTS = (STOCK, *(Variant(name, policy=name) for name in ("noop", "get-scan", "mlcache", "acfs")), *POLICIES)
    MEMORY_MAX = 512 * MIB  # what the machine's memory has in scattered frames is little of that
    FILE_BYTES = 1024 * MIB
    COLUMNS = (("cached_mib", "cached MiB", 1), ("kernel_kib", "kernel KiB", 0), ("slice_percent", "slice pays %", 3),
               ("bucket_percent", "of it buckets %", 3), ("map_kib", "BPF maps KiB", 0), ("map_percent", "maps %", 3),
               ("all_percent", "all %", 3))
    RATIOS = ()             # what there is without a policy is not the policy's
    PAPER_NOTE = "0.4 % of what is cached with an empty registry, 1.2 % with a full one, BPF maps not counted"
    GOAL_PERCENT = 1.2

    def __init__(self, disk, progress):
        super().__init__(disk, progress)
        self.file = disk.make_file(self.FILE_BYTES)

    def describe(self):
        return (f"{self.FILE_BYTES // MIB} MiB read twice with MemoryMax={self.MEMORY_MAX // MIB}M; of what is cached, "
                "a slice pays for the folio table and the policy's data, of which buckets are a part")

    def settled(self, slice_):
        """The slice's memory, once it stays the same for longer than the kernel takes to collect it."""
        memory = None
        while memory != (memory := slice_.memory()):
            time.sleep(2.5)
        return memory

    def measure(self, variant, _repetition):
        guest.set_mglru(False)
        self.prepare(variant)
        guest.compact_memory()
        before = bpf_maps()
        with guest.Slice("demomemory.slice", self.MEMORY_MAX, variant.policy) as slice_:
            maps = {f"{key} {name}".strip(): size for key, (name, size) in bpf_maps().items() if key not in before}
            for _ in range(2):
                guest.run_in_slice(slice_, "demo-memory", ["/usr/bin/dd", f"if={self.file}", "of=/dev/null", "bs=128K"])
            memory = self.settled(slice_)
            counters = slice_.policy_counters()
        result = {"memory": memory, "maps": maps, "map_bytes": sum(maps.values()),
                  "bucket_bytes": counters.get("bucket_bytes", 0), "policy_counters": counters}
        self.progress.say(f"  {variant.name}: {memory['file'] / MIB:.1f} MiB cached, "
                          f"{memory['kernel'] / MIB:.2f} MiB of kernel memory, {result['map_bytes'] >> 10} KiB of maps")
        return result

    def compared(self, results):
        return {name: [{**result, **self.parts(result, stock)} for result, stock in zip(repetitions, results["stock"])]
                for name, repetitions in results.items()}

    @staticmethod
    def parts(result, stock):
        """What the slice pays for the policy, and what the maps take.  The kernel memory of what is cached (the inode,
        the tree of its pages) goes with the pages, and is there without a policy as well."""
        cached, kernel = (result["memory"][key] for key in ("file", "kernel"))
        slice_ = 100 * (kernel / cached - stock["memory"]["kernel"] / stock["memory"]["file"])
        maps = 100 * result["map_bytes"] / cached
        return {"cached_mib": cached / MIB, "kernel_kib": kernel / 1024, "map_kib": result["map_bytes"] / 1024,
                "slice_percent": slice_, "bucket_percent": 100 * result["bucket_bytes"] / cached, "map_percent": maps,
                "all_percent": slice_ + maps}
