//! Changes `enabled` in a manifest, leaving the rest as its author wrote it.

use std::fmt;
use std::fs;
use std::path::Path;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use zot_extension_contract::{
    MANIFEST_FILE, MAX_MANIFEST_BYTES, Manifest, ManifestError, PartialManifest,
};

use crate::store::{StoreError, Switch, Switched};

pub(crate) fn set(directory: &Path, switch: Switch) -> Result<Switched, StoreError> {
    let broken = |error| StoreError::Manifest {
        origin: directory.display().to_string(),
        error,
    };
    let wanted = switch == Switch::On;
    let is_enabled = match Manifest::load(directory) {
        Ok(manifest) => manifest.enabled,
        // An invalid manifest can still be disabled, as long as it is a JSON object.
        Err(_) if switch == Switch::Off => !PartialManifest::load(directory).is_disabled,
        Err(error) => return Err(broken(error)),
    };
    if is_enabled == wanted {
        return Ok(Switched::Already);
    }
    // The manifest may be a link; change the file it points to.
    let path = directory.join(MANIFEST_FILE);
    let path = fs::canonicalize(&path).map_err(StoreError::io(&path))?;
    let text = zot_files::read_limited(&path, MAX_MANIFEST_BYTES).map_err(StoreError::io(&path))?;
    let text = text.unwrap_or_default();
    let changed =
        with_enabled(&text, wanted).map_err(|error| broken(ManifestError::Parse(error)))?;
    zot_files::replace(&path, changed.as_bytes(), 0o644).map_err(StoreError::io(&path))?;
    Ok(Switched::Changed)
}

/// Returns `text` with `enabled` set: replaced where it is, or else added at the end.
fn with_enabled(text: &str, enabled: bool) -> serde_json::Result<String> {
    let Fields(fields) = serde_json::from_str(text)?;
    // A borrowed raw value is a slice of the text.
    let start_of = |raw: &RawValue| raw.get().as_ptr() as usize - text.as_ptr() as usize;
    if let Some((_, raw)) = fields.iter().find(|(name, _)| name == "enabled") {
        let start = start_of(raw);
        let end = start + raw.get().len();
        return Ok(format!("{}{enabled}{}", &text[..start], &text[end..]));
    }
    let Some((_, last)) = fields.last() else {
        return Ok(format!("{{\"enabled\": {enabled}}}\n"));
    };
    let end = start_of(last) + last.get().len();
    // The new field is separated with the same white space as the first one.
    let open = text.find('{').map_or(0, |position| position + 1);
    let first = text[open..]
        .find('"')
        .map_or(open, |position| open + position);
    let gap = &text[open..first];
    let gap = if gap.is_empty() { " " } else { gap };
    Ok(format!(
        "{},{gap}\"enabled\": {enabled}{}",
        &text[..end],
        &text[end..]
    ))
}

/// The fields of an object in their order.
struct Fields<'text>(Vec<(String, &'text RawValue)>);

impl<'de> Deserialize<'de> for Fields<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InOrder;

        impl<'de> Visitor<'de> for InOrder {
            type Value = Fields<'de>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a JSON object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut fields = Vec::new();
                while let Some(field) = map.next_entry()? {
                    fields.push(field);
                }
                Ok(Fields(fields))
            }
        }

        deserializer.deserialize_map(InOrder)
    }
}
