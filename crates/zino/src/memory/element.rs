//! Elements of an array in the form they are written: like Python's `json.dump(…, indent=2)`.

use serde::Serialize;
use serde::ser::{SerializeMap as _, Serializer};
use serde_json::ser::PrettyFormatter;
use zot_wire::zino::Message;

/// Elements ready to be appended.
#[derive(Debug, Default)]
pub(super) struct Elements {
    /// `{…},\n  {…}`.
    bytes: Vec<u8>,
    /// The position of each.
    starts: Vec<usize>,
}

impl Elements {
    pub(super) fn of<T: Serialize>(values: impl IntoIterator<Item = T>) -> Self {
        let mut elements = Self::default();
        for value in values {
            elements.push(&value);
        }
        elements
    }

    fn push(&mut self, value: &impl Serialize) {
        // Written as the only element of an array, it has the right indentation.
        let mut text = Vec::new();
        let formatter = PrettyFormatter::with_indent(b"  ");
        let mut serializer = serde_json::Serializer::with_formatter(&mut text, formatter);
        // Writing to memory cannot fail, nor can values with string keys.
        if [value].serialize(&mut serializer).is_err() {
            return;
        }
        let inner = text
            .strip_prefix(OPENING)
            .and_then(|text| text.strip_suffix(CLOSING))
            .unwrap_or_default();
        if !self.bytes.is_empty() {
            self.bytes.extend_from_slice(SEPARATOR);
        }
        self.starts.push(self.bytes.len());
        self.bytes.extend_from_slice(inner);
    }

    pub(super) fn len(&self) -> usize {
        self.starts.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.starts.is_empty()
    }

    /// Returns the position of each element when the first is written at `position`.
    pub(super) fn starts(&self, position: u64) -> impl Iterator<Item = u64> {
        self.starts
            .iter()
            .map(move |start| position + *start as u64)
    }

    /// The bytes of each element.
    pub(super) fn each(&self) -> impl Iterator<Item = &[u8]> {
        let ends = self.starts.iter().skip(1);
        let ends = ends.map(|next| next - SEPARATOR.len());
        let ends = ends.chain([self.bytes.len()]);
        self.starts
            .iter()
            .zip(ends)
            .map(|(&start, end)| &self.bytes[start..end])
    }

    /// Concatenates `opening`, the elements and the end of the array.
    pub(super) fn closed(&self, opening: &[u8]) -> Vec<u8> {
        [opening, &self.bytes, CLOSING].concat()
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

pub(super) const OPENING: &[u8] = b"[\n  ";
pub(super) const SEPARATOR: &[u8] = b",\n  ";
pub(super) const CLOSING: &[u8] = b"\n]";

/// A message with its role first, as people expect to read it.
pub(super) struct StoredMessage<'message>(pub(super) &'message Message);

impl Serialize for StoredMessage<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(message) = self;
        let mut map = serializer.serialize_map(None)?;
        if let Some(role) = message.role() {
            map.serialize_entry("role", role)?;
        }
        if let Some(content) = message.text() {
            map.serialize_entry("content", content)?;
        }
        for (name, value) in message.other_fields() {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

/// What a deleted memory is replaced by.
pub(super) const NO_MEMORY: Memory<'static> = Memory {
    messages: &[],
    tag: "",
};

/// One entry of the hard memories.
pub(super) struct Memory<'message> {
    pub(super) messages: &'message [Message],
    pub(super) tag: &'message str,
}

impl Serialize for Memory<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let messages: Vec<_> = self.messages.iter().map(StoredMessage).collect();
        let mut map = serializer.serialize_map(Some(2))?;
        map.serialize_entry("messages", &messages)?;
        map.serialize_entry("tag", self.tag)?;
        map.end()
    }
}
