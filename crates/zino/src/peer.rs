//! Calls another service: over its socket, or straight when it lives in the same process.

use std::future::poll_fn;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixStream;
use tokio::sync::mpsc;
use tokio::time::sleep;
use zot_conversation::BoxFuture;
use zot_wire::{FrameDecoder, write_frame};

use crate::service::{Answer, Answers, Object, Service};

const READ_BYTES: usize = 16 * 1024;

/// How long to wait before a full queue is tried again.
const QUEUE_PAUSE: Duration = Duration::from_millis(5);

/// Where a service can be reached.
#[derive(Clone)]
pub enum Peer {
    Socket {
        path: PathBuf,
        max_frame_bytes: usize,
    },
    Local(Arc<dyn Service>),
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
}

impl Peer {
    /// Begins a call. Dropping the [`Call`] gives it up.
    pub async fn call(&self, request: Object) -> Result<Call, CallError> {
        match self {
            Self::Local(service) => {
                let (answers, receiver) = Answers::channel();
                let service = Arc::clone(service);
                let work: BoxFuture<'static, ()> =
                    Box::pin(async move { service.handle(request, answers).await });
                Ok(Call(Inner::Local {
                    work: Some(work),
                    answers: receiver,
                }))
            }
            Self::Socket {
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
                Ok(Call(Inner::Remote {
                    stream,
                    decoder: FrameDecoder::with_limit(*max_frame_bytes),
                    buffer: vec![0; READ_BYTES],
                }))
            }
        }
    }

    /// Calls and returns the one frame of the answer.
    pub async fn ask(&self, request: Object) -> Result<Answer, CallError> {
        let mut call = self.call(request).await?;
        call.next().await?.ok_or(CallError::EndedEarly)
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
pub struct Call(Inner);

enum Inner {
    Local {
        work: Option<BoxFuture<'static, ()>>,
        answers: mpsc::Receiver<Answer>,
    },
    Remote {
        stream: UnixStream,
        decoder: FrameDecoder,
        buffer: Vec<u8>,
    },
}

impl Call {
    /// The next frame; `None` when the answer is over.
    pub async fn next(&mut self) -> Result<Option<Answer>, CallError> {
        match &mut self.0 {
            Inner::Local { work, answers } => Ok(poll_fn(|context| {
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
            .await),
            Inner::Remote {
                stream,
                decoder,
                buffer,
            } => loop {
                match decoder.next_frame() {
                    Ok(Some(frame)) => {
                        let object = serde_json::from_slice(frame)
                            .map_err(|error| CallError::Unreadable(error.to_string()))?;
                        return Ok(Some(Answer::from_object(object)));
                    }
                    Ok(None) => {}
                    Err(error) => return Err(CallError::Unreadable(error.to_string())),
                }
                match stream.read(buffer).await.map_err(CallError::Broken)? {
                    0 if decoder.is_partial() => return Err(CallError::EndedEarly),
                    0 => return Ok(None),
                    count => decoder.feed(&buffer[..count]),
                }
            },
        }
    }
}
