//! The known keys of `ZINO.toml`, so that a misspelt one is noticed.

use zot_provider::catalog::nearest_names;

const SERVICES: &[&str] = &["daemon", "rtr", "agr", "sys", "exc", "mem", "ctx"];

const KEYS: [(&str, &[&str]); 21] = [
    ("api", &["base_url", "key", "provider", "fallback"]),
    ("service", &["model"]),
    ("agent", &["temperature", "top_p", "max_iterations"]),
    ("daemon", &["socket"]),
    ("rtr", &["socket", "streaming", "timeout"]),
    ("agr", &["socket", "max_iterations"]),
    ("sys", &["socket", "template", "personality", "soft_memory"]),
    (
        "exc",
        &[
            "socket",
            "timeout",
            "concurrency",
            "max_output_bytes",
            "sandbox",
            "working_dir",
            "network",
            "read",
            "write",
            "run",
            "connect",
            "unix_sockets",
            "environment",
            "memory_mib",
            "processes",
            "processor_seconds",
            "open_files",
        ],
    ),
    ("mem", &["socket", "data_dir"]),
    ("ctx", &["socket", "history_limit", "hard_memory_top_k"]),
    ("tools", &["dir"]),
    ("skills", &["dir"]),
    ("logging", &["level"]),
    (
        "wire",
        &[
            "max_frame_bytes",
            "answer_timeout",
            "idle_timeout",
            "drain_timeout",
        ],
    ),
    ("listen", SERVICES),
    ("peers", SERVICES),
    ("tls", &["ca", "certificate", "key", "namespace"]),
    ("allow", SERVICES),
    ("store", &["url", "ca", "connections"]),
    (
        "bus",
        &["url", "ca", "nkey", "credentials", "identity", "namespace"],
    ),
    ("metrics", &["listen"]),
];

/// The keys of each `[agents.NAME]`.
const PROFILE_KEYS: [&str; 13] = [
    "directory",
    "provider",
    "model",
    "base_url",
    "sessions",
    "jail",
    "sandbox",
    "connect",
    "tools",
    "approve",
    "extensions",
    "instructions",
    "system_prompt",
];

/// The keys of each `[[api.fallback]]`.
const FALLBACK_KEYS: [&str; 4] = ["base_url", "key", "provider", "model"];

/// Returns a warning for every unknown section and key.
pub(super) fn unknown(table: &toml::Table) -> Vec<String> {
    let mut warnings = Vec::new();
    let fallbacks = table.get("api").and_then(|api| api.get("fallback"));
    for fallback in fallbacks
        .and_then(|list| list.as_array())
        .into_iter()
        .flatten()
    {
        unknown_in(fallback, "[[api.fallback]]", &FALLBACK_KEYS, &mut warnings);
    }
    for (section, value) in table {
        if section == "agents" {
            for (name, profile) in value.as_table().into_iter().flatten() {
                let section = format!("[agents.{name}]");
                unknown_in(profile, &section, &PROFILE_KEYS, &mut warnings);
            }
            continue;
        }
        let Some((_, keys)) = KEYS.iter().find(|(known, _)| known == section) else {
            let known = KEYS.iter().map(|(known, _)| *known);
            warnings.push(format!(
                "unknown section [{section}]{}",
                suggestion(section, known)
            ));
            continue;
        };
        unknown_in(value, &format!("[{section}]"), keys, &mut warnings);
    }
    warnings
}

fn unknown_in(value: &toml::Value, section: &str, known: &[&str], warnings: &mut Vec<String>) {
    let entries = value.as_table().into_iter().flatten();
    for (key, _) in entries.filter(|(key, _)| !known.contains(&key.as_str())) {
        let hint = suggestion(key, known.iter().copied());
        warnings.push(format!("unknown key {key:?} in {section}{hint}"));
    }
}

fn suggestion<'a>(name: &str, known: impl Iterator<Item = &'a str> + Clone) -> String {
    match nearest_names(name, known).first() {
        Some(nearest) => format!(": did you mean {nearest:?}?"),
        None => String::new(),
    }
}
