# SPDX-License-Identifier: LGPL-2.1-or-later
"""How long a policy keeps interrupts waiting: while it evicts, and while it comes and goes."""

import bisect
import contextlib
import json
import pathlib
import time

import guest
from workloads import BENCH, MIB, STOCK, Load, Variant
from workloads_dispatch import Reads

INTERRUPT = "asm_sysvec_apic_timer_interrupt"


class Symbols:
    """The kernel's functions by their addresses."""

    APART = 60      # symbols between two with that name, in what is made of one directory

    def __init__(self, lines):
        words = sorted((int(line[0], 16), line[2]) for line in map(str.split, lines) if line[1] in "tT")
        self.addresses, self.names = [address for address, _ in words], [name for _, name in words]
        self.ours = self.find_ours()

    def find_ours(self):
        """The first and the last of mm/cachebpf, all of which is in one place: not each has that in its name."""
        runs, last = [], None
        for i, name in enumerate(self.names):
            if "cachebpf" not in name:
                continue
            if last is None or i - last > self.APART:
                runs.append([])
            runs[-1].append(i)
            last = i
        longest = max(runs, key=len, default=[len(self.names), -1])
        return longest[0], longest[-1]

    def index(self, address):
        return bisect.bisect_right(self.addresses, address) - 1

    def name(self, address):
        return self.names[self.index(address)]

    def is_ours(self, address):
        return self.ours[0] <= self.index(address) <= self.ours[1]


class Interrupts(Load):
    """On one processor, so that a timer waits for nothing but what runs there with interrupts off."""

    TITLE = "interrupts that wait"
    CPUS = 1
    VARIANTS = (STOCK, *(Variant(name, policy=name) for name in ("noop", "lfu", "s3fifo", "acfs")))
    CACHED = 512 * MIB
    MEMORY_MAX = 40 * MIB
    READS = Reads("miss", MEMORY_MAX, 256 * MIB, 20000, 15000)
    TURNS = 5               # that a policy comes and goes
    COLUMNS = tuple((f"{when}_{key}", f"{title}: {of}", 1)
                    for when, title in (("evicting", "evicting"), ("changing", "policy comes and goes"))
                    for key, of in (("late_us", "99.9 % us"), ("latest_us", "at most us"),
                                    ("ours_us", "by cachebpf at most us")))

    def __init__(self, disk, progress):
        super().__init__(disk, progress)
        self.file = disk.make_file(self.CACHED)
        for program in ("read-cost", "interrupts"):
            guest.preload(BENCH / program)
        self.symbols = Symbols(pathlib.Path("/proc/kallsyms").read_text(encoding="utf-8").splitlines())

    def describe(self):
        return (f"how late a timer goes off, every 20 to 60 us: in {self.READS.operations} random reads of "
                f"{self.READS.file_bytes // MIB} MiB with MemoryMax={self.MEMORY_MAX // MIB}M, most of which miss and "
                f"evict; and while a policy is attached to a slice with {self.CACHED // MIB} MiB cached and detached "
                f"again, {self.TURNS} times (stock: nothing is done); by cachebpf: what waited for its own "
                "functions, and longer than 10 us (0: nothing did); all else waited for the allocator and the like")

    def measure(self, variant, _repetition):
        guest.set_mglru(False)
        result = {}
        for when, watched in (("evicting", self.evict), ("changing", self.change)):
            self.prepare(variant)
            late = watched(variant)
            result.update({f"{when}_{key}": value for key, value in self.told(late).items()})
        self.progress.say(f"  {variant.name}: by cachebpf at most {result['evicting_ours_us']:.1f} us while it evicts, "
                          f"{result['changing_ours_us']:.1f} us while it comes and goes")
        return result

    def told(self, late):
        """The times in us, and by which function each was kept waiting at most."""
        by, ours = {}, 0
        for one in late["late"]:
            names = [self.symbols.name(address) for address in one["stack"]]
            # before it is what notes the interrupt
            place = names.index(INTERRUPT) + 1
            by[names[place]] = max(by.get(names[place], 0), one["ns"] / 1000)
            if self.symbols.is_ours(one["stack"][place]):
                ours = max(ours, one["ns"] / 1000)
        return {"interrupts": late["interrupts"], "late_us": late["late_ns"] / 1000,
                "latest_us": late["latest_ns"] / 1000, "ours_us": ours, "by": by}

    def evict(self, variant):
        with guest.Slice("demointerrupts.slice", self.MEMORY_MAX, variant.policy) as slice_, self.watched() as late:
            guest.run_in_slice(slice_, "demo-interrupts", self.READS.command(self.file))
        return late

    def change(self, variant):
        with guest.Slice("demointerrupts.slice", "infinity") as slice_:
            guest.run_in_slice(slice_, "demo-interrupts", ["/usr/bin/dd", f"if={self.file}", "of=/dev/null", "bs=1M"])
            with self.watched() as late:
                for _ in range(self.TURNS):
                    if not variant.policy:
                        time.sleep(0.1)
                        continue
                    guest.run("cachectl", "set", slice_.name, variant.policy)
                    guest.run("cachectl", "reset", slice_.name)
        return late

    @contextlib.contextmanager
    def watched(self):
        """Meanwhile a thread is woken up by timers; yields what is known of them afterwards."""
        late = {}
        with guest.Service("system.slice", "demo-watch", [BENCH / "interrupts"]) as watcher:
            watcher.wait_for_line()
            yield late
            watcher.stop()
            lines = watcher.text().splitlines()
        if len(lines) != 2:
            raise guest.DemoError(f"what watches timers said {lines}\n{watcher.journal()}")
        late.update(json.loads(lines[1]))
