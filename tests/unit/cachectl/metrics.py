# SPDX-License-Identifier: LGPL-2.1-or-later
"""For the tests of what cachectl gives to monitoring systems: strict readers of both text forms, fake-manager, and
points."""

import json
import os
import pathlib
import re
import socket
import subprocess
import time

NAME = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*\Z")
SAMPLE = re.compile(r"([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)\Z")
LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\[\\"n])*)"(,|\Z)')
NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?\Z")
SUFFIXES = {"counter": {"_total"}, "gauge": {""}, "unknown": {""}, "stateset": {""}}
RESERVED = ("_total", "_created", "_count", "_sum", "_bucket", "_gcount", "_gsum", "_info")


class Wrong(Exception):
    pass


def need(condition, line, what):
    if not condition:
        raise Wrong(f"{what}: {line!r}")


def read_labels(text, line):
    labels, at = {}, 0
    while at < len(text):
        found = LABEL.match(text, at)
        need(found, line, "labels")
        need(found.group(1) not in labels, line, "a label twice")
        value = re.sub(r"\\(.)", lambda m: "\n" if m.group(1) == "n" else m.group(1), found.group(2))
        labels[found.group(1)] = value
        at = found.end()
        need(found.group(3) != "," or at < len(text), line, "a comma at the end")
    return labels


def read_openmetrics(text):
    """OpenMetrics 1.0: {family: {"type", "unit", "help", "samples": {(name, labels): value}}}."""
    need(text.endswith("# EOF\n"), text[-20:], "the end")
    need("\r" not in text, "", "carriage returns")
    families, current = {}, None
    for line in text[:-len("# EOF\n")].splitlines():
        if line.startswith("#"):
            found = re.match(r"# (TYPE|UNIT|HELP) (\S+) (.+)\Z", line)
            need(found and NAME.match(found.group(2)), line, "metadata")
            key, name, value = found.group(1).lower(), found.group(2), found.group(3)
            if name != current:
                need(name not in families, line, "a family in two places")
                families[name] = {"samples": {}}
                current = name
            family = families[current]
            need(not family["samples"], line, "metadata behind samples")
            need(key not in family, line, "metadata twice")
            if key == "type":
                need(value in SUFFIXES, line, "type")
                need(not name.endswith(RESERVED), line, "a suffix that is reserved")
            if key == "unit":
                need(name.endswith("_" + value), line, "the name does not end with the unit")
            if key == "help":
                need(not re.search(r"\\[^\\\"n]", value), line, "an escape")
            family[key] = value
            continue

        found = SAMPLE.match(line)
        need(found, line, "sample")
        name, labels, value = found.group(1), read_labels(found.group(2) or "", line), found.group(3)
        need(current and name.startswith(current), line, "a sample of no family, or of another")
        family = families[current]
        need("type" in family and "help" in family, line, "no type or help")
        need(name[len(current):] in SUFFIXES[family["type"]], line, "suffix")
        need(NUMBER.match(value), line, "number")
        if family["type"] == "counter":
            need(float(value) >= 0, line, "a counter below 0")
        if family["type"] == "stateset":
            need(value in ("0", "1") and current in labels, line, "state")
        at = (name, tuple(sorted(labels.items())))
        need(at not in family["samples"], line, "the same twice")
        family["samples"][at] = value
    need(all(f["samples"] for f in families.values()), "", "a family without samples")
    names = list(families)
    need(not any(a + s == b for a in names for b in names for s in RESERVED), "", "families that clash")
    return families


def read_prometheus(text):
    """The text form of Prometheus, 0.0.4, the same way, with what "promtool check metrics" wants: no comments but HELP
    and TYPE, in this order; a type that there is, of the name that the samples have; counters called _total."""
    need(text == "" or text.endswith("\n"), text[-20:], "the end")
    families, current = {}, None
    for line in text.splitlines():
        if line.startswith("#"):
            found = re.match(r"# (HELP|TYPE) (\S+) (.+)\Z", line)
            need(found and NAME.match(found.group(2)), line, "a comment")
            key, name, value = found.group(1).lower(), found.group(2), found.group(3)
            if key == "help":
                need(name not in families, line, "a family in two places")
                need(not re.search(r"\\[^\\n]", value), line, "an escape")
                families[name] = {"help": value, "samples": {}}
                current = name
            else:
                need(name == current and list(families[name]) == ["help", "samples"], line, "a type elsewhere")
                need(value in {"counter", "gauge", "untyped"}, line, "type")
                need((value == "counter") == name.endswith("_total"), line, "the name does not fit the type")
                families[name]["type"] = value
            continue

        found = SAMPLE.match(line)
        need(found, line, "sample")
        name, labels, value = found.group(1), read_labels(found.group(2) or "", line), found.group(3)
        need(name == current and "type" in families[name], line, "a sample of no family, or of another")
        need(NUMBER.match(value), line, "number")
        at = (name, tuple(sorted(labels.items())))
        need(at not in families[name]["samples"], line, "the same twice")
        families[name]["samples"][at] = value
    need(all(f["samples"] for f in families.values()), "", "a family without samples")
    return families


def samples_of(families):
    return {at: value for family in families.values() for at, value in family["samples"].items()}


class Manager:
    """fake-manager with a document."""

    def __init__(self, program, directory, document):
        self.socket = os.path.join(directory, "socket")
        path = os.path.join(directory, "document")
        pathlib.Path(path).write_text(json.dumps(document))
        if os.path.exists(self.socket):
            os.unlink(self.socket)
        self.process = subprocess.Popen([program, self.socket, path])
        for _ in range(1000):
            with socket.socket(socket.AF_UNIX) as client:
                if client.connect_ex(self.socket) == 0:
                    break
            time.sleep(0.01)

    def run(self, *command):
        return subprocess.run(command, text=True, capture_output=True,
                              env={**os.environ, "CACHEBPF_VARLINK": self.socket, "LC_ALL": "C.UTF-8"})

    def stop(self):
        self.process.terminate()
        self.process.wait()


class Points:
    """What came of a test, as TAP."""

    def __init__(self):
        self.count = self.failed = 0

    def __call__(self, what, condition, why=""):
        self.count += 1
        print(f"{'ok' if condition else 'not ok'} {self.count} - {what}", flush=True)
        if not condition:
            self.failed = 1
            print(f"# {why}")

    def end(self):
        print(f"1..{self.count}")
        return self.failed
