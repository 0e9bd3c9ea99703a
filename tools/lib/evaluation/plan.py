# SPDX-License-Identifier: LGPL-2.1-or-later
"""From names of experiments to jobs: a job is one command, mostly one machine, and one file of results."""

import dataclasses
import pathlib

import loads

# How long a job may take, which is what the time left is made of; what took place already corrects it.
MINUTES = {"file-search": 9, "cost": 11, "get-scan": 10.5, "admission": 6, "dispatch": 1.5, "interrupts": 8,
           **{name: 10 for name in loads.LOADS if name.startswith(("acfs-", "mlcache-"))},
           **{name: 20 for name in loads.LOADS if name.startswith("auto-")},
           **{name: 30 for name in loads.APART}}
DEFAULT_MINUTES = 4

TOP = pathlib.Path(__file__).resolve().parents[3]


class UsageError(Exception):
    """The command line asks for what there is not; the text says what there is."""


@dataclasses.dataclass(frozen=True)
class Job:
    """"command" is run in the source directory.  In it {output} is the file that the result goes into (without it,
    the result is what the command prints), {trace} the one for the recorded sequence."""
    name: str
    experiment: str
    command: tuple
    minutes: float
    repetitions: int = 1
    slots: int = 1      # processors it keeps busy
    machine: bool = True

    @property
    def records(self):
        return "{trace}" in self.command


def experiments():
    """All that there is, in the order of the report."""
    known = [name for section in loads.SECTIONS for name in section.names]
    return known + [name for name in (*loads.HOST, *loads.VERBS, *loads.LOADS) if name not in known]


def report_order():
    """Jobs, with the second opinions where they belong."""
    names = [name for section in loads.SECTIONS
             for name in (*section.names, *(f"{other}@host" for other in section.second_opinion))]
    return names + [name for name in experiments() if name not in names]


def evaluation():
    """What "all" is: all but what only the demo is for, and what is asked for by itself."""
    return [name for name in experiments() if name not in (*loads.DEMO, *loads.APART)]


def section_of(name):
    for section in loads.SECTIONS:
        if name in section.names or name in section.second_opinion:
            return section
    return loads.Section("Others", "", ())


def minutes_of(name, repetitions):
    """The registry's are for its own repetitions."""
    return MINUTES.get(name, DEFAULT_MINUTES) * repetitions / loads.REPETITIONS.get(name, 1)


def load_job(name, repetitions):
    load = loads.load(name)
    repetitions = repetitions or loads.REPETITIONS.get(name, 1)
    command = ["tools/vm", "bench", name, "--output", "{output}", "--repetitions", str(repetitions)]
    if getattr(load, "LIMIT", False):
        command += ["--trace", "{trace}"]
    if load.REPETITIONS == 1:
        repetitions = 1
    return Job(name, name, tuple(command), minutes_of(name, repetitions), repetitions)


def second_opinion(name):
    load = loads.load(name)
    command = ["tools/vm", "bench", name, "--clock", "host", "--output", "{output}", "--repetitions", "3",
               "--variants", load.POLICY]
    # both processors, as nothing else is to be in its way
    return Job(f"{name}@host", name, tuple(command), MINUTES.get(name, DEFAULT_MINUTES),
               1 if load.REPETITIONS == 1 else 3, slots=2)


def jobs_for(names, repetitions=None):
    """The jobs of experiments, or of groups of them; with "all" also the second opinions."""
    names = [name for word in names for name in loads.GROUPS.get(word, (word,))]
    unknown = [name for name in names if name != "all" and name not in experiments()]
    if unknown:
        raise UsageError(f"there is no experiment {unknown[0]}; there are: all {' '.join(experiments())}")
    everything = "all" in names
    wanted = [name for name in experiments() if name in names or everything and name in evaluation()]
    jobs = []
    for name in wanted:
        if name in loads.HOST:
            jobs.append(Job(name, name, tuple(loads.HOST[name]), MINUTES.get(name, 0.1), machine=False))
        elif name in loads.VERBS:
            times = repetitions or loads.REPETITIONS.get(name, 1)
            jobs.append(Job(name, name, ("tools/vm", *loads.VERBS[name], "--output", "{output}",
                                         "--repetitions", str(times)), minutes_of(name, times), times))
        else:
            jobs.append(load_job(name, repetitions))
    if everything:
        jobs += [second_opinion(name) for section in loads.SECTIONS for name in section.second_opinion]
    return jobs
