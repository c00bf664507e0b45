//! The servers of one runtime.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::watch;
use zot_conversation::ContentBlock;

use crate::catalog::Catalog;
use crate::entry::{Exposure, ServerEntry};
use crate::error::{McpError, UnknownServer};
use crate::name::{server_prefixes, tool_names};
use crate::server::{Lease, Server};
use crate::status::{
    PromptInfo, PromptMessage, ResourceInfo, ResourceTemplate, ServerState, ServerStatus,
};
use crate::tool::McpTool;

/// The servers of one runtime. A server that is in several sets runs once; when the last of them is dropped, it ends.
pub struct ServerSet {
    members: Vec<Member>,
    generation: Arc<watch::Sender<u64>>,
}

struct Member {
    entry: ServerEntry,
    /// The first part of its tools' names.
    prefix: String,
    lease: Lease,
    tools: Mutex<Built>,
}

/// The tools made from a catalog, until it is another one.
#[derive(Default)]
struct Built {
    catalog: Option<Arc<Catalog>>,
    tools: Vec<Arc<McpTool>>,
}

impl ServerSet {
    pub(crate) fn new(
        members: Vec<(ServerEntry, Lease)>,
        generation: Arc<watch::Sender<u64>>,
    ) -> Self {
        let names: Vec<String> = members
            .iter()
            .map(|(entry, _)| entry.name.clone())
            .collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let prefixes = server_prefixes(&names);
        let members = members
            .into_iter()
            .map(|(entry, lease)| Member {
                prefix: prefixes
                    .get(entry.name.as_str())
                    .cloned()
                    .unwrap_or_default(),
                entry,
                lease,
                tools: Mutex::default(),
            })
            .collect();
        Self {
            members,
            generation,
        }
    }

    /// Returns when no server is starting: each is ready, has failed or waits to be tried again, or waits for
    /// something only people can do. Callers add their own limit.
    pub async fn settled(&self) {
        let mut seen = self.generation();
        while !self.is_settled() {
            seen = self.changed(seen).await;
        }
    }

    fn is_settled(&self) -> bool {
        let mut servers = self.members.iter().map(Member::server);
        servers.all(|server| server.state().is_settled())
    }

    /// Returns a number that grows with every change of a state or a list.
    pub fn generation(&self) -> u64 {
        *self.generation.borrow()
    }

    /// Returns the generation as soon as it is not `since` any more.
    pub async fn changed(&self, since: u64) -> u64 {
        let mut receiver = self.generation.subscribe();
        match receiver.wait_for(|now| *now != since).await {
            Ok(now) => *now,
            // The sender is ours, so it cannot be gone.
            Err(_) => since,
        }
    }

    /// Returns the state of every server, in the order of the entries.
    pub fn servers(&self) -> Vec<ServerStatus> {
        self.members.iter().map(Member::status).collect()
    }

    /// Returns what the user has to hear about servers, each of which is named, and has not heard yet.
    pub fn take_warnings(&self) -> Vec<String> {
        let warnings = self.members.iter().flat_map(|member| {
            let name = &member.entry.name;
            let warnings = member.server().take_warnings().into_iter();
            warnings.map(move |warning| format!("MCP server {name}: {warning}"))
        });
        warnings.collect()
    }

    /// Returns the tools of all servers: by entry, then as the server lists them. Those of a server that
    /// restarts are still there; their calls wait for it.
    pub fn tools(&self) -> Vec<Arc<McpTool>> {
        self.members.iter().flat_map(Member::tools).collect()
    }

    pub fn prompts(&self) -> Vec<PromptInfo> {
        let prompts = self.members.iter().map(|member| {
            let catalog = member.server().catalog();
            catalog.prompts.items.clone().into_iter().map(|mut prompt| {
                prompt.server.clone_from(&member.entry.name);
                prompt
            })
        });
        prompts.flatten().collect()
    }

