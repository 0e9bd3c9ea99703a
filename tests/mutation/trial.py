# SPDX-License-Identifier: LGPL-2.1-or-later
"""Trying mutants: a copy of the sources, commands that may notice something in it, and a file of what they noticed."""

import contextlib
import fcntl
import glob
import hashlib
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import threading
import time

import draw

# The kernel's selftests that are about a file, the most telling first: they are run before all others.
SUBJECTS = {
    "admit.c": "admission dropped rejected nowait",
    "adopt.c": "adopt live",
    "advise.c": "advice",
    "buckets.c": "buckets",
    "folio.c": "events replace collapse keys adopt",
    "internal.h": "events lists trace",
    "iter.c": "lists advice_lists",
    "kfunc.c": "lists advice_lists keys",
    "list.c": "lists advice_lists update",
    "list.h": "lists advice_lists",
    "ops.c": "attach update keys",
    "policy.c": "attach hierarchy update events watchdog",
    "propose.c": "lists",
    "reclaim.c": "reclaim rejected misbehave global",
    "isolate.c": "reclaim events isolation global",
    "stat.c": "attach events trace",
    "table.c": "events adopt",
    "sample.c": "sample trace",
    "table.h": "events adopt",
    "uses.c": "lists advice_lists events",
    "watchdog.c": "watchdog misbehave",
    None: "events lists", # of any other file
}
SELFTEST = "/usr/lib/cachebpf/tests/TEST-30-kernel.sh"
BUILD = "tools/vm kernel"
# One machine for the first three: booting takes as long as some of the tests.
COMMANDS = [
    "TEST-30 or 32: tools/vm run --timeout 2400 --append 'panic_on_warn=1 sysctl.kernel.panic_on_rcu_stall=1' -- "
    f"sh -ec '{SELFTEST} {{own}}; {SELFTEST} -isolation -memory -rejected -watchdog {{others}}; "
    f"{SELFTEST} isolation rejected watchdog'",
    "TEST-31: tools/vm test TEST-31",
    "TEST-33: tools/vm test TEST-33",
]
# What the cache of tools/vm has that is not made anew.
SHARED = ("buildroot-*", "baseroot-*", "kvm-*", "ccache", "linux/source-*", "linux/patched", "linux/patched.files",
          "linux/product", "kernel/product-*")
SPACE = 15 << 30 # for that, an image and logs
INVALID_IN_A_ROW = 5
CERTAIN = ("not done after ", "silent for ", "exit status ") # and not a point
BROKEN = "tools/vm: error: " # which says nothing of a mutant
SPLAT = re.compile(r"\s*\[[ .\d]+\](?:\[[^]]*\])? ((?:BUG|WARNING|Oops|Kernel panic|rcu: INFO)\b.*)")
NOT_OK = re.compile(r"not ok \d+(?: -)? *(?!.*# TODO)(.*)")


class Failure(Exception):
    pass


def clock(seconds):
    return f"{int(seconds) // 60}:{int(seconds) % 60:02}"


def say(*words):
    print(*words, flush=True)


def cache_home():
    return pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache")


def mutation_of(mutant, texts):
    return mutant.file, draw.difference(texts[mutant.file], mutant)


def shown(mutant, text):
    before, after = draw.before_and_after(draw.difference(text, mutant))
    return f"{mutant.file}:{mutant.line}: {before} -> {after}"


def load(path):
    try:
        document = json.loads(path.read_text())
        document["drawn_from"].items(), document["mutants"].items()
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise Failure(f"{path} has no results of tests/mutants: {error}") from None
    return document


class Results:
    """What is known of the mutants, in a file that is whole at any time."""

    def __init__(self, path, drawn_from):
        self.path = path
        self.document = {"drawn_from": drawn_from, "baseline": None, "mutants": {}}
        if path.exists():
            self.document = load(path)
            if self.document["drawn_from"] != drawn_from:
                names = [name for name in drawn_from if self.document["drawn_from"].get(name) != drawn_from[name]]
                raise Failure(f"{path} is of other mutants, which differ in: {', '.join(names)}; "
                              "remove it, or name another one with --results")

    def save(self):
        new = self.path.with_name(self.path.name + ".new")
        new.write_text(json.dumps(self.document, indent=1, ensure_ascii=False) + "\n")
        new.replace(self.path)


def runs(group):
    """Whether a process of the group does; one that has ended may stay for ever where nobody waits for it."""
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            state, _, of_group = stat.read_text().rpartition(")")[2].split()[:3]
            if int(of_group) == group and state != "Z":
                return True
    return False


def end_group(process):
    """Ends all processes of its group; machines that tools/vm started end with it."""
    for number, patience in ((signal.SIGTERM, 60), (signal.SIGKILL, 10)):
        deadline = time.monotonic() + patience
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        while runs(process.pid):
            if time.monotonic() >= deadline:
                break
            time.sleep(0.1)
        else:
            return


