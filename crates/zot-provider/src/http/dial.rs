//! Opens connections: directly or through a proxy, encrypted or not.

use std::error::Error;
use std::sync::Arc;

use http::Uri;
use hyper_rustls::{HttpsConnector, MaybeHttpsStream};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::proxy::Tunnel;
use hyper_util::rt::TokioIo;
use rustls::ClientConfig;
use tokio::net::TcpStream;
use tokio::sync::OnceCell;
use tower_service::Service;

use super::SendError;
use super::connection::Connection;
use super::tls;
use crate::error::cause_chain;
use crate::network::{NetworkSettings, Proxy, Route};

type Stream = MaybeHttpsStream<TokioIo<TcpStream>>;

pub(super) struct Dialler {
    pub(super) network: NetworkSettings,
    plain: HttpConnector,
    /// Set up when it is first needed.
    tls: OnceCell<Arc<ClientConfig>>,
}

impl Dialler {
    pub(super) fn new(network: NetworkSettings, plain: HttpConnector) -> Self {
        Self {
            network,
            plain,
            tls: OnceCell::new(),
        }
    }

    pub(super) async fn connect(&self, uri: Uri, route: &Route) -> Result<Connection, SendError> {
        let secure = uri.scheme_str() == Some("https");
        match route {
            Route::Direct(_) => Ok(connection(self.first_hop(uri).await?)),
            Route::Through(proxy) => {
                let opened = match secure {
                    true => self.tunnel(uri, proxy).await,
                    false => self.first_hop(proxy.uri.clone()).await.map(connection),
                };
                opened.map_err(|error| error.through(&proxy.shown()))
            }
        }
    }

    /// Connects to the host of `uri` itself.
    async fn first_hop(&self, uri: Uri) -> Result<Stream, SendError> {
        // Connectors are stateless handles: each call may use its own.
        let mut plain = self.plain.clone();
        if uri.scheme_str() != Some("https") {
            let stream = plain.call(uri).await;
            return stream
                .map(MaybeHttpsStream::Http)
                .map_err(|error| SendError::Connection(cause_chain(&error)));
        }
        let mut connector = HttpsConnector::from((plain, self.tls().await?));
        connector.call(uri).await.map_err(send_error)
    }

    /// Connects to the host of `uri` through a tunnel that `proxy` opens.
    async fn tunnel(&self, uri: Uri, proxy: &Proxy) -> Result<Connection, SendError> {
        let tls = self.tls().await?;
        // The connection to the proxy may itself be encrypted, depending on its scheme.
        let first_hop = HttpsConnector::from((self.plain.clone(), Arc::clone(&tls)));
        let mut tunnel = Tunnel::new(proxy.uri.clone(), first_hop);
        if let Some(authorization) = &proxy.authorization {
            tunnel = tunnel.with_auth(authorization.clone());
        }
        let stream = HttpsConnector::from((tunnel, tls)).call(uri).await;
        let stream = stream.map_err(send_error)?;
        Ok(Connection::new(TokioIo::new(stream)))
    }

    async fn tls(&self) -> Result<Arc<ClientConfig>, SendError> {
        self.tls
            .get_or_try_init(|| tls::client_config(self.network.clone()))
            .await
            .cloned()
            .map_err(|error| SendError::Other(error.to_string()))
    }
}

fn connection(stream: Stream) -> Connection {
    match stream {
        MaybeHttpsStream::Http(stream) => Connection::new(stream.into_inner()),
        secure @ MaybeHttpsStream::Https(_) => Connection::new(TokioIo::new(secure)),
    }
}

fn send_error(error: Box<dyn Error + Send + Sync>) -> SendError {
    let causes = cause_chain(error.as_ref());
    match tls::is_refusal(error.as_ref()) {
        // A certificate that is refused once is refused again.
        true => SendError::Other(causes),
        false => SendError::Connection(causes),
    }
}
