//! The servers of the configuration.

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use zot_conversation::Model;
use zot_offline::OfflineModel;
use zot_provider::catalog::{AcceptedThinking, Catalog, ModelInfo, nearest_names};
use zot_provider::network::{NetworkSettings, Plan, PlanError};
use zot_provider::{
    Endpoint, HttpClient, KeyRequirement, OpenAiQuirks, OutputLimitField, ProviderEntry, Route,
    Timeouts, Wire, exact_base_url, provider, providers,
};

use super::messages::Ending;
use crate::config::{self, Config};

/// The name of an OpenAI-compatible server in messages.
const COMPATIBLE: &str = "openai";

const KEY_VARIABLE: &str = "LLM_API_KEY";

/// One server and the model to ask there.
pub(super) struct Target {
    pub(super) streaming: Arc<dyn Model>,
    /// The client for whole responses, which does not stream where the original does not.
    pub(super) collecting: Arc<dyn Model>,
    pub(super) model: String,
    pub(super) max_output: u64,
    pub(super) dialect: Dialect,
}

/// The form in which a conversation is sent to a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dialect {
    Text(Ending),
    /// The offline stand-in, which knows only native tool calls.
    StandIn,
}

/// Why `rtr` cannot be set up.
#[derive(Debug, thiserror::Error)]
pub enum RouterError {
    #[error(
        "{section} has no base_url: set it to the address of an OpenAI-compatible server, such as \
         http://127.0.0.1:8080/v1, or set provider = \"offline\""
    )]
    NoBaseUrl { section: String },
    #[error("{section} base_url {base_url:?}: {reason}")]
    BaseUrl {
        section: String,
        base_url: String,
        reason: PlanError,
    },
    #[error("[service] model is missing: name the model to ask")]
    NoModel,
    #[error(
        "{section} provider {name:?} is unknown{}; known: offline, {}",
        .nearest.map(|name| format!(": did you mean {name:?}?")).unwrap_or_default(),
        .known.join(", ")
    )]
    UnknownProvider {
        section: String,
        name: String,
        nearest: Option<&'static str>,
        known: Vec<&'static str>,
    },
    #[error("{section} has no key for {provider}: set key there, or {}", .variables.join(" or "))]
    NoKey {
        section: String,
        provider: String,
        variables: Vec<String>,
    },
    #[error("[rtr] timeout must be more than 0 seconds, not {0}")]
    Timeout(f64),
}

type Environment<'a> = &'a dyn Fn(&str) -> Option<String>;

/// How servers are reached.
struct Connections {
    http: HttpClient,
    network: NetworkSettings,
    /// `[rtr] streaming`.
    streaming: bool,
}

/// One server, as configured.
struct ConfiguredServer<'a> {
    section: String,
    base_url: Option<&'a str>,
    key: Option<String>,
    provider: Option<&'a str>,
    model: Option<&'a str>,
}

/// Returns all servers in order of preference. They share their connections.
pub(super) fn targets(
    config: &Config,
    time_limit: Duration,
    environment: Environment<'_>,
) -> Result<Vec<Target>, RouterError> {
    let timeouts = Timeouts {
        // Longer than the limit of the whole response, which covers all servers.
        headers: time_limit.saturating_mul(2),
        ..Timeouts::default()
    };
    let network = NetworkSettings::read(environment);
    let connections = Connections {
        http: HttpClient::with_network(timeouts, network.clone()),
        network,
        streaming: config.rtr.streaming,
    };
    let catalog = Catalog::builtin();
    let api = &config.api;
    let first = ConfiguredServer {
        section: "[api]".to_owned(),
        base_url: present(&api.base_url),
        key: present(&api.key)
            .map(ToOwned::to_owned)
            .or_else(|| environment(KEY_VARIABLE))
            .filter(|key| !key.is_empty()),
        provider: present(&api.provider),
        model: present(&config.service.model),
    };
    let others = api.fallback.iter().enumerate();
    let others = others.map(|(index, endpoint)| fallback(index, endpoint, config));
    std::iter::once(first)
        .chain(others)
        .map(|given| target(given, &connections, &catalog, environment))
        .collect()
}

/// Describes a fallback server. A key is only used for the server it was configured for.
fn fallback<'a>(
    index: usize,
    endpoint: &'a config::Endpoint,
    config: &'a Config,
) -> ConfiguredServer<'a> {
    let provider = present(&endpoint.provider);
    // The first server's model, unless another provider is named.
    let same_model = present(&config.service.model).filter(|_| provider.is_none());
    ConfiguredServer {
        section: format!("[[api.fallback]] number {}", index + 1),
        base_url: present(&endpoint.base_url),
        key: present(&endpoint.key).map(ToOwned::to_owned),
        provider,
        model: present(&endpoint.model).or(same_model),
    }
}

