//! `zot mcp serve`.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use zot_mcp_server::{Exit, HttpServer, ServeOptions, Service, Shutdown, Token, serve_stdio};
use zot_stdio::executor;
use zot_stdio::signals::EndSignals;

use crate::arguments::ServingArguments;
use crate::failure::Failure;
use crate::output::print_line;

/// Serve MCP clients: tools that run a prompt, on standard input and output or over HTTP
#[derive(Args)]
#[command(after_help = "\
The tools zot and zot_reply run a prompt to its end, each in a session that `zot --resume ID` can continue. \
Progress shows the steps; --confirm asks through the client. MCP servers of your own are not started without --user-mcp.\n\n\
With claude-code: claude mcp add zot -- zot mcp serve\n\
To try it:        npx @modelcontextprotocol/inspector zot mcp serve --provider offline\n\n\
Exit codes: 0 done, 1 failed, 2 usage, 129 hang-up, 130 interrupted, 143 terminated.")]
pub(crate) struct ServeArguments {
    /// Serve streamable HTTP at this loopback address instead of standard input and output; prints the URL and
    /// a token
    #[arg(long, value_name = "ADDRESS:PORT", num_args = 0..=1, default_missing_value = "127.0.0.1:4528", display_order = 1)]
    http: Option<SocketAddr>,
    /// Keep the token of --http in this file, so that it stays the same
    #[arg(long, value_name = "FILE", requires = "http", display_order = 2)]
    token_file: Option<PathBuf>,
    /// Also offer these built-in tools themselves, or all if none is named: read, write, edit, bash
    #[arg(long, value_name = "A,B", value_delimiter = ',', num_args = 0.., require_equals = true, display_order = 3)]
    tools: Option<Vec<String>>,
    #[command(flatten)]
    run: ServingArguments,
}

pub(super) fn run(arguments: ServeArguments) -> Result<ExitCode, Failure> {
    let mut tools = arguments.tools;
    if let Some(names) = &mut tools {
        names.retain(|name| !name.trim().is_empty());
    }
    let options = ServeOptions {
        config: arguments.run.config()?,
        tools,
        offered: Vec::new(),
    };
    let service = Service::new(options).map_err(Failure::usage)?;
    let exit = match arguments.http {
        None => executor::run(|idle| serve_stdio(service, idle))??,
        Some(address) => {
            let token = match &arguments.token_file {
                Some(path) => Token::from_file(path),
                None => Token::random(),
            }
            .map_err(Failure::failed)?;
            executor::run(|_| serve_http(address, service, token))??
        }
    };
    match exit {
        Exit::Finished => Ok(ExitCode::SUCCESS),
        Exit::Signalled(signal) => Ok(ExitCode::from(signal.exit_code())),
    }
}

async fn serve_http(address: SocketAddr, service: Service, token: Token) -> Result<Exit, Failure> {
    let mut signals = EndSignals::new()?;
    let secret = token.as_str().to_owned();
    let server = HttpServer::bind(address, service, token)
        .await
        .map_err(Failure::usage)?;
    print_line(format_args!("{}", server.url()))?;
    print_line(format_args!("Authorization: Bearer {secret}"))?;
    let shutdown = Shutdown::default();
    let serving = server.run(shutdown.clone());
    tokio::pin!(serving);
    tokio::select! {
        () = &mut serving => Ok(Exit::Finished),
        signal = signals.next() => {
            shutdown.cancel();
            tokio::select! {
                () = serving => {}
                // A second signal ends the process immediately.
                _ = signals.next() => {}
            }
            Ok(Exit::Signalled(signal))
        }
    }
}
