//! Describes the permissions of an extension.

#[cfg(test)]
mod tests;

use serde_json::{Map, Value, json};
use zot_sdk::extensions::{self, Enforcement, EnforcementStatus, Level, Manifest, Permissions};

/// Describes in one line which limits of an extension this system enforces.
pub(super) fn enforcement(manifest: &Manifest) -> Option<String> {
    if !manifest.is_confined(Level::Off) {
        return None;
    }
    let mut enforced = Vec::new();
    let mut parts = Vec::new();
    for (part, status) in restrictions(&extensions::enforcement(manifest)) {
        match status {
            EnforcementStatus::NotRequested => {}
            EnforcementStatus::Enforced => enforced.push(part),
            lacking => parts.push(format!("{part} {lacking}")),
        }
    }
    if !enforced.is_empty() {
        parts.insert(0, format!("enforced: {}", enforced.join(", ")));
    }
    Some(parts.join("; "))
}

/// Returns [`enforcement`] as JSON; null for full access.
pub(super) fn enforcement_as_json(manifest: &Manifest) -> Value {
    if !manifest.is_confined(Level::Off) {
        return Value::Null;
    }
    let parts: Map<String, Value> = restrictions(&extensions::enforcement(manifest))
        .into_iter()
        .map(|(part, status)| {
            let (status, reason) = match status {
                EnforcementStatus::NotRequested => ("not_restricted", None),
                EnforcementStatus::Enforced => ("enforced", None),
                EnforcementStatus::Partly(gap) => ("partly", Some(gap)),
                EnforcementStatus::NotEnforced(reason) => ("not_enforced", Some(reason)),
            };
            (part.to_owned(), json!({"status": status, "reason": reason}))
        })
        .collect();
    Value::Object(parts)
}

/// Returns the parts that a manifest can restrict.
fn restrictions(enforcement: &Enforcement) -> [(&'static str, &EnforcementStatus); 4] {
    [
        ("files", &enforcement.files),
        ("programs", &enforcement.execution),
        ("network", &enforcement.network),
        ("memory", &enforcement.memory),
    ]
}

/// Describes what a manifest asks for line by line, for a user who has to grant it.
pub(super) fn details(manifest: &Manifest) -> Vec<String> {
    let (sandbox, permissions) = (manifest.sandbox, manifest.permissions.as_ref());
    let asked = extensions::requested(sandbox, permissions);
    let first = match (sandbox, permissions) {
        (None, None) | (Some(Level::Off), _) => {
            "may do everything you may do: read and change your files, use the network, start programs"
                .to_owned()
        }
        (None, Some(_)) if asked.is_empty() => {
            "requests nothing beyond its own directory and data".to_owned()
        }
        (None, Some(_)) => "requests".to_owned(),
        (Some(level), _) if asked.is_empty() => format!("runs in the sandbox {level}"),
        (Some(level), _) => format!("runs in the sandbox {level}; requests"),
    };
    let mut lines = vec![first];
    let asked = asked.into_iter();
    lines.extend(asked.map(|(what, value)| format!("  {what:<8} {value}")));
    lines
}

/// Returns the permissions as in the manifest, with what `exec` is if it is not there; null without any.
pub(crate) fn as_json(sandbox: Option<Level>, permissions: Option<&Permissions>) -> Value {
    let Some(permissions) = permissions else {
        return Value::Null;
    };
    let mut value = permissions.to_json();
    if permissions.exec.is_none() {
        value["exec"] = json!(sandbox.is_some());
    }
    value
}
