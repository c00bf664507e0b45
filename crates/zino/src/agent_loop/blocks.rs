//! Tool calls and tasks in a model's text, in order.

#[cfg(test)]
mod tests;

use zot_hermes::{BlockItem, BlockParser, Tag};

const TAGS: &[Tag] = &[Tag::TOOL_CALL, Tag::TASK];

/// A part of a model's text. Blocks and the text between them do not depend on how the text was
/// split.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Piece {
    Text(String),
    Block { tag: &'static str, body: String },
}

pub(super) struct Blocks(BlockParser);

impl Blocks {
    pub(super) fn new() -> Self {
        // The whole text is kept anyway, so no body is cut.
        Self(BlockParser::with_limit(TAGS, usize::MAX))
    }

    /// Returns the pieces that the next part of the text completes.
    pub(super) fn feed(&mut self, text: String) -> Vec<Piece> {
        if text.is_empty() {
            // Models start with an empty text.
            return Vec::new();
        }
        if self.0.is_plain(&text) {
            return vec![Piece::Text(text)];
        }
        let mut pieces = Vec::new();
        self.0.feed(&text, |item| pieces.extend(piece(item)));
        pieces
    }

    /// Returns what is left at the end of the text; an unclosed block is text.
    pub(super) fn finish(&mut self) -> Vec<Piece> {
        let mut pieces = Vec::new();
        self.0.finish(|item| pieces.extend(piece(item)));
        pieces
    }
}

fn piece(item: BlockItem<'_>) -> Option<Piece> {
    match item {
        BlockItem::Text(text) => Some(Piece::Text(text.to_owned())),
        BlockItem::BlockStart { .. } | BlockItem::BlockDelta { .. } => None,
        BlockItem::BlockEnd { tag, body } => Some(Piece::Block {
            tag,
            body: body.text.to_owned(),
        }),
        BlockItem::BlockUnclosed { tag, body } => {
            Some(Piece::Text(format!("<{tag}>{}", body.text)))
        }
    }
}

/// Formats the response to a block, which follows it in the text.
pub(super) fn response_block(tag: &str, result: &str) -> String {
    let name = match tag {
        "task" => "task_response",
        _ => "tool_response",
    };
    format!("\n<{name}>\n{result}\n</{name}>\n")
}
