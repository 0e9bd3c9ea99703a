# SPDX-License-Identifier: LGPL-2.1-or-later
"""Two units beside each other: the bars."""


def bars(load, summaries):
    ours, stock = summaries[load.POLICY], summaries["stock"]
    result = []
    for (key, what), goal in zip(load.RATIOS, load.GOALS):
        value = ours[key] / stock[key]
        result.append((value >= goal, f"isolation: {load.POLICY} does {value:.2f} of the {what} of stock "
                                      f"(at least {goal})"))
    return result
