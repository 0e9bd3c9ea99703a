# SPDX-License-Identifier: LGPL-2.1-or-later
"""PostgreSQL while its files are backed up by a program of the same slice.  That reads each of them, and leaves them in
the page cache or gives them back, also what the database needs."""

import json
import pathlib
import shutil

import guest
import workloads_sql
from workloads import BASELINES, BENCH, MIB, Variant

REPOSITORY = pathlib.Path("/var/tmp/demo-backup")
PASSES = 1000   # until it is stopped
# Of a unit of which it is known who reads all of it.
SCANS = "CacheScanThreads=restic borg"


class Backup(workloads_sql.Zipfian):
    """Backups one after the other, of which the first is the warm-up's; each reads all files of the tables."""

    SLICE = "backup"
    MEMORY_MAX = 1024 * MIB     # a backup takes as much as it likes, and each one begins anew
    SOFT = True
    REPETITIONS = 1
    VARIANTS = (*BASELINES, *(Variant(name, policy=name) for name in ("lfu", "s3fifo", "lhd", "arc", "wtinylfu")),
                Variant("get-scan", policy="get-scan", settings=(SCANS,)),
                Variant("admission", settings=("CacheAdmission=yes", SCANS)))
    COLUMNS = (*workloads_sql.Zipfian.COLUMNS, ("backups_per_second", "backups/s", 3))
    RATIOS = (*workloads_sql.Zipfian.RATIOS[:2], ("backups_per_second", "backups"))
    MORE_IS_BETTER = (*workloads_sql.Zipfian.MORE_IS_BETTER, "backups_per_second")

    def __init__(self, disk, progress):
        super().__init__(disk, progress)
        self.backup = shutil.which(self.BACKUP)
        if not self.backup:
            raise guest.DemoError(f"{self.BACKUP} is not installed")
        guest.preload(shutil.which(self.EXECUTABLE))

    def describe(self):
        return (f"{super().describe()}; beside it, in the same slice, \"{self.BACKUP}\" reads all files of the tables "
                "again and again")

    def prepare(self, variant):
        super().prepare(variant)
        guest.run("rm", "--recursive", "--force", REPOSITORY)
        guest.run(self.backup, *self.INIT)

    def ask(self, slice_, _variant, repetition):
        self.warm_up(repetition)
        command = [BENCH / "passes", PASSES, self.disk.device.name, self.backup, *self.CREATE,
                   self.database / "base"]
        with guest.Service(slice_.name, "demo-backup-files", command) as backup:
            backup.wait_for_line()
            result = self.measured(repetition)
            passes = [json.loads(line) for line in backup.text().splitlines()][1:]
        if not passes:
            raise guest.DemoError("no backup came to its end meanwhile: the run was too short")
        result["passes"] = len(passes)
        result["backups_per_second"] = len(passes) / sum(one["seconds"] for one in passes)
        return result

    def add_figures(self, result):
        # of the server
        result["hit_ratio"] = 1 - result["bytes_from_disk"] / result["bytes_requested"]


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
