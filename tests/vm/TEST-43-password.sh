#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# kernel: product debug
# timeout: 240
# An administrator who is not root changes policies from a terminal: polkit's agent asks for the password.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/daemon.sh"

ADMIN=t43admin
PASSWORD='Sesame, 43'

clean_up() {
        userdel --force --remove $ADMIN >/dev/null 2>&1
        rm -f /run/cachebpf/units.d/t43*
        remove_test_units
        systemctl reload cachebpfd.service
}
trap clean_up EXIT

# at_terminal PASSWORD COMMAND…: as the administrator, logged in on a terminal of its own, where the password is
# typed when one is asked for. Prints what the terminal shows, gives the status. (Without a session polkit knows
# no agents but those that do not leave the asking to a better one.)
at_terminal() {
        python3 - "$ADMIN" "$@" 3>&1 <<'PYTHON'
import os, pty, shlex, sys, termios, time
user, password, command = sys.argv[1], sys.argv[2], sys.argv[3:]
pid, terminal = pty.fork()
if pid == 0:
    os.execvp("runuser", ["runuser", "--login", user, "--session-command", shlex.join(command)])
shown, typed = b"", False
while True:
    try:
        data = os.read(terminal, 4096)
    except OSError: # that is how the end of a terminal looks
        break
    if not data:
        break
    shown += data
    if not typed and shown.rstrip().lower().endswith(b"password:"):
        # The agent asks, then turns the echo off, and with that drops what was typed before.
        while termios.tcgetattr(terminal)[3] & termios.ECHO:
            time.sleep(0.05)
        os.write(terminal, password.encode() + b"\n")
        typed = True
os.write(3, shown)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
PYTHON
}

useradd --create-home --groups sudo $ADMIN
chpasswd <<<"$ADMIN:$PASSWORD"
make_slice t43.slice $'MemoryMax=64M\nCachePolicy=lfu'
systemctl start t43.slice
unit_runs t43.slice lfu

output=$(at_terminal "$PASSWORD" cachectl set t43.slice mru) && status=0 || status=$?
is $status 0 'with the password an administrator may set'
like "$output" 'Authentication is required to change the page cache policy of a unit' 'it is said what for'
unlike "$output" "$PASSWORD" 'the password is not shown'
unit_runs t43.slice mru
is "$(pgrep -c pkttyagent)" 0 'the agent is gone'

output=$(at_terminal wrong cachectl reset t43.slice) && status=0 || status=$?
is $status 1 'with a wrong one he may not'
like "$output" 'cachebpfd does not permit you to call org.cachebpf.Manager.ResetUnit' 'and is told so'
unit_runs t43.slice mru

output=$(at_terminal "$PASSWORD" cachectl hold t43.slice fifo -- sh -c \
        'cat /sys/fs/cgroup/t43.slice/memory.cachebpf.policy; pgrep -c pkttyagent; exit 7') && status=0 || status=$?
is $status 7 'a command runs while he holds the unit'
like "$output" 'policy fifo' 'with the policy that he asked for'
like "$output" $'\n0\r?\n?$' 'and has the terminal for itself'
unit_runs t43.slice mru

output=$(runuser -u $ADMIN -- cachectl reset t43.slice </dev/null 2>&1) && status=0 || status=$?
is $status 1 'nobody is asked without a terminal'
like "$output" 'cachebpfd does not permit you' 'which is a refusal'
output=$(at_terminal unused cachectl set --quiet --dry-run t43.slice lfu) && status=0 || status=$?
is $status 0 'what everybody may needs no password'
unlike "$output" '[Pp]assword' 'and none is asked for'
done_testing
