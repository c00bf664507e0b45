//! Small exchanges other than model calls: lists of models, tokens of logins.

use std::future::poll_fn;
use std::time::Duration;

use http::header::{ACCEPT, CONTENT_TYPE, USER_AGENT};
use http::{HeaderMap, HeaderValue, Method, Uri};
use tokio::time::timeout;

use super::connection::Keep;
use super::{HttpClient, Manner, Repeat, Response};
use crate::body::RequestBody;

/// The most bytes of a response; the longest known list of models has 2 MiB.
///
/// Limit: fetching a list of models or a token fails.
const MAX_FETCHED_BYTES: usize = 8 * 1024 * 1024;

/// How long an exchange may take, from the connection to the last byte.
///
/// Limit: fetching a list of models or a token fails.
const FETCH_TIMEOUT: Duration = Duration::from_secs(30);

/// A small exchange: its response is read whole.
#[derive(Debug, Clone)]
pub struct FetchRequest<'a> {
    pub method: Method,
    pub url: &'a str,
    /// Added to `user-agent` and `accept: application/json`, and instead of them.
    pub headers: HeaderMap,
    pub body: Vec<u8>,
}

/// A whole response. Redirects are not followed; `headers` say where they point to.
#[derive(Debug)]
pub struct Fetched {
    pub status: u16,
    pub headers: HeaderMap,
    pub body: Vec<u8>,
}

/// Why a document could not be fetched. Holds no secret: the caller names the address.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    #[error("the address cannot be used: {0}")]
    Address(String),
    #[error("{0}")]
    Unreachable(String),
    #[error(
        "the response is longer than {MAX_FETCHED_BYTES} bytes, or in a form that was not asked for"
    )]
    Unreadable,
    #[error("no response within {FETCH_TIMEOUT:?}")]
    TooSlow,
}

impl HttpClient {
    /// Posts a form and reads the whole response. Redirects are not followed.
    pub async fn post_form(&self, url: &str, form: String) -> Result<Fetched, FetchError> {
        let uri: Uri = url
            .parse()
            .map_err(|error| FetchError::Address(format!("{error}")))?;
        let mut headers = plain_headers();
        let form_type = HeaderValue::from_static("application/x-www-form-urlencoded");
        headers.insert(CONTENT_TYPE, form_type);
        let mut body = RequestBody::default();
        body.push(form);
        self.fetch("POST", &uri, &headers, &body).await
    }

    /// Sends any request and reads the whole response. Redirects are not followed.
    pub async fn fetch_whole(&self, request: FetchRequest<'_>) -> Result<Fetched, FetchError> {
        let uri: Uri = request
            .url
            .parse()
            .map_err(|error| FetchError::Address(format!("{error}")))?;
        let mut headers = plain_headers();
        headers.extend(request.headers);
        let mut body = RequestBody::default();
        body.push(request.body);
        self.fetch(request.method.as_str(), &uri, &headers, &body)
            .await
    }

    /// Fetches a whole document.
    pub(crate) async fn get(&self, uri: &Uri, headers: &HeaderMap) -> Result<Fetched, FetchError> {
        self.fetch("GET", uri, headers, &RequestBody::default())
            .await
    }

    async fn fetch(
        &self,
        method: &str,
        uri: &Uri,
        headers: &HeaderMap,
        body: &RequestBody,
    ) -> Result<Fetched, FetchError> {
        let exchange = async {
            // A code or a refresh token works once: sent twice, the second response would be a refusal.
            let repeat = match method {
                "GET" => Repeat::Safe,
                _ => Repeat::Never,
            };
            let keep = Keep::All;
            let manner = Manner { keep, repeat };
            let response = self.send(method, uri, headers, body, manner).await;
            read_whole(response.map_err(|error| FetchError::Unreachable(error.to_string()))?).await
        };
        match timeout(FETCH_TIMEOUT, exchange).await {
            Ok(fetched) => fetched,
            Err(_) => Err(FetchError::TooSlow),
        }
    }
}

pub(crate) fn plain_headers() -> HeaderMap {
    let mut headers = HeaderMap::new();
    let user_agent = concat!("zot/", env!("CARGO_PKG_VERSION"));
    headers.insert(USER_AGENT, HeaderValue::from_static(user_agent));
    headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
    headers
}

async fn read_whole(response: Response) -> Result<Fetched, FetchError> {
    if response.compression.is_some() {
        return Err(FetchError::Unreadable);
    }
    let (status, headers) = (response.status.as_u16(), response.all);
    let (mut body, mut bytes) = (response.body, Vec::new());
    loop {
        let piece =
            poll_fn(|context| body.poll_data(context, |data| bytes.extend_from_slice(data)));
        match piece.await {
            None => {
                return Ok(Fetched {
                    status,
                    headers,
                    body: bytes,
                });
            }
            Some(Ok(())) if bytes.len() <= MAX_FETCHED_BYTES => {}
            Some(Ok(())) => return Err(FetchError::Unreadable),
            Some(Err(error)) => return Err(FetchError::Unreachable(error.to_string())),
        }
    }
}
