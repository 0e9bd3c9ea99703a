# SPDX-License-Identifier: LGPL-2.1-or-later
"""The workloads of YCSB: a table with the papers' ratios beside ours, and the bars."""

from report import median, print_table, ratio, spread


def summarize(repetitions):
    keys = [key for key, value in repetitions[0].items() if isinstance(value, (int, float))]
    result = {key: median([r[key] for r in repetitions]) for key in keys}
    result["spread"] = {key: spread([r[key] for r in repetitions])
                        for key in ("ops_per_second", "kind_p99_us", "disk_reads")}
    return result


def with_spread(result, key):
    return f"{result[key]:.0f} ±{result['spread'][key]:.1%}"


def print_result(load, summaries, repetitions, kind):
    stock = summaries["stock"]
    print(f"\n{load.TITLE}: {load.describe()}\n"
          f"Medians of {repetitions} interleaved repetitions, ± half the range; latencies are those of {kind}s:")
    rows = []
    for name, r in summaries.items():
        paper = [f"{value:.2f}" if value else "" for value in load.paper.get(name, (None, None))]
        rows.append((name, with_spread(r, "ops_per_second"), f"{r['kind_p50_us']:.0f}", with_spread(r, "kind_p99_us"),
                     with_spread(r, "disk_reads"), ratio(r["ops_per_second"], stock["ops_per_second"]), paper[0],
                     ratio(r["kind_p99_us"], stock["kind_p99_us"]), paper[1],
                     ratio(r["disk_reads"], stock["disk_reads"])))
    print_table(("policy", "operations/s", "P50 us", "P99 us", "disk reads", "speed/stock", "papers", "P99/stock",
                 "papers", "disk/stock"), rows)


def bars(load, summaries):
    """Of the policy that the papers put first."""
    if not load.goals or load.POLICY not in summaries:
        return []
    ours, stock = summaries[load.POLICY], summaries["stock"]
    speed, p99 = (ours[key] / stock[key] for key in ("ops_per_second", "kind_p99_us"))
    least, most = load.goals
    what = f"{load.TITLE}: {load.POLICY}"
    return [(speed >= least, f"{what} does {speed:.2f} of the operations of stock (at least {least})"),
            (p99 <= most, f"{what} has {p99:.2f} of the P99 of stock (at most {most})")]
