//! Finds the resources of servers that a prompt mentions: `@server:uri`.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use crate::mention::Mention;

/// The resources that a prompt can mention.
#[derive(Debug, Clone, Default)]
pub struct Resources {
    /// What each server lists. It may have more, such as those of a template.
    servers: BTreeMap<String, BTreeSet<String>>,
}

/// A resource as a prompt names it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct MentionedResource {
    /// The name of the server.
    pub server: String,
    /// What the server calls the resource.
    pub uri: String,
}

/// Writes it as it is mentioned, without the `@`.
impl fmt::Display for MentionedResource {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}", self.server, self.uri)
    }
}

impl Resources {
    /// Adds a server, whether or not it lists any resources.
    pub fn add_server(&mut self, name: impl Into<String>) {
        self.servers.entry(name.into()).or_default();
    }

    /// Adds a resource that a server lists.
    pub fn add(&mut self, server: impl Into<String>, uri: impl Into<String>) {
        let listed = self.servers.entry(server.into()).or_default();
        listed.insert(uri.into());
    }

    /// Returns the resource that a mention names: one that is listed, or the one without punctuation
    /// after it.
    pub(crate) fn resolve(&self, mention: &Mention<'_>) -> Option<MentionedResource> {
        let readings = mention.candidates.iter().filter_map(|candidate| {
            let (server, uri) = candidate.split_once(':')?;
            let listed = self.servers.get(server)?;
            let resource = MentionedResource {
                server: server.to_owned(),
                uri: uri.to_owned(),
            };
            (!uri.is_empty()).then_some((listed.contains(uri), resource))
        });
        let mut last = None;
        for (is_listed, resource) in readings {
            if is_listed {
                return Some(resource);
            }
            last = Some(resource);
        }
        last
    }
}
