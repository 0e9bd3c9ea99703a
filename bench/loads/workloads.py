# SPDX-License-Identifier: LGPL-2.1-or-later
"""What loads have in common, and the two of the demo."""

import contextlib
import dataclasses
import json
import pathlib
import shutil

import guest
import report
from page_cache import PageCache
from report import MIB

BENCH = pathlib.Path(__file__).resolve().parent
PAGE = 4096


@dataclasses.dataclass(frozen=True)
class Variant:
    """What runs beside each other."""
    name: str
    mglru: bool = False
    policy: str | None = None       # CachePolicy= of the slice
    settings: tuple = ()            # further lines of its unit file
    options: tuple = ()             # of the program that is measured


STOCK = Variant("stock")
MGLRU = Variant("mglru", mglru=True)
BASELINES = (STOCK, MGLRU)
# The policy mglru beside the kernel's own.
POLICIES = (*(Variant(name, policy=name) for name in ("lfu", "mru", "fifo", "lru", "s3fifo", "lhd")),
            Variant("mglru-policy", policy="mglru"),
            *(Variant(name, policy=name) for name in ("sieve", "arc", "wtinylfu")))


def to_stock(figures):
    """The ratios to the stock policy of a paper's figures, by variant, as far as they are known."""
    return {name: tuple(value / base if value and base else None for value, base in zip(values, figures["stock"]))
            for name, values in figures.items()}


class Load:
    """What is measured: its TITLE, VARIANTS and MEMORY_MAX, describe(), and run() in the slice demoSLICE.slice (or else
    a measure() of its own).  Tables are made of COLUMNS, RATIOS, MORE_IS_BETTER, PAPER, PAPER_NOTE, see report.py."""

    POLICY = None           # that has goals, see goals.py; None: all have
    BASELINES = (STOCK,)    # of VARIANTS, those that a kernel without cachebpf has, too
    BASE = "stock"          # the variant that ratios are to
    REPETITIONS = 3
    RATIOS = ()
    MORE_IS_BETTER = ()
    PAPER, PAPER_NOTE = {}, None
    LIMIT = False           # whether Belady's optimum can be had of the recorded sequence
    RECORDED = None         # the variant under which a sequence is recorded, if not for that
    LIMIT_THREAD = None     # what begins the measured part; without it what counts is what was read once already
    DISK_US, CPUS = 100, 2  # of the machine: the disk's time for a request, and processors
    NULL_BLK = ()           # further parameters of the disk
    CLOCK = "laboratory"    # whose time it has, or "host"

    def __init__(self, disk, progress):
        self.disk = disk
        self.progress = progress

    def prepare(self, _variant):
        """Nothing of what is read is cached."""
        self.disk.forget_cached()

    def measure(self, variant, repetition):
        """The figures of one run, in a slice and on a file system that are new."""
        guest.set_mglru(variant.mglru)
        self.prepare(variant)
        with guest.Slice(f"demo{self.SLICE}.slice", self.MEMORY_MAX, variant.policy, variant.settings) as slice_:
            status = show_status(slice_) if repetition == 0 else None
            result = {**self.run(slice_, variant, repetition), "status": status}
        self.tell(variant, result)
        return result

    def tell(self, variant, result):
        """Shows what the run was like."""

    def recorded(self):
        """What else is to be known of a recorded sequence: "caches", by the figure that each is for, and the "unit" of
        these figures, in bytes."""
        return {}

    def compared(self, results):
        """All results, with those figures of a run for which that of the stock policy is needed."""
        return results


