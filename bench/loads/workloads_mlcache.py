# SPDX-License-Identifier: LGPL-2.1-or-later
"""The experiments of the MLCache paper (Costa and Pazos): cscope's index of sources, and pgbench's reads with memory of
three sizes.  Each is run twice, the second time in a unit that was started anew: what was cached is gone, what the
policy learned is there."""

import contextlib
import json
import pathlib
import shutil
import textwrap

import guest
import simulated
import workloads
import workloads_sql
from page_cache import PageCache
from report import MIB
from workloads import MGLRU, STOCK, Variant

INVERTED = "CachePolicyOptions=inverted=1"
VARIANTS = (STOCK, MGLRU, Variant("lfu", policy="lfu"),
            *(Variant(name + ending, policy=name, settings=settings) for name in ("wtinylfu", "mlcache")
              for ending, settings in (("", (guest.LEARNING,)), ("-forgets", ()))),
            Variant("mlcache-inverted", policy="mlcache", settings=(INVERTED,)))
RUNS = ("first", "second")
SORT_KIB = 4096


def by_run(kind, title, *digits):
    return tuple((f"{kind}_{run}", f"{title}, {run} run", *digits) for run in RUNS)


class TwoRuns(workloads.Load):
    """Both runs, each in a slice of the same name; run_once() of a class is one of them.  Each measurement has a name
    of its own: what is kept of one does not come to the next."""

    POLICY = "mlcache"
    BASELINES = workloads.BASELINES
    VARIANTS = VARIANTS
    REPETITIONS = 1
    LIMIT, LIMIT_THREAD = True, None
    ONLY_READS = False          # so that what comes into the simulator's cache is what is read
    MEMORY_MAX = 64 * MIB       # until the page cache is held

    def __init__(self, disk, progress):
        super().__init__(disk, progress)
        self.measured = 0
        self.learning = []      # variants whose second run has what was learned in the first
        self.simulated = {}

    def measure(self, variant, _repetition):
        guest.set_mglru(variant.mglru)
        self.prepare(variant)
        self.measured += 1
        result, recorder = {}, guest.Slice.recorder
        # the last sequence that is recorded is that of the limit
        for run in reversed(RUNS) if recorder else RUNS:
            figures = self.measure_run(variant, run)
            result |= {f"{key}_{run}": value for key, value in figures.items()}
            if recorder:
                shutil.copyfile(recorder.trace, f"{recorder.trace}.{run}")
        if recorder:
            self.simulate(recorder.trace)
        return {**result, "disk_bytes": result["bytes_first"], "memory": figures["memory"]}

    def measure_run(self, variant, run):
        self.disk.forget_cached("rw")
        before = guest.disk_counters(self.disk.device)
        with guest.Slice(f"demomlcache{self.measured}.slice", self.MEMORY_MAX, variant.policy,
                         variant.settings) as slice_:
            if guest.LEARNING in variant.settings and simulated.learns(slice_):
                simulated.wait_restored(slice_)
                if run == RUNS[-1]:
                    simulated.check_kept(slice_)
                    self.learning.append(variant.name)
            with self.begun(slice_), PageCache(slice_, self.CACHED) as cache:
                figures = self.run_once(slice_, RUNS.index(run))
            counters = slice_.policy_counters()
        after = guest.disk_counters(self.disk.device)
        read = after["disk_bytes"] - before["disk_bytes"]
        self.progress.say(f"  {variant.name}, {run} run: {read / MIB:.1f} MiB from disk, {self.told(figures)}; "
                          f"page cache {cache.memory()['file'] / MIB:.1f} MiB")
        return {**figures, "bytes": read, "mib": read / MIB, "reads": after["disk_reads"] - before["disk_reads"],
                "memory": cache.memory(), "policy_counters": counters}

    @staticmethod
    def begun(_slice):
        """What runs meanwhile."""
        return contextlib.nullcontext()

    def recorded(self):
        return {"unit": MIB, "caches": {"mib_first": self.CACHED}}

    def simulate(self, trace):
        """What the simulator says of both runs, under each policy."""
        self.progress.say("simulating what was recorded")
        traces = [simulated.of_device(f"{trace}.{run}", self.disk.number()) for run in RUNS]
        for variant in self.VARIANTS:
            found = simulated.bytes_added(traces, variant, self.CACHED, variant.name in self.learning)
            self.simulated[variant.name] = {f"simulated_{run}": size / MIB for run, size in zip(RUNS, found)}
        self.COLUMNS = (*self.COLUMNS, *by_run("simulated", "MiB added in the simulator", 1))

    def compared(self, results):
        """Beside what the simulator says, if it was asked."""
        return {name: [{**result, **self.simulated.get(name, {})} for result in repetitions]
                for name, repetitions in results.items()}


