# SPDX-License-Identifier: LGPL-2.1-or-later
"""The workloads of YCSB: the bars."""


def bars(load, summaries):
    """Of the policy that the papers put first."""
    if not load.goals:
        return []
    ours, stock = summaries[load.POLICY], summaries["stock"]
    speed, p99 = (ours[key] / stock[key] for key in ("ops_per_second", "kind_p99_us"))
    least, most = load.goals
    what = f"{load.TITLE}: {load.POLICY}"
    return [(speed >= least, f"{what} does {speed:.2f} of the operations of stock (at least {least})"),
            (p99 <= most, f"{what} has {p99:.2f} of the P99 of stock (at most {most})")]
