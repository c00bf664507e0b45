//! Removes images that a provider refuses from a transcript, so that later requests succeed.
//!
//! Messages never change: those with such an image are replaced by copies that describe what is
//! missing.

#[cfg(test)]
mod tests;

use std::sync::Arc;

use zot_conversation::{ContentBlock, Image, ImageBlame, Message, Role, ToolResult};

/// A transcript without the images, and what each of them was.
pub(crate) struct LeftOut {
    pub(crate) messages: Vec<Arc<Message>>,
    pub(crate) images: Vec<String>,
}

/// Removes the images that no provider has accepted yet: those after the last response. If all were
/// accepted before and the refusal names images, the model accepts none, and all are removed.
pub(crate) fn without_refused_images(
    messages: &[Arc<Message>],
    blame: ImageBlame,
    provider: &str,
) -> Option<LeftOut> {
    if blame == ImageBlame::None {
        return None;
    }
    let is_response = |message: &Arc<Message>| message.role == Role::Assistant;
    let new = messages
        .iter()
        .rposition(is_response)
        .map_or(0, |at| at + 1);
    let from = match messages.iter().skip(new).any(|message| has_image(message)) {
        true => new,
        false if blame == ImageBlame::Named => 0,
        false => return None,
    };
    let mut images = Vec::new();
    let replaced = messages.iter().enumerate().map(|(index, message)| {
        if index < from || !has_image(message) {
            return Arc::clone(message);
        }
        Arc::new(Message {
            role: message.role,
            content: without_images(&message.content, provider, &mut images),
            time: message.time,
        })
    });
    let messages = replaced.collect();
    (!images.is_empty()).then_some(LeftOut { messages, images })
}

fn has_image(message: &Message) -> bool {
    message.content.iter().any(|block| match block {
        ContentBlock::Image(_) => true,
        ContentBlock::ToolResult(result) => result.content.iter().any(is_image),
        _ => false,
    })
}

fn is_image(block: &ContentBlock) -> bool {
    matches!(block, ContentBlock::Image(_))
}

fn without_images(
    content: &[ContentBlock],
    provider: &str,
    images: &mut Vec<String>,
) -> Vec<ContentBlock> {
    let replaced = content.iter().map(|block| match block {
        ContentBlock::Image(image) => {
            let name = described(image);
            let note = format!("[image left out: {name}, refused by {provider}]");
            // Some wires repeat the image of a tool result in a user message.
            if !images.contains(&name) {
                images.push(name);
            }
            ContentBlock::Text(note)
        }
        ContentBlock::ToolResult(result) => ContentBlock::ToolResult(ToolResult {
            call_id: result.call_id.clone(),
            is_error: result.is_error,
            content: without_images(&result.content, provider, images),
        }),
        other => other.clone(),
    });
    replaced.collect()
}

fn described(image: &Image) -> String {
    format!("{}, {} bytes", image.mime_type, image.data.len())
}