class Search(Load):
    """ripgrep over a source tree that is 1.4 times its memory: LRU keeps just what is needed last.

    With one thread: two share the directories out anew in each pass, as the scheduler has it, and where a pass begins
    with what the last one ended with, any policy hits.  (LRU then reads between 0.6 and 1.0 of the tree in a pass.)"""

    TITLE = "file search"
    POLICY = "mru"
    BASELINES = BASELINES
    VARIANTS = (*BASELINES, Variant(POLICY, policy=POLICY))
    REPETITIONS = 3         # MGLRU reads now two fifths of the tree in a pass, now all of it
    LIMIT = True
    COLUMNS = (("disk_mib", "MiB from disk", 1), ("disk_reads", "disk reads", 0), ("hit_ratio", "hit ratio", 3),
               ("seconds", "seconds", 3), ("cache_mib", "page cache MiB", 1))
    RATIOS = (("seconds", "time"), ("disk_mib", "bytes"))
    MORE_IS_BETTER = ("hit_ratio",)
    SLICE = "search"
    MEMORY_MAX = 96 * MIB
    PASSES = 5
    PATTERN = "mutex_lock_interruptible"
    PART = ""                       # of the tree

    def __init__(self, disk, progress):
        super().__init__(disk, progress)
        self.fill()
        self.tree = disk.mountpoint / "search" / self.PART
        self.program = shutil.which("rg")
        if not self.program:
            raise guest.DemoError("ripgrep (rg) is not installed")
        guest.preload(self.program)
        guest.preload("/bin/bash")
        sizes = [path.stat().st_size for path in self.tree.rglob("*.c")]
        self.files = len(sizes)
        self.tree_bytes = sum((size + PAGE - 1) // PAGE * PAGE for size in sizes)
        self.matches = None

    def fill(self):
        self.disk.fill_anew("search")

    def describe(self):
        return (f"{self.files} C files of the kernel sources, {self.tree_bytes / MIB:.0f} MiB, "
                f"{self.tree_bytes / self.MEMORY_MAX:.2f} times MemoryMax={self.MEMORY_MAX // MIB}M; "
                f"{self.PASSES} times \"rg --threads=1 {self.PATTERN}\"")

    def command(self):
        return [BENCH / "passes", self.PASSES, self.disk.device.name,
                self.program, "--threads=1", "--count", self.PATTERN, self.tree]

    def parse(self, output):
        passes = [json.loads(line) for line in output.splitlines()]
        for one in passes:
            self.matches = self.matches or one["found"]
            if one["found"] != self.matches:
                raise guest.DemoError(f"rg found {one['found']} lines, before it found {self.matches}: "
                                      "what it read was wrong")
        return passes

    def prepare(self, variant):
        super().prepare(variant)
        self.progress.say(f"  {variant.name}")

    def run(self, slice_, _variant, _repetition):
        passes = self.parse(guest.run_in_slice(slice_, "demo-search", self.command()))
        for i, one in enumerate(passes):
            self.progress.say(f"    pass {i + 1}: {one['disk_bytes'] / MIB:.1f} MiB from disk, "
                              f"{one['seconds']:.3f} s")
        later = passes[1:]
        disk_bytes = sum(p["disk_bytes"] for p in later)
        memory = slice_.memory()
        return {
            "passes": passes,
            "disk_bytes": disk_bytes,
            "disk_reads": sum(p["disk_reads"] for p in later),
            "hit_ratio": 1 - disk_bytes / (self.tree_bytes * len(later)),
            "seconds": sum(p["seconds"] for p in later),
            "spread": {key: report.spread([p[key] for p in later]) for key in ("disk_bytes", "disk_reads", "seconds")},
            "memory": memory,
            "kernel_bytes": memory["kernel"],
            "anon_bytes": memory["anon"],
            "policy_counters": slice_.policy_counters(),
        }


class FileSearch(Search):
    """The papers' figure 5: ten passes, every policy.  The stock policy waits for the disk for four fifths of its time,
    as in the papers, if their mru reads no more than it must."""

    DISK_US = 300
    VARIANTS = (*BASELINES, *POLICIES)
    REPETITIONS = 1
    PASSES = 10
    # of 49.99 s
    PAPER = {"mglru": (51.03 / 49.99,), "mru": (25.24 / 49.99,)}


class KeyValue(Load):
    """YCSB-C on RocksDB, a database of ten times its memory: what is popular over long is worth keeping."""

    TITLE = "key-value reads"
    POLICY = "lfu"
    BASELINES = BASELINES
    VARIANTS = (*BASELINES, Variant(POLICY, policy=POLICY))
    REPETITIONS = 5
    LIMIT = True
    LIMIT_THREAD = "kv-measured"
    COLUMNS = (("ops_per_second", "reads/s", 0), ("p50_us", "P50 us", 0), ("p99_us", "P99 us", 0),
               ("disk_reads", "disk reads", 0), ("disk_mib", "MiB from disk", 1), ("hit_ratio", "hit ratio", 3),
               ("cache_mib", "page cache MiB", 1))
    RATIOS = (("ops_per_second", "speed"), ("p99_us", "P99"), ("disk_mib", "disk"))
    MORE_IS_BETTER = ("ops_per_second", "hit_ratio")
    SLICE = "kv"
    PROGRAM = "kv"
    DATABASE = "kv"
    OPTIONS = ()
    MEMORY_MAX = 16 * MIB
    CACHED = None           # bytes of files at which the page cache is held; None: what MEMORY_MAX has room for
    WARMUP = 40000          # lfu counts how often: it needs longer to know than others
    OPERATIONS = 16000
    THREADS = 1
    ZIPF = 0.99

    def __init__(self, disk, progress):
        super().__init__(disk, progress)
        self.fill()
        self.database = disk.mountpoint / self.DATABASE
        self.program = BENCH / self.PROGRAM
        guest.preload(self.program)
        self.database_bytes = sum(path.stat().st_size for path in self.database.iterdir())

    def fill(self):
        self.disk.fill_anew(self.DATABASE)

    def describe(self):
        return (f"RocksDB of {self.database_bytes / MIB:.0f} MiB, "
                f"{self.database_bytes / self.MEMORY_MAX:.1f} times MemoryMax={self.MEMORY_MAX // MIB}M; "
                f"{self.reads()}")

    def reads(self):
        return (f"{self.OPERATIONS} reads, Zipfian {self.ZIPF}, after {self.WARMUP} to warm up, "
                f"{self.THREADS} thread(s)")

    def tenth(self):
        """Of the database, in pages that are whole."""
        return self.database_bytes // 10 // PAGE * PAGE

    def command(self, repetition):
        """Each repetition has its own requests, the same for every policy."""
        return [self.program, "run", self.database, f"--ops={self.OPERATIONS}", f"--warmup={self.WARMUP}",
                f"--threads={self.THREADS}", f"--zipf={self.ZIPF}", f"--seed={repetition + 1}",
                f"--disk={self.disk.device.name}", "--json", *self.OPTIONS]

    def run(self, slice_, variant, repetition):
        held = PageCache(slice_, self.CACHED) if self.CACHED else contextlib.nullcontext(slice_)
        with held as cache:
            result = self.ask(slice_, variant, repetition)
        self.add_figures(result)
        result["memory"] = cache.memory()
        result["policy_counters"] = slice_.policy_counters()
        return result

    def ask(self, slice_, variant, repetition):
        command = [*self.command(repetition), *variant.options]
        return json.loads(guest.run_in_slice(slice_, f"demo-{self.SLICE}", command))

    def add_figures(self, result):
        # A read call fetches one block, and a block is one page.
        result["hit_ratio"] = 1 - result["disk_bytes"] / (result["read_calls"] * PAGE)

    def tell(self, variant, result):
        self.progress.say(f"  {variant.name}: {result['disk_reads']} disk reads, "
                          f"hit ratio {result['hit_ratio']:.3f}, {result['ops_per_second']:.0f} reads/s")


def passes_within(passes, begin, seconds, least):
    """Those of bench/programs/passes that began and ended in a time."""
    within = [one for one in passes if one["begin"] >= begin and one["begin"] + one["seconds"] <= begin + seconds]
    if len(within) < least:
        raise guest.DemoError(f"only {len(within)} passes within the measured {seconds:.1f} s, {least} are wanted: "
                              "there was too little to do beside them")
    return within


def show_status(slice_):
    """Prints what cachectl says about a slice with a policy, and returns it."""
    if not slice_.attached:
        return None
    print("\n".join("    " + line for line in slice_.status().splitlines()), flush=True)
    return slice_.status_json()
