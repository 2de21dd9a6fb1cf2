# Sourced: `api METHOD PATH [BODY_FILE]` calls GitHub's API for this repository and prints the answer.
# The token goes by standard input: a command line can be read by every process of the machine.
api() {
    printf 'header = "Authorization: Bearer %s"\n' "$GITHUB_TOKEN" |
        curl --config - --silent --show-error --fail-with-body --retry 3 --max-time 60 --request "$1" \
            --header 'Accept: application/vnd.github+json' --header 'Content-Type: application/json' \
            ${3:+--data-binary "@$3"} "$GITHUB_API_URL/repos/$GITHUB_REPOSITORY$2"
}
