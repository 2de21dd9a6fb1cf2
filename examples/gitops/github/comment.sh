#!/bin/sh
# One comment in a pull request: found by the first line of FILE among the comments of COMMENTER, and edited; made where there is
# none. Needs GITHUB_TOKEN, GITHUB_API_URL, GITHUB_REPOSITORY, PULL_REQUEST; curl, jq. Use: comment.sh FILE
set -eu
. "$(dirname "$0")/api.sh"
marker=$(head -n 1 "$1")
page=1
found=
while [ -z "$found" ]; do
    listed=$(api GET "/issues/$PULL_REQUEST/comments?per_page=100&page=$page")
    found=$(printf '%s' "$listed" | jq -r --arg marker "$marker" --arg who "${COMMENTER:-github-actions[bot]}" \
        '[.[] | select(.user.login == $who and (.body | startswith($marker))) | .id] | first // empty')
    [ "$(printf '%s' "$listed" | jq length)" -eq 100 ] || break
    page=$((page + 1))
done
body=$(mktemp)
trap 'rm -f "$body"' EXIT
jq -Rs '{body: .}' "$1" > "$body"
if [ -n "$found" ]; then
    api PATCH "/issues/comments/$found" "$body" > /dev/null
else
    api POST "/issues/$PULL_REQUEST/comments" "$body" > /dev/null
fi
