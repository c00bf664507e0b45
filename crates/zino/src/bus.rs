//! The bus: a NATS server through which services find each other, call each other and announce
//! themselves.
//!
//! A process has one connection, a [`Bus`], which is cheap to clone. Only core NATS is used: the bus
//! remembers nothing. Built without the feature `nats` there is no bus, and asking for one is an error.

#[cfg(not(feature = "nats"))]
mod absent;
#[cfg(feature = "nats")]
mod announcing;
#[cfg(feature = "nats")]
mod call;
#[cfg(feature = "nats")]
mod connect;
#[cfg(feature = "nats")]
mod connection;
#[cfg(feature = "nats")]
mod dispatch;
#[cfg(feature = "nats")]
mod duplex;
mod error;
#[cfg(feature = "nats")]
mod events;
#[cfg(feature = "nats")]
mod incoming;
mod instance;
#[cfg(feature = "nats")]
mod link;
#[cfg(feature = "nats")]
mod listener;
#[cfg(feature = "nats")]
mod message;
#[cfg(feature = "nats")]
mod outgoing;
#[cfg(feature = "nats")]
mod presence;
#[cfg(feature = "nats")]
mod reading;
#[cfg(feature = "nats")]
mod served;
#[cfg(feature = "nats")]
mod subjects;
#[cfg(feature = "nats")]
mod watch;

use bytes::Bytes;
use zot_conversation::BoxFuture;

#[cfg(not(feature = "nats"))]
pub use absent::{Bus, BusListener, Duplex, DuplexReceiver, DuplexSender, ServedCall, Watch};
#[cfg(not(feature = "nats"))]
pub(crate) use absent::{BusCall, Repeat};
#[cfg(feature = "nats")]
pub(crate) use call::{BusCall, Repeat};
#[cfg(feature = "nats")]
pub use connection::Bus;
#[cfg(feature = "nats")]
pub use duplex::{Duplex, DuplexReceiver, DuplexSender};
pub use error::{BusCallError, BusError, BusFailure, Forbidden, ForbiddenAction, Refusal};
pub use instance::Instance;
#[cfg(feature = "nats")]
pub use listener::BusListener;
#[cfg(feature = "nats")]
pub use served::ServedCall;
#[cfg(feature = "nats")]
pub use watch::Watch;

/// A service whose calls carry frames in both directions for as long as both sides like.
pub trait DuplexService: Send + Sync + 'static {
    /// Its name on the bus, such as `agent.coder`.
    fn name(&self) -> String;

    /// How many calls it handles at a time; further ones are refused and tried elsewhere.
    fn capacity(&self) -> usize;

    /// Handles one call. A caller that is gone shows in `duplex`: the future is not dropped for it.
    fn open(&self, request: Bytes, duplex: Duplex) -> BoxFuture<'static, ()>;
}

/// What a watcher of the bus sees.
#[derive(Debug, Clone)]
pub enum Sight {
    /// An instance has announced itself, which each does every second.
    Instance(Instance),
    /// Something happened; see [`Bus::publish_event`].
    Event {
        kind: String,
        token: String,
        payload: Bytes,
    },
}
