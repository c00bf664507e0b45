//! The `zot` binary: arguments, wiring and exit codes.

mod arguments;
mod auth_command;
mod cassette_command;
mod chat;
mod command;
mod completions;
mod config_command;
mod configuration;
mod consent;
mod context_command;
mod doctor;
mod ext_command;
mod failure;
mod list_models;
mod login_command;
mod mcp_command;
mod one_shot;
mod output;
mod pipe;
mod prompt_input;
mod sandbox_command;
mod sessions_command;
mod skills_command;
mod stdin_lines;
mod subcommands;
mod text;

use std::ffi::OsStr;
use std::io::Write as _;
use std::process::ExitCode;

use arguments::{Arguments, Mode};

fn main() -> ExitCode {
    zot_process::forbid_dumps();
    // Each has its own parser, so that `zot rpc` does not load their code: idle memory is mostly
    // code.
    let word = std::env::args_os().nth(1);
    match word.as_deref().and_then(OsStr::to_str) {
        Some("cassette") => return command::run(cassette_command::run),
        Some("ext") => return command::run(ext_command::run),
        Some("mcp") => return command::run(mcp_command::run),
        Some("sandbox") => return command::run(sandbox_command::run),
        Some("skills") => return command::run(skills_command::run),
        Some("sessions") => return command::run(sessions_command::run),
        Some("config") => return command::run(config_command::run),
        Some("login") => return command::run(login_command::login),
        Some("logout") => return command::run(login_command::logout),
        Some("auth") => return command::run(auth_command::run),
        Some("completions") => return command::run(completions::completions),
        Some("man") => return command::run(completions::manual),
        _ => {}
    }
    let mut arguments = match Arguments::read() {
        Ok(arguments) => arguments,
        Err(shown) => return shown.exit(),
    };
    let outcome = match arguments.mode() {
        Ok(Mode::Rpc) => pipe::run(arguments),
        Ok(Mode::Print { prompt }) => one_shot::run(arguments, prompt, one_shot::Format::Text),
        Ok(Mode::Json { prompt }) => one_shot::run(arguments, prompt, one_shot::Format::Json),
        Ok(Mode::Context) => context_command::run(arguments),
        Ok(Mode::Chat {
            prompt,
            picks_session,
        }) => chat::run(arguments, prompt, picks_session),
        Ok(Mode::Doctor(depth)) => doctor::run(arguments, depth),
        Ok(Mode::ListModels) => list_models::run(&arguments),
        Err(failure) => Err(failure),
    };
    match outcome {
        Ok(code) => code,
        Err(failure) => failure.report(),
    }
}

/// Says that the project brings MCP servers along, which are started only on request.
fn mention_project_servers(runtime: &zot_sdk::Runtime) {
    if let Some(project) = runtime.mcp_project()
        && project.state == zot_sdk::mcp::ProjectState::Skipped
    {
        let names: Vec<&str> = project
            .servers
            .iter()
            .map(|server| server.name.as_str())
            .collect();
        warn(&[format!(
            "the MCP servers of this project are not started ({}): use --project-mcp if you trust {}",
            names.join(", "),
            project.path.display()
        )]);
    }
}

/// Prints warnings on standard error, apart from output that programs read.
fn warn(warnings: &[impl std::fmt::Display]) {
    for warning in warnings {
        let _ = writeln!(zot_terminal::stderr(), "zot: warning: {warning}");
    }
}
