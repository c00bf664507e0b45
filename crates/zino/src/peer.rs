//! Calls another service: over its socket, or straight when it lives in the same process.

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
use zot_wire::{FrameDecoder, write_frame};

use crate::frame;
use crate::logging::Log;
use crate::request_line::{Outcome, RequestLine};
use crate::service::{Answer, Answers, Object, Service};

const READ_BYTES: usize = 16 * 1024;

/// How long to wait before a full queue is tried again.
const QUEUE_PAUSE: Duration = Duration::from_millis(5);

/// Where a service can be reached, and how long it may be silent.
#[derive(Clone)]
pub struct Peer {
    place: Place,
    limit: Option<Duration>,
}

#[derive(Clone)]
enum Place {
    Socket {
        path: PathBuf,
        max_frame_bytes: usize,
    },
    Local {
        service: Arc<dyn Service>,
        log: Log,
    },
}

/// Why a call came to nothing.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// Nobody listens there.
    #[error("{0}")]
    Unreachable(io::Error),
    #[error("the connection broke: {0}")]
    Broken(io::Error),
    #[error("the answer ended too early")]
    EndedEarly,
    #[error("the answer cannot be read: {0}")]
    Unreadable(String),
    #[error("nothing came within {}s", .0.as_secs_f64())]
    Silent(Duration),
}

impl Peer {
    pub fn socket(path: PathBuf, max_frame_bytes: usize) -> Self {
        Self {
            place: Place::Socket {
                path,
                max_frame_bytes,
            },
            limit: None,
        }
    }

    /// A service of this process; its requests go into `log` as they would over its socket.
    pub fn local(service: Arc<dyn Service>, log: Log) -> Self {
        Self {
            place: Place::Local { service, log },
            limit: None,
        }
    }

    /// Lets the service be silent for so long at most: before a frame of a stream, or before it has
    /// answered what it is asked.
    pub fn within(mut self, limit: Duration) -> Self {
        self.limit = Some(limit);
        self
    }

    /// Begins a call. Dropping the [`Call`] gives it up.
    pub async fn call(&self, request: Object) -> Result<Call, CallError> {
        let inner = limited(self.limit, self.begin(request)).await?;
        Ok(Call {
            inner,
            limit: self.limit,
        })
    }

    /// Calls and returns the one frame of the answer.
    pub async fn ask(&self, request: Object) -> Result<Answer, CallError> {
        let answered = async {
            let mut inner = self.begin(request).await?;
            inner.next().await?.ok_or(CallError::EndedEarly)
        };
        limited(self.limit, answered).await
    }

    async fn begin(&self, request: Object) -> Result<Inner, CallError> {
        match &self.place {
            Place::Local { service, log } => {
                let (answers, receiver) = Answers::channel();
                let line = RequestLine::begin(*log, service.kind(), &request);
                let service = Arc::clone(service);
                let work: BoxFuture<'static, ()> =
                    Box::pin(async move { service.handle(request, answers).await });
                Ok(Inner::Local(LocalCall {
                    work: Some(work),
                    answers: receiver,
                    line,
                    outcome: Outcome::default(),
                }))
            }
            Place::Socket {
                path,
                max_frame_bytes,
            } => {
                let mut stream = connect(path).await.map_err(CallError::Unreachable)?;
                let mut frame = Vec::new();
                write_frame(&mut frame, &request)
                    .map_err(|error| CallError::Unreadable(error.to_string()))?;
                match stream.write_all(&frame).await {
                    // Who does not read to the end may have said why.
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

/// Waits while the service's queue is full: a service that has much to do is there all the same.
async fn connect(path: &Path) -> io::Result<UnixStream> {
    loop {
        match UnixStream::connect(path).await {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => sleep(QUEUE_PAUSE).await,
            connected => return connected,
        }
    }
}

/// An answer on its way. It does the work of a local service when it is read.
pub struct Call {
    inner: Inner,
    limit: Option<Duration>,
}

enum Inner {
    Local(LocalCall),
    Remote(RemoteCall),
}

struct LocalCall {
    work: Option<BoxFuture<'static, ()>>,
    answers: mpsc::Receiver<Answer>,
    line: RequestLine,
    outcome: Outcome,
}

struct RemoteCall {
    stream: UnixStream,
    decoder: FrameDecoder,
    buffer: Vec<u8>,
}

impl Call {
    /// The next frame; `None` when the answer is over.
    pub async fn next(&mut self) -> Result<Option<Answer>, CallError> {
        limited(self.limit, self.inner.next()).await
    }
}

impl Inner {
    async fn next(&mut self) -> Result<Option<Answer>, CallError> {
        match self {
            Self::Local(call) => Ok(call.next().await),
            Self::Remote(call) => call.next().await,
        }
    }
}

impl LocalCall {
    async fn next(&mut self) -> Option<Answer> {
        let (work, answers) = (&mut self.work, &mut self.answers);
        let answer = poll_fn(|context| {
            loop {
                if let Ok(answer) = answers.try_recv() {
                    return Poll::Ready(Some(answer));
                }
                let Some(future) = work else {
                    return Poll::Ready(None);
                };
                let finished = future.as_mut().poll(context).is_ready();
                if finished {
                    *work = None;
                } else if answers.is_empty() {
                    // Another task of the service may add a frame and must wake this one.
                    return match answers.poll_recv(context) {
                        Poll::Ready(Some(answer)) => Poll::Ready(Some(answer)),
                        _ => Poll::Pending,
                    };
                }
            }
        })
        .await;
        match &answer {
            Some(Answer::Chunk(_)) => self.outcome = Outcome::Ok,
            Some(answer) => self.outcome = Outcome::of(answer),
            None => {}
        }
        answer
    }
}

impl Drop for LocalCall {
    fn drop(&mut self) {
        if self.work.is_some() {
            self.outcome = Outcome::HungUp;
        }
        self.line.end(&self.outcome);
    }
}

impl RemoteCall {
    async fn next(&mut self) -> Result<Option<Answer>, CallError> {
        loop {
            match self.decoder.next_frame() {
                Ok(Some(bytes)) => {
                    let object = frame::read(bytes)
                        .map_err(|error| CallError::Unreadable(error.to_string()))?;
                    return Ok(Some(Answer::from_object(object)));
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
