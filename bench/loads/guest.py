# SPDX-License-Identifier: LGPL-2.1-or-later
"""What the demo does to the machine it runs in: disk, unit files, policies, counters."""

import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import time

UNIT_DIRECTORY = pathlib.Path("/run/systemd/system")
OUTPUT_DIRECTORY = pathlib.Path("/run/cachebpf-demo")
CGROUP_ROOT = pathlib.Path("/sys/fs/cgroup")
LRU_GEN = pathlib.Path("/sys/kernel/mm/lru_gen/enabled")
ATTACH_TIMEOUT = 30.0

# The file system's UUID, and the seed of its directories.
FILE_SYSTEM = "6d5a5b0e-2c4f-4e0f-9d0a-8f2f4c61e0b7"

# Tables of RocksDB and LevelDB: written once, then read or removed.
TABLES = {".sst", ".ldb"}

# In the laboratory, time may leap while the host is waited for.
ENVIRONMENT = {"SYSTEMD_BUS_TIMEOUT": "3600s"}


class DemoError(Exception):
    """A step failed; the text says which and why."""


def run(*command):
    """Runs a command to its end and returns its output; its failure is ours."""
    done = subprocess.run([str(c) for c in command], env={**os.environ, **ENVIRONMENT}, check=False,
                          text=True, stdin=subprocess.DEVNULL, capture_output=True)
    if done.returncode != 0:
        text = (done.stderr.strip() or done.stdout.strip()).splitlines()
        raise DemoError(f"\"{' '.join(map(str, command))}\" failed ({done.returncode}): "
                        f"{text[-1] if text else 'no message'}")
    return done.stdout


class Progress:
    """One line a step.  It begins with what "tools/vm" replaces by the time that one has waited for: the machine's own
    clock is the laboratory's, and it knows no other."""

    def say(self, text):
        print(f"* {text}", flush=True)


class Disk:
    """The laboratory's disk, to which parts of the demo's data are copied."""

    image = pathlib.Path("/dev/pmem1")
    device = pathlib.Path("/dev/nullb0")
    mountpoint = OUTPUT_DIRECTORY / "data"

    def make_file_system(self):
        """A new one, to be written to.  It is the same each time: a search reads in the order of the names' hashes, for
        which mkfs draws a seed at random, and MGLRU reads now two fifths of a tree that does not fit and now all of it,
        by the order and by where its files are."""
        self.unmount()
        run("mkfs.ext4", "-q", "-F", "-O", "^has_journal", "-U", FILE_SYSTEM,
            "-E", f"hash_seed={FILE_SYSTEM},lazy_itable_init=0,nodiscard", self.device)
        self.mount("rw")

    def fill_anew(self, *directories):
        """A new file system with these directories of the data."""
        source = self.mountpoint.with_name("image")
        for path in (self.image, self.device):
            if not path.is_block_device():
                raise DemoError(f"{path} is not a block device; the demo is started by \"tools/vm demo\", "
                                "which attaches the data and makes the laboratory's disk")
        self.make_file_system()
        source.mkdir(parents=True, exist_ok=True)
        run("mount", "-o", "ro", self.image, source)
        try:
            run("cp", "-a", *(source / directory for directory in directories), self.mountpoint)
        finally:
            run("umount", source)
        self.unmount()
        self.mount("rw")

    def make_file(self, size):
        """A new file system with one file; its path."""
        self.make_file_system()
        return self.add_file("file", size)

    def add_file(self, name, size):
        path = self.mountpoint / name
        run("dd", "if=/dev/zero", f"of={path}", "bs=1M", f"count={-(-size // (1 << 20))}", "conv=fsync")
        return path

    def number(self):
        device = self.device.stat().st_rdev
        return f"{os.major(device)}:{os.minor(device)}"

    def mount(self, mode="ro"):
        self.mountpoint.mkdir(parents=True, exist_ok=True)
        run("mount", "-o", f"{mode},noatime", self.device, self.mountpoint)

    def unmount(self):
        if os.path.ismount(self.mountpoint):
            run("umount", self.mountpoint)

    def forget_cached(self, mode="ro"):
        """Nothing of the data is cached any more: neither pages nor inodes outlive the mount.  Writing to
        /proc/sys/vm/drop_caches would also drop what is cached of the machine's own disk, which is the
        host's; and while everything waits for that, the laboratory's clock leaps into some time-out."""
        self.unmount()
        self.mount(mode)

    @contextlib.contextmanager
    def readahead(self, kib):
        """What the kernel reads ahead in files that are opened meanwhile."""
        setting = pathlib.Path("/sys/class/block") / self.device.name / "queue/read_ahead_kb"
        before = setting.read_text()
        setting.write_text(str(kib))
        try:
            yield
        finally:
            setting.write_text(before)


