# Second process of the guest, on the host's root under a tmpfs overlay: network, schedulers, then the lab's agent,
# or systemd, which has the agent as a service.
# Everything comes from the kernel command line: slotcar.python, slotcar.agent and slotcar.plan are paths.
export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 LC_ALL=C.UTF-8
busybox=/run/slotcar/busybox
for word in $($busybox cat /proc/cmdline); do
    case $word in
        slotcar.python=*) python=${word#*=} ;;
        slotcar.code=*) code=${word#*=} ;;
        slotcar.plan=*) plan=${word#*=} ;;
        slotcar.init=*) init=${word#*=} ;;
    esac
done
echo 'slotcar: root mounted' >/dev/console
$busybox ip link set lo up
$busybox ip link set eth0 up
$busybox ip address add 10.0.2.15/24 dev eth0
$busybox ip route add default via 10.0.2.2
# Receivers must not lose packets of their own: their losses are read as the network's.
for limit in rmem_max rmem_default wmem_max; do echo 8388608 >/proc/sys/net/core/$limit; done
echo 5000 >/proc/sys/net/core/netdev_max_backlog
# Else each command is a group of its own, and its nice value means nothing to the others.
echo 0 >/proc/sys/kernel/sched_autogroup_enabled
# Hosts of the lab have cores to reserve, and disks where the guest was given some.
$busybox mount -t cgroup2 cgroup2 /sys/fs/cgroup
# Loaded ahead, so that the first `tc` of a slot does not wait for modprobe.
modprobe -a virtio_blk veth sch_htb sch_hfsc sch_prio sch_ets sch_drr sch_red sch_gred sch_netem sch_fq_codel sch_fq sch_ingress \
    sch_tbf cls_u32 cls_flower cls_matchall cls_fw act_police act_pedit act_csum act_gact act_mirred act_skbedit &
# Each opening of a file of the host's asks the host, and while the guest only waits for the answer its clock leaps to its next
# timer. So what routers do by themselves, at an instant, opens files of the guest's own.
keep_in_memory() {
    local file
    for file; do
        [ -f "$file" ] || [ -L "$file" ] || continue
        cp -dp "$file" "$file.in-memory" && mv -T "$file.in-memory" "$file"
        [ ! -L "$file" ] || keep_in_memory "$($busybox readlink -f "$file")"
    done
}
programs='/usr/bin/sh /usr/bin/cat /usr/bin/cmp /usr/bin/date /usr/bin/flock /usr/bin/grep /usr/bin/head /usr/bin/mkfifo /usr/bin/mv
    /usr/bin/rm /usr/bin/sed /usr/bin/setsid /usr/bin/sleep /usr/bin/tail /usr/sbin/tc'
keep_in_memory /bin /sbin /lib /lib64 $programs $(ldd $programs 2>/dev/null | grep -o '/[^ :]*' | sort -u) \
    /etc/ld.so.cache /etc/localtime /etc/protocols /etc/nsswitch.conf /etc/iproute2/* /usr/share/iproute2/* \
    /usr/share/locale/locale.alias /usr/lib/*/gconv/gconv-modules.cache /usr/lib/locale/C.utf8/* /usr/lib/locale/C.utf8/*/*
# What is not there is asked for once: a shell looks for a program in all folders, tc for its plug-ins.
for program in $programs; do
    for folder in /usr/local/sbin /usr/local/bin /usr/sbin /usr/bin /sbin /bin; do [ -e "$folder/${program##*/}" ]; done
done
for libraries in /usr/lib/*-linux-*; do
    mkdir -p "$libraries/tc"
    cp -a "$libraries/tc" "$libraries/tc.in-memory" && rm -r "$libraries/tc" && mv "$libraries/tc.in-memory" "$libraries/tc"
done
set -- "$python" -I -S -B "/run/slotcar/host$code/slotcar_lab/agent/main.py" "/run/slotcar/host$plan"
if [ "$init" = systemd ]; then
    # Of this machine's units none but these: the agent, and what systemd has by itself. Whatever this machine is, the guest
    # is no container.
    rm -rf /.dockerenv /usr/lib/systemd/system-generators
    mkdir -p /run/systemd/system
    cat >/run/systemd/system/slotcar-lab.target <<'END'
[Unit]
DefaultDependencies=no
Wants=slotcar-lab-agent.service
END
    cat >/run/systemd/system/slotcar-lab-agent.service <<END
[Unit]
DefaultDependencies=no
SuccessAction=poweroff-force
FailureAction=poweroff-force
[Service]
ExecStart=$*
StandardOutput=tty
StandardError=tty
TTYPath=/dev/console
END
    exec /lib/systemd/systemd --system --unit=slotcar-lab.target --show-status=no --log-target=console
fi
"$@" >/dev/console 2>&1
echo 'slotcar: agent ended' >/dev/console
$busybox poweroff -f
