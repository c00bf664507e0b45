//! `zot sandbox`: shows what the tools may do here, and forgets what was allowed.

use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use serde_json::{Value, json};
use zot_sdk::sandbox::{self, Allowance, Description, Level, ProjectAllowances};
use zot_sdk::{Config, ToolChoice, Workspace};
use zot_terminal::Print;

use crate::arguments::{SandboxArguments, check_directory};
use crate::configuration::{allows_more, warn_without_effect};
use crate::failure::Failure;
use crate::output::{print, print_json, print_line};
use crate::text::write_table;
use crate::warn;

/// Show what the tools may do here, and forget what was allowed
#[derive(Parser)]
#[command(
    name = "zot sandbox",
    bin_name = "zot sandbox",
    args_conflicts_with_subcommands = true,
    after_help = "Shows the sandbox of a run with the same options: docs/sandbox.md.\n\n\
                  Exit codes: 0 done, 1 failed, 2 usage."
)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    action: Option<Action>,
    /// Confine read, write, edit and bash to the working directory
    #[arg(long)]
    jail: bool,
    /// Work in this directory [default: the current one]
    #[arg(long, value_name = "DIR", global = true)]
    cwd: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    sandbox: SandboxArguments,
}

#[derive(Subcommand)]
enum Action {
    /// Forget what you have allowed for the project
    Forget {
        /// A host or a path [default: everything]
        #[arg(value_name = "HOST|PATH")]
        what: Option<String>,
    },
}

pub(crate) fn run(arguments: Arguments) -> Result<ExitCode, Failure> {
    let mut workspace = Workspace::of_process();
    if let Some(cwd) = &arguments.cwd {
        check_directory(cwd)?;
        workspace = workspace.in_directory(cwd);
    }
    if let Some(Action::Forget { what }) = arguments.action {
        return forget(&workspace, what.as_deref());
    }
    let config = Config {
        tools: ToolChoice {
            jail: arguments.jail,
            sandbox: arguments.sandbox.into(),
            ..ToolChoice::default()
        },
        ..Config::default()
    };
    let has_rules = allows_more(&config.tools.sandbox.rules);
    let description = sandbox::describe(config, &workspace).map_err(Failure::usage)?;
    if has_rules {
        warn_without_effect(description.report.policy.level);
    }
    match arguments.json {
        true => print_json(&as_json(&description))?,
        false => {
            warn(&description.warnings);
            print(|output| write(output, &description))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn forget(workspace: &Workspace, what: Option<&str>) -> Result<ExitCode, Failure> {
    let store = ProjectAllowances::new(&workspace.zot_home);
    let forgotten = store.forget(&workspace.cwd, what)?;
    match (forgotten.as_slice(), what) {
        ([], Some(what)) => {
            let directory = workspace.cwd.display();
            return Err(Failure::failed(format!(
                "{what} is not allowed for {directory}: zot sandbox lists what is"
            )));
        }
        ([], None) => print_line("nothing was allowed for this project")?,
        (forgotten, _) => {
            for allowance in forgotten {
                print_line(format_args!("no longer allowed: {}", words(allowance)))?;
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn words(allowance: &Allowance) -> String {
    match allowance {
        Allowance::Connect(rule) => format!("connect {rule}"),
        Allowance::Read(path) => format!("read {}", path.display()),
        Allowance::Write(path) => format!("write {}", path.display()),
    }
}

fn write(output: &mut dyn Print, description: &Description) -> io::Result<()> {
    let report = &description.report;
    let policy = &report.policy;
    match (report.is_jailed, report.chosen.level) {
        (false, level) => writeln!(output, "sandbox {level} ({})", description.source)?,
        (true, Level::Off) => writeln!(output, "sandbox {}, because of the jail", policy.level)?,
        (true, level) => writeln!(output, "sandbox {level} ({}), and jail", description.source)?,
    }
    let line = |output: &mut dyn Print, name: &str, text: &str| {
        let (name, text) = (output.cell(name), output.cell(text));
        writeln!(output, "{name:<12} {text}")
    };
    line(output, "tools", level(policy.level))?;
    if policy.level != Level::Off {
        let network = match policy.rules.connect.is_empty() {
            _ if policy.rules.allows_every_host() => "open",
            true => "none",
            false if !report.has_namespaces => {
                "none: without namespaces, what connect allows is refused as well"
            }
            false => "only what connect allows",
        };
        line(output, "network", network)?;
    }
    if !description.rules.is_empty() {
        let mut rows = vec![["RULE", "VALUE", "FROM"].map(str::to_owned)];
        for rule in &description.rules {
            rows.push([
                rule.name.to_owned(),
                rule.value.clone(),
                rule.source.to_string(),
            ]);
        }
        write_table(output, &rows)?;
    }
    if policy.level != Level::Off {
        line(
            output,
            "toolchains",
            &listed(&shown(&description.toolchains)),
        )?;
        let fate = match (description.caches.as_slice(), report.has_namespaces) {
            ([], _) => "",
            (_, true) => " (changes last for the session)",
            (_, false) => " (can only be read)",
        };
        let caches = format!("{}{fate}", listed(&shown(&description.caches)));
        line(output, "caches", &caches)?;
        line(output, "protected", &description.protected.join(", "))?;
    }
    line(output, "withheld", &listed(&description.withheld))?;
    line(output, "ended by", &description.means.processes)?;
    if policy.level != Level::Off {
        line(output, "files by", &description.means.files)?;
    }
    if policy.level != Level::Off && !policy.rules.allows_every_host() {
        line(output, "network by", &description.means.network)?;
    }
    for (name, least, setting) in [
        ("extensions", description.extensions, "sandbox_extensions"),
        ("MCP servers", description.servers, "sandbox_mcp"),
    ] {
        let text = match least {
            Level::Off => format!("not confined unless they declare it (setting {setting})"),
            least => format!("at least {least} (setting {setting}), or what each of them declares"),
        };
        line(output, name, &text)?;
    }
    for caveat in report.caveats() {
        line(output, "gap", &caveat)?;
    }
    Ok(())
}

fn level(level: Level) -> &'static str {
    match level {
        Level::Off => "may do what you may; commands do not get the keys of model providers",
        Level::Workspace => "change only the working directory and what write allows",
        Level::ReadOnly => "change only what write allows",
    }
}

fn shown(paths: &[PathBuf]) -> Vec<String> {
    let paths = paths.iter().map(|path| path.display().to_string());
    paths.collect()
}

fn listed(names: &[String]) -> String {
    match names {
        [] => "none".to_owned(),
        names => names.join(", "),
    }
}

fn as_json(description: &Description) -> Value {
    let report = &description.report;
    let rules = description.rules.iter().map(
        |rule| json!({"name": rule.name, "value": rule.value, "source": rule.source.to_string()}),
    );
    json!({
        "sandbox": zot_sdk::wire::SandboxData::from(report),
        "jailed": report.is_jailed,
        "source": description.source.to_string(),
        "directory": report.directory,
        "rules": rules.collect::<Vec<_>>(),
        "extensions": description.extensions.name(),
        "mcp": description.servers.name(),
        "protected": description.protected,
        "toolchains": description.toolchains,
        "caches": description.caches,
        "withheld": description.withheld,
        "means": {
            "processes": description.means.processes,
            "files": description.means.files,
            "network": description.means.network,
        },
        "warnings": description.warnings,
    })
}