def link_database(database, copy):
    """The copy can be changed, the database stays: tables are the same files under another name, as no engine writes
    into a table that is complete, and all else is copied.  That is much less work than to copy it all."""
    shutil.rmtree(copy, ignore_errors=True)
    copy.mkdir()
    for path in database.iterdir():
        (os.link if path.suffix in TABLES else shutil.copy2)(path, copy / path.name)


def set_mglru(wanted):
    LRU_GEN.write_text("y" if wanted else "n")
    if (int(LRU_GEN.read_text(), 16) & 1) != wanted:
        raise DemoError(f"{LRU_GEN} does not follow: is the kernel built with CONFIG_LRU_GEN?")


def set_dirty_limits():
    """When what was written is to go to the disk: at once; and when who writes has to wait: as late as can be.  The
    papers' servers have 1 and 30 per cent.  Of some MiB of cache, 30 are less than one compaction writes.  What waits
    then waits for a count, too: a cgroup's dirty pages are counted anew every two seconds, and whoever writes stands
    still until then, if there were too many at the last count."""
    for name, percent in (("dirty_background_ratio", 1), ("dirty_ratio", 100)):
        pathlib.Path("/proc/sys/vm", name).write_text(str(percent))


def compact_memory():
    """What is free is in as few pieces as can be, whatever was done before."""
    pathlib.Path("/proc/sys/vm/compact_memory").write_text("1")


def preload(program):
    """Reads a program and its libraries into the page cache on the account of this process: no slice shall
    pay for them, and none shall wait for the disk they are on."""
    libraries = re.findall(r"(/\S+) \(0x", run("ldd", program))
    for path in [program, *libraries]:
        pathlib.Path(path).read_bytes()


def write_unit(name, lines):
    """systemd reads a file when its unit is first asked for, and forgets a unit that is not in use.  To reload the unit
    files takes it as many instructions as some loads have, so that is done only if the unit is still loaded."""
    UNIT_DIRECTORY.mkdir(parents=True, exist_ok=True)
    (UNIT_DIRECTORY / name).write_text("\n".join(lines) + "\n")
    if run("systemctl", "show", "--property=NeedDaemonReload", "--value", name).strip() == "yes":
        run("systemctl", "daemon-reload")


LEARNING = "CacheLearning=yes"

# The policy that the daemon chooses, and may change while it is measured; and its entry in the journal when it does.
AUTO = "auto"
SWITCHED = "6ca1e825b6ca4f9d8deade76a000fdfb"


