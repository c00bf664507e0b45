//! The entry of one server, checked.

mod fields;

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::value::RawValue;
use zot_extension_contract::{Level, Permissions, UnknownLevel, check_name};

use super::document::Object;
use crate::entry::{Address, EntryOrigin, Exposure, OAuthGrant, OAuthSettings, ServerEntry};
use crate::version::{Era, LEGACY_VERSIONS, MODERN_VERSION};
use fields::Fields;

/// A shorter timeout is a number of seconds by mistake: no server answers in such a time.
///
/// Limit: a shorter `timeout` in the entry of an MCP server is ignored, with a warning.
const MIN_ENTRY_TIMEOUT: Duration = Duration::from_secs(1);

/// Every key of an entry. Others are kept and ignored.
const KEYS: [&str; 19] = [
    "type",
    "command",
    "args",
    "env",
    "cwd",
    "url",
    "headers",
    "timeout",
    "enabled",
    "disabled",
    "exposure",
    "toolExposure",
    "alwaysLoad",
    "protocol",
    "sandbox",
    "permissions",
    "oauth",
    "description",
    "headersHelper",
];

/// What an entry of `mcpServers` means.
#[derive(Debug)]
pub(super) enum Description {
    Server(Box<ServerEntry>),
    /// No command and no URL: changes the server of the same name that another file describes.
    Adjustment(Adjustment),
}

/// The settings of an entry without command and URL.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Adjustment {
    enabled: Option<bool>,
    exposure: Option<Exposure>,
    tool_exposure: Vec<(String, Option<Exposure>)>,
    timeout: Option<Duration>,
    sandbox: Option<Level>,
    permissions: Option<Permissions>,
}

impl Adjustment {
    /// Changes `entry`. Only the user may say what a server of the user's may do: a project cannot switch it
    /// on, show what the user hides, or permit it anything.
    pub(super) fn apply(&self, entry: &mut ServerEntry, by: &EntryOrigin) {
        entry.timeout = self.timeout.or(entry.timeout);
        let tools = self.tool_exposure.iter().cloned();
        if *by == EntryOrigin::Project && entry.origin == EntryOrigin::User {
            entry.enabled &= self.enabled.unwrap_or(true);
            if entry.exposure != Some(Exposure::Hidden) {
                entry.exposure = self.exposure.or(entry.exposure);
            }
            entry.tool_exposure.extend(tools);
            // Beside permissions alone, a level would add the places that it has.
            if entry.permissions.is_none() || entry.sandbox.is_some() {
                entry.sandbox = entry.sandbox.max(self.sandbox);
            }
            return;
        }
        entry.enabled = self.enabled.unwrap_or(entry.enabled);
        entry.exposure = self.exposure.or(entry.exposure);
        // The first match counts, so these go before the others.
        entry.tool_exposure.splice(..0, tools);
        if *by == EntryOrigin::User {
            if self.permissions.is_some() {
                entry.permissions.clone_from(&self.permissions);
            }
            entry.sandbox = self.sandbox.or(entry.sandbox);
        }
    }

    /// Says what it changes.
    pub(super) fn summary(&self) -> String {
        let changes = [
            self.enabled.map(|enabled| match enabled {
                true => "enabled".to_owned(),
                false => "disabled".to_owned(),
            }),
            self.exposure
                .map(|exposure| format!("exposure {}", exposure.name())),
            (!self.tool_exposure.is_empty()).then(|| "exposure of single tools".to_owned()),
            self.timeout
                .map(|timeout| format!("timeout {} ms", timeout.as_millis())),
            self.sandbox.map(|level| format!("sandbox {level}")),
            self.permissions.is_some().then(|| "permissions".to_owned()),
        ];
        let changes: Vec<String> = changes.into_iter().flatten().collect();
        changes.join(", ")
    }
}

/// An entry after its check.
pub(super) struct Described {
    pub(super) outcome: Result<Description, String>,
    pub(super) warnings: Vec<String>,
}

