#!/bin/sh
# {{name}}: an extension of zot, with jq. Frames are JSON objects, one a line: zot's on standard
# input, ours on standard output. Everything else goes to standard error: zot ext logs {{name}}
set -u

# What /{{word}} shows.
command_text() { printf 'Hello, %s!' "${1:-world}"; }

# What the model gets from {{word}}_greet.
tool_text() { printf 'Hello, %s!' "$1"; }

cat <<'FRAMES'
{"type":"hello","name":"{{name}}","version":"0.1.0","capabilities":["commands","tools"]}
{"type":"register_command","name":"{{word}}","description":"say hello"}
{"type":"register_tool","name":"{{word}}_greet","description":"Greets someone by name.","schema":{"type":"object","properties":{"name":{"type":"string","description":"whom to greet"}},"required":["name"]}}
{"type":"ready"}
FRAMES

while IFS= read -r line; do
    field() { printf '%s\n' "$line" | jq -r "$1"; }
    case $(field '.type') in
    command_invoked)
        jq -nc --arg id "$(field '.id')" --arg text "$(command_text "$(field '.args // ""')")" \
            '{type: "command_response", id: $id, action: "display", display: $text}'
        ;;
    tool_call)
        if [ "$(field '.args.name | type')" = string ]; then
            text=$(tool_text "$(field '.args.name')") failed=false
        else
            text="name is missing" failed=true
        fi
        jq -nc --arg id "$(field '.id')" --arg text "$text" --argjson failed "$failed" \
            '{type: "tool_result", id: $id, content: [{type: "text", text: $text}], is_error: $failed}'
        ;;
    shutdown)
        echo '{"type":"shutdown_ack"}'
        exit 0
        ;;
    esac # Other frames are of no interest here, or of a later version of the protocol.
done
