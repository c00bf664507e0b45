//! claude-code and the desktop application: the same shape as ours.

use serde_json::Value;
use serde_json::value::RawValue;

use super::super::description::{self, Description};
use super::super::edit::Scope;
use super::{ClientServers, Draft, ImportPlaces, parse_json, valid_name};
use crate::entry::EntryOrigin;

pub(super) fn collect(places: &ImportPlaces<'_>, servers: &mut ClientServers) {
    let directory = (places.env)("CLAUDE_CONFIG_DIR").filter(|path| !path.is_empty());
    let path = directory.map_or_else(|| places.home.to_owned(), Into::into);
    if let Some((path, value)) = servers.read(path.join(".claude.json"), parse_json) {
        servers.add_all(&value["mcpServers"], Scope::User, &path, convert);
        // What it calls "local": for one project, but private.
        for directory in places.cwd.ancestors() {
            let project = &value["projects"][directory.display().to_string()];
            let local = |name: &str, value: &Value| {
                let mut draft = convert(name, value)?;
                let note = "was for this project only, and is for all of yours now";
                draft.notes.push(note.to_owned());
                Ok(draft)
            };
            servers.add_all(&project["mcpServers"], Scope::User, &path, local);
        }
    }
    let desktop = places
        .application_settings()
        .join("Claude/claude_desktop_config.json");
    if let Some((path, value)) = servers.read(desktop, parse_json) {
        servers.add_all(&value["mcpServers"], Scope::User, &path, convert);
    }
}

fn convert(name: &str, value: &Value) -> Result<Draft, String> {
    let raw: Box<RawValue> =
        serde_json::value::to_raw_value(value).map_err(|error| error.to_string())?;
    let valid = valid_name(name);
    let described = description::describe(&valid, &raw, &EntryOrigin::User, None);
    match described.outcome? {
        Description::Server(entry) => {
            let mut draft = Draft::new(name, entry.address.clone());
            draft.entry = *entry;
            draft.notes.extend(described.warnings);
            Ok(draft)
        }
        Description::Adjustment(_) => Err("has neither \"command\" nor \"url\"".to_owned()),
    }
}
