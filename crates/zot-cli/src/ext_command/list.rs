//! `zot ext list`.

use std::env;
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::task::JoinSet;
use zot_sdk::VERSION;
use zot_sdk::extensions::check::{Introduction, Stage, look_at};
use zot_sdk::extensions::{Discovery, Found, LoadProblem, SearchPaths, Source, Standing, discover};

use super::terminal::{one_line, write_table};
use super::{Failure, home, permissions};
use crate::output::Format;
use crate::output::say_pretty_json;

/// How long an extension may take to tell what it has.
const LOOK_TIME: Duration = Duration::from_secs(3);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Starting {
    Enabled,
    Skip,
}

/// What was learnt by starting an extension; nothing when it was not started.
type Learnt = Option<Result<Introduction, String>>;

pub(super) async fn run(starting: Starting, format: Format) -> Result<ExitCode, Failure> {
    let cwd = env::current_dir()?;
    let paths = SearchPaths::usual(&cwd, &home());
    let discovery = discover(&paths);
    let learnt = match starting {
        Starting::Enabled => look_at_all(&discovery, cwd).await,
        Starting::Skip => vec![None; discovery.found.len()],
    };
    match format {
        Format::Text => write_all(&discovery, &learnt, &paths)?,
        Format::Json => write_json(&discovery, &learnt, &paths)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Starts the enabled extensions side by side.
async fn look_at_all(discovery: &Discovery, cwd: PathBuf) -> Vec<Learnt> {
    let mut learnt = vec![None; discovery.found.len()];
    let mut looks = JoinSet::new();
    for (index, found) in discovery.found.iter().enumerate() {
        if found.standing != Standing::Enabled {
            continue;
        }
        let found = found.clone();
        let stage = Stage {
            zot_version: VERSION.to_owned(),
            provider: String::new(),
            model: String::new(),
            cwd: cwd.clone(),
            data_dir: found.manifest.data_dir(&found.directory, &home()),
        };
        looks.spawn(async move { (index, look_at(&found, &stage, LOOK_TIME).await) });
    }
    while let Some(look) = looks.join_next().await {
        if let Ok((index, look)) = look {
            learnt[index] = Some(look.map_err(|error| error.to_string()));
        }
    }
    learnt
}

fn write_all(discovery: &Discovery, learnt: &[Learnt], paths: &SearchPaths) -> io::Result<()> {
    let mut output = zot_terminal::buffered_stdout();
    if discovery.found.is_empty() && discovery.problems.is_empty() {
        writeln!(
            output,
            "no extensions; `zot ext install` installs one, `zot ext new` makes one"
        )?;
        return output.flush();
    }
    let mut rows = vec![
        [
            "NAME",
            "VERSION",
            "STATE",
            "SOURCE",
            "PERMISSIONS",
            "COMMANDS",
            "TOOLS",
        ]
        .map(str::to_owned),
    ];
    for (found, learnt) in discovery.found.iter().zip(learnt) {
        let (commands, tools) = match learnt {
            Some(Ok(introduction)) => (
                joined(
                    introduction.commands.iter().map(|command| &command.name),
                    "/",
                ),
                joined(introduction.tools.iter().map(|tool| &tool.name), ""),
            ),
            _ => ("-".to_owned(), "-".to_owned()),
        };
        let manifest = &found.manifest;
        rows.push([
            one_line(&manifest.name),
            or_dash(one_line(&manifest.version)),
            one_line(&state_in_words(found, learnt)),
            found.source.as_str().to_owned(),
            one_line(&permissions::summary(manifest.permissions.as_ref())),
            commands,
            tools,
        ]);
    }
    for problem in &discovery.problems {
        let dash = || "-".to_owned();
        rows.push([
            one_line(&name_of(problem)),
            dash(),
            one_line(&format!("broken: {}", problem.error)),
            source_of(problem, paths).as_str().to_owned(),
            dash(),
            dash(),
            dash(),
        ]);
    }
    write_table(&mut output, &rows)?;
    write_enforcement(&mut output, discovery)?;
    output.flush()
}

/// A line for all extensions that are held in the same way.
fn write_enforcement(output: &mut impl io::Write, discovery: &Discovery) -> io::Result<()> {
    let mut lines: Vec<(String, Vec<String>)> = Vec::new();
    for found in &discovery.found {
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

fn state_in_words(found: &Found, learnt: &Learnt) -> String {
    match (&found.standing, learnt) {
        (Standing::Enabled, Some(Err(error))) => format!("broken: {error}"),
        (Standing::Enabled, _) => "enabled".to_owned(),
        (Standing::Disabled, _) => "disabled".to_owned(),
        (Standing::Shadowed { by }, _) => format!("shadowed by {}", by.display()),
    }
}

fn write_json(discovery: &Discovery, learnt: &[Learnt], paths: &SearchPaths) -> io::Result<()> {
    let mut entries = Vec::new();
    for (found, learnt) in discovery.found.iter().zip(learnt) {
        let (state, reason) = match (&found.standing, learnt) {
            (Standing::Enabled, Some(Err(error))) => ("broken", Some(error.clone())),
            (Standing::Enabled, _) => ("enabled", None),
            (Standing::Disabled, _) => ("disabled", None),
            (Standing::Shadowed { by }, _) => ("shadowed", Some(by.display().to_string())),
        };
        let introduction = learnt.as_ref().and_then(|learnt| learnt.as_ref().ok());
        let manifest = &found.manifest;
        entries.push(json!({
            "name": manifest.name,
            "version": manifest.version,
            "description": manifest.description,
            "language": manifest.language,
            "state": state,
            "reason": reason,
            "source": found.source.as_str(),
            "directory": found.directory.display().to_string(),
            "permissions": permissions::as_json(manifest.permissions.as_ref()),
            "enforcement": permissions::enforcement_as_json(manifest),
            "commands": introduction.map(commands_json),
            "tools": introduction.map(tools_json),
        }));
    }
    for problem in &discovery.problems {
        entries.push(json!({
            "name": name_of(problem),
            "state": "broken",
            "reason": problem.error,
            "source": source_of(problem, paths).as_str(),
            "directory": problem.path.display().to_string(),
        }));
    }
    say_pretty_json(&entries)
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

/// A broken manifest tells no name; its directory does.
fn name_of(problem: &LoadProblem) -> String {
    let name = problem.path.file_name().unwrap_or(problem.path.as_os_str());
    name.to_string_lossy().into_owned()
}

fn source_of(problem: &LoadProblem, paths: &SearchPaths) -> Source {
    let project = paths.project.as_ref();
    match project.is_some_and(|directory| problem.path.starts_with(directory)) {
        true => Source::Project,
        false => Source::Global,
    }
}
