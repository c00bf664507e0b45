//! The format of `providers.json`, built in and the user's.

use std::borrow::Cow;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::de::value::StrDeserializer;
use serde::de::{IntoDeserializer, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

use super::{KeyRequirement, OAuthEntry, ProviderEntry, Wire, WireChoice};
use crate::openai::{
    CallIdForm, EffortField, OpenAiQuirks, OutputLimitField, ReasoningReplay, UsageReport,
};

/// Room for thousands of providers.
///
/// Limit: a larger `providers.json` is a configuration error.
const MAX_PROVIDERS_FILE_BYTES: u64 = 1 << 20;

/// Why the user's `providers.json`, or an entry of it, cannot be used.
#[derive(Debug, thiserror::Error)]
pub(super) enum ProvidersError {
    #[error("cannot read {}: {source}", .path.display())]
    Unreadable { path: PathBuf, source: io::Error },
    /// The JSON error lists the known names, the line and the column.
    #[error(
        "{}: {problem}: correct the file, or move it away to use the built-in providers",
        .path.display()
    )]
    Malformed {
        path: PathBuf,
        problem: serde_json::Error,
    },
    #[error("{}: provider {name:?}: {problem}: correct the entry or take it out", .path.display())]
    Entry {
        path: PathBuf,
        name: String,
        problem: serde_json::Error,
    },
    #[error(
        "{}: provider {name:?} has no {field:?}: a provider that is not built in needs \
         \"wire\", \"baseUrl\" and \"defaultModel\"",
        .path.display()
    )]
    Incomplete {
        path: PathBuf,
        name: String,
        field: &'static str,
    },
    #[error(
        "{}: the base URL of provider {name:?} must start with http:// or https://",
        .path.display()
    )]
    BaseUrl { path: PathBuf, name: String },
    #[error(
        "{}: provider {name:?} has \"quirks\", which only the wire \"openai\" has: remove them",
        .path.display()
    )]
    MisplacedQuirks { path: PathBuf, name: String },
    #[error("{}: the \"oauth\" of provider {name:?} {problem}", .path.display())]
    OAuth {
        path: PathBuf,
        name: String,
        problem: &'static str,
    },
    #[error("{}: provider {name:?} cannot be redefined: choose another name", .path.display())]
    Reserved { path: PathBuf, name: String },
}

/// Names that are reserved for something other than a server.
const RESERVED_NAMES: [&str; 3] = ["offline", "replay", ""];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ProvidersFile<'a> {
    #[serde(borrow, deserialize_with = "in_order")]
    providers: Vec<(Text<'a>, Fields<'a>)>,
}

/// The same file with entries of any shape.
#[derive(Deserialize)]
struct LooseFile {
    #[serde(default)]
    providers: serde_json::Map<String, serde_json::Value>,
}

/// Borrowed where the JSON has no escapes.
#[derive(Deserialize, Clone)]
#[serde(transparent)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Fields<'a> {
    #[serde(alias = "api")]
    wire: Option<WireName>,
    #[serde(borrow)]
    aliases: Option<Vec<Text<'a>>>,
    #[serde(borrow)]
    base_url: Option<Text<'a>>,
    #[serde(borrow)]
    key_variables: Option<Vec<Text<'a>>>,
    key: Option<KeyName>,
    #[serde(borrow)]
    default_model: Option<Text<'a>>,
    #[serde(borrow)]
    catalog: Option<Text<'a>>,
    quirks: Option<Quirks>,
    oauth: Option<OAuthEntry>,
}

/// The aliases are the names in the original zot and in files written for it.
#[derive(Deserialize, Clone, Copy, PartialEq, Eq)]
enum WireName {
    #[serde(rename = "anthropic", alias = "anthropic-messages", alias = "messages")]
    Anthropic,
    #[serde(
        rename = "openai",
        alias = "openai-completions",
        alias = "openai-chat",
        alias = "chat"
    )]
    OpenAi,
    #[serde(
        rename = "openai-responses",
        alias = "responses",
        alias = "openai-codex",
        alias = "openai-codex-responses"
    )]
    OpenAiResponses,
    #[serde(
        rename = "gemini",
        alias = "google",
        alias = "google-gemini",
        alias = "google-generative-ai"
    )]
    Gemini,
}

/// Returns the wire of that name, without quirks.
pub(super) fn wire_named(name: &str) -> Option<Wire> {
    let name: StrDeserializer<'_, serde::de::value::Error> = name.into_deserializer();
    let named = WireName::deserialize(name).ok()?;
    Some(match named {
        WireName::Anthropic => Wire::Anthropic,
        WireName::OpenAi => Wire::OpenAiChat(OpenAiQuirks::COMPATIBLE),
        WireName::OpenAiResponses => Wire::OpenAiResponses,
        WireName::Gemini => Wire::Gemini,
    })
}

