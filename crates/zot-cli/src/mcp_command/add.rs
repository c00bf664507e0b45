//! `zot mcp add` and `zot mcp add-json`.

use std::collections::BTreeMap;
use std::env;
use std::io::{self, IsTerminal as _};
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use zot_sdk::Workspace;
use zot_sdk::mcp::{
    self, AddedServer, Address, NewServer, OAuthSettings, OnConflict, Scope, redaction,
};
use zot_tui::{Echo, EndSignal, KeyPrompt, KeyPromptEvent};

use super::scopes;
use crate::failure::{Failure, FailureKind};
use crate::output::print_line;
use crate::warn;

/// The variable with the secret of `--client-secret`, as other clients call it.
const SECRET_VARIABLE: &str = "MCP_CLIENT_SECRET";

/// Add a server
#[derive(Args)]
#[command(
    override_usage = "zot mcp add [OPTIONS] NAME COMMAND [ARGS]…\n       zot mcp add [OPTIONS] NAME -- COMMAND [ARGS]…\n       \
                      zot mcp add [OPTIONS] NAME URL",
    after_help = "zot mcp add time -- uvx mcp-server-time\n\
                  zot mcp add github -e GITHUB_TOKEN='${GITHUB_TOKEN}' -- docker run -i --rm -e GITHUB_TOKEN ghcr.io/github/github-mcp-server\n\
                  zot mcp add --transport http sentry https://mcp.sentry.dev/mcp\n\
                  zot mcp add -t http api https://api.example.com/mcp -H 'Authorization: Bearer ${API_TOKEN}'\n\n\
                  ${VAR} and ${VAR:-default} are replaced when the server starts: quote them, and keep secrets out of the \
                  file. Options of the command itself come after --."
)]
pub(super) struct AddArguments {
    /// The name of the server, which the names of its tools begin with
    name: String,
    /// The program to start, or the URL of the server
    #[arg(value_name = "COMMAND | URL")]
    target: String,
    /// The arguments of the program
    args: Vec<String>,
    /// The file to add it to: user ($ZOT_HOME/mcp.json, for you everywhere) or project (.mcp.json, for everyone here)
    #[arg(long, short, value_name = "SCOPE", default_value = "user", value_parser = scopes())]
    scope: Scope,
    /// How to reach it [default: http for a URL, otherwise stdio]
    #[arg(long, short, value_name = "TRANSPORT")]
    transport: Option<Transport>,
    /// A variable for the program; repeat it for more
    #[arg(long, short, value_name = "KEY=VALUE")]
    env: Vec<String>,
    /// A header for every request; repeat it for more
    #[arg(long, short = 'H', value_name = "NAME: VALUE")]
    header: Vec<String>,
    /// The id of a client that you have registered at the authorisation server
    #[arg(long, value_name = "ID")]
    client_id: Option<String>,
    /// Ask for the secret of that client, or take it from $MCP_CLIENT_SECRET
    #[arg(long, requires = "client_id")]
    client_secret: bool,
    /// The port of the redirect address that the client is registered with
    #[arg(long, value_name = "PORT")]
    callback_port: Option<u16>,
    /// Replace a server of the same name
    #[arg(long)]
    force: bool,
}

