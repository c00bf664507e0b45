//! Visual Studio Code: `servers` in `mcp.json`.

use std::collections::BTreeMap;

use serde_json::Value;

use super::super::edit::Scope;
use super::super::expansion::PROJECT_VARIABLE;
use super::fields::{pairs, required, text, texts};
use super::{ClientServers, Draft, ImportPlaces, parse_json};
use crate::entry::Address;

pub(super) fn collect(places: &ImportPlaces<'_>, servers: &mut ClientServers) {
    let user = places.application_settings().join("Code/User");
    for (directory, scope) in [
        (user, Scope::User),
        (places.cwd.join(".vscode"), Scope::Project),
    ] {
        if let Some((path, value)) = servers.read(directory.join("mcp.json"), parse_json) {
            servers.add_all(&value["servers"], scope, &path, convert);
        }
    }
}

fn convert(name: &str, value: &Value) -> Result<Draft, String> {
    let mut variables = Variables::default();
    let kind = value["type"].as_str();
    let address = match (kind, value["url"].is_null()) {
        (Some("http"), _) | (None, false) => Address::Http {
            url: variables.translate(&required(value, "url")?)?,
            headers: variables.translate_all(pairs(&value["headers"]))?,
        },
        (Some("sse"), _) => Address::Sse {
            url: variables.translate(&required(value, "url")?)?,
            headers: variables.translate_all(pairs(&value["headers"]))?,
        },
        (Some("stdio"), _) | (None, true) => {
            let args: Result<Vec<String>, String> = texts(&value["args"])
                .iter()
                .map(|word| variables.translate(word))
                .collect();
            let cwd = text(&value["cwd"]);
            Address::Stdio {
                command: variables.translate(&required(value, "command")?)?,
                args: args?,
                env: variables.translate_all(pairs(&value["env"]))?,
                // It begins with the project's directory, from which relative paths are taken anyway.
                cwd: cwd.map(|path| {
                    let path = path.strip_prefix("${workspaceFolder}").unwrap_or(&path);
                    path.trim_start_matches('/').into()
                }),
            }
        }
        (Some(other), _) => return Err(format!("is of type {other:?}, which is not supported")),
    };
    let mut draft = Draft::new(name, address);
    draft.notes.extend(variables.notes);
    if let Some(path) = text(&value["envFile"]) {
        let note = format!(
            "the variables in {path:?} (envFile) were not taken over: set them before zot starts"
        );
        draft.notes.push(note);
    }
    Ok(draft)
}

#[derive(Default)]
struct Variables {
    notes: Vec<String>,
}

impl Variables {
    /// Returns `text` with variables as we write them.
    fn translate(&mut self, text: &str) -> Result<String, String> {
        let mut result = String::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("${") {
            let Some((inside, after)) = after.split_once('}') else {
                break;
            };
            result.push_str(before);
            result.push_str(&self.variable(inside)?);
            rest = after;
        }
        Ok(result + rest)
    }

    fn translate_all(
        &mut self,
        pairs: BTreeMap<String, String>,
    ) -> Result<BTreeMap<String, String>, String> {
        let pairs = pairs.into_iter();
        pairs
            .map(|(name, value)| Ok((name, self.translate(&value)?)))
            .collect()
    }

    fn variable(&mut self, inside: &str) -> Result<String, String> {
        match inside.split_once(':') {
            Some(("env", name)) => Ok(format!("${{{name}}}")),
            Some(("input", id)) => {
                let letters = id
                    .chars()
                    .map(|letter| match letter.is_ascii_alphanumeric() {
                        true => letter.to_ascii_uppercase(),
                        false => '_',
                    });
                let name: String = letters.collect();
                let note = format!("Code asks for {id:?}: set ${name} before zot starts");
                if !self.notes.contains(&note) {
                    self.notes.push(note);
                }
                Ok(format!("${{{name}}}"))
            }
            None if inside == "workspaceFolder" => Ok(format!("${{{PROJECT_VARIABLE}}}")),
            None if inside == "userHome" => Ok("${HOME}".to_owned()),
            _ => Err(format!("uses ${{{inside}}}, which only Code knows")),
        }
    }
}
