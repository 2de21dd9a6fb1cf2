#!/bin/sh
# Checks reservation files by themselves, for pre-commit and for what comes from a fork: no controller, no token.
# Use: check.sh FILE...
set -eu
exec slotcar check "$@"