class Limits:
    """Ends a command that takes too long, or that says nothing for too long, as a machine that hangs."""

    def __init__(self, process, limit, silence):
        self.process, self.limit, self.silence = process, limit, silence
        self.start = self.heard = time.monotonic()
        self.exceeded = None
        self.over = threading.Event()
        self.thread = threading.Thread(target=self.watch)
        self.thread.start()

    def watch(self):
        while not self.exceeded and not self.over.wait(0.2):
            now = time.monotonic()
            if now - self.start > self.limit:
                self.exceeded = f"not done after {self.limit} s"
            elif now - self.heard > self.silence:
                self.exceeded = f"silent for {self.silence} s"
        if self.exceeded:
            end_group(self.process)

    def lift(self):
        self.over.set()
        self.thread.join()


def call(command, directory, environment, options, log):
    """Runs it to its end, or until it notices something, which is what is returned: None if all is well."""
    noticed, splat, last = None, None, ""
    with open(log, "a", encoding="utf-8") as output:
        output.write(f"$ {command}\n")
        process = subprocess.Popen(["sh", "-c", command], cwd=directory, env=environment, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                                   start_new_session=True)
        limits = Limits(process, options.limit, options.silence)
        try:
            for line in process.stdout:
                limits.heard = time.monotonic()
                output.write(line)
                output.flush()
                last = line.strip() if line.startswith("tools/vm: ") or not last else last
                if not splat and (found := SPLAT.match(line)):
                    splat = found[1].strip()
                if found := NOT_OK.match(line):
                    noticed = found[1].strip() or "a point without a name"
                    break
        finally:
            limits.lift()
            if noticed or sys.exc_info()[0]:
                end_group(process)
        status = process.wait()
    if noticed or limits.exceeded or not status:
        return noticed or limits.exceeded
    return f"exit status {status}: {splat or last[:150]}"


