# Slotcar's part on a host: gives reservations their cores and the bandwidth of its disks, by cgroup v2, through systemd
# where that is the first process (systemd.sh).
# Needs root, sh, flock, and the kernel's controllers cpu and io. What it keeps is gone after a restart, as the cgroups are.
#
#   host.sh [-force] -batch FILE   makes the changes of a file's lines (`-`: of standard input), as `tc -batch` does
#   host.sh show                   what the kernel has of Slotcar's, as lines of a configuration
#   host.sh processes WHAT         the processes that `bind ID WHAT` would take, one a line, or why it takes none
#
# Lines of a change:
#   slice add ID                   a cgroup for a reservation's processes
#   slice del ID                   its processes go back to where they were
#   weight ID WEIGHT               its part of the cores, against the other reservations
#   bind ID WHAT, unbind ID WHAT   the processes of `unit:NAME`, `user:NAME` or `process:NUMBER` belong to it; with
#                                  `/ACCOUNT,ACCOUNT` behind, only where they are all of these accounts (ADR 48). What may
#                                  not be bound is noted, and `show` says why: the others get their cores all the same
#   reserve MILLICORES             all that is in no reservation gets at most the other cores; 0: as many as before
#   disk NAME WAY BYTES_PER_S      it gets at most this of a disk, `read` or `write`; 0: as much as before
set -u
umask 077
state=/run/slotcar-cgroups
mount=$(sed -n 's/^[^ ]* \([^ ]*\) cgroup2 .*/\1/p' /proc/mounts | head -n 1)
# The cgroup in which all is that is held back: the root, or without root what systemd has given a user.
root=$mount
top=$root/slotcar
# Where the processes of the root cgroup are meanwhile: the root itself has no limits.
rest=$root/slotcar-rest
# Who reads waits for who changes: a step of many lines takes a busy machine seconds.
lock=$state.lock
# All others get this at the least, in thousandths of a core: ssh, Ansible and what ends the slot are among them.
LEAST=250
PERIOD_US=100000
# Set by systemd.sh: `system` or `user` where systemd has the cgroups, its options, where it keeps what it is told, and whether
# it is to read that again.
managed='' systemd_run='' control='' reread=''

fail() {
  echo "$1" >&2
  return 1
}

write() {
  { echo "$2" >"$1"; } 2>/dev/null || fail "the kernel refuses \`$2\` in $1"
}

# Makes a controller work below the root; notes that it was not there before. systemd does so itself.
need() {
  if [ "$managed" = user ] && [ "$1" = io ]; then
    fail "without root only cores can be given on this host, not the bandwidth of a disk (ansible_become: true)"
    return 1
  fi
  if [ "$managed" != user ] && [ "$(id -u)" != 0 ]; then
    fail "only root may give cores and disks on this host (ansible_become: true); without it, cores alone where \
\`systemd --user\` runs for this account (loginctl enable-linger)"
    return 1
  fi
  [ -n "$root" ] || { fail "cgroup v2 is not mounted on this host"; return 1; }
  grep -qw "$1" "$root/cgroup.controllers" || { fail "cgroup v2 has no controller $1 on this host"; return 1; }
  mkdir -p "$state"
  [ -z "$managed" ] || return 0
  grep -qw "$1" "$root/cgroup.subtree_control" && return
  write "$root/cgroup.subtree_control" "+$1" && echo "$1" >>"$state/controllers"
}

