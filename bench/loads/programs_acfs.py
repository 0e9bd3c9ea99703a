# SPDX-License-Identifier: LGPL-2.1-or-later
"""The programs of the ACFS paper, as Debian has them, on data of the paper's sizes; and what they say of their pages,
which is what the paper says in its section 5.1."""

import pathlib
import random
import shutil
import textwrap

import guest
import workloads
import workloads_sql

MIB = 1 << 20
SCRIPTS = guest.OUTPUT_DIRECTORY / "acfs"
MRU = "--level=0:mru"


class Program:
    """A shell script in a directory of the disk.  It gets a word if it may say what it is done with."""

    PARTS = ()              # of the demo's data
    PROGRAMS = ("sh",)
    DONE_WITH = False       # it gives back blocks that it has read
    WRITES = ()             # what is removed before a run

    def __init__(self, disk):
        self.disk, self.top = disk, disk.mountpoint
        self.script = SCRIPTS / self.NAME
        for program in self.PROGRAMS:
            guest.preload(shutil.which(program) or program)
        SCRIPTS.mkdir(parents=True, exist_ok=True)
        self.make()
        self.script.write_text(f"set -e\ncd {self.top}\nexport TMPDIR={SCRIPTS}\n{textwrap.dedent(self.text())}")

    def make(self):
        """What is needed beside the demo's data."""

    def said(self):
        """By the control group, before the program begins."""
        return (MRU,)

    def prepare(self):
        for name in self.WRITES:
            path = self.top / name
            shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink(missing_ok=True)

    def command(self, controlled):
        """What "advise" runs."""
        said = self.said() if controlled else ()
        library = [workloads.BENCH / "done-with.so"] if controlled and self.DONE_WITH else []
        return [*said, f"--output={SCRIPTS / self.NAME}.out", "--", "/bin/sh", self.script, *library]

    def output(self):
        return pathlib.Path(f"{self.script}.out").read_text(errors="replace")


