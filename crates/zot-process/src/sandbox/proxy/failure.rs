//! What a child is told when its request fails.

use std::io;
use std::net::IpAddr;
use std::time::Duration;

use thiserror::Error;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::head::BadHead;
use super::request::BadRequest;
use crate::sandbox::host::{Host, Target};

/// How long a child may take to read a response to its end, while what else it sends is ignored.
///
/// Limit: the connection is closed, and the child may miss the end of the response.
const PROXY_LINGER_TIME: Duration = Duration::from_secs(2);

/// Why a request fails. The words are for the model.
#[derive(Debug, Error)]
pub(super) enum Failure {
    #[error("the request is malformed: {0}")]
    Malformed(#[from] BadRequest),
    #[error("the request did not arrive in time")]
    LateRequest,
    #[error(
        "zot's sandbox refused {0}: it is not in `connect`. Only the user can allow it. Do not try to \
         get around this{remark}", remark = own_servers(.0)
    )]
    NotAllowed(Target),
    #[error(
        "zot's sandbox refused {target}: it leads to {address}, which is not a public address. Only \
         the user can allow it, by adding that address to `connect`"
    )]
    Private { target: Target, address: IpAddr },
    #[error("cannot find the address of {target}: {source}")]
    Unresolved { target: Target, source: io::Error },
    #[error("cannot connect to {target}: {source}")]
    Unreachable { target: Target, source: io::Error },
    #[error("{0} did not answer in time")]
    LateServer(Target),
    #[error("{target} sent a response that is not HTTP/1: {problem}")]
    BadResponse { target: Target, problem: BadHead },
    #[error("{0} closed the connection without a response")]
    NoResponse(Target),
    /// The child is gone, or has got a part of the response already.
    #[error("the connection cannot be used any more")]
    Closed,
}

/// Returns where servers of the same command are, for a target of the user's machine: a rule for one of its
/// ports leads all requests for that name to the proxy.
fn own_servers(target: &Target) -> &'static str {
    match &target.host {
        Host::Name(name) if name.as_str() == "localhost" => {
            ". A server that the command itself has started is at 127.0.0.1"
        }
        Host::Address(address) if address.is_loopback() => {
            ". A server that the command itself has started is at localhost"
        }
        _ => "",
    }
}

impl Failure {
    /// Returns the status and its phrase, which is all that many programs display of a failed tunnel.
    fn status(&self) -> String {
        match self {
            Self::Malformed(_) | Self::Closed => "400 Bad Request".to_owned(),
            Self::LateRequest => "408 Request Timeout".to_owned(),
            Self::NotAllowed(target) => {
                format!("403 Refused by zot's sandbox: {target} is not in connect")
            }
            Self::Private { target, address } => {
                format!("403 Refused by zot's sandbox: {target} leads to {address}")
            }
            Self::LateServer(target) => format!("504 {target} did not answer in time"),
            Self::Unresolved { target, .. } => format!("502 Cannot find {target}"),
            Self::Unreachable { target, .. } => format!("502 Cannot connect to {target}"),
            Self::BadResponse { target, .. } | Self::NoResponse(target) => {
                format!("502 Bad response of {target}")
            }
        }
    }

    fn response(&self) -> String {
        let text = format!("{self}.\n");
        let refused = match self {
            Self::NotAllowed(target) | Self::Private { target, .. } => {
                format!("Zot-Sandbox: refused {target}\r\n")
            }
            _ => String::new(),
        };
        format!(
            "HTTP/1.1 {}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {}\r\n\
             {refused}Connection: close\r\n\r\n{text}",
            self.status(),
            text.len()
        )
    }

    /// Tells the child, and waits until it has read it.
    pub(super) async fn tell(&self, client: &mut TcpStream) {
        if matches!(self, Self::Closed) {
            return;
        }
        let telling = async {
            client.write_all(self.response().as_bytes()).await?;
            client.shutdown().await
        };
        // A child that does not listen has no use for another error.
        if let Ok(Ok(())) = timeout(PROXY_LINGER_TIME, telling).await {
            linger(client).await;
        }
    }
}

/// Waits until the child has closed its side of a connection that is closed on ours. Closing a socket with
/// unread bytes would reset the connection, and the end of the response would be lost.
pub(super) async fn linger(client: &mut TcpStream) {
    let mut ignored = [0; 4096];
    let reading = async { while client.read(&mut ignored).await.is_ok_and(|count| count > 0) {} };
    let _ = timeout(PROXY_LINGER_TIME, reading).await;
}
