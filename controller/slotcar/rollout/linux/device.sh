#!/bin/sh
# Slotcar's part on a Linux router: it acts at the instants that were armed, whoever is connected then.
# Needs sh, tc, and flock and setsid of util-linux. Its folder is gone after a restart, as the kernel's queues are.
#
#   device.sh PLACE state                    the name of what is still to come, and how late its last step was (1/100 s)
#   device.sh PLACE clock                    the present: since the router started, since the epoch (both 1/100 s)
#   device.sh PLACE activate REVISION BOOT   arm a staged revision's program, then make its change now
#   device.sh PLACE return REVISION [FENCE [N [STATE]]]
#                                            make the change on standard input, then arm what was armed before the revision,
#                                            from N steps after what is named in `replaces` on, and take its steps that are
#                                            due; says `again` where there was something
#   device.sh PLACE keep REVISION BOOT N [STATE]
#                                            the same, then the revision's program from its step N + 1 on
#   device.sh PLACE disarm [STATE]           the same, then nothing
# STATE is what was to come when the router was read for the change: where that is another now, nothing is changed.
#
# A revision's folder: apply.txt, its change; agenda, one line for each step: its number and its instant since the epoch
# (1/100 s); NUMBER.txt, its lines; ids, the names of what is left after each number of steps; replaces, the name of what
# must be armed until then; fence, the number of the controller's lead.
set -u
umask 077
place=$1
verb=$2
shift 2

fail() {
  echo "$2" >&2
  exit "$1"
}

# Takes the lines of a change: tc, or the script of a device that is no router.
batch() {
  if [ -e "$place/batch.sh" ]; then sh "$place/batch.sh" "$@"; else tc "$@"; fi
}

# One at a time: a step that is due, an activation, a rollback. Who dies gives it back; a login that ends ends nothing half
# way from here on.
lock() {
  trap '' HUP PIPE
  exec 9>>"$place/lock"
  flock -w "${1:-20}" 9 || fail 73 "another change is being made on this router, and does not end"
}

unlock() {
  exec 9>&-
}

