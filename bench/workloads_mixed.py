# SPDX-License-Identifier: LGPL-2.1-or-later
"""Key-value reads beside work that fills the cache with what the reads do not need: scans, compaction."""

import json

import guest
import workloads
from workloads import MGLRU, MIB, PAGE, STOCK, Variant


class Mixed(workloads.KeyValue):
    """Reads by "kv read" with something beside them, each run on a slice and a file system that are new."""

    REPETITIONS = 3
    MORE_IS_BETTER = ("ops_per_second", "scans_per_second")
    WARMUP = 12000
    OPERATIONS = 12000

    def describe(self):
        return (f"RocksDB of {self.database_bytes / MIB:.0f} MiB, "
                f"{self.database_bytes / self.MEMORY_MAX:.1f} times MemoryMax={self.MEMORY_MAX // MIB}M; "
                f"{self.OPERATIONS} reads, Zipfian {self.ZIPF}, after {self.WARMUP} to warm up, 1 thread; "
                f"{self.beside()}")

    def prepare(self):
        self.disk.forget_cached()

    def measure(self, variant, repetition):
        guest.set_mglru(variant.mglru)
        self.prepare()
        with guest.Slice("demomixed.slice", self.MEMORY_MAX, variant.policy, variant.settings,
                         variant.attached) as slice_:
            status = workloads.show_status(slice_) if repetition == 0 else None
            output = guest.run_in_slice(slice_, "demo-mixed", [
                self.program, "read", self.database, f"--ops={self.OPERATIONS}", f"--warmup={self.WARMUP}",
                f"--zipf={self.ZIPF}", f"--seed={repetition + 1}", f"--disk={self.disk.device.name}", "--json",
                *self.OPTIONS, *variant.options])
            result = json.loads(output)
            # What the reads asked for and the disk had to give, as far as the reading thread itself asked.
            result["get_misses"] = result["get_bytes"] / PAGE
            result["memory"] = slice_.memory()
            result["policy_counters"] = slice_.policy_counters()
            result["status"] = status
        self.say(variant.name, result)
        return result


class GetScan(Mixed):
    """99.95 % look-ups, 0.05 % scans by another thread."""

    TITLE = "key-value reads beside scans"
    POLICY = "get-scan"
    MEMORY_MAX = 16 * MIB
    EVERY = 1999
    LENGTH = 2500
    OPTIONS = ["--scan-threads=1", f"--scan-every={EVERY}", f"--scan-length={LENGTH}"]
    BASELINES = (STOCK, MGLRU, *(Variant(advice, options=(f"--scan-advice={advice}",))
                                 for advice in ("dontneed", "noreuse", "sequential")))
    VARIANTS = (*BASELINES, Variant(POLICY, policy=POLICY, settings=("CacheScanThreads=kv-scan",)))

    FIGURES = ("scans", "scans_per_second", "scan_waits")
    COLUMNS = (("ops_per_second", "GETs/s", 0), ("p99_us", "GET P99 us", 0), ("scans_per_second", "SCANs/s", 2),
               ("get_misses", "misses of GETs", 0), ("disk_reads", "disk reads", 0))
    RATIOS = (("ops_per_second", "GETs"), ("p99_us", "P99"), ("scans_per_second", "SCANs"))
    # figure 9, from the text and the artifact's numbers
    PAPER = {"mglru": (0.86, None, None), "dontneed": (1.00, None, None), "noreuse": (1.01, None, None),
             "sequential": (1.02, None, None), "get-scan": (1.70, 0.43, 0.82)}

    def beside(self):
        return f"one scan of {self.LENGTH} records for {self.EVERY} reads, by another thread"

    def say(self, name, result):
        self.progress.say(f"  {name}: {result['ops_per_second']:.0f} GETs/s, P99 {result['p99_us']:.0f} us, "
                          f"{result['scans_per_second']:.2f} SCANs/s; {result['get_misses']:.0f} misses of GETs")


class Admission(Mixed):
    """As many updates as reads: the compaction of the tables runs beside the reads."""

    TITLE = "key-value reads beside compaction"
    POLICY = "admission"
    MEMORY_MAX = 32 * MIB
    WARMUP = 2000
    OPERATIONS = 6000
    OPTIONS = ["--write-threads=1"]
    BASELINES = (STOCK, MGLRU)
    VARIANTS = (*BASELINES, Variant(POLICY, attached="noop",
                                    settings=("CacheAdmission=yes", "CacheScanThreads=rocksdb:low*")))

    FIGURES = ("writes", "writes_per_second", "write_waits")
    COLUMNS = (("p99_us", "P99 us", 0), ("p50_us", "P50 us", 0), ("ops_per_second", "reads/s", 0),
               ("get_misses", "misses of reads", 0), ("disk_reads", "disk reads", 0))
    RATIOS = (("p99_us", "P99"), ("ops_per_second", "reads"))
    # the application-informed admission filter: 2.61 ms to 2.16 ms, the throughput as before
    PAPER = {"admission": (0.83, None)}

    def beside(self):
        return "one update of a random record for each read, by another thread, and their compaction"

    def prepare(self):
        self.disk.fill_anew(self.database.name)

    def say(self, name, result):
        self.progress.say(f"  {name}: P99 {result['p99_us']:.0f} us, {result['ops_per_second']:.0f} reads/s; "
                          f"{result['get_misses']:.0f} misses of reads, {result['disk_reads']} disk reads")
