//! Decodes the body of a block.

#[cfg(test)]
mod tests;

use serde::Deserialize;
use serde_json::Value;

use super::Definitions;
use crate::definitions::Skill;

/// What a block asks for.
#[derive(Debug, PartialEq)]
pub(super) enum Interrupt<'a> {
    Execute { executor: String, code: String },
    Delegate { skill: &'a Skill, request: String },
}

#[derive(Deserialize)]
struct ToolCall {
    #[serde(default)]
    name: String,
    #[serde(default)]
    arguments: Option<Arguments>,
}

#[derive(Deserialize, Default)]
struct Arguments {
    #[serde(default)]
    code: String,
}

#[derive(Deserialize)]
struct Task {
    #[serde(default)]
    skill: String,
    #[serde(default)]
    request: String,
}

/// Decodes a block; the error is written for the model.
pub(super) fn read<'a>(
    tag: &str,
    body: &str,
    definitions: &'a Definitions,
) -> Result<Interrupt<'a>, String> {
    match tag {
        "task" => read_task(body, definitions),
        _ => read_tool_call(body, definitions),
    }
}

fn read_tool_call<'a>(body: &str, definitions: &Definitions) -> Result<Interrupt<'a>, String> {
    let call: ToolCall =
        parse(body).map_err(|error| format!("Malformed tool_call JSON: {error}"))?;
    let Some(executor) = definitions.functions.get(&call.name) else {
        return Err(format!("Error: Unknown tool function '{}'", call.name));
    };
    let Arguments { code } = call.arguments.unwrap_or_default();
    if code.trim().is_empty() {
        return Err("Error: Empty code block.".to_owned());
    }
    Ok(Interrupt::Execute {
        executor: executor.clone(),
        code,
    })
}

fn read_task<'a>(body: &str, definitions: &'a Definitions) -> Result<Interrupt<'a>, String> {
    let task: Task = parse(body).map_err(|error| format!("Malformed task JSON: {error}"))?;
    let Some(skill) = definitions.skills.get(&task.skill) else {
        return Err(format!("Error: Unknown skill '{}'", task.skill));
    };
    if task.request.trim().is_empty() {
        return Err("Error: Empty task request.".to_owned());
    }
    Ok(Interrupt::Delegate {
        skill,
        request: task.request,
    })
}

/// Rejects arrays, which serde would accept as the fields of an object in order.
fn parse<T: for<'de> Deserialize<'de>>(body: &str) -> Result<T, String> {
    let value: Value = serde_json::from_str(body).map_err(|error| error.to_string())?;
    if !value.is_object() {
        return Err("expected a JSON object".to_owned());
    }
    T::deserialize(value).map_err(|error| error.to_string())
}
