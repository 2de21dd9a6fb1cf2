# Tells what tuning asks of a host, a line each: KIND, a tab, and what is said. Arguments: the folder of what is kept, then
# the peers' addresses. Changes nothing.
kept=$1; shift
for key in net/core/rmem_max net/core/wmem_max net/ipv4/tcp_rmem net/ipv4/tcp_wmem net/ipv4/tcp_mem \
    net/ipv4/tcp_available_congestion_control; do
    file=/proc/sys/$key
    [ -r "$file" ] || continue
    may=read
    [ ! -w "$file" ] || may=write
    printf 'sysctl\t%s\t%s\t%s\n' "$key" "$may" "$(tr '\t' ' ' <"$file")"
done
printf 'pagesize\t%s\n' "$(getconf PAGESIZE 2>/dev/null || echo 4096)"
printf 'links\t%s\n' "$(ip -j -d link show | tr -d '\n')"
for card in $(ip -o link show | sed 's/^[0-9]*: \([^:@]*\).*/\1/'); do
    printf 'speed\t%s\t%s\n' "$card" "$(cat "/sys/class/net/$card/speed" 2>/dev/null)"
    tc qdisc show dev "$card" | sed -n "s/^qdisc \([^ ]* [^ ]*\) root.*/qdisc\t$card\t\1/p"
done
for peer; do
    printf 'route\t%s\t%s\n' "$peer" "$(ip -j -d route get fibmatch "$peer" 2>/dev/null | tr -d '\n')"
    printf 'host-route\t%s\t%s\n' "$peer" "$(ip -o -d route show exact "$peer/32" | head -n 1)"
done
[ ! -r "$kept/kept" ] || sed 's/^/kept\t/' "$kept/kept"