/// Checks the entry `value`; `directory` is the one of its file.
pub(super) fn describe(
    name: &str,
    value: &RawValue,
    origin: &EntryOrigin,
    directory: Option<&Path>,
) -> Described {
    let mut warnings = Vec::new();
    let outcome = check_server_name(name).and_then(|()| {
        let object = Object::parse(value.get())
            .map_err(|_| format!("expected an object, got {}", fields::kind_of(value)))?;
        warn_about_keys(&object, &mut warnings);
        let fields = Fields(&object);
        let settings = settings(&fields, &mut warnings)?;
        let Some(address) = address(&fields, origin, directory)? else {
            return Ok(Description::Adjustment(settings));
        };
        if !matches!(address, Address::Stdio { .. }) {
            if settings.permissions.is_some() {
                warnings.push(
                    "\"permissions\" have no effect on a server that is reached by URL".into(),
                );
            }
            if settings.sandbox.is_some_and(|level| level != Level::Off) {
                warnings
                    .push("\"sandbox\" has no effect on a server that is reached by URL".into());
            }
        }
        Ok(Description::Server(Box::new(ServerEntry {
            name: name.to_owned(),
            address,
            timeout: settings.timeout,
            enabled: settings.enabled.unwrap_or(true),
            exposure: settings.exposure,
            tool_exposure: settings.tool_exposure,
            protocol: protocol(&fields)?,
            sandbox: settings.sandbox,
            permissions: settings.permissions,
            oauth: oauth(&fields)?,
            origin: origin.clone(),
            project: directory
                .filter(|_| *origin == EntryOrigin::Project)
                .map(Path::to_owned),
        })))
    });
    Described { outcome, warnings }
}

/// Checks that a server may be called `name`, which becomes part of names of tools and of files.
pub fn check_server_name(name: &str) -> Result<(), String> {
    check_name(name).map_err(|_| {
        format!(
            "{name:?} cannot be the name of a server: use at most 64 letters, digits, '-', '_' and '.', \
             starting with a letter or digit"
        )
    })
}

/// Checks what variables may have changed.
pub(super) fn check_expanded(entry: &ServerEntry) -> Result<(), String> {
    match &entry.address {
        Address::Stdio { command, .. } if command.trim().is_empty() => {
            Err("\"command\" is empty: give the program to start".into())
        }
        Address::Stdio { .. } => Ok(()),
        Address::Http { url, .. } | Address::Sse { url, .. } => {
            let scheme = url.split_once("://").map(|(scheme, _)| scheme);
            match scheme.map(str::to_ascii_lowercase).as_deref() {
                Some("http" | "https") => Ok(()),
                _ => Err("\"url\" must begin with https:// or http://".into()),
            }
        }
    }
}

fn address(
    fields: &Fields<'_>,
    origin: &EntryOrigin,
    directory: Option<&Path>,
) -> Result<Option<Address>, String> {
    let (kind, command, url) = (
        fields.text("type")?,
        fields.text("command")?,
        fields.text("url")?,
    );
    let kind = match (kind.as_deref(), &command, &url) {
        (Some("stdio" | "local"), ..) => "stdio",
        (Some("http" | "streamable-http" | "streamable_http" | "streamableHttp"), ..) => "http",
        (Some("sse"), ..) => "sse",
        (Some(other), ..) => {
            return Err(format!(
                "\"type\" must be stdio, http or sse, got {other:?}"
            ));
        }
        (None, Some(_), Some(_)) => {
            return Err("has both \"command\" and \"url\": remove one, or add a \"type\"".into());
        }
        (None, Some(_), None) => "stdio",
        (None, None, Some(_)) => "http",
        (None, None, None) => return Ok(None),
    };
    if kind == "stdio" {
        let cwd = fields.text("cwd")?.map(Into::into);
        return Ok(Some(Address::Stdio {
            command: command.ok_or("\"command\" is missing: give the program to start")?,
            args: fields.texts("args")?,
            env: fields.pairs("env")?,
            // A project's relative paths mean the same wherever in the project zot was started.
            cwd: match (origin, directory) {
                (EntryOrigin::Project, Some(directory)) => Some(match cwd {
                    Some(cwd) => directory.join::<PathBuf>(cwd),
                    None => directory.to_owned(),
                }),
                _ => cwd,
            },
        }));
    }
    let url = url.ok_or("\"url\" is missing: give the address of the server")?;
    let headers = fields.pairs("headers")?;
    Ok(Some(match kind {
        "sse" => Address::Sse { url, headers },
        _ => Address::Http { url, headers },
    }))
}

fn settings(fields: &Fields<'_>, warnings: &mut Vec<String>) -> Result<Adjustment, String> {
    let enabled = match (fields.switch("enabled")?, fields.switch("disabled")?) {
        (Some(enabled), _) => Some(enabled),
        (None, disabled) => disabled.map(|disabled| !disabled),
    };
    let always = fields.switch("alwaysLoad")? == Some(true);
    let exposure = match fields.text("exposure")? {
        Some(word) => exposure("exposure", &word)?,
        None => always.then_some(Exposure::Direct),
    };
    let mut tool_exposure = Vec::new();
    for (pattern, word) in fields.ordered_pairs("toolExposure")? {
        tool_exposure.push((pattern, self::exposure("toolExposure", &word)?));
    }
    let timeout = fields.number("timeout")?.map(Duration::from_millis);
    let (timeout, ignored) = match timeout {
        Some(short) if short < MIN_ENTRY_TIMEOUT => (None, Some(short)),
        timeout => (timeout, None),
    };
    if let Some(short) = ignored {
        warnings.push(format!(
            "\"timeout\" is in milliseconds, and {} is too short: ignored",
            short.as_millis()
        ));
    }
    if fields.has("headersHelper") {
        warnings
            .push("\"headersHelper\" is not supported: put the headers into \"headers\"".into());
    }
    Ok(Adjustment {
        enabled,
        exposure,
        tool_exposure,
        timeout,
        sandbox: sandbox(fields)?,
        permissions: permissions(fields)?,
    })
}

