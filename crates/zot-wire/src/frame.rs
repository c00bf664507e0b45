//! Length-prefixed frames: the length in four bytes, big-endian, then that many bytes of JSON.

#[cfg(test)]
mod tests;

use serde::Serialize;

/// The longest frame that is read unless the configuration says otherwise.
///
/// Limit: the frame is refused and the connection closed; `[wire] max_frame_bytes` of ZINO changes it.
pub const MAX_FRAME_BYTES: usize = 64 * 1024 * 1024;

const HEADER_BYTES: usize = 4;

/// The announced length of a frame exceeds the limit. None of it is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a frame of {length} bytes is too long: the limit is {limit}")]
pub struct FrameTooLong {
    pub length: usize,
    pub limit: usize,
}

/// Splits a byte stream into frames. Memory grows with the bytes received, whatever a header announces.
#[derive(Debug)]
pub struct FrameDecoder {
    buffer: Vec<u8>,
    /// The start of the first frame not yet returned.
    start: usize,
    limit: usize,
}

impl FrameDecoder {
    pub fn with_limit(limit: usize) -> Self {
        Self {
            buffer: Vec::new(),
            start: 0,
            limit,
        }
    }

    /// Adds received bytes.
    pub fn feed(&mut self, bytes: &[u8]) {
        if self.start > 0 {
            self.buffer.drain(..self.start);
            self.start = 0;
        }
        self.buffer.extend_from_slice(bytes);
    }

    /// Returns the body of the next complete frame, if there is one.
    pub fn next_frame(&mut self) -> Result<Option<&[u8]>, FrameTooLong> {
        let rest = &self.buffer[self.start..];
        let Some((header, body)) = rest.split_first_chunk::<HEADER_BYTES>() else {
            return Ok(None);
        };
        let length = u32::from_be_bytes(*header) as usize;
        if length > self.limit {
            return Err(FrameTooLong {
                length,
                limit: self.limit,
            });
        }
        if body.len() < length {
            return Ok(None);
        }
        let begin = self.start + HEADER_BYTES;
        self.start = begin + length;
        Ok(Some(&self.buffer[begin..begin + length]))
    }

    /// Whether part of a frame has arrived.
    pub fn is_partial(&self) -> bool {
        self.start < self.buffer.len()
    }
}

/// Why a frame could not be written.
#[derive(Debug, thiserror::Error)]
pub enum WriteFrameError {
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    #[error("a frame of {0} bytes cannot be announced in four bytes")]
    TooLong(usize),
}

/// Appends `value` to `buffer` as one frame.
pub fn write_frame(buffer: &mut Vec<u8>, value: &impl Serialize) -> Result<(), WriteFrameError> {
    let start = buffer.len();
    buffer.extend_from_slice(&[0; HEADER_BYTES]);
    let written = serde_json::to_writer(&mut *buffer, value).map_err(WriteFrameError::from);
    let length = buffer.len() - start - HEADER_BYTES;
    let announced =
        written.and_then(|()| u32::try_from(length).map_err(|_| WriteFrameError::TooLong(length)));
    match announced {
        Ok(length) => {
            buffer[start..start + HEADER_BYTES].copy_from_slice(&length.to_be_bytes());
            Ok(())
        }
        Err(error) => {
            // Half a frame would corrupt everything after it.
            buffer.truncate(start);
            Err(error)
        }
    }
}