class Cscope(Program):
    """Queries about some sources of the kernel: MRU for what is read again for each of them."""

    PARTS = ("search",)
    PROGRAMS = ("sh", "cscope")

    def files(self):
        """Sources of so many MiB in pages."""
        left, names = self.SOURCES * MIB, []
        for path in sorted((self.top / self.DIRECTORY).rglob("*.c")):
            size = -(-path.stat().st_size // workloads.PAGE) * workloads.PAGE
            if size <= left:
                left -= size
                names.append(str(path.relative_to(self.top)))
        return names

    def make(self):
        SCRIPTS.mkdir(parents=True, exist_ok=True)
        (self.top / f"{self.NAME}.files").write_text("\n".join(self.files()) + "\n")
        (SCRIPTS / f"{self.NAME}.queries").write_text("".join(f"{self.KIND}{query}\n" for query in self.QUERIES))
        guest.run("sh", "-c", f"cd {self.top} && cscope -b -i {self.NAME}.files -f {self.NAME}.out")

    def text(self):
        return f"cscope -d -l -i {self.NAME}.files -f {self.NAME}.out <{SCRIPTS / self.NAME}.queries\n"


class Symbols(Cscope):
    NAME = "cs1"
    DIRECTORY, SOURCES = "search/kernel", 12.35     # a database of 8.4 MiB
    KIND = 0
    QUERIES = ("mutex_lock_interruptible", "rcu_barrier", "kthread_create", "down_write_killable",
               "irq_domain_add_tree", "perf_event_enable", "bpf_map_inc", "sched_setscheduler")

    def said(self):
        return (MRU, f"--file=0:{self.top / self.NAME}.out")


class Text(Cscope):
    KIND = 6
    QUERIES = ("mutex_lock_interruptible", "spin_lock_bh", "list_for_each_entry_rcu", "synchronize_rcu")


class TextLarge(Text):
    NAME = "cs2"
    DIRECTORY, SOURCES = "search/drivers/scsi", 23.0


class TextSmall(Text):
    NAME = "cs3"
    DIRECTORY, SOURCES = "search/kernel", 12.8


class Dinero(Program):
    """A simulator of caches that reads its trace nine times: MRU for the trace."""

    NAME = "din"
    PROGRAMS = ("sh", workloads.BENCH / "dinero")
    BYTES = 8090000

    def make(self):
        with (self.top / "trace").open("w") as trace:
            trace.write(guest.run(workloads.BENCH / "dinero", f"--make={self.BYTES}"))

    def said(self):
        return (MRU, f"--file=0:{self.top / 'trace'}")

    def text(self):
        return f"{workloads.BENCH / 'dinero'} trace\n"


class Glimpse(Program):
    """Five searches of some 40 MB of text by an index, which has the higher level: MRU for both."""

    NAME = "gli"
    PARTS = ("search",)
    PROGRAMS = ("sh", "glimpse")
    DIRECTORY = "search/drivers/net/wireless"
    QUERIES = ("interrupt", "interrupt;disable", "calibration", "radar;channel", "scheduling")
    INDEX = ("index", "partitions", "filenames", "statistics")

    def make(self):
        guest.run("glimpseindex", "-H", self.top, self.top / self.DIRECTORY)

    def said(self):
        return (*(f"--file=1:{self.top}/.glimpse_{name}" for name in self.INDEX), "--level=1:mru", MRU)

    def text(self):
        return "".join(f"glimpse -H {self.top} -y -h -w '{query}'\n" for query in self.QUERIES)


class LinkEditor(Program):
    """Links 25 MB of object files.  It reads parts of all of them in the same order, a dozen times: MRU.  And it gives
    back each block when all of it was read, as the paper's did, which read all of it once."""

    NAME = "ldk"
    PARTS = ("objects",)
    PROGRAMS = ("sh", "ld")
    DONE_WITH = True
    WRITES = ("linked",)

    def text(self):
        return 'LD_PRELOAD=$1 ld -e function_0_of_object_0 -o linked objects/*.o\n'


class Sort(Program):
    """Sorts 200,000 lines, 17 MB, by a number.  The input is read once, a file in parts is written once and read once:
    the input goes first, and each block when it was read; of the rest what was written last."""

    NAME = "sort"
    PROGRAMS = ("sh", "sort")
    DONE_WITH = True
    WRITES = ("parts", "sorted")
    LINES = 200000

    def make(self):
        draw = random.Random(1994)
        with (self.top / "unsorted").open("w") as lines:
            for i in range(self.LINES):
                lines.write(f"{draw.getrandbits(30):010} {i:07} {'what is sorted has a number and some text':65}\n")

    def said(self):
        return ("--level=-1:mru", MRU, f"--file=-1:{self.top / 'unsorted'}")

    def text(self):
        return ("mkdir -p parts\n"
                "LD_PRELOAD=$1 sort -n -k1,1 -S 500K --parallel=1 --batch-size=8 -T parts -o sorted unsorted\n")

    def output(self):
        return ""


class Join(Program):
    """A join of 20,000 rows, 3.2 MB, with those of 200,000, 32 MB, that have the same number: one in five has.  They
    are found by an index, which has the higher level."""

    NAME = "pjn"
    PARTS = ("postgresql",)
    POSTGRES = workloads_sql.POSTGRESQL / "postgres"
    PROGRAMS = ("sh", "setpriv", POSTGRES)
    SETTINGS = (*workloads_sql.PgBench.SETTINGS, "enable_hashjoin=off", "enable_mergejoin=off", "enable_memoize=off",
                "enable_material=off", "enable_bitmapscan=off", "max_parallel_workers_per_gather=0")
    TABLES = ("select setseed(0.54)",
              "create table twohundredk as select i as unique1, 1 as one, repeat('x', 116) as filler "
              "from generate_series(1, 200000) i order by i::bigint * 104729 % 200003",
              "create table twentyk as select (random() * 1000020)::int as unique1, repeat('x', 120) as filler "
              "from generate_series(1, 20000)",
              # 5 MB, as in the paper
              "create unique index twohundredk_unique1 on twohundredk (unique1) with (fillfactor = 80)",
              "vacuum freeze analyze twohundredk", "vacuum freeze analyze twentyk")
    QUERY = "select count(*), sum(one) from twentyk join twohundredk using (unique1)"

    def ask(self, *queries):
        source = SCRIPTS / "query"
        source.write_text("".join(f"{query}\n" for query in queries))
        return guest.run("sh", "-c", f"{self.server()} <{source}")

    def server(self):
        options = " ".join(f"-c {setting}" for setting in self.SETTINGS)
        return (f"setpriv --reuid=postgres --regid=postgres --clear-groups {self.POSTGRES} --single {options} "
                f"-D {self.top / 'postgresql'} postgres")

    def make(self):
        guest.run("chown", "--recursive", "postgres:", self.top / "postgresql")
        self.ask(*self.TABLES)
        answer = self.ask("select pg_relation_filepath('twohundredk_unique1') as path")
        self.index = self.top / "postgresql" / answer.partition('path = "')[2].partition('"')[0]
        if not self.index.is_file():
            raise guest.DemoError(f"PostgreSQL does not say where the index is: {answer}")
        (SCRIPTS / "join").write_text(f"{self.QUERY}\n")

    def said(self):
        return (f"--file=1:{self.index}",)

    def text(self):
        # it tells there of its start and end
        return f"{self.server()} <{SCRIPTS / 'join'} 2>/dev/null\n"


class Read300(Program):
    """Reads 300 blocks five times, then the next ones, as in table 3, and says nothing."""

    NAME = "read300"
    PROGRAMS = ("sh", workloads.BENCH / "readn")
    BLOCKS = 1310

    def make(self):
        self.disk.add_file("blocks", self.BLOCKS * 8192)

    def said(self):
        return ()

    def text(self):
        return f"{workloads.BENCH / 'readn'} blocks --group=300 --blocks={self.BLOCKS} --think-us=200\n"


PROGRAMS = {program.NAME: program
            for program in (Symbols, TextLarge, TextSmall, Dinero, Glimpse, LinkEditor, Join, Sort, Read300)}
