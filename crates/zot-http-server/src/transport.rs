//! A connection that times out when the client reads nothing for too long.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use hyper::rt::{Read, ReadBufCursor, Write};
use tokio::io::{AsyncRead as _, AsyncWrite as _, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Sleep, sleep};

/// The size of one read.
const READ_BYTES: usize = 8 * 1024;

pub(crate) struct Transport {
    stream: TcpStream,
    write_time: Duration,
    /// Runs while the client reads nothing.
    stalled: Option<Pin<Box<Sleep>>>,
}

impl Transport {
    pub(crate) fn new(stream: TcpStream, write_time: Duration) -> Self {
        Self {
            stream,
            write_time,
            stalled: None,
        }
    }

    /// Writes as much as possible without waiting.
    pub(crate) fn write_now(&self, bytes: &[u8]) {
        let _ = self.stream.try_write(bytes);
    }

    /// Passes on the result of a write, or an error once the client has stalled for too long.
    fn with_timeout(
        &mut self,
        context: &mut Context<'_>,
        written: Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        if written.is_ready() {
            self.stalled = None;
            return written;
        }
        let write_time = self.write_time;
        let stalled = self
            .stalled
            .get_or_insert_with(|| Box::pin(sleep(write_time)));
        ready!(stalled.as_mut().poll(context));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl Read for Transport {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        mut unfilled: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        let mut bytes = [0; READ_BYTES];
        let wanted = unfilled.remaining().min(READ_BYTES);
        let mut buffer = ReadBuf::new(&mut bytes[..wanted]);
        ready!(Pin::new(&mut self.stream).poll_read(context, &mut buffer))?;
        unfilled.put_slice(buffer.filled());
        Poll::Ready(Ok(()))
    }
}

impl Write for Transport {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.with_timeout(context, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        self.with_timeout(context, written)
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
