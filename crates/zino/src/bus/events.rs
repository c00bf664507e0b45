//! What happens to the connection: it comes and goes, and the server objects to something.

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::sync::atomic::Ordering;

use async_nats::{Event, ServerError};
use tokio::sync::mpsc;

use super::connection::Shared;
use super::error::{BusFailure, Forbidden, ForbiddenAction};
use super::message::Key;
use crate::metrics;

/// How many forbidden subjects are remembered, each of which is logged once.
///
/// Limit: further forbidden subjects are not remembered.
const MAX_FORBIDDEN: usize = 256;

impl Shared {
    pub(super) async fn handle_events(self: Arc<Self>, mut events: mpsc::Receiver<Event>) {
        while let Some(event) = events.recv().await {
            match event {
                Event::Connected => self.note_connected(),
                Event::Disconnected => {
                    let log = self.log;
                    log.warning(format_args!("the connection to the bus was lost"));
                    metrics::BUS_CONNECTED.set(0);
                    self.presence.forget_all();
                    self.fail_all();
                }
                Event::SlowConsumer(_) => self.log.warning(format_args!(
                    "messages of the bus were dropped: this process is too slow"
                )),
                Event::LameDuckMode => {
                    self.log.info(format_args!("the bus is about to end"));
                }
                Event::ServerError(ServerError::Other(text)) => match read_forbidden(&text) {
                    Some(forbidden) => self.note_forbidden(forbidden),
                    None => self.log.warning(format_args!("the bus says: {text}")),
                },
                Event::ServerError(error) => {
                    self.log.error(format_args!("the bus says: {error}"));
                }
                Event::ClientError(error) => {
                    self.log
                        .debug(format_args!("no connection to the bus: {error}"));
                }
                Event::Draining | Event::Closed => {}
            }
        }
    }

    fn note_connected(&self) {
        self.log.info(format_args!("connected to the bus"));
        metrics::BUS_CONNECTED.set(1);
        let connects = &self.client.statistics().connects;
        if connects.load(Ordering::Relaxed) > 1 {
            metrics::BUS_RECONNECTS.add_one();
        }
        let announced = self.announced().clone();
        announced.iter().for_each(|service| self.announce(service));
    }

    fn note_forbidden(&self, forbidden: Forbidden) {
        if forbidden.action == ForbiddenAction::Publish {
            if forbidden.subject == self.echo_subject() {
                return self.note_echo();
            }
            let failure = BusFailure::Forbidden(forbidden.clone());
            self.fail_at(&forbidden.subject, &failure);
        }
        let forbidden = without_call(forbidden);
        self.forbidden.send_if_modified(|known| {
            if known.contains(&forbidden) || known.len() >= MAX_FORBIDDEN {
                return false;
            }
            self.log.error(format_args!("{forbidden}"));
            known.push(forbidden);
            true
        });
    }
}

/// Reads what the server says about a permission: `Permissions Violation for Publish to "a.b"`.
fn read_forbidden(text: &str) -> Option<Forbidden> {
    let lower = text.to_lowercase();
    let rest = lower.strip_prefix("permissions violation for ")?;
    let action = match rest.starts_with("publish") {
        true => ForbiddenAction::Publish,
        false => ForbiddenAction::Subscribe,
    };
    // Of the original, since subjects are case-sensitive.
    let subject = text.split('"').nth(1)?;
    Some(Forbidden {
        action,
        subject: subject.to_owned(),
    })
}

/// Forgets which call the subject belongs to: it is the same for all.
fn without_call(forbidden: Forbidden) -> Forbidden {
    let mut tokens = forbidden.subject.rsplitn(3, '.');
    let (attempt, call, rest) = (tokens.next(), tokens.next(), tokens.next());
    let key = format!(
        "{}.{}",
        call.unwrap_or_default(),
        attempt.unwrap_or_default()
    );
    match rest {
        Some(rest) if key.parse::<Key>().is_ok() => Forbidden {
            subject: format!("{rest}.>"),
            ..forbidden
        },
        _ => forbidden,
    }
}
