# SPDX-License-Identifier: LGPL-2.1-or-later
"""The experiments of the ACFS paper (Cao, Felten and Li, OSDI 1994): programs say which of their pages go first.  Their
page cache is held at the paper's sizes, nothing is read ahead, and what counts are blocks of 8 KiB, as in the paper."""

import contextlib
import json

import guest
import workloads
from page_cache import PageCache
from programs_acfs import PROGRAMS
from workloads import MGLRU, MIB, STOCK, Variant

BLOCK = 8192
LRU = Variant("lru", policy="lru")


def without(*names):
    """What a slice's unit file says, so that its policy acfs does without something."""
    return (f"CachePolicyOptions={' '.join(f'{name}=0' for name in names)}",)


def in_order(figures, keys):
    """A paper's figures by key, as PAPER has them."""
    return {name: tuple(values.get(key) for key in keys) for name, values in figures.items()}


class Controlled(workloads.Load):
    """What these experiments have in common."""

    BASE = "lru"
    SLICE = "acfs"
    MEMORY_MAX = 256 * MIB      # until the page cache is held
    DISK_US = 1000
    NULL_BLK = ("hw_queue_depth=1",)    # several programs have one disk
    REPETITIONS = 1

    def __init__(self, disk, progress):
        super().__init__(disk, progress)
        self.advise = workloads.BENCH / "advise"
        guest.preload(self.advise)

    def slice_for(self, variant):
        return guest.Slice(f"demo{self.SLICE}.slice", self.MEMORY_MAX, variant.policy, variant.settings)

    def controlled(self, command, said=()):
        """A program that runs in a control group which has said so much."""
        return [self.advise, *said, "--", *command]


class ReadN(Controlled):
    """Table 1: a reader of N blocks, again and again, beside one of 300 that wants MRU, which is as foolish as can be.

    The paper's cache has 819 blocks.  Both readers have the same pace, which the disk keeps for both if they miss all
    the time: what differs is their share of the cache, and not that of the disk."""

    TITLE = "ReadN beside a foolish Read300"
    BASE = "oblivious"
    BLOCKS = 1200
    OTHER_BLOCKS = 6000         # more than the other ever comes to
    CACHED = 819 * BLOCK
    PACE_US = 6000
    GROUPS = (390, 400, 490, 500)
    FOOLISH = ("--level=0:mru",)
    VARIANTS = (STOCK, MGLRU, LRU, Variant(BASE, policy="acfs"),
                Variant("unprotected", policy="acfs", settings=without("placeholders"), options=FOOLISH),
                Variant("protected", policy="acfs", options=FOOLISH),
                Variant("not revoked", policy="acfs", settings=without("revoke_percent"), options=FOOLISH))
    COLUMNS = (*((f"blocks_{n}", f"blocks of Read{n}", 0) for n in GROUPS),
               *((f"seconds_{n}", f"seconds of Read{n}", 1) for n in GROUPS))
    RATIOS = tuple((f"blocks_{n}", f"blocks of Read{n}") for n in GROUPS)
    PAPER = in_order({"unprotected": {390: 1300 / 1172, 400: 1538 / 1181, 490: 1465 / 1176, 500: 2294 / 1481},
                      "protected": {390: 1170 / 1172, 400: 1170 / 1181, 490: 1199 / 1176, 500: 1580 / 1481}}, GROUPS)

    def __init__(self, disk, progress):
        super().__init__(disk, progress)
        self.program = workloads.BENCH / "readn"
        guest.preload(self.program)
        self.file = disk.make_file(self.BLOCKS * BLOCK)
        self.other = disk.add_file("other", self.OTHER_BLOCKS * BLOCK)

    def describe(self):
        return (f"groups of N blocks of {BLOCK >> 10} KiB, {self.BLOCKS} in all, each group five times; beside it the "
                f"same with 300 blocks, without an end; {self.CACHED / MIB:.1f} MiB cached; unprotected: without "
                "placeholders, not revoked: its say is never taken away")

    def reader(self, file, group, blocks, *options):
        return [self.program, file, f"--group={group}", f"--blocks={blocks}", f"--pace-us={self.PACE_US}", *options]

    def measure(self, variant, _repetition):
        guest.set_mglru(variant.mglru)
        result = {}
        with self.disk.readahead(0):
            for group in self.GROUPS:
                self.prepare(variant)
                with self.slice_for(variant) as slice_, PageCache(slice_, self.CACHED) as cache:
                    result.update(self.run_group(slice_, variant, group))
                result["memory"] = cache.memory()
        self.progress.say(f"  {variant.name}: " + ", ".join(
            f"Read{group} {result[f'blocks_{group}']:.0f}" for group in self.GROUPS))
        return result

    def run_group(self, slice_, variant, group):
        other = self.controlled(self.reader(self.other, 300, self.OTHER_BLOCKS, "--forever"), variant.options)
        mine = self.controlled(self.reader(self.file, group, self.BLOCKS))
        with guest.Service(slice_.name, "demo-acfs-foolish", other, ["Type=exec"]):
            done = json.loads(guest.run_in_slice(slice_, "demo-acfs", mine))
        return {f"blocks_{group}": done["bytes_from_disk"] / BLOCK, f"seconds_{group}": done["seconds"]}


