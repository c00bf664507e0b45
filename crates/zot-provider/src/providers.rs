//! The providers known by name. Data only: `providers.json` is built in, and the user's
//! `$ZOT_HOME/providers.json` of the same shape adds entries and overrides fields.

mod file;
mod oauth;
mod route;
mod user_provider;

use std::borrow::Cow;
use std::path::Path;
use std::sync::{Arc, LazyLock};

use zot_conversation::Model;

use crate::anthropic::{self, AnthropicClient};
use crate::catalog::{AcceptedThinking, UserProvider};
use crate::endpoint::Endpoint;
use crate::gemini::{self, GeminiClient};
use crate::http::{Delivery, HttpClient};
use crate::openai::{self, EffortField, OpenAiClient, OpenAiQuirks};
use crate::responses::{self, ResponsesClient};

use file::ProvidersError;
pub use oauth::OAuthEntry;
pub use route::{Route, WireChoice};

/// What is known about a provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderEntry {
    pub name: Cow<'static, str>,
    /// Other names for it.
    pub aliases: Vec<Cow<'static, str>>,
    pub base_url: Cow<'static, str>,
    pub wire: Wire,
    pub wire_choice: WireChoice,
    /// Environment variables that may hold the key; the first one set is used.
    pub key_variables: Vec<Cow<'static, str>>,
    pub key: KeyRequirement,
    pub default_model: Cow<'static, str>,
    /// The provider under which the catalog lists the models; usually `name`.
    pub catalog: Cow<'static, str>,
    /// How to log in instead of giving a key.
    pub oauth: Option<Arc<OAuthEntry>>,
}

/// The protocol of a provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wire {
    Anthropic,
    OpenAiChat(OpenAiQuirks),
    OpenAiResponses,
    Gemini,
}

impl Wire {
    /// The names of the wires; those of the original zot are accepted as well.
    pub const NAMES: [&str; 4] = ["anthropic", "openai", "openai-responses", "gemini"];

    /// Returns the wire of that name, in any of its spellings.
    pub fn named(name: &str) -> Option<Self> {
        file::wire_named(&name.trim().to_ascii_lowercase())
    }

    /// Creates a client of `endpoint` that knows models only by their names.
    pub fn client(self, http: HttpClient, endpoint: Endpoint) -> Arc<dyn Model> {
        self.client_with(http, endpoint, AcceptedThinking::default())
    }

    /// Creates a client of `endpoint` whose models accept what `accepted` describes.
    pub fn client_with(
        self,
        http: HttpClient,
        endpoint: Endpoint,
        accepted: AcceptedThinking,
    ) -> Arc<dyn Model> {
        match self {
            Self::Anthropic => {
                Arc::new(AnthropicClient::new(http, endpoint).with_accepted(accepted))
            }
            Self::OpenAiChat(quirks) => {
                Arc::new(OpenAiClient::new(http, endpoint, quirks).with_accepted(accepted))
            }
            Self::OpenAiResponses => {
                Arc::new(ResponsesClient::new(http, endpoint).with_accepted(accepted))
            }
            Self::Gemini => Arc::new(GeminiClient::new(http, endpoint)),
        }
    }

    /// Returns whether requests can carry one of OpenAI's reasoning efforts.
    pub fn takes_effort(self) -> bool {
        match self {
            Self::OpenAiChat(quirks) => quirks.effort != EffortField::Absent,
            Self::OpenAiResponses => true,
            Self::Anthropic | Self::Gemini => false,
        }
    }

    /// Returns the address that requests for `model` are sent to, without secrets.
    pub fn request_url(self, endpoint: &Endpoint, model: &str) -> Result<String, String> {
        let target = match self {
            Self::Anthropic => anthropic::TARGET,
            Self::OpenAiChat(_) => openai::TARGET,
            Self::OpenAiResponses => responses::TARGET,
            Self::Gemini => gemini::target(model, Delivery::Streamed),
        };
        let uri = endpoint.uri(&target)?;
        Ok(endpoint.shown_url(&uri))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyRequirement {
    Needed,
    Optional,
    /// No key is sent, even if one is set or stored.
    Unused,
}

/// A table of providers, in the order in which they are offered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Providers {
    entries: Cow<'static, [ProviderEntry]>,
    problems: Vec<ProvidersProblem>,
}

/// A problem with an entry of the user's `providers.json`, or with the whole file, which is
/// ignored.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{problem}")]
pub struct ProvidersProblem {
    /// `None` if the whole file is unusable.
    provider: Option<String>,
    problem: String,
}

/// Variables with keys of models and passwords of services that are no provider's `key_variables`: of zino,
/// of other agents, and of providers that are not in the table.
const OTHER_SECRET_VARIABLES: [&str; 17] = [
    "LLM_API_KEY",
    "MCP_CLIENT_SECRET",
    "ZINO_BUS_IDENTITY",
    "ZINO_BUS_URL",
    "ZINO_STORE_URL",
    "ANTHROPIC_AUTH_TOKEN",
    "CLAUDE_CODE_OAUTH_TOKEN",
    "AWS_BEARER_TOKEN_BEDROCK",
    "AZURE_API_KEY",
    "AZURE_OPENAI_API_KEY",
    "COHERE_API_KEY",
    "DASHSCOPE_API_KEY",
    "GOOGLE_GENERATIVE_AI_API_KEY",
    "NVIDIA_API_KEY",
    "PERPLEXITY_API_KEY",
    "REPLICATE_API_TOKEN",
    "VOYAGE_API_KEY",
];

const BUILTIN_JSON: &str = include_str!("providers.json");

// A test parses the same bytes, so the empty default is never used.
static BUILTIN: LazyLock<Vec<ProviderEntry>> =
    LazyLock::new(|| file::parse_builtin(BUILTIN_JSON).unwrap_or_default());

impl Providers {
    /// Returns the built-in entries only.
    pub fn builtin() -> Self {
        Self {
            entries: Cow::Borrowed(providers()),
            problems: Vec::new(),
        }
    }

