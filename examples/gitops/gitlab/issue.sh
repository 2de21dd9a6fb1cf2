#!/bin/sh
# One issue labelled `slotcar-drift`: FILE is its text and it is open, or FILE is empty and it is closed.
# Needs GITLAB_TOKEN, CI_API_V4_URL, CI_PROJECT_ID; curl, jq. Use: issue.sh FILE
set -eu
. "$(dirname "$0")/api.sh"
there=$(api GET "/issues?labels=slotcar-drift&scope=all&order_by=created_at&sort=desc&per_page=1")
number=$(printf '%s' "$there" | jq -r '.[0].iid // empty')
state=$(printf '%s' "$there" | jq -r '.[0].state // empty')
body=$(mktemp)
trap 'rm -f "$body"' EXIT
if [ -s "$1" ] && [ -z "$number" ]; then
    jq -Rs '{title: "Routers drifted", labels: "slotcar-drift", description: .}' "$1" > "$body"
    api POST /issues "$body" > /dev/null
elif [ -s "$1" ] && [ "$state" = closed ]; then
    jq -Rs '{state_event: "reopen", description: .}' "$1" > "$body"
    api PUT "/issues/$number" "$body" > /dev/null
elif [ -s "$1" ]; then
    jq -Rs '{description: .}' "$1" > "$body"
    api PUT "/issues/$number" "$body" > /dev/null
elif [ "$state" = opened ]; then
    printf '{"state_event": "close"}' > "$body"
    api PUT "/issues/$number" "$body" > /dev/null
fi
