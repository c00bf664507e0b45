//! `glasspane serve`: the page, on this machine, for who knows the token.

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

use std::io::Write as _;
use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;
use tokio_util::sync::CancellationToken;

use crate::Hub;
use crate::program::Failure;

/// Show agents in a web page.
#[derive(Debug, Args)]
pub struct ServeArguments {
    /// Where the page is served
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:4527")]
    pub listen: SocketAddr,
    /// Keep the token in this file, so that the address stays the same
    #[arg(long, value_name = "FILE")]
    pub token_file: Option<PathBuf>,
    /// A name by which browsers may call the server, besides localhost and addresses
    #[arg(long, value_name = "NAME")]
    pub allow_host: Vec<String>,
    /// Offer this recorded log for replay
    #[arg(long, value_name = "LOG")]
    pub replay: Option<PathBuf>,
}

/// Serves until told to stop.
pub async fn run(arguments: ServeArguments) -> Result<(), Failure> {
    let cancel = CancellationToken::new();
    let token = match &arguments.token_file {
        Some(path) => Token::from_file(path),
        None => Token::random(),
    }
    .map_err(|error| Failure::Failed(error.to_string()))?;
    if let Some(log) = &arguments.replay
        && !log.is_file()
    {
        return Err(Failure::Usage(format!("there is no log {}", log.display())));
    }
    let server = Server::bind(
        arguments.listen,
        Hub::new(),
        token,
        arguments.replay,
        arguments.allow_host,
    )
    .await
    .map_err(|error| {
        Failure::Failed(format!(
            "cannot listen on {}: {error}; choose another address with --listen",
            arguments.listen
        ))
    })?;
    let _ = writeln!(std::io::stdout(), "{}", server.url());
    server.run(cancel).await;
    Ok(())
}
