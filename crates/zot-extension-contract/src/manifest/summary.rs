//! Describes what a program asks for, for people who have to grant it.

#[cfg(test)]
mod tests;

use zot_process::sandbox::Level;

use super::{ExecPermission, Permissions};

/// Describes in a few words what a program may do.
pub fn summary(sandbox: Option<Level>, permissions: Option<&Permissions>) -> String {
    let requested = requested(sandbox, permissions).into_iter();
    let parts: Vec<String> = requested
        .map(|(what, value)| match value.as_str() {
            "yes" => what.to_owned(),
            value => format!("{what} {value}"),
        })
        .collect();
    let level = match (sandbox, permissions) {
        (None, None) | (Some(Level::Off), _) => "full access".to_owned(),
        (None, Some(_)) if parts.is_empty() => "nothing beyond its own files".to_owned(),
        (None, Some(_)) => return parts.join("; "),
        (Some(level), _) => format!("sandbox {level}"),
    };
    let parts = std::iter::once(level).chain(parts);
    parts.collect::<Vec<_>>().join("; ")
}

/// Returns what the permissions name, by kind. Beside the sandbox `off` only their environment counts.
pub fn requested(
    sandbox: Option<Level>,
    permissions: Option<&Permissions>,
) -> Vec<(&'static str, String)> {
    let mut asked = Vec::new();
    let Some(permissions) = permissions else {
        return asked;
    };
    let mut list = |what, names: &[String]| {
        if !names.is_empty() {
            asked.push((what, quoted(names)));
        }
    };
    if sandbox == Some(Level::Off) {
        list("env", &permissions.env);
        return asked;
    }
    list("read", &permissions.fs_read);
    list("write", &permissions.fs_write);
    list("env", &permissions.env);
    list("connect", &permissions.connect);
    list("sockets", &permissions.unix_sockets);
    if permissions.network {
        asked.push(("network", "yes".to_owned()));
    }
    match (&permissions.exec, sandbox) {
        (Some(ExecPermission::Anything(true)), None) => {
            asked.push(("exec", "any program".to_owned()));
        }
        (Some(ExecPermission::Only(programs)), _) if !programs.is_empty() => {
            asked.push(("exec", quoted(programs)));
        }
        (Some(ExecPermission::Anything(false) | ExecPermission::Only(_)), Some(_)) => {
            asked.push(("exec", "only its own".to_owned()));
        }
        _ => {}
    }
    asked
}

/// Joins names, quoting those with unusual characters so that none can be misread.
fn quoted(names: &[String]) -> String {
    let is_plain =
        |character: char| character.is_ascii_alphanumeric() || "/._-+@$~:*[]".contains(character);
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
