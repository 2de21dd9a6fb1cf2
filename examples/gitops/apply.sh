#!/bin/sh
# Applies the plan that plan.sh wrote, exactly or not at all. Ends with 1 where it is stale, 3 where there is no room now.
# Needs SLOTCAR_API, SLOTCAR_TOKEN. Use: apply.sh plan.json
set -eu
exec slotcar apply "$1"
