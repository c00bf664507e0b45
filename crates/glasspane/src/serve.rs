//! `glasspane serve`: the page, on this machine, for who knows the token.

mod agents;
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
    MAX_EXCERPT_BYTES, MAX_FRAME_RING_BYTES, MAX_FRAMES, MAX_HISTORY, MAX_MESSAGE_BYTES,
};
pub use request::{HEAD_TIME, MAX_HEAD_BYTES, MAX_HEADERS};
pub use response::WRITE_TIME;
pub use server::{BATCH_TIME, MAX_CONNECTIONS, Server};
pub use token::{Token, TokenError};
pub use watcher::HEARTBEAT;

use std::io::{self, Write as _};
use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use crate::Hub;
use crate::program::Failure;
use agents::Agents;

/// Show agents in a web page.
#[derive(Debug, Args)]
pub struct ServeArguments {
    /// Where the page is served; port 0 takes a free one
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:4527")]
    pub listen: SocketAddr,
    /// Where agents attach by themselves [default: glasspane/glasspane.sock below $XDG_RUNTIME_DIR]
    #[arg(long, value_name = "PATH")]
    pub socket: Option<PathBuf>,
    /// Watch the agent that writes this file, which may grow; may be given several times
    #[arg(long = "file", value_name = "FILE", num_args = 1..)]
    pub files: Vec<PathBuf>,
    /// Start an agent with this command line, read by sh; may be given several times
    #[arg(long = "run", value_name = "COMMAND")]
    pub commands: Vec<String>,
    /// Replay this recorded log in the page
    #[arg(long, value_name = "LOG")]
    pub replay: Option<PathBuf>,
    /// Keep the token in this file, so that the page's address stays the same
    #[arg(long, value_name = "FILE")]
    pub token_file: Option<PathBuf>,
    /// A name by which browsers may call the server, besides localhost and addresses
    #[arg(long = "allow-host", value_name = "NAME")]
    pub allowed_hosts: Vec<String>,
}

/// Serves until told to stop. Prints the address of the page to standard output, all else to standard error.
pub async fn run(arguments: ServeArguments) -> Result<(), Failure> {
    let token = match &arguments.token_file {
        Some(path) => Token::from_file(path),
        None => Token::random(),
    }
    .map_err(|error| Failure::Failed(error.to_string()))?;
    if let Some(log) = arguments.replay.as_ref().filter(|log| !log.is_file()) {
        let path = log.display();
        return Err(Failure::Usage(format!("{path} is not there, or no file")));
    }
    let hub = Hub::new();
    let address = arguments.listen;
    let server = Server::bind(
        address,
        hub.clone(),
        token,
        arguments.replay.clone(),
        arguments.allowed_hosts.clone(),
    )
    .await
    .map_err(|error| {
        Failure::Failed(format!(
            "cannot listen on {address}: {error}; choose another address with --listen, port 0 for any"
        ))
    })?;
    if !address.ip().is_loopback() {
        tell(&format!(
            "warning: {address} can be reached from other machines, and nothing is encrypted: who sees the token sees everything"
        ));
    }
    let cancel = CancellationToken::new();
    let mut agents = Agents::new(hub, cancel.clone());
    agents.attach(&arguments)?;
    let url = server.url();
    let mut output = io::stdout();
    let printed = writeln!(output, "{url}").and_then(|()| output.flush());
    printed.map_err(|error| Failure::Failed(format!("cannot print the address: {error}")))?;

    let serving = server.run(cancel.clone());
    tokio::pin!(serving);
    tokio::select! {
        () = &mut serving => {}
        () = agents.report() => {}
        ended = told_to_end() => ended?,
    }
    cancel.cancel();
    tokio::join!(serving, agents.end());
    Ok(())
}

async fn told_to_end() -> Result<(), Failure> {
    let listen = |kind| {
        signal(kind).map_err(|error| Failure::Failed(format!("cannot listen to signals: {error}")))
    };
    let mut interrupt = listen(SignalKind::interrupt())?;
    let mut terminate = listen(SignalKind::terminate())?;
    let mut hangup = listen(SignalKind::hangup())?;
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
        _ = hangup.recv() => {}
    }
    Ok(())
}

/// A word to who started us. There may be nobody to hear it.
fn tell(words: &str) {
    let _ = writeln!(io::stderr(), "glasspane: {words}");
}
