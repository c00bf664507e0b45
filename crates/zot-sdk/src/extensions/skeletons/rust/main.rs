//! {{name}}: an extension of zot. Frames are JSON objects, one a line: zot's on standard input,
//! ours on standard output. Use `eprintln!`, never `println!`; `zot ext logs {{name}}` shows it.

use std::io::{self, BufRead, Write};

use serde_json::{json, Value};

/// What `/{{word}}` does: see the protocol for the other actions (prompt, insert, open_panel, noop).
fn command(args: &str) -> Value {
    let name = if args.is_empty() { "world" } else { args };
    json!({"action": "display", "display": format!("Hello, {name}!")})
}

/// What the model gets from `{{word}}_greet`.
fn tool(args: &Value) -> Result<String, String> {
    let name = args["name"].as_str().ok_or("name is missing")?;
    Ok(format!("Hello, {name}!"))
}

fn main() -> io::Result<()> {
    send(&json!({"type": "hello", "name": "{{name}}", "version": "0.1.0", "capabilities": ["commands", "tools"]}))?;
    send(&json!({"type": "register_command", "name": "{{word}}", "description": "say hello"}))?;
    send(&json!({
        "type": "register_tool",
        "name": "{{word}}_greet",
        "description": "Greets someone by name.",
        "schema": {
            "type": "object",
            "properties": {"name": {"type": "string", "description": "whom to greet"}},
            "required": ["name"],
        },
    }))?;
    send(&json!({"type": "ready"}))?;
    for line in io::stdin().lock().lines() {
        let Ok(frame) = serde_json::from_str::<Value>(&line?) else {
            continue;
        };
        match frame["type"].as_str() {
            Some("command_invoked") => {
                let mut response = command(frame["args"].as_str().unwrap_or_default());
                response["type"] = "command_response".into();
                response["id"] = frame["id"].clone();
                send(&response)?;
            }
            Some("tool_call") => {
                let result = tool(&frame["args"]);
                let is_error = result.is_err();
                // The model can do something about an error, so it is told.
                let text = result.unwrap_or_else(|error| error);
                let content = json!([{"type": "text", "text": text}]);
                send(&json!({"type": "tool_result", "id": frame["id"], "content": content, "is_error": is_error}))?;
            }
            Some("shutdown") => return send(&json!({"type": "shutdown_ack"})),
            // Of no interest here, or of a later version of the protocol.
            _ => {}
        }
    }
    Ok(())
}

fn send(frame: &Value) -> io::Result<()> {
    let mut output = io::stdout().lock();
    writeln!(output, "{frame}")?;
    output.flush()
}
