#!/bin/sh
# A tool that keeps a note and a command that shows them, in POSIX shell. Needs jq, nothing else.
# shellcheck disable=SC2016  # the variables in quotes are jq's

# Writes one frame: send 'a jq object' [--arg name value]…
send() {
    filter=$1
    shift
    jq -cn "$@" "$filter"
}

# The value at a path of the frame in $line, or nothing.
field() {
    printf '%s\n' "$line" | jq -r "$1 // empty"
}

shown_notes() {
    [ -s "$file" ] || return 0
    number=0
    while IFS= read -r note; do
        number=$((number + 1))
        printf '%s. %s\n' "$number" "$note"
    done <"$file"
}

result() {
    send '{type: "tool_result", id: $id, content: [{type: "text", text: $text}], is_error: ($error == "yes")}' \
        --arg id "$1" --arg error "$2" --arg text "$3"
}

display() {
    send '{type: "command_response", id: $id, action: "display", display: $text}' --arg id "$1" --arg text "$2"
}

# Appends the text at a path of the frame: one note is one line of the file.
keep() {
    text=$(printf '%s\n' "$line" | jq -r "$1"' // "" | gsub("\\s+"; " ") | ltrimstr(" ") | rtrimstr(" ")')
    [ -n "$text" ] && printf '%s\n' "$text" >>"$file"
}

call_tool() {
    if keep .args.text; then
        result "$1" no "kept: $text"
    else
        result "$1" yes "nothing was kept: text is empty, or the file cannot be written"
    fi
}

# Every question gets an answer, whatever happens: zot waits for it.
run_command() {
    case $(field .args) in
    "") notes=$(shown_notes) && display "$1" "${notes:-no notes yet}" ;;
    clear) : >"$file" && display "$1" "all notes forgotten" ;;
    *) keep .args && display "$1" "kept: $text" ;;
    esac || send '{type: "command_response", id: $id, action: "noop", error: "the notes cannot be written"}' --arg id "$1"
}

send '{type: "hello", name: "notes", version: "1.0.0", capabilities: ["commands", "tools"]}'
send '{type: "register_command", name: "notes", description: "show the notes; with text, keep it; clear forgets all"}'
send '{type: "register_tool", name: "keep_note", description: "Keep a short note for later.",
       schema: {type: "object", properties: {text: {type: "string"}}, required: ["text"]}}'
send '{type: "ready"}'

while IFS= read -r line; do
    case $(field .type) in
    hello_ack) file=$(field .data_dir)/notes.txt ;;
    tool_call) call_tool "$(field .id)" ;;
    command_invoked) run_command "$(field .id)" ;;
    shutdown)
        send '{type: "shutdown_ack"}'
        exit 0
        ;;
    esac
done
