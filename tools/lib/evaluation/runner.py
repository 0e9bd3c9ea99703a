# SPDX-License-Identifier: LGPL-2.1-or-later
"""Runs jobs, two side by side, and keeps the result of each in a file, so that those that are done need not be done
again.  Times in the laboratory do not depend on what else the host does."""

import json
import os
import pathlib
import signal
import subprocess
import sys
import time

import limit
import plan

DONE = (0, 3)       # 3: all was measured, and a goal missed
PAUSE = 0.5
LEVELS = 4          # of a file of results that are taken apart: what is below is a row, which is a line


def json_text(value, level=0):
    """JSON with a row a line, so that two versions of a file can be compared by lines."""
    if level == LEVELS or not value or not isinstance(value, (dict, list, tuple)):
        return json.dumps(value)
    if isinstance(value, dict):
        parts, (begin, end) = [f"{json.dumps(key)}: {json_text(part, level + 1)}" for key, part in value.items()], "{}"
    else:
        parts, (begin, end) = [json_text(part, level + 1) for part in value], "[]"
    inside, outside = "\n" + " " * (level + 1), "\n" + " " * level
    return f"{begin}{inside}{f',{inside}'.join(parts)}{outside}{end}"


def write_json(path, value):
    """All of it or nothing."""
    part = path.with_name(path.name + ".part")
    part.write_text(json_text(value) + "\n", encoding="utf-8")
    part.replace(path)


