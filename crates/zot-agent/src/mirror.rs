//! Shows images from tool results again, to models that cannot see them there.

#[cfg(test)]
mod tests;

use std::sync::Arc;

use zot_conversation::{ContentBlock, IMAGE_MIRROR_HEADING, Message, Role};

/// Returns a copy in which every tool message with images is followed by a user message that
/// shows them, or `None` when none is missing.
pub(crate) fn mirror_images(messages: &[Arc<Message>]) -> Option<Vec<Arc<Message>>> {
    let missing = |index: usize| {
        let message = &messages[index];
        has_images(message)
            && !messages
                .get(index + 1)
                .is_some_and(|next| next.is_image_mirror())
    };
    let first = (0..messages.len()).find(|&index| missing(index))?;
    let mut mirrored: Vec<Arc<Message>> = messages[..first].to_vec();
    for (index, message) in messages.iter().enumerate().skip(first) {
        mirrored.push(Arc::clone(message));
        if missing(index) {
            mirrored.push(Arc::new(mirror_of(message)));
        }
    }
    Some(mirrored)
}

fn has_images(message: &Message) -> bool {
    message.role == Role::Tool && images(message).next().is_some()
}

fn images(message: &Message) -> impl Iterator<Item = &ContentBlock> {
    message
        .tool_results()
        .flat_map(|result| &result.content)
        .filter(|block| matches!(block, ContentBlock::Image(_)))
}

fn mirror_of(message: &Message) -> Message {
    let heading = ContentBlock::Text(IMAGE_MIRROR_HEADING.to_owned());
    Message {
        role: Role::User,
        content: std::iter::once(heading)
            .chain(images(message).cloned())
            .collect(),
        time: message.time,
    }
}
