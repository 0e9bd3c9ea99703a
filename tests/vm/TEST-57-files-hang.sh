#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# kernel: product
# timeout: 120
# CacheFiles= on a file system that does not answer: the daemon does, others have their files found, and it can be
# restarted.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/daemon.sh"

DIR=/var/lib/t57
DROPIN=/run/systemd/system/cachebpfd.service.d
rm -rf "$DIR"
mkdir -p "$DIR"/{hang,set} "$DROPIN"
clean_up() {
        [[ -z ${server:-} ]] || kill "$server"
        umount -q --lazy "$DIR/hang" # without a server it answers: that there is none
        rm -rf "$DIR" "$DROPIN/57.conf"
        remove_test_units
        systemctl daemon-reload
}
trap clean_up EXIT

# FUSE: says that it is there, takes all other requests, and answers none.
cat >"$DIR/server.py" <<'E'
import ctypes, os, struct, sys

fuse = os.open('/dev/fuse', os.O_RDWR)
options = f'fd={fuse},rootmode=40000,user_id=0,group_id=0'.encode()
if ctypes.CDLL(None).mount(b'hang', sys.argv[1].encode(), b'fuse', 0, options) != 0:
    sys.exit('cannot mount')
while True:
    size, opcode, unique = struct.unpack_from('<IIQ', os.read(fuse, 1 << 17))
    if opcode != 26:
        print('asked', flush=True)
        continue
    init = struct.pack('<IIIIHHIIHHI', 7, 31, 0, 0, 0, 0, 4096, 1, 0, 0, 0) + bytes(28)
    os.write(fuse, struct.pack('<IiQ', 16 + len(init), 0, unique) + init)
E

cat >"$DROPIN/57.conf" <<'E'
[Service]
TimeoutStopSec=5
E

paths() { varlink ListFiles "{\"unit\":\"$1\"}" | jq -c '.managers | map(.files[].path)'; }
has_files() { [[ $(paths "$1") == "$2" ]]; }

make_slice t57.slice $'MemoryMax=64M\nCachePolicy=acfs'
for name in hang set; do
        make_unit "t57-$name.service" "[Service]
Slice=t57.slice
ExecStart=/usr/bin/sleep infinity
X-CacheFiles=2 $DIR/$name/*"
done
systemctl daemon-reload
touch "$DIR/set/a"
python3 "$DIR/server.py" "$DIR/hang" >"$DIR/asked" 2>&1 &
server=$!
# mountpoint(1) would ask it, too.
succeeds 'the file system is there' eventually grep -q " $DIR/hang " /proc/self/mountinfo

systemctl start t57.slice t57-hang.service
unit_runs t57.slice acfs
succeeds 'it is asked' eventually grep -q asked "$DIR/asked"
succeeds 'the daemon answers' timeout 60 cachectl list
systemctl start t57-set.service
succeeds 'another unit has its files' eventually has_files t57-set.service "[\"$DIR/set/a\"]"
hangs() { daemon_log -q "A file system does not answer, for CacheFiles= of 't57-hang.service'"; }
succeeds 'the daemon says what hangs' eventually hangs

succeeds 'it can be restarted' systemctl restart cachebpfd.service
unit_runs t57.slice acfs
succeeds 'with files' eventually has_files t57-set.service "[\"$DIR/set/a\"]"
kill "$server"
server=
succeeds 'nobody hangs when nobody keeps it' eventually eval '! pgrep -x cachebpfd-files >/dev/null'
books_agree 'the kernel has lost nothing'
done_testing
