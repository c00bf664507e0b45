//! The chunked transfer coding, decoded in place.
//!
//! Pure: how the bytes are split does not change the result.

/// Trailers are skipped up to this length.
///
/// Limit: the chunked body is refused.
const MAX_TRAILER_BYTES: usize = 16 * 1024;

/// Chunk extensions are skipped up to this length.
///
/// Limit: the chunked body is refused.
const MAX_CHUNK_SIZE_LINE_BYTES: usize = 1024;

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ChunkError {
    #[error("invalid chunk size")]
    Size,
    #[error("a chunk is longer than its size says")]
    Overrun,
    #[error("the trailer is too long")]
    Trailer,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// In the digits of a size, of which this many bytes were read.
    Size {
        value: u64,
        length: usize,
    },
    /// In what follows the digits, up to the line feed.
    Extension {
        value: u64,
        length: usize,
    },
    Data {
        remaining: u64,
    },
    /// In the line end that follows data.
    DataEnd,
    /// In a trailer line: its length so far, and that of all of them.
    Trailer {
        line: usize,
        total: usize,
    },
    Ended,
}

#[derive(Debug)]
pub(crate) struct ChunkedDecoder {
    state: State,
}

impl ChunkedDecoder {
    pub(crate) fn new() -> Self {
        Self {
            state: State::Size {
                value: 0,
                length: 0,
            },
        }
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.state == State::Ended
    }

    /// Hands the data in `input` to `sink` and returns how much of `input` belongs to this body.
    pub(crate) fn decode(
        &mut self,
        input: &[u8],
        sink: &mut impl FnMut(&[u8]),
    ) -> Result<usize, ChunkError> {
        let mut rest = input;
        while let Some((&byte, after)) = rest.split_first() {
            match self.state {
                State::Data { remaining } => {
                    let length = usize::try_from(remaining).unwrap_or(usize::MAX);
                    let (data, after) = rest.split_at(rest.len().min(length));
                    sink(data);
                    rest = after;
                    self.state = match remaining - data.len() as u64 {
                        0 => State::DataEnd,
                        remaining => State::Data { remaining },
                    };
                    continue;
                }
                State::Ended => break,
                State::Size { value, length } => self.state = size(byte, value, length)?,
                State::Extension { value, length } => {
                    self.state = extension(byte, value, length)?;
                }
                State::DataEnd => match byte {
                    b'\r' => {}
                    b'\n' => *self = Self::new(),
                    _ => return Err(ChunkError::Overrun),
                },
                State::Trailer { line, total } => self.state = trailer(byte, line, total)?,
            }
            rest = after;
        }
        Ok(input.len() - rest.len())
    }
}

fn size(byte: u8, value: u64, length: usize) -> Result<State, ChunkError> {
    let Some(digit) = char::from(byte).to_digit(16) else {
        return match byte {
            b'\r' | b'\n' | b';' | b' ' | b'\t' if length > 0 => extension(byte, value, length),
            _ => Err(ChunkError::Size),
        };
    };
    let value = value
        .checked_mul(16)
        .and_then(|value| value.checked_add(u64::from(digit)))
        .ok_or(ChunkError::Size)?;
    let length = length + 1;
    if length > MAX_CHUNK_SIZE_LINE_BYTES {
        return Err(ChunkError::Size);
    }
    Ok(State::Size { value, length })
}

fn extension(byte: u8, value: u64, length: usize) -> Result<State, ChunkError> {
    let length = length + 1;
    match (byte, value) {
        (b'\n', 0) => Ok(State::Trailer { line: 0, total: 0 }),
        (b'\n', remaining) => Ok(State::Data { remaining }),
        _ if length <= MAX_CHUNK_SIZE_LINE_BYTES => Ok(State::Extension { value, length }),
        _ => Err(ChunkError::Size),
    }
}

fn trailer(byte: u8, line: usize, total: usize) -> Result<State, ChunkError> {
    let total = total + 1;
    match byte {
        _ if total > MAX_TRAILER_BYTES => Err(ChunkError::Trailer),
        b'\n' if line == 0 => Ok(State::Ended),
        b'\n' => Ok(State::Trailer { line: 0, total }),
        b'\r' => Ok(State::Trailer { line, total }),
        _ => Ok(State::Trailer {
            line: line + 1,
            total,
        }),
    }
}

#[cfg(test)]
mod tests;
