//! Receives the frames of one direction of a call, in order, and allows more as they are read.

#[cfg(test)]
mod tests;

use std::collections::VecDeque;

use bytes::{Buf as _, Bytes};
use sha2::{Digest as _, Sha256};

use super::error::BusFailure;
use super::link::{Link, WINDOW};
use super::message::{Data, Kind, Part};
use super::outgoing::{WINDOW_BYTES, hex};

/// The first piece of memory for a frame in parts; more follows as it arrives.
const FIRST_PIECE_BYTES: usize = 1024 * 1024;

/// What has arrived in one direction.
pub(super) struct Incoming {
    max_frame_bytes: usize,
    /// How many units have arrived.
    units: u64,
    frames: VecDeque<Bytes>,
    partial: Option<Partial>,
    has_ended: bool,
    /// How many units were read.
    read: u64,
    /// How many units were read when the other end was last told, and how many bytes since.
    told: u64,
    read_bytes: usize,
}

/// A frame whose first parts have arrived.
struct Partial {
    total: usize,
    next: u64,
    count: u64,
    bytes: Vec<u8>,
    hasher: Sha256,
}

impl Incoming {
    pub(super) fn new(max_frame_bytes: usize) -> Self {
        Self {
            max_frame_bytes,
            units: 0,
            frames: VecDeque::new(),
            partial: None,
            has_ended: false,
            read: 0,
            told: 0,
            read_bytes: 0,
        }
    }

    /// Whether everything was read.
    pub(super) fn has_ended(&self) -> bool {
        self.has_ended && self.frames.is_empty()
    }

    /// Whether everything has arrived.
    pub(super) fn has_arrived(&self) -> bool {
        self.has_ended
    }

    /// Takes a message. Those that are not about frames are ignored.
    pub(super) fn take(&mut self, kind: Kind, payload: Bytes) -> Result<(), BusFailure> {
        match kind {
            Kind::Data(data) => self.take_data(data, payload),
            Kind::Part(part) => self.take_part(part, &payload),
            Kind::End { units } if units == self.units => {
                self.has_ended = true;
                Ok(())
            }
            Kind::End { .. } => Err(BusFailure::Gap),
            Kind::Accept | Kind::Refuse { .. } | Kind::Credit { .. } | Kind::Cancel => Ok(()),
        }
    }

    fn take_data(&mut self, data: Data, mut payload: Bytes) -> Result<(), BusFailure> {
        if data.first != self.units || self.partial.is_some() {
            return Err(BusFailure::Gap);
        }
        match data.frames {
            None => self.frames.push_back(payload),
            Some(count) => {
                for _ in 0..count {
                    let length = payload.try_get_u32().ok();
                    let length = length.and_then(|length| usize::try_from(length).ok());
                    let Some(length) = length.filter(|length| *length <= payload.len()) else {
                        return Err(unreadable("a frame is shorter than its length"));
                    };
                    self.frames.push_back(payload.split_to(length));
                }
            }
        }
        self.units += data.frames.unwrap_or(1);
        self.has_ended |= data.ends;
        Ok(())
    }

    fn take_part(&mut self, part: Part, payload: &Bytes) -> Result<(), BusFailure> {
        if part.first != self.units {
            return Err(BusFailure::Gap);
        }
        let mut partial = match (self.partial.take(), part.total) {
            (None, Some(total)) if part.index == 0 => {
                if total > self.max_frame_bytes {
                    return Err(BusFailure::Unreadable(format!(
                        "a frame of {} bytes is longer than {} bytes",
                        total, self.max_frame_bytes
                    )));
                }
                Partial {
                    total,
                    next: 0,
                    count: part.count,
                    bytes: Vec::new(),
                    hasher: Sha256::new(),
                }
            }
            (Some(partial), None) if partial.next == part.index => partial,
            _ => return Err(BusFailure::Gap),
        };
        self.units += 1;
        self.read += 1;
        self.read_bytes += payload.len();
        partial.add(payload)?;
        match partial.next == partial.count {
            true => {
                self.frames
                    .push_back(partial.finish(part.digest.as_deref())?);
                // The frame itself is no unit beyond its parts.
                self.read = self.read.saturating_sub(1);
            }
            false => self.partial = Some(partial),
        }
        self.has_ended |= part.ends;
        Ok(())
    }

    /// The next frame that has arrived.
    pub(super) fn pop(&mut self) -> Option<Bytes> {
        let frame = self.frames.pop_front()?;
        self.read += 1;
        self.read_bytes += frame.len();
        Some(frame)
    }

    /// What the other end may now have sent, if it is time to tell it.
    pub(super) fn due_credit(&mut self, link: &Link) -> Option<u64> {
        let is_due = self.read - self.told >= WINDOW / 2 || self.read_bytes >= WINDOW_BYTES / 2;
        if self.has_ended || !is_due {
            return None;
        }
        self.told = self.read;
        self.read_bytes = 0;
        let limit = self.read + WINDOW;
        link.grant(limit);
        Some(limit)
    }
}

impl Partial {
    fn add(&mut self, payload: &[u8]) -> Result<(), BusFailure> {
        if self.bytes.len() + payload.len() > self.total {
            return Err(unreadable("a frame in parts is longer than announced"));
        }
        let wanted = self.bytes.len() + payload.len();
        if wanted > self.bytes.capacity() {
            // As it arrives, not as it is announced.
            let most = self.total.min((wanted * 2).max(FIRST_PIECE_BYTES));
            self.bytes.reserve_exact(most - self.bytes.len());
        }
        self.bytes.extend_from_slice(payload);
        self.hasher.update(payload);
        self.next += 1;
        Ok(())
    }

    fn finish(self, digest: Option<&str>) -> Result<Bytes, BusFailure> {
        let is_whole = self.bytes.len() == self.total;
        match is_whole && Some(hex(&self.hasher.finalize()).as_str()) == digest {
            true => Ok(Bytes::from(self.bytes)),
            false => Err(unreadable("a frame in parts does not match its checksum")),
        }
    }
}

fn unreadable(reason: &str) -> BusFailure {
    BusFailure::Unreadable(reason.to_owned())
}
