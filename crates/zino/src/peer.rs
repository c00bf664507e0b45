//! Calls another service: over its socket, or directly within one process.

#[cfg(test)]
mod tests;

use std::future::poll_fn;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixStream;
use tokio::sync::mpsc;
use tokio::time::{sleep, timeout};
use zot_conversation::BoxFuture;
use zot_wire::zino::{Frame, Request, Response};
use zot_wire::{FrameDecoder, write_frame};

use crate::logging::Log;
use crate::request_line::{Outcome, RequestLine};
use crate::service::{Responses, Service};

const READ_BYTES: usize = 16 * 1024;

/// How long to wait before retrying a full queue.
const QUEUE_PAUSE: Duration = Duration::from_millis(5);

/// Where a service can be reached, and how long it may be silent.
pub struct Peer<R: Request> {
    address: Address<R>,
    limit: Option<Duration>,
}

enum Address<R: Request> {
    Socket {
        path: PathBuf,
        max_frame_bytes: usize,
    },
    Local {
        service: Arc<dyn Service<Request = R>>,
        log: Log,
    },
}

impl<R: Request> Clone for Peer<R> {
    fn clone(&self) -> Self {
        Self {
            address: match &self.address {
                Address::Socket {
                    path,
                    max_frame_bytes,
                } => Address::Socket {
                    path: path.clone(),
                    max_frame_bytes: *max_frame_bytes,
                },
                Address::Local { service, log } => Address::Local {
                    service: Arc::clone(service),
                    log: *log,
                },
            },
            limit: self.limit,
        }
    }
}

/// Why a call failed.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// No service listens there.
    #[error("{0}")]
    Unreachable(io::Error),
    #[error("the connection broke: {0}")]
    Broken(io::Error),
    #[error("the response ended too early")]
    EndedEarly,
    #[error("the response cannot be read: {0}")]
    Unreadable(String),
    #[error("no response within {}s", .0.as_secs_f64())]
    Silent(Duration),
}

impl<R: Request> Peer<R> {
    pub fn socket(path: PathBuf, max_frame_bytes: usize) -> Self {
        Self {
            address: Address::Socket {
                path,
                max_frame_bytes,
            },
            limit: None,
        }
    }

    /// Calls a service of this process. Its requests are logged as if they came over its socket.
    pub fn local(service: Arc<dyn Service<Request = R>>, log: Log) -> Self {
        Self {
            address: Address::Local { service, log },
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
            inner.next().await?.ok_or(CallError::EndedEarly)
        };
        limited(self.limit, response).await
    }

    async fn begin(&self, request: R) -> Result<Inner<R::Response>, CallError> {
        match &self.address {
            Address::Local { service, log } => {
                let (responses, frames) = Responses::channel();
                let line = RequestLine::of_request(*log, &request);
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
            Address::Socket {
                path,
                max_frame_bytes,
            } => {
                let mut stream = connect(path).await.map_err(CallError::Unreachable)?;
                let mut frame = Vec::new();
                write_frame(&mut frame, &request)
                    .map_err(|error| CallError::Unreadable(error.to_string()))?;
                match stream.write_all(&frame).await {
                    // A service that stops reading may have responded with the reason.
                    Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
                        return Err(CallError::Broken(error));
                    }
                    _ => {}
                }
                Ok(Inner::Remote(RemoteCall {
                    stream,
                    decoder: FrameDecoder::with_limit(*max_frame_bytes),
                    buffer: vec![0; READ_BYTES],
                }))
            }
        }
    }
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

/// Waits while the service's queue is full: a busy service is not a missing one.
async fn connect(path: &Path) -> io::Result<UnixStream> {
    loop {
        match UnixStream::connect(path).await {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => sleep(QUEUE_PAUSE).await,
            connected => return connected,
        }
    }
}

/// A response that is being received. Reading it does the work of a local service.
pub struct Call<T> {
    inner: Inner<T>,
    limit: Option<Duration>,
}

enum Inner<T> {
    Local(LocalCall<T>),
    Remote(RemoteCall),
}

struct LocalCall<T> {
    work: Option<BoxFuture<'static, ()>>,
    frames: mpsc::Receiver<T>,
    line: RequestLine,
    outcome: Outcome,
}

struct RemoteCall {
    stream: UnixStream,
    decoder: FrameDecoder,
    buffer: Vec<u8>,
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
            Self::Remote(call) => call.next().await,
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

impl RemoteCall {
    async fn next<T: Response>(&mut self) -> Result<Option<T>, CallError> {
        loop {
            match self.decoder.next_frame() {
                Ok(Some(bytes)) => {
                    let frame = Frame::parse(bytes)
                        .map_err(|error| CallError::Unreadable(error.to_string()))?;
                    return Ok(Some(T::read(frame)));
                }
                Ok(None) => {}
                Err(error) => return Err(CallError::Unreadable(error.to_string())),
            }
            match self.stream.read(&mut self.buffer).await {
                Err(error) => return Err(CallError::Broken(error)),
                Ok(0) if self.decoder.is_partial() => return Err(CallError::EndedEarly),
                Ok(0) => return Ok(None),
                Ok(count) => self.decoder.feed(&self.buffer[..count]),
            }
        }
    }
}
