//! Calls another service: over its socket, over the network, or directly within one process.

mod destination;
mod error;
mod kept;
mod route;
mod socket;
#[cfg(test)]
mod tests;

use std::future::poll_fn;
use std::path::PathBuf;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::timeout;
use zot_conversation::BoxFuture;
use zot_wire::write_frame;
use zot_wire::zino::{Frame, Request, Response};

use crate::bus::{Bus, BusCall, Repeat};
use crate::config::Config;
use crate::config::address::Address;
use crate::kind::ServiceKind;
use crate::logging::Log;
use crate::network::identity::LiveIdentity;
use crate::request_line::{Outcome, RequestLine};
use crate::service::{Responses, Service};
use route::{KeptCall, Route, RoutedCall};
use socket::SocketCall;

pub use error::{AddressError, AddressFailure, CallError, LinkError, Unreachable};

const READ_BYTES: usize = 16 * 1024;

/// Where a service can be reached, and how long it may be silent.
pub struct Peer<R: Request> {
    target: Target<R>,
    limit: Option<Duration>,
}

enum Target<R: Request> {
    Socket {
        path: PathBuf,
        max_frame_bytes: usize,
    },
    Local {
        service: Arc<dyn Service<Request = R>>,
        log: Log,
    },
    Network(Arc<Route>),
    Bus {
        bus: Bus,
        service: &'static str,
    },
}

impl<R: Request> Clone for Peer<R> {
    fn clone(&self) -> Self {
        Self {
            target: match &self.target {
                Target::Socket {
                    path,
                    max_frame_bytes,
                } => Target::Socket {
                    path: path.clone(),
                    max_frame_bytes: *max_frame_bytes,
                },
                Target::Local { service, log } => Target::Local {
                    service: Arc::clone(service),
                    log: *log,
                },
                Target::Network(route) => Target::Network(Arc::clone(route)),
                Target::Bus { bus, service } => Target::Bus {
                    bus: bus.clone(),
                    service,
                },
            },
            limit: self.limit,
        }
    }
}

impl<R: Request> Peer<R> {
    pub fn socket(path: PathBuf, max_frame_bytes: usize) -> Self {
        Self {
            target: Target::Socket {
                path,
                max_frame_bytes,
            },
            limit: None,
        }
    }

    /// Calls a service where the configuration says it is: in `[peers]`, or else on the bus if there is
    /// one, or else at its socket.
    pub fn configured(
        config: &Config,
        kind: ServiceKind,
        identity: Option<&LiveIdentity>,
        bus: Option<&Bus>,
    ) -> Self {
        match (config.peer_addresses(kind), bus) {
            (Some(addresses), _) => Self::at(config, kind, addresses, identity),
            (None, Some(bus)) => Self::on_bus(bus, kind.name()),
            (None, None) => Self::socket(config.socket(kind), config.wire.max_frame_bytes),
        }
    }

    /// Calls any instance of a service on the bus, by its name there.
    pub fn on_bus(bus: &Bus, service: &'static str) -> Self {
        Self {
            target: Target::Bus {
                bus: bus.clone(),
                service,
            },
            limit: None,
        }
    }

    /// Calls a service at the given addresses.
    pub fn at(
        config: &Config,
        kind: ServiceKind,
        addresses: &[Address],
        identity: Option<&LiveIdentity>,
    ) -> Self {
        let max_frame_bytes = config.wire.max_frame_bytes;
        if let [Address::Unix(path)] = addresses {
            return Self::socket(path.clone(), max_frame_bytes);
        }
        let route = Route::new(kind.name(), addresses, identity, max_frame_bytes);
        Self {
            target: Target::Network(Arc::new(route)),
            limit: None,
        }
    }

    /// Calls a service of this process. Its requests are logged as if they came over its socket.
    pub fn local(service: Arc<dyn Service<Request = R>>, log: Log) -> Self {
        Self {
            target: Target::Local { service, log },
            limit: None,
        }
    }

    /// Limits how long the service may be silent before the next frame of a stream, or before its
    /// whole response to [`Self::ask`].
    pub fn within(mut self, limit: Duration) -> Self {
        self.limit = Some(limit);
        self
    }

    /// Lets the service be silent as long as it likes.
    pub fn without_limit(mut self) -> Self {
        self.limit = None;
        self
    }

    /// Begins a call. Dropping the [`Call`] abandons it.
    pub async fn call(&self, request: R) -> Result<Call<R::Response>, CallError> {
        let inner = limited(self.limit, self.begin(request)).await?;
        Ok(Call {
            inner,
            limit: self.limit,
        })
    }

