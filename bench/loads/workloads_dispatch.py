# SPDX-License-Identifier: LGPL-2.1-or-later
"""What it costs to tell user space of all that happens to the page cache, beside policies in the kernel: the cachebpf
paper's table 1."""

import dataclasses
import json
import pathlib
import shutil

import guest
import workloads
from workloads import BENCH, MIB, STOCK, Variant

POLICIES = pathlib.Path("/run/cachebpf/policies")


def install_policy():
    """The policy is in no directory of policies but while it is measured."""
    POLICIES.mkdir(parents=True, exist_ok=True)
    shutil.copy(BENCH / "dispatch.bpf.o", POLICIES)
    guest.run("systemctl", "reload", "cachebpfd.service")


@dataclasses.dataclass(frozen=True)
class Reads:
    """Random reads of a page by read-cost that all hit ("hit"), or of which nearly all evict another one ("miss")."""
    name: str
    memory_max: int | str
    file_bytes: int
    operations: int
    warmup: int

    @property
    def reads(self):
        """All, also those before the measured ones: a warm-up of hits is two passes over all pages."""
        return self.operations + (2 * self.file_bytes // workloads.PAGE if self.name == "hit" else self.warmup)

    def command(self, file, threads=1):
        return [BENCH / "read-cost", self.name, file, f"--bytes={self.file_bytes}",
                f"--operations={self.operations}", f"--warmup={self.warmup}", f"--threads={threads}"]


class Dispatch(workloads.Load):
    """A policy that sends each event to a program that only counts them; on one processor, where the time of both
    adds up."""

    TITLE = "dispatch to user space"
    CPUS = 1
    POLICY = "dispatch"
    IN_KERNEL = "lfu"
    COLUMNS = tuple((f"{kind}_{key}", f"{kind}{title}", digits) for kind in ("hit", "miss")
                    for key, title, digits in (("ns", ": instructions", 0), ("reader_ns", ": of the reader", 0),
                                               ("events", ": events", 2), ("lost", ": lost in all", 0)))
    RATIOS = (("hit_ns", "hit"), ("miss_ns", "miss"))
    # Table 1
    PAPER_NOTE = ("what programs lose of their operations by telling user space: 16.6 % in YCSB A, 17.8 % in C, 20.6 % "
                  "with uniform reads, 4.7 % in a search")
    VARIANTS = (STOCK, *(Variant(name, policy=name) for name in ("noop", "lfu", "dispatch")))
    FILE_BYTES = 256 * MIB
    MEMORY_MAX = 40 * MIB
    READS = (Reads("hit", "infinity", 32 * MIB, 60000, 0), Reads("miss", MEMORY_MAX, FILE_BYTES, 20000, 15000))

    def __init__(self, disk, progress):
        super().__init__(disk, progress)
        self.file = disk.make_file(self.FILE_BYTES)
        for program in ("read-cost", "dispatch-reader"):
            guest.preload(BENCH / program)
        install_policy()

    def describe(self):
        hit, miss = self.READS
        return (f"random reads of 4 KiB by one thread on one processor: {hit.operations} hits in "
                f"{hit.file_bytes // MIB} MiB, {miss.operations} of {miss.file_bytes // MIB} MiB with "
                f"MemoryMax={self.MEMORY_MAX // MIB}M, most of which miss")

    def measure(self, variant, _repetition):
        guest.set_mglru(False)
        result = {}
        for reads in self.READS:
            one = self.measure_reads(variant, reads)
            result.update({f"{reads.name}_{key}": value for key, value in one.items()})
        self.progress.say(f"  {variant.name}: {result['hit_ns']:.0f} instructions a hit, {result['miss_ns']:.0f} a "
                          f"miss; {result['hit_lost'] + result['miss_lost']} events lost")
        return result

    def measure_reads(self, variant, reads):
        self.prepare(variant)
        with guest.Slice("demodispatch.slice", reads.memory_max, variant.policy) as slice_:
            if variant.policy != self.POLICY:
                return self.add_up(reads, self.cost(slice_, reads))
            with guest.Service("system.slice", "demo-dispatch-reader", [BENCH / "dispatch-reader"]) as reader:
                reader.wait_for_line()
                cost = self.cost(slice_, reads)
                reader.stop()
                lines = reader.text().splitlines()
            if len(lines) != 2:
                raise guest.DemoError(f"the reader of events said {lines}\n{reader.journal()}")
            return self.add_up(reads, cost, json.loads(lines[1]))

    def cost(self, slice_, reads):
        return json.loads(guest.run_in_slice(slice_, "demo-dispatch", reads.command(self.file)))

    @staticmethod
    def add_up(reads, cost, reader=None):
        """Of one read: the time of its thread, which sends, that of the reader of events, and both."""
        reader = reader or {"received": {}, "sent": {}, "lost": 0, "cpu_ns": 0}
        received, sent = (sum(reader[key].values()) for key in ("received", "sent"))
        if received != sent:
            raise guest.DemoError(f"{sent} events were sent, {received} arrived: {reader}")
        reader_ns = reader["cpu_ns"] / reads.reads
        return {"ns": cost["cpu_ns_per_read"] + reader_ns, "own_ns": cost["cpu_ns_per_read"], "reader_ns": reader_ns,
                "wall_ns": cost["wall_ns_per_read"], "events": (sent + reader["lost"]) / reads.reads,
                "lost": reader["lost"], "by_kind": reader["sent"]}
