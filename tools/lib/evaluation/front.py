# SPDX-License-Identifier: LGPL-2.1-or-later
"""The first page of the report: five figures, made of what the tables after it say. Of several loads in a section they
have the one in the middle, and how far the others are from it."""

import collections
import statistics

import results
import told

# "of" is what a row is of; "bars" are its series by name; "one" is the value at which nothing is gained or lost.
Figure = collections.namedtuple("Figure", "title text unit one of bars rows")
# "values" as the bars of the figure, None where there is none; "low" and "high": of the loads in it.
Row = collections.namedtuple("Row", "label values low high remark", defaults=(None, None, ""))

# Not policies of ours: what the kernel has, what no policy can do, what programs say to the kernel's own, and the
# opposite of what was learned.
OTHERS = (results.BASE, "mglru", "no policy", results.LIMIT, "dontneed", "noreuse", "sequential", "mlcache-inverted")
SPEED = ("ops_per_second", "seconds", "speed")
DISK = "disk_mib"


def speed_of(experiment):
    """How fast each policy is, as a part of the stock policy; empty if this is not about a program's speed."""
    if not experiment["laboratory"] or experiment.get("base", results.BASE) != results.BASE:
        return {}
    key = next((key for key, _ in experiment["ratios"] if key.startswith(SPEED)), None)
    ratios = {row["name"]: row["ratios"][key] for row in experiment["rows"] if row["ratios"].get(key)}
    return ratios if key in experiment["more_is_better"] else {name: 1 / ratio for name, ratio in ratios.items()}


def disk_of(experiment):
    if not speed_of(experiment):
        return {}
    return {row["name"]: row["ratios"][DISK] for row in experiment["rows"] if row["ratios"].get(DISK)}


def ours(ratios):
    return {name: ratio for name, ratio in ratios.items() if name not in OTHERS}


def by_section(experiments, value_of):
    """A row for each section that has a value: that of its load in the middle."""
    for heading, group in told.by_section(experiments):
        values = [value for value in map(value_of, group) if value is not None]
        if values:
            several = len(values) > 1
            yield Row(heading.partition(" (papers")[0], (statistics.median(values),),
                      *((min(values), max(values), f"{len(values)} loads") if several else ()))


def fastest(experiment):
    return max(ours(speed_of(experiment)).values(), default=None)


def least_read(experiment):
    return min(ours(disk_of(experiment)).values(), default=None)


def part_of_the_limit(experiment):
    """Of what the optimum reads less than the stock policy, the part that the best policy reads less."""
    ratios = disk_of(experiment)
    best, limit = least_read(experiment), ratios.get(results.LIMIT)
    return 100 * (1 - best) / (1 - limit) if best and limit and limit < 1 else None


def what_for(experiments):
    return Figure("What it is for", "How fast a program is under the policy that suits it, the stock policy being 1.",
                  "", 1, "loads", ("speed",), list(by_section(experiments, fastest)))


def how_much(experiments):
    return Figure("How much is read", "From the disk, under the policy that reads least, the stock policy being 1.",
                  "", 1, "loads", ("bytes",), list(by_section(experiments, least_read)))


def at_what_cost(experiments):
    """Of instructions what is more than with the stock kernel, of memory what the slice pays."""
    costs = collections.defaultdict(lambda: [None] * 3)
    for experiment in experiments:
        for row in experiment["rows"]:
            if row["name"] in OTHERS:
                continue
            for place, key in enumerate(("hit/1", "miss/1")):
                if key in row["ratios"]:
                    costs[row["name"]][place] = 100 * (row["ratios"][key] - 1)
            if "slice_percent" in row["values"]:
                costs[row["name"]][2] = row["values"]["slice_percent"]["median"]
    return Figure("What it costs", "More instructions for a hit and for a miss of 4 KiB, which does not count the wait "
                  "for the disk; and memory, as a part of what is cached.", "%", None, "policy",
                  ("hit", "miss", "memory"), [Row(name, tuple(values)) for name, values in costs.items()])


def how_near(experiments):
    return Figure("How near the limit", "Of what Belady's optimum reads less than the stock policy, the part that the "
                  "best policy reads less. Over 100 %: other threads went on meanwhile, and asked for other pages.",
                  "%", 100, "loads", ("part",), list(by_section(experiments, part_of_the_limit)))


def where_it_hurts(experiments):
    """For each policy the load under which it does worst, if that is worse than without it."""
    worst = {}
    for experiment in experiments:
        for name, ratio in ours(speed_of(experiment)).items():
            if ratio < worst.get(name, (1,))[0]:
                worst[name] = ratio, experiment["name"]
    rows = [Row(name, (ratio,), remark=load) for name, (ratio, load) in sorted(worst.items(), key=lambda one: one[1])]
    return Figure("Where it hurts", "How fast a program is under the policy that suits it least, the stock policy "
                  "being 1: each policy with the load that it is worst for.", "", 1, "policy", ("speed",), rows)


def figures(experiments):
    """Those that there is something to be said in."""
    made = (make(experiments) for make in (what_for, how_much, at_what_cost, how_near, where_it_hurts))
    return [figure for figure in made if figure.rows]


def shown(value, unit):
    if value is None:
        return ""
    return f"{value:.1f} %" if unit else f"{value:.2f}"


def span(row, unit):
    """From the least to the most of several loads."""
    return "" if row.low is None else f"{shown(row.low, unit)} to {shown(row.high, unit)}"
