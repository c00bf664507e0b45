//! Creates model clients of a provider; with a login, they renew it before each request.

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
use zot_provider::{ApiKey, Endpoint, HttpClient, OAuthEntry};

use super::clients::Way;

/// What clients of one provider are made from.
pub(super) struct Connection {
    provider: String,
    http: HttpClient,
    key: Option<ApiKey>,
    login: Option<Arc<Login>>,
    /// The thinking settings that its models accept.
    accepted: AcceptedThinking,
}

impl Connection {
    /// Creates a connection; `oauth` describes how a login is renewed.
    pub(super) fn new(
        provider: &str,
        credential: Option<&Credential>,
        oauth: Option<&OAuthEntry>,
        auth_file: AuthFile,
        http: HttpClient,
        accepted: AcceptedThinking,
    ) -> Self {
        let tokens = credential.and_then(Credential::login).cloned();
        let key = match &tokens {
            Some(tokens) => Some(ApiKey::token(tokens.access())),
            None => credential.map(Credential::secret).map(ApiKey::from),
        };
        let login = match (tokens, &key, oauth) {
            (Some(tokens), Some(key), Some(oauth)) => Some(Arc::new(Login {
                provider: provider.to_owned(),
                keeper: TokenKeeper::new(
                    provider,
                    oauth_client(oauth),
                    auth_file,
                    Box::new(HttpTransport(http.clone())),
                    tokens,
                ),
                key: key.clone(),
            })),
            _ => None,
        };
        Self {
            provider: provider.to_owned(),
            http,
            key,
            login,
            accepted,
        }
    }

    /// Returns where requests are sent; its key is renewed together with the clients'.
    pub(super) fn endpoint(&self, base_url: &str) -> Endpoint {
        Endpoint {
            provider: self.provider.clone(),
            base_url: base_url.to_owned(),
            api_key: self.key.clone(),
        }
    }

    pub(super) fn client(&self, way: &Way) -> Arc<dyn Model> {
        let endpoint = self.endpoint(&way.base_url);
        let client = way
            .route
            .client(self.http.clone(), endpoint, self.accepted.clone());
        match &self.login {
            Some(login) => Arc::new(LoggedIn {
                client,
                login: Arc::clone(login),
            }),
            None => client,
        }
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

/// Sends login forms the way model clients send requests: same proxy, same certificates.
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

/// A login, and the key that all clients share.
struct Login {
    provider: String,
    keeper: TokenKeeper,
    key: ApiKey,
}

/// A client whose token is renewed before it is used.
struct LoggedIn {
    client: Arc<dyn Model>,
    login: Arc<Login>,
}

impl Model for LoggedIn {
    fn stream<'a>(&'a self, request: ModelRequest<'a>) -> ModelStream<'a> {
        let login = &self.login;
        let renewing = Box::pin(async move {
            let fresh = login.keeper.fresh().await.map_err(|error| {
                ModelError::new(ModelErrorKind::Unauthorized, error.to_string())
                    .with_provider(&login.provider)
            })?;
            login.key.renew(fresh.access());
            Ok(())
        });
        Box::pin(RenewedStream {
            renewing: Some(renewing),
            response: self.client.stream(request),
        })
    }

    fn tool_images(&self) -> ToolImages {
        self.client.tool_images()
    }
}

/// A response that is requested after the token was renewed: clients send nothing until polled.
struct RenewedStream<'a> {
    renewing: Option<BoxFuture<'a, Result<(), ModelError>>>,
    response: ModelStream<'a>,
}

impl Stream for RenewedStream<'_> {
    type Item = Result<ModelEvent, ModelError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if let Some(renewing) = &mut self.renewing {
            let renewed = ready!(renewing.as_mut().poll(context));
            self.renewing = None;
            if let Err(error) = renewed {
                self.response = Box::pin(Failed);
                return Poll::Ready(Some(Err(error)));
            }
        }
        self.response.as_mut().poll_next(context)
    }
}

/// The rest of a response after an error: nothing.
struct Failed;

impl Stream for Failed {
    type Item = Result<ModelEvent, ModelError>;

    fn poll_next(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        Poll::Ready(None)
    }
}
