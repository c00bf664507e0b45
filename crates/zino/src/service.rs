//! The trait of services, which respond to a request with one or more frames.

use std::sync::Arc;

use bytes::Bytes;
use tokio::net::UnixStream;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use zot_conversation::BoxFuture;
use zot_wire::zino::Request;

use crate::bus::ServedCall;
use crate::kind::ServiceKind;
use crate::logging::Log;
use crate::serve::{KeptConnection, ServeOptions, serve_connection};

/// How many frames of a response may wait for the caller before the service does.
///
/// Limit: the service waits for the reader.
pub(crate) const RESPONSE_QUEUE_LENGTH: usize = 64;

/// Handles the requests of one protocol.
pub trait Service: Send + Sync + 'static {
    type Request: Request;

    fn kind(&self) -> ServiceKind;

    /// Handles one request. Dropping the future abandons the request: whatever it started elsewhere
    /// ends with it.
    fn handle(
        &self,
        request: Self::Request,
        responses: ResponsesTo<Self::Request>,
    ) -> BoxFuture<'_, ()>;

    /// Runs once at the start, on its own thread and concurrently with the first requests, until `stop`
    /// fires.
    fn prepare(&self, _log: Log, _stop: &CancellationToken) {}

    /// Reads its files again.
    fn reload(&self) -> Result<(), String> {
        Ok(())
    }

    /// What it serves on the bus under a further name, for callers with fewer rights.
    fn also_on_bus(self: Arc<Self>) -> Option<(&'static str, Arc<dyn AnyService>)> {
        None
    }

    /// Tells whether what it needs elsewhere works now; why not, if it does not.
    fn check(&self) -> BoxFuture<'_, Result<(), String>> {
        Box::pin(std::future::ready(Ok(())))
    }
}

/// A service of any protocol, as a socket serves it.
pub trait AnyService: Send + Sync {
    fn kind(&self) -> ServiceKind;

    /// Handles the request that arrives on `stream`.
    fn serve_connection(
        self: Arc<Self>,
        stream: UnixStream,
        options: ServeOptions,
        stop: CancellationToken,
    ) -> BoxFuture<'static, ()>;

    /// Handles the requests that arrive on a connection from the network.
    fn serve_kept(
        self: Arc<Self>,
        connection: KeptConnection,
        options: ServeOptions,
        stop: CancellationToken,
    ) -> BoxFuture<'static, ()>;

    /// Handles a request that arrives over the bus.
    fn serve_call(
        self: Arc<Self>,
        request: Bytes,
        call: ServedCall,
        options: ServeOptions,
    ) -> BoxFuture<'static, ()>;

    /// See [`Service::prepare`].
    fn prepare(&self, log: Log, stop: &CancellationToken);

    /// See [`Service::reload`].
    fn reload(&self) -> Result<(), String>;

    /// See [`Service::also_on_bus`].
    fn also_on_bus(self: Arc<Self>) -> Option<(&'static str, Arc<dyn AnyService>)>;

    /// See [`Service::check`].
    fn check(self: Arc<Self>) -> BoxFuture<'static, Result<(), String>>;
}

impl<S: Service> AnyService for S {
    fn kind(&self) -> ServiceKind {
        Service::kind(self)
    }

    fn serve_connection(
        self: Arc<Self>,
        stream: UnixStream,
        options: ServeOptions,
        stop: CancellationToken,
    ) -> BoxFuture<'static, ()> {
        Box::pin(async move { serve_connection(stream, self.as_ref(), options, stop).await })
    }

    fn serve_kept(
        self: Arc<Self>,
        connection: KeptConnection,
        options: ServeOptions,
        stop: CancellationToken,
    ) -> BoxFuture<'static, ()> {
        Box::pin(async move { connection.serve(self.as_ref(), options, stop).await })
    }

    fn serve_call(
        self: Arc<Self>,
        request: Bytes,
        call: ServedCall,
        options: ServeOptions,
    ) -> BoxFuture<'static, ()> {
        Box::pin(async move { call.respond(self.as_ref(), request, options).await })
    }

    fn prepare(&self, log: Log, stop: &CancellationToken) {
        Service::prepare(self, log, stop);
    }

    fn reload(&self) -> Result<(), String> {
        Service::reload(self)
    }

    fn also_on_bus(self: Arc<Self>) -> Option<(&'static str, Arc<dyn AnyService>)> {
        Service::also_on_bus(self)
    }

    fn check(self: Arc<Self>) -> BoxFuture<'static, Result<(), String>> {
        Box::pin(async move { Service::check(self.as_ref()).await })
    }
}

/// Sends the frames of a response to the caller.
#[derive(Debug)]
pub struct Responses<T>(mpsc::Sender<T>);

/// The responses to requests of type `R`.
pub type ResponsesTo<R> = Responses<<R as Request>::Response>;

/// The caller is no longer waiting for the response.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the caller has hung up")]
pub struct HungUp;

impl<T> Responses<T> {
    pub fn channel() -> (Self, mpsc::Receiver<T>) {
        let (sender, receiver) = mpsc::channel(RESPONSE_QUEUE_LENGTH);
        (Self(sender), receiver)
    }

    /// Sends a frame, waiting while the caller is behind.
    pub async fn send(&self, frame: T) -> Result<(), HungUp> {
        self.0.send(frame).await.map_err(|_| HungUp)
    }

    /// Sends the last frame; a caller that has hung up does not need it.
    pub async fn finish(&self, frame: T) {
        let _ = self.0.send(frame).await;
    }
}