    /// Fills a prompt with `arguments`.
    pub async fn prompt(
        &self,
        server: &str,
        name: &str,
        arguments: &BTreeMap<String, String>,
    ) -> Result<Vec<PromptMessage>, McpError> {
        let server = self.member(server)?.server();
        server.get_prompt(name, arguments).await
    }

    pub fn resources(&self) -> Vec<ResourceInfo> {
        let resources = self.members.iter().map(|member| {
            let catalog = member.server().catalog();
            catalog
                .resources
                .items
                .clone()
                .into_iter()
                .map(|mut resource| {
                    resource.server.clone_from(&member.entry.name);
                    resource
                })
        });
        resources.flatten().collect()
    }

    pub fn resource_templates(&self) -> Vec<ResourceTemplate> {
        let templates = self.members.iter().map(|member| {
            let catalog = member.server().catalog();
            catalog
                .templates
                .items
                .clone()
                .into_iter()
                .map(|mut template| {
                    template.server.clone_from(&member.entry.name);
                    template
                })
        });
        templates.flatten().collect()
    }

    /// Reads a resource: its texts and images, and notes about what is neither.
    pub async fn read(&self, server: &str, uri: &str) -> Result<Vec<ContentBlock>, McpError> {
        self.member(server)?.server().read_resource(uri).await
    }

    /// Ends the server, if it runs, and starts it again without a pause: for every set that it is in.
    pub fn restart(&self, name: &str) -> Result<(), UnknownServer> {
        self.member(name)?.server().restart();
        Ok(())
    }

    fn member(&self, name: &str) -> Result<&Member, UnknownServer> {
        let mut members = self.members.iter();
        members
            .find(|member| member.entry.name == name)
            .ok_or_else(|| UnknownServer(name.to_owned()))
    }
}

impl Member {
    fn server(&self) -> &Arc<Server> {
        self.lease.server()
    }

    fn status(&self) -> ServerStatus {
        self.server().status(&self.entry)
    }

    fn tools(&self) -> Vec<Arc<McpTool>> {
        if self.server().state() == ServerState::Disabled {
            return Vec::new();
        }
        let catalog = self.server().catalog();
        let mut built = self.tools.lock().unwrap_or_else(PoisonError::into_inner);
        let is_current = |known: &Arc<Catalog>| Arc::ptr_eq(known, &catalog);
        if !built.catalog.as_ref().is_some_and(is_current) {
            let is_same = |known: &Arc<Catalog>| known.tools.items == catalog.tools.items;
            if !built.catalog.as_ref().is_some_and(is_same) {
                built.tools = self.build(&catalog);
            }
            built.catalog = Some(catalog);
        }
        built.tools.clone()
    }

    fn build(&self, catalog: &Catalog) -> Vec<Arc<McpTool>> {
        let listed = catalog.tools.items.iter();
        let listed: Vec<&str> = listed.map(|tool| tool.name.as_str()).collect();
        let names = tool_names(&self.prefix, &listed);
        let tools = catalog.tools.items.iter().zip(names).map(|(tool, name)| {
            Arc::new(McpTool {
                server: Arc::clone(self.server()),
                server_name: self.entry.name.clone(),
                listed: tool.clone(),
                patience: self.entry.timeout,
                exposure: self.entry.exposure_of(&tool.name),
                definition: Arc::new(tool.definition(name)),
            })
        });
        tools.collect()
    }
}

impl ServerEntry {
    /// Returns how the configuration wants `tool` to reach the model.
    pub fn exposure_of(&self, tool: &str) -> Option<Exposure> {
        let mut patterns = self.tool_exposure.iter();
        let named = patterns.find(|(pattern, _)| matches_pattern(pattern, tool));
        named.map_or(self.exposure, |(_, exposure)| *exposure)
    }
}

/// Returns whether `text` matches `pattern`, in which `*` stands for any text.
fn matches_pattern(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|first| text.strip_prefix(first)) else {
        return false;
    };
    let parts: Vec<&str> = parts.collect();
    let Some((last, middle)) = parts.split_last() else {
        return rest.is_empty();
    };
    for part in middle {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests;
