//! The body of a response.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use hyper::body::{Frame, SizeHint};
use tokio::sync::mpsc;

/// The body of a response: bytes, or chunks that a future sends while the client reads.
pub struct Body(Kind);

enum Kind {
    Whole(Bytes),
    Produced {
        chunks: mpsc::Receiver<Bytes>,
        /// `None` once it has finished.
        producer: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
        length: Option<u64>,
    },
}

/// Sends the parts of a body that a future produces.
pub struct ChunkSender(mpsc::Sender<Bytes>);

impl ChunkSender {
    /// Sends a chunk, waiting until the connection has room for it. Fails once the client has gone.
    pub async fn send(&self, chunk: impl Into<Bytes>) -> io::Result<()> {
        let sent = self.0.send(chunk.into()).await;
        sent.map_err(|_| io::ErrorKind::BrokenPipe.into())
    }
}

impl Body {
    /// Returns a body whose chunks a future sends. The connection polls the future, so it stops with
    /// the connection and never runs ahead of the client. If it ends before `length` bytes, the
    /// connection is broken off.
    pub fn produced<F>(length: Option<u64>, produce: impl FnOnce(ChunkSender) -> F) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let (sender, chunks) = mpsc::channel(1);
        Self(Kind::Produced {
            chunks,
            producer: Some(Box::pin(produce(ChunkSender(sender)))),
            length,
        })
    }
}

impl<T: Into<Bytes>> From<T> for Body {
    fn from(bytes: T) -> Self {
        Self(Kind::Whole(bytes.into()))
    }
}

impl hyper::body::Body for Body {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        let frame = |chunk: Option<Bytes>| chunk.map(|chunk| Ok(Frame::data(chunk)));
        match &mut self.0 {
            Kind::Whole(bytes) if bytes.is_empty() => Poll::Ready(None),
            Kind::Whole(bytes) => Poll::Ready(frame(Some(std::mem::take(bytes)))),
            Kind::Produced {
                chunks, producer, ..
            } => {
                if let Poll::Ready(chunk) = chunks.poll_recv(context) {
                    return Poll::Ready(frame(chunk));
                }
                let finished = producer
                    .as_mut()
                    .is_some_and(|producer| producer.as_mut().poll(context).is_ready());
                if finished {
                    *producer = None;
                }
                chunks.poll_recv(context).map(frame)
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(&self.0, Kind::Whole(bytes) if bytes.is_empty())
    }

    fn size_hint(&self) -> SizeHint {
        match &self.0 {
            Kind::Whole(bytes) => SizeHint::with_exact(bytes.len() as u64),
            Kind::Produced {
                length: Some(length),
                ..
            } => SizeHint::with_exact(*length),
            Kind::Produced { .. } => SizeHint::default(),
        }
    }
}
