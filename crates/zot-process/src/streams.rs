//! Our ends of a child's standard streams: what it reads is queued, what it writes is slowed down, and
//! its standard error goes to a log of limited size.

mod channel;
mod log;
mod outbox;
mod throttle;

pub use channel::Channel;
pub use log::ChildLog;
pub use outbox::{Outbox, OutboxEnd, OutboxSendError};
pub use throttle::Throttle;
