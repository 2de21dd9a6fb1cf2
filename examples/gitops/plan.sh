#!/bin/sh
# Plans the files: plan.json for apply.sh, plan.md for a comment. Ends as `slotcar plan` does: 3 where something is refused.
# Needs SLOTCAR_API, SLOTCAR_TOKEN, SLOTCAR_SET (letters, digits, `.`, `_`, `-`). SLOTCAR_OWNERS: of whom the files speak, also
# when they have nothing of them any more; names with spaces between. Use: plan.sh FILE_OR_FOLDER...
set -eu
for owner in ${SLOTCAR_OWNERS:-}; do
    set -- --owner "$owner" "$@"
done
ended=0
slotcar plan --set "$SLOTCAR_SET" -o plan.json --format markdown "$@" > plan.md 2> plan.err || ended=$?
cat plan.err >&2
if [ ! -s plan.md ]; then # the files are wrong, or the controller did not answer: the comment says so
    {
        printf '<!-- slotcar-plan %s -->\n\n### Slotcar: no plan\n\n```text\n' "$SLOTCAR_SET"
        tr -d '`' < plan.err | head -c 50000
        printf '\n```\n'
    } > plan.md
fi
rm plan.err
exit "$ended"
