#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The same as passes.c, in Python: reads a file several times, and tells page cache policies that it does.

    passes.py FILE NUMBER

Prints for each time how many KiB came from the disk. libcachebpf(3) describes the functions; there is nothing to be
installed for Python but the library."""

import ctypes
import os
import resource
import sys

# What nothing was said of is on level 0, such as the program itself: what does not fit goes before it.
LEVEL = -1
REPLACEMENT_MRU = 1

try:
    library = ctypes.CDLL("libcachebpf.so.0")
except OSError:
    library = None # it is about speed only


def tell(fd):
    if not library:
        return
    r = library.cachebpf_set_priority(fd, LEVEL) or library.cachebpf_set_replacement(LEVEL, REPLACEMENT_MRU)
    if r < 0:
        print("passes: without advice:", os.strerror(-r), file=sys.stderr)


def read_all(fd):
    at = 0
    while data := os.pread(fd, 65536, at):
        at += len(data)


def from_disk():
    return resource.getrusage(resource.RUSAGE_SELF).ru_inblock // 2


def main(path, number):
    with open(path, "rb", buffering=0) as file:
        fd = file.fileno()
        tell(fd)
        for _ in range(int(number)):
            before = from_disk()
            read_all(fd)
            print(from_disk() - before, flush=True)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(f"Usage: {sys.argv[0]} FILE NUMBER")
    main(*sys.argv[1:])