    /// Loads the built-in entries and merges the user's `providers.json` into them.
    ///
    /// A file that does not exist changes nothing; entries that cannot be used are left out.
    pub fn load(providers_json: &Path) -> Self {
        let json = match file::read(providers_json) {
            Ok(Some(json)) => json,
            Ok(None) => return Self::builtin(),
            Err(error) => return Self::broken(&error),
        };
        match file::merge(providers_json, &json, providers()) {
            Ok((entries, problems)) => {
                let problems = problems.into_iter();
                Self {
                    entries: Cow::Owned(entries),
                    problems: problems
                        .map(|(provider, error)| ProvidersProblem {
                            provider: Some(provider),
                            problem: error.to_string(),
                        })
                        .collect(),
                }
            }
            Err(error) => Self::broken(&error),
        }
    }

    fn broken(error: &ProvidersError) -> Self {
        Self {
            problems: vec![ProvidersProblem {
                provider: None,
                problem: error.to_string(),
            }],
            ..Self::builtin()
        }
    }

    /// Returns the variables that may hold a key of a model or a login, which programs that an agent
    /// starts do not get. Sorted, without repetition.
    pub fn secret_variables(&self) -> Vec<String> {
        let keys = self.iter().flat_map(|entry| &entry.key_variables);
        let others = OTHER_SECRET_VARIABLES.into_iter();
        let names = keys.map(AsRef::as_ref).chain(others).map(str::to_owned);
        let mut names: Vec<String> = names.collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// Adds the providers that `models.json` describes, and changes those that it names.
    pub fn add_user_providers(&mut self, described: &[UserProvider]) {
        for user in described {
            let known = self.position(&user.name);
            match known.and_then(|position| self.entries.to_mut().get_mut(position)) {
                Some(entry) => user_provider::change(entry, user),
                None => {
                    if let Some(entry) = user_provider::entry(user) {
                        self.entries.to_mut().push(entry);
                    }
                }
            }
        }
    }

    /// Returns the problems of the user's `providers.json`.
    pub fn problems(&self) -> &[ProvidersProblem] {
        &self.problems
    }

    /// Returns why `name` cannot be used although the user's `providers.json` may describe it.
    pub fn problem_of(&self, name: &str) -> Option<&ProvidersProblem> {
        let is_unknown = self.get(name).is_none();
        self.problems
            .iter()
            .find(|problem| match &problem.provider {
                Some(provider) => provider == name,
                None => is_unknown,
            })
    }

    /// Finds a provider by its name or an alias.
    pub fn get(&self, name: &str) -> Option<&ProviderEntry> {
        self.entries.get(self.position(name)?)
    }

    fn position(&self, name: &str) -> Option<usize> {
        position(&self.entries, name)
    }

    pub fn iter(&self) -> impl Iterator<Item = &ProviderEntry> {
        self.entries.iter()
    }
}

/// Finds a built-in provider by its name or an alias.
pub fn provider(name: &str) -> Option<&'static ProviderEntry> {
    providers().get(position(providers(), name)?)
}

/// Prefers an exact name, then an alias, then either in lower case.
fn position(entries: &[ProviderEntry], name: &str) -> Option<usize> {
    let find = |name: &str| {
        let named = entries.iter().position(|entry| entry.name == name);
        named.or_else(|| {
            let is_alias = |entry: &ProviderEntry| entry.aliases.iter().any(|alias| alias == name);
            entries.iter().position(is_alias)
        })
    };
    find(name).or_else(|| find(&name.trim().to_ascii_lowercase()))
}

/// Returns all built-in providers, in the order in which they are offered.
pub fn providers() -> &'static [ProviderEntry] {
    &BUILTIN
}

#[cfg(test)]
mod tests;
