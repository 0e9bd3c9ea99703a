# SPDX-License-Identifier: LGPL-2.1-or-later
"""Key-value reads beside work that fills the cache with what the reads do not need: scans, compaction."""

import guest
import workloads
from workloads import MGLRU, MIB, PAGE, STOCK, Variant


class Mixed(workloads.KeyValue):
    """Reads by "kv run" with something beside them."""

    SLICE = "mixed"
    OPTIONS = ("--block-cache=0",)
    REPETITIONS = 3
    CACHED = 14 * MIB
    MORE_IS_BETTER = ("ops_per_second", "scans_per_second")
    WARMUP = 12000
    OPERATIONS = 12000

    def describe(self):
        return (f"RocksDB of {self.database_bytes / MIB:.0f} MiB, "
                f"{self.CACHED // MIB} MiB of it cached; {self.reads()}; {self.beside()}")

    def add_figures(self, result):
        # What the reads asked for and the disk had to give, as far as the reading thread itself asked.
        result["get_misses"] = result["get_bytes"] / PAGE
        result["beside_bytes"] = result["bytes_from_disk"] - result["get_bytes"]
        result["beside_requested"] = result["bytes_requested"] - result["get_requested"]


class GetScan(Mixed):
    """The load of the papers' artifact: look-ups by three threads, scans by a fourth, all without a pause.

    A scan is 540 pages, and begins where a look-up may go; a look-up goes through the levels of the tree and reads an
    index and a block in each.  With a disk of 2 ms there are some 50 look-ups for a scan; in the artifact 36."""

    TITLE = "key-value reads beside scans"
    POLICY = "get-scan"
    DATABASE = "get-scan"
    MEMORY_MAX = 20 * MIB
    DISK_US = 2000          # bench/README.md says why
    CPUS = 4                # a processor for each thread
    THREADS = 3
    WARMUP = 6000
    OPERATIONS = 5000
    LENGTH = 2160
    OPTIONS = (*Mixed.OPTIONS, "--index-in-cache", "--scan-threads=1", f"--scan-length={LENGTH}")
    BASELINES = (STOCK, MGLRU, *(Variant(advice, options=(f"--scan-advice={advice}",))
                                 for advice in ("dontneed", "noreuse", "sequential")))
    VARIANTS = (*BASELINES, Variant(POLICY, policy=POLICY, settings=("CacheScanThreads=kv-scan",)))

    COLUMNS = (("ops_per_second", "GETs/s", 0), ("p99_us", "GET P99 us", 0), ("scans_per_second", "SCANs/s", 2),
               ("get_misses", "misses of GETs", 0), ("gets_per_scan", "GETs a SCAN", 0),
               ("pages_per_get", "scanned pages a GET", 1), ("disk_mib", "MiB from disk", 1),
               ("cache_mib", "page cache MiB", 1))
    RATIOS = (("ops_per_second", "GETs"), ("p99_us", "P99"), ("scans_per_second", "SCANs"), ("disk_mib", "disk"))
    # figure 9, from the text and the artifact's numbers
    PAPER = {"mglru": (0.86, None, None), "dontneed": (1.00, None, None), "noreuse": (1.01, None, None),
             "sequential": (1.02, None, None), "get-scan": (1.70, 0.43, 0.82)}

    def add_figures(self, result):
        super().add_figures(result)
        if not result["scans"]:
            raise guest.DemoError("no scan came to its end: the run was too short")
        result["gets_per_scan"] = result["ops_per_second"] / result["scans_per_second"]
        result["pages_per_get"] = result["beside_requested"] / PAGE / result["ops"]

    def beside(self):
        return f"scans of {self.LENGTH} records, without a pause, by another thread"

    def tell(self, variant, result):
        self.progress.say(f"  {variant.name}: {result['ops_per_second']:.0f} GETs/s, P99 {result['p99_us']:.0f} us, "
                          f"{result['scans_per_second']:.2f} SCANs/s; {result['get_misses']:.0f} misses of GETs, "
                          f"{result['gets_per_scan']:.0f} GETs a scan with {result['pages_per_get']:.1f} pages a GET")


class Admission(Mixed):
    """As many updates as reads: the compaction of the tables runs beside the reads."""

    TITLE = "key-value reads beside compaction"
    POLICY = "admission"
    DATABASE = "admission"
    MEMORY_MAX = 30 * MIB   # half of it for RocksDB
    DISK_US = 1000
    WARMUP = 4000
    OPERATIONS = 8000
    OPTIONS = (*Mixed.OPTIONS, "--write-threads=1", "--write-buffer=262144", "--open-files=4096")
    COUNTERS = ("admit_asked", "admit_rejected", "admit_asked_again", "admit_reversed", "removed_dropped",
                "removed_reclaim", "removed_truncate")
    BASELINES = (STOCK, MGLRU)
    VARIANTS = (*BASELINES, Variant(POLICY, settings=("CacheAdmission=yes", "CacheScanThreads=rocksdb:low*")))

    COLUMNS = (("p99_us", "P99 us", 0), ("p50_us", "P50 us", 0), ("ops_per_second", "reads/s", 0),
               ("get_misses", "misses of reads", 0), ("compaction_mib", "MiB compacted", 0),
               ("compaction_disk_mib", "from disk", 0), ("disk_mib", "MiB from disk in all", 1),
               ("cache_mib", "page cache MiB", 1))
    RATIOS = (("p99_us", "P99"), ("ops_per_second", "reads"))
    # the application-informed admission filter: 2.61 ms to 2.16 ms, the throughput as before
    PAPER = {"admission": (0.83, 1.00)}

    def beside(self):
        return "one update of a random record for each read, by another thread, and their compaction"

    def prepare(self, _variant):
        self.disk.fill_anew(self.database.name)

    def add_figures(self, result):
        super().add_figures(result)
        # More from the disk than was asked for: what was read ahead has been read twice.
        result["compaction_mib"] = result["beside_requested"] / MIB
        result["compaction_disk_mib"] = result["beside_bytes"] / MIB

    def tell(self, variant, result):
        self.progress.say(f"  {variant.name}: P99 {result['p99_us']:.0f} us, {result['ops_per_second']:.0f} reads/s; "
                          f"{result['get_misses']:.0f} misses of reads; compaction: "
                          f"{result['compaction_mib']:.1f} MiB, {result['compaction_disk_mib']:.1f} from disk")
        if result["policy_counters"]:
            counters = ", ".join(f"{key} {result['policy_counters'][key]}" for key in self.COUNTERS)
            self.progress.say(f"    {counters}")
