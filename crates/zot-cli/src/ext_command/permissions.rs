//! Describes the permissions of an extension.

#[cfg(test)]
mod tests;

use serde_json::{Map, Value, json};
use zot_sdk::extensions::{
    self, Enforcement, EnforcementStatus, ExecPermission, Manifest, Permissions,
};

/// Describes in one line which limits of an extension this system enforces.
pub(super) fn enforcement(manifest: &Manifest) -> Option<String> {
    manifest.permissions.as_ref()?;
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
    if manifest.permissions.is_none() {
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

/// Describes permissions in a few words, for a table.
pub(crate) fn summary(permissions: Option<&Permissions>) -> String {
    let Some(permissions) = permissions else {
        return "full access".to_owned();
    };
    let parts: Vec<String> = requested(permissions)
        .into_iter()
        .map(|(what, value)| match value.as_str() {
            "yes" => what.to_owned(),
            value => format!("{what} {value}"),
        })
        .collect();
    if parts.is_empty() {
        "nothing beyond its own files".to_owned()
    } else {
        parts.join("; ")
    }
}

/// Describes permissions line by line, for a user who has to grant them.
pub(super) fn details(permissions: Option<&Permissions>) -> Vec<String> {
    let Some(permissions) = permissions else {
        return vec![
            "may do everything you may do: read and change your files, use the network, start programs"
                .to_owned(),
        ];
    };
    let asked = requested(permissions);
    if asked.is_empty() {
        return vec!["requests nothing beyond its own directory and data".to_owned()];
    }
    let mut lines = vec!["requests".to_owned()];
    let asked = asked.into_iter();
    lines.extend(asked.map(|(what, value)| format!("  {what:<8} {value}")));
    lines
}

fn requested(permissions: &Permissions) -> Vec<(&'static str, String)> {
    let mut asked = Vec::new();
    let mut list = |what, names: &[String]| {
        if !names.is_empty() {
            asked.push((what, quoted(names)));
        }
    };
    list("read", &permissions.fs_read);
    list("write", &permissions.fs_write);
    list("env", &permissions.env);
    if permissions.network {
        asked.push(("network", "yes".to_owned()));
    }
    match &permissions.exec {
        ExecPermission::Anything(true) => asked.push(("exec", "any program".to_owned())),
        ExecPermission::Anything(false) => {}
        ExecPermission::Only(programs) if programs.is_empty() => {}
        ExecPermission::Only(programs) => asked.push(("exec", quoted(programs))),
    }
    asked
}

/// Joins names, quoting those with unusual characters so that none can be misread.
fn quoted(names: &[String]) -> String {
    let is_plain =
        |character: char| character.is_ascii_alphanumeric() || "/._-+@$~".contains(character);
    let shown: Vec<String> = names
        .iter()
        .map(
            |name| match name.chars().all(is_plain) && !name.is_empty() {
                true => name.clone(),
                false => format!("{name:?}"),
            },
        )
        .collect();
    shown.join(", ")
}

/// Returns the permissions as in the manifest; null for full access.
pub(crate) fn as_json(permissions: Option<&Permissions>) -> Value {
    let Some(permissions) = permissions else {
        return Value::Null;
    };
    let exec = match &permissions.exec {
        ExecPermission::Anything(anything) => json!(anything),
        ExecPermission::Only(programs) => json!(programs),
    };
    json!({
        "fs_read": permissions.fs_read,
        "fs_write": permissions.fs_write,
        "network": permissions.network,
        "exec": exec,
        "env": permissions.env,
    })
}
