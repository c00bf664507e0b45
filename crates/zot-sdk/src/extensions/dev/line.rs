//! Parses lines typed to an extension under development.

use serde_json::Value;
use zot_extension_check::{HostFrame, Introduction, RawJson};

/// Returns the frame for a line, or what is wrong with the line.
pub(super) fn parse(
    line: &str,
    id: String,
    introduction: &Introduction,
    panel: Option<&str>,
) -> Result<HostFrame, String> {
    let line = line.trim();
    if let Some(command) = line.strip_prefix('/') {
        let (name, args) = command
            .split_once(char::is_whitespace)
            .unwrap_or((command, ""));
        return Ok(HostFrame::CommandInvoked {
            id,
            name: name.to_owned(),
            args: args.trim().to_owned(),
        });
    }
    let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let rest = rest.trim();
    if word == "panel" && !rest.is_empty() {
        let panel_id = panel.ok_or("no panel is open")?.to_owned();
        return Ok(HostFrame::key_in_panel(
            panel_id,
            rest.to_owned(),
            String::new(),
        ));
    }
    let is_tool = |name: &str| introduction.tools.iter().any(|tool| tool.name == name);
    let (name, arguments) = match word {
        name if is_tool(name) => (name, rest),
        "tool" => match introduction.tools.as_slice() {
            [only] if rest.starts_with('{') || rest.is_empty() => (only.name.as_str(), rest),
            _ => rest.split_once(char::is_whitespace).unwrap_or((rest, "")),
        },
        _ => {
            return Err(format!(
                "unknown command {word:?}: use /command args, tool NAME {{\"a\": 1}} or panel KEY"
            ));
        }
    };
    let arguments = match arguments.trim() {
        "" => "{}",
        arguments => arguments,
    };
    match serde_json::from_str::<Value>(arguments) {
        Ok(Value::Object(_)) => {}
        Ok(_) => return Err("expected a JSON object as the arguments of a tool".to_owned()),
        Err(error) => {
            return Err(format!(
                "expected a JSON object as the arguments of a tool: {error}"
            ));
        }
    }
    Ok(HostFrame::ToolCall {
        id,
        name: name.to_owned(),
        args: RawJson::try_from(arguments.to_owned()).map_err(|error| error.to_string())?,
    })
}
