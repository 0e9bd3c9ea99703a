# SPDX-License-Identifier: LGPL-2.1-or-later
"""Bars of ratios to the stock policy, how runs become steady, and the figures of the first page, as SVG that stands in
the page itself."""

import html

import front
import results

LABEL, WIDTH, BAR, GAP, TOP, BOTTOM = 120, 300, 14, 6, 30, 26
# All looks are attributes, so that a drawing can be taken out of the page.
COLORS = {results.BASE: "#999", results.LIMIT: "#bcd3a8"}
BAR_COLOR = "#4a78b0"
SPREAD, GRID, ONE = 'stroke="#111" stroke-width="2"', 'stroke="#e4e4e4"', 'stroke="#444" stroke-dasharray="3 2"'
FIGURE_WIDTH, FIGURE_BARS = 360, 215
SERIES = (BAR_COLOR, "#c07a20", "#6c9a4a")
HALO = 'stroke="#fff" stroke-width="3" paint-order="stroke"'
PAPER = 'fill="#fff" stroke="#c07a20" stroke-width="1.5"'


def text(x, y, content, anchor="start", weight="normal"):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-weight="{weight}">{html.escape(content)}</text>'


def line(x, y, other_x, other_y, looks):
    return f'<line x1="{x:.1f}" y1="{y:.1f}" x2="{other_x:.1f}" y2="{other_y:.1f}" {looks}/>'


def opening(width, height):
    return (f'<svg viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img" '
            f'font-family="sans-serif" font-size="12" xmlns="http://www.w3.org/2000/svg">')


def step_of(most):
    """Of the scale: some five numbers."""
    for step in (0.1, 0.2, 0.25, 0.5, 1, 2, 5, 10, 20, 50, 100):
        if most / step <= 6:
            return step
    return most / 5


def bar(row, key, y, scale):
    value, paper = row["ratios"][key], row["paper"].get(key)
    end, color = LABEL + value * scale, COLORS.get(row["name"], BAR_COLOR)
    parts = [text(LABEL - 6, y + BAR - 3, row["name"], "end"),
             f'<rect x="{LABEL}" y="{y}" width="{end - LABEL:.1f}" height="{BAR}" fill="{color}">'
             f'<title>{html.escape(row["name"])}: {value:.3f}</title></rect>']
    spread = (row["values"].get(key) or {}).get("spread")
    if spread:
        reach = value * spread * scale
        parts.append(line(end - reach, y + BAR / 2, end + reach, y + BAR / 2, SPREAD))
        end += reach
    if paper:
        x = LABEL + paper * scale
        parts.append(f'<path d="M{x:.1f} {y - 1}l4 {BAR / 2 + 1}l-4 {BAR / 2 + 1}l-4 {-BAR / 2 - 1}z" {PAPER}>'
                     f"<title>papers: {paper:.2f}</title></path>")
        end = max(end, x)
    return [*parts, text(end + 8, y + BAR - 3, f"{value:.2f}")]


def curves(of):
    """A line for each variant: the disk's reads in each part of a run. None if there are none."""
    if not of:
        return None
    left, width, height = 60, LABEL + WIDTH - 60, 220
    most = max(max(curve) for curve in of.values()) or 1
    parts = [opening(left + width + 110, TOP + height + BOTTOM),
             text(left, 16, "disk reads in each part of the run, with the warm-up", weight="bold")]
    for share in (0, 0.5, 1):
        y = TOP + height * (1 - share)
        parts += [line(left, y, left + width, y, GRID), text(left - 6, y + 4, f"{most * share:,.0f}", "end")]
    for i, (name, curve) in enumerate(of.items()):
        color = COLORS.get(name, f"hsl({i * 360 // len(of)},60%,42%)")
        points = " ".join(f"{left + width * n / max(len(curve) - 1, 1):.1f},{TOP + height * (1 - reads / most):.1f}"
                          for n, reads in enumerate(curve))
        y = TOP + 14 * (i + 1)
        parts += [f'<polyline points="{points}" fill="none" stroke="{color}" stroke-width="1.5"/>',
                  line(left + width + 8, y - 4, left + width + 26, y - 4, f'stroke="{color}" stroke-width="2"'),
                  text(left + width + 30, y, name)]
    return "\n".join([*parts, "</svg>"])


def chart(experiment, key, title):
    """None if there is nothing to be drawn."""
    rows = [row for row in experiment["rows"] if key in row["ratios"]]
    if len(rows) < 2:
        return None
    most = max(max(row["ratios"][key], row["paper"].get(key, 0)) for row in rows) * 1.05
    scale, height = WIDTH / most, TOP + len(rows) * (BAR + GAP) + BOTTOM
    bottom = height - BOTTOM
    better = "more" if key in experiment["more_is_better"] else "less"
    parts = [opening(LABEL + WIDTH + 50, height),
             text(LABEL, 16, f"{title} / {experiment.get('base', results.BASE)} ({better} is better)", weight="bold")]
    step = step_of(most)
    for i in range(int(most / step) + 1):
        x = LABEL + i * step * scale
        parts.append(line(x, TOP - 4, x, bottom, GRID))
        parts.append(text(x, bottom + 14, f"{i * step:g}", "middle"))
    for i, row in enumerate(rows):
        parts += bar(row, key, TOP + i * (BAR + GAP), scale)
    parts.append(line(LABEL + scale, TOP - 4, LABEL + scale, bottom, ONE))
    return "\n".join([*parts, "</svg>"])


def figure(of):
    """One of the first page: narrow enough for a telephone, so labels are above their bars."""
    names = [name for name in of.bars if len(of.bars) > 1]
    top, high, gap = 18 if names else 4, 9, 10
    most = max(value for row in of.rows for value in (*row.values, row.high, of.one) if value is not None) or 1
    scale, y, parts = FIGURE_BARS / most, top, []
    for i, name in enumerate(names):
        parts += [f'<rect x="{i * 90}" y="0" width="10" height="10" fill="{SERIES[i]}"/>', text(i * 90 + 14, 10, name)]
    for row in of.rows:
        parts.append(text(0, y + 11, row.label))
        if row.remark:
            parts.append(text(FIGURE_WIDTH, y + 11, row.remark, "end"))
        y += 16
        for value, color in zip(row.values, SERIES):
            if value is None:
                continue
            end, told = max(value, 0) * scale, front.shown(value, of.unit)
            parts.append(f'<rect x="0" y="{y}" width="{end:.1f}" height="{high}" fill="{color}"/>')
            if row.low is not None:
                parts.append(line(row.low * scale, y + high / 2, row.high * scale, y + high / 2, SPREAD))
                end, told = row.high * scale, f"{told}, {front.span(row, of.unit)}"
            if of.one is not None:
                parts.append(line(of.one * scale, y - 2, of.one * scale, y + high + 2, ONE))
            parts.append(f'<g {HALO}>{text(end + 5, y + high, told)}</g>')
            y += high + 3
        y += gap
    return "\n".join([opening(FIGURE_WIDTH, y - gap + 4), *parts, "</svg>"])
