//! `zot mcp test`.

use std::io::{self, Write as _};
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use zot_sdk::ToolOutput;
use zot_sdk::Workspace;
use zot_sdk::conversation::ContentBlock;
use zot_sdk::mcp::{self, ServerState, Trial, TrialRequest, redaction};
use zot_terminal::Print;

use crate::failure::{FAILED, Failure};
use crate::output::{Format, print, print_pretty_json};
use crate::text::{note, one_line};

/// How long a server gets to start, which may have to install itself first.
const START_PATIENCE: u64 = 60;

/// How many lines of the log are shown of a server that failed.
const LOG_LINES: usize = 10;

/// How much of a tool's description is shown; `--json` has all of it.
const SHOWN_CHARACTERS: usize = 80;

/// Start a server, show what it offers, and call a tool
#[derive(Args)]
#[command(after_help = "zot mcp test time\n\
                  zot mcp test time get_current_time '{\"timezone\": \"UTC\"}'\n\n\
                  Exit codes: 0 it works, 1 it does not, or the tool returned an error.")]
pub(super) struct TestArguments {
    /// The name of the server
    name: String,
    /// A tool to call
    tool: Option<String>,
    /// The arguments of the tool, a JSON object
    #[arg(default_value = "{}", hide_default_value = true)]
    arguments: String,
    /// How long the server may take to start
    #[arg(long, value_name = "SECONDS", default_value_t = START_PATIENCE)]
    timeout: u64,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(
    workspace: &Workspace,
    arguments: TestArguments,
) -> Result<ExitCode, Failure> {
    let given: &RawValue = serde_json::from_str(arguments.arguments.trim())
        .ok()
        .filter(|value: &&RawValue| value.get().starts_with('{'))
        .ok_or_else(|| {
            Failure::usage("the arguments of a tool are a JSON object, such as '{\"a\": 1}'")
        })?;
    let request = TrialRequest {
        server: &arguments.name,
        call: arguments.tool.as_deref().map(|tool| (tool, given)),
        patience: Duration::from_secs(arguments.timeout),
        progress: &|text| note(format_args!("{}", text.trim_end())),
    };
    let trial = mcp::try_server(workspace, &request).await?;
    match Format::of(arguments.json) {
        Format::Json => print_pretty_json(&as_json(&trial))?,
        Format::Text => {
            print(|output| write_trial(output, &trial))?;
            if !is_ready(&trial) {
                explain(workspace, &trial);
            }
        }
    }
    let is_error = trial.output.as_ref().is_some_and(|output| output.is_error);
    Ok(match is_ready(&trial) && !is_error {
        true => ExitCode::SUCCESS,
        false => ExitCode::from(FAILED),
    })
}

fn is_ready(trial: &Trial) -> bool {
    let status = trial.server.status.as_ref();
    status.is_some_and(|status| status.state == ServerState::Ready)
}

fn write_trial(output: &mut dyn Print, trial: &Trial) -> io::Result<()> {
    let server = &trial.server;
    let name = &server.written.name;
    let seconds = trial.elapsed.as_secs_f64();
    let Some(status) = server.status.as_ref().filter(|_| is_ready(trial)) else {
        return Ok(());
    };
    let product = status
        .product
        .as_deref()
        .unwrap_or("a server without a name");
    let version = status.version.as_deref().unwrap_or("unknown");
    writeln!(
        output,
        "{name} answered after {seconds:.1} s: {} (MCP {version}, {})",
        one_line(product),
        server.written.address.kind()
    )?;
    if trial.output.is_none() {
        writeln!(
            output,
            "{} tools, {} prompts, {} resources",
            status.tools, status.prompts, status.resources
        )?;
        for tool in &server.tools {
            let shown = first_words(&tool.description);
            writeln!(output, "  {}  {}", one_line(&tool.name), one_line(&shown))?;
        }
    }
    for note in &status.notes {
        writeln!(output, "  note: {}", one_line(note))?;
    }
    match &trial.output {
        Some(result) => write_result(output, result),
        None => Ok(()),
    }
}

/// Returns the beginning of a description.
fn first_words(description: &str) -> String {
    let line = description.trim().lines().next().unwrap_or_default();
    match line.char_indices().nth(SHOWN_CHARACTERS) {
        Some((end, _)) => format!("{}…", line.get(..end).unwrap_or_default().trim_end()),
        None => line.to_owned(),
    }
}

fn write_result(output: &mut dyn Print, result: &ToolOutput) -> io::Result<()> {
    if result.is_error {
        writeln!(output, "the tool returned an error:")?;
    }
    for block in &result.content {
        match block {
            ContentBlock::Text(text) => writeln!(output, "{}", text.trim_end())?,
            _ => writeln!(output, "(an image)")?,
        }
    }
    Ok(())
}

/// Says on standard error why a server cannot be used, with the end of its log.
fn explain(workspace: &Workspace, trial: &Trial) {
    let name = &trial.server.written.name;
    let state = trial.server.status.as_ref().map(|status| &status.state);
    match state {
        Some(ServerState::NeedsLogin) => {
            note(format_args!("{name} wants a login: zot mcp login {name}"));
            return;
        }
        Some(ServerState::Starting) | None => note(format_args!(
            "{name} has not answered after {:.0} s: --timeout waits longer",
            trial.elapsed.as_secs_f64()
        )),
        Some(state) => note(format_args!(
            "{name} cannot be used: {}",
            one_line(state.reason().unwrap_or(state.name()))
        )),
    }
    let Ok(mut log) = mcp::open_log(workspace, name) else {
        return;
    };
    if log.exists() {
        note(format_args!("the end of its log (zot mcp logs {name}):"));
        let mut output = zot_terminal::stderr();
        let _ = log
            .copy_last(LOG_LINES, &mut output)
            .and_then(|()| output.flush());
    }
}

fn as_json(trial: &Trial) -> Value {
    let server = &trial.server;
    let status = server.status.as_ref();
    let tools = server.tools.iter().map(|tool| {
        json!({"name": tool.name, "model_name": tool.model_name, "description": tool.description})
    });
    json!({
        "name": server.written.name,
        "passed": is_ready(trial) && !trial.output.as_ref().is_some_and(|output| output.is_error),
        "state": status.map(|status| status.state.name()),
        "reason": status.and_then(|status| status.state.reason()),
        "milliseconds": trial.elapsed.as_millis(),
        "type": server.written.address.kind(),
        "target": redaction::target(&server.written.address),
        "protocol": status.and_then(|status| status.version.clone()),
        "product": status.and_then(|status| status.product.clone()),
        "tools": tools.collect::<Vec<_>>(),
        "prompts": status.map(|status| status.prompts),
        "resources": status.map(|status| status.resources),
        "notes": status.map(|status| status.notes.clone()),
        "result": trial.output.as_ref().map(|output| json!({"is_error": output.is_error, "text": output.joined_text()})),
    })
}
