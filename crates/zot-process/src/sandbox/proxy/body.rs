//! Where the body of a request ends. Its bytes are passed on as they are, and none beyond its end.

#[cfg(test)]
mod tests;

/// How many digits the size of a chunk may have: as many as fit into 60 bits.
const SIZE_DIGITS: u8 = 15;

/// What of a body is still to come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Body {
    /// Nothing. So it is if the request does not say that it has a body.
    Complete,
    Bytes(u64),
    Chunk(Chunk),
}

/// What comes next in a chunked body. Extensions and trailers are refused: nobody sends them, and servers
/// differ in how they read them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Chunk {
    /// A digit of the size, or the end of its line.
    Size {
        digits: u8,
        size: u64,
    },
    SizeLineFeed(u64),
    Data(u64),
    DataReturn,
    DataLineFeed,
    LastReturn,
    LastLineFeed,
}

/// A chunked body that is malformed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct BadChunk;

impl Body {
    pub(super) fn chunked() -> Self {
        Self::Chunk(Chunk::Size { digits: 0, size: 0 })
    }

    /// Returns the header line that tells the server what this body is, before any of it was taken.
    pub(super) fn header(&self) -> String {
        match self {
            Self::Complete => String::new(),
            Self::Bytes(length) => format!("Content-Length: {length}\r\n"),
            Self::Chunk(_) => "Transfer-Encoding: chunked\r\n".to_owned(),
        }
    }

    pub(super) fn is_complete(&self) -> bool {
        matches!(self, Self::Complete | Self::Bytes(0))
    }

    /// Takes what belongs to the body from the beginning of `bytes`, and returns its length.
    pub(super) fn take(&mut self, bytes: &[u8]) -> Result<usize, BadChunk> {
        let mut taken = 0;
        while taken < bytes.len() {
            taken += match self {
                Self::Complete | Self::Bytes(0) => break,
                Self::Bytes(left) => {
                    let length = part(*left, bytes.len() - taken);
                    *left -= length as u64;
                    length
                }
                Self::Chunk(Chunk::Data(left)) => {
                    let length = part(*left, bytes.len() - taken);
                    *self = Self::Chunk(match *left - length as u64 {
                        0 => Chunk::DataReturn,
                        left => Chunk::Data(left),
                    });
                    length
                }
                Self::Chunk(chunk) => {
                    *self = match chunk.after(bytes[taken])? {
                        Some(chunk) => Self::Chunk(chunk),
                        None => Self::Complete,
                    };
                    1
                }
            };
        }
        Ok(taken)
    }
}

impl Chunk {
    /// Returns what comes after a byte of the framing; `None` is the end.
    fn after(self, byte: u8) -> Result<Option<Self>, BadChunk> {
        Ok(Some(match (self, byte) {
            (Self::Size { digits, size }, b'\r') if digits > 0 => Self::SizeLineFeed(size),
            (Self::Size { digits, size }, byte) if digits < SIZE_DIGITS => {
                let digit = char::from(byte).to_digit(16).ok_or(BadChunk)?;
                Self::Size {
                    digits: digits + 1,
                    size: size << 4 | u64::from(digit),
                }
            }
            (Self::SizeLineFeed(0), b'\n') => Self::LastReturn,
            (Self::SizeLineFeed(size), b'\n') => Self::Data(size),
            (Self::DataReturn, b'\r') => Self::DataLineFeed,
            (Self::DataLineFeed, b'\n') => Self::Size { digits: 0, size: 0 },
            (Self::LastReturn, b'\r') => Self::LastLineFeed,
            (Self::LastLineFeed, b'\n') => return Ok(None),
            _ => return Err(BadChunk),
        }))
    }
}

/// Returns how many of `available` bytes belong to the `left` ones.
fn part(left: u64, available: usize) -> usize {
    usize::try_from(left).map_or(available, |left| left.min(available))
}
