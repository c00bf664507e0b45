//! Which thinking goes back to the service.
//!
//! Newer models accept thinking only behind the exact prefix it was generated with: system prompt,
//! tools and earlier messages
//! (<https://platform.claude.com/docs/en/build-with-claude/preserved-thinking>). So every block
//! carries a digest of the prefix it followed, and it is replayed only behind a prefix with the
//! same digest. The digest covers the thinking that was actually sent, so omitting one block also
//! invalidates all thinking that followed it.
//!
//! The digests form a chain, one link per message, and are kept like serialised messages: a request
//! costs the links of its new messages only.

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::sync::Arc;

use sha2::{Digest as _, Sha256};
use zot_conversation::{ContentBlock, Message, Reasoning};

/// The conversation at hand, and one side question such as a compaction.
///
/// Limit: the prefixes of older conversations are computed again.
const MAX_REMEMBERED_PREFIX_CHAINS: usize = 2;

/// Each stands for a conversation that the service refused; the oldest are dropped first.
///
/// Limit: the oldest prefix behind which thinking was refused is tried again.
const MAX_REFUSED_PREFIXES: usize = 64;

/// How much of a digest is kept with a block.
const PREFIX_BYTES: usize = 16;

type Digest = [u8; 32];

/// What became of the thinking in a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Replay {
    Kept,
    Dropped,
}

/// The prefixes of the last conversations, most recent first.
#[derive(Default)]
pub(super) struct Prefixes {
    chains: VecDeque<Chain>,
    /// Prefixes whose thinking the service refused.
    refused: VecDeque<String>,
    /// Whether thinking without a prefix, from sessions of older versions, was refused.
    refused_unmarked: bool,
    /// The number of chains started, which gives each chain a unique number.
    started: u64,
}

/// One conversation behind one system prompt, with one set of tools, to one model.
pub(super) struct Chain {
    number: u64,
    start: Digest,
    links: Vec<Link>,
    /// The first message whose thinking is replayed.
    first_kept: Option<usize>,
}

struct Link {
    /// Held so that the address cannot be reused by another message.
    message: Arc<Message>,
    replay: Replay,
    after: Digest,
}

/// The thinking that a request replayed: the prefix of its first block, if known.
pub(super) struct Replayed(Option<String>);

/// Whose thinking can be replayed, and how strictly its prefix is compared.
pub(super) struct Reader<'a> {
    pub(super) provider: &'a str,
    /// Whether the model refuses thinking behind another prefix.
    pub(super) binds: bool,
}

/// Returns the digest that a chain starts with: of the model, and the serialised system prompt and
/// tools.
pub(super) fn start(model: &str, head: &[u8]) -> Digest {
    let mut hasher = Sha256::new();
    hasher.update(model);
    hasher.update([0]);
    hasher.update(head);
    hasher.finalize().into()
}

impl Prefixes {
    /// Decides for each message whether its thinking is replayed. `write` serialises a message in
    /// the form that is sent.
    pub(super) fn follow(
        &mut self,
        start: Digest,
        reader: &Reader<'_>,
        messages: &[Arc<Message>],
        mut write: impl FnMut(&Message, Replay, &mut Vec<u8>),
    ) -> &Chain {
        let mut chain = self.take(start, messages);
        let same = chain
            .links
            .iter()
            .zip(messages)
            .take_while(|(link, message)| Arc::ptr_eq(&link.message, message))
            .count();
        chain.truncate(same);
        let mut bytes = Vec::new();
        for message in messages.iter().skip(same) {
            let before = chain.end();
            let (replay, has_thinking) = self.judge(reader, message, &before);
            bytes.clear();
            write(message, replay, &mut bytes);
            let mut hasher = Sha256::new();
            hasher.update(before);
            hasher.update(&bytes);
            if has_thinking && replay == Replay::Kept {
                chain.first_kept.get_or_insert(chain.links.len());
            }
            chain.links.push(Link {
                message: Arc::clone(message),
                replay,
                after: hasher.finalize().into(),
            });
        }
        self.chains.push_front(chain);
        self.chains.truncate(MAX_REMEMBERED_PREFIX_CHAINS);
        &self.chains[0]
    }

