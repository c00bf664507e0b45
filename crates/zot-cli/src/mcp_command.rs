//! `zot mcp`: configures MCP servers, tries them, and serves MCP clients.

mod add;
mod approve;
mod get;
mod import;
mod list;
mod login;
mod logs;
mod serve;
mod test;

use std::process::ExitCode;
use std::time::Duration;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Parser, Subcommand};
use zot_sdk::Workspace;
use zot_sdk::extensions::Starting;
use zot_sdk::mcp::{self, Enabled, Scope, Switched};

use crate::command::interruptible;
use crate::consent::Consent;
use crate::failure::Failure;
use crate::output::{Format, print_line};

/// How long servers get to answer `list`. Some install themselves when they are first started.
const LIST_PATIENCE: u64 = 30;

/// Configure MCP servers, try them, or be one
#[derive(Parser)]
#[command(
    name = "zot mcp",
    bin_name = "zot mcp",
    after_help = "Without a command: list.\n\
                  An MCP server gives the model more tools. Yours are in $ZOT_HOME/mcp.json, those of a project in its \
                  .mcp.json, which starts nothing before you have approved it.\n\n\
                  A local program:  zot mcp add time -- uvx mcp-server-time\n\
                  A remote server:  zot mcp add --transport http sentry https://mcp.sentry.dev/mcp && zot mcp login sentry\n\
                  What you have:    zot mcp import claude\n\
                  To be a server:   zot mcp serve\n\n\
                  Exit codes: 0 done, 1 failed, 2 usage or a file that cannot be used, 129 hang-up, 130 interrupted, \
                  143 terminated."
)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    action: Option<Action>,
}

#[derive(Subcommand)]
enum Action {
    Add(add::AddArguments),
    AddJson(add::AddJsonArguments),
    /// List the servers and their state; secrets are not shown
    List {
        /// Do not start enabled servers to learn their state
        #[arg(long)]
        no_start: bool,
        /// How long servers may take to start
        #[arg(long, value_name = "SECONDS", default_value_t = LIST_PATIENCE)]
        timeout: u64,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Show how a server is configured; secrets are not shown
    Get {
        /// The name of the server
        name: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Remove a server
    #[command(alias = "rm")]
    Remove {
        /// The name of the server
        name: String,
        /// The file to remove it from: user or project [default: the one that has it]
        #[arg(long, short, value_name = "SCOPE", value_parser = scopes())]
        scope: Option<Scope>,
    },
    /// Enable a server, so that it starts with zot
    Enable {
        /// The name of the server
        name: String,
        /// The file to change: user or project [default: user; it can switch a project's server, too]
        #[arg(long, short, value_name = "SCOPE", value_parser = scopes())]
        scope: Option<Scope>,
    },
    /// Disable a server without removing it
    Disable {
        /// The name of the server
        name: String,
        /// The file to change: user or project [default: user; it can switch a project's server, too]
        #[arg(long, short, value_name = "SCOPE", value_parser = scopes())]
        scope: Option<Scope>,
    },
    /// Show the servers of the project's .mcp.json, and approve them
    #[command(
        after_help = "Approved is the content of the file: after a change you are asked again. -p, --json and \
                      zot rpc start a project's servers only with --project-mcp, approved or not."
    )]
    Approve {
        /// Do not ask
        #[arg(long, short)]
        yes: bool,
    },
    /// Forget whether the project's .mcp.json was approved or refused
    ResetProjectChoices,
    Import(import::ImportArguments),
    Test(test::TestArguments),
    /// Show what a server wrote to standard error and logged
    Logs {
        /// The name of the server
        name: String,
        /// Keep printing new lines until Ctrl-C
        #[arg(long, short)]
        follow: bool,
        /// Show only the last N lines
        #[arg(long, short = 'n', value_name = "N")]
        lines: Option<usize>,
    },
    /// Log in to a server with a URL
    #[command(
        after_help = "Over ssh, open the address on your own machine and log in; the page it ends at cannot be reached from \
                      there: paste its address here."
    )]
    Login {
        /// The name of the server
        name: String,
        /// Do not open a browser, only print the address
        #[arg(long)]
        no_browser: bool,
    },
    /// Forget the login at a server
    Logout {
        /// The name of the server
        name: String,
    },
    Serve(Box<serve::ServeArguments>),
}

pub(crate) fn run(arguments: Arguments) -> Result<ExitCode, Failure> {
    let workspace = &Workspace::of_process();
    let action = arguments.action.unwrap_or(Action::List {
        no_start: false,
        timeout: LIST_PATIENCE,
        json: false,
    });
    match action {
        Action::Add(arguments) => interruptible(|| add::run(workspace, arguments)),
        Action::AddJson(arguments) => add::run_json(workspace, &arguments),
        Action::List {
            no_start,
            timeout,
            json,
        } => {
            let starting = match no_start {
                true => Starting::Skip,
                false => Starting::Enabled,
            };
            let patience = Duration::from_secs(timeout);
            interruptible(|| list::run(workspace, starting, patience, Format::of(json)))
        }
        Action::Get { name, json } => interruptible(|| get::run(workspace, name, Format::of(json))),
        Action::Remove { name, scope } => remove(workspace, &name, scope),
        Action::Enable { name, scope } => switch(workspace, &name, scope, Enabled::Yes),
        Action::Disable { name, scope } => switch(workspace, &name, scope, Enabled::No),
        Action::Approve { yes } => interruptible(|| approve::run(workspace, Consent::of(yes))),
        Action::ResetProjectChoices => approve::forget(workspace),
        Action::Import(arguments) => import::run(workspace, &arguments),
        Action::Test(arguments) => interruptible(|| test::run(workspace, arguments)),
        Action::Login { name, no_browser } => {
            let browser = login::Browser::of(no_browser);
            interruptible(|| login::run(workspace, name, browser))
        }
        Action::Logout { name } => interruptible(|| login::log_out(workspace, name)),
        Action::Logs {
            name,
            follow,
            lines,
        } => logs::run(workspace, &name, logs::Until::of(follow), lines),
        Action::Serve(arguments) => serve::run(*arguments),
    }
}

fn remove(workspace: &Workspace, name: &str, scope: Option<Scope>) -> Result<ExitCode, Failure> {
    let removed = mcp::remove(workspace, name, scope)?;
    let logged_out = match removed.is_logged_out {
        true => ", and its login is forgotten",
        false => "",
    };
    print_line(format_args!(
        "{name} removed from {}{logged_out}",
        removed.path.display()
    ))?;
    Ok(ExitCode::SUCCESS)
}

fn switch(
    workspace: &Workspace,
    name: &str,
    scope: Option<Scope>,
    enabled: Enabled,
) -> Result<ExitCode, Failure> {
    let state = match enabled {
        Enabled::Yes => "enabled",
        Enabled::No => "disabled",
    };
    match mcp::switch(workspace, name, scope, enabled)? {
        Switched::Changed(path) => {
            print_line(format_args!("{name} is {state} ({})", path.display()))?;
        }
        Switched::Already => print_line(format_args!("{name} is already {state}"))?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Returns the parser of `--scope`.
fn scopes() -> impl TypedValueParser<Value = Scope> {
    PossibleValuesParser::new(["user", "project"]).map(|word| match word.as_str() {
        "project" => Scope::Project,
        _ => Scope::User,
    })
}
