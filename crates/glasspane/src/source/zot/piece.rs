//! Parses deltas of text, which are most of zot's output, without building a JSON tree for each.

#[cfg(test)]
mod tests;

use std::borrow::Cow;

use serde::Deserialize;

use crate::Event;

/// Ours writes the type first, the original last.
const BEGIN: &[u8] = br#"{"type":"text_delta","#;
const END: &[u8] = br#","type":"text_delta"}"#;

#[derive(Deserialize)]
struct TextDelta<'a> {
    #[serde(rename = "type")]
    kind: &'a str,
    #[serde(borrow)]
    delta: Cow<'a, str>,
}

/// What [`normalize`](crate::normalize) makes of the line, if it is a piece of text; nothing for all others, and for
/// what looks odd.
pub(in crate::source) fn piece(line: &[u8]) -> Option<Event> {
    if !line.starts_with(BEGIN) && !line.ends_with(END) {
        return None;
    }
    let told: TextDelta<'_> = serde_json::from_slice(line).ok()?;
    (told.kind == "text_delta").then(|| Event::piece("assistant", told.delta))
}
