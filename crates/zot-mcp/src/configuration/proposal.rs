//! A project's servers as its user has to see them before approving them.

use std::collections::BTreeMap;
use std::path::Path;

use zot_extension_contract::summary;

use super::ProjectFile;
use super::redaction::quoted;
use crate::entry::{Address, OAuthGrant, OAuthSettings, ServerEntry};

/// A server that a project wants to start. Unlike elsewhere nothing is hidden, as hiding a part of a command
/// could hide what it does; variables are shown by name, so their values stay out of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proposal {
    pub name: String,
    /// The whole command line, or the URL.
    pub target: String,
    /// What else decides what the server does and gets, a line each.
    pub details: Vec<String>,
}

impl ProjectFile {
    /// Returns the servers of the file, and what it changes of others, for a question about them.
    pub fn proposals(&self) -> Vec<Proposal> {
        let servers = self.servers.iter().map(|server| {
            let mut proposal = proposal(server, self.path.parent());
            if self.replaced.contains(&server.name) {
                let replaces = "replaces your server of this name".to_owned();
                proposal.details.insert(0, replaces);
            }
            proposal
        });
        let changes = self.changes.iter().map(|(name, changes)| Proposal {
            name: name.clone(),
            target: "changes your server of this name".to_owned(),
            details: vec![changes.clone()],
        });
        servers.chain(changes).collect()
    }
}

/// `usual` is where a project's programs run unless they say otherwise.
fn proposal(server: &ServerEntry, usual: Option<&Path>) -> Proposal {
    let (target, label, pairs): (String, &str, &BTreeMap<String, String>) = match &server.address {
        Address::Stdio {
            command, args, env, ..
        } => {
            let words = std::iter::once(command).chain(args);
            let words: Vec<String> = words.map(|word| quoted(word)).collect();
            (words.join(" "), "variable", env)
        }
        Address::Http { url, headers } | Address::Sse { url, headers } => {
            (url.clone(), "header", headers)
        }
    };
    let pairs = pairs.iter();
    let mut details: Vec<String> = pairs
        .map(|(name, value)| format!("{label} {name}: {value}"))
        .collect();
    if let Address::Stdio { cwd: Some(cwd), .. } = &server.address
        && Some(cwd.as_path()) != usual
    {
        details.push(format!("directory: {}", cwd.display()));
    }
    if server.sandbox.is_some() || server.permissions.is_some() {
        let allowed = summary(server.sandbox, server.permissions.as_ref());
        details.push(format!("may use: {allowed}"));
    }
    details.extend(server.oauth.iter().flat_map(login_details));
    if !server.enabled {
        details.push("disabled".to_owned());
    }
    Proposal {
        name: server.name.clone(),
        target,
        details,
    }
}

/// Lists what a login would use: the client's secret is sent to the issuer of its tokens.
fn login_details(oauth: &OAuthSettings) -> Vec<String> {
    let values = [
        ("clientId", &oauth.client_id),
        ("clientSecret", &oauth.client_secret),
        ("authServerMetadataUrl", &oauth.metadata_url),
        ("clientMetadataUrl", &oauth.client_metadata_url),
    ];
    let values = values.into_iter();
    let mut details: Vec<String> = values
        .filter_map(|(key, value)| value.as_ref().map(|value| format!("login {key}: {value}")))
        .collect();
    if oauth.grant == OAuthGrant::ClientCredentials {
        details.push("logs in by itself".to_owned());
    }
    details
}