# The cgroups that are no reservation's, one a line.
others() {
  for one in "$root"/*/; do
    one=${one%/}
    [ "$one" = "$top" ] || [ ! -d "$one" ] || echo "$one"
  done
}

# Each process of $1 goes to $2; the kernel's own threads stay. Those that start meanwhile take another round.
move_all() {
  for _ in 1 2 3; do
    moved=
    for pid in $(cat "$1/cgroup.procs" 2>/dev/null); do
      { echo "$pid" >"$2/cgroup.procs"; } 2>/dev/null && moved=yes
    done
    [ -n "$moved" ] || return 0
  done
}

# With systemd no process is in the root itself.
set_rest_apart() {
  [ -z "$managed" ] || return 0
  [ -d "$rest" ] || mkdir "$rest" || return 1
  move_all "$root" "$rest"
}

# Nothing is limited any more: its processes are again where they were.
give_up_rest() {
  [ ! -s "$state/reserved" ] && ! ls "$state"/disk.* >/dev/null 2>&1 && [ -d "$rest" ] || return 0
  move_all "$rest" "$root"
  rmdir "$rest" 2>/dev/null
  leave
}

# The last thing of Slotcar's is gone, and so are the controllers that were not there before.
leave() {
  [ ! -d "$top" ] && [ ! -d "$rest" ] || return 0
  for one in $(cat "$state/controllers" 2>/dev/null); do
    { echo "-$one" >"$root/cgroup.subtree_control"; } 2>/dev/null
  done
  # Its own files by their names, and never a folder with all that is in it.
  rm -f "$state/controllers" "$state/reserved" "$state"/before.* "$state"/disk.* "$state"/file.* "$state"/*.bind \
    "$state"/*.origin "$state"/*.refused
  rmdir "$state" 2>/dev/null
}

keep() {
  file=$state/before.$1.${2##*/}
  [ -e "$file" ] || echo "$3" >"$file"
}

before() {
  cat "$state/before.$1.${2##*/}" 2>/dev/null
}

ceiling() {
  left=$(($(grep -c '^processor' /proc/cpuinfo) * 1000 - $1))
  [ "$left" -ge "$LEAST" ] || left=$LEAST
  # systemd keeps whole percents.
  [ -z "$managed" ] || left=$((left / 10 * 10))
  echo "$left"
}

# Thousandths of a core of a `cpu.max`.
millicores() {
  [ "$1" = max ] && echo max || echo $(($1 * 1000 / $2))
}

cores_of() {
  # shellcheck disable=SC2046
  millicores $(cat "$1/cpu.max")
}

# The lower one of two limits.
least() {
  if [ "$1" = max ]; then echo "$2"; elif [ "$2" = max ] || [ "$1" -le "$2" ]; then echo "$1"; else echo "$2"; fi
}

# What the cgroup $1 is to have while $2 millicores are reserved: a lower limit of somebody's own stays.
wanted_cores() {
  was=$(before cpu "$1")
  # shellcheck disable=SC2086
  least "$(millicores ${was:-max})" "$(ceiling "$2")"
}

# Gives the cgroup $1 a limit of $2 millicores; what else its cpu.max has is $3.
limit_cores() {
  if ! is_unit "$1"; then
    write "$1/cpu.max" "${3:-$(($2 * PERIOD_US / 1000)) $PERIOD_US}"
    return
  fi
  share=$(($2 / 10)).$(($2 % 10))%
  [ "$2" != max ] || share=
  set_property "${1##*/}" "CPUQuota=$share" && await "$2" cores_of "$1"
}

reserve() {
  need cpu || return 1
  if [ "$1" -gt 0 ]; then
    set_rest_apart || return 1
    echo "$1" >"$state/reserved"
    for one in $(others); do
      keep cpu "$one" "$(cat "$one/cpu.max")"
      ! is_unit "$one" || keep_file "${one##*/}" CPUQuota
      limit_cores "$one" "$(wanted_cores "$one" "$1")" || return 1
    done
    return
  fi
  rm -f "$state/reserved"
  for one in $(others); do
    was=$(before cpu "$one") && [ -n "$was" ] || continue
    # shellcheck disable=SC2086
    limit_cores "$one" "$(millicores $was)" "$was"
    give_file_back "${one##*/}" CPUQuota
  done
  rm -f "$state"/before.cpu.*
  give_up_rest
}

# A cgroup's limit of a disk: `limit CGROUP MAJOR:MINOR KEY`.
limit() {
  value=$(sed -n "s/^$2 .*$3=\([^ ]*\).*/\1/p" "$1/io.max" 2>/dev/null)
  echo "${value:-max}"
}

key_of() {
  [ "$1" = read ] && echo rbps || echo wbps
}

property_of() {
  [ "$1" = read ] && echo IOReadBandwidthMax || echo IOWriteBandwidthMax
}

