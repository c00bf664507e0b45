//! A TCP connection, with or without TLS.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::TlsStream;

pub(crate) enum NetworkStream {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

/// What can be read from a connection right now.
pub(crate) enum Available {
    Nothing,
    Bytes(usize),
    /// It has ended, or is broken.
    End,
}

impl NetworkStream {
    pub(crate) fn tcp(&self) -> &TcpStream {
        match self {
            Self::Plain(stream) => stream,
            Self::Tls(stream) => stream.get_ref().0,
        }
    }

    /// Reads what has arrived, without waiting.
    pub(crate) fn read_available(&mut self, buffer: &mut [u8]) -> Available {
        let mut buffer = ReadBuf::new(buffer);
        let mut context = Context::from_waker(Waker::noop());
        match Pin::new(self).poll_read(&mut context, &mut buffer) {
            Poll::Pending => Available::Nothing,
            Poll::Ready(Ok(())) if !buffer.filled().is_empty() => {
                Available::Bytes(buffer.filled().len())
            }
            Poll::Ready(_) => Available::End,
        }
    }
}

impl AsyncRead for NetworkStream {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_read(context, buffer),
            Self::Tls(stream) => Pin::new(stream).poll_read(context, buffer),
        }
    }
}

impl AsyncWrite for NetworkStream {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_write(context, bytes),
            Self::Tls(stream) => Pin::new(stream).poll_write(context, bytes),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_flush(context),
            Self::Tls(stream) => Pin::new(stream).poll_flush(context),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_shutdown(context),
            Self::Tls(stream) => Pin::new(stream).poll_shutdown(context),
        }
    }
}
