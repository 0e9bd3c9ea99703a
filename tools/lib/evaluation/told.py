# SPDX-License-Identifier: LGPL-2.1-or-later
"""What both forms of the report say of an experiment, as plain text."""

import itertools

import compare
import results
import runner

ENOUGH_FOR_OVERVIEW = 3     # experiments of a section
WIDE = 0.2      # of a spread

NOTES = """\
Each figure is the median of its repetitions, which take turns among the variants; the small one behind it is half of \
their range (for a file search, that of its passes). Ratios are to the stock policy. A hit ratio below 0 says that the \
disk gave more than was asked for, by readahead."""
LIMIT_NOTE = """\
is Belady's optimum of the sequence that was recorded of the stock policy, with as many pages as that had cached at \
the end: no policy reads less for that sequence. Another policy can have another sequence. That is so where threads \
do not wait for each other, as in GET-SCAN: there a policy can read less than the limit."""


def versions(report):
    """None if all is of one version of the sources."""
    number = report["versions"]
    return None if number < 2 else \
        f"The results are of {number} versions of the sources: run tools/bench again to have them of one."


def title(experiment):
    return experiment["title"][:1].upper() + experiment["title"][1:]


def value_and_spread(value, digits):
    """Both as text. What is shown as 0 has no spread: that is a part of the value."""
    shown = f"{value['median']:,.{digits}f}"
    return shown, f"±{value['spread']:.1%}" if value["spread"] and float(shown.replace(",", "")) else ""


def section(experiment):
    source = f" (papers: {experiment['source']})" if experiment["source"] else ""
    return experiment["section"] + source


def ratio_heading(experiment, title):
    """An overview says in its own title what its ratios are to."""
    return f"{title} / {experiment.get('base', results.BASE)}" if experiment["columns"] else title


def papers(experiment):
    """The ratios that papers have a figure of, for any row."""
    return {key for row in experiment["rows"] for key in row["paper"]}


def best_of(experiment, key):
    """The best ratio of what was measured."""
    ratios = [row["ratios"][key] for row in experiment["rows"] if key in row["ratios"] and row["name"] != results.LIMIT]
    if not ratios:
        return None
    return max(ratios) if key in experiment["more_is_better"] else min(ratios)


def is_best(experiment, row, key):
    ratio = row["ratios"].get(key)
    return ratio is not None and row["name"] != results.LIMIT and ratio == best_of(experiment, key)


def limit(experiment):
    found = experiment["limit"]
    if not found:
        return None
    return (f"Limit: {found['requests']:,} requests for {found['cold_misses']:,} pages were recorded; "
            f"{found['reads']:,} of the reads that count would miss in {found['cache_mib']:.1f} MiB. The disk gave "
            f"{found['recorded_disk_bytes'] / (1 << 20):.1f} MiB in that run.")


def small(experiment, experiments):
    """Of a load at scale: whether the policies that read least are those of the same load in the laboratory."""
    other = next((one for one in experiments if experiment["name"] == f"scale-{one['name']}"), None)
    if not other:
        return None
    here, there = (compare.winners(one, "disk_mib") for one in (experiment, other))
    best, others = ", ".join(sorted(here)), ", ".join(sorted(there))
    return (f"{best} reads least, as in {other['name']}." if here & there else
            f"{best} reads least, but in {other['name']} {others}: that load is too small to be believed.")


def odd_rows(experiment):
    """Figures that need a word beside them: pairs of it and whether a row has such."""
    limits = next((row["ratios"] for row in experiment["rows"] if row["name"] == results.LIMIT), {})
    yield ("the disk gave more than was asked for, by readahead, so the hit ratio is below 0",
           lambda row: row["values"].get("hit_ratio", {"median": 0})["median"] < 0)
    yield ("less is read than the limit, as that is of another sequence: threads went on while others waited",
           lambda row: any(row["ratios"].get(key, ratio) < ratio for key, ratio in limits.items()))
    yield (f"repetitions, or the passes of a search, differ from each other by more than {2 * WIDE:.0%}",
           lambda row: any((value["spread"] or 0) > WIDE for value in row["values"].values()))


def remarks(experiment):
    """One sentence for each oddity that is there."""
    for word, is_so in odd_rows(experiment):
        names = [row["name"] for row in experiment["rows"] if is_so(row)]
        if names:
            yield f"{', '.join(names)}: {word}."


def paper_note(experiment):
    note = experiment["paper_note"]
    if not note:
        return None
    if isinstance(note, str):
        return f"Papers: {note}."
    pairs = note.items() if isinstance(note, dict) else [("", note)]
    told = [f"{name} {', '.join(f'{v:g}' for v in (value if isinstance(value, list) else [value]))}".strip()
            for name, value in pairs]
    return f"Papers: {'; '.join(told)}."


def goals(experiments):
    """(reached, text) of each goal of the laboratory's."""
    return [(goal["reached"], goal["text"]) for experiment in experiments if experiment["laboratory"]
            for goal in experiment["goals"]]


def circumstances(experiment):
    """How it was measured, but for the command."""
    return [f"{experiment['repetitions']} repetition(s), {runner.clock(experiment['seconds'])} on the host",
            *(experiment[key] for key in ("model", "kernel") if experiment[key])]


def by_section(experiments):
    """Pairs: the heading, the experiments of that section."""
    for heading, group in itertools.groupby(experiments, key=section):
        yield heading, list(group)


def overviews(experiments):
    """Where a section has several experiments in the time of the laboratory: for each ratio that all of them have, one
    more in which each of them is a ratio."""
    experiments = [experiment for experiment in experiments if experiment["laboratory"]]
    if len(experiments) < ENOUGH_FOR_OVERVIEW:
        return
    for key, title_of_ratio in experiments[0]["ratios"]:
        if not all(key in dict(experiment["ratios"]) for experiment in experiments):
            continue
        names = dict.fromkeys(row["name"] for experiment in experiments for row in experiment["rows"])
        rows = {name: {"name": name, "values": {}, "ratios": {}, "paper": {}} for name in names}
        for experiment in experiments:
            for row in experiment["rows"]:
                for kind in ("ratios", "paper"):
                    if key in row[kind]:
                        rows[row["name"]][kind][experiment["name"]] = row[kind][key]
        yield {"title": f"{title_of_ratio} against the stock policy, in all of them", "columns": [],
               "ratios": [(experiment["name"], experiment["name"]) for experiment in experiments],
               "rows": [row for row in rows.values() if row["ratios"]],
               "more_is_better": [experiment["name"] for experiment in experiments
                                  if key in experiment["more_is_better"]]}
