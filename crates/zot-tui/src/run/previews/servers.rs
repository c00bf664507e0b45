//! MCP servers and their resources.

use zot_sdk::Runtime;
use zot_sdk::mcp::EntryOrigin;

use super::{MAX_TEXT_PREVIEW_BYTES, facts};
use crate::app::{Preview, PreviewBody};

/// How many names of tools are shown.
const SHOWN_TOOLS: usize = 12;

pub(super) fn server(runtime: &Runtime, name: &str) -> Option<Preview> {
    let set = runtime.mcp()?;
    let status = set.servers().into_iter().find(|one| one.name == name)?;
    let origin = match status.origin {
        EntryOrigin::User => "your mcp.json",
        EntryOrigin::Project => "the project's .mcp.json",
        EntryOrigin::Program => "the command line",
    };
    let mut lines = vec![format!("from {origin}")];
    let product = status.product.into_iter().chain(status.version);
    let product: Vec<String> = product.collect();
    if !product.is_empty() {
        lines.push(product.join(" · "));
    }
    let tools = set.tools().into_iter().filter(|tool| tool.server() == name);
    let tools: Vec<String> = tools.map(|tool| tool.tool().to_owned()).collect();
    if !tools.is_empty() {
        let more = match tools.len() > SHOWN_TOOLS {
            true => ", …",
            false => "",
        };
        let shown: Vec<&str> = tools.iter().take(SHOWN_TOOLS).map(String::as_str).collect();
        lines.push(format!("{}{more}", shown.join(", ")));
    }
    // The reason of a failure may be long.
    let reason = status.state.reason().map(str::to_owned);
    let text: Vec<String> = reason.into_iter().chain(status.instructions).collect();
    let body = match text.is_empty() {
        true => PreviewBody::Nothing,
        false => PreviewBody::Prose(text.join("\n\n")),
    };
    Some(Preview { facts: lines, body })
}

/// Returns the preview of `server:uri`, if a server lists it.
pub(super) fn resource(runtime: &Runtime, mention: &str) -> Option<Preview> {
    let (server, uri) = mention.split_once(':')?;
    let resources = runtime.mcp()?.resources();
    let mut resources = resources.into_iter();
    let found = resources.find(|one| one.server == server && one.uri == uri)?;
    let mut lines = vec![found.title.unwrap_or(found.name)];
    let size = found.size.map(|bytes| format!("{bytes} bytes"));
    let kind: Vec<String> = found.mime_type.into_iter().chain(size).collect();
    if !kind.is_empty() {
        lines.push(kind.join(" · "));
    }
    let mut preview = facts(lines);
    if let Some(mut text) = found.description {
        text.truncate(text.floor_char_boundary(MAX_TEXT_PREVIEW_BYTES.min(text.len())));
        preview.body = PreviewBody::Prose(text);
    }
    Some(preview)
}
