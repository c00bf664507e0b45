#!/usr/bin/env bash
# Talks to an agent through `zot rpc`: see README.md beside this file, and docs/rpc.md.
set -euo pipefail
# Job control gives zot a process group of its own: the terminal's Ctrl-C shall reach this script only.
set -m

if ((BASH_VERSINFO[0] < 4)) || ! command -v jq >/dev/null; then
    echo "client.sh needs bash 4 and jq" >&2
    exit 2
fi
if [ $# -eq 0 ]; then
    echo "usage: [ZOT=zot] [YES=1] [STATE=file] client.sh PROMPT [FLAGS OF ZOT]" >&2
    exit 2
fi
prompt=$1
shift

coproc zot { exec "${ZOT:-zot}" rpc "$@"; }
pid=$zot_PID
exec 3<&"${zot[0]}" 4>&"${zot[1]}"

# One frame from zot, in $frame.
receive() {
    if ! IFS= read -r frame <&3; then
        echo "zot ended" >&2
        exit 1
    fi
}

field() { jq -r "$1" <<<"$frame"; }

# Reads up to the response of a command; events that come before it are dealt with.
response() {
    while receive; do
        case $frame in
            '{"type":"response"'*)
                if [ "$(field .id)" = "$1" ]; then
                    [ "$(field .success)" = true ] && return
                    field '"zot refused: \(.error) (\(.code))"' >&2
                    exit 1
                fi
                ;;
            *) event ;;
        esac
    done
}

status=0 ended=
event() {
    case $frame in
        '{"type":"assistant_message"'*) field '.content[] | select(.type == "text") | .text' ;;
        '{"type":"tool_call"'*) field '"-> \(.name) \(.args | tojson)"' >&2 ;;
        '{"type":"tool_confirm"'*) confirm ;;
        '{"type":"error"'*) status=1 && field '"error (\(.code)): \(.message)"' >&2 ;;
        '{"type":"done"'*) ended=1 ;;
    esac
}

confirm() {
    local answer=${YES:+y}
    if [ -z "$answer" ]; then
        field '.preview // (.args | tojson)' >&2
        read -r -p "run $(field .name)? [y]es, [n]o, [a]lways: " answer || answer=n
    fi
    jq -c --arg answer "$answer" '
        {id, type: "confirm", allow: ($answer | test("^[ya]"))}
        + if $answer | test("^a") then {remember: "tool"} else {} end' <<<"$frame" >&4
}

abort() {
    # Remembered here, because no event says so when a tool was what ran.
    status=130
    echo '{"id":"abort","type":"abort"}' >&4
}
trap abort INT

# Whole messages instead of pieces: jq need not be started for every word.
echo '{"id":"events","type":"subscribe","events":["assistant_message","tool_call","tool_confirm","error","done"]}' >&4
response events

if [ -s "${STATE:-}" ]; then
    jq -c '{id: "set", type: "set_messages", messages: .}' "$STATE" >&4
    response set
    field '.data.repaired | select(add > 0) | "the conversation was repaired: \(.)"' >&2
fi

jq -cn --arg message "$prompt" '{id: "prompt", type: "prompt", message: $message}' >&4
response prompt
while [ -z "$ended" ]; do
    receive
    event
done

if [ -n "${STATE:-}" ]; then
    echo '{"id":"get","type":"get_messages","full":true}' >&4
    response get
    jq -c .data.messages <<<"$frame" >"$STATE.new"
    mv "$STATE.new" "$STATE"
fi

# The end of its input is what ends zot; the coprocess's own descriptor has to go as well.
exec 4>&- {zot[1]}>&-
wait "$pid" || true
exit "$status"
