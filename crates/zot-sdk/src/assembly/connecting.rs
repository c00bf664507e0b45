//! Model clients from what was selected; those with a login renew it before they ask.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use futures_core::Stream;
use zot_auth::{AuthFile, Credential, OAuthClient, TokenAnswer, TokenKeeper, TokenTransport};
use zot_conversation::{
    BoxFuture, Model, ModelError, ModelErrorKind, ModelEvent, ModelRequest, ModelStream, ToolImages,
};
use zot_provider::catalog::AcceptedThinking;
use zot_provider::offline::OfflineModel;
use zot_provider::{ApiKey, Endpoint, HttpClient, OAuthEntry, Wire};

/// What a client is made from.
pub(super) struct Connection<'a> {
    pub(super) provider: &'a str,
    pub(super) base_url: String,
    pub(super) credential: Option<Credential>,
    /// `None` for what needs no network.
    pub(super) wire: Option<Wire>,
    /// How its login is renewed.
    pub(super) oauth: Option<Arc<OAuthEntry>>,
    pub(super) auth_file: AuthFile,
    pub(super) http: HttpClient,
    /// What its models accept.
    pub(super) accepted: AcceptedThinking,
}

impl Connection<'_> {
    /// The client, and where it sends its requests to.
    pub(super) fn client(self) -> (Arc<dyn Model>, Option<Endpoint>) {
        let Some(wire) = self.wire else {
            return (Arc::new(OfflineModel), None);
        };
        let login = self
            .credential
            .as_ref()
            .and_then(Credential::login)
            .cloned();
        let secret = self.credential.as_ref().map(Credential::secret);
        let key = match &login {
            Some(tokens) => Some(ApiKey::token(tokens.access())),
            None => secret.map(ApiKey::from),
        };
        let endpoint = Endpoint {
            provider: self.provider.to_owned(),
            base_url: self.base_url,
            api_key: key.clone(),
        };
        let client = wire.client_with(self.http.clone(), endpoint.clone(), self.accepted);
        let client = match (login, key, self.oauth) {
            (Some(tokens), Some(key), Some(oauth)) => Arc::new(LoggedIn {
                provider: self.provider.to_owned(),
                client,
                keeper: TokenKeeper::new(
                    self.provider,
                    oauth_client(&oauth),
                    self.auth_file,
                    Box::new(HttpTransport(self.http)),
                    tokens,
                ),
                key,
            }),
            _ => client,
        };
        (client, Some(endpoint))
    }
}

pub(crate) fn oauth_client(entry: &OAuthEntry) -> OAuthClient {
    let parameters = entry.parameters.iter();
    OAuthClient {
        client_id: entry.client_id.clone(),
        client_secret: entry.client_secret.clone(),
        authorize_url: entry.authorize_url.clone(),
        token_url: entry.token_url.clone(),
        device_url: entry.device_url.clone(),
        scopes: entry.scopes.clone(),
        parameters: parameters
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect(),
        redirect_port: entry.redirect_port,
        redirect_path: entry.redirect_path.clone(),
    }
}

/// Sends the forms of logins as model clients send their requests: by proxy, with the same trust.
pub(crate) struct HttpTransport(pub(crate) HttpClient);

impl TokenTransport for HttpTransport {
    fn post_form<'a>(
        &'a self,
        url: &'a str,
        form: String,
    ) -> Pin<Box<dyn Future<Output = Result<TokenAnswer, String>> + Send + 'a>> {
        Box::pin(async move {
            let fetched = self.0.post_form(url, form).await;
            fetched
                .map(|fetched| (fetched.status, fetched.body))
                .map_err(|error| error.to_string())
        })
    }
}

/// A client whose token is renewed before it is used.
struct LoggedIn {
    provider: String,
    client: Arc<dyn Model>,
    keeper: TokenKeeper,
    /// The one that `client` sends.
    key: ApiKey,
}

impl Model for LoggedIn {
    fn stream<'a>(&'a self, request: ModelRequest<'a>) -> ModelStream<'a> {
        let renewing = Box::pin(async move {
            let fresh = self.keeper.fresh().await.map_err(|error| {
                ModelError::new(
                    ModelErrorKind::Unauthorized,
                    format!("{}: {error}", self.provider),
                )
            })?;
            self.key.renew(fresh.access());
            Ok(())
        });
        Box::pin(RenewedStream {
            renewing: Some(renewing),
            answer: self.client.stream(request),
        })
    }

    fn tool_images(&self) -> ToolImages {
        self.client.tool_images()
    }
}

/// An answer that is not asked for before the token is good: clients send nothing until polled.
struct RenewedStream<'a> {
    renewing: Option<BoxFuture<'a, Result<(), ModelError>>>,
    answer: ModelStream<'a>,
}

impl Stream for RenewedStream<'_> {
    type Item = Result<ModelEvent, ModelError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if let Some(renewing) = &mut self.renewing {
            let renewed = ready!(renewing.as_mut().poll(context));
            self.renewing = None;
            if let Err(error) = renewed {
                self.answer = Box::pin(Failed);
                return Poll::Ready(Some(Err(error)));
            }
        }
        self.answer.as_mut().poll_next(context)
    }
}

/// Nothing follows an error.
struct Failed;

impl Stream for Failed {
    type Item = Result<ModelEvent, ModelError>;

    fn poll_next(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        Poll::Ready(None)
    }
}
