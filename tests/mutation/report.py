# SPDX-License-Identifier: LGPL-2.1-or-later
"""What came out of a run: figures, and the mutants that survived with what was said of them."""

import collections
import re

import trial


def key_of(file, diff):
    """A mutant wherever its line has come to: white space does not count."""
    return file, " ".join(" ".join(diff).split())


def read_verdicts(path):
    """Blocks with empty lines between them: the file, its lines with - and +, the verdict."""
    verdicts = {}
    for block in re.split(r"\n\s*\n", path.read_text()) if path.exists() else []:
        lines = [line.strip() for line in block.splitlines() if line.strip() and not line.startswith("#")]
        diff = [line for line in lines[1:] if line[0] in "+-"]
        rest = [line for line in lines[1:] if line[0] not in "+-"]
        if lines and not (diff and rest):
            raise trial.Failure(f"{path}: what is said of {lines[0]} lacks lines with - and +, or a verdict")
        if lines:
            verdicts[key_of(lines[0], diff)] = " ".join(rest)
    return verdicts


def percent(part, whole):
    return f"{100 * part / whole:.1f} %" if whole else "-"


def table(heading, rows):
    widths = [max(len(str(row[i])) for row in [heading, *rows]) for i in range(len(heading))]
    for row in [heading, *rows]:
        cells = [f"{cell:>{width}}" if isinstance(cell, int) else f"{cell:{width}}" for cell, width in zip(row, widths)]
        trial.say("  ".join(cells).rstrip())


def report(options):
    verdicts = read_verdicts(options.verdicts)
    found = trial.load(options.results)["mutants"]
    mutants = {int(number): one for number, one in found.items() if one["result"] != "invalid"}
    noticed = [one for one in mutants.values() if one["result"] == "noticed"]
    survived = {number: one for number, one in sorted(mutants.items()) if one["result"] == "survived"}
    said = {number: verdicts.get(key_of(one["file"], one["diff"]), "") for number, one in survived.items()}
    equivalent = sum(verdict.startswith("equivalent") for verdict in said.values())
    others = len(mutants) - equivalent
    trial.say(f"{len(mutants)} mutants: {len(noticed)} noticed ({percent(len(noticed), len(mutants))}), "
              f"{len(survived)} survived")
    trial.say(f"{equivalent} of these are equivalent: of the other {others} {percent(len(noticed), others)} were "
              "noticed")
    trial.say(f"{len(found) - len(mutants)} more did not build\n")
    for number, one in sorted(mutants.items()):
        for point in one.get("unsteady", []):
            trial.say(f"# with {number} this failed once, and not again: {point}")
    how = collections.Counter((one["by"], one["how"].split(":")[0]) for one in noticed)
    table(("noticed by", "how", "mutants"), [(*key, count) for key, count in how.most_common()])
    for name in ("file", "kind"):
        counts = collections.Counter((one[name], one["result"]) for one in mutants.values())
        trial.say("")
        table((name, "noticed", "survived"), [(value, counts[value, "noticed"], counts[value, "survived"])
                                              for value in sorted({value for value, _ in counts})])
    for number, one in survived.items():
        trial.say(f"\n# {number}, line {one['line']}, {one['kind']}")
        trial.say("\n".join([one["file"], *one["diff"], said[number] or "(no verdict)"]))
