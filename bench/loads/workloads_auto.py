# SPDX-License-Identifier: LGPL-2.1-or-later
"""CachePolicy=auto beside every policy that one could name instead.  Each load goes on for a while before it is
measured, so that the daemon can choose; under the others as well."""

import json
import time

import guest
import workloads
import workloads_mixed
import workloads_sql
import workloads_ycsb
from page_cache import PageCache
from workloads import BASELINES, BENCH, MIB, PAGE, POLICIES, Variant

LEAD = 60       # seconds
SWITCHES = ("switches", "switches", 0)


class Chosen:
    """What comes before the load that is measured, and what was chosen.  Each measurement has a slice of a name of its
    own, by which the journal knows it."""

    POLICY = guest.AUTO
    BASELINES = BASELINES
    VARIANTS = (*BASELINES, *POLICIES, Variant(guest.AUTO, policy=guest.AUTO))
    REPETITIONS = 1
    LIMIT = False
    PAPER = {}
    MOST_SWITCHES = 3
    measured = 0

    def measure(self, variant, repetition):
        self.measured += 1
        self.SLICE = f"{type(self).SLICE}{self.measured}"
        return super().measure(variant, repetition)

    def lead(self, once):
        """Does that again and again; it is told how often it was done."""
        begin, times = time.monotonic(), 0
        while time.monotonic() - begin < LEAD:
            times += 1
            once(times)

    def add_choice(self, slice_, result):
        """How often it switched, with what came before."""
        choice = slice_.choice() if slice_.attached == guest.AUTO else {"switches": 0}
        if "chosen" in choice:
            self.progress.say(f"    chosen: {choice['chosen']}, after {choice['switches']} switches")
        return {**result, "switches": choice["switches"], "chosen": choice.get("chosen")}


class Asked(Chosen):
    """Of loads that ask a database."""

    def ask(self, slice_, variant, repetition):
        super_ask = super().ask
        self.lead(lambda times: super_ask(slice_, variant, 1000 * (repetition + 1) + times))
        return self.add_choice(slice_, super_ask(slice_, variant, repetition))


class YcsbC(Asked, workloads_ycsb.LOADS["ycsb-c"]):
    TITLE = "A policy that is chosen, YCSB C on RocksDB"
    COLUMNS = (*workloads_ycsb.Ycsb.COLUMNS, SWITCHES)
    RATIOS = (("ops_per_second", "speed"), ("disk_mib", "disk"))
    goals = None


class PgBench(Asked, workloads_sql.Zipfian):
    TITLE = "A policy that is chosen, pgbench Zipfian"
    COLUMNS = (*workloads_sql.PgBench.COLUMNS, SWITCHES)
    RATIOS = (("ops_per_second", "speed"), ("disk_mib", "disk"))


class GetScan(Asked, workloads_mixed.GetScan):
    """Under policies that know nothing of threads: those that auto has."""
    TITLE = "A policy that is chosen, key-value reads beside scans"
    COLUMNS = (*workloads_mixed.GetScan.COLUMNS, SWITCHES)
    RATIOS = (("ops_per_second", "GETs"), ("disk_mib", "disk"))


class Search(Chosen, workloads.FileSearch):
    TITLE = "A policy that is chosen, file search"
    COLUMNS = (*workloads.FileSearch.COLUMNS, SWITCHES)
    RATIOS = (("seconds", "time"), ("disk_mib", "disk"))

    def run(self, slice_, variant, repetition):
        command = self.command()
        command[1] = 1      # pass
        self.lead(lambda _: guest.run_in_slice(slice_, "demo-lead", command))
        return self.add_choice(slice_, super().run(slice_, variant, repetition))


class Phases(Chosen, workloads.Load):
    """A file of ten times the cache, of which now some pages are popular, now the first are read in a loop that does
    not fit, and now others are popular."""

    TITLE = "A policy that is chosen, phases"
    SLICE = "phases"
    DISK_US = 1000
    CACHED = 8 * MIB
    MEMORY_MAX = 12 * MIB           # until the page cache is held
    FILE_BYTES = 10 * CACHED
    LOOP = CACHED * 13 // 10 // PAGE
    READS = 20000
    PHASES = (1, 2, 3)
    COLUMNS = (*((f"seconds_{i}", f"s, phase {i}", 2) for i in PHASES),
               *((f"mib_{i}", f"MiB from disk, phase {i}", 1) for i in PHASES),
               *((f"found_{i}", f"s to choose, phase {i}", 1) for i in PHASES), SWITCHES,
               ("cache_mib", "page cache MiB", 1))
    RATIOS = tuple((f"seconds_{i}", f"time, phase {i}") for i in PHASES)
    MOST_SWITCHES = None
    WINDOW = 2.0                    # seconds: the least that a window of the race has

    def __init__(self, disk, progress):
        super().__init__(disk, progress)
        self.file = disk.make_file(self.FILE_BYTES)
        guest.preload(BENCH / "phases")

    def describe(self):
        return (f"reads of pages of a file of {self.FILE_BYTES // MIB} MiB, {self.CACHED // MIB} of which are cached: "
                f"Zipfian, a loop over {self.LOOP} pages, Zipfian with others that are popular; of each phase "
                f"{self.READS} reads after {LEAD} s")

    def command(self, seed):
        return [BENCH / "phases", self.file, f"--loop={self.LOOP}", f"--reads={self.READS}", f"--lead={LEAD}",
                f"--seed={seed}", f"--disk={self.disk.device.name}"]

    def run(self, slice_, _variant, repetition):
        with PageCache(slice_, self.CACHED) as cache:
            output = guest.run_in_slice(slice_, "demo-phases", self.command(repetition + 1))
        phases = [json.loads(line) for line in output.splitlines()]
        result = {"memory": cache.memory(), "phases": phases, "policy_counters": slice_.policy_counters()}
        for i, phase in zip(self.PHASES, phases):
            result |= {f"seconds_{i}": phase["seconds"], f"mib_{i}": phase["disk_bytes"] / MIB}
        times = slice_.switches() if slice_.attached == guest.AUTO else []
        result |= self.found(phases, times)
        return self.add_choice(slice_, result)

    @classmethod
    def found(cls, phases, times):
        """For how long in each phase another policy ran than in its end."""
        begins = [phase["begin"] for phase in phases]
        return {f"found_{i}": max((at - begin for at in times if begin <= at < end), default=0.0)
                for i, begin, end in zip(cls.PHASES, begins, [*begins[1:], float("inf")])}

    def tell(self, variant, result):
        self.progress.say(f"  {variant.name}: " + "; ".join(
            f"{phase['phase']} {phase['seconds']:.2f} s, {phase['disk_reads']} disk reads"
            for phase in result["phases"]))


LOADS = {"auto-phases": Phases, "auto-search": Search, "auto-ycsb-c": YcsbC, "auto-get-scan": GetScan,
         "auto-pgbench": PgBench}
