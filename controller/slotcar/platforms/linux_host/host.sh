#!/bin/sh
# Slotcar's part on a host: gives reservations their cores and the bandwidth of its disks, by cgroup v2.
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
root=$(sed -n 's/^[^ ]* \([^ ]*\) cgroup2 .*/\1/p' /proc/mounts | head -n 1)
top=$root/slotcar
# Where the processes of the root cgroup are meanwhile: the root itself has no limits.
rest=$root/slotcar-rest
# Who reads waits for who changes: a step of many lines takes a busy machine seconds.
lock=/run/slotcar-cgroups.lock
# All others get this at the least, in thousandths of a core: ssh, Ansible and what ends the slot are among them.
LEAST=250
PERIOD_US=100000

fail() {
  echo "$1" >&2
  return 1
}

write() {
  { echo "$2" >"$1"; } 2>/dev/null || fail "the kernel refuses \`$2\` in $1"
}

# Makes a controller work below the root; notes that it was not there before.
need() {
  [ "$(id -u)" = 0 ] || { fail "only root may give cores and disks on this host (ansible_become: true)"; return 1; }
  [ -n "$root" ] || { fail "cgroup v2 is not mounted on this host"; return 1; }
  grep -qw "$1" "$root/cgroup.controllers" || { fail "cgroup v2 has no controller $1 on this host"; return 1; }
  mkdir -p "$state"
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

set_rest_apart() {
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
  rm -f "$state/controllers" "$state/reserved" "$state"/before.* "$state"/disk.* "$state"/*.bind "$state"/*.origin "$state"/*.refused
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
  echo "$((left * PERIOD_US / 1000)) $PERIOD_US"
}

reserve() {
  need cpu || return 1
  if [ "$1" -gt 0 ]; then
    set_rest_apart || return 1
    echo "$1" >"$state/reserved"
    for one in $(others); do
      keep cpu "$one" "$(cat "$one/cpu.max")"
      write "$one/cpu.max" "$(ceiling "$1")" || return 1
    done
    return
  fi
  rm -f "$state/reserved"
  for one in $(others); do
    was=$(before cpu "$one") && [ -n "$was" ] && write "$one/cpu.max" "$was"
  done
  rm -f "$state"/before.cpu.*
  give_up_rest
}

# A cgroup's limit of a disk: `limit CGROUP MAJOR:MINOR KEY`.
limit() {
  value=$(sed -n "s/^$2 .*$3=\([^ ]*\).*/\1/p" "$1/io.max")
  echo "${value:-max}"
}

key_of() {
  [ "$1" = read ] && echo rbps || echo wbps
}

disk() {
  need io || return 1
  number=$(cat "/sys/class/block/$1/dev" 2>/dev/null) || { fail "this host has no disk $1"; return 1; }
  key=$(key_of "$2")
  if [ "$3" -gt 0 ]; then
    set_rest_apart || return 1
    echo "$3" >"$state/disk.$1.$2"
    for one in $(others); do
      keep "$1.$2" "$one" "$(limit "$one" "$number" "$key")"
      write "$one/io.max" "$number $key=$3" || return 1
    done
    return
  fi
  rm -f "$state/disk.$1.$2"
  for one in $(others); do
    was=$(before "$1.$2" "$one") && [ -n "$was" ] && write "$one/io.max" "$number $key=$was"
  done
  rm -f "$state/before.$1.$2".*
  give_up_rest
}

slice() {
  if [ "$1" = add ]; then
    need cpu || return 1
    if [ ! -d "$top" ]; then
      mkdir "$top" && write "$top/cpu.weight" 10000 && write "$top/cgroup.subtree_control" +cpu || return 1
    fi
    [ -d "$top/$2" ] || mkdir "$top/$2"
    return
  fi
  [ ! -d "$top/$2" ] || send_back "$2" || return 1
  rm -f "$state/$2.bind" "$state/$2.origin" "$state/$2.refused"
  rmdir "$top" 2>/dev/null
  leave
}

# A process of a reservation that is over goes to where it was, or to the others.
send_back() {
  home=$root
  [ ! -d "$rest" ] || home=$rest
  while read -r pid origin; do
    [ "$origin" != / ] || origin=${home#"$root"}
    if grep -qx "$pid" "$top/$1/cgroup.procs"; then
      { echo "$pid" >"$root$origin/cgroup.procs"; } 2>/dev/null
    fi
  done 2>/dev/null <"$state/$1.origin"
  move_all "$top/$1" "$home"
  for _ in 1 2 3 4 5; do
    rmdir "$top/$1" 2>/dev/null && return
    sleep 0.1 2>/dev/null || sleep 1
  done
  fail "$top/$1 cannot be removed"
}

# Sets `uids` to those of the accounts behind the `/` of $1, each between blanks; to `any` where it names none.
read_accounts() {
  uids=any
  case $1 in */*) ;; *) return 0 ;; esac
  uids=' '
  for account in $(echo "${1#*/}" | tr , ' '); do
    uid=$(id -u "$account" 2>/dev/null) || continue
    [ "$uid" = 0 ] || uids="$uids$uid "
  done
}

# Sets `why` to the reason for which the process $1 may not be bound, to `gone` where there is none; else to nothing.
# Only the shell's own words: a user may have thousands.
ask() {
  why=gone name='' parent='' real='' effective='' saved=''
  while read -r key first second third _; do
    case $key in
      Name:) name=$first ;;
      PPid:) parent=$first ;;
      Uid:) real=$first effective=$second saved=$third why='' && break ;;
    esac
  done 2>/dev/null <"/proc/$1/status"
  [ -z "$why" ] || return 0
  if [ "$1" = 1 ]; then
    why="process $1 is the machine's own"
  elif { [ "$1" = 2 ] || [ "$parent" = 2 ]; } && [ "$(cat /proc/2/comm)" = kthreadd ]; then
    why="process $1 is a thread of the kernel"
  fi
  case $name in sshd*) why="process $1 is the ssh daemon's" ;; esac
  [ -z "$why" ] && [ "$uids" != any ] || return 0
  for uid in "$real" "$effective" "$saved"; do
    case $uids in *" $uid "*) ;; *) why="process $1 is another account's" ;; esac
  done
}

