# SPDX-License-Identifier: LGPL-2.1-or-later
"""The goals of loads: of each, whether it is reached, and what it is.  A function for each kind of load gets the load
and, by the names of its variants, their medians; the load's POLICY, if it has one, is among them."""

import operator

from report import MIB

# Passes 2 and later of the search may read at most this part of what the stock policies read.
SEARCH_PART = 0.42

RELATIONS = {"at least": operator.ge, "at most": operator.le, "above": operator.gt, "below": operator.lt}


def goal(value, relation, wanted, text):
    return RELATIONS[relation](value, wanted), f"{text} ({relation} {wanted})"


def print_bound(load, result):
    """The least part of the tree that a pass can read is what does not fit.  First with the whole limit for the page
    cache, then with what kernel memory (inodes, dentries) and anonymous memory left of it."""
    part = result["disk_bytes"] / (load.tree_bytes * (load.PASSES - 1))
    left = load.MEMORY_MAX - result["kernel_bytes"] - result["anon_bytes"]
    whole, left = (max(0.0, 1 - room / load.tree_bytes) for room in (load.MEMORY_MAX, left))
    print(f"\n  A pass reads {part:.3f} of the tree. No policy can read less than {whole:.3f} with all of "
          f"MemoryMax= for the page cache,\n  or than {left:.3f} with what "
          f"{result['kernel_bytes'] / MIB:.1f} MiB of kernel memory (inodes, dentries) leave of it.")


def search(load, medians):
    mru = medians[load.POLICY]
    print_bound(load, mru)
    for other in ("stock", "mglru"):
        part = mru["disk_bytes"] / medians[other]["disk_bytes"]
        time = mru["seconds"] / medians[other]["seconds"]
        yield goal(part, "at most", SEARCH_PART, f"search: mru reads {part:.3f} of the bytes of {other}")
        yield goal(time, "below", 1, f"search: mru takes {time:.3f} of the time of {other}")


def file_search(load, medians):
    """The paper's, as the time is: half of stock's."""
    mru = medians[load.POLICY]
    print_bound(load, mru)
    faster = medians["stock"]["seconds"] / mru["seconds"]
    yield goal(faster, "at least", 2, f"file search: mru is {faster:.2f} times as fast as stock")


def key_value(load, medians):
    lfu = medians[load.POLICY]
    for other in ("stock", "mglru"):
        reads = lfu["disk_reads"] / medians[other]["disk_reads"]
        speed = lfu["ops_per_second"] / medians[other]["ops_per_second"]
        yield goal(reads, "below", 1, f"kv: lfu makes {reads:.3f} of the disk reads of {other}")
        yield goal(speed, "above", 1, f"kv: lfu does {speed:.3f} of the reads a second of {other}")


def mixed(load, medians):
    """The papers' gains against stock, and an advantage over all else that was measured."""
    ours, stock = medians[load.POLICY], medians["stock"]
    for (key, title), paper in zip(load.RATIOS, load.PAPER[load.POLICY]):
        if paper is None:
            continue
        value = ours[key] / stock[key]
        more = key in load.MORE_IS_BETTER
        yield (value >= paper if more else value <= paper,
               f"{load.POLICY}: {title} {value:.2f} of stock's (paper: {paper:.2f}; at "
               f"{'least' if more else 'most'} that)")
    key, title = load.RATIOS[0]
    for name, other in medians.items():
        if name != load.POLICY:
            value = ours[key] / other[key]
            yield (value > 1 if key in load.MORE_IS_BETTER else value < 1,
                   f"{load.POLICY}: {title} {value:.2f} of that under {name} (better)")


def ycsb(load, medians):
    if not load.goals:
        return
    ours, stock = medians[load.POLICY], medians["stock"]
    speed, p99 = (ours[key] / stock[key] for key in ("ops_per_second", "kind_p99_us"))
    least, most = load.goals
    what = f"{load.TITLE}: {load.POLICY}"
    yield goal(speed, "at least", least, f"{what} does {speed:.2f} of the operations of stock")
    if most:
        yield goal(p99, "at most", most, f"{what} has {p99:.2f} of the P99 of stock")


def ycsb_cold(load, medians):
    """What chooses a policy is no worse than the one that somebody named who knew."""
    yield from ycsb(load, medians)
    if "auto" in medians:
        value = medians["auto"]["ops_per_second"] / medians[load.POLICY]["ops_per_second"]
        yield goal(value, "at least", 1, f"{load.TITLE}: auto does {value:.2f} of the operations of {load.POLICY}")


def isolation(load, medians):
    ours, stock = medians[load.POLICY], medians["stock"]
    for (key, what), least in zip(load.RATIOS, load.GOALS):
        value = ours[key] / stock[key]
        yield goal(value, "at least", least, f"isolation: {load.POLICY} does {value:.2f} of the {what} of stock")


def dispatch(load, medians):
    """That it costs more than the policy that decides in the kernel."""
    other = load.IN_KERNEL
    for key, kind in load.RATIOS if other in medians else ():
        value = medians[load.POLICY][key] / medians[other][key]
        yield goal(value, "above", 1, f"dispatch: a {kind} takes {value:.3f} of the instructions under {other}")


def memory(load, medians):
    for name, policy in medians.items():
        if name != "stock":
            part = policy["slice_percent"]
            yield (part <= load.GOAL_PERCENT, f"memory: {name} takes {part:.3f} % of what is cached "
                   f"(at most the papers' {load.GOAL_PERCENT} %)")


