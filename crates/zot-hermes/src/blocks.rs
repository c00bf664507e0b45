//! Finds `<tag>…</tag>` blocks in text that arrives in pieces.
//!
//! How the text is cut never changes what is found: the pieces of text and of bodies, each joined,
//! are the same for every cut. Text is held back only while it could still become a tag.

#[cfg(test)]
mod tests;

use memchr::memchr;

/// How much of a block's body is kept by default: several times the longest answer of any model.
///
/// Limit: the call fails, and the model is told why.
pub const MAX_TOOL_CALL_BLOCK_BYTES: usize = 8 * 1024 * 1024;

/// What the parser found, in order. Pieces of text and of bodies are never empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BlockItem<'a> {
    /// A piece of the text outside of blocks.
    Text(&'a str),
    /// An opening tag.
    BlockStart { tag: &'static str },
    /// A piece of the block's body.
    BlockDelta { tag: &'static str, text: &'a str },
    /// A closing tag.
    BlockEnd {
        tag: &'static str,
        body: BlockBody<'a>,
    },
    /// The text ended before the closing tag: last of all, and only from [`BlockParser::finish`].
    BlockUnclosed {
        tag: &'static str,
        body: BlockBody<'a>,
    },
}

/// What was found between two tags: its deltas joined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlockBody<'a> {
    pub text: &'a str,
    /// How many further bytes exceeded the limit and were dropped.
    pub dropped_bytes: usize,
}

/// Finds the blocks of a fixed set of tags.
///
/// An opening tag begins a block wherever it occurs, and the first closing tag of the same name
/// ends it, even inside what looks like a string; tags of other names in between are body. Tags are
/// matched exactly: no attributes, no blanks, no other case. In `<<tool_call>` the second `<`
/// begins the tag. A body longer than the limit is cut there; the rest is counted and dropped until
/// the closing tag.
#[derive(Debug)]
pub struct BlockParser {
    tags: &'static [Tag],
    max_body: usize,
    state: State,
    /// The beginning of a tag whose rest has not arrived.
    held: String,
    body: String,
    dropped_bytes: usize,
}

/// A tag as it is written in the text. Both sides have one `<`, at their beginning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tag {
    pub name: &'static str,
    pub open: &'static str,
    pub close: &'static str,
}

impl Tag {
    pub const TOOL_CALL: Self = Self {
        name: "tool_call",
        open: "<tool_call>",
        close: "</tool_call>",
    };
    pub const TASK: Self = Self {
        name: "task",
        open: "<task>",
        close: "</task>",
    };
}

#[derive(Debug, Clone, Copy)]
enum State {
    Outside,
    Inside(Tag),
}

/// How the beginning of a text relates to the tags that may occur there.
enum Match {
    /// A whole tag.
    Tag(Tag),
    /// It could still become one.
    Possible,
    None,
}

impl BlockParser {
    pub fn new(tags: &'static [Tag]) -> Self {
        Self::with_limit(tags, MAX_TOOL_CALL_BLOCK_BYTES)
    }

    /// A parser that keeps at most `max_body` bytes of a body.
    pub fn with_limit(tags: &'static [Tag], max_body: usize) -> Self {
        Self {
            tags,
            max_body,
            state: State::Outside,
            held: String::new(),
            body: String::new(),
            dropped_bytes: 0,
        }
    }

    /// Whether feeding `text` would report just this text and change nothing.
    pub fn is_plain(&self, text: &str) -> bool {
        matches!(self.state, State::Outside)
            && self.held.is_empty()
            && memchr(b'<', text.as_bytes()).is_none()
    }