# The processes of what is bound, all or none; of a user those that may be.
processes() {
  what=${1%%/*}
  read_accounts "$1"
  case $what in
    process:*)
      ask "${what#process:}"
      [ "$why" != gone ] || why="this host has no process ${what#process:}"
      [ -z "$why" ] || { fail "$why, and is not bound"; return 1; }
      echo "${what#process:}"
      ;;
    user:*)
      uid=$(id -u "${what#user:}" 2>/dev/null) || { fail "this host has no user ${what#user:}"; return 1; }
      [ "$uid" != 0 ] || { fail "user ${what#user:} is not bound: it is root"; return 1; }
      case $uids in
        any | *" $uid "*) ;;
        *) fail "user ${what#user:} is not bound: it is another account"; return 1 ;;
      esac
      uids=" $uid "
      for one in $(grep -l "^Uid:[[:space:]]$uid[[:space:]]" /proc/[0-9]*/status 2>/dev/null | cut -d/ -f3); do
        ask "$one"
        [ -n "$why" ] || echo "$one"
      done
      ;;
    unit:*)
      folder=$(find "$root" -mindepth 1 -type d -name "${what#unit:}" 2>/dev/null | head -n 1)
      [ -n "$folder" ] || { fail "this host has no running unit ${what#unit:}"; return 1; }
      case $folder/ in
        "$top"/* | "$rest"/* | "$root"/init.scope/* | "$root"/system.slice/ | "$root"/user.slice/)
          fail "unit ${what#unit:} is not bound: it is Slotcar's, or the machine's"
          return 1
          ;;
      esac
      listed=$(find "$folder" -name cgroup.procs -exec cat {} +)
      for one in $listed; do
        ask "$one"
        [ -z "$why" ] || [ "$why" = gone ] || { fail "unit ${what#unit:} is not bound: $why"; return 1; }
      done
      echo "$listed"
      ;;
    *) fail "$what is nothing that can be bound" ;;
  esac
}

bind() {
  [ -d "$top/$1" ] || { fail "there is no slice $1 to bind $2 to"; return 1; }
  why=$(move "$1" "$2" 2>&1 >/dev/null) || echo "$2 $(echo "$why" | tr '\n' ' ')" >>"$state/$1.refused"
  echo "$2" >>"$state/$1.bind"
}

# The processes of $2 go to the slice $1.
move() {
  listed=$(processes "$2") || return 1
  read_accounts "$2"
  for pid in $listed; do
    origin=$(sed -n 's/^0:://p' "/proc/$pid/cgroup" 2>/dev/null)
    if { echo "$pid" >"$top/$1/cgroup.procs"; } 2>/dev/null; then
      # The number may be another process's since it was asked.
      ask "$pid"
      if [ -n "$why" ]; then
        [ "$why" = gone ] || { echo "$pid" >"$root$origin/cgroup.procs"; } 2>/dev/null
        continue
      fi
      [ "$origin" != /slotcar-rest ] || origin=/
      echo "$pid $origin" >>"$state/$1.origin"
    elif [ "${2%%/*}" = "process:$pid" ]; then
      fail "this host has no process $pid" || return 1
    fi
  done
}

unbind() {
  { grep -vxF "$2" "$state/$1.bind" >"$state/$1.bind.new"; } 2>/dev/null
  mv "$state/$1.bind.new" "$state/$1.bind"
  [ -e "$state/$1.refused" ] || return 0
  while read -r what why; do
    [ "$what" = "$2" ] || echo "$what $why"
  done <"$state/$1.refused" >"$state/$1.refused.new"
  mv "$state/$1.refused.new" "$state/$1.refused"
}

do_line() {
  case ${1:-} in
    slice) slice "$2" "$3" ;;
    weight) write "$top/$2/cpu.weight" "$3" ;;
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
    [ -n "$force" ] || [ "$status" = 0 ] || exit 1
  done
  exit "$status"
}

# What was asked is shown only where every cgroup has it: a limit that somebody changed is missing then.
show_rest() {
  asked=$(cat "$state/reserved" 2>/dev/null)
  if [ -n "$asked" ]; then
    wanted=$(ceiling "$asked")
    for one in $(others); do
      [ "$(cat "$one/cpu.max")" = "$wanted" ] || asked=
    done
    [ -z "$asked" ] || echo "rest reserved=$asked"
  fi
  for file in "$state"/disk.*; do
    [ -e "$file" ] || continue
    name=${file##*/disk.} way=${file##*.}
    name=${name%.*} asked=$(cat "$file")
    number=$(cat "/sys/class/block/$name/dev" 2>/dev/null)
    for one in $(others); do
      [ "$(limit "$one" "$number" "$(key_of "$way")")" = "$asked" ] || asked=
    done
    [ -z "$asked" ] || echo "rest $name:$way=$asked"
  done
}

show() {
  take_turn
  for one in "$top"/*/; do
    [ -d "$one" ] || continue
    one=${one%/}
    words="slice ${one##*/} weight=$(cat "$one/cpu.weight")"
    for what in $(sort -u "$state/${one##*/}.bind" 2>/dev/null); do
      words="$words bind=$what"
    done
    echo "$words"
    [ ! -e "$state/${one##*/}.refused" ] || sed "s/^/refused ${one##*/} /" "$state/${one##*/}.refused"
  done
  show_rest
}

force=
[ "${1:-}" != -force ] || { force=yes; shift; }
case ${1:-} in
  -batch) if [ "$2" = - ]; then batch; else batch <"$2"; fi ;;
  show) show ;;
  processes) processes "${2:-}" ;;
  *) fail "there is no verb ${1:-}" || exit 64 ;;
esac