def mlcache(load, medians):
    """No worse than the stock policy, which the paper's is for cscope; better than the inverse of itself.  A second run
    gains what the simulator says, if the policy has learned."""
    ours, stock = medians[load.POLICY], medians["stock"]
    for key, title in load.RATIOS:
        kind, value = key.partition("_")[0], ours[key] / stock[key]
        if kind in load.MOST:
            yield goal(value, "at most", load.MOST[kind], f"{load.TITLE}: mlcache, {title}, {value:.3f} of stock's")
    inverted = medians.get("mlcache-inverted")
    if inverted:
        value = inverted["mib_first"] / ours["mib_first"]
        yield goal(value, "above", 1, f"{load.TITLE}: mlcache-inverted, disk, {value:.3f} of that under mlcache")
    for name in load.simulated if load.ONLY_READS else ():
        if name in load.learning and name in medians:
            yield second_run(load, name, medians[name])


def second_run(load, name, figures):
    measured, simulated = (figures[f"{kind}_second"] / figures[f"{kind}_first"] - 1 for kind in ("mib", "simulated"))
    return (abs(measured - simulated) <= abs(simulated) / 10,
            f"{load.TITLE}: {name}, disk, second run {measured:+.1%}, simulated {simulated:+.1%} "
            "(within a tenth of that)")


def readahead(load, medians):
    """Against the kernel's own windows, and the best of those that one could have named."""
    adaptive = medians[load.POLICY]
    key, title = load.RATIOS[0]

    def times_as_fast(name):
        value = adaptive[key] / medians[name][key]
        return value if key in load.MORE_IS_BETTER else 1 / value

    windows = [name for name in medians if name[0].isdigit() or name == "off"]
    best = min(windows, key=times_as_fast, default=None)
    for name, least in (("stock", load.LEAST_STOCK), (best, load.LEAST_WINDOW)):
        if name and least:
            value = times_as_fast(name)
            yield goal(value, "at least", least, f"{load.TITLE}: {title}, {value:.3f} times that with {name}")


def policies_that_read_ahead(load, medians):
    """The best one is worth it, and none does harm but those that are for something else."""
    key, title = load.RATIOS[0]
    baselines = {variant.name for variant in load.BASELINES}
    ratios = {name: figures[key] / medians["stock"][key] for name, figures in medians.items() if name not in baselines}
    best = max(ratios, key=ratios.get)
    worst = min((name for name in ratios if not name.startswith(("mru", "fifo"))), key=ratios.get, default=None)
    yield goal(ratios[best], "at least", 1.10,
               f"{load.TITLE}: {title}, {best}, the best, {ratios[best]:.3f} of stock's")
    if worst:
        yield goal(ratios[worst], "at least", 0.95,
                   f"{load.TITLE}: {title}, {worst}, the worst but mru and fifo, {ratios[worst]:.3f} of stock's")


def auto(load, medians):
    """Nearly as fast as the best policy that one could have named, which nobody knows before; and few switches, or,
    where the load changes, soon."""
    chosen = medians[load.POLICY]
    others = {name: figures for name, figures in medians.items() if name != load.POLICY}
    for key, title in load.RATIOS:
        if key == "disk_mib":
            continue
        more = key in load.MORE_IS_BETTER
        best = (max if more else min)(others, key=lambda name, key=key: others[name][key])
        value = chosen[key] / others[best][key]
        yield goal(value, *(("at least", 0.95) if more else ("at most", 1.05)),
                   f"{load.TITLE}: {title}, {value:.3f} of that under {best}, the best")
    if load.MOST_SWITCHES is not None:
        switches = chosen["switches"]
        yield goal(switches, "at most", load.MOST_SWITCHES, f"{load.TITLE}: {switches:.0f} switches")
    for i in getattr(load, "PHASES", ()):
        value = chosen[f"found_{i}"] / load.WINDOW
        yield goal(value, "at most", 2, f"{load.TITLE}: phase {i}, chosen after {value:.1f} windows")


def acfs_readn(load, medians):
    """A fool may cost another nothing.  If nothing were done it would cost one of them much: some readers lose little,
    and some do not fit beside the other one anyway."""
    oblivious = medians[load.BASE]
    for key, title in load.RATIOS if "protected" in medians else ():
        value = medians["protected"][key] / oblivious[key]
        yield goal(value, "at most", 1.02, f"{title} protected, {value:.3f} of those beside an oblivious Read300")
    if "unprotected" in medians:
        value, title = max((medians["unprotected"][key] / oblivious[key], title) for key, title in load.RATIOS)
        yield goal(value, "at least", 1.5, f"unprotected at most {value:.2f} times as many, {title}")


def acfs_single(load, medians):
    """The papers' part of the blocks, to the digits that they have, and hardly more time."""
    for (key, title), paper in zip(load.RATIOS, load.PAPER["acfs"]) if "acfs" in medians else ():
        value = medians["acfs"][key] / medians[load.BASE][key]
        yield goal(value, "at most", 1.02 if key.startswith("seconds") else paper + 0.005,
                   f"{load.TITLE}: {title}, {value:.3f} of LRU's" + (f", paper {paper:.2f}" if paper else ""))


def acfs_together(load, medians):
    """Each combination needs fewer blocks than under global LRU."""
    for key, title in load.RATIOS if "acfs" in medians else ():
        if key.startswith("blocks_"):
            value = medians["acfs"][key] / medians[load.BASE][key]
            yield goal(value, "below", 1, f"{load.TITLE}: {title}, {value:.3f} of global LRU's")


def acfs_beside(load, medians):
    """Who says nothing loses next to nothing by what another one says."""
    for key, title in load.RATIOS if "acfs" in medians else ():
        if key.startswith("read300_"):
            value = medians["acfs"][key] / medians[load.BASE][key]
            yield goal(value, "at most", 1.02, f"{load.TITLE}: {title}, {value:.3f} of those under global LRU")
