#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Lists the units that have a page cache policy, and prints what changes until it is interrupted.

To start from, for those who want to show this on a desktop: it takes PyGObject (python3-gi on Debian), no privileges,
and no polling. Everything that there is on the bus is described in org.cachebpf1(5)."""

import signal
import sys

from gi.repository import Gio, GLib

NAME = "org.cachebpf1"
PATH = "/org/cachebpf1"
UNIT = "org.cachebpf1.Unit"


def say(*words):
    print(*words, flush=True)


def value(unit, name):
    """A property, as the daemon has told it last: this asks nobody."""
    variant = unit.get_cached_property(name)
    return variant.unpack() if variant else ""


def describe(unit):
    policy = value(unit, "VerifiedPolicy") or value(unit, "ConfiguredPolicy")
    reason = value(unit, "StateReason")
    return f"{value(unit, 'Unit')}: {value(unit, 'State')} {policy}" + (f": {reason}" if reason else "")


def hit_ratio(unit):
    """A method is called when something is to be known that changes all the time."""
    counters, = unit.call_sync("GetStats", None, Gio.DBusCallFlags.NONE, 5000, None).unpack()
    accesses = counters.get("hits", 0) + counters.get("misses", 0)
    return f"{100 * counters['hits'] / accesses:.1f} % hits" if accesses else "no accesses"


def on_added(manager, obj):
    unit = obj.get_interface(UNIT)
    if unit:
        say("added", describe(unit))


def on_removed(manager, obj):
    unit = obj.get_interface(UNIT)
    if unit:
        say("removed", value(unit, "Unit"))


def on_changed(manager, obj, unit, changed, invalidated):
    # "changed" has the new values; they are in the cache of "unit" already.
    if unit.get_interface_name() == UNIT:
        say("changed", describe(unit))


def on_owner(manager, _):
    # Policies go on without the daemon. When it is back, the units are added again.
    say("the daemon runs" if manager.get_name_owner() else "the daemon does not run")


def main():
    try:
        # Knows all objects, their interfaces and properties, and keeps up with them.
        manager = Gio.DBusObjectManagerClient.new_for_bus_sync(
            Gio.BusType.SYSTEM, Gio.DBusObjectManagerClientFlags.NONE, NAME, PATH, None, None, None)
    except GLib.Error as error:
        sys.exit(f"Cannot reach {NAME}: {error.message}")

    units = [obj.get_interface(UNIT) for obj in manager.get_objects()]
    for unit in sorted(filter(None, units), key=lambda u: value(u, "Unit")):
        say(describe(unit) + ",", hit_ratio(unit))

    manager.connect("object-added", on_added)
    manager.connect("object-removed", on_removed)
    manager.connect("interface-proxy-properties-changed", on_changed)
    manager.connect("notify::name-owner", on_owner)

    loop = GLib.MainLoop()
    GLib.unix_signal_add(GLib.PRIORITY_DEFAULT, signal.SIGINT, loop.quit)
    loop.run()


if __name__ == "__main__":
    main()
