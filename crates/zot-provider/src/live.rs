//! The models that a provider lists right now, and the file that caches them.

mod cache;

use std::borrow::Cow;

use http::{HeaderName, HeaderValue};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::catalog::Deprecation;
use crate::endpoint::{Endpoint, Target};
use crate::http::HttpClient;
use crate::providers::Wire;
use crate::{anthropic, gemini, openai};

pub use cache::{CacheError, MAX_MODEL_LIST_AGE, ModelCache, RememberedModels};

/// A model as its provider lists it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LiveModel {
    pub id: String,
    /// For people; the id if the provider has no other name.
    pub name: String,
    /// 0 when the provider does not report it.
    pub context_window: u64,
    /// 0 when the provider does not report it.
    pub max_output: u64,
    /// `None` also when the provider does not report it.
    pub deprecation: Option<Deprecation>,
}

/// Why the models could not be listed.
#[derive(Debug, thiserror::Error)]
pub enum LiveError {
    #[error("{provider} refuses the key (http {status})")]
    Refused { provider: String, status: u16 },
    /// Many compatible servers have no such endpoint.
    #[error("{provider} has no list of models (http {status})")]
    NoList { provider: String, status: u16 },
    #[error("{provider}: {reason}")]
    Failed { provider: String, reason: String },
}

/// Requests the provider's list of models.
pub async fn fetch(
    http: &HttpClient,
    wire: Wire,
    endpoint: &Endpoint,
) -> Result<Vec<LiveModel>, LiveError> {
    let provider = || endpoint.provider.clone();
    let failed = |reason: String| LiveError::Failed {
        provider: provider(),
        reason,
    };
    let (target, key_header, prefix) = match wire {
        Wire::Anthropic => (
            Target::new(anthropic::TARGET.version, "/models?limit=1000"),
            "x-api-key",
            "",
        ),
        Wire::OpenAiChat(_) | Wire::OpenAiResponses => (
            Target::new(openai::TARGET.version, "/models"),
            "authorization",
            "Bearer ",
        ),
        Wire::Gemini => (
            Target::new(gemini::VERSION, "/models?pageSize=1000"),
            "x-goog-api-key",
            "",
        ),
    };
    let uri = endpoint.uri(&target).map_err(failed)?;
    let mut headers = endpoint
        .headers_with_key(HeaderName::from_static(key_header), prefix)
        .map_err(|error| failed(error.to_string()))?;
    headers.insert("accept", HeaderValue::from_static("application/json"));
    headers.remove("content-type");
    if wire == Wire::Anthropic {
        headers.insert("anthropic-version", HeaderValue::from_static("2023-06-01"));
    }
    let url = endpoint.shown_url(&uri);
    let fetched = http
        .get(&uri, &headers)
        .await
        .map_err(|error| failed(format!("{url}: {error}")))?;
    match fetched.status {
        200 => models(wire, &fetched.body)
            .ok_or_else(|| failed(format!("{url}: expected a list of models"))),
        status @ (401 | 403) => Err(LiveError::Refused {
            provider: provider(),
            status,
        }),
        // Google refuses a key as if the request were wrong.
        status @ 400 if String::from_utf8_lossy(&fetched.body).contains("API_KEY_INVALID") => {
            Err(LiveError::Refused {
                provider: provider(),
                status,
            })
        }
        status @ (404 | 405 | 501) => Err(LiveError::NoList {
            provider: provider(),
            status,
        }),
        status => Err(failed(format!("{url}: http {status}"))),
    }
}

#[derive(Deserialize)]
struct List {
    data: Vec<Listed>,
}

/// Only the id is standard. Servers add facts under various names, and an invalid fact must not
/// lose the list.
#[derive(Deserialize)]
struct Listed {
    id: String,
    #[serde(flatten)]
    facts: Map<String, Value>,
}

/// The limits of prompts come first: Anthropic and Groq, OpenRouter and Together, Mistral, vLLM.
const WINDOW_NAMES: [&str; 5] = [
    "max_input_tokens",
    "context_window",
    "context_length",
    "max_context_length",
    "max_model_len",
];
const OUTPUT_NAMES: [&str; 3] = ["max_output_tokens", "max_completion_tokens", "max_tokens"];
/// Mistral's, and OpenRouter's.
const END_NAMES: [&str; 2] = ["deprecation", "expiration_date"];

#[derive(Deserialize)]
struct GeminiList {
    #[serde(default)]
    models: Vec<GeminiListed>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct GeminiListed {
    name: String,
    display_name: Option<String>,
    input_token_limit: Option<u64>,
    output_token_limit: Option<u64>,
    #[serde(default)]
    supported_generation_methods: Vec<String>,
}

fn models(wire: Wire, body: &[u8]) -> Option<Vec<LiveModel>> {
    let mut models: Vec<LiveModel> = match wire {
        Wire::Gemini => {
            let list: GeminiList = serde_json::from_slice(body).ok()?;
            let generates = |model: &GeminiListed| {
                let methods = &model.supported_generation_methods;
                methods.is_empty() || methods.iter().any(|method| method == "generateContent")
            };
            let listed = list.models.into_iter().filter(generates);
            listed.map(GeminiListed::into_model).collect()
        }
        _ => {
            let list: List = serde_json::from_slice(body).ok()?;
            list.data.into_iter().map(Listed::into_model).collect()
        }
    };
    models.retain(|model| is_plausible(&model.id));
    Some(models)
}

/// Returns whether a string can be an id: ids are shown in tables and terminals.
fn is_plausible(id: &str) -> bool {
    !id.is_empty() && id.len() <= 256 && !id.chars().any(|c| c.is_control() || c.is_whitespace())
}

impl Listed {
    fn into_model(self) -> LiveModel {
        // OpenRouter lists the limits of its preferred server there.
        let nested = self.facts.get("top_provider").and_then(Value::as_object);
        let number = |names: &[&str]| -> u64 {
            names
                .iter()
                .filter_map(|name| self.facts.get(*name).and_then(Value::as_u64))
                .chain(nested.and_then(|facts| {
                    let found = names.iter().find_map(|name| facts.get(*name));
                    found.and_then(Value::as_u64)
                }))
                .find(|tokens| *tokens > 0)
                .unwrap_or(0)
        };
        let text = |name: &str| self.facts.get(name).and_then(Value::as_str);
        // A date, or a timestamp of which only the date matters.
        let ends = END_NAMES
            .iter()
            .find_map(|name| text(name)?.get(..10)?.parse().ok());
        let name = text("display_name").or_else(|| text("name"));
        LiveModel {
            name: name.unwrap_or(&self.id).to_owned(),
            context_window: number(&WINDOW_NAMES),
            max_output: number(&OUTPUT_NAMES),
            deprecation: ends.map(|ends| Deprecation {
                ends,
                replacement: text("deprecation_replacement_model")
                    .map(|replacement| Cow::Owned(replacement.to_owned())),
            }),
            id: self.id,
        }
    }
}

impl GeminiListed {
    fn into_model(self) -> LiveModel {
        let id = self
            .name
            .strip_prefix("models/")
            .unwrap_or(&self.name)
            .to_owned();
        LiveModel {
            name: self.display_name.unwrap_or_else(|| id.clone()),
            id,
            context_window: self.input_token_limit.unwrap_or(0),
            max_output: self.output_token_limit.unwrap_or(0),
            deprecation: None,
        }
    }
}

#[cfg(test)]
mod tests;
