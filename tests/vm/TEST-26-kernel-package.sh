#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# kernel: product
# machine: --kernel package-vm --share "$TOP:/run/source"
# long: yes
# timeout: 300
# The kernel of the package boots and runs policies; apt installs and removes the package by what README.md tells to
# type, and the hooks are called that boot loaders and makers of an initrd bring.
. "$(dirname "$0")/lib.sh"

export DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8

# --- this is the kernel
release=$(uname -r)
like "$release" '-cachebpf$' 'the machine runs the kernel of the package'
make_slice t26.slice $'MemoryMax=64M\nCachePolicy=lfu'
systemctl start t26.slice
succeeds 'it runs policies' eventually policy_is t26.slice lfu

# --- installation and removal
called=$(mktemp)
for step in preinst postinst prerm postrm; do
        mkdir -p "/etc/kernel/$step.d"
        printf '#!/bin/sh\necho "%s $*" >>%s\n' "$step" "$called" >"/etc/kernel/$step.d/zz-t26"
        chmod +x "/etc/kernel/$step.d/zz-t26"
done
mapfile -t typed < <(sed -n 's/^# \(apt .*linux-image.*\)/\1/p' /run/source/README.md)
is "${#typed[@]}" 2 'the page installs the kernel, and removes it'
cp /run/kernel-package/linux-image-*.deb /var/tmp/ || die 'the package cannot be copied to where the page has it'
succeeds "${typed[0]}" bash -c "${typed[0]}" <<<y
succeeds 'there is an image to boot' test -s "/boot/vmlinuz-$release"
like "$(cat "/boot/config-$release")" 'CONFIG_CACHEBPF=y' 'with the right configuration'
succeeds 'modules are where systemd looks for them' test -d "/usr/lib/modules/$release"
is "$(<"$called")" "preinst $release /boot/vmlinuz-$release"$'\n'"postinst $release /boot/vmlinuz-$release" \
        'hooks are told of the new kernel'
: >"$called"
succeeds "${typed[1]}" bash -c "${typed[1]}" <<<y
like "$(<"$called")" "prerm $release /boot/vmlinuz-$release.*postrm $release" 'hooks are told of that, too'
is "$(find /boot -name "*$release*")" '' 'nothing is left of it'
rm -f /etc/kernel/*.d/zz-t26 "$called" /var/tmp/linux-image-*.deb
done_testing
