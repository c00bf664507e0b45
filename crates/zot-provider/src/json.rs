//! Writing JSON straight into a request's buffer.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use zot_conversation::{Arguments, Image};

/// Appends `value`.
pub(crate) fn append(buffer: &mut Vec<u8>, value: &impl Serialize) {
    // Our types have string keys only and a vector takes every byte, so this cannot fail.
    let written = serde_json::to_writer(&mut *buffer, value);
    debug_assert!(written.is_ok(), "request types serialise: {written:?}");
}

/// Serialises a tool call's arguments as the object the model wrote.
pub(crate) fn object<S: Serializer>(
    arguments: &Arguments,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match arguments.json() {
        Ok(raw) => raw.serialize(serializer),
        Err(_) => serializer.serialize_map(Some(0))?.end(),
    }
}

/// Serialises an image as base64.
pub(crate) fn base64<S: Serializer>(image: &&Image, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&STANDARD.encode(&image.data))
}

/// Serialises an image as a data URL.
pub(crate) fn data_url<S: Serializer>(image: &&Image, serializer: S) -> Result<S::Ok, S::Error> {
    let mut url = format!("data:{};base64,", image.mime_type);
    STANDARD.encode_string(&image.data, &mut url);
    serializer.serialize_str(&url)
}
