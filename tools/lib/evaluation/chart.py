# SPDX-License-Identifier: LGPL-2.1-or-later
"""Bars of ratios to the stock policy, as SVG that stands in the page itself."""

import html

import results

LABEL, WIDTH, BAR, GAP, TOP, BOTTOM = 120, 300, 14, 6, 30, 26


def text(x, y, content, anchor="start", kind="label"):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" class="{kind}">{html.escape(content)}</text>'


def step_of(most):
    """Of the scale: some five numbers."""
    for step in (0.1, 0.2, 0.25, 0.5, 1, 2, 5, 10, 20, 50, 100):
        if most / step <= 6:
            return step
    return most / 5


def bar(row, key, y, scale):
    value, paper = row["ratios"][key], row["paper"].get(key)
    kind = {results.LIMIT: "limit", results.BASE: "base"}.get(row["name"], "bar")
    parts = [text(LABEL - 6, y + BAR - 3, row["name"], "end"),
             f'<rect x="{LABEL}" y="{y}" width="{value * scale:.1f}" height="{BAR}" class="{kind}">'
             f'<title>{html.escape(row["name"])}: {value:.3f}</title></rect>']
    spread = (row["values"].get(key) or {}).get("spread")
    if spread:
        left, right = (LABEL + value * (1 + sign * spread) * scale for sign in (-1, 1))
        parts.append(f'<line x1="{left:.1f}" x2="{right:.1f}" y1="{y + BAR / 2}" y2="{y + BAR / 2}" class="spread"/>')
    if paper:
        x = LABEL + paper * scale
        parts.append(f'<path d="M{x:.1f} {y - 1}l4 {BAR / 2 + 1}l-4 {BAR / 2 + 1}l-4 {-BAR / 2 - 1}z" class="paper">'
                     f"<title>papers: {paper:.2f}</title></path>")
    parts.append(text(LABEL + value * scale + 8, y + BAR - 3, f"{value:.2f}"))
    return parts


def chart(experiment, key, title):
    """None if there is nothing to be drawn."""
    rows = [row for row in experiment["rows"] if key in row["ratios"]]
    if len(rows) < 2:
        return None
    most = max(max(row["ratios"][key], row["paper"].get(key, 0)) for row in rows) * 1.05
    scale, height = WIDTH / most, TOP + len(rows) * (BAR + GAP) + BOTTOM
    bottom = height - BOTTOM
    better = "more" if key in experiment["more_is_better"] else "less"
    parts = [f'<svg viewBox="0 0 {LABEL + WIDTH + 50} {height}" width="{LABEL + WIDTH + 50}" height="{height}" '
             f'role="img" xmlns="http://www.w3.org/2000/svg">',
             text(LABEL, 16, f"{title} / stock ({better} is better)", kind="heading")]
    step = step_of(most)
    for i in range(int(most / step) + 1):
        x = LABEL + i * step * scale
        parts.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{TOP - 4}" y2="{bottom}" class="grid"/>')
        parts.append(text(x, bottom + 14, f"{i * step:g}", "middle"))
    for i, row in enumerate(rows):
        parts += bar(row, key, TOP + i * (BAR + GAP), scale)
    x = LABEL + scale
    parts.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{TOP - 4}" y2="{bottom}" class="one"/>')
    return "\n".join([*parts, "</svg>"])
