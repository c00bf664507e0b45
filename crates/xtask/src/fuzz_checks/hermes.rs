//! Tool call blocks in text.

use zot_hermes::{BlockItem, BlockParser, Tag};

use super::{in_characters, pieces};

const TAGS: &[Tag] = &[Tag::TOOL_CALL, Tag::TASK];

/// Short, so that a fuzzer reaches it.
const LIMIT: usize = 64;

/// A part of a text, independent of splits.
#[derive(Debug, PartialEq)]
enum Found {
    Text(String),
    Block {
        tag: &'static str,
        body: String,
        dropped_bytes: usize,
        closed: bool,
    },
}

/// Splits do not change the blocks, the pieces of a body add up to it, text contains no opening tag, and
/// the parts add up to the input.
pub fn hermes_blocks(data: &[u8]) {
    let (content, cut) = pieces(data);
    let whole = String::from_utf8_lossy(content);
    let found = find(&[&whole]);
    assert_eq!(
        find(&in_characters(&whole, &cut)),
        found,
        "the split changes the blocks"
    );
    let characters: Vec<&str> = whole.split_inclusive(|_| true).collect();
    assert_eq!(
        find(&characters),
        found,
        "splitting by characters changes the blocks"
    );
    let mut position = 0;
    for item in &found {
        position += check_found(item, &whole[position..]);
    }
    assert_eq!(position, whole.len());
}

/// Checks that `rest` starts with the found part and returns its length.
fn check_found(found: &Found, rest: &str) -> usize {
    match found {
        Found::Text(text) => {
            assert!(rest.starts_with(text.as_str()));
            assert!(TAGS.iter().all(|tag| !text.contains(tag.open)));
            text.len()
        }
        Found::Block {
            tag,
            body,
            dropped_bytes,
            closed,
        } => {
            let Some(tag) = TAGS.iter().find(|known| known.name == *tag) else {
                unreachable!("unexpected tag: {tag}");
            };
            assert!(rest.starts_with(tag.open));
            let rest = &rest[tag.open.len()..];
            assert!(rest.starts_with(body.as_str()) && body.len() <= LIMIT);
            let length = body.len() + dropped_bytes;
            assert_eq!(rest.find(tag.close), closed.then_some(length));
            let close = if *closed { tag.close.len() } else { 0 };
            tag.open.len() + length + close
        }
    }
}

fn find(pieces: &[&str]) -> Vec<Found> {
    let mut parser = BlockParser::with_limit(TAGS, LIMIT);
    let mut found = Vec::new();
    let mut deltas = String::new();
    let mut sink = |item: BlockItem<'_>| match item {
        BlockItem::Text(text) => match found.last_mut() {
            Some(Found::Text(before)) => before.push_str(text),
            _ => found.push(Found::Text(text.to_owned())),
        },
        BlockItem::BlockStart { .. } => deltas.clear(),
        BlockItem::BlockDelta { text, .. } => deltas.push_str(text),
        BlockItem::BlockEnd { tag, body } | BlockItem::BlockUnclosed { tag, body } => {
            assert_eq!(deltas, body.text, "the pieces do not add up to the body");
            found.push(Found::Block {
                tag,
                body: body.text.to_owned(),
                dropped_bytes: body.dropped_bytes,
                closed: matches!(item, BlockItem::BlockEnd { .. }),
            });
        }
    };
    for piece in pieces {
        parser.feed(piece, &mut sink);
    }
    parser.finish(&mut sink);
    found
}
