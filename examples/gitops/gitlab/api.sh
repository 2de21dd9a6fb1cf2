# Sourced: `api METHOD PATH [BODY_FILE]` calls GitLab's API for this project and prints the answer; `api_of_all` for no project.
# The token goes by standard input: a command line can be read by every process of the machine.
api_of_all() {
    printf 'header = "PRIVATE-TOKEN: %s"\n' "$GITLAB_TOKEN" |
        curl --config - --silent --show-error --fail-with-body --retry 3 --max-time 60 --request "$1" \
            --header 'Content-Type: application/json' ${3:+--data-binary "@$3"} "$CI_API_V4_URL$2"
}
api() {
    api_of_all "$1" "/projects/$CI_PROJECT_ID$2" ${3:+"$3"}
}
