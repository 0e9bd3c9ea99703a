# SPDX-License-Identifier: LGPL-2.1-or-later
"""Whether two evaluations say the same."""

import statistics

import results

TOLERANCE = 0.02
# The laboratory repeats to a few per mille: what is nearer than this to the best is as good.
TIE = 0.005


def winners(experiment, key):
    """The variants that are best in a figure, by name; the limit is none."""
    values = {row["name"]: row["values"][key]["median"] for row in experiment["rows"]
              if row["name"] != results.LIMIT and key in row["values"]}
    if not values:
        return set()
    if key in experiment["more_is_better"]:
        best = max(values.values())
        return {name for name, value in values.items() if value >= best * (1 - TIE)}
    best = min(values.values())
    return {name for name, value in values.items() if value <= best * (1 + TIE)}


def apart(one, other):
    """How far the values are from each other, as a part of the first."""
    if one == other:
        return 0.0
    return abs(other - one) / abs(one) if one else float("inf")


def differences(one, other):
    """A line for each row of one experiment in which two reports differ."""
    name = one["name"]
    rows = {row["name"]: row for row in other["rows"]}
    for row in one["rows"]:
        if row["name"] not in rows:
            yield f"{name}: {row['name']} is only in the first"
    for extra in [row for row in rows if row not in {row["name"] for row in one["rows"]}]:
        yield f"{name}: {extra} is only in the second"
    if not one["laboratory"]:
        return      # that time is nobody's measure
    for key, title in one["ratios"]:
        first, second = winners(one, key), winners(other, key)
        if not first & second:
            yield f"{name}, {title}: the best is {', '.join(sorted(first))}, then {', '.join(sorted(second))}"
    for row in one["rows"]:
        for key, title, _ in one["columns"]:
            first = row["values"].get(key)
            second = rows.get(row["name"], {"values": {}})["values"].get(key)
            if first and second and apart(first["median"], second["median"]) > TOLERANCE:
                yield (f"{name}, {row['name']}, {title}: {first['median']:.6g}, then {second['median']:.6g} "
                       f"({second['median'] / first['median'] - 1:+.1%})" if first["median"] else
                       f"{name}, {row['name']}, {title}: 0, then {second['median']:.6g}")


def spreads(one, other):
    """How far the ratios to the stock policy are apart: a line for each that differs, of experiments that are in both.
    Other data, or another build, are another run, and this is how well a ratio is known."""
    second = {experiment["name"]: experiment for experiment in other["experiments"]}
    for experiment in one["experiments"]:
        name = experiment["name"]
        if name not in second or not experiment["laboratory"]:
            continue
        others = {row["name"]: row["ratios"] for row in second[name]["rows"]}
        for key, title in experiment["ratios"]:
            found = {row["name"]: apart(row["ratios"][key], others[row["name"]][key]) for row in experiment["rows"]
                     if row["name"] not in (results.BASE, results.LIMIT)
                     and key in row["ratios"] and key in others.get(row["name"], {})}
            if any(found.values()):
                middle, most = statistics.median(found.values()), max(found, key=found.get)
                yield (f"{name}, {title} / {results.BASE}: {middle:.1%} apart in the middle, "
                       f"at most {found[most]:.1%} ({most})")


def compare(one, other):
    first = {experiment["name"]: experiment for experiment in one["experiments"]}
    second = {experiment["name"]: experiment for experiment in other["experiments"]}
    lines = [f"{name}: only in the first" for name in first if name not in second]
    lines += [f"{name}: only in the second" for name in second if name not in first]
    for name in first:
        if name in second:
            lines += differences(first[name], second[name])
    return lines