# Sets `since_boot` (1/100 s), without a process of its own.
look_at_clock() {
  read -r since _ </proc/uptime
  fraction=1${since#*.}
  since_boot=$((${since%.*} * 100 + fraction - 100))
}

steps_done() {
  cat "$1/progress" 2>/dev/null || echo 0
}

# Sets `due` (1/100 s since the router started): when a program's next step is; fails where there is none.
next_due() {
  due=$(sed -n "$(($(steps_done "$1") + 1))s/^[0-9]* //p" "$1/agenda")
  [ -n "$due" ] && due=$((due - $(cat "$1/boot")))
}

name_after() {
  sed -n "$(($2 + 1))p" "$1/ids"
}

armed() {
  cat "$place/armed" 2>/dev/null
}

alive() {
  pid=$(cat "$1/pid" 2>/dev/null) && [ -n "$pid" ] && grep -q device.sh "/proc/$pid/cmdline" 2>/dev/null
}

# Whether the armed program, `now`, has its process.
runs() {
  now=$(armed)
  [ -n "$now" ] && alive "$place/$now"
}

state() {
  if runs; then
    name_after "$place/$now" "$(steps_done "$place/$now")"
  else
    echo none
  fi
}

# Ends the armed program. Its process waits for the lock at most, so that no step of it is half done.
stop() {
  if runs; then
    kill -- "-$pid" 2>/dev/null || kill "$pid" 2>/dev/null
  fi
  rm -f "$place/armed"
}

start() {
  [ -s "$place/$1/agenda" ] || return 0
  [ "$(steps_done "$place/$1")" -lt "$(grep -c '' "$place/$1/agenda")" ] || return 0
  echo "$1" >"$place/armed"
  setsid sh "$place/device.sh" "$place" run "$1" </dev/null >/dev/null 2>&1 9>&- &
  echo $! >"$place/$1/pid"
}

wait_until() {
  while
    look_at_clock
    left=$(($1 - since_boot))
    [ "$left" -gt 0 ]
  do
    sleep "$((left / 100)).$((left / 10 % 10))$((left % 10))" 2>/dev/null || sleep 1
  done
}

# What is slow is done before the instant: the lock is taken, the lines are read, tc runs and waits for them.
step() {
  wait_until $(($2 - 100))
  lock 86400
  lines=$(cat "$program/$1.txt")
  rm -f "$place/lines"
  mkfifo "$place/lines"
  batch -force -batch - <"$place/lines" 9>&- &
  exec 8>"$place/lines"
  wait_until "$2"
  printf '%s\n' "$lines" >&8
  exec 8>&-
  wait $!
  look_at_clock
  echo $((since_boot - $2)) >"$place/lag"
  echo "$1" >"$program/progress.new"
  mv "$program/progress.new" "$program/progress"
  unlock
}

run() {
  program=$place/$1
  boot=$(cat "$program/boot")
  while read -r number due; do
    [ "$number" -le "$(steps_done "$program")" ] || step "$number" $((due - boot))
  done <"$program/agenda"
  lock 86400
  [ "$(armed)" != "$1" ] || rm -f "$place/armed"
}

# Of all revisions, those that something may still need.
forget_others() {
  for old in "$place"/rev-*; do
    case ${old##*/} in "$1" | "$2") ;; *) rm -rf "$old" ;; esac
  done
}

# Nothing of a controller that does not lead any more. An operator's own hand has no number.
heed() {
  [ "$1" != - ] || return 0
  latest=$(cat "$place/fence" 2>/dev/null || echo 0)
  [ "$1" -ge "$latest" ] ||
    fail 76 "a controller that took the lead later (number $latest) was here; number $1 may not change anything any more"
}

# How many steps of the armed program were taken since what was to come was named $2, where the revision begins with just
# these and changes nothing else: it goes on after them. Boundaries may be closer together than a push takes.
foreseen() {
  old=$place/$(armed)
  new=$place/$1
  [ ! -s "$new/apply.txt" ] && [ -s "$old/ids" ] || return 1
  from=$(grep -nxF "$2" "$old/ids" | head -n 1)
  [ -n "$from" ] || return 1
  from=$((${from%%:*} - 1))
  count=$(($(steps_done "$old") - from))
  step=1
  while [ "$step" -le "$count" ]; do
    due=$(sed -n "$((from + step))s/^[0-9]* //p" "$old/agenda")
    [ "$due" = "$(sed -n "${step}s/^[0-9]* //p" "$new/agenda")" ] || return 1
    cmp -s "$old/$((from + step)).txt" "$new/$step.txt" || return 1
    step=$((step + 1))
  done
  echo "$count"
}

activate() {
  revision=$place/$1
  [ -d "$revision" ] || fail 66 "$1 was never staged on this router"
  lock
  mine=$(cat "$revision/fence")
  heed "$mine"
  now=$(state)
  if [ -e "$revision/applied" ] && [ "$now" = "$(name_after "$revision" 0)" ]; then
    echo already
    return
  fi
  expected=$(cat "$revision/replaces")
  taken=0
  [ "$now" = "$expected" ] || taken=$(foreseen "$1" "$expected") ||
    fail 75 "it ran a scheduled step after it was read (armed then: $expected, armed now: $now); read it again"
  look_at_clock
  if [ -s "$revision/apply.txt" ] && read -r _ due <"$revision/agenda" && [ $((due - $2)) -le "$since_boot" ]; then
    fail 75 "this change was for the time before a boundary that has passed; read it again"
  fi
  [ "$mine" = - ] || echo "$mine" >"$place/fence"
  before=$(armed)
  stop
  echo "$before" >"$revision/previous"
  echo "$2" >"$revision/boot"
  echo "$taken" >"$revision/progress"
  rm -f "$revision/applied"
  [ "$taken" -gt 0 ] || rm -f "$place/lag"
  # The change follows the program: whoever dies in between, what begins here ends here.
  start "$1"
  if [ -s "$revision/apply.txt" ]; then
    batch -batch "$revision/apply.txt" 9>&- || exit 1
    echo changed
  fi
  : >"$revision/applied"
  forget_others "$1" "$before"
}

# What gives back a configuration ends the armed program first, and is not quick everywhere: a step that is due so soon
# (1/100 s) is taken before, and the configuration that was read is no longer the one to start from. Not twice within
# `RARELY`: boundaries may be dense.
SOON=400
RARELY=2000
let_act() {
  runs && next_due "$place/$now" || return 0
  look_at_clock
  waited=$(cat "$place/waited" 2>/dev/null || echo "-$RARELY")
  if [ "$due" -le "$since_boot" ] || [ $((due - since_boot)) -gt "$SOON" ] || [ $((since_boot - waited)) -lt "$RARELY" ]
  then return; fi
  echo "$since_boot" >"$place/waited"
  unlock
  wait_until "$due"
  catch_up "$place/$now"
  fail 75 "it ran a scheduled step after it was read; read it again"
}

# The lines of a change are the way from what was read. $1: what was to come then; empty where nobody knows.
as_read() {
  [ -z "$1" ] || [ "$(state)" = "$1" ] || fail 75 "it ran a scheduled step after it was read; read it again"
}

# Gives back a configuration: the lines on standard input are the way to it from what the router has.
change_back() {
  cat >"$place/back.txt"
  ! grep -q . "$place/back.txt" || batch -batch "$place/back.txt" 9>&- || exit 1
}

# The program of which a revision named the rest as what must be armed; nothing where nothing was to come.
holder() {
  replaces=$(cat "$1/replaces")
  for old in "$place"/rev-*; do
    if [ "$replaces" != none ] && [ "$old" != "$1" ] && grep -qxF "$replaces" "$old/ids"; then echo "${old##*/}"; fi
  done | tail -n 1
}

# The configuration that came back is the one that a program had when the revision was read, or $3 steps later: it goes on
# from there.
rewind() {
  number=$(grep -nxF "$(cat "$place/$1/replaces" 2>/dev/null)" "$place/$2/ids" | head -n 1)
  [ -z "$number" ] || echo $((${number%%:*} - 1 + $3)) >"$place/$2/progress"
}

# Steps that fell due meanwhile are taken before anybody looks.
catch_up() {
  tries=0
  while [ "$tries" -lt 100 ] && next_due "$1"; do
    look_at_clock
    if [ "$due" -gt "$since_boot" ]; then return; fi
    sleep 0.1 2>/dev/null || sleep 1
    tries=$((tries + 1))
  done
}

# Sets `before`: the program that belongs to what a revision replaced; nothing where nobody knows.
find_before() {
  now=$(armed)
  before=$(cat "$place/$1/previous" 2>/dev/null)
  if [ -d "$place/$1" ] && [ ! -e "$place/$1/previous" ]; then
    before=${now:-$(holder "$place/$1")} # it was staged and never taken: what is armed is what was
  elif [ -n "$now" ] && [ "$now" != "$1" ] && [ "$now" != "$before" ]; then
    before= # another one came since
  fi
}

return_() {
  lock
  heed "${2:--}"
  let_act
  as_read "${4:-}"
  find_before "$1"
  stop
  rm -f "$place/$1/applied"
  change_back
  if [ -z "$before" ] || [ ! -d "$place/$before" ]; then return; fi
  rewind "$1" "$before" "${3:-0}"
  start "$before"
  unlock
  catch_up "$place/$before"
  echo again
}

keep() {
  lock
  let_act
  as_read "${4:-}"
  if [ "$(armed)" = "$1" ] && alive "$place/$1"; then
    change_back
    return
  fi
  stop
  change_back
  echo "$2" >"$place/$1/boot"
  echo "$3" >"$place/$1/progress"
  start "$1"
}

disarm() {
  lock
  let_act
  as_read "${1:-}"
  stop
  change_back
}

case $verb in
  state)
    echo "$(state) $(cat "$place/lag" 2>/dev/null)"
    ;;
  clock)
    own=$(date +%s%N)
    look_at_clock
    echo "$since_boot ${own%???????}"
    ;;
  activate) activate "$@" ;;
  return) return_ "$@" ;;
  keep) keep "$@" ;;
  disarm) disarm "$@" ;;
  run) run "$@" ;;
  *) fail 64 "there is no verb $verb" ;;
esac
