# SPDX-License-Identifier: LGPL-2.1-or-later
"""What policies learn from one run for the next one: whether it is there, and what the simulator makes of it."""

import json
import pathlib
import time

import guest
from workloads import PAGE

# A directory for each control group that has a policy, by its number.
PINS = pathlib.Path("/sys/fs/bpf/cachebpf")
# A file for each unit.
KEPT = pathlib.Path("/var/lib/cachebpf/learned")
# of a measurement without a policy; that of the stock policy is a model
MODELS = {"stock": "noop", "mglru": "mglru"}


def pins(slice_):
    return PINS / str(slice_.cgroup.stat().st_ino)


def learns(slice_):
    """Whether the policy has something that can be kept."""
    return any(pins(slice_).glob("learned-*"))


def wait_restored(slice_):
    """Until the policy has what one of a unit of this name has learned, if there was one."""
    deadline = time.monotonic() + guest.ATTACH_TIMEOUT
    while not (pins(slice_) / "restored").exists():
        if time.monotonic() > deadline:
            raise guest.DemoError(f"{slice_.name}: what the policy {slice_.attached} learned before was not restored "
                                  f"within {guest.ATTACH_TIMEOUT:.0f} s")
        time.sleep(0.05)


def check_kept(slice_):
    """That what one of a unit of this name has learned is what the policy has now."""
    if not (KEPT / slice_.name).exists():
        raise guest.DemoError(f"{slice_.name}: nothing is kept of what the policy {slice_.attached} learned")


def of_device(trace, device):
    """Leaves of the trace what is about a device (MAJOR:MINOR)."""
    path = pathlib.Path(trace)
    lines = path.read_text(encoding="utf-8", errors="surrogateescape").splitlines(keepends=True)
    path.write_text("".join(line for line in lines if line.startswith("#") or line.split()[1].startswith(f"{device}/")),
                    encoding="utf-8", errors="surrogateescape")
    return path


def bytes_added(traces, variant, size, keeps):
    """What comes into a cache of so many bytes in each of the traces, from an empty one; if the variant's policy keeps
    what it learns, it has that of the traces before."""
    learned = guest.OUTPUT_DIRECTORY / "simulated-learned"
    learned.unlink(missing_ok=True)
    options = [f"--option={word}" for setting in variant.settings if setting.startswith("CachePolicyOptions=")
               for word in setting.partition("=")[2].split()]
    for trace in traces:
        done = json.loads(guest.run("cachectl", "--json=short", "simulate", trace,
                                    f"--policy={variant.policy or MODELS[variant.name]}", f"--size={size >> 10}K",
                                    *options, *([f"--learned={learned}"] if keeps else [])))
        found = next(result for result in done["results"] if result["policy"] != "belady")
        yield found["added"] * PAGE
