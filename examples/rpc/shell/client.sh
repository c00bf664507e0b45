#!/usr/bin/env bash
# One prompt through `zot rpc`; see ../README.md. Needs bash 4 and jq.
set -euo pipefail
# Job control gives zot a process group of its own: the terminal's Ctrl-C shall reach this script only.
set -m

if ((BASH_VERSINFO[0] < 4)) || ! command -v jq >/dev/null; then
    echo "client.sh needs bash 4 and jq" >&2
    exit 2
fi
allow=false verdict=refused
if [ "${1-}" = --yes ]; then
    allow=true verdict=allowed
    shift
fi
if [ $# -eq 0 ]; then
    echo "usage: client.sh [--yes] PROMPT [FLAGS OF ZOT]" >&2
    exit 2
fi
prompt=$1
shift

# One jq for all frames; it writes the kind of a frame, its id and its text, each ended by a NUL.
# shellcheck disable=SC2016
fields='
    def field: (. // "" | if type == "string" then . else tojson end | gsub("\u0000"; "")) + "\u0000";
    if .type == "response" then (if .success then empty else ["refused", "", "\(.error) (\(.code))"] end)
    elif .type == "text_delta" then ["text", "", .delta]
    elif .type == "tool_call" then ["call", .id, "\(.name) \(.args | tojson)"]
    elif .type == "tool_confirm" then ["confirm", .id, "\(.name): \(.preview // "")"]
    elif .type == "error" then ["error", "", "(\(.code)): \(.message)"]
    elif .type == "done" then ["done", "", ""]
    else empty end
    | map(field) | add'
coproc zot { "${ZOT:-zot}" rpc "$@" | jq --unbuffered -j "$fields"; }
# shellcheck disable=SC2154
pid=$zot_PID
exec 3<&"${zot[0]}" 4>&"${zot[1]}"

status=0
# shellcheck disable=SC2317
abort() {
    # Remembered here, because no event says so when a tool was what ran.
    status=130
    echo '{"type":"abort"}' >&4
}
trap abort INT

# A zot that has ended already is told of below, not by the signal of a broken pipe.
trap '' PIPE
jq -cn --arg message "$prompt" '{type: "prompt", message: $message}' 2>/dev/null >&4 || true
while :; do
    if ! { IFS= read -r -d '' kind && IFS= read -r -d '' id && IFS= read -r -d '' text; } <&3; then
        echo "zot ended" >&2
        exit 1
    fi
    case $kind in
        text) printf '%s' "$text" ;;
        call) printf -- '-> %s\n' "$text" >&2 ;;
        confirm)
            printf '%s: %s\n' "$verdict" "$text" >&2
            jq -cn --arg id "$id" --argjson allow "$allow" '{type: "confirm", call_id: $id, allow: $allow}' >&4
            ;;
        error)
            status=1
            printf 'error %s\n' "$text" >&2
            ;;
        refused)
            # An answer to a question that is over is refused, too, and that is all right.
            [[ $text == *"(not_waiting)" ]] || { printf 'zot refused: %s\n' "$text" >&2 && exit 1; }
            ;;
        done) break ;;
    esac
done
echo
# The end of its input is what ends zot; the coprocess's own descriptor has to go as well.
# shellcheck disable=SC1083,SC2093
exec 4>&- {zot[1]}>&-
wait "$pid" || true
exit "$status"