# What the cgroup $1 is to have of the disk $2 in the way $3 while the others get at most $4.
wanted_rate() {
  was=$(before "$2.$3" "$1")
  least "${was:-max}" "$4"
}

# Gives the cgroup $1 a limit of $5 bytes a second of the disk $2 (its number: $4) in the way $3.
limit_rate() {
  if ! is_unit "$1"; then
    write "$1/io.max" "$4 $(key_of "$3")=$5"
    return
  fi
  rate=$5
  [ "$5" != max ] || rate=infinity
  set_property "${1##*/}" "$(property_of "$3")=/dev/$2 $rate" && await "$5" limit "$1" "$4" "$(key_of "$3")"
}

disk() {
  need io || return 1
  number=$(cat "/sys/class/block/$1/dev" 2>/dev/null) || { fail "this host has no disk $1"; return 1; }
  [ ! -e "/sys/class/block/$1/partition" ] || { fail "$1 is a part of a disk, and only whole disks have limits"; return 1; }
  key=$(key_of "$2")
  if [ "$3" -gt 0 ]; then
    set_rest_apart || return 1
    echo "$3" >"$state/disk.$1.$2"
    for one in $(others); do
      keep "$1.$2" "$one" "$(limit "$one" "$number" "$key")"
      ! is_unit "$one" || keep_file "${one##*/}" "$(property_of "$2")"
      limit_rate "$one" "$1" "$2" "$number" "$(wanted_rate "$one" "$1" "$2" "$3")" || return 1
    done
    return
  fi
  rm -f "$state/disk.$1.$2"
  for one in $(others); do
    was=$(before "$1.$2" "$one") && [ -n "$was" ] || continue
    limit_rate "$one" "$1" "$2" "$number" "$was"
    # One file has all disks.
    ls "$state"/disk.*."$2" >/dev/null 2>&1 || give_file_back "${one##*/}" "$(property_of "$2")"
  done
  rm -f "$state/before.$1.$2".*
  give_up_rest
}

# Where a reservation's slice is, and its own cgroup in it, where processes are.
folder_of() {
  [ -n "$managed" ] && echo "$top/$(unit_name "$1").slice" || echo "$top/$1"
}

home_of() {
  [ -n "$managed" ] && echo "$top/$(unit_name "$1").slice/$(unit_name "$1").scope" || echo "$top/$1"
}

slice() {
  if [ "$1" = add ]; then
    need cpu || return 1
    if [ -n "$managed" ]; then
      start_slice "$(unit_name "$2").slice"
      return
    fi
    if [ ! -d "$top" ]; then
      mkdir "$top" && write "$top/cpu.weight" 10000 && write "$top/cgroup.subtree_control" +cpu || return 1
    fi
    [ -d "$top/$2" ] || mkdir "$top/$2"
    return
  fi
  [ ! -d "$(folder_of "$2")" ] || send_back "$2" || return 1
  rm -f "$state/$2.bind" "$state/$2.origin" "$state/$2.refused"
  if [ -n "$managed" ]; then
    ls -d "$top"/*.slice >/dev/null 2>&1 || stop_slice slotcar.slice
  else
    rmdir "$top" 2>/dev/null
  fi
  leave
}

weight() {
  folder=$(folder_of "$1")
  if [ -z "$managed" ]; then
    write "$folder/cpu.weight" "$2"
  else
    set_property "${folder##*/}" "CPUWeight=$2" && await "$2" cat "$folder/cpu.weight"
  fi
}

# A process of a reservation that is over goes to where it was, or to the others.
send_back() {
  folder=$(folder_of "$1")
  home=$root
  [ ! -d "$rest" ] || home=$rest
  while read -r pid origin; do
    if [ "$origin" = / ]; then origin=$home; else origin=$mount$origin; fi
    if grep -qx "$pid" "$(home_of "$1")/cgroup.procs"; then
      { echo "$pid" >"$origin/cgroup.procs"; } 2>/dev/null
    fi
  done 2>/dev/null <"$state/$1.origin"
  # One that ends just now is there until its last reading of a disk is done.
  rounds=0
  until [ -z "$(stragglers "$folder")" ] && remove_slice "$folder"; do
    rounds=$((rounds + 1))
    [ "$rounds" -le 100 ] || { fail "$folder cannot be emptied"; return 1; }
    if [ -n "$managed" ]; then send_on "$1" "$folder"; else move_all "$folder" "$home"; fi
    sleep 0.1 2>/dev/null || sleep 1
  done
}