fn target(
    given: ConfiguredServer<'_>,
    connections: &Connections,
    catalog: &Catalog,
    environment: Environment<'_>,
) -> Result<Target, RouterError> {
    match given.provider {
        Some(OfflineModel::NAME) => Ok(Target {
            streaming: Arc::new(OfflineModel),
            collecting: Arc::new(OfflineModel),
            model: given.model.unwrap_or(OfflineModel::NAME).to_owned(),
            max_output: ModelInfo::unknown(OfflineModel::NAME, "").max_output,
            dialect: Dialect::StandIn,
        }),
        Some(name) => {
            let entry = provider(name).ok_or_else(|| unknown_provider(&given.section, name))?;
            provider_target(given, entry, connections, catalog, environment)
        }
        None => {
            let base_url = given.base_url.ok_or_else(|| RouterError::NoBaseUrl {
                section: given.section.clone(),
            })?;
            let model = given.model.ok_or(RouterError::NoModel)?;
            let info = ModelInfo::unknown(COMPATIBLE, model);
            let wire = without_output_limit(Wire::OpenAiChat(OpenAiQuirks::COMPATIBLE));
            let endpoint = endpoint(COMPATIBLE, &exact_base_url(base_url), given.key);
            // The original streams only when a stream is requested.
            let collected = Collected::Whole;
            over_network(
                &given.section,
                endpoint,
                Route::Fixed(wire),
                &info,
                connections,
                collected,
            )
        }
    }
}

fn provider_target(
    given: ConfiguredServer<'_>,
    entry: &ProviderEntry,
    connections: &Connections,
    catalog: &Catalog,
    environment: Environment<'_>,
) -> Result<Target, RouterError> {
    let model = given.model.unwrap_or(&entry.default_model);
    let variables = entry.key_variables.iter();
    let key = given
        .key
        .or_else(|| variables.clone().find_map(|name| environment(name)))
        .filter(|key| !key.is_empty());
    if key.is_none() && entry.key == KeyRequirement::Needed && given.base_url.is_none() {
        return Err(RouterError::NoKey {
            section: given.section,
            provider: entry.name.to_string(),
            variables: variables.map(ToString::to_string).collect(),
        });
    }
    let (info, entry) = match catalog.find(&entry.catalog, model) {
        Some(known) => (known.clone(), Cow::Borrowed(entry)),
        None => {
            let entry = ProviderEntry {
                wire: without_output_limit(entry.wire),
                ..entry.clone()
            };
            (ModelInfo::unknown(&entry.name, model), Cow::Owned(entry))
        }
    };
    let mut route = entry.route(&info, None);
    if given.base_url.is_some() {
        // ZINO uses this wire for every server.
        route = route.chat_first();
    }
    let base_url = match (given.base_url, entry.wire) {
        // As in the `openai` package for Python, which ZINO uses.
        (Some(base_url), Wire::OpenAiChat(_) | Wire::OpenAiResponses) => {
            Cow::Owned(exact_base_url(base_url))
        }
        (Some(base_url), Wire::Anthropic | Wire::Gemini) => Cow::Borrowed(base_url),
        (None, _) => Cow::Borrowed(info.base_url.as_deref().unwrap_or(&entry.base_url)),
    };
    let route = route.to(&base_url);
    let endpoint = endpoint(&entry.name, &base_url, key);
    let collected = match connections.streaming {
        // All their servers can stream, and some reject anything else.
        true => Collected::Streamed,
        false => Collected::Whole,
    };
    over_network(
        &given.section,
        endpoint,
        route,
        &info,
        connections,
        collected,
    )
}

/// How a server is asked for a response that is not streamed to the caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Collected {
    Streamed,
    Whole,
}

fn endpoint(provider: &str, base_url: &str, api_key: Option<String>) -> Endpoint {
    Endpoint {
        provider: provider.to_owned(),
        base_url: base_url.to_owned(),
        api_key: api_key.map(Into::into),
    }
}

fn over_network(
    section: &str,
    endpoint: Endpoint,
    route: Route,
    model: &ModelInfo,
    connections: &Connections,
    collected: Collected,
) -> Result<Target, RouterError> {
    let plan = Plan::new(&endpoint, None, &connections.network);
    if let Err(reason @ PlanError::BaseUrl { .. }) = plan {
        return Err(RouterError::BaseUrl {
            section: section.to_owned(),
            base_url: endpoint.base_url.trim_end_matches('#').to_owned(),
            reason,
        });
    }
    let streaming = route.client(
        connections.http.clone(),
        endpoint.clone(),
        AcceptedThinking::default(),
    );
    let collecting = match collected {
        Collected::Streamed => Arc::clone(&streaming),
        Collected::Whole => route.client(
            connections.http.clone().unstreamed(),
            endpoint,
            AcceptedThinking::default(),
        ),
    };
    Ok(Target {
        streaming,
        collecting,
        model: model.id.to_string(),
        max_output: model.max_output,
        dialect: Dialect::Text(match route.wire() {
            Wire::OpenAiChat(_) => Ending::Anyone,
            Wire::Anthropic | Wire::OpenAiResponses | Wire::Gemini => Ending::UserOnly,
        }),
    })
}

/// Leaves the output limit of an unknown model to its server: a request for more than a small model has
/// would be rejected.
fn without_output_limit(wire: Wire) -> Wire {
    match wire {
        Wire::OpenAiChat(quirks) => Wire::OpenAiChat(OpenAiQuirks {
            output_limit: OutputLimitField::Absent,
            ..quirks
        }),
        other => other,
    }
}

/// Treats an empty setting as absent.
fn present(setting: &Option<String>) -> Option<&str> {
    setting.as_deref().filter(|setting| !setting.is_empty())
}

fn unknown_provider(section: &str, name: &str) -> RouterError {
    let known = || providers().iter().map(|entry| entry.name.as_ref());
    RouterError::UnknownProvider {
        section: section.to_owned(),
        name: name.to_owned(),
        nearest: nearest_names(name, known()).first().copied(),
        known: known().collect(),
    }
}
