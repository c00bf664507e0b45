//! The bus of a `zino` that was built without NATS: there is none.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio_util::sync::CancellationToken;
use zot_conversation::BoxFuture;

use super::{BusError, DuplexService, Instance, Sight};
use crate::config::Config;
use crate::logging::Log;
use crate::peer::CallError;
use crate::serve::ServeOptions;
use crate::service::{AnyService, Service};

/// A connection to the bus, which cannot exist.
#[derive(Clone)]
pub struct Bus(Infallible);

/// One end of a call in both directions, which cannot exist.
pub struct Duplex(Infallible);

/// See [`Duplex`].
pub struct DuplexSender(Infallible);

/// See [`Duplex`].
pub struct DuplexReceiver(Infallible);

/// A service that callers on the bus can reach, which cannot exist.
pub struct BusListener(Infallible);

/// A call that is served, which cannot exist.
pub struct ServedCall(Infallible);

/// A call over the bus, which cannot exist.
pub(crate) struct BusCall(Infallible);

/// See [`BusCall`].
#[derive(Debug, Clone, Copy)]
pub(crate) enum Repeat {
    Never,
}

impl Repeat {
    pub(crate) fn of<R>(_request: &R) -> Self {
        Self::Never
    }
}

/// What a watcher sees, which cannot exist.
pub struct Watch(Infallible);

#[expect(clippy::unused_async, reason = "the signatures are those of a bus")]
impl Bus {
    pub async fn connect(
        config: &Config,
        _identity: &str,
        _log: Log,
    ) -> Result<Option<Self>, BusError> {
        Self::check(config).await.map(|_| None)
    }

    pub async fn check(config: &Config) -> Result<Option<String>, BusError> {
        match config.bus_url() {
            None => Ok(None),
            Some(_) => Err(BusError::NotBuilt),
        }
    }

    pub fn instance(&self) -> &str {
        match self.0 {}
    }

    pub fn host(&self) -> &str {
        match self.0 {}
    }

    pub async fn open(&self, _service: &str, _request: Bytes) -> Result<Duplex, CallError> {
        match self.0 {}
    }

    pub fn serve_duplex(
        &self,
        _service: Arc<dyn DuplexService>,
        _options: ServeOptions,
        _stop: CancellationToken,
    ) -> BoxFuture<'static, Result<(), BusError>> {
        match self.0 {}
    }

    pub async fn serve(
        listener: BusListener,
        _service: Arc<dyn AnyService>,
        _options: ServeOptions,
        _stop: CancellationToken,
    ) {
        match listener.0 {}
    }

    pub fn publish_event(&self, _kind: &str, _token: &str, _payload: Bytes) {
        match self.0 {}
    }

    pub async fn flush(&self) {
        match self.0 {}
    }

    pub async fn instances(&self, _wait: Duration) -> Vec<Instance> {
        match self.0 {}
    }

    pub async fn watch(&self) -> Result<Watch, BusError> {
        match self.0 {}
    }
}

#[expect(clippy::unused_async, reason = "the signatures are those of a bus")]
impl BusListener {
    pub async fn bind(bus: &Bus, _service: &str, _capacity: usize) -> Result<Self, BusError> {
        match bus.0 {}
    }

    pub fn announcing(self, _capacity: usize) -> Self {
        self
    }
}

#[expect(clippy::unused_async, reason = "the signatures are those of a bus")]
impl ServedCall {
    pub(crate) async fn respond<S: Service>(
        self,
        _service: &S,
        _request: Bytes,
        _options: ServeOptions,
    ) {
        match self.0 {}
    }
}

#[expect(clippy::unused_async, reason = "the signatures are those of a bus")]
impl BusCall {
    pub(crate) async fn begin(
        bus: &Bus,
        _service: &str,
        _request: Bytes,
        _repeat: Repeat,
    ) -> Result<Self, CallError> {
        match bus.0 {}
    }

    pub(crate) async fn next(&mut self) -> Result<Option<Bytes>, CallError> {
        match self.0 {}
    }
}

#[expect(clippy::unused_async, reason = "the signatures are those of a bus")]
impl Watch {
    pub async fn next(&mut self) -> Option<Sight> {
        match self.0 {}
    }
}

#[expect(clippy::unused_async, reason = "the signatures are those of a bus")]
impl Duplex {
    pub fn instance(&self) -> &str {
        match self.0 {}
    }

    pub async fn send(&mut self, _frame: Bytes) -> Result<(), CallError> {
        match self.0 {}
    }

    pub async fn finish(&mut self) -> Result<(), CallError> {
        match self.0 {}
    }

    pub async fn next(&mut self) -> Result<Option<Bytes>, CallError> {
        match self.0 {}
    }

    pub fn split(self) -> (DuplexSender, DuplexReceiver) {
        match self.0 {}
    }
}

#[expect(clippy::unused_async, reason = "the signatures are those of a bus")]
impl DuplexSender {
    pub async fn send(&mut self, _frame: Bytes) -> Result<(), CallError> {
        match self.0 {}
    }

    pub async fn send_all(&mut self, _frames: Vec<Bytes>) -> Result<(), CallError> {
        match self.0 {}
    }

    pub async fn finish(&mut self) -> Result<(), CallError> {
        match self.0 {}
    }
}

#[expect(clippy::unused_async, reason = "the signatures are those of a bus")]
impl DuplexReceiver {
    pub fn instance(&self) -> &str {
        match self.0 {}
    }

    pub async fn next(&mut self) -> Result<Option<Bytes>, CallError> {
        match self.0 {}
    }

    pub async fn lost(&self) -> CallError {
        match self.0 {}
    }
}
