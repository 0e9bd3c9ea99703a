# SPDX-License-Identifier: LGPL-2.1-or-later
"""Two units beside each other, each with a limit and a policy of its own, on one disk: key-value reads and a file
search, as in the cachebpf paper's figure 10."""

import dataclasses
import pathlib

import guest
import workloads
from page_cache import PageCache
from workloads import MIB

# From the artifact's numbers: operations a second, passes in seven minutes.
FIGURE_10 = {"stock": (5571, 68), "lfu": (7865, 84), "mru": (2233, 116), "tailored": (8344, 122)}

QUEUE_DEPTH = pathlib.Path("/sys/module/null_blk/parameters/hw_queue_depth")


@dataclasses.dataclass(frozen=True)
class Pair:
    """What runs beside each other: the policies of the key-value store and of the search.  All measure some dozens of
    seconds: who is slow does the first of the operations only."""
    name: str
    kv: str | None = None
    search: str | None = None
    operations: int = 24000

    @property
    def options(self):
        """Of the reads; the last --ops= counts."""
        return (f"--ops={self.operations}",)


STOCK = Pair("stock")


class KeyValueBeside(workloads.KeyValue):
    """YCSB's workload C on YCSB's database."""

    DATABASE = "ycsb"
    SLICE = "isolation-kv"
    OPTIONS = ("--workload=c", "--block-cache=0", "--index-in-cache")
    MEMORY_MAX = 7 * MIB
    WARMUP = 8000
    OPERATIONS = STOCK.operations

    def fill(self):
        """Both loads' data are there already."""

    def describe(self):
        return f"RocksDB of {self.database_bytes / MIB:.0f} MiB, of which a tenth is cached; {self.reads()}"


class SearchBeside(workloads.Search):
    """The files of one directory, and a limit of 70 % of them; pass after pass until it is stopped."""

    PART = "drivers/net/wireless"
    PASSES = 1000
    MEMORY_MAX = 29 * MIB

    def fill(self):
        """As above."""

    def describe(self):
        return (f"\"rg --threads=1 {self.PATTERN}\" again and again over {self.files} C files, "
                f"{self.tree_bytes / MIB:.0f} MiB, {self.tree_bytes / self.MEMORY_MAX:.2f} times "
                f"MemoryMax={self.MEMORY_MAX // MIB}M")


class Isolation(workloads.Load):
    """Both loads at once, measured while the second and later passes of the search run beside the measured reads."""

    TITLE = "isolation"
    POLICY = "tailored"
    BASELINES = (STOCK,)
    VARIANTS = (STOCK, Pair("lfu", "lfu", "lfu"), Pair("mru", "mru", "mru", 4000), Pair("tailored", "lfu", "mru"))
    DISK_US = 1000
    NULL_BLK = ("hw_queue_depth=1",)        # a disk that two have to share
    COLUMNS = (("ops_per_second", "operations/s", 0), ("p99_us", "P99 us", 0),
               ("passes_per_second", "passes of the search/s", 3))
    RATIOS = (("ops_per_second", "operations"), ("passes_per_second", "passes"))
    MORE_IS_BETTER = ("ops_per_second", "passes_per_second")
    PAPER = workloads.to_stock(FIGURE_10)
    PASSES_MIN = 2
    # of "tailored" against "stock": operations and passes a second
    GOALS = (1.5, 1.8)

    def __init__(self, disk, progress):
        super().__init__(disk, progress)
        disk.fill_anew(KeyValueBeside.DATABASE, "search")
        self.kv = KeyValueBeside(disk, progress)
        self.search = SearchBeside(disk, progress)
        self.MEMORY_MAX = self.kv.MEMORY_MAX + self.search.MEMORY_MAX

    def describe(self):
        fewer = [f"{pair.name}: {pair.operations}" for pair in self.VARIANTS if pair.operations != STOCK.operations]
        return (f"{self.kv.describe()} ({', '.join(fewer)}); beside it {self.search.describe()}; the disk does "
                f"{QUEUE_DEPTH.read_text().strip()} request(s) at a time; tailored is lfu for the store, mru for the "
                "search")

    def measure(self, variant, repetition):
        guest.set_mglru(False)
        self.prepare(variant)
        with guest.Slice("demoisolationkv.slice", self.kv.MEMORY_MAX, variant.kv) as kv_slice, \
                guest.Slice("demoisolationsearch.slice", self.search.MEMORY_MAX, variant.search) as search_slice, \
                guest.Service(search_slice.name, "demo-isolation-search", self.search.command()) as search:
            status = [workloads.show_status(s) for s in (kv_slice, search_slice)] if repetition == 0 else None
            search.wait_for_line()
            with PageCache(kv_slice, self.kv.tenth()) as cache:
                result = self.kv.ask(kv_slice, variant, repetition)
            search.check_runs()
            passes = self.search.parse(search.text())
            result["memory"] = {"kv": cache.memory(), "search": search_slice.memory()}
            result["policy_counters"] = {"kv": kv_slice.policy_counters(), "search": search_slice.policy_counters()}
            result["status"] = status
        self.add_search(result, passes)
        self.progress.say(f"  {variant.name}: {result['ops_per_second']:.0f} operations/s beside "
                          f"{result['passes_per_second']:.3f} passes/s ({result['passes']} passes)")
        return result

    def add_search(self, result, passes):
        """The passes that began and ended within the measured time of the reads."""
        within = workloads.passes_within(passes, result["begin"], result["seconds"], self.PASSES_MIN)
        result["passes"] = len(within)
        result["passes_per_second"] = len(within) / sum(one["seconds"] for one in within)
