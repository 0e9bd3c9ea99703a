# SPDX-License-Identifier: LGPL-2.1-or-later
"""The report's tables as a page of documentation, without drawings."""

import textwrap

import front
import told

WIDTH = 120

HEADING = """\
<!-- SPDX-License-Identifier: LGPL-2.1-or-later -->
# The evaluation

{made}
"""


def text(value):
    return str(value).replace("|", "\\|")


def line(cells):
    return f"| {' | '.join(cells)} |"


def value(row, key, digits):
    found = row["values"].get(key)
    if found is None:
        return ""
    return " ".join(told.value_and_spread(found, digits)).rstrip()


def ratio(experiment, row, key):
    found = row["ratios"].get(key)
    if found is None:
        return ""
    return f"**{found:.3f}**" if told.is_best(experiment, row, key) else f"{found:.3f}"


def table(experiment):
    papers = told.papers(experiment)
    heading = ["policy", *(text(title) for _, title, _ in experiment["columns"])]
    for key, title in experiment["ratios"]:
        heading += [text(told.ratio_heading(experiment, title)), *(["papers"] if key in papers else [])]
    lines = [line(heading), "|---" * len(heading) + "|"]
    for row in experiment["rows"]:
        cells = [text(row["name"]), *(value(row, key, digits) for key, _, digits in experiment["columns"])]
        for key, _ in experiment["ratios"]:
            cells.append(ratio(experiment, row, key))
            if key in papers:
                cells.append(f"{row['paper'][key]:.2f}" if row["paper"].get(key) else "")
        lines.append(line(cells))
    return "\n".join(lines)


def article(experiment, experiments):
    parts = [f"### {text(told.title(experiment))}", f"`{experiment['command']}`", text(experiment["description"]),
             table(experiment), told.limit(experiment), told.paper_note(experiment),
             "\n\n".join(told.remarks(experiment)), told.small(experiment, experiments),
             "; ".join(told.circumstances(experiment)) + "."]
    return "\n\n".join(part for part in parts if part)


def first_page(figure):
    """One of its figures."""
    columns = {figure.of: [text(row.label) for row in figure.rows],
               **{name: [front.shown(row.values[i], figure.unit) for row in figure.rows]
                  for i, name in enumerate(figure.bars)},
               "range": [front.span(row, figure.unit) for row in figure.rows],
               "measured": [text(row.remark) for row in figure.rows]}
    columns = {name: cells for name, cells in columns.items() if any(cells)}
    return "\n\n".join([f"### {figure.title}", textwrap.fill(figure.text, WIDTH),
                        "\n".join([line(columns), "|---" * len(columns) + "|", *map(line, zip(*columns.values()))])])


def page(report):
    made = (f"Made {report['made']} of the sources {report['host']['sources']} by `tools/bench`; not to be edited. "
            "[bench/README.md](../bench/README.md) says what is measured and why.")
    parts = [HEADING.format(made=textwrap.fill(made, WIDTH)).rstrip()]
    if told.versions(report):
        parts.append(told.versions(report))
    figures = front.figures(report["experiments"])
    if figures:
        parts += ["## In short", *map(first_page, figures)]
    parts += ["## What the tables say", textwrap.fill(f"{told.NOTES} The *limit* {told.LIMIT_NOTE}", WIDTH)]
    goals = told.goals(report["experiments"])
    if goals:
        parts += ["## Goals", "\n".join(f"- {'reached' if reached else '**missed**'}: {text(goal)}"
                                        for reached, goal in goals)]
    for heading, experiments in told.by_section(report["experiments"]):
        parts.append(f"## {heading}")
        for overview in told.overviews(experiments):
            parts += [f"### {text(told.title(overview))}", table(overview)]
        parts += [article(experiment, report["experiments"]) for experiment in experiments]
    return "\n\n".join(parts) + "\n"
