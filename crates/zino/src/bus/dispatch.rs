//! Hands messages to the calls they belong to, and keeps the calls alive.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use async_nats::{Message, StatusCode, Subscriber};
use bytes::Bytes;
use tokio::time::{Instant, MissedTickBehavior, interval};

use super::connection::{ECHO, Shared, next};
use super::error::BusFailure;
use super::link::{End, Link};
use super::message::{Envelope, Key, Kind, Sign};

/// How often calls are looked after.
const TICK: Duration = Duration::from_millis(250);

/// How late a look may be before it says more about this process than about others.
const STALL_TIME: Duration = Duration::from_secs(1);

/// How long an instance may be silent before it gives a sign of life.
const BEAT_TIME: Duration = Duration::from_millis(900);

/// How many looks pass between two signs of life of a caller.
const TICKS_TO_ALIVE: u64 = 8;

/// How long an instance may be silent in a call.
///
/// Limit: the call counts as lost.
const BUS_SILENCE_TIMEOUT: Duration = Duration::from_millis(2500);

/// How long a caller may be silent.
///
/// Limit: its request is abandoned.
const CALLER_SILENCE_TIMEOUT: Duration = Duration::from_secs(6);

/// The longest sign of life; further calls get another one.
const MAX_SIGN_BYTES: usize = 64 * 1024;

/// The last token of the subject for signs of life.
const ALIVE: &str = "alive";

impl Shared {
    /// Hands on what arrives at one end of our calls below `prefix`.
    pub(super) async fn receive(
        self: Arc<Self>,
        mut messages: Subscriber,
        end: End,
        prefix: String,
    ) {
        while let Some(message) = next(&mut messages).await {
            let tail = message
                .subject
                .strip_prefix(prefix.as_str())
                .and_then(|tail| tail.strip_prefix('.'));
            match tail {
                Some(ECHO) => self.note_echo(),
                Some(ALIVE) => self.note_signs(end, &message.payload),
                Some(tail) => {
                    if let Ok(key) = tail.parse() {
                        self.deliver(end, key, message);
                    }
                }
                None => {}
            }
        }
    }

    fn deliver(&self, end: End, key: Key, message: Message) {
        let link = self.links.get(end, key);
        if message.status == Some(StatusCode::NO_RESPONDERS) {
            if let Some(link) = link {
                link.deliver_no_responders();
            }
            return;
        }
        let Some(envelope) = message.headers.as_ref().and_then(Envelope::read) else {
            return;
        };
        match (link, envelope.control) {
            (Some(link), control) => link.deliver(envelope.kind, control, message.payload),
            // An instance that was too late must not begin, or must stop.
            (None, Some(control)) if !matches!(envelope.kind, Kind::Refuse { .. }) => {
                let subject = format!("{control}.{key}");
                self.post(subject, Some(Kind::Cancel.write()), Bytes::new());
            }
            (None, _) => {}
        }
    }

    fn note_signs(&self, end: End, payload: &[u8]) {
        let text = std::str::from_utf8(payload).unwrap_or_default();
        for sign in text.lines().filter_map(Sign::read) {
            if let Some(link) = self.links.get(end, sign.key) {
                link.note_heard();
                link.raise_limit(sign.granted);
                link.check_arrived(sign.sent);
            }
        }
    }

    /// Gives signs of life in all calls, and ends those whose other end gives none.
    pub(super) async fn look_after_calls(self: Arc<Self>) {
        let mut ticks = interval(TICK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut last = Instant::now();
        let mut count: u64 = 0;
        loop {
            ticks.tick().await;
            count += 1;
            let links = self.links.all();
            if last.elapsed() > STALL_TIME {
                // What was sent meanwhile is still waiting to be read.
                links.iter().for_each(|link| link.note_heard());
            }
            last = Instant::now();
            let mut signs = Signs::default();
            for link in links {
                let (longest, is_due) = match link.end {
                    End::Caller => (BUS_SILENCE_TIMEOUT, count.is_multiple_of(TICKS_TO_ALIVE)),
                    End::Server => {
                        let is_silent = link.own_silence().is_some_and(|time| time >= BEAT_TIME);
                        (CALLER_SILENCE_TIMEOUT, is_silent)
                    }
                };
                // Before an instance has accepted there is nobody to hear from.
                if link.other().is_some() && link.silence() > longest {
                    link.fail(BusFailure::Silent(longest));
                } else if is_due {
                    signs.add(&self, &link);
                }
            }
            signs.send_all(&self);
        }
    }

    /// Ends all calls: the connection was lost, and messages with it.
    pub(super) fn fail_all(&self) {
        for link in self.links.all() {
            link.fail(BusFailure::Disconnected);
        }
    }

    /// Ends the calls that wait for an answer from a subject that we may not publish to.
    pub(super) fn fail_at(&self, subject: &str, failure: &BusFailure) {
        for link in self.links.all() {
            let is_there = link.subject == subject || link.other() == Some(subject);
            if is_there {
                link.fail(failure.clone());
            }
        }
    }
}

/// Signs of life, by the process that they are for.
#[derive(Default)]
struct Signs(HashMap<String, String>);

impl Signs {
    fn add(&mut self, shared: &Shared, link: &Link) {
        let Some(other) = link.other() else {
            return;
        };
        let key = link.key.to_string();
        let Some(process) = other.strip_suffix(&key) else {
            return;
        };
        link.note_spoken();
        let sign = Sign {
            key: link.key,
            sent: link.sent(),
            granted: link.granted(),
        };
        let text = match self.0.get_mut(process) {
            Some(text) => text,
            None => self.0.entry(process.to_owned()).or_default(),
        };
        let _ = write!(text, "{sign}");
        if text.len() > MAX_SIGN_BYTES {
            let payload = Bytes::from(std::mem::take(text));
            shared.post(format!("{process}{ALIVE}"), None, payload);
        }
    }

    fn send_all(self, shared: &Shared) {
        for (process, text) in self.0 {
            if !text.is_empty() {
                shared.post(format!("{process}{ALIVE}"), None, Bytes::from(text));
            }
        }
    }
}
