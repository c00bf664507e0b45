//! Parses deltas of text, which are most of zot's output, without building a JSON tree for each.

#[cfg(test)]
mod tests;

use std::borrow::Cow;

use serde::Deserialize;

use crate::Event;

/// Our zot writes the type first, the original last.
const BEGIN: &[u8] = br#"{"type":"text_delta","#;
const END: &[u8] = br#","type":"text_delta"}"#;

#[derive(Deserialize)]
struct TextDelta<'a> {
    #[serde(rename = "type")]
    kind: &'a str,
    #[serde(borrow)]
    delta: Cow<'a, str>,
}

/// Parses a delta of text as [`normalize`](crate::normalize) would; `None` for all other or unusual lines.
pub(in crate::source) fn piece(line: &[u8]) -> Option<Event> {
    if !line.starts_with(BEGIN) && !line.ends_with(END) {
        return None;
    }
    let delta: TextDelta<'_> = serde_json::from_slice(line).ok()?;
    (delta.kind == "text_delta").then(|| Event::piece("assistant", delta.delta))
}
