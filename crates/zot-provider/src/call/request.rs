//! The request of a model call: sent, and sent again where that may help.

use std::future::poll_fn;
use std::sync::Arc;
use std::time::Duration;

use http::header::ACCEPT;
use http::{HeaderMap, HeaderValue, StatusCode, Uri};
use zot_conversation::{ModelError, ModelErrorKind, Timestamp};

use super::MAX_ERROR_BODY_BYTES;
use crate::body::RequestBody;
use crate::endpoint::{Endpoint, Target};
use crate::error::{connection_error, http_error, stream_error};
use crate::http::{Delivery, HttpClient, Response, ResponseBody, SendError};
use crate::retry::{self, Failure, NextAttempt};

/// How long the body of a refused request may take to arrive.
///
/// Limit: what has arrived of an error response is reported.
const ERROR_BODY_TIME: Duration = Duration::from_secs(10);

/// A request that is ready to be sent, as often as needed.
pub(crate) struct Call {
    http: HttpClient,
    endpoint: Arc<Endpoint>,
    uri: Uri,
    /// The part of the path that the user did not give.
    added_version: Option<&'static str>,
    headers: HeaderMap,
    body: RequestBody,
}

/// The outcome of sending a request.
pub(super) enum Sent {
    Accepted(Response),
    /// It is to be sent again after `wait`.
    Retry {
        call: Call,
        failures: u32,
        wait: Duration,
        error: ModelError,
    },
}

impl Call {
    /// Prepares a request to `target` below the endpoint's base URL.
    pub(crate) fn new(
        http: &HttpClient,
        endpoint: &Arc<Endpoint>,
        target: Target<'_>,
        mut headers: HeaderMap,
        body: RequestBody,
    ) -> Result<Self, ModelError> {
        if http.delivery() == Delivery::Whole {
            headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        }
        let uri = endpoint.uri(&target).map_err(|reason| {
            let message = format!("the base URL cannot be used: {reason}");
            ModelError::new(ModelErrorKind::Invalid, message).with_provider(&endpoint.provider)
        })?;
        Ok(Self {
            http: http.clone(),
            endpoint: Arc::clone(endpoint),
            added_version: endpoint.base().added_version(&target),
            uri,
            headers,
            body,
        })
    }

    /// Sends the request, after `failures` attempts that failed.
    pub(super) async fn send(self, failures: u32) -> Result<Sent, ModelError> {
        let posted = self.http.post(&self.uri, &self.headers, &self.body).await;
        let (failure, error) = match posted {
            Ok(response) if response.status.is_success() => {
                return match &response.compression {
                    None => Ok(Sent::Accepted(response)),
                    Some(coding) => Err(stream_error(&self.endpoint.provider, compressed(coding))),
                };
            }
            Ok(response) => self.refusal(response).await,
            Err(error) => self.no_response(&error),
        };
        let patience = self.http.patience();
        match retry::next_attempt(failures, failure, patience, retry::random_jitter()) {
            NextAttempt::After(wait) => Ok(Sent::Retry {
                call: self,
                failures: failures + 1,
                wait,
                error,
            }),
            NextAttempt::None => Err(error),
            NextAttempt::WaitTooLong(wait) => {
                let seconds = wait.as_secs_f64().ceil();
                Err(error.with_hint(format!("the provider asks to wait {seconds} s")))
            }
        }
    }

    async fn refusal(&self, response: Response) -> (Failure, ModelError) {
        let status = response.status;
        let now = Timestamp::now();
        let named = response.retry.retry_after(now);
        let reset = match status {
            StatusCode::TOO_MANY_REQUESTS => response.retry.limit_reset(now),
            _ => None,
        };
        let should_retry = response.retry.should_retry();
        let body = match (response.location, response.compression) {
            (Some(location), _) if status.is_redirection() => {
                format!("the server redirects to {location}; change the base URL accordingly")
                    .into_bytes()
            }
            (_, Some(coding)) => compressed(&coding).into_bytes(),
            _ => read_error_body(response.body).await,
        };
        let retry_after = named.or_else(|| retry::retry_delay(&body)).or(reset);
        let mut error = http_error(
            &self.endpoint.provider,
            status,
            retry_after,
            &body,
            self.endpoint.secret().as_deref(),
        );
        if matches!(
            status,
            StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED
        ) {
            error = error.with_hint(self.address_hint(&body));
        }
        let failure = match error.kind {
            ModelErrorKind::InsufficientQuota => Failure::NoCredit,
            _ => Failure::Status {
                status: status.as_u16(),
                retry_after,
                should_retry,
            },
        };
        (failure, error)
    }

    /// Returns the address of a request that the server has nothing at, and how to change it.
    fn address_hint(&self, body: &[u8]) -> String {
        let url = self.endpoint.shown_url(&self.uri);
        // Services refuse an unknown model with the same status.
        let about_model = String::from_utf8_lossy(body)
            .to_ascii_lowercase()
            .contains("model");
        match self.added_version.filter(|_| !about_model) {
            Some(version) => {
                format!("POST {url}; if {version} does not belong there, end the base URL with #")
            }
            None => format!("POST {url}"),
        }
    }

    fn no_response(&self, error: &SendError) -> (Failure, ModelError) {
        let failure = match error {
            SendError::Connection(_) => Failure::Connection,
            SendError::Timeout { .. } | SendError::Other(_) => Failure::NoResponse,
        };
        let url = self.endpoint.shown_url(&self.uri);
        let error = connection_error(&self.endpoint.provider, &url, &error.to_string());
        (failure, error)
    }
}

/// Returns why a response cannot be read although it arrived.
fn compressed(coding: &str) -> String {
    format!(
        "the server compressed its response ({coding}), which was not asked for: switch compression \
         off there or in whatever stands in front of it"
    )
}

/// Reads the body of a refused request, as far as it arrives in time.
async fn read_error_body(mut body: ResponseBody) -> Vec<u8> {
    let mut text = Vec::new();
    let read = async {
        while text.len() < MAX_ERROR_BODY_BYTES {
            let piece =
                poll_fn(|context| body.poll_data(context, |data| text.extend_from_slice(data)));
            if !matches!(piece.await, Some(Ok(()))) {
                break;
            }
        }
    };
    // One limit for the whole body: a server that dribbles would otherwise delay the error for hours.
    let _ = tokio::time::timeout(ERROR_BODY_TIME, read).await;
    text
}
