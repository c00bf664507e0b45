#!/bin/sh
# Talks to the extension as zot does.
set -eu
cd "$(dirname "$0")"

answers=$(./main.sh <<'FRAMES'
{"type":"hello_ack","protocol_version":1}
{"type":"of_a_later_version"}
{"type":"command_invoked","id":"1","name":"{{word}}","args":"Ada"}
{"type":"command_invoked","id":"2","name":"{{word}}"}
{"type":"tool_call","id":"3","name":"{{word}}_greet","args":{"name":"Ada"}}
{"type":"tool_call","id":"4","name":"{{word}}_greet","args":{}}
{"type":"shutdown"}
FRAMES
)

# check NAME FILTER: the filter must find exactly one such frame among the answers.
check() {
    if printf '%s\n' "$answers" | jq -es "[.[] | select($2)] | length == 1" >/dev/null; then
        echo "ok    $1"
    else
        echo "FAIL  $1"
        printf '%s\n' "$answers"
        exit 1
    fi
}

check "says hello" '.type == "hello" and .name == "{{name}}"'
check "is ready" '.type == "ready"'
check "command" '.id == "1" and .display == "Hello, Ada!"'
check "command without arguments" '.id == "2" and .display == "Hello, world!"'
check "tool" '.id == "3" and .content[0].text == "Hello, Ada!"'
check "tool with wrong arguments" '.id == "4" and .is_error'
check "shutdown" '.type == "shutdown_ack"'