/// Returns the exposure that `word` means; `auto` is none.
fn exposure(key: &str, word: &str) -> Result<Option<Exposure>, String> {
    if word == "auto" {
        return Ok(None);
    }
    let known = Exposure::ALL.into_iter().find(|known| known.name() == word);
    known
        .map(Some)
        .ok_or_else(|| format!("{key:?} must be auto, direct, deferred or hidden, got {word:?}"))
}

fn sandbox(fields: &Fields<'_>) -> Result<Option<Level>, String> {
    let word = fields.text("sandbox")?;
    let level = word.map(|word| word.parse()).transpose();
    level.map_err(|error: UnknownLevel| format!("\"sandbox\": {error}"))
}

fn permissions(fields: &Fields<'_>) -> Result<Option<Permissions>, String> {
    let Some(value) = fields.get("permissions") else {
        return Ok(None);
    };
    let permissions: Permissions = serde_json::from_str(value.get()).map_err(|error| {
        let problem = super::document::without_position(&error);
        format!("\"permissions\": {problem}")
    })?;
    match permissions.check() {
        Ok(()) => Ok(Some(permissions)),
        Err(problem) => Err(format!("\"permissions\": {problem}")),
    }
}

fn protocol(fields: &Fields<'_>) -> Result<Option<String>, String> {
    let version = fields.text("protocol")?;
    match &version {
        Some(unknown) if Era::of(unknown).is_none() => Err(format!(
            "\"protocol\" must be {MODERN_VERSION} or {}, got {unknown:?}",
            LEGACY_VERSIONS.join(", ")
        )),
        _ => Ok(version),
    }
}

fn oauth(fields: &Fields<'_>) -> Result<Option<OAuthSettings>, String> {
    let Some(value) = fields.get("oauth") else {
        return Ok(None);
    };
    let problem = |text: String| format!("\"oauth\": {text}");
    let object = Object::parse(value.get()).map_err(|_| {
        problem(format!(
            "expected an object, got {}",
            fields::kind_of(value)
        ))
    })?;
    let fields = Fields(&object);
    let scopes = match fields.get("scopes").or(fields.get("scope")) {
        Some(value) if value.get().starts_with('[') => fields.texts("scopes"),
        _ => match fields.text("scopes") {
            Ok(None) => fields.text("scope"),
            scopes => scopes,
        }
        .map(|scopes| {
            let scopes = scopes.unwrap_or_default();
            scopes.split_whitespace().map(str::to_owned).collect()
        }),
    };
    let callback_port = match fields.number("callbackPort").map_err(problem)? {
        Some(port) => Some(
            u16::try_from(port)
                .map_err(|_| problem(format!("\"callbackPort\" must be a port, got {port}")))?,
        ),
        None => None,
    };
    Ok(Some(OAuthSettings {
        client_id: fields.text("clientId").map_err(problem)?,
        client_secret: fields.text("clientSecret").map_err(problem)?,
        callback_port,
        scopes: scopes.map_err(problem)?,
        metadata_url: fields.text("authServerMetadataUrl").map_err(problem)?,
        client_metadata_url: fields.text("clientMetadataUrl").map_err(problem)?,
        grant: match fields.text("grant").map_err(problem)? {
            None => OAuthGrant::default(),
            Some(name) => OAuthGrant::ALL
                .into_iter()
                .find(|grant| grant.name() == name)
                .ok_or_else(|| {
                    problem(format!(
                        "\"grant\" must be authorization_code or client_credentials, got {name:?}"
                    ))
                })?,
        },
    }))
}

/// Warns about keys that are probably a known one, mistyped.
fn warn_about_keys(object: &Object<'_>, warnings: &mut Vec<String>) {
    for (key, _) in &object.entries {
        if KEYS.contains(&key.as_str()) {
            continue;
        }
        let lower = key.to_lowercase();
        let distance = |known: &&str| strsim::osa_distance(&lower, &known.to_lowercase());
        let nearest = KEYS
            .into_iter()
            .map(|known| (distance(&known), known))
            .min();
        if let Some((0..=2, known)) = nearest
            && key.len() > 3
        {
            warnings.push(format!("unknown key {key:?}; did you mean {known:?}?"));
        }
    }
}
