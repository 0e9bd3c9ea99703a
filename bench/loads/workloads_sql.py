# SPDX-License-Identifier: LGPL-2.1-or-later
"""PostgreSQL and SQLite as Debian has them, under every policy: neither keeps much itself here, the page cache does."""

import contextlib
import pathlib
import re
import time

import guest
import workloads
from workloads import BASELINES, MIB, POLICIES

POSTGRESQL = pathlib.Path("/usr/lib/postgresql/17/bin")


class Queries(workloads.KeyValue):
    """What both have in common: the variants, and how a run is told of."""

    VARIANTS = (*BASELINES, *POLICIES)
    REPETITIONS = 3
    DISK_US = 1000
    SLICE = "sql"
    CACHED = 8 * MIB
    DISK_COLUMNS = (("disk_reads", "disk reads", 0), ("disk_mib", "MiB from disk", 1), ("hit_ratio", "hit ratio", 3),
                    ("cache_mib", "page cache MiB", 1))

    def size(self):
        return (f"a database of {self.database_bytes / MIB:.0f} MiB, {self.CACHED // MIB} of which are cached; "
                f"{self.OPERATIONS} {self.UNIT} after {self.WARMUP} to warm up, one client")

    def add_figures(self, result):
        # what the disk did not have to read of what was asked for
        result["hit_ratio"] = 1 - result["disk_bytes"] / result["bytes_requested"]

    def tell(self, variant, result):
        self.progress.say(f"  {variant.name}: {result['ops_per_second']:.0f} {self.UNIT}/s, "
                          f"P99 {result['p99_us']:.0f} us, {result['disk_reads']} disk reads; page cache "
                          f"{result['memory']['file'] / MIB:.1f} MiB")

    @property
    def options(self):
        """What was started, without its path."""
        return [str(word) for word in self.command(0)[1:]]


class Sqlite(Queries):
    """Look-ups by primary key, one in ten a scan of an index that names rows anywhere in the table."""

    TITLE = "SQLite"
    UNIT = "operations"
    PROGRAM = "sql"
    DATABASE = "sqlite"
    MEMORY_MAX = 9 * MIB
    WARMUP = 10000
    OPERATIONS = 10000
    SCANS = 10      # per cent
    LENGTH = 10     # rows
    LIMIT = True
    LIMIT_THREAD = "sql-measured"
    COLUMNS = (("ops_per_second", "operations/s", 0), ("lookup_p50_us", "P50 us", 0), ("lookup_p99_us", "P99 us", 0),
               ("scan_p99_us", "P99 us of scans", 0), *Queries.DISK_COLUMNS)
    RATIOS = (("ops_per_second", "speed"), ("lookup_p99_us", "P99"), ("scan_p99_us", "P99 of scans"),
              ("disk_mib", "disk"))

    def describe(self):
        return (f"{self.size()}: look-ups by primary key and, {self.SCANS} of 100, scans of {self.LENGTH} rows by an "
                f"index, Zipfian {self.ZIPF}")

    def command(self, repetition):
        return [self.program, "run", self.database / "records.db", f"--ops={self.OPERATIONS}",
                f"--warmup={self.WARMUP}", f"--scans={self.SCANS}", f"--scan-length={self.LENGTH}",
                f"--zipf={self.ZIPF}", "--cache=0", f"--seed={repetition + 1}", f"--disk={self.disk.device.name}",
                "--json"]


class Backends:
    """The processes of a PostgreSQL server, known by its first one."""

    def __init__(self, pid):
        self.directory = pathlib.Path("/proc", str(pid))
        self.pid = pid

    def command_lines(self):
        """Those of its children; an empty one if it has ended and was not waited for yet."""
        for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
            try:
                parent = int(stat.read_text().rpartition(")")[2].split()[1])
                if parent == self.pid:
                    yield stat.with_name("cmdline").read_text()
            except (FileNotFoundError, ProcessLookupError):
                pass    # ended meanwhile

    def wait_gone(self):
        """Until those that served a client are gone."""
        while any(not line or "[local]" in line for line in self.command_lines()):
            time.sleep(0.01)

    def counters(self):
        """What its processes read, as far as they are gone: the kernel adds their part when they are waited for."""
        self.wait_gone()
        fields = dict(line.split(": ") for line in (self.directory / "io").read_text().splitlines())
        return {"read_calls": int(fields["syscr"]), "bytes_requested": int(fields["rchar"]),
                "bytes_from_disk": int(fields["read_bytes"])}


