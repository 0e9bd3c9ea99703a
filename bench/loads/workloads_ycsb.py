# SPDX-License-Identifier: LGPL-2.1-or-later
"""The workloads of YCSB under every policy, on RocksDB, which reads its tables by pread(2), and on LevelDB, which maps
them."""

import guest
import workloads
from workloads import BASELINES, MIB, PAGE, POLICIES, Variant, to_stock

# Figure 6: operations a second, and the P99 of reads (of scans) in ms, as far as they are known.
FIGURE_6 = {
    "a": {"stock": (13780, 7.99), "mglru": (11685, None), "lfu": (16238, 6.65), "mru": (8392, None),
          "fifo": (12754, None), "s3fifo": (14972, None), "lhd": (15497, None)},
    "b": {"stock": (9268, 14.1), "mglru": (7011, None), "lfu": (12937, 7.67), "mru": (5572, None),
          "fifo": (7756, None), "s3fifo": (10684, None), "lhd": (12373, None)},
    "c": {"stock": (8726, 14.1), "mglru": (6578, None), "lfu": (11909, 8.17), "mru": (4190, None),
          "fifo": (7310, None), "s3fifo": (9932, None), "lhd": (11278, 8.75)},
    "d": {"stock": (210814, None), "mglru": (233952, None), "lfu": (208503, None), "mru": (132109, None),
          "fifo": (211481, None), "s3fifo": (207969, None), "lhd": (205066, None)},
    "e": {"stock": (2330, 40.5), "mglru": (1989, None), "lfu": (3229, 36.1), "mru": (1827, None),
          "fifo": (2083, None), "s3fifo": (2613, None), "lhd": (3006, None)},
    "f": {"stock": (13749, 8.0), "mglru": (11894, None), "lfu": (16252, None), "mru": (8453, None),
          "fifo": (12675, None), "s3fifo": (15171, None), "lhd": (15444, None)},
    "uniform": {"stock": (4315, 34.7), "mglru": (3434, 46.6), "lfu": (5810, 15.0), "mru": (2631, None),
                "fifo": (3777, None), "s3fifo": (5071, None), "lhd": (5678, 15.3)},
    "uniform-rw": {"stock": (13578, 14.9), "mglru": (9651, 46.1), "lfu": (15515, None), "mru": (8460, None),
                   "fifo": (10702, None), "s3fifo": (14597, None), "lhd": (14663, None)},
}

# Of lfu against the stock policy: at least so many times the operations, at most so much of the P99.
GOALS = {name: (1.3, 0.6) for name in ("a", "b", "c", "uniform")}


class Ycsb(workloads.KeyValue):
    """One workload on one engine, TIMES as large as the page cache.  Each run begins with the same database,
    on a file system that was just mounted, and does the same operations; the time ends when the compaction that they
    caused has."""

    POLICY = "lfu"
    VARIANTS = (*BASELINES, *POLICIES)
    REPETITIONS = 3
    DISK_US = 1000
    SLICE = "ycsb"
    COLUMNS = (("ops_per_second", "operations/s", 0), ("kind_p99_us", "P99 us", 0), ("disk_reads", "disk reads", 0),
               ("disk_mib", "MiB from disk", 1), ("cache_mib", "page cache MiB", 1))
    RATIOS = (("ops_per_second", "speed"), ("kind_p99_us", "P99"), ("disk_mib", "disk"))
    OPTIONS = ("--block-cache=0", "--write-buffer=262144")
    TIMES = 10              # the page cache is the database
    BESIDE = 4 * MIB        # what else there is; only until what there is was looked at

    def __init__(self, disk, progress):
        super().__init__(disk, progress)
        self.source, self.database = self.database, disk.mountpoint / "run"
        self.CACHED = int(self.database_bytes / self.TIMES) // PAGE * PAGE
        self.MEMORY_MAX = self.CACHED + self.BESIDE

    @property
    def options(self):
        """What kv was told."""
        return self.command(0)[3:]

    @property
    def goals(self):
        return GOALS.get(self.WORKLOAD) if self.ENGINE == "rocksdb" else None

    def describe(self):
        return (f"{self.WHAT} on {self.ENGINE} of {self.database_bytes / MIB:.0f} MiB, "
                f"{self.TIMES} times the page cache, {self.CACHED / MIB:.1f} MiB; "
                f"{self.OPERATIONS} operations after {self.WARMUP} to warm up, {self.THREADS} thread(s)")

    def prepare(self, _variant):
        guest.link_database(self.source, self.database)
        self.disk.forget_cached("rw")

    def command(self, repetition):
        return [*super().command(repetition), f"--engine={self.ENGINE}", f"--workload={self.WORKLOAD}"]

    def run(self, slice_, variant, repetition):
        with self.disk.readahead(self.READAHEAD_KIB):
            return super().run(slice_, variant, repetition)

    def add_figures(self, result):
        # of what the paper measures: reads, or in workload E scans
        result["kind"] = "scan" if "scan_ops" in result else "read"
        result["kind_p99_us"] = result[f"{result['kind']}_p99_us"]

    def tell(self, variant, result):
        self.progress.say(f"  {variant.name}: {result['ops_per_second']:.0f} operations/s, "
                          f"P99 of {result['kind']}s {result['kind_p99_us']:.0f} us, {result['disk_reads']} disk reads")


