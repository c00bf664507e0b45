//! What a message mentions: files, and resources of MCP servers.

use std::env;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout;
use zot_context::{
    Attached, MentionedResource, Resources, attach_resources, attach_with, project_root,
};
use zot_conversation::Image;
use zot_mcp::ServerSet;

use super::Runtime;

/// How long a mentioned resource is waited for, with the start of its server.
///
/// Limit: the resource is not attached, with a note in the prompt.
const RESOURCE_TIME: Duration = Duration::from_secs(60);

/// A message with the files it mentions attached, and the resources that are still to be read.
#[derive(Debug, Clone, Default)]
pub struct Mentioning {
    /// The text, with the text of attached files.
    pub text: String,
    /// Images of the message and of attached files.
    pub images: Vec<Image>,
    /// Resources of MCP servers, read when the message is sent.
    pub resources: Vec<MentionedResource>,
}

impl Mentioning {
    /// Returns the text with a note that the resources it mentions are not attached, for where they
    /// cannot be waited for.
    pub fn without_resources(&self) -> String {
        let mut text = self.text.clone();
        for resource in &self.resources {
            let note =
                format!("[{resource}: not attached, it can be attached to a new prompt only]");
            append(&mut text, &note);
        }
        text
    }
}

impl Runtime {
    /// Reads the files and directories that a text mentions as `@path`, to be appended to it, and finds
    /// resources of MCP servers, `@server:uri`. Only for text typed by a user: other text could mention
    /// files that its author must not see.
    pub fn attach_mentions(&self, text: &str) -> Attached {
        let root = match self.confines.directory() {
            Some(directory) => directory,
            None => project_root(self.cwd()),
        };
        let home = env::home_dir();
        attach_with(text, self.cwd(), home.as_deref(), &root, &self.resources())
    }

    /// Appends the text of mentioned files to `text` and their images to `images`.
    pub fn with_mentions(&self, mut text: String, mut images: Vec<Image>) -> Mentioning {
        let attached = self.attach_mentions(&text);
        append(&mut text, &attached.text);
        images.extend(attached.images);
        Mentioning {
            text,
            images,
            resources: attached.resources,
        }
    }

    /// Reads the resources that a message mentions and adds them to it. Waits for their servers, within
    /// a limit.
    pub async fn with_resources(&self, message: Mentioning) -> (String, Vec<Image>) {
        with_resources(self.servers.set(), message).await
    }

    /// Returns what messages can mention of MCP servers.
    fn resources(&self) -> Resources {
        let mut resources = Resources::default();
        let Some(set) = self.servers.set() else {
            return resources;
        };
        for server in set.servers() {
            resources.add_server(server.name);
        }
        for resource in set.resources() {
            resources.add(resource.server, resource.uri);
        }
        resources
    }
}

pub(super) async fn with_resources(
    servers: Option<Arc<ServerSet>>,
    message: Mentioning,
) -> (String, Vec<Image>) {
    let Mentioning {
        mut text,
        mut images,
        resources,
    } = message;
    let Some(servers) = servers.filter(|_| !resources.is_empty()) else {
        return (text, images);
    };
    let mut read = Vec::with_capacity(resources.len());
    for resource in resources {
        let reading = servers.read(&resource.server, &resource.uri);
        let contents = match timeout(RESOURCE_TIME, reading).await {
            Ok(Ok(contents)) => Ok(contents),
            Ok(Err(error)) => Err(crate::with_causes(&error)),
            Err(_) => Err(format!("no answer within {} s", RESOURCE_TIME.as_secs())),
        };
        read.push((resource, contents));
    }
    let attached = attach_resources(&read);
    append(&mut text, &attached.text);
    images.extend(attached.images);
    (text, images)
}

fn append(text: &mut String, more: &str) {
    if !more.is_empty() {
        if !text.is_empty() {
            text.push_str("\n\n");
        }
        text.push_str(more);
    }
}
