# SPDX-License-Identifier: LGPL-2.1-or-later
"""What can be measured, and what the evaluation does of it.  This is the only list: bench/demo runs the loads in the
machine, "tools/vm bench" and "tools/bench" ask here on the host.

    loads.py list           the names
    loads.py demo           those of the demonstration
    loads.py machine NAME   the disk's time for a request in us, the number of processors, whose time it has, further
                            kernel arguments

A load is a class, see Load in workloads.py."""

import dataclasses
import pathlib
import sys

# in the sources; if installed, reports are here
sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "evaluation"))

import goals
import workloads
import workloads_acfs
import workloads_auto
import workloads_backup
import workloads_dispatch
import workloads_interrupts
import workloads_isolation
import workloads_memory
import workloads_mixed
import workloads_mlcache
import workloads_readahead
import workloads_scale
import workloads_sql
import workloads_twitter
import workloads_ycsb
from report import reporter

report_mixed = reporter(goals.mixed, "database_bytes")
report_ycsb = reporter(goals.ycsb, "database_bytes", "options")
# The papers name these programs, and have no figures.
report_queries = reporter(None, "database_bytes", "options")
report_mlcache = reporter(goals.mlcache, "learning", "simulated")

LOADS = {
    "search": (workloads.Search, reporter(goals.search, "tree_bytes", "files")),
    "kv": (workloads.KeyValue, reporter(goals.key_value, "database_bytes")),
    "file-search": (workloads.FileSearch, reporter(goals.file_search, "tree_bytes", "files")),
    "get-scan": (workloads_mixed.GetScan, report_mixed),
    "admission": (workloads_mixed.Admission, report_mixed),
    **{name: (load, report_ycsb) for name, load in (workloads_ycsb.LOADS | workloads_twitter.LOADS).items()},
    **{name: (load, reporter(goals.ycsb_cold, "database_bytes", "options"))
       for name, load in workloads_ycsb.COLD_LOADS.items()},
    **{name: (load, report_queries) for name, load in workloads_sql.LOADS.items()},
    **{name: (load, reporter(None, "database_bytes")) for name, load in workloads_backup.LOADS.items()},
    "acfs-readn": (workloads_acfs.ReadN, reporter(goals.acfs_readn)),
    **{name: (load, reporter(goals.acfs_single)) for name, load in workloads_acfs.SINGLE.items()},
    **{name: (load, reporter(goals.acfs_together)) for name, load in workloads_acfs.TOGETHER.items()},
    **{name: (load, reporter(goals.acfs_beside)) for name, load in workloads_acfs.BESIDE.items()},
    **{name: (load, report_mlcache) for name, load in workloads_mlcache.LOADS.items()},
    **{name: (load, reporter(goals.readahead)) for name, load in workloads_readahead.LOADS.items()},
    **{name: (load, reporter(goals.policies_that_read_ahead, "database_bytes"))
       for name, load in workloads_readahead.YCSB_LOADS.items()},
    **{name: (load, reporter(goals.auto)) for name, load in workloads_auto.LOADS.items()},
    **{name: (load, report_queries) for name, load in workloads_scale.LOADS.items()},
    "scale-file-search": (workloads_scale.Search, reporter(None, "tree_bytes", "files")),
    "isolation": (workloads_isolation.Isolation, reporter(goals.isolation)),
    "dispatch": (workloads_dispatch.Dispatch, reporter(goals.dispatch)),
    "memory": (workloads_memory.Memory, reporter(goals.memory)),
    "interrupts": (workloads_interrupts.Interrupts, reporter(None)),
}
DEMO = ("search", "kv")

# Experiments that need no machine: commands that run in the source directory and print a document as those of the
# loads.  And those that "tools/vm" has a verb for.
HOST = {"lines": ("bench/lines", "--json")}
VERBS = {"cost": ("cost",)}


@dataclasses.dataclass(frozen=True)
class Section:
    """A heading of the evaluation's report."""
    title: str
    paper: str
    names: tuple
    second_opinion: tuple = ()      # also without the laboratory


def named(*beginnings):
    return tuple(name for name in (*LOADS, *HOST, *VERBS) if name.startswith(beginnings))


# One word for several.
GROUPS = {name: named(f"{name}-")
          for name in ("acfs", "mlcache", "auto", "readahead", "readahead-ycsb", "ycsb-cold", "scale", "backup")}
# What takes long, for themselves, not with all others: hours in the time of the host; programs that compute much.
APART = (*GROUPS["scale"], *GROUPS["backup"])

# What is in none of them is reported at the end.
SECTIONS = (
    Section("File search", "figure 5", ("file-search",), ("search",)),
    Section("YCSB on RocksDB, which reads its tables", "figure 6",
            tuple(name for name in named("ycsb-") if "leveldb" not in name and "cold" not in name), ("ycsb-c",)),
    Section("YCSB in a cache that does not become warm", "", named("ycsb-cold-")),
    Section("YCSB on LevelDB, which maps its tables", "figure 6", named("ycsb-leveldb-")),
    Section("Key-value traces in the style of Twitter's clusters", "figure 7", named("twitter-")),
    Section("Look-ups beside scans", "figure 9", ("get-scan",)),
    Section("Isolation", "figure 10", named("isolation")),
    Section("Control by programs", "ACFS, tables 1 to 6 and figures 4 to 6", named("acfs-")),
    Section("Learning what pages are worth", "MLCache, figures 4 and 5", named("mlcache-")),
    Section("A policy that is chosen", "", named("auto-")),
    Section("Readahead", "", named("readahead-")),
    Section("Compaction and admission", "application-informed admission", ("admission",)),
    Section("Overhead", "table 4", ("cost",)),
    Section("Interrupts", "", ("interrupts",)),
    Section("Dispatch to user space", "table 1", named("dispatch")),
    Section("Memory", "section 5.3.1", named("memory")),
    Section("Lines of code", "table 3", named("lines")),
    Section("At scale", "", named("scale-")),
    Section("A database while it is backed up", "", named("backup-")),
    Section("Programs the papers only name", "", named("pgbench-", "sqlite")),
)

# Of the evaluation: how often each variant is measured, if it is not once.
REPETITIONS = {"kv": 3, "get-scan": 3, "admission": 3}


def load(name):
    return LOADS[name][0]


def machine(name):
    return load(name).DISK_US, load(name).CPUS


def main(arguments):
    if arguments in (["list"], ["demo"]):
        print(*(LOADS if arguments == ["list"] else DEMO))
    elif len(arguments) == 2 and arguments[0] == "machine" and arguments[1] in LOADS:
        name = arguments[1]
        print(*machine(name), load(name).CLOCK, *(f"null_blk.{parameter}" for parameter in load(name).NULL_BLK))
    else:
        print(f"a name is one of: {' '.join(LOADS)}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
