# SPDX-License-Identifier: LGPL-2.1-or-later
"""What CacheReadahead= brings, on a disk for which the size of a request matters: four units of 16 KiB, so that 4 KiB
take 100 us and 128 KiB take 200.  Beside the kernel's own readahead, with the 128 KiB of the device, are all windows
that one could have named.  They go with noop, so that eviction is the kernel's."""

import json

import guest
import workloads
import workloads_ycsb
from page_cache import PageCache
from workloads import BENCH, MIB, STOCK, Variant

ADAPTIVE = "adaptive"
WINDOWS = ("off", "16K", "32K", "64K", "128K", "256K", "512K", "1M", "2M")


def reads_ahead(value, policy=None):
    name = f"{policy}-{value}" if policy else value
    return Variant(name, policy=policy, settings=(f"CacheReadahead={value}",))


class Readahead:
    """The disk, the variants, and what is compared; see goals.readahead()."""

    POLICY = ADAPTIVE
    VARIANTS = (STOCK, Variant("noop", policy="noop"), *(reads_ahead(value) for value in (*WINDOWS, ADAPTIVE)),
                reads_ahead(ADAPTIVE, "s3fifo"))
    BASELINES = (STOCK,)
    REPETITIONS = 1
    LIMIT = False
    DISK_US, NULL_BLK = 100, ("max_sectors=32", "hw_queue_depth=4")
    PAPER = {}
    # of adaptive's operations a second to stock's, and to those of the best window; None: no goal
    LEAST_STOCK, LEAST_WINDOW = None, None
    COLUMNS = (("ops_per_second", "operations/s", 0), ("p99_us", "P99 us", 0), ("disk_reads", "disk reads", 0),
               ("disk_mib", "MiB from disk", 1), ("pages_per_read", "pages a read", 1))
    RATIOS = (("ops_per_second", "speed"), ("p99_us", "P99"), ("disk_mib", "disk"))
    MORE_IS_BETTER = ("ops_per_second",)


def pages_per_read(result):
    return result["disk_bytes"] / workloads.PAGE / max(result["disk_reads"], 1)


class LevelDB(Readahead, workloads_ycsb.LevelDB):
    """As it is distributed: it does not forbid the kernel to read ahead."""

    READAHEAD_KIB = 128     # the device's
    goals = None

    def add_figures(self, result):
        super().add_figures(result)
        result["pages_per_read"] = pages_per_read(result)


class LookUps(LevelDB):
    """Those of YCSB's workload C: each fault is in another table."""

    TITLE = "readahead, LevelDB, which maps its tables"
    WORKLOAD, WHAT = "c", "look-ups, Zipfian,"
    WARMUP, OPERATIONS = 10000, 6000
    LEAST_STOCK, LEAST_WINDOW = 2.5, 0.95


class Lmdb(LookUps):
    """The same in a tree: of the three pages that one takes the last is in another place each time."""

    TITLE = "readahead, LMDB, which maps its tree"
    ENGINE, DATABASE = "lmdb", "lmdb"


def ycsb_class(workload):
    """What each policy brings with readahead that adapts."""
    load = workloads_ycsb.load_class(LevelDB, workload)
    load.TITLE = f"readahead, {load.TITLE}"
    load.POLICY, load.PAPER = None, {}
    load.BASELINES = workloads.BASELINES
    load.VARIANTS = (*load.BASELINES, *(reads_ahead(ADAPTIVE, variant.policy) for variant in workloads.POLICIES))
    return load


class Orders(Readahead, workloads.Load):
    """Pages of one file, in some order."""

    SLICE = "orders"
    FILE, CACHED, BESIDE = 128 * MIB, 8 * MIB, 4 * MIB
    MEMORY_MAX = CACHED + BESIDE
    WARMUP, OPTIONS = 0, ()

    def __init__(self, disk, progress):
        super().__init__(disk, progress)
        self.file = disk.make_file(self.FILE)
        guest.preload(BENCH / "orders")

    def describe(self):
        return (f"{self.OPERATIONS} reads of a page of a file of {self.FILE // MIB} MiB, {self.WHAT}; "
                f"{self.CACHED // MIB} MiB are cached")

    def run(self, slice_, _variant, _repetition):
        command = [BENCH / "orders", self.file, f"--order={self.ORDER}", f"--ops={self.OPERATIONS}",
                   f"--warmup={self.WARMUP}", f"--disk={self.disk.device.name}", "--json", *self.OPTIONS]
        with self.disk.readahead(128), PageCache(slice_, self.CACHED) as cache:
            result = json.loads(guest.run_in_slice(slice_, "demo-orders", command))
        return {**result, "pages_per_read": pages_per_read(result), "memory": cache.memory(),
                "policy_counters": slice_.policy_counters()}

    def tell(self, variant, result):
        self.progress.say(f"  {variant.name}: {result['ops_per_second']:.0f} reads/s, P99 {result['p99_us']:.0f} us, "
                          f"{result['disk_reads']} disk reads of {result['pages_per_read']:.1f} pages")


class Forward(Orders):
    TITLE = "readahead, from the beginning to the end"
    ORDER, WHAT = "forward", "from the first one on, by pread(2)"
    OPERATIONS = 24000
    LEAST_STOCK = 0.99


class Backward(Orders):
    TITLE = "readahead, from the end to the beginning"
    ORDER, WHAT = "backward", "from the last one on, by pread(2)"
    OPERATIONS = 12000
    LEAST_STOCK = 3


class Strides(Orders):
    TITLE = "readahead, each third page"
    ORDER, WHAT = "strides", "each third one, by pread(2)"
    OPERATIONS = 8000


class Random(Orders):
    TITLE = "readahead, look-ups in a mapping"
    ORDER, WHAT = "random", "any, through a mapping"
    WARMUP, OPERATIONS = 2000, 6000
    OPTIONS = ("--mapped",)
    LEAST_STOCK, LEAST_WINDOW = 2.5, 0.95


class Mixed(Orders):
    """Of 100 pages that are read 93 belong to runs, but of 100 reads that begin somewhere 95 are look-ups."""

    TITLE = "readahead, look-ups and scans in a mapping"
    ORDER, WHAT = "mixed", "any, and one time in twenty that one and the 255 after it, through a mapping"
    WARMUP, OPERATIONS = 8000, 24000
    OPTIONS = ("--mapped",)
    LEAST_WINDOW = 1.2


class Search(Readahead, workloads.Search):
    """Files from their beginning to their end."""

    TITLE = "readahead, file search"
    VARIANTS = (STOCK, reads_ahead(ADAPTIVE))
    PASSES = 3
    COLUMNS, RATIOS = workloads.Search.COLUMNS, workloads.Search.RATIOS
    MORE_IS_BETTER = workloads.Search.MORE_IS_BETTER
    LEAST_STOCK = 0.99


LOADS = {f"readahead-{name}": load for name, load in (
    ("leveldb", LookUps), ("lmdb", Lmdb), ("random", Random), ("mixed", Mixed), ("backward", Backward),
    ("forward", Forward), ("strides", Strides), ("search", Search))}
YCSB_LOADS = {f"readahead-ycsb-{workload}": ycsb_class(workload) for workload in workloads_ycsb.FIGURE_6}
