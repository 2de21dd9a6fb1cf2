#!/bin/sh
# One comment in a merge request: found by the first line of FILE among those of the token's own user, and edited; made where
# there is none. Needs GITLAB_TOKEN, CI_API_V4_URL, CI_PROJECT_ID, CI_MERGE_REQUEST_IID; curl, jq. Use: comment.sh FILE
set -eu
. "$(dirname "$0")/api.sh"
marker=$(head -n 1 "$1")
who=$(api_of_all GET /user | jq .id)
notes="/merge_requests/$CI_MERGE_REQUEST_IID/notes"
page=1
found=
while [ -z "$found" ]; do
    listed=$(api GET "$notes?per_page=100&page=$page")
    found=$(printf '%s' "$listed" | jq -r --arg marker "$marker" --argjson who "$who" \
        '[.[] | select(.author.id == $who and (.body | startswith($marker))) | .id] | first // empty')
    [ "$(printf '%s' "$listed" | jq length)" -eq 100 ] || break
    page=$((page + 1))
done
body=$(mktemp)
trap 'rm -f "$body"' EXIT
jq -Rs '{body: .}' "$1" > "$body"
if [ -n "$found" ]; then
    api PUT "$notes/$found" "$body" > /dev/null
else
    api POST "$notes" "$body" > /dev/null
fi