class RocksDB(Ycsb):
    """The tree of the load with scans: a look-up goes through four levels, and reads an index and a block in each.  It
    forbids the kernel to read ahead (posix_fadvise()), and so do scans; compaction asks for it."""

    ENGINE = "rocksdb"
    DATABASE = "ycsb"
    READAHEAD_KIB = 128     # as the kernel has it
    OPTIONS = (*Ycsb.OPTIONS, "--index-in-cache")
    # warm-up and measured operations
    SIZES = {"a": (18000, 10000), "b": (10000, 6000), "c": (10000, 6000), "d": (10000, 6000), "e": (3000, 2000),
             "f": (10000, 6000), "uniform": (10000, 6000), "uniform-rw": (18000, 10000)}


class Cold(RocksDB):
    """A cgroup that is too small to become warm, and that many wait for: a block spans two pages, and the stock policy
    loses pages of the indexes, each of which costs a look-up one more request.  The measured operations are others than
    those before.

    The databases of the papers are 11 times as large as their memory, but what tells policies apart there is LevelDB's
    compaction, which is not here."""

    DATABASE = "ycsb-cold"
    THREADS = 8
    REPETITIONS = 1
    VARIANTS = (*RocksDB.VARIANTS, Variant(guest.AUTO, policy=guest.AUTO))
    SIZES = {"c": (30000, 30000), "uniform": (30000, 30000)}
    TIMES = 23


class LevelDB(Ycsb):
    """As it is distributed: one sorted run, all tables open and mapped, and hits that no system call tells of.  Its
    levels would not stay: look-ups that go through several of them make it merge these."""

    ENGINE = "leveldb"
    DATABASE = "leveldb"
    LIMIT = False           # uses of pages that are mapped cannot be recorded
    READAHEAD_KIB = 0       # LevelDB does not forbid it, and a fault would drive out as much
    SIZES = {"a": (12000, 8000), "b": (14000, 8000), "c": (14000, 8000), "d": (14000, 10000), "e": (2500, 1500),
             "f": (12000, 8000), "uniform": (12000, 8000), "uniform-rw": (12000, 8000)}


def load_class(engine, workload):
    warmup, operations = engine.SIZES[workload]
    return type(f"{engine.__name__}_{workload}", (engine,), {
        "WORKLOAD": workload, "WHAT": f"workload {workload}", "WARMUP": warmup, "OPERATIONS": operations,
        "PAPER": to_stock(FIGURE_6[workload]),
        "TITLE": f"YCSB {workload.upper() if len(workload) == 1 else workload} on {engine.__name__}"})


def cold_class(workload, times=Cold.TIMES, depth=8, goals=(1.3, 0.6)):
    """DEPTH: of the disk's queue."""
    base = load_class(Cold, workload)
    return type(f"{base.__name__}_{depth}", (base,), {
        "TIMES": times, "NULL_BLK": (f"hw_queue_depth={depth}",), "goals": goals, "PAPER": {},
        "TITLE": f"{base.TITLE}, {times} times the page cache, queue depth {depth}"})


LOADS = {f"{prefix}-{workload}": load_class(engine, workload)
         for prefix, engine in (("ycsb", RocksDB), ("ycsb-leveldb", LevelDB)) for workload in FIGURE_6}
COLD_LOADS = {
    "ycsb-cold-c": cold_class("c"),
    "ycsb-cold-uniform": cold_class("uniform"),
    "ycsb-cold-c-one": cold_class("c", depth=1),
    "ycsb-cold-c-papers": cold_class("c", times=10.7, goals=(1.1, None)),
}
