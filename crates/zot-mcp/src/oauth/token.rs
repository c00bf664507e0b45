//! The token endpoint.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::Deserialize;
use serde_json::Value;
use zot_auth::form;
use zot_process::Secret;
use zot_provider::{Fetched, HttpClient};

use super::OAuthError;
use super::client::Client;
use super::request::{decode, post_form};
use super::scope;

/// How much of a refusal is shown.
const MAX_REASON_CHARS: usize = 300;

/// What the token endpoint granted.
#[derive(Debug, Clone)]
pub(super) struct Granted {
    pub(super) access: Secret,
    pub(super) refresh: Option<Secret>,
    /// In seconds since 1970.
    pub(super) expires_at: Option<u64>,
    /// If it differs from what was asked for.
    pub(super) scopes: Option<Vec<String>>,
}

/// Asks for tokens for `resource`. `grant` holds the fields of the grant.
pub(super) async fn request(
    http: &HttpClient,
    endpoint: &str,
    client: &Client,
    resource: &str,
    grant: &[(&str, &str)],
) -> Result<Granted, OAuthError> {
    let mut fields = grant.to_vec();
    fields.push(("resource", resource));
    let authorization = client.authenticate(&mut fields);
    let fetched = post_form(
        http,
        endpoint,
        form::encoded(&fields),
        authorization.as_deref(),
    )
    .await?;
    if fetched.status != 200 {
        return Err(refusal(endpoint, &fetched));
    }
    granted(endpoint, &fetched.body)
}

fn granted(endpoint: &str, body: &[u8]) -> Result<Granted, OAuthError> {
    #[derive(Deserialize)]
    struct Answer {
        access_token: String,
        token_type: String,
        refresh_token: Option<String>,
        /// Seconds; some servers send a text.
        expires_in: Option<Value>,
        scope: Option<String>,
    }
    let answer: Answer = decode(endpoint, body)?;
    let invalid = |reason: &str| OAuthError::Invalid {
        url: endpoint.to_owned(),
        reason: reason.to_owned(),
    };
    if !answer.token_type.eq_ignore_ascii_case("bearer") {
        return Err(invalid("expected a token of type bearer"));
    }
    if answer.access_token.is_empty() || !answer.access_token.bytes().all(|b| b.is_ascii_graphic())
    {
        return Err(invalid(
            "expected an access token of visible ASCII characters",
        ));
    }
    let seconds = answer.expires_in.and_then(|seconds| match seconds {
        Value::String(text) => text.parse::<f64>().ok(),
        number => number.as_f64(),
    });
    let expires = seconds
        .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
        .and_then(|duration| SystemTime::now().checked_add(duration));
    Ok(Granted {
        access: answer.access_token.into(),
        refresh: answer
            .refresh_token
            .filter(|token| !token.is_empty())
            .map(Secret::from),
        expires_at: expires
            .and_then(|at| at.duration_since(UNIX_EPOCH).ok())
            .map(|since| since.as_secs()),
        scopes: answer.scope.map(|scope| scope::split(&scope)),
    })
}

/// Returns what an endpoint says with an error status.
pub(super) fn refusal(url: &str, fetched: &Fetched) -> OAuthError {
    #[derive(Deserialize)]
    struct Refusal {
        error: String,
        error_description: Option<String>,
    }
    // Overload and outages pass, whatever error the body names.
    if fetched.status >= 500 || fetched.status == 429 {
        return OAuthError::Unreachable {
            url: url.to_owned(),
            reason: format!("HTTP status {}", fetched.status),
        };
    }
    match serde_json::from_slice::<Refusal>(&fetched.body) {
        Ok(refusal) => OAuthError::Refused {
            reason: shown(&refusal.error, refusal.error_description.as_deref()),
            code: refusal.error,
        },
        Err(_) => OAuthError::Invalid {
            url: url.to_owned(),
            reason: format!("HTTP status {} without an error", fetched.status),
        },
    }
}

/// Joins the parts of a refusal, within bounds.
pub(super) fn shown(code: &str, description: Option<&str>) -> String {
    let text = match description {
        Some(description) => format!("{code}: {description}"),
        None => code.to_owned(),
    };
    text.chars().take(MAX_REASON_CHARS).collect()
}
