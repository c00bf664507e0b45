//! Sends the frames of one direction of a call: numbered, and no more than the other end allows.

#[cfg(test)]
mod tests;

use std::collections::VecDeque;

use bytes::{BufMut as _, Bytes, BytesMut};
use sha2::{Digest as _, Sha256};

use super::error::BusFailure;
use super::link::{Registered, WINDOW};
use super::message::{Data, Envelope, Kind, Part};
use crate::metrics;

/// How many bytes of one direction may be on their way, unless one message alone is longer.
///
/// Limit: the sender waits for the reader.
pub(super) const WINDOW_BYTES: usize = 2 * 1024 * 1024;

/// Frames are collected up to this before they are sent together.
const MESSAGE_BYTES: usize = 64 * 1024;

/// Whether more frames may follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Progress {
    Continues,
    Ends,
}

/// What was sent in one direction.
#[derive(Default)]
pub(super) struct Outgoing {
    units: u64,
    /// The messages that may not have been read: how many units there are up to their end, and their bytes.
    unread: VecDeque<(u64, usize)>,
    unread_bytes: usize,
    /// Goes with the first message.
    control: Option<String>,
    has_ended: bool,
}

impl Outgoing {
    /// `control` is our own control subject, which the other end does not know yet.
    pub(super) fn new(control: Option<String>) -> Self {
        Self {
            control,
            ..Self::default()
        }
    }

    pub(super) fn has_ended(&self) -> bool {
        self.has_ended
    }

    /// Whether the other end has heard of us.
    pub(super) fn is_introduced(&self) -> bool {
        self.control.is_none()
    }

    /// Tells the caller that we have its request.
    pub(super) async fn accept(&mut self, call: &Registered) -> Result<(), BusFailure> {
        self.publish(call, Kind::Accept, Bytes::new()).await
    }

    /// Sends frames in as few messages as possible, waiting while the other end is behind.
    pub(super) async fn send(
        &mut self,
        call: &Registered,
        mut frames: VecDeque<Bytes>,
        progress: Progress,
    ) -> Result<(), BusFailure> {
        let longest = call.shared.longest_message();
        while let Some(frame) = frames.pop_front() {
            if frame.len() > longest {
                let is_last = frames.is_empty() && progress == Progress::Ends;
                self.send_in_parts(call, &frame, longest, is_last).await?;
                continue;
            }
            self.wait_for_room(call, frame.len()).await?;
            let room = self.room(call.link.limit());
            let (frames_here, payload) = together(frame, &mut frames, room, longest);
            let ends = frames.is_empty() && progress == Progress::Ends;
            let data = Data {
                first: self.units,
                frames: frames_here,
                ends,
            };
            self.has_ended = ends;
            self.note(frames_here.unwrap_or(1), payload.len());
            self.publish(call, Kind::Data(data), payload).await?;
        }
        if progress == Progress::Ends && !self.has_ended {
            self.has_ended = true;
            let end = Kind::End { units: self.units };
            self.publish(call, end, Bytes::new()).await?;
        }
        Ok(())
    }

    async fn send_in_parts(
        &mut self,
        call: &Registered,
        frame: &Bytes,
        longest: usize,
        is_last: bool,
    ) -> Result<(), BusFailure> {
        let count = frame.len().div_ceil(longest);
        // As it is sent: all at once would keep everything else waiting.
        let mut hasher = Sha256::new();
        for index in 0..count {
            let start = index * longest;
            let piece = frame.slice(start..frame.len().min(start + longest));
            self.wait_for_room(call, piece.len()).await?;
            hasher.update(&piece);
            let is_last_part = index + 1 == count;
            let ends = is_last && is_last_part;
            let part = Part {
                first: self.units,
                index: index as u64,
                count: count as u64,
                total: (index == 0).then_some(frame.len()),
                digest: is_last_part.then(|| hex(&hasher.clone().finalize())),
                ends,
            };
            self.has_ended = ends;
            self.note(1, piece.len());
            self.publish(call, Kind::Part(part), piece).await?;
        }
        Ok(())
    }

    /// Waits until a message of this length may be sent.
    async fn wait_for_room(&mut self, call: &Registered, bytes: usize) -> Result<(), BusFailure> {
        let mut has_waited = false;
        loop {
            if let Some(failure) = call.link.failure() {
                return Err(failure.clone());
            }
            if self.fits(call.link.limit(), bytes) {
                return Ok(());
            }
            if !has_waited {
                has_waited = true;
                metrics::BUS_CREDIT_STALLS.add_one();
            }
            call.link.changed.notified().await;
        }
    }

    fn fits(&mut self, limit: u64, bytes: usize) -> bool {
        // The limit is what was read and the window.
        let read = limit.saturating_sub(WINDOW);
        while let Some((end, length)) = self.unread.front()
            && *end <= read
        {
            self.unread_bytes -= length;
            self.unread.pop_front();
        }
        let fits = self.unread.is_empty() || self.unread_bytes + bytes <= WINDOW_BYTES;
        self.units < limit && fits
    }

    fn room(&self, limit: u64) -> u64 {
        limit.saturating_sub(self.units)
    }

    fn note(&mut self, units: u64, bytes: usize) {
        self.units += units;
        self.unread.push_back((self.units, bytes));
        self.unread_bytes += bytes;
    }

    async fn publish(
        &mut self,
        call: &Registered,
        kind: Kind,
        payload: Bytes,
    ) -> Result<(), BusFailure> {
        let Some(other) = call.link.other() else {
            return Err(BusFailure::Cancelled);
        };
        let envelope = Envelope {
            kind,
            control: self.control.take(),
        };
        let subject = other.to_owned();
        call.shared
            .publish(subject, None, envelope.write(), payload)
            .await?;
        call.link.note_sent(self.units);
        Ok(())
    }
}

/// Puts frames into one message as long as they are small. A single one travels as it is, several each
/// after its length.
fn together(
    first: Bytes,
    more: &mut VecDeque<Bytes>,
    room: u64,
    longest: usize,
) -> (Option<u64>, Bytes) {
    let most = MESSAGE_BYTES.min(longest);
    let fits = |length: usize, next: &Bytes| length + 4 + next.len() <= most;
    if room < 2 || !more.front().is_some_and(|next| fits(first.len() + 4, next)) {
        return (None, first);
    }
    let mut payload = BytesMut::new();
    let mut count = 1;
    put(&mut payload, &first);
    while count < room && more.front().is_some_and(|next| fits(payload.len(), next)) {
        let Some(next) = more.pop_front() else { break };
        put(&mut payload, &next);
        count += 1;
    }
    (Some(count), payload.freeze())
}

fn put(payload: &mut BytesMut, frame: &Bytes) {
    payload.put_u32(u32::try_from(frame.len()).unwrap_or(u32::MAX));
    payload.extend_from_slice(frame);
}

pub(super) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        let _ = write!(text, "{byte:02x}");
    }
    text
}
