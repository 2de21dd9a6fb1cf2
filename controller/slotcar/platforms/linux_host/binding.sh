# Which processes belong to a reservation, and whose they may be (ADR 48). Comes before host.sh, in one text with it.

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
  [ -d "$(folder_of "$1")" ] || { fail "there is no slice $1 to bind $2 to"; return 1; }
  why=$(move "$1" "$2" 2>&1 >/dev/null) || echo "$2 $(echo "$why" | tr '\n' ' ')" >>"$state/$1.refused"
  echo "$2" >>"$state/$1.bind"
}

# The processes of $2 go to the slice $1.
move() {
  listed=$(processes "$2") || return 1
  read_accounts "$2"
  home=$(home_of "$1")
  [ -z "$managed" ] || open_scope "$(unit_name "$1").scope" "$(unit_name "$1").slice" "$home" || return 1
  take "$1" "$2"
  taken=$?
  [ -z "$managed" ] || close_scope
  return $taken
}

take() {
  for pid in $listed; do
    origin=$(sed -n 's/^0:://p' "/proc/$pid/cgroup" 2>/dev/null)
    if { echo "$pid" >"$home/cgroup.procs"; } 2>/dev/null; then
      # The number may be another process's since it was asked.
      ask "$pid"
      if [ -n "$why" ]; then
        [ "$why" = gone ] || { echo "$pid" >"$mount$origin/cgroup.procs"; } 2>/dev/null
        continue
      fi
      [ "$origin" != /slotcar-rest ] || origin=/
      echo "$pid $origin" >>"$state/$1.origin"
    elif [ "$managed" = user ] && [ -d "/proc/$pid" ]; then
      fail "process $pid is not one of this account's \`systemd --user\`, and without root no other is bound"
      return 1
    elif [ "${2%%/*}" = "process:$pid" ]; then
      fail "this host has no process $pid"
      return 1
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
