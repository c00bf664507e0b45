//! Finds out where to log in, and checks what the servers say about each other.
//!
//! The MCP server names its authorisation servers; tokens are asked for the resource it says it is, which
//! must be itself. The authorisation server's metadata must name the issuer that was looked for, or, where
//! the entry says where the metadata is, an issuer at the same place.

use http::Uri;
use zot_provider::HttpClient;

use super::OAuthError;
use super::challenge::Challenge;
use super::metadata::{AuthorizationServer, ProtectedResource};
use super::request::{check_secure, document};
use crate::transport::address;

/// How many authorisation servers of one MCP server are looked at.
///
/// Limit: the others are not tried.
const MAX_AUTHORIZATION_SERVERS: usize = 8;

/// Where to log in.
#[derive(Debug)]
pub(super) struct Discovered {
    pub(super) resource: ProtectedResource,
    pub(super) server: AuthorizationServer,
}

/// Finds the authorisation server of the MCP server at `server_url`. `metadata_url` is that of the entry.
pub(super) async fn discover(
    http: &HttpClient,
    server_url: &str,
    challenge: &Challenge,
    metadata_url: Option<&str>,
) -> Result<Discovered, OAuthError> {
    let uri = address::parse(server_url).map_err(|_| OAuthError::Insecure {
        url: server_url.to_owned(),
    })?;
    let resource = match protected_resource(http, &uri, challenge).await? {
        Some(resource) => {
            check_resource(&uri, &resource.resource)?;
            resource
        }
        // Before 2025-06-18 the server was its own authorisation server.
        None => ProtectedResource {
            resource: canonical(&uri),
            authorization_servers: vec![address::origin(&uri)],
            scopes_supported: None,
        },
    };
    let server = match metadata_url {
        Some(url) => configured_server(http, url).await?,
        None => authorization_server(http, server_url, &resource).await?,
    };
    check_endpoints(&server)?;
    Ok(Discovered { resource, server })
}

/// Reads the metadata that the entry names. What is stored for an issuer goes to the endpoints of its
/// metadata, so no document may speak for an issuer at another place.
async fn configured_server(
    http: &HttpClient,
    url: &str,
) -> Result<AuthorizationServer, OAuthError> {
    let found: Option<AuthorizationServer> = document(http, url).await?;
    let found = found.ok_or_else(|| OAuthError::Unreachable {
        url: url.to_owned(),
        reason: "there is no such document".to_owned(),
    })?;
    let origin = |text: &str| address::parse(text).ok().map(|uri| address::origin(&uri));
    match origin(&found.issuer) {
        Some(issuer) if Some(&issuer) == origin(url).as_ref() => Ok(found),
        _ => Err(OAuthError::ForeignIssuer {
            expected: url.to_owned(),
            found: found.issuer,
        }),
    }
}

/// Returns the address of a server as tokens are asked for it.
pub(super) fn canonical(uri: &Uri) -> String {
    let origin = address::origin(uri);
    match (uri.path(), uri.query()) {
        ("/" | "", None) => origin,
        (path, None) => format!("{origin}{path}"),
        (path, Some(query)) => format!("{origin}{path}?{query}"),
    }
}

async fn protected_resource(
    http: &HttpClient,
    uri: &Uri,
    challenge: &Challenge,
) -> Result<Option<ProtectedResource>, OAuthError> {
    if let Some(url) = &challenge.resource_metadata
        && let Some(found) = document(http, url).await?
    {
        return Ok(Some(found));
    }
    let origin = address::origin(uri);
    let well_known = format!("{origin}/.well-known/oauth-protected-resource");
    let path = uri.path().trim_end_matches('/');
    if !path.is_empty()
        && let Some(found) = document(http, &format!("{well_known}{path}")).await?
    {
        return Ok(Some(found));
    }
    document(http, &well_known).await
}

/// Checks that a server describes itself: it is the resource, or lies below it.
fn check_resource(uri: &Uri, resource: &str) -> Result<(), OAuthError> {
    let foreign = || OAuthError::ForeignResource {
        server: canonical(uri),
        resource: resource.to_owned(),
    };
    let claimed = address::parse(resource).map_err(|_| foreign())?;
    let (path, own) = (claimed.path().trim_end_matches('/'), uri.path());
    let is_below = own
        .strip_prefix(path)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    let is_same_query = claimed
        .query()
        .is_none_or(|query| uri.query() == Some(query));
    match address::origin(&claimed) == address::origin(uri) && is_below && is_same_query {
        true => Ok(()),
        false => Err(foreign()),
    }
}

async fn authorization_server(
    http: &HttpClient,
    server_url: &str,
    resource: &ProtectedResource,
) -> Result<AuthorizationServer, OAuthError> {
    let issuers = resource.authorization_servers.iter();
    for issuer in issuers.take(MAX_AUTHORIZATION_SERVERS) {
        for url in metadata_urls(issuer)? {
            let Some(found) = document::<AuthorizationServer>(http, &url).await? else {
                continue;
            };
            // RFC 8414 wants the same text. A slash at the end is the one difference that is common
            // and cannot lead to another server.
            if found.issuer.trim_end_matches('/') != issuer.trim_end_matches('/') {
                return Err(OAuthError::ForeignIssuer {
                    expected: issuer.clone(),
                    found: found.issuer,
                });
            }
            return Ok(found);
        }
    }
    Err(OAuthError::NoAuthorizationServer {
        server: server_url.to_owned(),
    })
}

/// Returns where an issuer may have its metadata, in the order of the specification.
fn metadata_urls(issuer: &str) -> Result<Vec<String>, OAuthError> {
    check_secure(issuer)?;
    let uri = address::parse(issuer).map_err(|_| OAuthError::Insecure {
        url: issuer.to_owned(),
    })?;
    let origin = address::origin(&uri);
    let path = uri.path().trim_end_matches('/');
    let oauth = format!("{origin}/.well-known/oauth-authorization-server{path}");
    let openid = format!("{origin}/.well-known/openid-configuration{path}");
    Ok(match path {
        "" => vec![oauth, openid],
        _ => vec![
            oauth,
            openid,
            format!("{origin}{path}/.well-known/openid-configuration"),
        ],
    })
}

fn check_endpoints(server: &AuthorizationServer) -> Result<(), OAuthError> {
    check_secure(&server.token_endpoint)?;
    let others = [
        &server.authorization_endpoint,
        &server.registration_endpoint,
    ];
    others
        .into_iter()
        .flatten()
        .try_for_each(|url| check_secure(url))
}

#[cfg(test)]
mod tests;