#[derive(Deserialize, Clone, Copy)]
#[serde(rename_all = "snake_case")]
enum KeyName {
    Needed,
    Optional,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Quirks {
    output_limit: Option<OutputLimitName>,
    effort: Option<EffortName>,
    reasoning_replay: Option<ReplayName>,
    usage_report: Option<UsageName>,
    call_ids: Option<CallIdName>,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum OutputLimitName {
    MaxTokens,
    MaxCompletionTokens,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum EffortName {
    ReasoningEffort,
    Reasoning,
    Absent,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum ReplayName {
    Never,
    WithToolCalls,
    Always,
    AsParts,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum UsageName {
    OnRequest,
    Always,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum CallIdName {
    ByModel,
    NineAlphanumerics,
}

/// Reads an object as the list of its entries, whose order is the order in which keys are tried.
fn in_order<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<(Text<'de>, Fields<'de>)>, D::Error> {
    struct Entries;

    impl<'de> Visitor<'de> for Entries {
        type Value = Vec<(Text<'de>, Fields<'de>)>;

        fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
            formatter.write_str("an object with an entry for each provider")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            let mut entries = Vec::new();
            while let Some(entry) = map.next_entry()? {
                entries.push(entry);
            }
            Ok(entries)
        }
    }

    deserializer.deserialize_map(Entries)
}

/// What is wrong with an entry.
enum Problem {
    Missing(&'static str),
    BaseUrl,
    MisplacedQuirks,
    OAuth(&'static str),
}

/// Parses the built-in table; its strings are borrowed from the executable.
pub(super) fn parse_builtin(json: &'static str) -> serde_json::Result<Vec<ProviderEntry>> {
    let file: ProvidersFile<'static> = serde_json::from_str(json)?;
    Ok(file
        .providers
        .into_iter()
        .filter_map(|(name, fields)| entry(name.0, fields, None, |text| text.0).ok())
        .collect())
}

/// Reads the file at `path`, if it exists.
pub(super) fn read(path: &Path) -> Result<Option<Vec<u8>>, ProvidersError> {
    match zot_files::read_existing(path, MAX_PROVIDERS_FILE_BYTES) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(ProvidersError::Unreadable {
            path: path.to_owned(),
            source,
        }),
    }
}

/// Entries that are not used, by their names.
type Refused = Vec<(String, ProvidersError)>;

/// Returns `known` with the entries of the file at `path` added, or applied to the entry of the
/// same name.
pub(super) fn merge(
    path: &Path,
    json: &[u8],
    known: &[ProviderEntry],
) -> Result<(Vec<ProviderEntry>, Refused), ProvidersError> {
    let malformed = |problem| ProvidersError::Malformed {
        path: path.to_owned(),
        problem,
    };
    let mut entries = known.to_vec();
    let mut refused = Refused::new();
    match serde_json::from_slice::<ProvidersFile<'_>>(json) {
        Ok(file) => {
            for (name, fields) in file.providers {
                add(
                    &mut entries,
                    path,
                    name.0.into_owned(),
                    fields,
                    &mut refused,
                );
            }
        }
        Err(problem) => {
            // One entry at a time, so that the others still apply.
            let Ok(loose) = serde_json::from_slice::<LooseFile>(json) else {
                return Err(malformed(problem));
            };
            for (name, value) in &loose.providers {
                match Fields::deserialize(value) {
                    Ok(fields) => add(&mut entries, path, name.clone(), fields, &mut refused),
                    Err(problem) => {
                        let error = ProvidersError::Entry {
                            path: path.to_owned(),
                            name: name.clone(),
                            problem,
                        };
                        refused.push((name.clone(), error));
                    }
                }
            }
            if refused.is_empty() {
                // The entries are valid, so the problem is around them.
                return Err(malformed(problem));
            }
        }
    }
    Ok((entries, refused))
}

/// Adds one entry of the user's file, or returns why it cannot be used.
fn add(
    entries: &mut Vec<ProviderEntry>,
    path: &Path,
    name: String,
    fields: Fields<'_>,
    refused: &mut Refused,
) {
    let path = path.to_owned();
    if RESERVED_NAMES.contains(&name.as_str()) {
        let error = ProvidersError::Reserved {
            path,
            name: name.clone(),
        };
        return refused.push((name, error));
    }
    let position = entries.iter().position(|entry| entry.name == name);
    let before = position.and_then(|position| entries.get(position));
    let owned = |text: Text<'_>| Cow::Owned(text.0.into_owned());
    match entry(Cow::Owned(name.clone()), fields, before, owned) {
        Ok(merged) => match position.and_then(|position| entries.get_mut(position)) {
            Some(slot) => *slot = merged,
            None => entries.push(merged),
        },
        Err(problem) => refused.push((name.clone(), problem.into_error(path, name))),
    }
}

impl Problem {
    fn into_error(self, path: PathBuf, name: String) -> ProvidersError {
        match self {
            Self::Missing(field) => ProvidersError::Incomplete { path, name, field },
            Self::BaseUrl => ProvidersError::BaseUrl { path, name },
            Self::MisplacedQuirks => ProvidersError::MisplacedQuirks { path, name },
            Self::OAuth(problem) => ProvidersError::OAuth {
                path,
                name,
                problem,
            },
        }
    }
}

/// Returns the entry that `fields` describe, on top of `before`.
fn entry<'a>(
    name: Cow<'static, str>,
    fields: Fields<'a>,
    before: Option<&ProviderEntry>,
    own: impl Fn(Text<'a>) -> Cow<'static, str>,
) -> Result<ProviderEntry, Problem> {
    let wire_choice = match (before, fields.wire) {
        (Some(before), None) => before.wire_choice,
        (None, _) if name == "openai" => WireChoice::Model,
        _ => WireChoice::Provider,
    };
    let wire = wire(fields.wire, fields.quirks, before)?;
    let base_url = match fields.base_url {
        Some(url) if url.0.starts_with("http://") || url.0.starts_with("https://") => own(url),
        Some(_) => return Err(Problem::BaseUrl),
        None => before
            .map(|before| before.base_url.clone())
            .ok_or(Problem::Missing("baseUrl"))?,
    };
    let aliases = match fields.aliases {
        Some(names) => names.into_iter().map(&own).collect(),
        None => before.map_or_else(Vec::new, |before| before.aliases.clone()),
    };
    let key_variables = match fields.key_variables {
        Some(names) => names.into_iter().map(&own).collect(),
        None => before.map_or_else(Vec::new, |before| before.key_variables.clone()),
    };
    let key = match fields.key {
        Some(KeyName::Needed) => KeyRequirement::Needed,
        Some(KeyName::Optional) => KeyRequirement::Optional,
        None => before.map_or(KeyRequirement::Needed, |before| before.key),
    };
    let default_model = match fields.default_model {
        Some(model) => own(model),
        None => before
            .map(|before| before.default_model.clone())
            .ok_or(Problem::Missing("defaultModel"))?,
    };
    let catalog = match fields.catalog {
        Some(catalog) => own(catalog),
        None => before.map_or_else(|| name.clone(), |before| before.catalog.clone()),
    };
    let oauth = match fields.oauth {
        Some(oauth) => match oauth.problem() {
            Some(problem) => return Err(Problem::OAuth(problem)),
            None => Some(Arc::new(oauth)),
        },
        None => before.and_then(|before| before.oauth.clone()),
    };
    Ok(ProviderEntry {
        name,
        aliases,
        base_url,
        wire,
        wire_choice,
        key_variables,
        key,
        default_model,
        catalog,
        oauth,
    })
}

fn wire(
    named: Option<WireName>,
    quirks: Option<Quirks>,
    before: Option<&ProviderEntry>,
) -> Result<Wire, Problem> {
    let before = before.map(|before| before.wire);
    let wire = match (named, before) {
        // Naming the wire that it already has keeps its quirks.
        (Some(WireName::OpenAi), Some(wire @ Wire::OpenAiChat(_))) | (None, Some(wire)) => wire,
        (Some(WireName::OpenAi), _) => Wire::OpenAiChat(OpenAiQuirks::COMPATIBLE),
        (Some(WireName::Anthropic), _) => Wire::Anthropic,
        (Some(WireName::OpenAiResponses), _) => Wire::OpenAiResponses,
        (Some(WireName::Gemini), _) => Wire::Gemini,
        (None, None) => return Err(Problem::Missing("wire")),
    };
    match (wire, quirks) {
        (Wire::OpenAiChat(known), Some(quirks)) => Ok(Wire::OpenAiChat(quirks.over(known))),
        (_, Some(_)) => Err(Problem::MisplacedQuirks),
        (wire, None) => Ok(wire),
    }
}

impl Quirks {
    fn over(self, known: OpenAiQuirks) -> OpenAiQuirks {
        OpenAiQuirks {
            output_limit: match self.output_limit {
                Some(OutputLimitName::MaxTokens) => OutputLimitField::MaxTokens,
                Some(OutputLimitName::MaxCompletionTokens) => OutputLimitField::MaxCompletionTokens,
                None => known.output_limit,
            },
            effort: match self.effort {
                Some(EffortName::ReasoningEffort) => EffortField::ReasoningEffort,
                Some(EffortName::Reasoning) => EffortField::Reasoning,
                Some(EffortName::Absent) => EffortField::Absent,
                None => known.effort,
            },
            reasoning_replay: match self.reasoning_replay {
                Some(ReplayName::Never) => ReasoningReplay::Never,
                Some(ReplayName::WithToolCalls) => ReasoningReplay::WithToolCalls,
                Some(ReplayName::Always) => ReasoningReplay::Always,
                Some(ReplayName::AsParts) => ReasoningReplay::AsParts,
                None => known.reasoning_replay,
            },
            usage_report: match self.usage_report {
                Some(UsageName::OnRequest) => UsageReport::OnRequest,
                Some(UsageName::Always) => UsageReport::Always,
                None => known.usage_report,
            },
            call_ids: match self.call_ids {
                Some(CallIdName::ByModel) => CallIdForm::ByModel,
                Some(CallIdName::NineAlphanumerics) => CallIdForm::NineAlphanumerics,
                None => known.call_ids,
            },
        }
    }
}
