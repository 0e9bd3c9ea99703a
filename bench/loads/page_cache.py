# SPDX-License-Identifier: LGPL-2.1-or-later
"""The page cache of a slice held at one size, whatever else the slice takes: what is compared are policies, and not
how much a program or a policy's own tables leave of a limit."""

import threading

import guest

INTERVAL = 0.1      # seconds; what it costs is done while the disk is waited for
STEP = 16 << 10     # smaller differences are let be


class PageCache:
    """While it is entered, the slice's memory.max is what the slice takes for all else, and "size" bytes.  None: its
    limit is left alone, and the page cache only looked at."""

    def __init__(self, slice_, size):
        self.slice, self.size, self.limit = slice_, size, 0
        self.samples, self.error = [], None
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self.follow)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *exception):
        self.ended.set()
        self.thread.join()
        if self.error and exception[0] is None:
            raise guest.DemoError(f"{self.slice.name}: its limit cannot follow: {self.error}")

    def follow(self):
        try:
            self.adjust()
            while not self.ended.wait(INTERVAL):
                self.adjust()
        except Exception as e:  # whatever it is: what was measured without it is void
            self.error = e

    def adjust(self):
        charged, memory = self.slice.charged(), self.slice.memory()
        self.samples.append(memory)
        if self.size is None:
            return
        limit = max(charged - memory["file"], 0) + self.size
        if abs(limit - self.limit) >= STEP:
            self.slice.set_limit(limit)
            self.limit = limit

    def memory(self):
        """What the slice was charged for by kind, as Slice.memory(): the mean of the later half of the time."""
        later = self.samples[len(self.samples) // 2:]
        return {key: sum(sample[key] for sample in later) / len(later) for key in later[0]}