class Slice:
    """An ordinary slice: a unit file with MemoryMax= and, under a policy, CachePolicy=, or other settings alone, for
    which the daemon attaches noop.  What the policy learns is kept only with LEARNING: else it would be the better, the
    more often it was measured."""

    recorder = None     # of what is done in slices, if it is wanted

    def __init__(self, name, memory_max, policy=None, settings=()):
        self.name = name
        self.memory_max = memory_max
        self.settings = list(settings)
        if policy:
            self.settings += [f"CachePolicy={policy}", *(() if LEARNING in settings else ("CacheLearning=no",))]
        # as the kernel calls it: a policy's name there is a C identifier
        self.attached = policy.replace("-", "_") if policy else "noop" if settings else None
        self.identity = None

    def __enter__(self):
        write_unit(self.name, [
            "[Unit]", f"Description=Slice of the Demo ({self.attached or 'stock policy'})", "", "[Slice]",
            f"MemoryMax={self.memory_max}", "MemorySwapMax=0", *self.settings])
        run("systemctl", "start", self.name)
        try:
            self.check_limit()
            self.identity = self.wait_attached() if self.attached else self.check_none()
            if self.recorder:
                self.recorder.start(self.name)
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *exception):
        try:
            if self.recorder:
                self.recorder.stop()
            if self.attached and exception[0] is None:
                self.check_still_attached()
        finally:
            self.stop()

    def stop(self):
        run("systemctl", "stop", self.name)
        (UNIT_DIRECTORY / self.name).unlink()

    @property
    def cgroup(self):
        return CGROUP_ROOT / self.name

    def flat_keyed(self, file):
        try:
            text = (self.cgroup / file).read_text()
        except FileNotFoundError:
            return {}
        return dict(line.split(None, 1) for line in text.splitlines())

    def kernel_policy(self):
        return self.flat_keyed("memory.cachebpf.policy")

    def check_limit(self):
        wanted = "max" if self.memory_max == "infinity" else str(self.memory_max)
        limit = (self.cgroup / "memory.max").read_text().strip()
        if limit != wanted:
            raise DemoError(f"{self.name}: memory.max is {limit}, though the unit file says {self.memory_max}")

    def check_none(self):
        policy = self.kernel_policy().get("policy", "none")
        if policy != "none":
            raise DemoError(f"{self.name}: the policy {policy} is attached, though the unit file names none")

    def wait_attached(self):
        """Until daemon and kernel both say that the policy is in effect; returns the attachment's id."""
        deadline = time.monotonic() + ATTACH_TIMEOUT
        while True:
            done = subprocess.run(["cachectl", "status", "--quiet", self.name], check=False,
                                  capture_output=True)
            kernel = self.kernel_policy()
            if done.returncode == 0 and (self.attached == AUTO or kernel.get("policy") == self.attached):
                return kernel.get("id")
            if time.monotonic() > deadline:
                raise DemoError(f"{self.name}: the policy {self.attached} did not come into effect "
                                f"within {ATTACH_TIMEOUT:.0f} s; the kernel says \"{kernel.get('policy', '')}\"\n"
                                f"{self.status()}")
            time.sleep(0.05)

    def check_still_attached(self):
        if self.attached == AUTO:
            self.choice()
            return
        kernel = self.kernel_policy()
        if kernel.get("policy") != self.attached or kernel.get("id") != self.identity:
            raise DemoError(f"{self.name}: the policy {self.attached} (attachment {self.identity}) was lost "
                            f"during the measurement; the kernel now says {kernel}")

    def status(self):
        done = subprocess.run(["cachectl", "--no-pager", "status", self.name], check=False, text=True,
                              capture_output=True)
        return (done.stdout + done.stderr).strip()

    def status_json(self):
        return json.loads(run("cachectl", "--json=short", "status", self.name))["units"][0]

    def choice(self):
        """What AUTO has chosen, and what of."""
        choice = self.status_json().get("choice")
        if not choice:
            raise DemoError(f"{self.name}: no policy is chosen any more\n{self.status()}")
        return choice

    def switches(self):
        """When AUTO switched, in seconds of CLOCK_MONOTONIC."""
        lines = run("journalctl", "--quiet", "--output=json", "--boot", f"MESSAGE_ID={SWITCHED}").splitlines()
        return [int(entry["__MONOTONIC_TIMESTAMP"]) / 1e6 for entry in map(json.loads, lines)
                if entry["MESSAGE"].startswith(f"{self.name}:")]

    def memory(self):
        """Bytes of what the slice is charged for, by kind.  The kernel's "file" has shared memory in it, which is no
        file's: no policy can evict it."""
        stat = {key: int(value) for key, value in self.flat_keyed("memory.stat").items()}
        return {"file": stat["file"] - stat["shmem"], **{key: stat[key] for key in ("shmem", "anon", "kernel")}}

    def charged(self):
        """Bytes of all that the slice is charged for."""
        return int((self.cgroup / "memory.current").read_text())

    def set_limit(self, size):
        """In place of MemoryMax=, until the slice is stopped."""
        (self.cgroup / "memory.max").write_text(str(size))

    def policy_counters(self):
        return {key: int(value) for key, value in self.flat_keyed("memory.cachebpf.stat").items()}


