//! A call over a Unix socket: one request per connection.

use std::io;
use std::path::Path;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixStream;
use tokio::time::sleep;
use zot_wire::FrameDecoder;
use zot_wire::zino::{Frame, Response};

use super::READ_BYTES;
use super::error::{CallError, Unreachable};

/// How long to wait before retrying a full queue.
const QUEUE_PAUSE: Duration = Duration::from_millis(5);

pub(super) struct SocketCall {
    stream: UnixStream,
    decoder: FrameDecoder,
    buffer: Vec<u8>,
}

impl SocketCall {
    pub(super) async fn begin(
        path: &Path,
        request: &[u8],
        max_frame_bytes: usize,
    ) -> Result<Self, CallError> {
        let mut stream = connect(path)
            .await
            .map_err(|error| CallError::Unreachable(Unreachable::Socket(error)))?;
        match stream.write_all(request).await {
            // A service that stops reading may have responded with the reason.
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
                return Err(CallError::Broken(error));
            }
            _ => {}
        }
        Ok(Self {
            stream,
            decoder: FrameDecoder::with_limit(max_frame_bytes),
            buffer: vec![0; READ_BYTES],
        })
    }

    pub(super) async fn next<T: Response>(&mut self) -> Result<Option<T>, CallError> {
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

/// Waits while the service's queue is full: a busy service is not a missing one.
async fn connect(path: &Path) -> io::Result<UnixStream> {
    loop {
        match UnixStream::connect(path).await {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => sleep(QUEUE_PAUSE).await,
            connected => return connected,
        }
    }
}
