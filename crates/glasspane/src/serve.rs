//! `glasspane serve`: serves the page to clients that know the token.

mod assets;
mod journal;
mod request;
mod response;
mod server;
#[cfg(test)]
mod tests;
mod token;
mod watcher;

pub use journal::{
    MAX_EXCERPT_BYTES, MAX_JOURNAL_BYTES, MAX_JOURNAL_FRAMES, MAX_SENT_HISTORY_RECORDS,
    MAX_SENT_MESSAGE_BYTES,
};
pub use server::{
    BATCH_TIME, MAX_PAGE_CONNECTIONS, MAX_REQUEST_HEAD_BYTES, MAX_REQUEST_HEADERS,
    REQUEST_HEAD_TIMEOUT, RESPONSE_WRITE_TIMEOUT, Server,
};
pub use token::{Token, TokenError};
pub use watcher::HEARTBEAT_INTERVAL;

use std::io::Write as _;
use std::net::SocketAddr;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

use clap::Args;
use tokio_util::sync::CancellationToken;
use zot_process::EndSignals;

use crate::Hub;
use crate::attach::default_socket;
use crate::program::{AgentArguments, Attachments, Failure, Outcome};

/// Show agents in a web page.
#[derive(Debug, Args)]
#[command(after_help = "\
Prints the address of the page, which contains a token: treat it like a password.
Agents can also attach: zot rpc | nc -U \"$XDG_RUNTIME_DIR/glasspane/glasspane.sock\"")]
pub struct ServeArguments {
    /// The address of the page; port 0 chooses a free port
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:4527")]
    pub listen: SocketAddr,
    #[command(flatten)]
    pub agents: AgentArguments,
    /// Replay this recorded log in the page
    #[arg(long, value_name = "LOG")]
    pub replay: Option<PathBuf>,
    /// Keep the token in this file, so that the address stays the same
    #[arg(long, value_name = "FILE")]
    pub token_file: Option<PathBuf>,
    /// A host name that browsers may use for the server, in addition to localhost and IP addresses
    #[arg(long = "allow-host", value_name = "NAME")]
    pub allowed_hosts: Vec<String>,
}

/// Serves until a signal ends it. Prints the address of the page to standard output, everything else to standard error.
pub async fn run(arguments: ServeArguments) -> Result<(), Failure> {
    let token = match &arguments.token_file {
        Some(path) => Token::from_file(path),
        None => Token::random(),
    }
    .map_err(Failure::failed)?;
    if let Some(log) = &arguments.replay {
        // Fails early if it cannot be read.
        zot_files::open_existing(log)
            .map_err(|error| Failure::Usage(format!("cannot replay {}: {error}", log.display())))?;
    }
    let mut signals = EndSignals::new().map_err(Failure::failed)?;
    let hub = Hub::new();
    let address = arguments.listen;
    let server = Server::bind(
        address,
        hub.clone(),
        token,
        arguments.replay,
        arguments.allowed_hosts,
    )
    .await
    .map_err(|error| {
        Failure::Failed(format!(
            "cannot listen on {address}: {error}; choose another address with --listen, port 0 for any"
        ))
    })?;
    if !address.ip().is_loopback() {
        print_error(&format!(
            "warning: {address} can be reached from other machines, and nothing is encrypted: the token and all events can be read on the network"
        ));
    }
    let mut agents = Attachments::start(&hub, &with_socket(arguments.agents))?;
    let mut output = zot_terminal::stdout();
    writeln!(output, "{}", server.url())
        .and_then(|()| output.flush())
        .map_err(|error| Failure::Failed(format!("cannot print the address: {error}")))?;

    let cancel = CancellationToken::new();
    let serving = server.run(cancel.clone());
    tokio::pin!(serving);
    tokio::select! {
        () = &mut serving => {}
        () = report(&mut agents) => {}
        _ = signals.next() => {}
    }
    cancel.cancel();
    tokio::join!(serving, agents.shutdown());
    Ok(())
}

/// Adds the default socket if none was given, unless another process serves it.
fn with_socket(mut agents: AgentArguments) -> AgentArguments {
    if agents.socket.is_none() {
        let path = default_socket();
        if UnixStream::connect(&path).is_ok() {
            print_error(&format!(
                "another glasspane uses {}: agents cannot attach to this one unless --socket names another path",
                path.display()
            ));
            return agents;
        }
        agents.socket = Some(path);
    }
    if let Some(path) = agents.socket_path() {
        print_error(&format!("agents attach to {}", path.display()));
    }
    agents
}

/// Reports problems with agents for as long as it is polled.
async fn report(agents: &mut Attachments) {
    while let Some(outcome) = agents.next().await {
        if let Outcome::Failed(error) = outcome {
            print_error(&error);
        }
    }
    std::future::pending().await
}

/// Prints a message to standard error, which may be closed.
fn print_error(message: &str) {
    let _ = writeln!(zot_terminal::stderr(), "glasspane: {message}");
}
