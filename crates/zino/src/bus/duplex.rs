//! A call that carries frames in both directions.

use bytes::Bytes;

use crate::peer::CallError;

/// One end of a call that carries frames in both directions. Dropping it cancels the call, unless both
/// directions have ended.
pub struct Duplex {
    sender: DuplexSender,
    receiver: DuplexReceiver,
}

/// Sends the frames of one end. Dropping it without [`Self::finish`] cancels the call.
pub struct DuplexSender(());

/// Receives the frames of the other end.
pub struct DuplexReceiver {
    instance: String,
}

impl Duplex {
    /// The instance at the other end.
    pub fn instance(&self) -> &str {
        &self.receiver.instance
    }

    /// See [`DuplexSender::send`].
    pub async fn send(&mut self, frame: Bytes) -> Result<(), CallError> {
        self.sender.send(frame).await
    }

    /// See [`DuplexSender::finish`].
    pub async fn finish(&mut self) -> Result<(), CallError> {
        self.sender.finish().await
    }

    /// See [`DuplexReceiver::next`].
    pub async fn next(&mut self) -> Result<Option<Bytes>, CallError> {
        self.receiver.next().await
    }

    /// Separates the directions, for two tasks.
    pub fn split(self) -> (DuplexSender, DuplexReceiver) {
        (self.sender, self.receiver)
    }
}

impl DuplexSender {
    /// Sends a frame, waiting while the other end is behind.
    pub async fn send(&mut self, frame: Bytes) -> Result<(), CallError> {
        self.send_all(vec![frame]).await
    }

    /// Sends frames, in as few messages as they fit in.
    #[expect(clippy::unused_async, reason = "the calls come next")]
    pub async fn send_all(&mut self, _frames: Vec<Bytes>) -> Result<(), CallError> {
        Err(CallError::EndedEarly)
    }

    /// Ends this direction; the other end sees it after the last frame.
    #[expect(clippy::unused_async, reason = "the calls come next")]
    pub async fn finish(&mut self) -> Result<(), CallError> {
        Err(CallError::EndedEarly)
    }
}

impl DuplexReceiver {
    /// The instance at the other end.
    pub fn instance(&self) -> &str {
        &self.instance
    }

    /// The next frame; `None` when the other end has finished. Nothing is lost if the future is dropped.
    #[expect(clippy::unused_async, reason = "the calls come next")]
    pub async fn next(&mut self) -> Result<Option<Bytes>, CallError> {
        Err(CallError::EndedEarly)
    }
}
