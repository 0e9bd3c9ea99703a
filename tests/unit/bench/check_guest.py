# SPDX-License-Identifier: LGPL-2.1-or-later
"""What the checks of programs and their loads share: complaints about wrong arguments, and a guest that is no
laboratory, in which loads run on small databases."""

import hashlib
import json
import pathlib
import subprocess

import guest

MEASURED = ("stock", "mglru", "lfu", "mglru-policy")
REPETITIONS = 2
POLICIES = [None, None, None, None, "lfu", "lfu", "mglru", "mglru"]     # those of the slices of all of these


def check_wrong(program, cases, **places):
    """One message each, which begins as it is told, and nothing else."""
    for arguments, message in cases:
        done = subprocess.run([program, *(a.format(**places) for a in arguments)], check=False, text=True,
                              capture_output=True)
        message = message.format(**places)
        assert done.returncode == 1 and done.stdout == "", f"{arguments}: {done}"
        assert done.stderr.startswith(message) and done.stderr.count("\n") == 1, f"{arguments}: {done.stderr}"


def contents(directory):
    """Hashes of all files, by name."""
    return {str(path.relative_to(directory)): hashlib.sha256(path.read_bytes()).digest()
            for path in sorted(directory.rglob("*")) if path.is_file()}


class Guest:
    """In place of the laboratory: its disk, the progress, and a slice."""

    device = pathlib.Path("/dev/nullb0")
    name = "a.slice"
    attached = None
    CHARGED, FILE = 5000000, 4000000

    def __init__(self, directory):
        self.mountpoint = directory
        self.filled = []
        self.policies = []
        self.limits = []

    def install(self):
        guest.preload = guest.set_mglru = lambda _: None
        guest.Slice, guest.run_in_slice = self.slice, self.run

    def fill_anew(self, directory):
        self.filled.append(directory)

    def forget_cached(self, mode="ro"):
        pass

    def say(self, text):
        pass

    def slice(self, _name, _memory_max, policy, settings):
        assert not settings
        self.policies.append(policy)
        return self
    slice.recorder = None

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        pass

    def memory(self):
        return {"file": self.FILE}

    def charged(self):
        return self.CHARGED

    def set_limit(self, size):
        self.limits.append(size)

    def policy_counters(self):
        return {}

    def run(self, _slice, _name, command):
        """Without the disk, whose counters say something else each time."""
        done = subprocess.run([c for c in command if not str(c).startswith("--disk=")], check=True, text=True,
                              stdout=subprocess.PIPE)
        return json.dumps({**json.loads(done.stdout), "disk_reads": 100 + len(self.policies), "disk_bytes": 4096})

    def measure(self, load, report):
        """Some variants of the load; returns what report() makes of them, and their results by name."""
        self.policies = []
        self.limits = []
        variants = [variant for variant in load.VARIANTS if variant.name in MEASURED]
        results = {variant.name: [load.measure(variant, repetition) for repetition in range(REPETITIONS)]
                   for variant in variants}
        assert self.policies == POLICIES, self.policies
        document, bars = report(load, results)
        json.dumps(document)
        return document, bars, results

    def check_limits(self, cached):
        """Slices may take what they take for all else, and so much for files."""
        assert set(self.limits) == {self.CHARGED - self.FILE + cached}, self.limits