def script(top, sources):
    """Of a shell: the index of the sources in that directory; it says how large the index is."""
    # sort would take as much memory as the machine has; it heeds this limit, which the kernel does not
    return textwrap.dedent(f"""\
        set -e
        cd {top}
        rm -rf index
        mkdir index
        (echo -k; echo -q; find {sources} -name '*.c') >index/cscope.files
        ulimit -m {SORT_KIB}
        TMPDIR={top}/index cscope -b -i index/cscope.files -f index/cscope.out
        wc -c <index/cscope.out
        """)


class Cscope(TwoRuns):
    """What "make cscope" does: a list of all sources, and cscope's index of them, with one that is inverted.  Each
    source is read once, the index is written, sorted and read.

    The paper's machine had 256 MiB for the sources of a whole kernel."""

    TITLE = "cscope's index of sources"
    DISK_US = 100
    SOURCES = "search/drivers/scsi"
    CACHED = 8 * MIB
    COLUMNS = (*by_run("seconds", "seconds", 2), *by_run("mib", "MiB from disk", 1),
               ("cache_mib", "page cache MiB", 1))
    RATIOS = (*by_run("seconds", "time"), *by_run("mib", "disk"))
    MOST = {"seconds": 1.03}    # of the stock policy's
    PAPER = {"mlcache": (3.0,)}
    PAPER_NOTE = "about 3 times the time of Linux; about 3 hours if the best pages are evicted"

    def __init__(self, disk, progress):
        super().__init__(disk, progress)
        disk.fill_anew("search")
        self.sources = disk.mountpoint / self.SOURCES
        sizes = [path.stat().st_size for path in self.sources.rglob("*.c")]
        self.files, self.source_bytes = len(sizes), sum(-(-size // workloads.PAGE) * workloads.PAGE for size in sizes)
        guest.OUTPUT_DIRECTORY.mkdir(parents=True, exist_ok=True)
        self.script = guest.OUTPUT_DIRECTORY / "make-cscope"
        self.script.write_text(script(disk.mountpoint, self.SOURCES))
        for program in ("bash", "sh", "rm", "mkdir", "find", "wc", "cscope", "env", "sort"):
            guest.preload(shutil.which(program))
        self.found = None

    def describe(self):
        return (f"{self.files} C files of the kernel sources, {self.source_bytes / MIB:.0f} MiB, with a page cache of "
                f"{self.CACHED // MIB} MiB; twice what \"make cscope\" does, the second time from an empty cache")

    def prepare(self, _variant):
        shutil.rmtree(self.disk.mountpoint / "index", ignore_errors=True)

    def run_once(self, slice_, _number):
        done = json.loads(guest.run_in_slice(slice_, "demo-cscope", [
            workloads.BENCH / "passes", 1, self.disk.device.name, "/bin/sh", self.script]))
        self.found = self.found or done["found"]
        if done["found"] != self.found:
            raise guest.DemoError(f"the index has {done['found']} bytes, before it had {self.found}: "
                                  "what was read was wrong")
        return {"seconds": done["seconds"]}

    @staticmethod
    def told(figures):
        return f"{figures['seconds']:.2f} s"


class PgBench(TwoRuns, workloads_sql.Select):
    """pgbench -S: each run asks for accounts of its own, from an empty cache."""

    OPERATIONS = 5000
    MOST = {"mib": 1}
    ONLY_READS = True
    COLUMNS = (*by_run("speed", "transactions/s", 0), *by_run("mib", "MiB from disk", 1),
               ("cache_mib", "page cache MiB", 1))
    RATIOS = (*by_run("speed", "speed"), *by_run("mib", "disk"))
    MORE_IS_BETTER = tuple(key for key, _ in by_run("speed", ""))
    PAPER_NOTE = "about as fast as Linux, faster after 12 minutes and with less memory"

    def describe(self):
        return (f"a database of {self.database_bytes / MIB:.0f} MiB, {self.CACHED // MIB} of which are cached; twice "
                f"{self.OPERATIONS} transactions from an empty cache, one client: an account by its number, all "
                "equally likely, others each time")

    def begun(self, slice_):
        """A server: while it starts it may take more than a small page cache between two looks at what it takes."""
        return self.served(slice_)

    def run_once(self, _slice, number):
        seconds, done = self.pgbench(number + 1, self.OPERATIONS)
        return {"ops": len(done), "speed": len(done) / seconds}

    @staticmethod
    def told(figures):
        return f"{figures['speed']:.0f} transactions/s"


def pgbench(size):
    return type(f"PgBench_{size}", (PgBench,), {
        "CACHED": size * MIB, "TITLE": f"PostgreSQL, pgbench select-only, {size} MiB cached"})


LOADS = {"mlcache-cscope": Cscope, **{f"mlcache-pgbench-{size}": pgbench(size) for size in (4, 8, 16)}}