class PgBench(Queries):
    """PostgreSQL, asked by a pgbench outside of the slice.

    Its shared buffers are the least it can have.  What runs by itself at times of its own (autovacuum, the background
    writer, checkpoints) does not run, and nothing waits for the disk to have written: so a run does the same each time
    and is about reading."""

    UNIT = "transactions"
    PROGRAM = POSTGRESQL / "pgbench"
    DATABASE = "postgresql"
    LIMIT = False           # no thread has a name by which the measured part could be found
    COLUMNS = (("ops_per_second", "transactions/s", 0), ("p50_us", "P50 us", 0), ("p99_us", "P99 us", 0),
               *Queries.DISK_COLUMNS)
    RATIOS = (("ops_per_second", "speed"), ("p99_us", "P99"), ("disk_mib", "disk"))
    MEMORY_MAX = 16 * MIB
    WARMUP = 5000
    OPERATIONS = 5000
    RECORDS = 500000        # of the largest table: those of make-data's scale
    WRITES = False
    SETTINGS = ("listen_addresses=", "shared_buffers=128kB", "max_connections=4", "superuser_reserved_connections=0",
                "max_worker_processes=0", "max_logical_replication_workers=0", "max_wal_senders=0", "wal_level=minimal",
                "jit=off", "autovacuum=off", "bgwriter_lru_maxpages=0", "checkpoint_timeout=1d", "max_wal_size=1GB",
                "fsync=off", "full_page_writes=off", "huge_pages=off")

    def __init__(self, disk, progress):
        super().__init__(disk, progress)
        guest.preload(POSTGRESQL / "postgres")
        self.source, self.database = self.database, disk.mountpoint / "run"
        # make-data's user of that name has another number
        guest.run("chown", "--recursive", "postgres:", self.source)
        # the database of pgbench; the others are only there
        self.database_bytes = sum(path.stat().st_size for path in (self.source / "base/5").iterdir())

    def describe(self):
        return f"{self.size()}: {self.WHAT}"

    def prepare(self, _variant):
        """Each run begins with the same cluster.  Where it only reads, the files of the tables are the same under
        another name: all rows are frozen, and nothing is written to them."""
        others = [path for path in self.source.iterdir() if path.name != "base"]
        guest.run("rm", "--recursive", "--force", self.database)
        guest.run("install", "--directory", "--mode=700", "--owner=postgres", "--group=postgres", self.database)
        guest.run("cp", "--archive", *others, self.database)
        guest.run("cp", "--archive", *([] if self.WRITES else ["--link"]), self.source / "base", self.database)
        self.disk.forget_cached("rw")

    def server(self):
        settings = (*self.SETTINGS, f"unix_socket_directories={self.database}")
        return [POSTGRESQL / "postgres", "-D", self.database, *(f"-c{setting}" for setting in settings)]

    def command(self, seed):
        return [self.program, f"--host={self.database}", "--username=postgres", "--no-vacuum",
                "--protocol=prepared", f"--random-seed={seed}", *self.SCRIPT]

    def pgbench(self, seed, transactions):
        """Returns the time of all transactions, and when each ended and its time in us, as pgbench wrote it down."""
        logs = guest.OUTPUT_DIRECTORY / "pgbench"
        logs.mkdir(parents=True, exist_ok=True)
        output = guest.run(*self.command(seed), f"--transactions={transactions}", "--log",
                           f"--log-prefix={logs / 'log'}", "postgres")
        done = []
        for log in logs.iterdir():
            lines = [line.split() for line in log.read_text().splitlines()]
            done += [(int(line[4]) + int(line[5]) / 1e6, int(line[2])) for line in lines]
            log.unlink()
        rate = re.search(r"^tps = ([0-9.]+) \(without initial connection time\)$", output, re.MULTILINE)
        if len(done) != transactions or not rate:
            raise guest.DemoError(f"pgbench did {len(done)} of {transactions} transactions:\n{output}")
        return transactions / float(rate[1]), done

    def counters(self):
        return {**self.backends.counters(), **guest.disk_counters(self.disk.device)}

    @contextlib.contextmanager
    def served(self, slice_):
        """A server in the slice, meanwhile."""
        with guest.server_in_slice(slice_, "demo-sql", self.server(),
                                   ["User=postgres", "KillMode=mixed", "KillSignal=SIGINT"]) as pid:
            self.backends = Backends(pid)
            yield

    def run(self, slice_, variant, repetition):
        with self.served(slice_):
            return super().run(slice_, variant, repetition)

    def ask(self, _slice, _variant, repetition):
        self.warm_up(repetition)
        seconds, done, counted = self.measured(repetition)
        return {**figures(seconds, [latency for _, latency in done]), **counted}

    def warm_up(self, repetition):
        self.pgbench(2 * repetition + 1, self.WARMUP)

    def measured(self, repetition):
        """As pgbench(), and what was counted meanwhile."""
        before = self.counters()
        seconds, done = self.pgbench(2 * repetition + 2, self.OPERATIONS)
        return seconds, done, {key: value - before[key] for key, value in self.counters().items()}


def figures(seconds, latencies):
    """What is told of transactions that took so long, each in us."""
    ordered = sorted(latencies)
    return {"ops": len(ordered), "seconds": seconds, "ops_per_second": len(ordered) / seconds,
            "mean_us": sum(ordered) / len(ordered),
            **{name: ordered[int(quantile * len(ordered))]
               for name, quantile in (("p50_us", 0.5), ("p99_us", 0.99), ("p999_us", 0.999))}}


class Select(PgBench):
    TITLE = "PostgreSQL, pgbench select-only"
    WHAT = "an account by its number, all equally likely"
    SCRIPT = ("--builtin=select-only",)


class Zipfian(PgBench):
    """The least skew that pgbench draws in a short time: it is meant for more than 1, and draws again and again where
    it is near."""

    ZIPF = 1.01
    TITLE = "PostgreSQL, pgbench Zipfian"
    WHAT = f"an account by its number, scrambled Zipfian {ZIPF}"
    SCRIPT = (f"--file={workloads.BENCH / 'pgbench-zipfian.sql'}", f"--define=records={PgBench.RECORDS}",
              f"--define=zipf={ZIPF}")


class TpcB(PgBench):
    TITLE = "PostgreSQL, pgbench TPC-B"
    WHAT = "the TPC-B-like one, three updates, a query and an insertion, all accounts equally likely"
    SCRIPT = ("--builtin=tpcb-like",)
    WRITES = True
    WARMUP = 1000
    OPERATIONS = 1000


LOADS = {"pgbench-select": Select, "pgbench-zipfian": Zipfian, "pgbench-tpcb": TpcB, "sqlite": Sqlite}