/// Add a server that is described as JSON
#[derive(Args)]
#[command(
    after_help = "zot mcp add-json weather '{\"type\": \"http\", \"url\": \"https://api.weather.example/mcp\", \"timeout\": 60000}'"
)]
pub(super) struct AddJsonArguments {
    /// The name of the server
    name: String,
    /// The entry, as in mcpServers of .mcp.json
    json: String,
    /// The file to add it to: user or project
    #[arg(long, short, value_name = "SCOPE", default_value = "user", value_parser = scopes())]
    scope: Scope,
    /// Replace a server of the same name
    #[arg(long)]
    force: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Transport {
    Stdio,
    Http,
    Sse,
}

pub(super) async fn run(
    workspace: &Workspace,
    arguments: AddArguments,
) -> Result<ExitCode, Failure> {
    let (scope, on_conflict) = (arguments.scope, on_conflict(arguments.force));
    let secret = match arguments.client_secret {
        true => Some(client_secret(scope).await?),
        false => None,
    };
    let server = server(arguments, secret)?;
    let added = mcp::add(workspace, scope, &server, on_conflict)?;
    report(&server.name, &server.address, &added)
}

pub(super) fn run_json(
    workspace: &Workspace,
    arguments: &AddJsonArguments,
) -> Result<ExitCode, Failure> {
    let AddJsonArguments {
        name, json, scope, ..
    } = arguments;
    let on_conflict = on_conflict(arguments.force);
    let added = mcp::add_json(workspace, *scope, name, json, on_conflict)?;
    warn(&added.warnings);
    print_line(format_args!("added {name} to {}", added.path.display()))?;
    Ok(ExitCode::SUCCESS)
}

fn report(name: &str, address: &Address, added: &AddedServer) -> Result<ExitCode, Failure> {
    warn(&added.warnings);
    print_line(format_args!(
        "added the {} server {name} to {}: {}",
        address.kind(),
        added.path.display(),
        redaction::target(address)
    ))?;
    Ok(ExitCode::SUCCESS)
}

fn on_conflict(force: bool) -> OnConflict {
    match force {
        true => OnConflict::Replace,
        false => OnConflict::Refuse,
    }
}

fn server(arguments: AddArguments, secret: Option<String>) -> Result<NewServer, Failure> {
    let is_url = ["http://", "https://"]
        .iter()
        .any(|scheme| arguments.target.starts_with(scheme));
    let transport = match (arguments.transport, is_url) {
        (Some(transport), _) => transport,
        (None, true) => Transport::Http,
        (None, false) => Transport::Stdio,
    };
    let env = pairs(&arguments.env, "-e", '=', "KEY=VALUE")?;
    let headers = pairs(&arguments.header, "-H", ':', "\"NAME: VALUE\"")?;
    let oauth = OAuthSettings {
        client_id: arguments.client_id,
        client_secret: secret,
        callback_port: arguments.callback_port,
        ..OAuthSettings::default()
    };
    let oauth = Some(oauth).filter(|oauth| *oauth != OAuthSettings::default());
    let refuse = |refused: bool, problem: &str| match refused {
        true => Err(Failure::usage(problem.to_owned())),
        false => Ok(()),
    };
    let address = if transport == Transport::Stdio {
        refuse(
            !headers.is_empty(),
            "-H is for servers with a URL: give a program its variables with -e",
        )?;
        refuse(
            oauth.is_some(),
            "a program needs no login: --client-id and --callback-port are for servers with a URL",
        )?;
        Address::Stdio {
            command: arguments.target,
            args: arguments.args,
            env,
            cwd: None,
        }
    } else {
        refuse(
            !env.is_empty(),
            "-e is for programs: give a server with a URL its headers with -H",
        )?;
        refuse(
            !arguments.args.is_empty(),
            "a server with a URL takes no arguments: put its options before the name, each with its value",
        )?;
        refuse(
            !is_url && !arguments.target.contains("${"),
            "expected a URL that begins with https:// or http:// for this transport",
        )?;
        let url = arguments.target;
        match transport {
            Transport::Sse => Address::Sse { url, headers },
            Transport::Http | Transport::Stdio => Address::Http { url, headers },
        }
    };
    Ok(NewServer {
        name: arguments.name,
        address,
        oauth,
    })
}

/// Splits values such as `KEY=VALUE`. Errors do not repeat what may be a secret.
fn pairs(
    values: &[String],
    flag: &str,
    separator: char,
    expected: &str,
) -> Result<BTreeMap<String, String>, Failure> {
    let split = |value: &String| {
        let (name, value) = value.split_once(separator)?;
        let name = name.trim();
        let is_name = !name.is_empty() && !name.contains(char::is_whitespace);
        is_name.then(|| (name.to_owned(), value.to_owned()))
    };
    values
        .iter()
        .map(|value| {
            let (name, value) =
                split(value).ok_or_else(|| Failure::usage(format!("{flag} expects {expected}")))?;
            let value = match separator {
                ':' => value.trim().to_owned(),
                _ => value,
            };
            Ok((name, value))
        })
        .collect()
}

async fn client_secret(scope: Scope) -> Result<String, Failure> {
    if scope == Scope::Project {
        return Err(Failure::usage(
            "a secret does not belong into a project's file: write \"clientSecret\": \"${VARIABLE}\" under \"oauth\" there",
        ));
    }
    if let Some(secret) = env::var(SECRET_VARIABLE)
        .ok()
        .filter(|text| !text.is_empty())
    {
        return Ok(secret);
    }
    if !io::stdin().is_terminal() {
        return Err(Failure::usage(format!(
            "no terminal to ask for the secret: set ${SECRET_VARIABLE}"
        )));
    }
    let mut prompt = KeyPrompt::open()?;
    prompt.ask("client secret (not shown): ", Echo::Hidden)?;
    loop {
        match prompt.next().await? {
            KeyPromptEvent::Entered(entered) => return Ok(entered.reveal().to_owned()),
            KeyPromptEvent::PageRequested => {}
            _ => {
                let code = EndSignal::Interrupted.exit_code();
                let ended = "cancelled: nothing was added";
                return Err(Failure::new(FailureKind::Ended(code), ended));
            }
        }
    }
}
