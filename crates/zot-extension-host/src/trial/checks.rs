//! What can be said about an extension by reading what it registers.

use serde_json::Value;
use zot_wire::extension::{EventKind, Hello, ResultBlock};

use super::finding::Finding;
use super::introduction::{Introduction, RegisteredCommand, RegisteredTool};
use super::schema::schema_problems;
use crate::manifest::Manifest;

/// Tools that zot has itself; they win over an extension's.
const BUILT_IN_TOOLS: [&str; 5] = ["read", "write", "edit", "bash", "skill"];

/// What model providers take as the name of a tool.
const MAX_TOOL_NAME: usize = 64;

pub(super) fn hello(manifest: &Manifest, hello: &Hello) -> Vec<Finding> {
    let mut findings = vec![Finding::ok(
        "handshake",
        format!("hello from {} {}", hello.name, hello.version),
    )];
    if hello.name != manifest.name {
        findings.push(Finding::warn(
            "handshake",
            format!(
                "hello says {:?}, the manifest says {:?}",
                hello.name, manifest.name
            ),
            "the manifest's name counts: use the same in both",
        ));
    }
    if !manifest.version.is_empty() && hello.version != manifest.version {
        findings.push(Finding::warn(
            "handshake",
            format!(
                "hello says version {:?}, the manifest {:?}",
                hello.version, manifest.version
            ),
            "use the same version in both",
        ));
    }
    findings
}

/// What the system holds an extension to that declares permissions.
pub(super) fn confinement(manifest: &Manifest, shortfalls: &[String]) -> Vec<Finding> {
    if manifest.permissions.is_none() {
        return Vec::new();
    }
    if shortfalls.is_empty() {
        let message = "this system holds it to them; what it may not do fails in it";
        return vec![Finding::ok("permissions", message)];
    }
    let hint = "it may go otherwise on another system: test it there, too";
    let finding = |shortfall: &String| Finding::warn("permissions", shortfall, hint);
    shortfalls.iter().map(finding).collect()
}

pub(super) fn registrations(introduction: &Introduction) -> Vec<Finding> {
    let mut findings = vec![if introduction.ready {
        Finding::ok(
            "registrations",
            format!(
                "{} commands, {} tools, ready",
                introduction.commands.len(),
                introduction.tools.len()
            ),
        )
    } else {
        Finding::warn(
            "registrations",
            "no ready frame",
            "send {\"type\":\"ready\"} after the last register frame: without it zot waits for a silence of 250 ms",
        )
    }];
    let capabilities = &introduction.hello.capabilities;
    for (capability, used) in [
        ("commands", !introduction.commands.is_empty()),
        ("tools", !introduction.tools.is_empty()),
    ] {
        if used && !capabilities.iter().any(|named| named == capability) {
            findings.push(Finding::warn(
                "handshake",
                format!("it registers {capability}, but hello does not list the capability"),
                format!("add {capability:?} to \"capabilities\""),
            ));
        }
    }
    findings.extend(subscription(introduction));
    findings.extend(commands(&introduction.commands));
    findings.extend(tools(&introduction.tools));
    findings
}

fn subscription(introduction: &Introduction) -> Vec<Finding> {
    let known = |interceptable: bool| {
        let kinds = EventKind::ALL.into_iter();
        let kinds = kinds.filter(|kind| !interceptable || kind.can_be_intercepted());
        kinds.map(EventKind::as_str).collect::<Vec<_>>()
    };
    let subscription = &introduction.subscription;
    let mut findings = Vec::new();
    for (field, names, known) in [
        ("events", &subscription.events, known(false)),
        ("intercept", &subscription.intercept, known(true)),
    ] {
        for name in names.iter().filter(|name| !known.contains(&name.as_str())) {
            findings.push(Finding::warn(
                "subscribe",
                format!("{field}: {name:?} is not known and will never come"),
                format!("known: {}", known.join(", ")),
            ));
        }
    }
    findings
}

fn commands(commands: &[RegisteredCommand]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (index, command) in commands.iter().enumerate() {
        let check = format!("command /{}", command.name);
        let name = &command.name;
        if name.is_empty() || name.starts_with('/') || name.contains(char::is_whitespace) {
            findings.push(Finding::fail(
                check,
                format!("{name:?} cannot be typed as a command"),
                "register a name without the slash and without spaces",
            ));
        } else if commands[..index].iter().any(|other| other.name == *name) {
            findings.push(Finding::warn(
                check,
                "registered twice",
                "the first one counts: register it once",
            ));
        } else if command.description.is_empty() {
            findings.push(Finding::warn(
                check,
                "no description",
                "say in a few words what it does: people see it when they type /",
            ));
        }
    }
    findings
}

fn tools(tools: &[RegisteredTool]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (index, tool) in tools.iter().enumerate() {
        let check = format!("tool {}", tool.name);
        if !is_tool_name(&tool.name) {
            findings.push(Finding::fail(
                &check,
                format!("{:?} is no name for a tool", tool.name),
                format!("use letters, digits, '_' and '-', at most {MAX_TOOL_NAME}"),
            ));
        }
        if tools[..index].iter().any(|other| other.name == tool.name) {
            findings.push(Finding::warn(
                &check,
                "registered twice",
                "the first one counts: register it once",
            ));
        }
        if BUILT_IN_TOOLS.contains(&tool.name.as_str()) {
            findings.push(Finding::warn(
                &check,
                "zot has a tool of this name, and it wins",
                "choose another name",
            ));
        }
        if tool.description.is_empty() {
            findings.push(Finding::warn(
                &check,
                "no description",
                "the model decides by the description when to call it",
            ));
        }
        findings.extend(schema(&check, tool));
    }
    findings
}

fn schema(check: &str, tool: &RegisteredTool) -> Vec<Finding> {
    let check = format!("{check} schema");
    let Some(raw) = &tool.schema else {
        return vec![Finding::fail(
            check,
            "no schema",
            "add \"schema\":{\"type\":\"object\",\"properties\":{}}",
        )];
    };
    let schema: Value = serde_json::from_str(raw.get()).unwrap_or_default();
    let problems = schema_problems(&schema);
    if problems.is_empty() {
        return vec![Finding::ok(check, "a JSON Schema object")];
    }
    let failed = |problem| {
        let hint = "zot refuses the tool, or the model's provider does: correct its schema";
        Finding::fail(&check, problem, hint)
    };
    problems.into_iter().map(failed).collect()
}

pub(super) fn is_tool_name(name: &str) -> bool {
    let known = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    (1..=MAX_TOOL_NAME).contains(&name.len()) && name.bytes().all(known)
}

/// What is wrong with a block of a result.
pub(super) fn block_problem(block: &ResultBlock) -> Option<String> {
    match block.kind.as_str() {
        "text" => None,
        "image" if block.mime_type.is_empty() => {
            Some("an image block without mime_type".to_owned())
        }
        "image" if !is_base64(&block.data) => {
            Some("an image block whose data is not base64".to_owned())
        }
        "image" => None,
        "" => Some("a content block without type".to_owned()),
        unknown => Some(format!("a content block of unknown type {unknown:?}")),
    }
}

fn is_base64(text: &str) -> bool {
    let body = text.trim_end_matches('=');
    let known = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'+' || byte == b'/';
    !body.is_empty() && text.len().is_multiple_of(4) && body.bytes().all(known)
}
