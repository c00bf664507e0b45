//! A plain request: one request to the server, and its response to the child.

use std::convert::Infallible;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::Limits;
use super::failure::{Failure, linger};
use super::head::{BadHead, HeadEnd};
use super::request::{BadRequest, Forward};
use super::response::ResponseHead;
use super::tunnel::{Activity, Socket, pass};
use crate::sandbox::host::Target;

/// How long the head of a server's response may be.
///
/// Limit: status 502.
const MAX_PROXIED_RESPONSE_HEAD_BYTES: usize = 64 * 1024;

/// How much of a body is read at a time.
const READ_BYTES: usize = 16 * 1024;

/// Sends `request` to `server` and its response to `client`. `early` is what came after the head.
pub(super) async fn forward(
    client: &mut TcpStream,
    server: &TcpStream,
    request: Forward,
    early: &[u8],
    limits: &Limits,
) -> Result<(), Failure> {
    let activity = Activity::new();
    let has_begun = AtomicBool::new(false);
    let target = request.target.clone();
    let result = {
        let (client, server) = (Socket(client), Socket(server));
        tokio::select! {
            result = receive(server, client, &target, &activity, &has_begun) => result,
            failure = send(client, server, request, early, &activity) => {
                failure.map(|never| match never {})
            }
            () = activity.silence(client.0, server.0, limits) => Err(Failure::LateServer(target.clone())),
        }
    };
    if result.is_err() && has_begun.load(Ordering::Relaxed) {
        // The child must not take a part of a response for the whole.
        let _ = client.set_zero_linger();
        return Err(Failure::Closed);
    }
    if result.is_ok() {
        linger(client).await;
    }
    result
}

/// Sends the head and the body, and the end of the child's stream if it ends. Returns only if the request
/// cannot be completed by the child's fault.
async fn send(
    mut from_client: Socket<'_>,
    mut to_server: Socket<'_>,
    mut request: Forward,
    early: &[u8],
    activity: &Activity,
) -> Result<Infallible, Failure> {
    let mut is_accepted = to_server.write_all(&request.head).await.is_ok();
    let mut buffer = early.to_vec();
    buffer.reserve(READ_BYTES);
    while is_accepted && !request.body.is_complete() {
        if buffer.is_empty() {
            let count = from_client.read_buf(&mut buffer).await;
            if count.map_err(|_| Failure::Closed)? == 0 {
                return Err(Failure::Closed);
            }
        }
        let length = request.body.take(&buffer);
        let length = length.map_err(|_| BadRequest::Chunk)?;
        is_accepted = to_server.write_all(&buffer[..length]).await.is_ok();
        activity.note();
        buffer.drain(..length);
        if !buffer.is_empty() {
            break;
        }
    }
    // What follows the body would be a second request: it is not read. Without one, the end of the
    // child's stream tells the server that nobody waits any more.
    if is_accepted && buffer.is_empty() {
        match from_client.read(&mut [0]).await {
            Ok(0) => drop(to_server.shutdown().await),
            Ok(_) => {}
            Err(_) => return Err(Failure::Closed),
        }
    }
    std::future::pending().await
}

async fn receive(
    mut from_server: Socket<'_>,
    mut to_client: Socket<'_>,
    target: &Target,
    activity: &Activity,
    has_begun: &AtomicBool,
) -> Result<(), Failure> {
    let bad = |problem: BadHead| Failure::BadResponse {
        target: target.clone(),
        problem,
    };
    let mut buffer = Vec::new();
    let mut end = HeadEnd::default();
    loop {
        let Some(length) = end.find(&buffer).map_err(bad)? else {
            if buffer.len() >= MAX_PROXIED_RESPONSE_HEAD_BYTES {
                return Err(bad(BadHead::Long));
            }
            buffer.reserve(READ_BYTES);
            let count = from_server.read_buf(&mut buffer).await;
            if count.is_ok_and(|count| count > 0) {
                activity.note();
                continue;
            }
            return Err(Failure::NoResponse(target.clone()));
        };
        let head = ResponseHead::rewrite(&buffer[..length]).map_err(bad)?;
        buffer.drain(..length);
        end = HeadEnd::default();
        has_begun.store(true, Ordering::Relaxed);
        let written = to_client.write_all(&head.bytes).await;
        written.map_err(|_| Failure::Closed)?;
        if !head.is_interim {
            break;
        }
    }
    let rest = async {
        to_client.write_all(&buffer).await?;
        drop(buffer);
        pass(&mut from_server, &mut to_client, activity).await
    };
    rest.await.map_err(|_| Failure::Closed)
}