    /// Takes the next piece of text and reports what can be decided now.
    pub fn feed(&mut self, text: &str, mut sink: impl FnMut(BlockItem<'_>)) {
        let mut rest = text;
        if !self.held.is_empty() {
            rest = self.resume(rest, &mut sink);
        }
        while !rest.is_empty() {
            rest = self.advance(rest, &mut sink);
        }
    }

    /// Ends the text, reports what was held back and resets the parser.
    pub fn finish(&mut self, mut sink: impl FnMut(BlockItem<'_>)) {
        let held = std::mem::take(&mut self.held);
        self.plain(&held, &mut sink);
        if let State::Inside(tag) = self.state {
            sink(BlockItem::BlockUnclosed {
                tag: tag.name,
                body: self.block_body(),
            });
            self.leave();
        }
    }

    /// Continues a possible tag that the last piece ended in; returns what is left of `rest`.
    fn resume<'t>(&mut self, rest: &'t str, sink: &mut impl FnMut(BlockItem<'_>)) -> &'t str {
        match self.matched(&self.held, rest) {
            Match::Tag(tag) => {
                let arrived = self.tag_text(tag).len() - self.held.len();
                self.held.clear();
                self.cross(tag, sink);
                &rest[arrived..]
            }
            Match::Possible => {
                self.held.push_str(rest);
                ""
            }
            // A tag has one `<`, at its beginning, so no other tag can begin within what is held.
            Match::None => {
                let mut held = std::mem::take(&mut self.held);
                self.plain(&held, sink);
                held.clear();
                self.held = held;
                rest
            }
        }
    }

    /// Consumes text up to and including the next tag, or all of it.
    fn advance<'t>(&mut self, text: &'t str, sink: &mut impl FnMut(BlockItem<'_>)) -> &'t str {
        let mut from = 0;
        while let Some(found) = memchr(b'<', &text.as_bytes()[from..]) {
            let at = from + found;
            match self.matched("", &text[at..]) {
                Match::Tag(tag) => {
                    let end = at + self.tag_text(tag).len();
                    self.plain(&text[..at], sink);
                    self.cross(tag, sink);
                    return &text[end..];
                }
                Match::Possible => {
                    self.plain(&text[..at], sink);
                    self.held.push_str(&text[at..]);
                    return "";
                }
                Match::None => from = at + 1,
            }
        }
        self.plain(text, sink);
        ""
    }

    /// Compares `held` followed by `rest` with the tags that may stand here.
    fn matched(&self, held: &str, rest: &str) -> Match {
        let inside;
        let tags = match self.state {
            State::Outside => self.tags,
            State::Inside(tag) => {
                inside = [tag];
                &inside
            }
        };
        let mut possible = false;
        for &tag in tags {
            let Some(missing) = self.tag_text(tag).strip_prefix(held) else {
                continue;
            };
            if rest.starts_with(missing) {
                return Match::Tag(tag);
            }
            possible |= missing.starts_with(rest);
        }
        if possible {
            Match::Possible
        } else {
            Match::None
        }
    }

    /// Returns the side of `tag` that can come next.
    fn tag_text(&self, tag: Tag) -> &'static str {
        match self.state {
            State::Outside => tag.open,
            State::Inside(_) => tag.close,
        }
    }

    /// Enters or leaves a block at a tag.
    fn cross(&mut self, tag: Tag, sink: &mut impl FnMut(BlockItem<'_>)) {
        match self.state {
            State::Outside => {
                self.state = State::Inside(tag);
                sink(BlockItem::BlockStart { tag: tag.name });
            }
            State::Inside(tag) => {
                sink(BlockItem::BlockEnd {
                    tag: tag.name,
                    body: self.block_body(),
                });
                self.leave();
            }
        }
    }

    /// Reports text that holds no tag.
    fn plain(&mut self, text: &str, sink: &mut impl FnMut(BlockItem<'_>)) {
        let kept = match self.state {
            State::Outside => text,
            State::Inside(_) => self.keep(text),
        };
        if kept.is_empty() {
            return;
        }
        sink(match self.state {
            State::Outside => BlockItem::Text(kept),
            State::Inside(tag) => BlockItem::BlockDelta {
                tag: tag.name,
                text: kept,
            },
        });
    }

    /// Adds to the body what the limit allows, and returns that.
    fn keep<'t>(&mut self, text: &'t str) -> &'t str {
        // Once a character did not fit, no shorter one may follow.
        let room = match self.dropped_bytes {
            0 => self.max_body - self.body.len(),
            _ => 0,
        };
        let (kept, dropped) = text.split_at(text.floor_char_boundary(room));
        self.body.push_str(kept);
        self.dropped_bytes += dropped.len();
        kept
    }

    fn block_body(&self) -> BlockBody<'_> {
        BlockBody {
            text: &self.body,
            dropped_bytes: self.dropped_bytes,
        }
    }

    fn leave(&mut self) {
        self.state = State::Outside;
        self.body.clear();
        self.dropped_bytes = 0;
    }
}