    /// Calls and returns the one frame of the response.
    pub async fn ask(&self, request: R) -> Result<R::Response, CallError> {
        let response = async {
            let mut inner = self.begin(request).await?;
            let response = inner.next().await?.ok_or(CallError::EndedEarly)?;
            if let Inner::Kept(call) = &mut inner {
                call.finish().await;
            }
            Ok(response)
        };
        limited(self.limit, response).await
    }

    async fn begin(&self, request: R) -> Result<Inner<R::Response>, CallError> {
        match &self.target {
            Target::Local { service, log } => {
                let (responses, frames) = Responses::channel();
                let line = RequestLine::of_request(*log, service.kind(), &request);
                let service = Arc::clone(service);
                let work: BoxFuture<'static, ()> =
                    Box::pin(async move { service.handle(request, responses).await });
                Ok(Inner::Local(LocalCall {
                    work: Some(work),
                    frames,
                    line,
                    outcome: Outcome::default(),
                }))
            }
            Target::Socket {
                path,
                max_frame_bytes,
            } => {
                let call = SocketCall::begin(path, &encode(&request)?, *max_frame_bytes).await?;
                Ok(Inner::Socket(call))
            }
            Target::Network(route) => {
                let is_repeatable = request.is_repeatable();
                let frame = encode(&request)?;
                drop(request);
                Ok(match route.begin(&frame, is_repeatable).await? {
                    RoutedCall::Socket(call) => Inner::Socket(call),
                    RoutedCall::Kept(call) => Inner::Kept(call),
                })
            }
            Target::Bus { bus, service } => {
                let repeat = Repeat::of(&request);
                let frame = serde_json::to_vec(&request)
                    .map_err(|error| CallError::Unreadable(error.to_string()))?;
                drop(request);
                let call = BusCall::begin(bus, service, frame.into(), repeat).await?;
                Ok(Inner::Bus(Box::new(call)))
            }
        }
    }
}

fn encode(request: &impl Request) -> Result<Vec<u8>, CallError> {
    let mut frame = Vec::new();
    write_frame(&mut frame, request).map_err(|error| CallError::Unreadable(error.to_string()))?;
    Ok(frame)
}

async fn limited<T>(
    limit: Option<Duration>,
    work: impl Future<Output = Result<T, CallError>>,
) -> Result<T, CallError> {
    match limit {
        Some(limit) => match timeout(limit, work).await {
            Ok(result) => result,
            Err(_) => Err(CallError::Silent(limit)),
        },
        None => work.await,
    }
}

/// A response that is being received. Reading it does the work of a local service.
pub struct Call<T> {
    inner: Inner<T>,
    limit: Option<Duration>,
}

enum Inner<T> {
    Local(LocalCall<T>),
    Socket(SocketCall),
    Kept(KeptCall),
    Bus(Box<BusCall>),
}

struct LocalCall<T> {
    work: Option<BoxFuture<'static, ()>>,
    frames: mpsc::Receiver<T>,
    line: RequestLine,
    outcome: Outcome,
}

impl<T: Response> Call<T> {
    /// The next frame; `None` at the end of the response.
    pub async fn next(&mut self) -> Result<Option<T>, CallError> {
        limited(self.limit, self.inner.next()).await
    }
}

impl<T: Response> Inner<T> {
    async fn next(&mut self) -> Result<Option<T>, CallError> {
        match self {
            Self::Local(call) => Ok(call.next().await),
            Self::Socket(call) => call.next().await,
            Self::Kept(call) => call.next().await,
            Self::Bus(call) => match call.next().await? {
                Some(bytes) => Frame::parse(&bytes)
                    .map(|frame| Some(T::read(frame)))
                    .map_err(|error| CallError::Unreadable(error.to_string())),
                None => Ok(None),
            },
        }
    }
}

impl<T: Response> LocalCall<T> {
    async fn next(&mut self) -> Option<T> {
        let (work, frames) = (&mut self.work, &mut self.frames);
        let frame = poll_fn(|context| {
            loop {
                if let Ok(frame) = frames.try_recv() {
                    return Poll::Ready(Some(frame));
                }
                let Some(future) = work else {
                    return Poll::Ready(None);
                };
                let finished = future.as_mut().poll(context).is_ready();
                if finished {
                    *work = None;
                } else if frames.is_empty() {
                    // Another task of the service may add a frame and must wake this one.
                    return match frames.poll_recv(context) {
                        Poll::Ready(Some(frame)) => Poll::Ready(Some(frame)),
                        _ => Poll::Pending,
                    };
                }
            }
        })
        .await;
        if let Some(frame) = &frame {
            self.line.answered();
            self.outcome = Outcome::of(frame);
        }
        frame
    }
}

impl<T> Drop for LocalCall<T> {
    fn drop(&mut self) {
        if self.work.is_some() {
            self.outcome = Outcome::HungUp;
        }
        self.line.end(&self.outcome);
    }
}
