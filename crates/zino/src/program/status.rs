//! `zino status`: who answers.

use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::{Instant, timeout};

use crate::config::Config;
use crate::kind::ServiceKind;
use crate::peer::{CallError, Peer};
use crate::service::{Answer, Object};

/// A service that takes longer to say pong is not well.
///
/// Limit: the service is shown as `silent`.
const STATUS_TIMEOUT: Duration = Duration::from_secs(2);

/// How one service is doing.
#[derive(Debug)]
pub struct Status {
    pub kind: ServiceKind,
    pub socket: PathBuf,
    pub health: Health,
}

#[derive(Debug, PartialEq)]
pub enum Health {
    /// It answers; its version, if it is one of ours.
    Answers {
        latency: Duration,
        version: Option<String>,
    },
    /// Something else answers there.
    Odd(String),
    Silent,
    Down(String),
}

pub async fn status(config: &Config) -> Vec<Status> {
    let mut found = Vec::new();
    for kind in ServiceKind::ALL {
        let socket = config.socket(kind);
        let peer = Peer::socket(socket.clone(), config.wire.max_frame_bytes);
        let health = match timeout(STATUS_TIMEOUT, look(&peer)).await {
            Ok(health) => health,
            Err(_) => Health::Silent,
        };
        found.push(Status {
            kind,
            socket,
            health,
        });
    }
    found
}

async fn look(peer: &Peer) -> Health {
    let began = Instant::now();
    let answer = peer.ask(request("ping")).await;
    let latency = began.elapsed();
    match answer {
        Ok(Answer::Message(answer)) if answer.get("type") == Some(&json!("pong")) => {}
        // The original's daemon has no ping, but it is alive.
        Ok(answer) if answer.error_message() == Some("Empty message.") => {}
        Ok(answer) => return Health::Odd(format!("{answer:?}")),
        Err(CallError::Unreachable(error)) => return Health::Down(error.to_string()),
        Err(error) => return Health::Odd(error.to_string()),
    }
    let version = match peer.ask(request("version")).await {
        Ok(Answer::Message(mut answer)) => match answer.remove("version") {
            Some(Value::String(version)) => Some(version),
            _ => None,
        },
        _ => None,
    };
    Health::Answers { latency, version }
}

fn request(kind: &str) -> Object {
    Object::from_iter([("type".to_owned(), kind.into())])
}
