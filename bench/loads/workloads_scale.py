# SPDX-License-Identifier: LGPL-2.1-or-later
"""The loads that decide, with caches of the size that services have: do the small ones of the laboratory say the same?
These machines have the host's time, which does not repeat.  What counts is what the disk has to read; speeds are those
of a model in which the disk alone takes time."""

import math
import statistics

import guest
import workloads
import workloads_ycsb
from workloads import BASELINES, BENCH, MIB, Variant

VARIANTS = (*BASELINES, *(Variant(name, policy=name) for name in ("lfu", "s3fifo", "wtinylfu", guest.AUTO)))

PARTS = 50          # of a run, for its curve
NEAR = 0.02         # what is steady differs by no more, and by what is chance


def steady_after(curve):
    """After how many parts each one reads nearly as much as those of the last fifth; None: it is not steady."""
    last = statistics.mean(curve[-(len(curve) // 5):])
    near = NEAR * last + 4 * math.sqrt(last)
    steady = len(curve)
    while steady and abs(curve[steady - 1] - last) <= near:
        steady -= 1
    return steady if steady < len(curve) * 4 // 5 else None


class Ycsb(workloads_ycsb.RocksDB):
    """The load of that name, with a cache of CACHE_MIB and as much more of all else."""

    CLOCK = "host"
    VARIANTS = VARIANTS
    REPETITIONS = 1
    LIMIT = False
    POLICY = None
    DATABASE = "scale"
    DISK_US = 100           # of the machine
    MODEL_US = workloads_ycsb.Ycsb.DISK_US
    OPTIONS = (*workloads_ycsb.RocksDB.OPTIONS, "--open-files=4096", f"--curve={PARTS}")
    COLUMNS = (("disk_reads", "disk reads", 0), ("disk_mib", "MiB from disk", 1),
               ("model_speed", "operations/s of the model", 0), ("cache_mib", "page cache MiB", 1))
    RATIOS = (("model_speed", "speed"), ("disk_mib", "disk"))
    MORE_IS_BETTER = ("model_speed",)
    PAPER = {}
    CACHE_MIB = 64

    @property
    def records(self):
        """190,000 fill ten caches of 4 MiB."""
        return 190000 * self.CACHE_MIB // 4

    def fill(self):
        self.disk.make_file_system()
        guest.run(BENCH / self.PROGRAM, "load", self.disk.mountpoint / self.DATABASE, f"--records={self.records}",
                  "--value-size=200", f"--levels={MIB}", "--index-in-cache")

    def add_figures(self, result):
        super().add_figures(result)
        result["model_speed"] = 1e6 * result["ops"] / (self.MODEL_US * result["disk_reads"])
        steady = steady_after(result["curve"])
        if steady is None or steady * (self.WARMUP + self.OPERATIONS) > PARTS * self.WARMUP:
            raise guest.DemoError(f"what the disk reads was not steady yet after {self.WARMUP} operations: "
                                  f"{result['curve']}")
        result["steady_operations"] = steady * (self.WARMUP + self.OPERATIONS) // PARTS

    def tell(self, variant, result):
        self.progress.say(f"  {variant.name}: {result['disk_reads']} disk reads, "
                          f"steady after {result['steady_operations']} operations")


class Search(workloads.FileSearch):
    """Three copies of the tree, and three times the memory."""

    TITLE = "file search, 288 MiB of cache"
    CLOCK = "host"
    VARIANTS = (*BASELINES, Variant("mru", policy="mru"), *VARIANTS[len(BASELINES):])
    LIMIT = False
    POLICY = None
    DISK_US = 100
    PASSES = 5
    COPIES = 3
    MEMORY_MAX = COPIES * workloads.Search.MEMORY_MAX
    COLUMNS = tuple(column for column in workloads.Search.COLUMNS if column[0] != "seconds")
    RATIOS = (("disk_mib", "bytes"),)
    PAPER = {}

    def fill(self):
        super().fill()
        tree = self.disk.mountpoint / "search"
        parts = list(tree.iterdir())
        for number in range(1, self.COPIES):
            copy = tree / f"copy-{number}"
            copy.mkdir()
            guest.run("cp", "-a", *parts, copy)


def ycsb(workload, cache_mib):
    """As many operations a page of the cache as in the laboratory."""
    base = workloads_ycsb.LOADS[f"ycsb-{workload}"]
    return type(f"Ycsb_{workload}_{cache_mib}", (Ycsb,), {
        "WORKLOAD": workload, "WHAT": base.WHAT, "CACHE_MIB": cache_mib,
        "WARMUP": base.WARMUP * cache_mib // 4, "OPERATIONS": base.OPERATIONS * cache_mib // 4,
        "TITLE": f"{base.TITLE}, {cache_mib} MiB of cache"})


LOADS = {f"scale-ycsb-{workload}": ycsb(workload, 64) for workload in ("c", "uniform")}
