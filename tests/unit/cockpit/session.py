# SPDX-License-Identifier: LGPL-2.1-or-later
"""A system bus, the daemon on it (see cockpit-service.c), and Cockpit, all of them for one test only."""

import os
import pathlib
import shutil
import signal
import socket
import subprocess
import time

COCKPIT = "/usr/lib/cockpit/cockpit-ws"
NEEDED = ("dbus-daemon", "cockpit-bridge", "setpriv")

# As Debian has it: nobody may call anybody, unless a policy of the called one permits it.
BUS = """<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-BUS Bus Configuration 1.0//EN"
 "https://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig>
  <type>system</type>
  <listen>unix:path={directory}/bus</listen>
  <auth>EXTERNAL</auth>
  <policy context="default">
    <allow user="*"/>
    <deny own="*"/>
    <deny send_type="method_call"/>
    <allow send_type="signal"/>
    <allow send_requested_reply="true" send_type="method_return"/>
    <allow send_requested_reply="true" send_type="error"/>
    <allow receive_type="method_call"/>
    <allow receive_type="method_return"/>
    <allow receive_type="error"/>
    <allow receive_type="signal"/>
    <allow send_destination="org.freedesktop.DBus"/>
  </policy>
  <include>{policy}</include>
</busconfig>
"""


def missing():
    """What is not installed."""
    return [name for name in (COCKPIT, *NEEDED) if not shutil.which(name)]


def wait_for(what, condition, seconds=120):
    until = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > until:
            raise TimeoutError(what)
        time.sleep(0.02)


class Session:
    def __init__(self, directory, service, source):
        self.directory, self.service_program = pathlib.Path(directory), service
        self.directory.chmod(0o755)
        self.processes = []
        for i in range(1, 8):
            (self.directory / "cgroup" / str(i)).mkdir(parents=True)
        (self.directory / "home").mkdir(mode=0o777)
        shutil.copytree(source / "src/cockpit", self.directory / "share/cockpit/cachebpf",
                        ignore=shutil.ignore_patterns("meson.build"))

        config = self.directory / "bus.conf"
        config.write_text(BUS.format(directory=directory, policy=source / "dbus/org.cachebpf1.conf"))
        self.environment = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "HOME": f"{directory}/home",
                            "XDG_DATA_DIRS": f"{directory}/share:/usr/share", "XDG_RUNTIME_DIR": f"{directory}/home",
                            "DBUS_SYSTEM_BUS_ADDRESS": f"unix:path={directory}/bus"}
        self.start("dbus-daemon", f"--config-file={config}", "--nofork", "--nopidfile", stderr=subprocess.DEVNULL)
        wait_for("the bus", (self.directory / "bus").exists)
        self.service = None

    def start(self, *command, **options):
        self.processes.append(subprocess.Popen(command, env=self.environment, **options))
        return self.processes[-1]

    def stop(self, *processes):
        for process in processes or reversed(self.processes[:]):
            process.terminate()
            process.wait()
            self.processes.remove(process)

    # ---- the daemon

    def start_service(self, *options):
        self.service = self.start(self.service_program, str(self.directory), *options, stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE, text=True, bufsize=1)
        if self.service.stdout.readline() != "ready\n":
            raise RuntimeError("the service does not start")

    def stop_service(self):
        self.stop(self.service)

    def pause_service(self):
        """It answers nothing until it goes on."""
        self.service.send_signal(signal.SIGSTOP)
        stat = pathlib.Path(f"/proc/{self.service.pid}/stat")
        wait_for("the service to stop", lambda: stat.read_text().rpartition(")")[2].split()[0] == "T")

    def resume_service(self):
        self.service.send_signal(signal.SIGCONT)

    def tell(self, command):
        self.service.stdin.write(command + "\n")
        if self.service.stdout.readline() != "ok\n":
            raise RuntimeError(f"the service does not take: {command}")

    def count(self, cgroup, **counters):
        """What the kernel has counted."""
        file = self.directory / "cgroup" / str(cgroup) / "memory.cachebpf.stat"
        new = file.with_suffix(".new")
        new.write_text("".join(f"{name} {value}\n" for name, value in counters.items()))
        new.rename(file)

    # ---- Cockpit

    def start_cockpit(self, user=None):
        """Returns the address of the page, in a session of that user, or of root."""
        bridge = self.directory / f"bridge-{user}"
        become = f"setpriv --reuid={user} --regid={user} --clear-groups" if user else ""
        bridge.write_text(f"#!/bin/sh\nexec {become} cockpit-bridge\n")
        bridge.chmod(0o755)
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            port = s.getsockname()[1]
        self.start(COCKPIT, "--no-tls", "--address=127.0.0.1", f"--port={port}", f"--local-session={bridge}")

        def answers():
            with socket.socket() as s:
                return s.connect_ex(("127.0.0.1", port)) == 0
        wait_for("Cockpit", answers)
        return f"http://127.0.0.1:{port}/cockpit/@localhost/cachebpf/index.html"
