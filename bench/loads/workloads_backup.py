# SPDX-License-Identifier: LGPL-2.1-or-later
"""PostgreSQL while its files are backed up by a program of the same slice.  That reads each of them, and leaves them in
the page cache or gives them back, also what the database needs."""

import json
import pathlib
import shutil

import guest
import workloads
import workloads_sql
from page_cache import PageCache
from workloads import BASELINES, BENCH, MIB, Variant

REPOSITORY = pathlib.Path("/var/tmp/demo-backup")
PASSES = 1000   # until it is stopped
# Of a unit of which it is known who reads all of it.
SCANS = "CacheScanThreads=restic borg"


class Backup(workloads_sql.Zipfian):
    """Backups one after the other; each reads all files of the tables.  What is measured is a whole number of them: the
    time from the beginning of one to the end of another, and the transactions that ended meanwhile.  The slice has one
    limit for all of it, as users have it: what a backup takes for itself, the page cache loses."""

    SLICE = "backup"
    CACHED = None
    MEMORY_MAX = 80 * MIB
    OPERATIONS = 20000
    PASSES_MIN = 5
    REPETITIONS = 1
    VARIANTS = (*BASELINES, *(Variant(name, policy=name) for name in ("lfu", "s3fifo", "lhd", "arc", "wtinylfu")),
                Variant("get-scan", policy="get-scan", settings=(SCANS,)),
                Variant("admission", settings=("CacheAdmission=yes", SCANS)))
    COLUMNS = (*workloads_sql.Zipfian.COLUMNS[:3], ("hit_ratio", "hit ratio of the server", 3),
               ("cache_mib", "page cache MiB", 1), ("backups_per_second", "backups/s", 3))
    RATIOS = (*workloads_sql.Zipfian.RATIOS[:2], ("backups_per_second", "backups"))
    MORE_IS_BETTER = (*workloads_sql.Zipfian.MORE_IS_BETTER, "backups_per_second")

    def __init__(self, disk, progress):
        super().__init__(disk, progress)
        self.backup = shutil.which(self.BACKUP)
        if not self.backup:
            raise guest.DemoError(f"{self.BACKUP} is not installed")
        guest.preload(shutil.which(self.EXECUTABLE))

    def size(self):
        return (f"a database of {self.database_bytes / MIB:.0f} MiB in a slice with MemoryMax="
                f"{self.MEMORY_MAX // MIB}M; {self.OPERATIONS} {self.UNIT} after {self.WARMUP} to warm up, one client")

    def describe(self):
        return (f"{super().describe()}; beside it, in the same slice, \"{self.BACKUP}\" reads all files of the tables "
                "again and again")

    def prepare(self, variant):
        super().prepare(variant)
        guest.run("rm", "--recursive", "--force", REPOSITORY)
        guest.run(self.backup, *self.INIT)

    def run(self, slice_, variant, repetition):
        result = super().run(slice_, variant, repetition)
        result["memory"] = self.cache.memory()
        return result

    def ask(self, slice_, _variant, repetition):
        self.warm_up(repetition)
        command = [BENCH / "passes", PASSES, self.disk.device.name, self.backup, *self.CREATE,
                   self.database / "base"]
        with guest.Service(slice_.name, "demo-backup-files", command) as backup, \
                PageCache(slice_, None) as self.cache:
            backup.wait_for_line()
            _, done, counted = self.measured(repetition)
            backup.check_runs()
            passes = [json.loads(line) for line in backup.text().splitlines()]
        # of the server, and of all transactions
        counted["hit_ratio"] = 1 - counted["bytes_from_disk"] / counted["bytes_requested"]
        return {**counted, **self.in_whole_backups(passes, done)}

    def in_whole_backups(self, passes, done):
        """The figures of those transactions, (end, us), that ended while backups ran which all of them saw whole."""
        begin = min(end - latency / 1e6 for end, latency in done)
        passes = workloads.passes_within(passes, begin, max(end for end, _ in done) - begin, self.PASSES_MIN)
        begin, last = passes[0]["begin"], passes[-1]
        seconds = last["begin"] + last["seconds"] - begin
        latencies = [latency for end, latency in done if begin <= end <= begin + seconds]
        return {**workloads_sql.figures(seconds, latencies), "passes": len(passes),
                "backups_per_second": len(passes) / seconds}

    def add_figures(self, result):
        """They are there."""


class Restic(Backup):
    TITLE = "PostgreSQL beside restic"
    BACKUP = EXECUTABLE = "restic"
    OPTIONS = ("--repo", REPOSITORY, "--no-cache", "--insecure-no-password", "--quiet")
    INIT = (*OPTIONS, "init")
    CREATE = (*OPTIONS, "backup", "--force")


class Borg(Backup):
    """It gives back what it has read."""

    TITLE = "PostgreSQL beside borg"
    BACKUP, EXECUTABLE = "borg", "python3"      # its modules are loaded when the repository is made
    INIT = ("init", "--encryption=none", REPOSITORY)
    CREATE = ("create", "--files-cache=disabled", f"{REPOSITORY}::{{pid}}")


LOADS = {"backup-restic": Restic, "backup-borg": Borg}