stragglers() {
  find "$1" -name cgroup.procs -exec cat {} + 2>/dev/null
}

# What has no process any more, so that nothing is killed with it.
remove_slice() {
  if [ -z "$managed" ]; then
    rmdir "$1" 2>/dev/null
  else
    grep -qx 'populated 0' "$1/cgroup.events" && stop_slice "${1##*/}"
  fi
}

# With systemd: what still runs there, such as commands of `slotcar run`, goes on in a scope among the others.
send_on() {
  [ -n "$(stragglers "$2")" ] || return 0
  after=system.slice
  [ "$managed" = system ] || after=app.slice
  name=$(unit_name "$1")-after.scope
  open_scope "$name" "$after" "$root/$after/$name" || return 1
  for one in "$2" "$2"/*/; do
    move_all "${one%/}" "$root/$after/$name"
  done
  close_scope
}

do_line() {
  case ${1:-} in
    slice) slice "$2" "$3" ;;
    weight) weight "$2" "$3" ;;
    bind) bind "$2" "$3" ;;
    unbind) unbind "$2" "$3" ;;
    reserve) reserve "$2" ;;
    disk) disk "$2" "$3" "$4" ;;
    '') ;;
    *) fail "there is no change \`$*\`" ;;
  esac
}

take_turn() {
  exec 7>>"$lock"
  flock -w 60 7 || { fail "another change of this host does not end"; exit 73; }
}

batch() {
  status=0
  waited=
  while read -r line; do
    # Not before there is something to do: an armed step is started ahead of its instant.
    [ -n "$waited" ] || take_turn
    waited=yes
    # shellcheck disable=SC2086
    do_line $line </dev/null || status=1
    [ -n "$force" ] || [ "$status" = 0 ] || break
  done
  reread_units
  exit "$status"
}

# What was asked is shown only where every cgroup has it: a limit that somebody changed is missing then.
show_rest() {
  asked=$(cat "$state/reserved" 2>/dev/null)
  if [ -n "$asked" ]; then
    shown=$asked
    for one in $(others); do
      [ "$(cores_of "$one")" = "$(wanted_cores "$one" "$shown")" ] || asked=
    done
    [ -z "$asked" ] || echo "rest reserved=$asked"
  fi
  for file in "$state"/disk.*; do
    [ -e "$file" ] || continue
    name=${file##*/disk.} way=${file##*.}
    name=${name%.*} asked=$(cat "$file")
    shown=$asked
    number=$(cat "/sys/class/block/$name/dev" 2>/dev/null)
    for one in $(others); do
      [ "$(limit "$one" "$number" "$(key_of "$way")")" = "$(wanted_rate "$one" "$name" "$way" "$shown")" ] || asked=
    done
    [ -z "$asked" ] || echo "rest $name:$way=$asked"
  done
}

show() {
  take_turn
  for one in "$top"/*/; do
    [ -d "$one" ] || continue
    one=${one%/}
    id=${one##*/}
    if [ -n "$managed" ]; then
      id=${id#slotcar-}
      id=$(echo "${id%.slice}" | tr _ -)
    fi
    words="slice $id weight=$(cat "$one/cpu.weight")"
    for what in $(sort -u "$state/$id.bind" 2>/dev/null); do
      words="$words bind=$what"
    done
    echo "$words"
    [ ! -e "$state/$id.refused" ] || sed "s/^/refused $id /" "$state/$id.refused"
  done
  show_rest
}

meet_systemd
force=
[ "${1:-}" != -force ] || { force=yes; shift; }
case ${1:-} in
  -batch) if [ "$2" = - ]; then batch; else batch <"$2"; fi ;;
  show) show ;;
  processes) processes "${2:-}" ;;
  *) fail "there is no verb ${1:-}" || exit 64 ;;
esac
