# SPDX-License-Identifier: LGPL-2.1-or-later
"""Reads beside other work: the bars, which are the papers' figures."""


def bars(load, summaries):
    """The paper's gains against stock, and an advantage over all else that was measured."""
    ours, stock = summaries[load.POLICY], summaries["stock"]
    result = []
    for (key, title), goal in zip(load.RATIOS, load.PAPER[load.POLICY]):
        if goal is None:
            continue
        value = ours[key] / stock[key]
        more = key in load.MORE_IS_BETTER
        result.append((value >= goal if more else value <= goal,
                       f"{load.POLICY}: {title} {value:.2f} of stock's (paper: {goal:.2f}; at "
                       f"{'least' if more else 'most'} that)"))
    for name, other in summaries.items():
        if name != load.POLICY:
            key, title = load.RATIOS[0]
            value = ours[key] / other[key]
            result.append((value > 1 if key in load.MORE_IS_BETTER else value < 1,
                           f"{load.POLICY}: {title} {value:.2f} of that under {name} (better)"))
    return result
