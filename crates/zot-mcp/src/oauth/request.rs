//! Requests of a login. They go to https addresses and to this machine only, and follow no redirect.

use http::header::{AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, Method};
use serde::de::DeserializeOwned;
use zot_provider::{FetchRequest, Fetched, HttpClient};

use super::OAuthError;
use crate::transport::address;

/// Checks that secrets may be sent to `url`.
pub(super) fn check_secure(url: &str) -> Result<(), OAuthError> {
    match address::parse(url) {
        Ok(uri) if uri.scheme_str() == Some("https") || address::is_loopback(&uri) => Ok(()),
        _ => Err(OAuthError::Insecure {
            url: url.to_owned(),
        }),
    }
}

/// Fetches a JSON document; `None` if it does not exist there.
pub(super) async fn document<T: DeserializeOwned>(
    http: &HttpClient,
    url: &str,
) -> Result<Option<T>, OAuthError> {
    let fetched = fetch(http, Method::GET, url, HeaderMap::new(), Vec::new()).await?;
    match fetched.status {
        200 => decode(url, &fetched.body).map(Some),
        500.. => Err(OAuthError::Unreachable {
            url: url.to_owned(),
            reason: format!("HTTP status {}", fetched.status),
        }),
        // Some servers answer 401 or 405 for every path they do not know.
        _ => Ok(None),
    }
}

/// Posts a form, with the header `Authorization` if there is one.
pub(super) async fn post_form(
    http: &HttpClient,
    url: &str,
    form: String,
    authorization: Option<&str>,
) -> Result<Fetched, OAuthError> {
    let mut headers = HeaderMap::new();
    let form_type = HeaderValue::from_static("application/x-www-form-urlencoded");
    headers.insert(CONTENT_TYPE, form_type);
    if let Some(authorization) = authorization {
        let value = HeaderValue::from_str(authorization);
        let mut value = value.map_err(|_| OAuthError::Invalid {
            url: url.to_owned(),
            reason: "the client's secret cannot be sent".to_owned(),
        })?;
        value.set_sensitive(true);
        headers.insert(AUTHORIZATION, value);
    }
    fetch(http, Method::POST, url, headers, form.into_bytes()).await
}

/// Posts a JSON document.
pub(super) async fn post_json(
    http: &HttpClient,
    url: &str,
    value: &serde_json::Value,
) -> Result<Fetched, OAuthError> {
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    fetch(
        http,
        Method::POST,
        url,
        headers,
        value.to_string().into_bytes(),
    )
    .await
}

async fn fetch(
    http: &HttpClient,
    method: Method,
    url: &str,
    headers: HeaderMap,
    body: Vec<u8>,
) -> Result<Fetched, OAuthError> {
    check_secure(url)?;
    let request = FetchRequest {
        method,
        url,
        headers,
        body,
    };
    http.fetch_whole(request)
        .await
        .map_err(|error| OAuthError::Unreachable {
            url: url.to_owned(),
            reason: error.to_string(),
        })
}

pub(super) fn decode<T: DeserializeOwned>(url: &str, body: &[u8]) -> Result<T, OAuthError> {
    serde_json::from_slice(body).map_err(|error| OAuthError::Invalid {
        url: url.to_owned(),
        reason: error.to_string(),
    })
}