CACHES = (6.4, 8, 12, 16)       # MiB

# Tables 6 and 5: block I/Os and elapsed time with LRU-SP, as parts of the original kernel's.
PAPER_RATIOS = {
    "cs1": ((.36, .19, 1.00, 1.00), (.62, .54, .99, 1.00)),
    "cs2": ((.82, .77, .65, .48), (.90, .88, .81, .70)),
    "cs3": ((.67, .54, .68, 1.00), (.82, .74, .87, 1.01)),
    "din": ((.29, 1.01, 1.00, 1.00), (.90, 1.01, 1.01, 1.00)),
    "gli": ((.85, .81, .73, .84), (.91, .88, .81, .87)),
    "ldk": ((.93, .88, .81, .72), (1.00, .97, .93, .87)),
    "pjn": ((.81, .84, .90, .95), (.88, .87, .91, .93)),
    "sort": ((.85, .81, .71, .65), (.87, .83, .75, .72)),
}

ACFS = Variant("acfs", policy="acfs")
NOT_REVOKED = Variant("not revoked", policy="acfs", settings=without("revoke_percent"))
ALLOC_LRU = Variant("alloc-lru", policy="acfs", settings=without("swapping", "placeholders"))


def bytes_of(size):
    return int(size * MIB) // BLOCK * BLOCK


def by_cache(caches, kind, title, *digits):
    return tuple((f"{kind}_{size}", f"{title}, {size} MiB", *digits) for size in caches)


