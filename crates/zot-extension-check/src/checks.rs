//! Checks of what an extension registers, without calling any of it.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use zot_extension_contract::{CommandInfo, Level, Manifest, Registrations, accept_schema};
use zot_wire::extension::{EventKind, Hello, ResultBlock};

use crate::finding::Finding;
use crate::trial::{Introduction, RegisteredCommand, RegisteredTool};

/// Tools that zot has itself; they win over an extension's.
const BUILT_IN_TOOLS: [&str; 5] = ["read", "write", "edit", "bash", "skill"];

pub(crate) fn hello(manifest: &Manifest, hello: &Hello) -> Vec<Finding> {
    let mut findings = vec![Finding::ok(
        "handshake",
        format!("hello from {} {}", hello.name, hello.version),
    )];
    if hello.name != manifest.name {
        findings.push(Finding::warn(
            "handshake",
            format!(
                "the name in hello is {:?}, in the manifest {:?}",
                hello.name, manifest.name
            ),
            "zot uses the manifest's name: use the same in both",
        ));
    }
    if !manifest.version.is_empty() && hello.version != manifest.version {
        findings.push(Finding::warn(
            "handshake",
            format!(
                "the version in hello is {:?}, in the manifest {:?}",
                hello.version, manifest.version
            ),
            "use the same version in both",
        ));
    }
    findings
}

/// Reports how far this system enforces the declared permissions.
pub(crate) fn confinement(manifest: &Manifest, shortfalls: &[String]) -> Vec<Finding> {
    if !manifest.is_confined(Level::Off) {
        return Vec::new();
    }
    if shortfalls.is_empty() {
        let message = "this system holds it to them; what it may not do fails in it";
        return vec![Finding::ok("permissions", message)];
    }
    let hint = "this may differ on another system: test it there, too";
    let finding = |shortfall: &String| Finding::warn("permissions", shortfall, hint);
    shortfalls.iter().map(finding).collect()
}

/// "1 tool", "2 tools".
pub(crate) fn counted(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

pub(crate) fn registrations(introduction: &Introduction) -> Vec<Finding> {
    let mut findings = vec![if introduction.ready {
        Finding::ok(
            "registrations",
            format!(
                "{}, {}, ready",
                counted(introduction.commands.len(), "command"),
                counted(introduction.tools.len(), "tool")
            ),
        )
    } else {
        Finding::warn(
            "registrations",
            "no ready frame",
            "send {\"type\":\"ready\"} after the last register frame: without it zot waits for 250 ms of silence",
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
                format!("{field}: unknown event {name:?}, which is never sent"),
                format!("known: {}", known.join(", ")),
            ));
        }
    }
    findings
}

fn commands(commands: &[RegisteredCommand]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut host = Registrations::default();
    for command in commands {
        let check = format!("command /{}", command.name);
        if host.commands.iter().any(|known| known.name == command.name) {
            findings.push(twice(&check));
        }
        let added = host.add_command(CommandInfo {
            name: command.name.clone(),
            description: command.description.clone(),
            extension: String::new(),
        });
        if let Err(error) = added {
            findings.push(refused(&check, error));
        } else if command.description.is_empty() {
            findings.push(Finding::warn(
                check,
                "no description",
                "describe in a few words what it does: people see it when they type /",
            ));
        }
    }
    findings
}

fn tools(tools: &[RegisteredTool]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut host = Registrations::default();
    for tool in tools {
        let check = format!("tool {}", tool.name);
        if host.tools.iter().any(|known| known.name == tool.name) {
            findings.push(twice(&check));
        }
        let schema = tool.schema.as_ref();
        let added = host.add_tool(tool.name.clone(), tool.description.clone(), schema);
        if let Err(error) = added {
            findings.push(refused(&check, error));
            continue;
        }
        if BUILT_IN_TOOLS.contains(&tool.name.as_str()) {
            findings.push(Finding::warn(
                &check,
                "zot has a built-in tool of this name, which takes precedence",
                "choose another name",
            ));
        }
        if tool.description.is_empty() {
            findings.push(Finding::warn(
                &check,
                "no description",
                "the model uses the description to decide when to call it",
            ));
        }
        findings.extend(advice(&check, tool));
    }
    findings
}

/// A registration that the host would refuse.
fn refused(check: &str, error: String) -> Finding {
    let hint = "zot refuses it: correct the registration";
    Finding::fail(check, error, hint)
}

fn twice(check: &str) -> Finding {
    let hint = "zot uses the last one: register it once";
    Finding::warn(check, "registered twice", hint)
}

fn advice(check: &str, tool: &RegisteredTool) -> Vec<Finding> {
    let check = format!("{check} schema");
    let Some(schema) = &tool.schema else {
        let hint = "add \"schema\":{\"type\":\"object\",\"properties\":{}}";
        return vec![Finding::warn(check, "none: it takes no arguments", hint)];
    };
    let advice = accept_schema(Some(schema.get())).map(|accepted| accepted.advice);
    let advice = advice.unwrap_or_default();
    if advice.is_empty() {
        return vec![Finding::ok(check, "a JSON Schema object")];
    }
    let hint = "some providers refuse every request with such a schema: correct it";
    let finding = |advice| Finding::warn(&check, advice, hint);
    advice.into_iter().map(finding).collect()
}

/// Returns what is wrong with a block of a result.
pub(crate) fn block_problem(block: &ResultBlock) -> Option<String> {
    match block.kind.as_str() {
        "text" => None,
        "image" if block.mime_type.is_empty() => {
            Some("an image block without mime_type".to_owned())
        }
        "image" if block.data.is_empty() => Some("an image block without data".to_owned()),
        "image" => STANDARD
            .decode(&block.data)
            .err()
            .map(|error| format!("an image block whose data is not base64: {error}")),
        "" => Some("a content block without type".to_owned()),
        unknown => Some(format!("a content block of unknown type {unknown:?}")),
    }
}
