#!/usr/bin/env bash
# Makes the passwords that docker-compose.yml reads, random ones, once. Keeps those that are there.
set -euo pipefail
cd "$(dirname "$0")/secrets"
umask 077
for name in database_password grafana_password; do
  [ -s "$name" ] && continue
  head -c 32 /dev/urandom | base64 | tr -d '\n' >"$name"
  # The containers' users are not yours: Compose mounts the file as it is, so they must be able to read it.
  # The folder stays closed to everybody else on this machine.
  chmod 0444 "$name"
done
chmod 0700 .