    fn take(&mut self, start: Digest, messages: &[Arc<Message>]) -> Chain {
        let known = self.chains.iter().position(|chain| {
            let first = chain.links.first().zip(messages.first());
            chain.start == start
                && first.is_some_and(|(link, message)| Arc::ptr_eq(&link.message, message))
        });
        known
            .and_then(|index| self.chains.remove(index))
            .unwrap_or_else(|| {
                self.started += 1;
                Chain {
                    number: self.started,
                    start,
                    links: Vec::new(),
                    first_kept: None,
                }
            })
    }

    /// Replays either all thinking of a message or none: a part of it would have another prefix.
    fn judge(&self, reader: &Reader<'_>, message: &Message, before: &Digest) -> (Replay, bool) {
        let mut own = own_thinking(reader.provider, message).peekable();
        if own.peek().is_none() {
            return (Replay::Kept, false);
        }
        let here = shortened(before);
        let fits = own.all(|reasoning| match &reasoning.prefix {
            Some(prefix) => *prefix == here && !self.refused.contains(prefix),
            None => !reader.binds && !self.refused_unmarked,
        });
        let replay = match fits {
            true => Replay::Kept,
            false => Replay::Dropped,
        };
        (replay, true)
    }

    /// Records that the service refused the replayed thinking. Leaving out the first block is
    /// enough: everything after it has it in its prefix.
    pub(super) fn refuse(&mut self, replayed: &Replayed) {
        self.refused_unmarked = true;
        if let Some(prefix) = &replayed.0 {
            self.refused.push_back(prefix.clone());
            if self.refused.len() > MAX_REFUSED_PREFIXES {
                self.refused.pop_front();
            }
        }
        self.chains.clear();
    }
}

impl Chain {
    /// Returns a number that changes whenever [`Self::replay`] may return something else.
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    pub(super) fn replay(&self, index: usize) -> Replay {
        self.links
            .get(index)
            .map_or(Replay::Dropped, |link| link.replay)
    }

    /// Returns the prefix of the response to a request with these messages.
    pub(super) fn prefix(&self) -> String {
        shortened(&self.end())
    }

    pub(super) fn replayed(&self, provider: &str) -> Option<Replayed> {
        let first = self.links.get(self.first_kept?)?;
        let prefix = own_thinking(provider, &first.message).find_map(|it| it.prefix.clone());
        Some(Replayed(prefix))
    }

    fn end(&self) -> Digest {
        self.links.last().map_or(self.start, |link| link.after)
    }

    fn truncate(&mut self, keep: usize) {
        self.links.truncate(keep);
        self.first_kept = self.first_kept.filter(|first| *first < keep);
    }
}

/// The blocks that only this provider can read.
fn own_thinking<'a>(
    provider: &'a str,
    message: &'a Message,
) -> impl Iterator<Item = &'a Reasoning> {
    message.content.iter().filter_map(move |block| match block {
        ContentBlock::Reasoning(reasoning) if reasoning.provider == provider => Some(reasoning),
        _ => None,
    })
}

fn shortened(digest: &Digest) -> String {
    let mut text = String::with_capacity(2 * PREFIX_BYTES);
    for byte in digest.iter().take(PREFIX_BYTES) {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// Returns whether a refusal is about replayed thinking.
pub(super) fn is_about_replayed_thinking(message: &str) -> bool {
    let message = message.to_ascii_lowercase();
    message.contains("bound to a different")
        || message.contains("thinking")
            && (message.contains("invalid `signature`")
                || message.contains("invalid signature")
                || message.contains("cannot be modified"))
}

#[cfg(test)]
mod tests;
