//! `zot ext list`.

use std::io;
use std::process::ExitCode;

use serde_json::{Value, json};
use zot_sdk::Workspace;
use zot_sdk::extensions::check::Introduction;
use zot_sdk::extensions::{
    self, BrokenExtension, ExtensionList, ExtensionState, Level, ListedExtension, Starting, summary,
};
use zot_terminal::Print;

use super::permissions;
use crate::failure::Failure;
use crate::output::{Format, print, print_pretty_json};
use crate::text::{one_line, write_table};

const HEADINGS: [&str; 7] = [
    "NAME",
    "VERSION",
    "STATE",
    "SOURCE",
    "PERMISSIONS",
    "COMMANDS",
    "TOOLS",
];

pub(super) async fn run(
    workspace: &Workspace,
    starting: Starting,
    format: Format,
) -> Result<ExitCode, Failure> {
    let list = extensions::list(workspace, starting).await;
    match format {
        Format::Text => print(|output| write(output, &list))?,
        Format::Json => print_pretty_json(&as_json(&list))?,
    }
    Ok(ExitCode::SUCCESS)
}

fn write(output: &mut dyn Print, list: &ExtensionList) -> io::Result<()> {
    if list.found.is_empty() && list.broken.is_empty() {
        return writeln!(
            output,
            "there are no extensions: `zot ext install` installs one, `zot ext new` creates one"
        );
    }
    let mut rows = vec![HEADINGS.map(str::to_owned)];
    rows.extend(list.found.iter().map(|found| row(found, list.minimum)));
    rows.extend(list.broken.iter().map(broken_row));
    write_table(output, &rows)?;
    write_enforcement(output, &list.found)
}

fn row(listed: &ListedExtension, minimum: Level) -> [String; 7] {
    let (commands, tools) = match &listed.introduction {
        Some(Introduction {
            commands, tools, ..
        }) => (
            joined(commands.iter().map(|command| &command.name), "/"),
            joined(tools.iter().map(|tool| &tool.name), ""),
        ),
        None => ("-".to_owned(), "-".to_owned()),
    };
    let manifest = &listed.found.manifest;
    let state = match &listed.state {
        ExtensionState::Enabled => "enabled".to_owned(),
        ExtensionState::Disabled => "disabled".to_owned(),
        ExtensionState::Shadowed { by } => format!("shadowed by {}", by.display()),
        ExtensionState::Broken { error } => format!("broken: {error}"),
    };
    [
        one_line(&manifest.name),
        or_dash(one_line(&manifest.version)),
        one_line(&state),
        listed.found.source.as_str().to_owned(),
        one_line(&summary(
            manifest.effective_sandbox(minimum),
            manifest.permissions.as_ref(),
        )),
        commands,
        tools,
    ]
}

fn broken_row(broken: &BrokenExtension) -> [String; 7] {
    let dash = || "-".to_owned();
    [
        one_line(&broken.name),
        dash(),
        one_line(&format!("broken: {}", broken.error)),
        broken.source.as_str().to_owned(),
        dash(),
        dash(),
        dash(),
    ]
}

/// Writes a line for all extensions that are confined in the same way.
fn write_enforcement(output: &mut dyn Print, found: &[ListedExtension]) -> io::Result<()> {
    let mut lines: Vec<(String, Vec<String>)> = Vec::new();
    for ListedExtension { found, .. } in found {
        let Some(enforcement) = permissions::enforcement(&found.manifest) else {
            continue;
        };
        let name = one_line(&found.manifest.name);
        match lines.iter_mut().find(|(known, _)| *known == enforcement) {
            Some((_, names)) if names.contains(&name) => {}
            Some((_, names)) => names.push(name),
            None => lines.push((enforcement, vec![name])),
        }
    }
    if !lines.is_empty() {
        writeln!(output)?;
    }
    for (enforcement, names) in lines {
        writeln!(output, "{}: {enforcement}", names.join(", "))?;
    }
    Ok(())
}

fn joined<'a>(names: impl Iterator<Item = &'a String>, prefix: &str) -> String {
    let names: Vec<String> = names
        .map(|name| format!("{prefix}{}", one_line(name)))
        .collect();
    or_dash(names.join(" "))
}

fn or_dash(text: String) -> String {
    match text.is_empty() {
        true => "-".to_owned(),
        false => text,
    }
}

fn as_json(list: &ExtensionList) -> Vec<Value> {
    let found = list.found.iter().map(listed_as_json);
    let broken = list.broken.iter().map(|broken| {
        json!({
            "name": broken.name,
            "state": "broken",
            "reason": broken.error,
            "source": broken.source.as_str(),
            "directory": broken.directory.display().to_string(),
        })
    });
    found.chain(broken).collect()
}

fn listed_as_json(listed: &ListedExtension) -> Value {
    let (state, reason) = match &listed.state {
        ExtensionState::Enabled => ("enabled", None),
        ExtensionState::Disabled => ("disabled", None),
        ExtensionState::Shadowed { by } => ("shadowed", Some(by.display().to_string())),
        ExtensionState::Broken { error } => ("broken", Some(error.clone())),
    };
    let introduction = listed.introduction.as_ref();
    let found = &listed.found;
    let manifest = &found.manifest;
    json!({
        "name": manifest.name,
        "version": manifest.version,
        "description": manifest.description,
        "language": manifest.language,
        "state": state,
        "reason": reason,
        "source": found.source.as_str(),
        "directory": found.directory.display().to_string(),
        "sandbox": manifest.sandbox.map(Level::name),
        "permissions": permissions::as_json(manifest.sandbox, manifest.permissions.as_ref()),
        "enforcement": permissions::enforcement_as_json(manifest),
        "commands": introduction.map(commands_json),
        "tools": introduction.map(tools_json),
    })
}

fn commands_json(introduction: &Introduction) -> Value {
    let commands = introduction.commands.iter();
    commands
        .map(|command| json!({"name": command.name, "description": command.description}))
        .collect()
}

fn tools_json(introduction: &Introduction) -> Value {
    let tools = introduction.tools.iter();
    tools
        .map(|tool| {
            let schema = tool.schema.as_ref();
            json!({
                "name": tool.name,
                "description": tool.description,
                "schema": schema.and_then(|raw| serde_json::from_str::<Value>(raw.get()).ok()),
            })
        })
        .collect()
}