class Recorder:
    """"cachectl record" while a slice is there."""

    def __init__(self, trace):
        self.trace = trace
        self.process = None
        self.told = None

    def start(self, name):
        # its messages go into a file, so that nobody has to read a pipe
        self.told = pathlib.Path(f"{self.trace}.log")
        with self.told.open("w", encoding="utf-8") as log:
            self.process = subprocess.Popen(["cachectl", "record", name, "--text", f"--output={self.trace}"],
                                            stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        while "Recording" not in self.told.read_text(encoding="utf-8"):
            if self.process.poll() is not None:
                self.stop()
            time.sleep(0.05)

    def stop(self):
        process, self.process = self.process, None
        if not process:
            return
        process.send_signal(signal.SIGINT)
        status = process.wait()
        told = self.told.read_text(encoding="utf-8").strip()
        if status != 0 or " lost" in told:
            raise DemoError(f"the sequence could not be recorded: {told}")


class Service:
    """An ordinary service that runs one command in the slice."""

    def __init__(self, slice_name, name, command, settings=None):
        self.name = f"{name}.service"
        self.output = OUTPUT_DIRECTORY / name
        settings = settings or ["Type=oneshot", f"StandardOutput=truncate:{self.output}"]
        self.lines = [
            "[Unit]", "Description=Load of the Demo", "",
            "[Service]", f"Slice={slice_name}", f"ExecStart={' '.join(map(str, command))}", *settings,
            "TimeoutStartSec=infinity"]

    def start(self, *options):
        """Until it has ended (oneshot) or is ready (notify)."""
        OUTPUT_DIRECTORY.mkdir(parents=True, exist_ok=True)
        self.output.unlink(missing_ok=True)
        write_unit(self.name, self.lines)
        try:
            run("systemctl", "start", *options, self.name)
        except DemoError as e:
            raise DemoError(f"{e}\n{self.journal()}") from None

    def state(self):
        return run("systemctl", "show", "--property=ActiveState", "--value", self.name).strip()

    def wait(self):
        """Until it has ended; it looks seldom, as this takes time from what is measured."""
        while (state := self.state()) != "inactive":
            if state == "failed":
                raise DemoError(f"{self.name} failed\n{self.journal()}")
            time.sleep(0.2)

    def stop(self):
        run("systemctl", "stop", self.name)

    def __enter__(self):
        """Beside others, until it is stopped."""
        self.start("--no-block")
        return self

    def __exit__(self, *exception):
        self.stop()

    def journal(self):
        return run("journalctl", "--quiet", "--output=cat", "--lines=5", f"--unit={self.name}")

    def text(self):
        """Whole lines."""
        text = self.output.read_text() if self.output.exists() else ""
        return text[:text.rfind("\n") + 1]

    def wait_for_line(self):
        """Until it has said something; it looks seldom, as this takes time from what is measured."""
        while not self.text():
            self.check_runs()
            time.sleep(0.2)

    def check_runs(self):
        if (state := self.state()) in ("failed", "inactive"):
            raise DemoError(f"{self.name} is {state}\n{self.journal()}")


def run_in_slice(slice_, name, command):
    """Runs one command as a service of the slice and returns its output."""
    service = Service(slice_.name, name, command)
    service.start()
    return service.output.read_text()


@contextlib.contextmanager
def server_in_slice(slice_, name, command, settings):
    """A server as a service of the slice, meanwhile; yields its process."""
    service = Service(slice_.name, name, command, ["Type=notify", *settings])
    service.start()
    try:
        yield int(run("systemctl", "show", "--property=MainPID", "--value", service.name))
    finally:
        service.stop()


def disk_counters(device):
    """What a disk has done since the machine was booted."""
    fields = pathlib.Path("/sys/class/block", device.name, "stat").read_text().split()
    return {"disk_reads": int(fields[0]), "disk_bytes": int(fields[2]) * 512,
            "disk_writes": int(fields[4]), "disk_bytes_written": int(fields[6]) * 512}