class Programs(Controlled):
    """Some programs of the paper at once, once for each size of the cache."""

    VARIANTS = (STOCK, MGLRU, LRU, ACFS, NOT_REVOKED, ALLOC_LRU)
    CACHES = CACHES

    def __init__(self, disk, progress):
        super().__init__(disk, progress)
        guest.preload(workloads.BENCH / "done-with.so")
        parts = sorted({part for name in self.NAMES for part in PROGRAMS[name].PARTS})
        if parts:
            disk.fill_anew(*parts)
        else:
            disk.make_file_system()
        self.programs = [PROGRAMS[name](disk) for name in self.NAMES]
        self.outputs = {}

    def describe(self):
        caches = ", ".join(map(str, self.CACHES))
        return (f"{' beside '.join(self.NAMES)}, with a page cache held at {caches} MiB; blocks of {BLOCK >> 10} KiB "
                "that were read; nothing is read ahead")

    def prepare(self, _variant):
        for program in self.programs:
            program.prepare()
        self.disk.forget_cached("rw")

    def measure(self, variant, _repetition):
        guest.set_mglru(variant.mglru)
        result = {}
        with self.disk.readahead(0):
            # what is asked for is the same for each
            for size in self.CACHES[-1:] if guest.Slice.recorder else self.CACHES:
                self.prepare(variant)
                with self.slice_for(variant) as slice_, PageCache(slice_, bytes_of(size)) as cache:
                    figures = self.run_all(slice_, variant)
                    result[f"policy_counters_{size}"] = slice_.policy_counters()
                result["memory"] = cache.memory()
                result["disk_bytes"] = figures["blocks"] * BLOCK
                result |= {f"{key}_{size}": value for key, value in figures.items()}
                self.progress.say(f"  {variant.name}, {size} MiB: {figures['blocks']:.0f} blocks, "
                                  f"{figures['seconds']:.2f} s; page cache {result['memory']['file'] / MIB:.2f} MiB")
        return result

    def recorded(self):
        return {"unit": BLOCK, "caches": {f"blocks_{size}": bytes_of(size) for size in self.CACHES}}

    def services(self, slice_, variant):
        return [guest.Service(slice_.name, f"demo-acfs-{program.NAME}",
                              [self.advise, *program.command(variant.policy == "acfs")]) for program in self.programs]

    def run_all(self, slice_, variant):
        """All at once, each in a control group of its own, until the last one has ended."""
        services = self.services(slice_, variant)
        with contextlib.ExitStack() as stack:
            for service in services[1:]:
                stack.enter_context(service)
            services[0].start()
            for service in services[1:]:
                service.wait()
        figures, ends = {"blocks": 0.0}, []
        for program, service in zip(self.programs, services):
            done = json.loads(service.text())
            self.check(program)
            figures["blocks"] += done["bytes_from_disk"] / BLOCK
            ends.append((done["begin"], done["begin"] + done["seconds"]))
            if len(services) > 1:
                figures[f"{program.NAME}_blocks"] = done["bytes_from_disk"] / BLOCK
                figures[f"{program.NAME}_seconds"] = done["seconds"]
        figures["seconds"] = max(end for _, end in ends) - min(begin for begin, _ in ends)
        return figures

    def check(self, program):
        """What it says is the same each time."""
        output = program.output()
        if self.outputs.setdefault(program.NAME, output) != output:
            raise guest.DemoError(f"{program.NAME} says something else than before: what it read was wrong")


def load_of(names, title, caches=CACHES, **more):
    """A class, whose figures are of all programs, and of each if they are several."""
    kinds = [("blocks", "blocks", 0), ("seconds", "seconds", 2)]
    if len(names) > 1:
        kinds += [(f"{name}_blocks", f"blocks of {name}", 0) for name in names]
    return type(f"Programs_{'_'.join(names)}", (Programs,), {
        "NAMES": names, "TITLE": title, "CACHES": caches,
        "COLUMNS": tuple(column for kind in kinds for column in by_cache(caches, *kind)),
        "RATIOS": tuple(pair for kind, what, _ in kinds for pair in by_cache(caches, kind, what)), **more})


def single(name):
    paper = tuple(value for kind in PAPER_RATIOS[name] for value in kind)
    # the paper has no revocation yet
    return load_of((name,), f"{name} alone", LIMIT=True, PAPER={"acfs": paper, "not revoked": paper})


COMBINATIONS = (("cs2", "gli"), ("cs3", "ldk"), ("gli", "sort"), ("din", "sort"), ("sort", "ldk"), ("pjn", "ldk"),
                ("din", "cs2", "ldk"), ("cs1", "gli", "ldk"), ("din", "cs3", "gli", "ldk"))
SINGLE = {f"acfs-{name}": single(name) for name in PAPER_RATIOS}
TOGETHER = {f"acfs-{'-'.join(names)}": load_of(names, "+".join(names)) for names in COMBINATIONS}
# Table 3: what it costs a program that says nothing if the other one does.  In which order they read depends on how
# fast both are; so that is recorded, and can be played to global LRU.
BESIDE = {f"acfs-{name}-read300": load_of((name, "read300"), f"Read300 beside {name}", (6.4,), RECORDED=ACFS)
          for name in ("din", "cs2", "gli", "ldk")}
