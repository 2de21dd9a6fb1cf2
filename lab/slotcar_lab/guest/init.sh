#!/bin/busybox sh
# First process of the guest, from the initramfs: mounts the host's root read-only and hands over to second.sh.
# The kernel command line carries slotcar.* parameters; a probe only shows that the machine boots at all.
/bin/busybox mkdir -p /proc /sys /dev /lower /rw /root
export PATH=/bin
busybox mount -t proc proc /proc
busybox mount -t sysfs sysfs /sys
busybox mount -t devtmpfs dev /dev
for word in $(busybox cat /proc/cmdline); do
    case $word in
        slotcar.probe=1) echo 'slotcar: kernel runs' >/dev/console; busybox poweroff -f ;;
        slotcar.modules=*) modules=${word#*=} ;;
        slotcar.second=*) second=${word#*=} ;;
    esac
done
while read -r module; do
    busybox insmod "/modules/$module" || echo "slotcar: cannot load $module" >/dev/console
done </modules/order
# cache=loose: the host's files are read once and then served from the guest's page cache, or each exec takes a second.
busybox mount -t 9p -o ro,trans=virtio,version=9p2000.L,msize=524288,cache=loose hostroot /lower ||
    { echo 'slotcar: cannot mount the root of the host' >/dev/console; busybox poweroff -f; }
busybox mount -t tmpfs -o mode=755 tmpfs /rw
busybox mkdir /rw/upper /rw/work
busybox mount -t overlay -o lowerdir=/lower,upperdir=/rw/upper,workdir=/rw/work overlay /root
for directory in proc sys dev tmp run; do busybox mkdir -p /root/$directory; done
busybox mount --move /proc /root/proc
busybox mount --move /sys /root/sys
busybox mount --move /dev /root/dev
busybox mount -t tmpfs -o mode=1777 tmpfs /root/tmp
busybox mount -t tmpfs -o mode=755 tmpfs /root/run
busybox mkdir -p /root/lib/modules /root/run/slotcar /root/dev/pts /root/dev/shm
busybox cp /bin/busybox /root/run/slotcar/busybox
# What the host keeps below /tmp or /run (a checkout, a cache) stays reachable through here.
busybox mkdir -p /root/run/slotcar/host
busybox mount --bind /lower /root/run/slotcar/host
busybox mount --bind "/lower$modules" /root/lib/modules
busybox mount -t devpts -o ptmxmode=666 devpts /root/dev/pts
busybox mount -t tmpfs tmpfs /root/dev/shm
exec busybox switch_root /root /run/slotcar/busybox sh "/run/slotcar/host$second"
