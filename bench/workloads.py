# SPDX-License-Identifier: LGPL-2.1-or-later
"""The two loads of the demo and what is measured of them."""

import dataclasses
import json
import pathlib
import shutil

import guest

BENCH = pathlib.Path(__file__).resolve().parent
MIB = 1 << 20
PAGE = 4096


@dataclasses.dataclass(frozen=True)
class Variant:
    """What runs beside each other."""
    name: str
    mglru: bool = False
    policy: str | None = None       # CachePolicy= of the slice
    settings: tuple = ()            # further lines of its unit file
    attached: str | None = None     # the policy that these make the daemon attach
    options: tuple = ()             # of the program that is measured


STOCK = Variant("stock")
MGLRU = Variant("mglru", mglru=True)
BASELINES = (STOCK, MGLRU)


class Search:
    """ripgrep over a source tree that is 1.4 times its memory: LRU keeps just what is needed last.

    With one thread: two share the directories out anew in each pass, as the scheduler has it, and where a pass begins
    with what the last one ended with, any policy hits.  (LRU then reads between 0.6 and 1.0 of the tree in a pass.)"""

    TITLE = "file search"
    POLICY = "mru"
    BASELINES = BASELINES
    VARIANTS = (*BASELINES, Variant(POLICY, policy=POLICY))
    REPETITIONS = 1
    MEMORY_MAX = 96 * MIB
    PASSES = 5
    PATTERN = "write"

    def __init__(self, disk, progress):
        self.disk = disk
        self.progress = progress
        self.tree = disk.mountpoint / "search"
        self.program = shutil.which("rg")
        if not self.program:
            raise guest.DemoError("ripgrep (rg) is not installed")
        guest.preload(self.program)
        guest.preload("/bin/bash")
        sizes = [path.stat().st_size for path in self.tree.rglob("*.c")]
        self.files = len(sizes)
        self.tree_bytes = sum((size + PAGE - 1) // PAGE * PAGE for size in sizes)
        self.matches = None

    def describe(self):
        return (f"{self.files} C files of the kernel sources, {self.tree_bytes / MIB:.0f} MiB, "
                f"{self.tree_bytes / self.MEMORY_MAX:.2f} times MemoryMax={self.MEMORY_MAX // MIB}M; "
                f"{self.PASSES} times \"rg --threads=1 {self.PATTERN}\"")

    def passes(self, slice_):
        output = guest.run_in_slice(slice_, "demo-search", [
            BENCH / "passes", self.PASSES, self.disk.device.name,
            self.program, "--threads=1", "--count", self.PATTERN, self.tree])
        passes = [json.loads(line) for line in output.splitlines()]
        for i, one in enumerate(passes):
            self.matches = self.matches or one["found"]
            if one["found"] != self.matches:
                raise guest.DemoError(f"rg found {one['found']} lines, before it found {self.matches}: "
                                      "what it read was wrong")
            self.progress.say(f"  pass {i + 1}: {one['disk_bytes'] / MIB:.1f} MiB from disk, "
                              f"{one['seconds']:.3f} s")
        return passes

    def measure(self, variant, _repetition):
        guest.set_mglru(variant.mglru)
        self.disk.forget_cached()
        with guest.Slice("demosearch.slice", self.MEMORY_MAX, variant.policy) as slice_:
            status = show_status(slice_)
            passes = self.passes(slice_)
            later = passes[1:]
            disk_bytes = sum(p["disk_bytes"] for p in later)
            return {
                "passes": passes,
                "disk_bytes": disk_bytes,
                "disk_reads": sum(p["disk_reads"] for p in later),
                "hit_ratio": 1 - disk_bytes / (self.tree_bytes * len(later)),
                "seconds": sum(p["seconds"] for p in later),
                "memory": slice_.memory(),
                "policy_counters": slice_.policy_counters(),
                "status": status,
            }


class KeyValue:
    """YCSB-C on RocksDB, a database of ten times its memory: what is popular over long is worth keeping."""

    TITLE = "key-value reads"
    POLICY = "lfu"
    BASELINES = BASELINES
    VARIANTS = (*BASELINES, Variant(POLICY, policy=POLICY))
    REPETITIONS = 5
    PROGRAM = "kv"
    DATABASE = "kv"
    MEMORY_MAX = 16 * MIB
    WARMUP = 40000
    OPERATIONS = 20000
    THREADS = 1
    ZIPF = 0.99

    def __init__(self, disk, progress):
        self.disk = disk
        self.progress = progress
        self.database = disk.mountpoint / self.DATABASE
        self.program = BENCH / self.PROGRAM
        guest.preload(self.program)
        self.database_bytes = sum(path.stat().st_size for path in self.database.iterdir())

    def describe(self):
        return (f"RocksDB of {self.database_bytes / MIB:.0f} MiB, "
                f"{self.database_bytes / self.MEMORY_MAX:.1f} times MemoryMax={self.MEMORY_MAX // MIB}M; "
                f"{self.OPERATIONS} reads, Zipfian {self.ZIPF}, "
                f"after {self.WARMUP} to warm up, {self.THREADS} thread(s)")

    def measure(self, variant, repetition):
        guest.set_mglru(variant.mglru)
        self.disk.forget_cached()
        with guest.Slice("demokv.slice", self.MEMORY_MAX, variant.policy) as slice_:
            status = show_status(slice_) if repetition == 0 else None
            # Each repetition has its own requests, the same for every policy.
            output = guest.run_in_slice(slice_, "demo-kv", [
                self.program, "run", self.database, f"--ops={self.OPERATIONS}", f"--warmup={self.WARMUP}",
                f"--threads={self.THREADS}", f"--zipf={self.ZIPF}", f"--seed={repetition + 1}",
                f"--disk={self.disk.device.name}", "--json"])
            result = json.loads(output)
            # A read call fetches one block, and a block is one page.
            result["hit_ratio"] = 1 - result["disk_bytes"] / (result["read_calls"] * PAGE)
            result["memory"] = slice_.memory()
            result["policy_counters"] = slice_.policy_counters()
            result["status"] = status
        self.progress.say(f"  {variant.name}: {result['disk_reads']} disk reads, "
                          f"hit ratio {result['hit_ratio']:.3f}, {result['ops_per_second']:.0f} reads/s")
        return result


def show_status(slice_):
    """Prints what cachectl says about a slice with a policy, and returns it."""
    if not slice_.attached:
        return None
    print("\n".join("    " + line for line in slice_.status().splitlines()), flush=True)
    return slice_.status_json()
