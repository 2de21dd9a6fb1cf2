#!/bin/sh
# One issue labelled `slotcar-drift`: FILE is its text and it is open, or FILE is empty and it is closed.
# Needs GITHUB_TOKEN, GITHUB_API_URL, GITHUB_REPOSITORY; curl, jq. Use: issue.sh FILE
set -eu
. "$(dirname "$0")/api.sh"
there=$(api GET "/issues?labels=slotcar-drift&state=all&sort=created&direction=desc&per_page=1")
number=$(printf '%s' "$there" | jq -r '.[0].number // empty')
state=$(printf '%s' "$there" | jq -r '.[0].state // empty')
body=$(mktemp)
trap 'rm -f "$body"' EXIT
if [ -s "$1" ] && [ -z "$number" ]; then
    jq -Rs '{title: "Routers drifted", labels: ["slotcar-drift"], body: .}' "$1" > "$body"
    api POST /issues "$body" > /dev/null
elif [ -s "$1" ]; then
    jq -Rs '{state: "open", body: .}' "$1" > "$body"
    api PATCH "/issues/$number" "$body" > /dev/null
elif [ "$state" = open ]; then
    printf '{"state": "closed", "state_reason": "completed"}' > "$body"
    api PATCH "/issues/$number" "$body" > /dev/null
fi