def read_json(path):
    """None if there is no such file, or none that was written to its end."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return None


def clock(seconds):
    seconds = int(seconds)
    return f"{seconds // 3600}:{seconds // 60 % 60:02}:{seconds % 60:02}" if seconds >= 3600 else \
        f"{seconds // 60}:{seconds % 60:02}"


class Store:
    """The directory with a file a job."""

    def __init__(self, directory):
        self.directory = pathlib.Path(directory) / "jobs"

    def path(self, job, suffix=".json"):
        return self.directory / f"{job.name}{suffix}"

    def load(self, job, key):
        """What the job gave, if it is done, in that very way and of the same sources."""
        result = read_json(self.path(job))
        if not result or result["status"] not in DONE or result["key"] != key \
                or result["command"] != list(job.command):
            return None
        return result

    def save(self, job, key, status, seconds, document):
        write_json(self.path(job), {
            "job": job.name, "experiment": job.experiment, "command": list(job.command),
            "repetitions": job.repetitions, "machine": job.machine, "key": key, "status": status, "seconds": seconds,
            "finished": time.strftime("%Y-%m-%d %H:%M:%S %Z"), "document": document})


class Estimate:
    """How long it will take: what was expected, times what the jobs so far took longer or shorter than that.  Short
    jobs say little of long ones: what was expected counts as one that took as long."""

    WEIGHT = 300.0      # seconds

    def __init__(self, workers):
        self.workers = workers
        self.expected = self.took = self.WEIGHT

    def add(self, job, seconds):
        self.expected += job.minutes * 60
        self.took += seconds

    @property
    def factor(self):
        return self.took / self.expected

    def left(self, waiting, running):
        """Seconds; "running" has (job, seconds since its start)."""
        free = [0.0] * self.workers
        # what has overrun will take some more
        tasks = [(job.slots, max(job.minutes * 60 * self.factor - since, since / 10)) for job, since in running]
        tasks += [(job.slots, job.minutes * 60 * self.factor) for job in waiting]
        for slots, seconds in tasks:
            free.sort()
            slots = min(slots, self.workers)
            begin = free[slots - 1]
            free[:slots] = [begin + seconds] * slots
        return max(free)


class Process:
    """A job under way."""

    def __init__(self, job, store):
        self.job, self.store = job, store
        self.output, self.trace = store.path(job, ".output"), store.path(job, ".trace")
        for path in (self.output, self.trace, store.path(job)):
            path.unlink(missing_ok=True)
        command = [word.format(output=self.output.resolve(), trace=self.trace.resolve()) for word in job.command]
        self.log = store.path(job, ".log").open("wb")
        prints = "{output}" not in job.command
        self.begin = time.monotonic()
        with self.output.open("wb") if prints else open(os.devnull, "wb") as printed:
            self.process = subprocess.Popen(command, cwd=plan.TOP, stdin=subprocess.DEVNULL, stderr=self.log,
                                            stdout=printed if prints else self.log, start_new_session=True)

    def since(self):
        return time.monotonic() - self.begin

    def ended(self):
        return self.process.poll() is not None

    def stop(self):
        """tools/vm ends its machine and removes what it made."""
        if self.process.poll() is None:
            self.process.terminate()

    def wait(self):
        self.process.wait()
        self.log.close()

    def collect(self):
        """The document, or None and why there is none."""
        self.wait()
        log = self.store.path(self.job, ".log")
        if self.process.returncode not in DONE:
            lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
            return None, f"exit status {self.process.returncode}: {lines[-1] if lines else 'no message'} (see {log})"
        document = read_json(self.output)
        self.output.unlink(missing_ok=True)
        if document is None:
            return None, f"it gave no result (see {log})"
        return document, None

    def add_limit(self, document):
        """Returns why there is none, if there is none: all else was measured all the same."""
        found = document.get(self.job.experiment, {})
        if not self.job.records:
            return None
        try:
            if "recorded" not in found:
                return "nothing was recorded"
            found["limit"] = limit.limit_of(self.trace, found["recorded"])
        except (limit.TraceError, OSError) as e:
            return str(e)
        finally:
            self.trace.unlink(missing_ok=True)
        return None


class Runner:
    """run() does what is left of the jobs; "failed" has the names of those that could not be done."""

    def __init__(self, directory, jobs, key, workers=2, out=sys.stderr):
        self.store, self.key, self.workers, self.out = Store(directory), key, workers, out
        self.estimate = Estimate(workers)
        self.total, self.failed, self.running = len(jobs), [], []
        self.store.directory.mkdir(parents=True, exist_ok=True)
        self.waiting = []
        for job in jobs:
            result = self.store.load(job, key if job.machine else None)
            if result:
                self.estimate.add(job, result["seconds"])
            else:
                self.waiting.append(job)
        # the long ones first, so that no processor is idle in the end
        self.waiting.sort(key=lambda job: (-job.slots, -job.minutes))
        self.begin, self.width = time.monotonic(), 0

    def say(self, text):
        print(f"{self.erase()}[{clock(time.monotonic() - self.begin)}] {text}", file=self.out, flush=True)

    def erase(self):
        return "\r\033[K" if self.out.isatty() else ""

    def done(self):
        return f"{self.total - len(self.waiting) - len(self.running) - len(self.failed)} of {self.total} jobs done"

    def state(self):
        left = self.estimate.left(self.waiting, [(process.job, process.since()) for process in self.running])
        return (f"{self.done()}, about {clock(left)} left"
                + (f"; under way: {', '.join(process.job.name for process in self.running)}" if self.running else ""))

    def start_more(self):
        while self.waiting:
            free = self.workers - sum(min(process.job.slots, self.workers) for process in self.running)
            job = next((job for job in self.waiting if min(job.slots, self.workers) <= free), None)
            if job is None:
                return
            self.waiting.remove(job)
            self.running.append(Process(job, self.store))
            self.say(f"{job.name}: begins, about {clock(job.minutes * 60 * self.estimate.factor)}")

    def finish(self, process):
        job, seconds = process.job, process.since()
        self.running.remove(process)
        document, why = process.collect()
        key = self.key if job.machine else None
        if document is not None and document.get("inputs", key) != key:
            document, why = None, "the sources changed while the evaluation ran; start it again"
            self.waiting.clear()
        if document is None:
            self.failed.append(job.name)
            self.say(f"{job.name}: FAILED after {clock(seconds)}: {why}")
            return
        why = process.add_limit(document)
        if why:
            self.say(f"{job.name}: no limit: {why}")
        self.store.save(job, key, process.process.returncode, seconds, document)
        self.estimate.add(job, seconds)
        self.say(f"{job.name}: done in {clock(seconds)}; {self.state()}")

    def stop(self):
        for process in self.running:
            process.stop()
        for process in self.running:
            process.wait()

    def run(self):
        def interrupted(number, _frame):
            raise KeyboardInterrupt(number)
        before = {number: signal.signal(number, interrupted) for number in (signal.SIGTERM, signal.SIGHUP)}
        self.say(self.state())
        try:
            while self.waiting or self.running:
                self.start_more()
                time.sleep(PAUSE)
                for process in [process for process in self.running if process.ended()]:
                    self.finish(process)
                if self.out.isatty():
                    print(f"{self.erase()}{self.state()}", end="", file=self.out, flush=True)
        except KeyboardInterrupt:
            self.stop()
            self.say(f"interrupted, {self.done()}; the same command goes on from here")
            raise
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
        return not self.failed