class Workplace:
    """A copy of the files that git does not ignore, and a cache for tools/vm, which nobody else builds kernels in."""

    def __init__(self, top, directory, only_copy):
        self.top, self.directory, self.tree = top, directory, directory / "tree"
        self.environment = dict(os.environ, XDG_CACHE_HOME=str(directory))
        (directory / "log").mkdir(parents=True, exist_ok=True)
        self.lock = open(directory / "lock", "w")
        try:
            fcntl.flock(self.lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Failure(f"another run works in {directory}; name another one with --cache") from None
        if not only_copy:
            self.copy_cache(cache_home() / "cachebpf", directory / "cachebpf")
        self.copy_tree()

    def copy_cache(self, shared, own):
        if own.exists() or not shared.exists():
            return
        if shared.resolve() == own.resolve():
            raise Failure("--cache is for a directory of its own, not for that of everybody")
        if shutil.disk_usage(own.parent).free < SPACE:
            raise Failure(f"less than {SPACE >> 30} GB are free in {own.parent}; name another directory with --cache")
        (shared / "lock").mkdir(exist_ok=True)
        with open(shared / "lock/kernel", "w") as lock: # nobody builds one meanwhile
            say(f"mutants: copying what is needed of {shared}, which may have to wait for a kernel that is built there")
            fcntl.flock(lock, fcntl.LOCK_EX)
            new = own.with_name("cachebpf.new")
            shutil.rmtree(new, ignore_errors=True)
            for path in (path for pattern in SHARED for path in glob.glob(str(shared / pattern))):
                target = new / pathlib.Path(path).relative_to(shared)
                target.parent.mkdir(parents=True, exist_ok=True)
                if subprocess.run(["cp", "-a", "--reflink=auto", path, target], check=False).returncode:
                    raise Failure(f"{path} could not be copied to {target}")
            new.rename(own)

    def copy_tree(self):
        """Writes only what differs, for what is built to stay."""
        top = self.top
        done = subprocess.run(["git", "-C", top, "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                              capture_output=True, text=True, check=False)
        if done.returncode:
            raise Failure(f"git does not say what the files of {top} are: {done.stderr.strip()}")
        names = {name for name in done.stdout.split("\0") if name and (top / name).is_file()}
        for name in names:
            source, copy = top / name, self.tree / name
            if not copy.exists() or source.read_bytes() != copy.read_bytes() or \
                    source.stat().st_mode != copy.stat().st_mode:
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(source, copy)
        for path in [path for path in self.tree.rglob("*") if path.is_file()]:
            if str(path.relative_to(self.tree)) not in names:
                path.unlink()

    def write(self, name, text):
        (self.tree / name).write_text(text)


class Run:
    def __init__(self, top, options, order, texts):
        self.options, self.order, self.texts = options, order, texts
        self.commands = [named(command) for command in options.command or COMMANDS]
        sources = hashlib.sha256("\0".join(f"{name}\0{text}" for name, text in sorted(texts.items())).encode())
        self.results = Results(options.results, {
            "seed": options.seed, "directories": options.directories, "exclude": options.exclude,
            "sources": sources.hexdigest()[:16]})
        self.known = self.results.document["mutants"]
        for number, one in self.known.items():
            mutant = order[int(number) - 1] if int(number) <= len(order) else None
            if not mutant or mutation_of(mutant, texts) != (one["file"], one["diff"]):
                raise Failure(f"number {number} in {options.results} is not what is drawn now: remove the file, or "
                              "name another one with --results")
        self.place = Workplace(top, options.cache.resolve(), only_copy=bool(options.command and options.build))
        self.results.save() # what cannot be written is better known now
        self.took = []

    def call(self, command, file, log):
        own = SUBJECTS.get(pathlib.Path(file).name, SUBJECTS[None]).split()
        command = command.replace("{own}", " ".join(own)).replace("{others}", " ".join("-" + name for name in own))
        return call(command, self.place.tree, self.place.environment, self.options, log)

    def tests(self, file, log, confirm):
        """By which command and how it was noticed, or None twice; and what failed once, and not when it was tried
        again, as a test does that depends on times on a busy machine."""
        unsteady = []
        for name, command in self.commands:
            noticed = self.call(command, file, log)
            if noticed and confirm and not noticed.startswith(CERTAIN):
                first, noticed = noticed, self.call(command, file, log)
                if noticed != first:
                    unsteady.append(first)
                    say(f"mutants: failed once, and not again: {name} ({first})")
            if noticed and BROKEN in noticed:
                raise Failure(f"{name} could not be run ({noticed}); see {log}")
            if noticed:
                return name, noticed, unsteady
        return None, None, unsteady

    def log(self, name):
        path = self.place.directory / "log" / f"{name}.log"
        path.unlink(missing_ok=True)
        return path

    def baseline(self):
        """All has to be well without a mutant."""
        start = time.monotonic()
        log = self.log("baseline")
        say("mutants: first without a mutant")
        noticed = self.call(self.options.build or BUILD, "", log)
        name, unsteady = "the build", []
        if not noticed:
            name, noticed, unsteady = self.tests("", log, True)
        if noticed:
            raise Failure(f"without a mutant {name} fails ({noticed}); see {log}")
        self.results.document["baseline"] = {"seconds": round(time.monotonic() - start), "unsteady": unsteady}
        self.results.save()
        say(f"mutants: all is well without a mutant, which took {clock(time.monotonic() - start)}")

    def one(self, number):
        mutant = self.order[number - 1]
        text = self.texts[mutant.file]
        diff = draw.difference(text, mutant)
        start = time.monotonic()
        log = self.log(number)
        self.place.write(mutant.file, draw.apply(text, mutant))
        try:
            found = {"file": mutant.file, "line": mutant.line, "kind": mutant.kind, "diff": diff}
            if noticed := self.call(self.options.build or BUILD, mutant.file, log):
                found.update(result="invalid", how=noticed)
            else:
                name, noticed, unsteady = self.tests(mutant.file, log, self.options.confirm)
                found.update(result="noticed" if noticed else "survived", by=name, how=noticed, unsteady=unsteady)
        finally:
            self.place.write(mutant.file, text)
        seconds = time.monotonic() - start
        found["seconds"] = round(seconds)
        self.known[str(number)] = found
        self.results.save()
        by = f" by {found['by']} ({noticed})" if found["result"] == "noticed" else ""
        say(f"{number} {found['result']}{by} in {clock(seconds)}: {shown(mutant, text)}")
        if found["result"] != "invalid":
            self.took.append(seconds)
        return found["result"]

    def all(self):
        only = self.options.only
        if only and max(only) > len(self.order):
            raise Failure(f"there is no mutant {max(only)}: of these files {len(self.order)} can be drawn")
        if self.options.again:
            for number in only or list(self.known):
                self.known.pop(str(number), None)
        if not self.results.document["baseline"] and not self.options.no_baseline:
            self.baseline()
        counted = invalid = 0
        for number in only or range(1, len(self.order) + 1):
            if not only and counted >= self.options.number:
                break
            if str(number) not in self.known:
                invalid = invalid + 1 if self.one(number) == "invalid" else 0
            if invalid == INVALID_IN_A_ROW:
                raise Failure(f"{invalid} mutants in a row did not build; is it the build? See "
                              f"{self.place.directory / 'log'}")
            counted += self.known[str(number)]["result"] != "invalid"
            if self.took:
                wanted = len(only) if only else self.options.number
                left = (wanted - counted) * sum(self.took) / len(self.took)
                say(f"mutants: {counted} of {wanted} done, about {clock(left)} left")


def named(command):
    found = re.match(r"([\w ,-]+): +(.*)", command, re.DOTALL)
    return found.groups() if found else (command, command)
