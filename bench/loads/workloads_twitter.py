# SPDX-License-Identifier: LGPL-2.1-or-later
"""Key-value loads with the statistics of Twitter's caches, which the cachebpf paper replays traces of (figure 7)."""

import workloads_ycsb

# Figure 7, from the artifact's numbers: operations a second on LevelDB. MGLRU ran out of memory with cluster 24.
FIGURE_7 = {
    "17": {"stock": 84301, "mglru": 108187, "s3fifo": 81268, "lhd": 78544, "lfu": 82187},
    "18": {"stock": 79291, "mglru": 105227, "s3fifo": 68102, "lhd": 72148, "lfu": 81837},
    "24": {"stock": 61924, "s3fifo": 55887, "lhd": 58379, "lfu": 60009},
    "34": {"stock": 15745, "mglru": 13804, "s3fifo": 15816, "lhd": 17380, "lfu": 16660},
    "52": {"stock": 38960, "mglru": 32856, "s3fifo": 38546, "lhd": 41740, "lfu": 43596},
}


class Twitter(workloads_ycsb.RocksDB):
    """One cluster: a database of records of its size, in four levels, and a page cache of a tenth of it.  All tables
    are open, their indexes in memory, as in the papers, where LevelDB keeps 990 tables of 2 MiB open."""

    OPTIONS = workloads_ycsb.Ycsb.OPTIONS
    WARMUP = 14000
    OPERATIONS = 10000


def load_class(cluster):
    name, figures = f"twitter-{cluster}", FIGURE_7[cluster]
    ratios = {variant: (value / figures["stock"],) for variant, value in figures.items()}
    return type(f"Twitter_{cluster}", (Twitter,), {
        "WORKLOAD": name, "WHAT": f"statistics of Twitter's cluster {cluster}", "DATABASE": name,
        "TITLE": f"Twitter's cluster {cluster}", "PAPER": ratios})


LOADS = {f"twitter-{cluster}": load_class(cluster) for cluster in FIGURE_7}
