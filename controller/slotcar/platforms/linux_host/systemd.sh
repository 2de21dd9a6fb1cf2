# How a slice is made and a limit is set where systemd has the cgroups: by its own tools, so that both last when it reads its
# units again. `--runtime`: nothing of it is there after a restart. Comes before host.sh, in one text with it.
#
# A reservation's slice is slotcar-g_HANDLE.slice, for a `-` in a slice's name is a step down. What is bound to it is in
# the scope of the same name, `slotcar run` in scopes of its own. Without root a user's manager does the same with the
# cores that its user has (`systemctl --user`); disks are root's.

# Of $1, `slotcar-g_HANDLE`.
unit_name() {
  echo "slotcar-$(echo "$1" | tr - _)"
}

# Sets what is different: who manages the cgroups, where, and where what it is told is kept.
meet_systemd() {
  [ -d /run/systemd/system ] && [ -n "$root" ] && [ ! -d "$root/slotcar" ] || return 0
  if [ "$(id -u)" = 0 ]; then
    managed=system
    control='/run/systemd/system.control /run/systemd/transient'
    systemctl() { command systemctl --quiet "$@"; }
  else
    XDG_RUNTIME_DIR=${XDG_RUNTIME_DIR:-/run/user/$(id -u)}
    export XDG_RUNTIME_DIR
    [ -e "$XDG_RUNTIME_DIR/systemd/private" ] || return 0
    managed=user
    control="$XDG_RUNTIME_DIR/systemd/user.control $XDG_RUNTIME_DIR/systemd/transient"
    state=$XDG_RUNTIME_DIR/slotcar-cgroups
    systemctl() { command systemctl --user --quiet "$@"; }
    systemd_run=--user
    root=$mount$(systemctl show --property=ControlGroup --value)
  fi
  top=$root/slotcar.slice
  lock=$state.lock
}

# Whether $1 is a cgroup of one of systemd's units: others may have made some of their own beside them.
is_unit() {
  [ -n "$managed" ] || return 1
  case $1 in *.slice | *.scope | *.service) ;; *) return 1 ;; esac
}

# Gives the unit $1 the property $2. It is taken in a moment, and read back by who asked for it.
set_property() {
  answer=$(systemctl set-property --runtime "$1" "$2" 2>&1) || fail "systemd refuses $2 of $1: $answer"
}

# Waits a moment until the command given says $1. What systemd was told is not yet what the kernel has.
await() {
  wanted=$1
  shift
  tries=0
  while [ "$("$@" 2>/dev/null)" != "$wanted" ]; do
    tries=$((tries + 1))
    [ "$tries" -lt 50 ] || { fail "systemd took it, and the kernel has $("$@" 2>/dev/null), not $wanted"; return 1; }
    sleep 0.1 2>/dev/null || sleep 1
  done
}

# The file in which systemd keeps a property $2 of $1 that was set so, as it was before Slotcar set it; its path comes first.
keep_file() {
  kept=$state/file.$1.$2
  [ ! -e "$kept" ] || return 0
  : >"$kept"
  for place in $control; do
    file=$place/$1.d/50-$2.conf
    [ ! -e "$file" ] || { echo "$file" && cat "$file"; } >"$kept"
  done
}

# Puts it back, or takes it away. The limit itself is what it was already; systemd reads the file when it has time.
give_file_back() {
  kept=$state/file.$1.$2
  [ -e "$kept" ] || return 0
  for place in $control; do
    rm -f "$place/$1.d/50-$2.conf"
    rmdir "$place/$1.d" 2>/dev/null
  done
  if read -r file <"$kept"; then
    (umask 022 && mkdir -p "${file%/*}" && sed 1d "$kept" >"$file")
  fi
  rm -f "$kept"
  reread=yes
}

# Not waited for: nothing but `systemctl status` differs until then.
reread_units() {
  [ -n "$reread" ] || return 0
  systemctl daemon-reload </dev/null >/dev/null 2>&1 7>&- &
}

# Makes the slice $1 with all above it.
start_slice() {
  new=yes
  [ ! -d "$top" ] || new=
  answer=$(systemctl start "$1" 2>&1) || { fail "systemd does not start $1: $answer"; return 1; }
  [ -z "$new" ] || { set_property slotcar.slice CPUWeight=10000 && await 10000 cat "$top/cpu.weight"; }
}

stop_slice() {
  systemctl stop "$1" || return 1
  for place in $control; do
    rm -rf "$place/$1.d"
  done
}

# A scope $1 in the slice $2, for processes that run already; a process of ours is in it until `close_scope`.
open_scope() {
  holder=
  [ ! -d "$3" ] || return 0
  systemd-run ${systemd_run:+"$systemd_run"} --quiet --scope --collect --slice="$2" --unit="$1" --description="Slotcar: $1" \
    --property=Delegate=yes sleep 60 </dev/null >/dev/null 2>&1 7>&- &
  holder=$!
  tries=0
  until grep -qx "$holder" "$3/cgroup.procs" 2>/dev/null; do
    tries=$((tries + 1))
    if [ "$tries" -ge 100 ] || ! kill -0 "$holder" 2>/dev/null; then
      close_scope
      fail "systemd does not make $1"
      return 1
    fi
    sleep 0.1 2>/dev/null || sleep 1
  done
}

close_scope() {
  [ -z "$holder" ] || kill "$holder" 2>/dev/null
  holder=
}
