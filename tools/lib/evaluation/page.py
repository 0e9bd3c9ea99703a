# SPDX-License-Identifier: LGPL-2.1-or-later
"""The report: one file of HTML that needs no other, and the same as JSON."""

import html
import pathlib

import chart
import results
import runner

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
"""

NOTES = """
<p class="note">Each figure is the median of its repetitions, which take turns among the variants; the small one behind
it is half of their range (for a file search, that of its passes). Ratios are to the stock policy.
<span class="paper">Those of the papers</span> stand beside, from their larger machine; in the drawings they are
diamonds. The <i>limit</i> is Belady's optimum of the sequence that was recorded of the stock policy, with as many pages
as that had cached at the end: what no policy can go below in reads of that sequence.</p>
"""


def cell(content, kind="value"):
    return f'<td class="{kind}">{content}</td>'


def value_cell(row, key, digits):
    value = row["values"].get(key)
    if value is None:
        return cell("")
    spread = f" <small>±{value['spread']:.1%}</small>" if value["spread"] else ""
    return cell(f"{value['median']:,.{digits}f}{spread}")


def best_of(experiment, key):
    """The best ratio of what was measured."""
    ratios = [row["ratios"][key] for row in experiment["rows"] if key in row["ratios"] and row["name"] != results.LIMIT]
    if not ratios:
        return None
    return max(ratios) if key in experiment["more_is_better"] else min(ratios)


def table(experiment):
    papers = {key for row in experiment["rows"] for key in row["paper"]}
    heading = ["<th>policy</th>", *(f"<th>{html.escape(title)}</th>" for _, title, _ in experiment["columns"])]
    for key, title in experiment["ratios"]:
        heading.append(f"<th>{html.escape(title)} / stock</th>")
        if key in papers:
            heading.append('<th class="paper">papers</th>')
    lines = []
    for row in experiment["rows"]:
        cells = [cell(html.escape(row["name"]))]
        cells += [value_cell(row, key, digits) for key, _, digits in experiment["columns"]]
        for key, _ in experiment["ratios"]:
            ratio = row["ratios"].get(key)
            best = ratio is not None and row["name"] != results.LIMIT and ratio == best_of(experiment, key)
            cells.append(cell("" if ratio is None else f"{ratio:.3f}", "best" if best else "value"))
            if key in papers:
                cells.append(cell(f"{row['paper'][key]:.2f}" if row["paper"].get(key) else "", "paper"))
        kind = {results.LIMIT: ' class="limit"', results.BASE: ' class="base"'}.get(row["name"], "")
        lines.append(f"<tr{kind}>{''.join(cells)}</tr>")
    return "\n".join(['<div class="wide"><table>', f"<tr>{''.join(heading)}</tr>", *lines, "</table></div>"])


def limit_note(experiment):
    limit = experiment["limit"]
    if not limit:
        return ""
    return (f'<p class="note">Limit: {limit["requests"]:,} requests for {limit["cold_misses"]:,} pages were recorded; '
            f"{limit['reads']:,} of the reads that count would miss in {limit['cache_mib']:.1f} MiB. The disk gave "
            f"{limit['recorded_disk_bytes'] / (1 << 20):.1f} MiB in that run.</p>")


def paper_note(experiment):
    note = experiment["paper_note"]
    if not note:
        return ""
    if isinstance(note, str):
        return f'<p class="note">Papers: {html.escape(note)}.</p>'
    pairs = note.items() if isinstance(note, dict) else [("", note)]
    told = [f"{name} {', '.join(f'{v:g}' for v in (value if isinstance(value, list) else [value]))}".strip()
            for name, value in pairs]
    return f'<p class="note">Papers: {html.escape("; ".join(told))}.</p>'


def goals(experiments):
    words = {True: "reached", False: "missed"}
    lines = [f'<li class="{words[goal["reached"]]}">{words[goal["reached"]]}: {html.escape(goal["text"])}</li>'
             for experiment in experiments if experiment["laboratory"] for goal in experiment["goals"]]
    return f"<h2>Goals</h2>\n<ul>{''.join(lines)}</ul>" if lines else ""


def article(experiment):
    drawings = [chart.chart(experiment, key, title) for key, title in experiment["ratios"]]
    facts = [f"<code>{html.escape(experiment['command'])}</code>",
             f"{experiment['repetitions']} repetition(s), {runner.clock(experiment['seconds'])} on the host"]
    facts += [html.escape(experiment[key]) for key in ("model", "kernel") if experiment[key]]
    title = experiment["title"][:1].upper() + experiment["title"][1:]
    return "\n".join([
        f'<h3 id="{html.escape(experiment["name"])}">{html.escape(title)}</h3>',
        f"<p>{html.escape(experiment['description'])}</p>", table(experiment), limit_note(experiment),
        paper_note(experiment),
        f"<div>{''.join(drawing for drawing in drawings if drawing)}</div>",
        f'<p class="note">{"; ".join(facts)}.</p>'])


def page(report):
    host = report["host"]
    parts = ["<!DOCTYPE html>", '<html lang="en"><head><meta charset="utf-8"/><title>cachebpf: the evaluation</title>',
             f"<style>{STYLE}</style></head><body>", "<h1>cachebpf: the evaluation</h1>",
             f"<p>Made {html.escape(report['made'])} of the sources {html.escape(str(host['sources']))}; the jobs took "
             f"{runner.clock(report['seconds'])} altogether. Host: {host['processors']} × "
             f"{html.escape(host['processor'])}, {html.escape(host['system'])}, "
             f"Linux {html.escape(host['kernel'])}.</p>"]
    if report["versions"] > 1:
        parts.append(f'<p class="missed">The results are of {report["versions"]} versions of the sources: run '
                     "tools/bench again to have them of one.</p>")
    parts += [NOTES, goals(report["experiments"])]
    section = None
    for experiment in report["experiments"]:
        if experiment["section"] != section:
            section = experiment["section"]
            source = f" (papers: {experiment['source']})" if experiment["source"] else ""
            parts.append(f"<h2>{html.escape(section + source)}</h2>")
        parts.append(article(experiment))
    return "\n".join([*parts, "</body></html>", ""])


def write(directory):
    """Makes report.html and report.json of the results in the directory; returns what is in the latter."""
    report = results.read(directory)
    directory = pathlib.Path(directory)
    runner.write_json(directory / "report.json", report)
    (directory / "report.html").write_text(page(report), encoding="utf-8")
    return report
