//! The providers known by name. Data only: `providers.json` is built in, and the user's
//! `$ZOT_HOME/providers.json` of the same shape adds entries and overrides fields.

mod file;
mod oauth;

use std::borrow::Cow;
use std::path::Path;
use std::sync::{Arc, LazyLock};

use zot_conversation::Model;

use crate::anthropic::{self, AnthropicClient};
use crate::endpoint::Endpoint;
use crate::gemini::{self, GeminiClient};
use crate::http::HttpClient;
use crate::openai::{self, OpenAiClient, OpenAiQuirks};
use crate::responses::{self, ResponsesClient};

pub use file::ProvidersError;
pub use oauth::OAuthEntry;

/// What is known about a provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderEntry {
    pub name: Cow<'static, str>,
    pub base_url: Cow<'static, str>,
    pub wire: Wire,
    /// Environment variables that may hold the key; the first that is set wins.
    pub key_variables: Vec<Cow<'static, str>>,
    pub key: KeyRequirement,
    pub default_model: Cow<'static, str>,
    /// The provider under which the catalog lists the models; usually `name`.
    pub catalog: Cow<'static, str>,
    /// How to log in instead of giving a key.
    pub oauth: Option<Arc<OAuthEntry>>,
}

/// The language a provider speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wire {
    Anthropic,
    OpenAiChat(OpenAiQuirks),
    OpenAiResponses,
    Gemini,
}

impl Wire {
    /// A client that speaks it with `endpoint`.
    pub fn client(self, http: HttpClient, endpoint: Endpoint) -> Arc<dyn Model> {
        match self {
            Self::Anthropic => Arc::new(AnthropicClient::new(http, endpoint)),
            Self::OpenAiChat(quirks) => Arc::new(OpenAiClient::new(http, endpoint, quirks)),
            Self::OpenAiResponses => Arc::new(ResponsesClient::new(http, endpoint)),
            Self::Gemini => Arc::new(GeminiClient::new(http, endpoint)),
        }
    }

    /// The address that requests for `model` are sent to, as it may be shown.
    pub fn request_url(self, endpoint: &Endpoint, model: &str) -> Result<String, String> {
        let target = match self {
            Self::Anthropic => anthropic::TARGET,
            Self::OpenAiChat(_) => openai::TARGET,
            Self::OpenAiResponses => responses::TARGET,
            Self::Gemini => gemini::target(model),
        };
        let uri = endpoint.uri(&target)?;
        Ok(endpoint.shown_url(&uri))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyRequirement {
    Needed,
    Optional,
}

/// A table of providers, in the order in which they are offered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Providers {
    entries: Cow<'static, [ProviderEntry]>,
}

const BUILTIN_JSON: &str = include_str!("providers.json");

// A test reads the same bytes, so the empty table is never seen.
static BUILTIN: LazyLock<Vec<ProviderEntry>> =
    LazyLock::new(|| file::parse_builtin(BUILTIN_JSON).unwrap_or_default());

impl Providers {
    /// The built-in entries alone.
    pub fn builtin() -> Self {
        Self {
            entries: Cow::Borrowed(providers()),
        }
    }

    /// The built-in entries with the user's `providers.json` merged into them.
    ///
    /// A file that does not exist changes nothing.
    pub fn load(providers_json: &Path) -> Result<Self, ProvidersError> {
        Ok(match file::read(providers_json)? {
            Some(json) => Self {
                entries: Cow::Owned(file::merge(providers_json, &json, providers())?),
            },
            None => Self::builtin(),
        })
    }

    pub fn get(&self, name: &str) -> Option<&ProviderEntry> {
        self.iter().find(|entry| entry.name == name)
    }

    pub fn iter(&self) -> impl Iterator<Item = &ProviderEntry> {
        self.entries.iter()
    }
}

/// The built-in provider called `name`.
pub fn provider(name: &str) -> Option<&'static ProviderEntry> {
    providers().iter().find(|entry| entry.name == name)
}

/// All built-in providers, in the order in which they are offered.
pub fn providers() -> &'static [ProviderEntry] {
    &BUILTIN
}

#[cfg(test)]
mod tests;
