# SPDX-License-Identifier: LGPL-2.1-or-later
"""The report: one file of HTML that needs no other; and the writing of all its forms."""

import html
import pathlib

import chart
import front
import markdown
import results
import runner
import told

STYLE = """
body { font: 15px/1.45 sans-serif; max-width: 86em; margin: 2em auto; padding: 0 1em; color: #222; background: #fff; }
h1, h2, h3 { line-height: 1.2; } h2 { border-bottom: 1px solid #bbb; margin-top: 2.2em; }
table { border-collapse: collapse; margin: .8em 0; } th, td { padding: .15em .7em; text-align: right; }
th { border-bottom: 1px solid #888; vertical-align: bottom; } th:first-child, td:first-child { text-align: left; }
td { white-space: nowrap; }
tr.base td { color: #555; } tr.limit td { font-style: italic; } td.best { font-weight: bold; }
td.paper, th.paper, span.paper { color: #96601c; }
td small { color: #777; } code { background: #f2f2f2; padding: .1em .3em; } .note { color: #555; font-size: 90%; }
.wide { overflow-x: auto; } .missed { color: #a00; } svg { max-width: 100%; height: auto; }
.front { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(360px, 100%), 1fr)); gap: 0 2.5em; }
"""

PAPERS_NOTE = """\
<span class="paper">Those of the papers</span> stand beside, from their larger machine; in the drawings they are
diamonds."""


def cell(content, kind="value"):
    return f'<td class="{kind}">{content}</td>'


def value_cell(row, key, digits):
    value = row["values"].get(key)
    if value is None:
        return cell("")
    shown, spread = told.value_and_spread(value, digits)
    return cell(f"{shown} <small>{spread}</small>" if spread else shown)


def table(experiment):
    papers = told.papers(experiment)
    heading = ["<th>policy</th>", *(f"<th>{html.escape(title)}</th>" for _, title, _ in experiment["columns"])]
    for key, title in experiment["ratios"]:
        heading.append(f"<th>{html.escape(told.ratio_heading(experiment, title))}</th>")
        if key in papers:
            heading.append('<th class="paper">papers</th>')
    lines = []
    for row in experiment["rows"]:
        cells = [cell(html.escape(row["name"]))]
        cells += [value_cell(row, key, digits) for key, _, digits in experiment["columns"]]
        for key, _ in experiment["ratios"]:
            ratio = row["ratios"].get(key)
            cells.append(cell("" if ratio is None else f"{ratio:.3f}",
                              "best" if told.is_best(experiment, row, key) else "value"))
            if key in papers:
                cells.append(cell(f"{row['paper'][key]:.2f}" if row["paper"].get(key) else "", "paper"))
        kind = {results.LIMIT: ' class="limit"', results.BASE: ' class="base"'}.get(row["name"], "")
        lines.append(f"<tr{kind}>{''.join(cells)}</tr>")
    return "\n".join(['<div class="wide"><table>', f"<tr>{''.join(heading)}</tr>", *lines, "</table></div>"])


def note(text):
    return f'<p class="note">{html.escape(text)}</p>' if text else ""


def goals(experiments):
    words = {True: "reached", False: "missed"}
    lines = [f'<li class="{words[reached]}">{words[reached]}: {html.escape(text)}</li>'
             for reached, text in told.goals(experiments)]
    return f"<h2>Goals</h2>\n<ul>{''.join(lines)}</ul>" if lines else ""


def first_page(experiments):
    figures = [f"<section><h2>{html.escape(figure.title)}</h2>\n{note(figure.text)}\n{chart.figure(figure)}</section>"
               for figure in front.figures(experiments)]
    return f'<div class="front">{"".join(figures)}</div>' if figures else ""


def article(experiment, experiments):
    drawings = [*(chart.chart(experiment, key, title) for key, title in experiment["ratios"]),
                chart.curves(experiment["curves"])]
    facts = [f"<code>{html.escape(experiment['command'])}</code>",
             *(html.escape(fact) for fact in told.circumstances(experiment))]
    return "\n".join([
        f'<h3 id="{html.escape(experiment["name"])}">{html.escape(told.title(experiment))}</h3>',
        f"<p>{html.escape(experiment['description'])}</p>", table(experiment), note(told.limit(experiment)),
        note(told.paper_note(experiment)), note(" ".join(told.remarks(experiment))),
        note(told.small(experiment, experiments)),
        f"<div>{''.join(drawing for drawing in drawings if drawing)}</div>",
        f'<p class="note">{"; ".join(facts)}.</p>'])


def page(report):
    host = report["host"]
    parts = ["<!DOCTYPE html>", '<html lang="en"><head><meta charset="utf-8"/>',
             '<meta name="viewport" content="width=device-width, initial-scale=1"/>',
             f"<title>cachebpf: the evaluation</title><style>{STYLE}</style></head><body>",
             "<h1>cachebpf: the evaluation</h1>",
             f"<p>Made {html.escape(report['made'])} of the sources {html.escape(str(host['sources']))}; the jobs took "
             f"{runner.clock(report['seconds'])} altogether. Host: {host['processors']} × "
             f"{html.escape(host['processor'])}, {html.escape(host['system'])}, "
             f"Linux {html.escape(host['kernel'])}.</p>"]
    if told.versions(report):
        parts.append(f'<p class="missed">{told.versions(report)}</p>')
    parts += [first_page(report["experiments"]), "<h2>What the tables say</h2>"]
    parts.append(f'<p class="note">{html.escape(told.NOTES)} {PAPERS_NOTE} The <i>limit</i> '
                 f"{html.escape(told.LIMIT_NOTE)}</p>")
    parts.append(goals(report["experiments"]))
    for heading, experiments in told.by_section(report["experiments"]):
        parts.append(f"<h2>{html.escape(heading)}</h2>")
        for overview in told.overviews(experiments):
            parts += [f"<h3>{html.escape(told.title(overview))}</h3>", table(overview)]
        parts += [article(experiment, report["experiments"]) for experiment in experiments]
    return "\n".join([*parts, "</body></html>", ""])


def write(directory):
    """Makes report.html, report.md and report.json of the results in the directory; returns what is in the last."""
    report = results.read(directory)
    directory = pathlib.Path(directory)
    runner.write_json(directory / "report.json", report)
    (directory / "report.html").write_text(page(report), encoding="utf-8")
    (directory / "report.md").write_text(markdown.page(report), encoding="utf-8")
    return report
