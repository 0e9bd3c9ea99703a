# SPDX-License-Identifier: LGPL-2.1-or-later
"""Dispatch to user space beside policies in the kernel: the bar."""


def bars(load, summaries):
    """That it costs more than the policy that decides in the kernel."""
    if load.IN_KERNEL not in summaries:
        return []
    result = []
    for key, kind in load.RATIOS:
        value = summaries[load.POLICY][key] / summaries[load.IN_KERNEL][key]
        result.append((value > 1, f"dispatch: a {kind} takes {value:.3f} of the instructions under {load.IN_KERNEL} "
                                  "(above 1)"))
    return result
