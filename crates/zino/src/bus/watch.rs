//! Follows everything that is announced on the bus.

use async_nats::Subscriber;

use super::Sight;
use super::connection::next;
use super::subjects::Subjects;

/// Announcements and events as they come. What comes faster than it is taken is dropped at some point.
pub struct Watch {
    subjects: Subjects,
    instances: Subscriber,
    events: Subscriber,
}

impl Watch {
    pub(super) fn new(subjects: Subjects, instances: Subscriber, events: Subscriber) -> Self {
        Self {
            subjects,
            instances,
            events,
        }
    }

    /// The next one; `None` when the connection has ended. Nothing is lost if the future is dropped.
    pub async fn next(&mut self) -> Option<Sight> {
        loop {
            tokio::select! {
                message = next(&mut self.instances) => {
                    if let Ok(instance) = serde_json::from_slice(&message?.payload) {
                        return Some(Sight::Instance(instance));
                    }
                }
                message = next(&mut self.events) => {
                    let message = message?;
                    if let Some((kind, token)) = self.subjects.read_event(&message.subject) {
                        return Some(Sight::Event {
                            kind: kind.to_owned(),
                            token: token.to_owned(),
                            payload: message.payload,
                        });
                    }
                }
            }
        }
    }
}
